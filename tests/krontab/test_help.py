"""Help: every command explains itself, and a wrong word is answered with the right one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import kron.krontab.commands
from kron.console.program import module_name
from kron.krontab.program import COMMANDS, KRONTAB
from tests.krontab.command import Krontab

MODULES = {
    path.stem
    for path in Path(next(iter(kron.krontab.commands.__path__))).glob("*.py")
    if path.stem != "__init__"
}
WIDEST_LINE = 100


def krontab_words(example: str) -> list[list[str]]:
    """The command lines of krontab within a line for a shell."""
    lexer = shlex.shlex(example.replace("\\\n", " "), posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stages: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return [_without_redirection(stage[1:]) for stage in stages if stage[0] == "krontab"]


def _without_redirection(words: list[str]) -> list[str]:
    places = [place for place, word in enumerate(words) if word in (">", "<", ">>")]
    return words[: places[0]] if places else words


def test_every_module_is_a_command_and_every_command_has_a_module() -> None:
    assert {module_name(name) for name in COMMANDS} == MODULES


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(krontab: Krontab, name: str) -> None:
    shown = krontab(*name.split(), "--help").fine()
    assert shown.out.startswith(f"usage: krontab {name}")
    assert "\nexamples:\n  " in shown.out
    assert "--help" in shown.out
    assert max(map(len, shown.lines)) <= WIDEST_LINE
    assert krontab(*name.split(), "-h").out == shown.out
    assert krontab("help", *name.split()).out == shown.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_summary_that_the_overview_shows(krontab: Krontab, name: str) -> None:
    summary = COMMANDS[name]
    assert summary
    assert not summary.endswith(".")
    rows = [line.split("  ", 2) for line in krontab("--help").lines if line.startswith("  ")]
    assert [name, summary] in [[row[1], row[2].strip()] for row in rows if len(row) == 3]


def test_the_overview_names_the_default_directories(krontab: Krontab) -> None:
    shown = krontab("--help").out
    assert "/etc/krond.d/*.kron" in shown
    assert "~/.config/krond/*.kron" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_a_command_line_that_its_command_reads(name: str) -> None:
    examples = KRONTAB.parser(name).command.EXAMPLES
    assert examples
    for example, meaning in examples:
        assert meaning
        lines = krontab_words(example) or krontab_words(example.partition("$(")[2].rstrip(')"'))
        assert any(line[: len(name.split())] == name.split() for line in lines), example
        for line in lines:
            used = next(known for known in COMMANDS if line[: len(known.split())] == known.split())
            KRONTAB.parser(used).parse_args(line[len(used.split()) :])


def test_the_examples_of_the_overview_are_command_lines_too(krontab: Krontab) -> None:
    shown = krontab("--help").out.partition("\nexamples:\n")[2].partition("\n\n")[0]
    for line in shown.splitlines():
        (words,) = krontab_words(line.strip().partition("   ")[0])
        KRONTAB.parser(words[0]).parse_args(words[1:])


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(("nxt",), "next", id="command"),
        pytest.param(("Explain",), "explain", id="case"),
        pytest.param(("fuzzy", "pars"), "fuzzy parse", id="second-word"),
        pytest.param(("next", "--format", "jsn"), "json", id="choice"),
        pytest.param(("list", "--sort", "nmae"), "name", id="choice-of-one-command"),
        pytest.param(("completion", "fishh"), "fish", id="choice-without-option"),
        pytest.param(("next", "--color", "nevver"), "never", id="choice-of-every-command"),
        pytest.param(
            ("next", "x", "--cuont", "3"),
            "--count",
            id="option",
        ),
        pytest.param(
            ("help", "nxt"),
            "next",
            id="help-on-no-command",
        ),
    ],
)
def test_a_near_miss_is_answered_with_what_was_meant(
    krontab: Krontab, words: tuple[str, ...], meant: str
) -> None:
    ran = krontab(*words)
    assert ran.code == 2
    assert f'did you mean "{meant}"?' in ran.err


@pytest.mark.parametrize("word", ["nonsense", "-x", "--nonsense", "a" * 1000, "\x1b[31m", ""])
def test_a_far_miss_is_quoted_and_gets_no_guess(krontab: Krontab, word: str) -> None:
    ran = krontab(word)
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean" not in ran.err
    assert "\x1b" not in ran.err
    assert "krontab --help" in ran.err


@pytest.mark.parametrize("first", KRONTAB.groups)
def test_half_a_command_is_answered_with_the_other_halves(krontab: Krontab, first: str) -> None:
    whole = [name for name in COMMANDS if name.startswith(f"{first} ")]
    assert len(whole) > 1
    for words in ((first, "--help"), (first, "-h")):
        shown = krontab(*words).fine().out
        assert all(f"  {name} " in shown for name in whole)


def test_options_are_not_abbreviated(krontab: Krontab) -> None:
    """An abbreviation that works today would be ambiguous with tomorrow's option."""
    assert krontab("next", "x", "--cou", "3").code == 2


def test_the_version_is_that_of_the_package(krontab: Krontab) -> None:
    from importlib.metadata import version

    assert krontab("--version").fine().out == f"krontab {version('krond')}\n"
