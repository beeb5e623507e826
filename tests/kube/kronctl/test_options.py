"""Options as kubectl has them: what cannot be used together, timeouts, environments, watches."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from kron.console.parser import UsageError
from kron.kube.api_object import Object
from kron.kube.kronctl.cluster import _request_timeout
from kron.kube.kronctl.manual_job import new_name, variables
from kron.kube.kronctl.watching import _Changes
from tests.krontab.command import AT, TIME_LIMIT_S
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob
from tests.kube.kronctl.server import Answer, answering, serving, use
from tests.logbook import wait_for


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("next backup -o json", '"-o" "json" (did you mean "--format"?)'),
        ("list -o json --format json", "-o prints objects of Kubernetes and --format"),
        ("list -w --format json", "--watch prints the present"),
        ("list -w --at 2026-03-01", "--watch prints the present"),
        ("list -w a/x b/y", "--watch looks at one namespace"),
        ("list -w x b/y", "--watch looks at one namespace"),
        ("list -w -f a.yaml", "--watch cannot be used with files"),
        ("list backup -A", "names cannot be used together with -A or -l"),
        ("list --as-group dev", "--as-group needs --as"),
        ("list -f a.yaml --as jane", "--as cannot be used with files"),
        ("list --request-timeout soon", "soon"),
        ("suspend", "no KronJob is named (name some, or give -l or --all)"),
        ("resume", "no KronJob is named"),
        ("suspend backup --all", "names and --all cannot be used together"),
        ("suspend -l a=b --all", "-l and --all cannot be used together"),
        ("trigger backup --env LEVEL", '--env "LEVEL" is not a variable (write NAME=VALUE)'),
        ("trigger backup --env =x", "is not a variable"),
        ("trigger backup --env A=1 --env A=2", '--env sets "A" twice'),
        ("trigger backup --name Bad_Name", "a name has at most 63"),
        ("trigger backup --dry-run=server --wait", "--wait waits for a Job"),
        ("trigger backup --dry-run=maybe", '"maybe" is not one of none, client, server'),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(
    kronctl: Kronctl, words: str, why: str
) -> None:
    kronctl.write("a.yaml", kronjob())
    with answering(lambda *_: (500, {})) as address:
        use(kronctl, address)
        ran = kronctl(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("30", 30), ("30s", 30), ("1m30s", 90)])
def test_a_request_timeout_is_written_as_for_kubectl(text: str, seconds: int) -> None:
    assert _request_timeout(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "1.5", "0.5s", "forever"])
def test_any_other_request_timeout_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        _request_timeout(text)


@pytest.mark.heavy
def test_a_request_timeout_bounds_a_request(kronctl: Kronctl) -> None:
    done = threading.Event()

    def slow(*_: object) -> Answer:
        done.wait(30)
        return 200, {"metadata": {"resourceVersion": "1"}, "items": []}

    with answering(slow) as address:
        use(kronctl, address)
        ran = kronctl("list", "--request-timeout", "1s")
        done.set()
    assert (ran.code, ran.out) == (2, "")
    assert "no answer within 1 s" in ran.err


SLOW = "import socket, sys, time; socket.getaddrinfo = lambda *_, **__: time.sleep(600); "


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("module", "words", "code", "out"),
    [
        ("program", ("list", "--request-timeout", "1s"), 2, ""),
        ("completer", ("next", ""), 0, ":4\n"),
    ],
)
def test_a_limit_on_time_holds_while_the_name_of_a_host_is_resolved(
    kronctl: Kronctl, module: str, words: tuple[str, ...], code: int, out: str
) -> None:
    use(kronctl, "http://api.example.org")
    program = f"{SLOW}from kron.kube.kronctl.{module} import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=kronctl.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (code, out)
    assert ran.stderr == "" or "no answer within 1 s" in ran.stderr


@pytest.mark.parametrize("option", ["--as", "--as-group"])
@pytest.mark.parametrize("name", ["", " ", " jane", "a\nb", "g\r\nh", "\x00", "\udc80"])
def test_nobody_has_a_name_that_fits_into_no_header(
    kronctl: Kronctl, option: str, name: str
) -> None:
    words = ("--as", "jane", option, name) if option == "--as-group" else (option, name)
    with answering(lambda *_: (500, {})) as address:
        use(kronctl, address)
        ran = kronctl("list", *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"argument {option}: " in ran.err
    assert "is not the name of a user or a group" in ran.err


@pytest.mark.parametrize("name", ["a", "a-b", "9", "x" * 63])
def test_names_of_jobs(name: str) -> None:
    assert new_name(name) == name


@pytest.mark.parametrize("name", ["", "-", "-a", "a-", "A", "a.b", "a_b", "ä", "x" * 64])
def test_what_is_no_name_of_a_job(name: str) -> None:
    with pytest.raises(UsageError):
        new_name(name)


def test_a_value_may_be_empty_or_have_equals_signs() -> None:
    assert variables(["A=", "B=c=d"]) == {"A": "", "B": "c=d"}


class Printed:
    def __init__(self) -> None:
        self.lines: list[tuple[str, ...]] = []

    def begin(self, found: Sequence[Object]) -> None:
        self.lines.append(tuple(each["metadata"]["name"] for each in found))

    def change(self, obj: Object, *, is_deleted: bool) -> None:
        self.lines.append((obj["metadata"]["name"], "deleted" if is_deleted else "put"))


def _object(name: str) -> Object:
    return {"metadata": {"name": name, "namespace": "n", "uid": "u", "resourceVersion": "1"}}


def test_a_watch_that_lists_again_reports_what_has_gone_meanwhile() -> None:
    """As after a version that has expired."""
    printed = Printed()
    changes = _Changes(printed, lambda obj: obj["metadata"]["name"] != "unwanted")
    for name in ("a", "b", "unwanted"):
        changes.put(_object(name))
    changes.keep({("n", "a"), ("n", "b")}, "n")
    changes.put(_object("c"))
    changes.drop(_object("unwanted"))
    changes.keep({("n", "b"), ("n", "c")}, "n")
    changes.drop(_object("b"))
    assert printed.lines == [("a", "b"), ("c", "put"), ("a", "deleted"), ("b", "deleted")]


class Watched:
    """A server whose first watch ends soon, whose second has expired, and that has lost one."""

    def __init__(self) -> None:
        self.lists = self.watches = 0

    def __call__(self, method: str, path: str, _: object) -> Answer:
        if not path.endswith("/kronjobs"):
            return 200, {"metadata": {"name": "prod"}}
        if method != "WATCH":
            self.lists += 1
            version = str(10 * self.lists)
            names = ("one", "two") if self.lists == 1 else ("two",)
            items = [_stored(name, version) for name in names]
            return 200, {"metadata": {"resourceVersion": version}, "items": items}
        self.watches += 1
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        events = {
            1: {"type": "MODIFIED", "object": _stored("two", "11", suspend=True)},
            2: {"type": "ERROR", "object": gone},
            3: {"type": "ADDED", "object": _stored("three", "31")},
        }
        if self.watches not in events:
            return 0, None
        return 200, json.dumps(events[self.watches]).encode() + b"\n"


def _stored(name: str, version: str, *, suspend: bool = False) -> Object:
    obj: Object = yaml.safe_load(kronjob(name, more="  policy: {suspend: true}\n" * suspend))
    obj["metadata"] |= {"uid": name, "resourceVersion": version}
    return obj


@pytest.mark.heavy
def test_a_watch_goes_on_after_its_end_and_after_an_expired_version(kronctl: Kronctl) -> None:
    """Until somebody presses Ctrl-C."""
    printed = Path(kronctl.path("printed"))

    def look() -> list[str] | None:
        lines = printed.read_text().splitlines()
        return lines if len(lines) >= 7 else None

    with answering(Watched()) as address, printed.open("w") as file:
        use(kronctl, address)
        watching = subprocess.Popen(
            [sys.executable, "-m", "kron.kube.kronctl", "list", "--watch", "--sort", "name"],
            stdout=file,
            stderr=subprocess.DEVNULL,
            env=kronctl.environment,
        )
        try:
            lines = wait_for(look, "each change has a line", instead=printed.read_text)
            watching.send_signal(signal.SIGINT)
            assert watching.wait(TIME_LIMIT_S) == 130
        finally:
            watching.kill()
            watching.wait()
    found = [(line.split()[0], "suspended" in line, "deleted" in line) for line in lines]
    assert found == [
        ("NAME", False, False),
        ("prod/one", False, False),
        ("prod/two", False, False),
        ("prod/two", True, False),
        ("prod/two", False, False),
        ("prod/one", False, True),
        ("prod/three", False, False),
    ]


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_watch_that_cannot_begin_is_an_error(kronctl: Kronctl, status: int) -> None:
    body = {"kind": "Status", "reason": "No", "message": "no"}
    with answering(lambda *_: (status, body)) as address:
        use(kronctl, address)
        ran = kronctl("list", "-A", "--watch")
    assert (ran.code != 0, ran.out) == (True, "")
    assert "list kronjobs: no" in ran.err


def test_a_watch_of_names_is_of_the_namespace_that_they_share(kronctl: Kronctl) -> None:
    asked = []

    def refuse(_: str, path: str, __: object) -> Answer:
        asked.append(path)
        return 403, {"kind": "Status", "reason": "Forbidden", "message": "no"}

    with answering(refuse) as address:
        use(kronctl, address)
        ran = kronctl("list", "--watch", "-n", "test", "backup", "test/other", "kj/report")
    assert "list kronjobs: no" in ran.err
    assert asked[-1].endswith("/namespaces/test/kronjobs")


def test_a_bad_template_is_a_warning_where_times_are_asked_for(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob().replace("image: none", "imagee: none"))
    validated = kronctl("validate", "-f", "a.yaml")
    assert validated.code == 1
    kronctl.write("b.yaml", kronjob())
    for words, code in (
        (("list", "-f", "a.yaml"), 0),
        (("next", "-f", "a.yaml"), 0),
        (("explain", "-f", "a.yaml"), 0),
        (("diff", "b.yaml", "a.yaml"), 0),
    ):
        ran = kronctl(*words, "--at", AT)
        assert (ran.code, bool(ran.out)) == (code, True)
        assert "imagee" in ran.err
        assert ": warning: spec.jobTemplate" in ran.err
        assert "warning" not in kronctl(*(w.replace("a.yaml", "b.yaml") for w in words)).err


def test_a_template_on_a_cluster_is_not_judged_by_a_list_of_fields(kronctl: Kronctl) -> None:
    """Its API server may know more of them."""
    with serving(kronjob().replace("image: none", "image: none, newer: true")) as address:
        use(kronctl, address)
        assert kronctl("next", "backup").err == ""
