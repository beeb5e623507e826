"""Completion of kronctl: what is proposed, in the protocol of kubectl and in the shells."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from kron.kube.kronctl import completer
from kron.kube.kronctl.program import COMMANDS
from tests.krontab.command import TIME_LIMIT_S
from tests.krontab.test_completion import Zsh, needs
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob, kronjob
from tests.kube.kronctl.server import answering, serving, use


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask what is proposed, and not whether a busy machine proposes it in time."""
    monkeypatch.setattr(completer, "_LONGEST_S", TIME_LIMIT_S)


@pytest.fixture
def reached(kronctl: Kronctl) -> Iterator[Kronctl]:
    """With a cluster, and the programs on the path."""
    for name, module, more in (
        ("kronctl", "program", ""),
        ("kubectl_complete-kron", "completer", f"completer._LONGEST_S = {TIME_LIMIT_S}"),
    ):
        lines = f"import sys\nfrom kron.kube.kronctl import {module}\n{more}"
        code = f"{lines}\nsys.exit({module}.main())"
        kronctl.write(f"bin/{name}", f"#!{sys.executable}\n{code}\n", mode=0o755)
    kronctl.environment["PATH"] = f"{kronctl.path('bin')}:{os.environ['PATH']}"
    found = kronjob(), kronjob("report"), kronjob("far").replace("prod", "test"), cronjob("old")
    with serving(*found) as address:
        use(kronctl, address)
        yield kronctl


CASES = [
    ("", list(COMMANDS)),
    ("ex", ["explain"]),
    ("help su", ["suspend"]),
    ("nonsense ", []),
    ("list --wa", ["--watch"]),
    ("list --sort ", ["next", "name"]),
    ("list --sort=n", ["--sort=next", "--sort=name"]),
    ("list -o y", ["yaml"]),
    ("next ", ["backup", "report"]),
    ("next ba", ["backup"]),
    ("next kj/ba", ["kj/backup"]),
    ("next test/", ["test/far"]),
    ("next -n test ", ["far"]),
    ("suspend backup re", ["report"]),
    ("trigger --wait ba", ["backup"]),
    ("migrate ", ["old"]),
    ("list -n ", ["prod", "test"]),
    ("list --namespace=t", ["--namespace=test"]),
    ("list --context ", ["x"]),
    ("list --cluster ", ["c"]),
    ("list --user ", ["u"]),
    ("trigger backup --env ", []),
    ("completion z", ["zsh"]),
]


def propose(kronctl: Kronctl, line: str) -> list[str]:
    with kronctl._place(kronctl.environment):
        return [word for word, _ in completer.propose(line.split(" "))[0]]


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_what_is_proposed(reached: Kronctl, line: str, expected: list[str]) -> None:
    assert propose(reached, line) == expected


def test_files_are_left_to_the_shell() -> None:
    for line in ("list -f ", "diff ", "validate --file "):
        assert completer.propose(line.split(" ")) == ([], completer.FILES)


def test_it_speaks_the_protocol_of_kubectl(
    reached: Kronctl, capsys: pytest.CaptureFixture[str]
) -> None:
    with reached._place(reached.environment):
        assert completer.main(["next", "ba"]) == 0
        assert capsys.readouterr() == ("backup\n:4\n", "")
        assert completer.main(["expl"]) == 0
        assert capsys.readouterr() == (f"explain\t{COMMANDS['explain']}\n:4\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ("next", ""),
        ("next", "--kubeconfig", "absent", ""),
        ("next", "--context", "absent", ""),
        ("next", "-n"),
        ("next", "--as-group", "x", ""),
    ],
    ids=" ".join,
)
def test_it_is_silent_if_there_is_nothing_to_ask(
    kronctl: Kronctl, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    use(kronctl, "http://127.0.0.1:1")
    with kronctl._place(kronctl.environment):
        assert completer.main(words) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[-1], err) == (":4", "")


