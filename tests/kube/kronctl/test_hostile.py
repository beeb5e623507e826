"""An API server, or what is on the way to it, that sends anything: an error, never a traceback."""

from __future__ import annotations

import io
import json
import subprocess
from typing import Any

import pytest
import yaml

from kron.console.terminal import Terminal
from kron.core.errors import KronError
from kron.kube.client import reflector
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl import completer
from kron.kube.kronctl.output import print_object
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob, kronjob
from tests.kube.kronctl.server import Answer, answering, use

COMMANDS = {
    "explain": ("explain", "backup"),
    "next": ("next", "backup"),
    "list": ("list",),
    "list-json": ("list", "-A", "--format", "json"),
    "list-names": ("list", "--format", "names"),
    "list-wide": ("list", "-o", "wide"),
    "list-yaml": ("list", "backup", "-o", "yaml"),
    "list-objects": ("list", "-o", "json"),
    "trigger-dry": ("trigger", "backup", "--dry-run=server", "-o", "yaml"),
    "suspend": ("suspend", "backup"),
    "resume": ("resume", "rest"),
    "trigger": ("trigger", "backup"),
    "trigger-json": ("trigger", "backup", "--wait", "--format", "json"),
    "trigger-wait": ("trigger", "backup", "--wait"),
    "diff": ("diff", "-f", "a.yaml"),
    "migrate": ("migrate",),
    "migrate-json": ("migrate", "--format", "json"),
    "migrate-one": ("migrate", "report"),
    "migrate-dry": ("migrate", "--apply", "--dry-run"),
    "migrate-apply": ("migrate", "--apply", "--yes"),
    "migrate-again": ("migrate", "half", "--apply", "--yes"),
    "migrate-edited": ("migrate", "edited", "--apply", "--yes"),
}
GOOD: dict[str, Any] = yaml.safe_load(kronjob())
STORED = {**GOOD["metadata"], "uid": "u", "resourceVersion": "1"}


def named(**metadata: object) -> dict[str, Any]:
    return {**GOOD, "metadata": {**STORED, **metadata}}


NO_OBJECTS: dict[str, object] = {
    "nothing": {},
    "null-metadata": {**GOOD, "metadata": None},
    "metadata-is-a-list": {**GOOD, "metadata": []},
    "metadata-is-text": {**GOOD, "metadata": "backup"},
    "no-name": named(name=None),
    "no-namespace": named(namespace=None),
    "numbers-as-names": named(name=5, namespace=[], uid={}, resourceVersion=1.5),
    "terminal-codes": named(name="\x1b[2J", namespace="a\nb"),
    "half-a-character": named(name="\ud800", namespace="\udfff"),
    "a-status": {"kind": "Status", "status": "Success", "metadata": {}},
    "list": [],
    "null": None,
    "number": 5,
    "page": b"<html>",
    "half": b'{"metadata": {',
    "nest": b"[" * 100_000,
    "bytes": b"\xff\xfe",
}
"""What no API server has stored: an error that says so."""
ODD: dict[str, object] = {
    "no-uid": named(uid=None, resourceVersion=None),
    "another-name": named(name="other", namespace="elsewhere"),
    "annotations-are-text": named(annotations="x", labels=[1], finalizers={}),
    "only-metadata": {"metadata": STORED},
    "null-spec": {**named(), "spec": None},
    "spec-is-text": {**named(), "spec": "x", "status": "x"},
    "odd-spec": {
        **named(),
        "spec": {"schedule": {"a": 1}, "jobTemplate": [], "policy": 5, "suspend": "x"},
        "status": {"lastOutcome": {"a": []}, "lastPeriodID": 5, "active": {"a": 1}},
    },
    "codes-in-texts": {
        **named(),
        "spec": {**GOOD["spec"], "schedule": "\x1b[2J"},
        "status": {"lastOutcome": "\ud800\x1b", "lastPeriodID": [], "conditions": [None, 5]},
    },
}
"""Objects that are odd. Some commands can do with them."""
READS = ("GET", "LIST")


