"""Completion of kronctl: what is proposed, in the protocol of kubectl and in the shells."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kron.kube.kronctl import completer
from kron.kube.kronctl.program import COMMANDS
from tests.krontab.command import TIME_LIMIT_S
from tests.krontab.test_completion import Zsh, needs
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob, kronjob
from tests.kube.kronctl.server import serving, use


@pytest.fixture
def reached(kronctl: Kronctl) -> Iterator[Kronctl]:
    """With a cluster, and the programs on the path."""
    for name, module in (("kronctl", "program"), ("kubectl_complete-kron", "completer")):
        code = f"import sys; from kron.kube.kronctl.{module} import main; sys.exit(main())"
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


@pytest.mark.heavy
@needs("bash")
def test_bash_asks_the_cluster(reached: Kronctl) -> None:
    reached.write("completion.bash", reached("completion", "bash").fine().out)
    for line, expected in SHELL_CASES:
        words = line.split(" ")
        array = " ".join(map(shlex.quote, words))
        program = (
            f"source completion.bash; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; "
            '_kronctl; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        assert run(reached, "bash", "--norc", "-c", program) == expected


@pytest.mark.heavy
@needs("fish")
def test_fish_asks_the_cluster(reached: Kronctl) -> None:
    reached.write("completion.fish", reached("completion", "fish").fine().out)
    for line, expected in SHELL_CASES:
        program = f"source completion.fish; complete -C {shlex.quote(line)}"
        shown = run(reached, "fish", "--no-config", "-c", program)
        assert sorted(each.partition("\t")[0] for each in shown) == sorted(expected)


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