@pytest.mark.heavy
@pytest.mark.parametrize("close", ["| :", ">&-", "> /dev/full"])
def test_it_is_silent_if_nobody_reads(kronctl: Kronctl, close: str) -> None:
    code = "import sys; from kron.kube.kronctl.completer import main; sys.exit(main())"
    words = shlex.join([sys.executable, "-c", code, ""])
    line = f"({words}; echo $? >&2) {close}"
    ran = subprocess.run(
        ["sh", "-c", line],
        env=kronctl.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("", "0\n")


HOSTILE = [
    "$(touch${IFS}ran)",
    "`touch${IFS}ran`",
    ";touch ran;",
    "a b",
    "'",
    "~",
    "*",
    "-o",
    "a\nb",
    "a\t$(touch ran)",
    "\x1b[2J",
]
"""Names that no cluster or kubeconfig should have, but nothing keeps them from it."""
SAFE = ["arn:aws:eks:eu-1:12:cluster/prod", "jane@example.org", "ok"]


def test_only_names_that_no_shell_evaluates_are_proposed(kronctl: Kronctl) -> None:
    names = [*HOSTILE, *SAFE]
    items = [{"metadata": {"name": name}} for name in names]
    listed = {"metadata": {"resourceVersion": "1"}, "items": items}
    with answering(lambda *_: (200, listed)) as address:
        use(kronctl, address)
        config = yaml.safe_load(kronctl.read("kubeconfig"))
        for kind in ("context", "cluster", "user"):
            config[f"{kind}s"] += [{"name": name, kind: {}} for name in names]
        kronctl.write("kubeconfig", yaml.safe_dump(config), mode=0o600)
        for line in ("next ", "migrate ", "list -n "):
            assert propose(kronctl, line) == SAFE
        for option, first in (("--context", "x"), ("--cluster", "c"), ("--user", "u")):
            assert sorted(propose(kronctl, f"list {option} ")) == sorted([first, *SAFE])
        assert propose(kronctl, "next kj/") == ["kj/-o", *(f"kj/{name}" for name in SAFE)]


@pytest.fixture
def deceived(kronctl: Kronctl) -> Kronctl:
    """With a completer that proposes everything."""
    names = "\n".join(SAFE + HOSTILE)
    kronctl.write("proposals", f"{names}\n:4\n")
    kronctl.write("bin/kubectl_complete-kron", "#!/bin/sh\ncat proposals\n", mode=0o755)
    kronctl.environment["PATH"] = f"{kronctl.path('bin')}:{os.environ['PATH']}"
    return kronctl


DECEIVED = ("kronctl next ", "kronctl list --context ")


@needs("bash")
def test_bash_runs_nothing_that_a_completer_answers(deceived: Kronctl) -> None:
    before = set(deceived.directory.iterdir())
    for line in DECEIVED:
        assert set(SAFE) < set(in_bash(deceived, line)) <= {*SAFE, "a", "b"}
    assert in_bash(deceived, "kronctl next o") == ["ok"]
    assert in_bash(deceived, "kronctl next *") == [""]
    assert set(deceived.directory.iterdir()) - before == {deceived.directory / "completion.bash"}


@needs("fish")
def test_fish_runs_nothing_that_a_completer_answers(deceived: Kronctl) -> None:
    for line in DECEIVED:
        assert set(SAFE) < set(in_fish(deceived, line)) <= {*SAFE, "a", "b"}
    assert not (deceived.directory / "ran").exists()


@pytest.mark.heavy
@needs("zsh")
def test_zsh_runs_nothing_that_a_completer_answers(deceived: Kronctl) -> None:
    deceived.write("completion.zsh", deceived("completion", "zsh").fine().out)
    zsh = Zsh(deceived, "sourced")
    try:
        for line in DECEIVED:
            assert zsh.completed(f"{line}o") == f"{line}ok "
            for start in ("\\$", "\\;"):
                assert zsh.completed(line + start) == line + start
    finally:
        zsh.close()
    assert not (deceived.directory / "ran").exists()


SHELL_CASES = [
    ("kronctl suspend ba", ["backup"]),
    ("kronctl next test/", ["test/far"]),
    ("kronctl list -n t", ["test"]),
    ("kronctl list --context ", ["x"]),
    ("kronctl list -n prod -o ", ["wide", "name", "yaml", "json"]),
]


def run(kronctl: Kronctl, *words: str) -> list[str]:
    ran = subprocess.run(
        words,
        cwd=kronctl.directory,
        env=kronctl.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def in_bash(kronctl: Kronctl, line: str) -> list[str]:
    kronctl.write("completion.bash", kronctl("completion", "bash").fine().out)
    words = line.split(" ")
    array = " ".join(map(shlex.quote, words))
    program = (
        f"source completion.bash; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; "
        '_kronctl; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return run(kronctl, "bash", "--norc", "-c", program)


def in_fish(kronctl: Kronctl, line: str) -> list[str]:
    kronctl.write("completion.fish", kronctl("completion", "fish").fine().out)
    program = f"source completion.fish; complete -C {shlex.quote(line)}"
    shown = run(kronctl, "fish", "--no-config", "-c", program)
    return [each.partition("\t")[0] for each in shown]


@pytest.mark.heavy
@needs("bash")
def test_bash_asks_the_cluster(reached: Kronctl) -> None:
    for line, expected in SHELL_CASES:
        assert in_bash(reached, line) == expected


@pytest.mark.heavy
@needs("fish")
def test_fish_asks_the_cluster(reached: Kronctl) -> None:
    for line, expected in SHELL_CASES:
        assert sorted(in_fish(reached, line)) == sorted(expected)


@pytest.mark.heavy
@needs("zsh")
def test_zsh_asks_the_cluster(reached: Kronctl) -> None:
    reached.write("completion.zsh", reached("completion", "zsh").fine().out)
    zsh = Zsh(reached, "sourced")
    try:
        for line, expected in SHELL_CASES[:4]:
            assert zsh.completed(line).split() == [*line.split(" ")[:-1], *expected]
    finally:
        zsh.close()