class Server:
    """One that is in order, but for one kind of request to one kind of object."""

    def __init__(self, place: str = "", plural: str = "", body: object = None) -> None:
        self.place, self.plural, self.body = place, plural, body
        self.asked: set[tuple[str, str]] = set()

    def __call__(self, method: str, path: str, body: object) -> Answer:
        *_, before, last = path.split("/")
        plural, name = (last, "") if last.endswith("jobs") else (before, last)
        place = "LIST" if method == "GET" and not name else method
        self.asked.add((place, plural))
        if (place, plural) == (self.place, self.plural):
            if place == "LIST" and not isinstance(self.body, bytes):
                return 200, page(self.body)
            return 200, self.body
        if place == "LIST":
            return 200, page(self.known(plural, "report"))
        if method in ("POST", "PUT"):
            return 200, body
        found = self.known(plural, name)
        if method == "GET" and plural == "kronjobs" and name == "report":
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
        return 200, found

    @staticmethod
    def known(plural: str, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"resourceVersion": "1", "generation": 1, "uid": "u"}
        if plural == "jobs":
            status = {"conditions": [{"type": "Complete", "status": "True"}]}
            return {"metadata": {**metadata, "name": name, "namespace": "prod"}, "status": status}
        if plural == "cronjobs":
            made = yaml.safe_load(cronjob(name))
            made["spec"]["suspend"] = name == "edited"
        else:
            made = yaml.safe_load(kronjob(name))
        if plural == "kronjobs" and name != "backup":
            made["spec"]["policy"] = {"suspend": True}
            marks = {"kron.io/migrated-from": "u", "kron.io/migration": "resume"}
            metadata["annotations"] = marks
        made["metadata"] |= metadata
        found: dict[str, Any] = made
        return found


def page(item: object) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": "1"}, "items": [item, item]}


