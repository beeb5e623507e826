"""krontab completion: the scripts, in the shells themselves.

zsh and fish are asked where they are installed.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kron.krontab.program import COMMANDS, KRONTAB
from tests.krontab.command import TIME_LIMIT_S, Krontab, make_directory
from tools.commands import commands

SHELLS = ("bash", "zsh", "fish")
FIRST_WORDS = list(dict.fromkeys(name.split()[0] for name in COMMANDS))
JOBS = """\
0 0 * * * name=only-job command=/bin/true
0 0 * * * name=db/backup command=/bin/true
0 0 * * * name=db/vacuum command=/bin/true
"""
PROMPT = b"READY> "
ZSH_SETUP = """\
unsetopt beep auto_menu
answer() { print -r -- "$BUFFER" >answer; BUFFER=; zle .accept-line }
zle -N answer
bindkey '^Xa' answer
PS1='READY> '
"""
ZSH_WAYS = {
    "sourced": "autoload -U compinit; compinit -u -D; source ./completion.zsh\n",
    "installed": "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D\n",
}

Complete = Callable[[str], list[str]]
"""From a line that somebody has begun to the words that could stand at its end."""


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    """With jobs at home, files here, and a krontab to be found by a shell."""
    directory = make_directory(krontab.home / ".config/krond")
    (directory / "jobs.kron").write_text(JOBS)
    (directory / "jobs.kron").chmod(0o644)
    krontab.write("some.kron", JOBS)
    krontab.write("bin/krontab", f'#!/bin/sh\nexec {sys.executable} -m kron.krontab "$@"\n')
    Path(krontab.path("bin/krontab")).chmod(0o755)
    krontab.environment["PATH"] = f"{krontab.path('bin')}:{os.environ['PATH']}"
    for shell in SHELLS:
        krontab.write(f"completion.{shell}", krontab("completion", shell).fine().out)
    return krontab


def run(krontab: Krontab, *words: str) -> str:
    ran = subprocess.run(
        words,
        cwd=krontab.directory,
        env=krontab.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def in_bash(krontab: Krontab) -> Complete:
    def complete(line: str) -> list[str]:
        words = line.split(" ")
        array = " ".join(map(shlex.quote, words))
        program = (
            f"source completion.bash; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; "
            '_krontab; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return run(krontab, "bash", "--norc", "-c", program).split("\n")[:-1]

    return complete


def in_fish(krontab: Krontab) -> Complete:
    def complete(line: str) -> list[str]:
        program = f"source completion.fish; complete -C {shlex.quote(line)}"
        shown = run(krontab, "fish", "--no-config", "-c", program)
        return [each.partition("\t")[0] for each in shown.splitlines()]

    return complete


class Zsh:
    """An interactive zsh on a terminal: it is the only way to ask its completion system."""

    def __init__(self, krontab: Krontab, way: str) -> None:
        self._answer = Path(krontab.path("answer"))
        krontab.write("functions/_krontab", krontab.read("completion.zsh"))
        krontab.write("setup.zsh", ZSH_WAYS[way] + ZSH_SETUP)
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            ["zsh", "-f", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=krontab.directory,
            env={**krontab.environment, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        os.write(self._ours, b"source ./setup.zsh\n")
        self._until_prompt()

    def completed(self, line: str) -> str:
        """The line after the tabulator key."""
        os.write(self._ours, f"{line}\t\x18a".encode())
        self._until_prompt()
        return self._answer.read_text().removesuffix("\n")

    def close(self) -> None:
        self._process.kill()
        self._process.wait(TIME_LIMIT_S)
        os.close(self._ours)

    def _until_prompt(self) -> None:
        seen = b""
        while PROMPT not in seen:
            readable, _, _ = select.select([self._ours], [], [], TIME_LIMIT_S)
            assert readable, seen
            seen += os.read(self._ours, 65_536)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_the_shell_can_read(krontab: Krontab, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert run(krontab, shell, "-n", f"completion.{shell}") == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_every_command_and_option(krontab: Krontab, shell: str) -> None:
    script = krontab.read(f"completion.{shell}")
    for command in commands(KRONTAB):
        assert command.name.split()[-1] in script
        for option in command.options:
            for flag in option.flags:
                assert (
                    f"-l {flag[2:]}" if shell == "fish" and flag[:2] == "--" else flag
                ) in script


def test_an_unknown_shell_is_refused(krontab: Krontab) -> None:
    ran = krontab("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert '"tcsh" is not one of bash, zsh, fish' in ran.err


COMMON_CASES = [
    pytest.param("krontab ", FIRST_WORDS, id="commands"),
    pytest.param("krontab ex", ["explain"], id="a-command"),
    pytest.param(
        "krontab fuzzy ",
        [name.split()[1] for name in COMMANDS if name.startswith("fuzzy ")],
        id="second-words",
    ),
    pytest.param("krontab next --co", ["--count", "--color"], id="options"),
    pytest.param("krontab fuzzy scatter daily --i", ["--id"], id="options-of-two-words"),
    pytest.param("krontab next --format ", ["text", "json"], id="choices"),
    pytest.param("krontab lint --format s", ["short", "sarif"], id="choices-of-one-command"),
    pytest.param("krontab completion ", list(SHELLS), id="choices-without-an-option"),
    pytest.param("krontab next only", ["only-job"], id="a-job"),
    pytest.param("krontab explain db/", ["db/backup", "db/vacuum"], id="jobs"),
    pytest.param("krontab remove db/b", ["db/backup"], id="a-job-to-remove"),
    pytest.param("krontab next only-job --format j", ["json"], id="behind-a-job"),
    pytest.param("krontab lint --file some", ["some.kron"], id="a-file"),
    pytest.param("krontab diff some.kron some", ["some.kron"], id="a-second-file"),
    pytest.param("krontab next --at ", [], id="nothing-to-propose"),
]


@needs("bash")
@pytest.mark.parametrize(("line", "expected"), COMMON_CASES)
def test_bash_completes(krontab: Krontab, line: str, expected: list[str]) -> None:
    found = in_bash(krontab)(line)
    found = [word for word in found if word and word not in ("--help", "--version")]
    assert sorted(found) == sorted(expected)


@needs("fish")
@pytest.mark.parametrize(("line", "expected"), COMMON_CASES)
def test_fish_completes(krontab: Krontab, line: str, expected: list[str]) -> None:
    assert sorted(in_fish(krontab)(line)) == sorted(expected)


@pytest.mark.heavy
@needs("zsh")
@pytest.mark.parametrize("way", ZSH_WAYS)
def test_zsh_completes(krontab: Krontab, way: str) -> None:
    zsh = Zsh(krontab, way)
    try:
        completed = {
            line: zsh.completed(line)
            for line in (
                "krontab ex",
                "krontab fuzzy sc",
                "krontab next --cou",
                "krontab fuzzy scatter daily --i",
                "krontab next --format js",
                "krontab completion fi",
                "krontab next only",
                "krontab explain db/v",
                "krontab remove db/b",
                "krontab next only-job --form",
                "krontab lint --file some.k",
                "krontab diff some.kron some.k",
                "krontab next --at ",
                "krontab nonsense ",
            )
        }
    finally:
        zsh.close()
    assert completed == {
        "krontab ex": "krontab explain ",
        "krontab fuzzy sc": "krontab fuzzy scatter ",
        "krontab next --cou": "krontab next --count ",
        "krontab fuzzy scatter daily --i": "krontab fuzzy scatter daily --id ",
        "krontab next --format js": "krontab next --format json ",
        "krontab completion fi": "krontab completion fish ",
        "krontab next only": "krontab next only-job ",
        "krontab explain db/v": "krontab explain db/vacuum ",
        "krontab remove db/b": "krontab remove db/backup ",
        "krontab next only-job --form": "krontab next only-job --format ",
        "krontab lint --file some.k": "krontab lint --file some.kron ",
        "krontab diff some.kron some.k": "krontab diff some.kron some.kron ",
        "krontab next --at ": "krontab next --at ",
        "krontab nonsense ": "krontab nonsense ",
    }


@needs("bash")
@needs("fish")
def test_no_shell_runs_what_stands_in_the_place_of_a_name(krontab: Krontab) -> None:
    names = "only-job\n$(touch ran)\n$(touch${IFS}ran)\n`touch${IFS}ran`\n;touch\n"
    krontab.write("names", names)
    krontab.write("bin/krontab", "#!/bin/sh\ncat names\n", mode=0o755)
    for complete in (in_bash(krontab), in_fish(krontab)):
        assert complete("krontab next ") == ["only-job"]
    assert not Path(krontab.path("ran")).exists()


@needs("bash")
def test_bash_completes_names_with_spaces(krontab: Krontab) -> None:
    krontab.write("my jobs.kron", JOBS)
    assert in_bash(krontab)("krontab lint --file my") == ["my jobs.kron"]


@needs("bash")
def test_bash_learns_it_by_eval(krontab: Krontab) -> None:
    program = 'eval "$(krontab completion bash)"; complete -p krontab'
    assert run(krontab, "bash", "--norc", "-c", program) == "complete -F _krontab krontab\n"