def requests_of(kronctl: Kronctl, words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Which kinds of requests a command makes, if all goes well."""
    server = Server()
    with answering(server) as address:
        use(kronctl, address)
        assert kronctl(*words).code == 0
    assert server.asked
    return sorted(server.asked)


@pytest.mark.heavy
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_no_api_server_has_stored_is_an_error_and_no_traceback(
    kronctl: Kronctl, words: tuple[str, ...]
) -> None:
    kronctl.write("a.yaml", kronjob())
    for place, plural in requests_of(kronctl, words):
        for name, body in (NO_OBJECTS | ODD).items():
            with answering(Server(place, plural, body)) as address:
                use(kronctl, address)
                ran = kronctl(*words)
            assert "\x1b" not in ran.out + ran.err, name
            if name in NO_OBJECTS and (place in READS or plural == "jobs"):
                written = "dry-run" if "--dry-run=server" in words else "create"
                verb = {"POST": written}.get(place, place.lower())
                assert ran.code == 2, (place, name)
                assert f"{verb} {plural}: the answer " in ran.err, (place, name)


class Watched:
    """A server with a list and one event, which refuses everything then."""

    def __init__(self, listed: object, event: object) -> None:
        self.answers = {"GET": [listed], "WATCH": [event]}

    def __call__(self, method: str, _: str, __: object) -> Answer:
        left = self.answers[method]
        return (200, left.pop()) if left else (403, {"kind": "Status", "reason": "Forbidden"})


@pytest.mark.heavy
@pytest.mark.parametrize("words", [(), ("-o", "wide"), ("-o", "yaml"), ("-o", "name")], ids=str)
def test_a_watch_of_anything_ends_without_a_traceback(
    kronctl: Kronctl, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "_FIRST_S", 0.001)
    known = {**GOOD, "metadata": {**STORED, "resourceVersion": "0"}}
    good = {"metadata": {"resourceVersion": "0"}, "items": [known]}
    servers = [("a-list-of-nothing", Watched({**good, "items": []}, {}))]
    for name, body in (NO_OBJECTS | ODD).items():
        is_raw = isinstance(body, bytes)
        listed = body if is_raw else {**good, "items": [body]}
        servers += [(f"list-{name}", Watched(listed, {})), (f"event-{name}", Watched(good, body))]
        for kind in () if is_raw else ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"):
            event = {"type": kind, "object": body}
            servers.append((f"{kind}-{name}", Watched(good, event)))
    for name, server in servers:
        with answering(server) as address:
            use(kronctl, address)
            ran = kronctl("list", "-A", "--watch", *words)
        assert ran.code == 2, name
        assert "\x1b" not in ran.out + ran.err, name
        assert "kronjobs: " in ran.err, name


@pytest.mark.heavy
def test_a_completer_proposes_nothing_that_is_no_name(
    kronctl: Kronctl, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = NO_OBJECTS | ODD
    objects = {name: body for name, body in bodies.items() if not isinstance(body, bytes)}
    listed = {f"list-{name}": page(body) for name, body in objects.items()}
    for name, body in (bodies | listed).items():
        answer: Answer = 200, body
        with answering(lambda *_, answer=answer: answer) as address:
            use(kronctl, address)
            with kronctl._place(kronctl.environment):
                for words in (("next", ""), ("migrate", "kj/"), ("list", "-n", "")):
                    assert completer.main(words) == 0
        out, err = capsys.readouterr()
        known = {":4", "backup", "kj/backup", "other", "kj/other"}
        assert (set(out.splitlines()) - known, err) == (set(), ""), name


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("list", "-o", "yaml"), "too deeply for YAML (print it as JSON)"),
        (("list", "backup", "-o", "yaml"), "too deeply for YAML (print it as JSON)"),
        (("trigger", "backup"), "spec.jobTemplate: it is nested too deeply"),
        (("migrate",), "spec.jobTemplate: it is nested too deeply"),
        (("list", "-o", "json"), ""),
    ],
    ids=str,
)
def test_an_object_that_is_too_deep_is_an_error(
    kronctl: Kronctl, words: tuple[str, ...], why: str
) -> None:
    nest: list[Any] = []
    for _ in range(600):
        nest = [nest]

    def deep(method: str, path: str, body: object) -> Answer:
        status, answer = Server()(method, path, body)
        assert isinstance(answer, dict)
        for obj in answer.get("items", [answer]):
            template = obj["spec"]["jobTemplate"]["spec"]["template"]["spec"]
            template["containers"][0]["newer"] = nest
        return status, answer

    with answering(deep) as address:
        use(kronctl, address)
        ran = kronctl(*words)
    assert why in ran.err
    assert (ran.code, bool(ran.out)) == ((1, False) if why else (0, True))


def test_an_object_that_is_too_deep_for_json_is_an_error() -> None:
    nest: list[Any] = []
    for _ in range(5_000):
        nest = [nest]
    obj, output = {"metadata": {}, "spec": nest}, io.StringIO()
    with pytest.raises(KronError, match=r"too deeply for JSON \(print it with kubectl get"):
        print_object(obj, "json", KRONJOBS, "KronJob", Terminal(output, output))
    assert output.getvalue() == ""


HIDING = "\u202e\u200b\u2066\U000e0041"
"""What changes the direction of text, has no width, or is never shown."""


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "-o", "wide"),
        ("list", "-o", "yaml"),
        ("list", "-o", "json"),
        ("list", "--format", "json"),
        ("explain", "backup"),
        ("explain", "backup", "--format", "json"),
        ("next", "backup", "--format", "json"),
    ],
    ids=" ".join,
)
def test_what_a_terminal_would_hide_or_turn_around_is_escaped(
    kronctl: Kronctl, words: tuple[str, ...]
) -> None:
    obj = named()
    text = f"0 2 * * * @seed(stable,salt=A{HIDING}B)"
    obj["metadata"]["labels"] = {f"k{HIDING}": f"one\ntwo{HIDING}"}
    obj["spec"] = {**GOOD["spec"], "schedule": text}

    def answer(_: str, path: str, __: object) -> Answer:
        return 200, obj if path.endswith("backup") else page(obj)

    with answering(answer) as address:
        use(kronctl, address)
        ran = kronctl(*words).fine()
    assert not set(HIDING) & set(ran.out)
    assert "u202e" in ran.out.lower()
    if words[-1] in ("yaml", "json"):
        read = yaml.safe_load(ran.out) if words[-1] == "yaml" else json.loads(ran.out)
        shown = read["items"] if words[-2] == "-o" else read.get("kronjobs", [read])
        assert shown[0].get("schedule", shown[0].get("spec", {}).get("schedule")) == text
        assert words[-2] != "-o" or shown[0]["metadata"]["labels"] == obj["metadata"]["labels"]


def test_a_guess_is_escaped_as_well(kronctl: Kronctl) -> None:
    volumes = f"volumes: [{{name: database{HIDING}, emptyDir: {{}}}}]"
    mounts = "image: none, volumeMounts: [{name: database, mountPath: /a}]"
    text = kronjob().replace("image: none", mounts).replace("{restart", f"{{{volumes}, restart")
    kronctl.write("a.yaml", text)
    ran = kronctl("validate", "-f", "a.yaml")
    assert 'fix: did you mean "database\\u202e' in ran.out
    assert not set(HIDING) & set(ran.out)


@pytest.mark.parametrize("salt", ["plain", "it's", f"A{HIDING}\\0101B"])
def test_the_seed_can_be_checked_whatever_the_salt(kronctl: Kronctl, salt: str) -> None:
    seed = json.dumps({"strategy": "stable", "salt": salt}, ensure_ascii=False)
    more = f"  seed: {seed}\n"
    kronctl.write("a.yaml", kronjob(more=more))
    words = ("explain", "-f", "a.yaml", "--at", "2026-03-01")
    (line,) = (line for line in kronctl(*words).fine().lines if "| sha256sum" in line)
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert ran.stdout.split()[0] == kronctl(*words, "--format", "json").json["seed_hash"]


def test_an_answer_about_another_object_is_refused(kronctl: Kronctl) -> None:
    for words, place, plural in (
        (("suspend", "backup"), "GET", "kronjobs"),
        (("next", "backup"), "GET", "kronjobs"),
        (("trigger", "backup"), "POST", "jobs"),
        (("trigger", "backup", "--wait"), "GET", "jobs"),
    ):
        server = Server(place, plural, ODD["another-name"])
        with answering(server) as address:
            use(kronctl, address)
            ran = kronctl(*words)
        assert ran.code == 2
        assert "the answer is not prod/backup" in ran.err
        assert ("PATCH", "kronjobs") not in server.asked
