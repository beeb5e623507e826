"""Output depends on the question alone: not on locale, environment, terminal or clock.

Colour is for a person at a terminal who does not mind it; so is progress.
"""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

import kron.console.parser
from tests.krontab.command import AT, Krontab
from tests.krontab.files import GOOD, WRONG
from tests.krontab.on_a_terminal import (
    PROGRESS_AT_ONCE,
    Seen,
    on_a_terminal,
    without_styles,
)

UNICODE = 'daily name=tea command=/bin/true description="Tee für zwei 茶"\n'
ENVIRONMENTS = {
    "C": {"LC_ALL": "C"},
    "POSIX": {"LC_ALL": "POSIX", "LANG": "POSIX"},
    "C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "german": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LANGUAGE": "de"},
    "latin1-that-is-not-installed": {"LC_ALL": "de_DE.ISO-8859-1"},
    "no-utf8-mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "zone": {"TZ": "Asia/Tokyo"},
    "odd-zone": {"TZ": ":/no/such/zone"},
    "narrow": {"COLUMNS": "20", "LINES": "5"},
    "wide": {"COLUMNS": "300"},
    "latin1-streams": {"PYTHONIOENCODING": "latin1"},
    "strict-streams": {"PYTHONIOENCODING": "ascii:strict"},
    "hash-seed": {"PYTHONHASHSEED": "4242"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "development": {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"},
    "optimised": {"PYTHONOPTIMIZE": "2"},
    "colourful": {"TERM": "xterm-256color", "COLORTERM": "truecolor", "CLICOLOR_FORCE": "1"},
    "dumb": {"TERM": "dumb", "NO_COLOR": "1"},
    "no-path": {"PATH": ""},
}
QUESTIONS = (
    ("explain", "backup", "--file", "good.kron", "--at", AT),
    ("list", "--file", "good.kron", "--file", "unicode.kron", "--at", AT, "--format", "json"),
    ("lint", "--file", "wrong.kron", "--at", AT),
)
STREAMS = ("stdout", "stderr")
LIST = ("list", "--file", "good.kron", "--at", AT)
STYLE = "\x1b["


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("good.kron", GOOD)
    krontab.write("wrong.kron", WRONG)
    krontab.write("unicode.kron", UNICODE)
    return krontab


@pytest.mark.heavy
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment_changes_nothing(krontab: Krontab, name: str) -> None:
    for words in QUESTIONS:
        ran = krontab.process(*words, environment=ENVIRONMENTS[name])
        assert ran == krontab(*words)


@pytest.mark.heavy
def test_no_home_and_no_environment_at_all_change_nothing(krontab: Krontab) -> None:
    krontab.environment = {}
    for words in QUESTIONS:
        expected = krontab(*words)
        assert krontab.process(*words) == expected
        assert expected.out


@pytest.fixture(scope="module")
def latin1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A real Latin-1 locale, which hardly any host has installed."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not installed")
    directory = tmp_path_factory.mktemp("locales")
    name = "de_DE.ISO-8859-1"
    made = subprocess.run(
        ["localedef", "-f", "ISO-8859-1", "-i", "de_DE", str(directory / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"localedef cannot make {name}: {made.stderr}")
    return {"LOCPATH": str(directory), "LC_ALL": name}


@pytest.mark.heavy
def test_a_latin1_locale_changes_nothing(krontab: Krontab, latin1: dict[str, str]) -> None:
    for words in QUESTIONS:
        assert krontab.process(*words, environment=latin1) == krontab(*words)


@pytest.mark.heavy
@pytest.mark.parametrize("way", ["path", "identity", "schedule"])
def test_a_latin1_locale_does_not_change_identities(
    krontab: Krontab, latin1: dict[str, str], way: str
) -> None:
    """Otherwise the same job would run at another time, according to the locale of a shell."""
    krontab.write("für.kron", GOOD)
    words = {
        "path": ("explain", "backup", "--file", "für.kron"),
        "identity": ("explain", "backup", "--file", "good.kron", "--identity", "für"),
        "schedule": ("explain", "--schedule", "0 0 * * * @seed(daily,salt=für)", "--identity", "i"),
    }[way]
    expected = krontab(*words, "--at", AT).fine()
    assert krontab.process(*words, "--at", AT, environment=latin1) == expected


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "backup", "--file", "good.kron"),
        ("next", "backup", "--file", "good.kron"),
        ("list", "--file", "good.kron"),
        ("lint", "--file", "good.kron"),
        ("diff", "good.kron", "unicode.kron"),
    ],
)
def test_with_a_moment_given_the_clock_is_not_read(
    krontab: Krontab, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    asked: list[None] = []

    def clock() -> datetime:
        asked.append(None)
        return datetime.fromisoformat(AT)

    monkeypatch.setattr(kron.console.parser, "now", clock)
    for form in ("text", "json"):
        given = krontab(*words, "--format", form, "--at", AT)
        assert asked == []
        assert given.code == 0
    assert krontab(*words).code == 0
    assert asked  # and this is where it would have been read


def test_the_name_of_a_wide_character_does_not_shift_a_column(krontab: Krontab) -> None:
    krontab.write(
        "wide.kron",
        "0 1 * * * @seed(daily,salt=茶) name=wide command=x\n"
        "0 2 * * * @seed(daily,salt=te) name=thin command=x\n",
    )
    lines = krontab("list", "--file", "wide.kron", "--at", AT).fine().lines
    head, wide, thin = (line.partition("/")[0] if "/" in line else line for line in lines)
    assert len(wide) + 1 == len(thin) == head.index("FILE")


class TestColour:
    """Colour says nothing that the text does not say."""

    def shown(self, krontab: Krontab, *more: str, **environment: str) -> Seen:
        seen = on_a_terminal(krontab, *LIST, *more, environment=environment)
        assert (seen.code, seen.err) == (0, "")
        return seen

    def test_a_pipe_gets_none(self, krontab: Krontab) -> None:
        assert STYLE not in krontab.process(*LIST, environment={"TERM": "xterm"}).out
        wrong = krontab.process("list", "--file", "wrong.kron", environment={"TERM": "xterm"})
        assert STYLE not in wrong.err

    def test_a_terminal_gets_some_and_the_same_text(self, krontab: Krontab) -> None:
        seen = self.shown(krontab)
        assert STYLE in seen.out
        assert without_styles(seen.out) == krontab(*LIST).out

    @pytest.mark.parametrize(
        "words",
        [
            ("explain", "backup", "--file", "good.kron", "--at", AT),
            ("next", "report", "--file", "good.kron", "--at", AT),
            ("lint", "--file", "wrong.kron", "--at", AT),
            ("diff", "good.kron", "unicode.kron", "--at", AT),
            ("remove", "report", "--file", "good.kron", "--dry-run"),
        ],
        ids=lambda words: words[0],
    )
    def test_every_command_says_the_same_in_colour(
        self, krontab: Krontab, words: tuple[str, ...]
    ) -> None:
        coloured = krontab(*words, "--color", "always")
        plain = krontab(*words)
        assert STYLE in coloured.out
        assert STYLE not in plain.out
        assert without_styles(coloured.out) == plain.out
        assert coloured.code == plain.code

    @pytest.mark.heavy
    def test_nobody_gets_any_who_does_not_want_it(self, krontab: Krontab) -> None:
        assert STYLE not in self.shown(krontab, NO_COLOR="1").out
        assert STYLE not in self.shown(krontab, TERM="dumb").out
        assert STYLE not in self.shown(krontab, "--color", "never").out

    def test_no_color_counts_if_it_is_not_empty(self, krontab: Krontab) -> None:
        assert STYLE in self.shown(krontab, NO_COLOR="").out

    def test_an_option_counts_more_than_the_environment(self, krontab: Krontab) -> None:
        assert STYLE in self.shown(krontab, "--color", "always", NO_COLOR="1").out
        assert STYLE in krontab(*LIST, "--color", "always").out

    def test_json_gets_none(self, krontab: Krontab) -> None:
        plain = krontab(*LIST, "--format", "json")
        assert krontab(*LIST, "--format", "json", "--color", "always") == plain

    @pytest.mark.parametrize("stream", STREAMS)
    def test_each_stream_is_looked_at_for_itself(self, krontab: Krontab, stream: str) -> None:
        seen = on_a_terminal(krontab, "list", "--file", "wrong.kron", stream=stream)
        assert seen.code == 1
        assert seen.out == ""
        assert (STYLE in seen.err) == (stream == "stderr")

    @pytest.mark.parametrize("file", ["wrong.kron", "good.kron"])
    def test_the_option_counts_for_errors_too(self, krontab: Krontab, file: str) -> None:
        words = ("next", "no-such-job", "--file", file)
        seen = on_a_terminal(krontab, *words, "--color", "never", stream="stderr")
        assert STYLE not in seen.err
        assert STYLE in krontab(*words, "--color", "always").err


class TestProgress:
    """One line at a terminal, gone when the work is done."""

    @pytest.fixture
    def many(self, krontab: Krontab) -> str:
        lines = (f"{n % 60} * * * * name=job-{n} command=/bin/true\n" for n in range(1_000))
        return krontab.write("many.kron", "".join(lines))

    @pytest.mark.heavy
    @pytest.mark.parametrize("command", ["list", "lint"])
    def test_a_terminal_sees_it_and_it_goes(
        self, krontab: Krontab, many: str, command: str
    ) -> None:
        words = (command, "--file", many, "--at", AT, "--format", "json")
        seen = on_a_terminal(krontab, *words, stream="stderr", program=PROGRESS_AT_ONCE)
        assert seen.code == 0
        assert seen.out == krontab(*words).out
        assert "reading lines 1,000" in seen.err
        assert {"list": "looking ahead", "lint": "checking"}[command] in seen.err
        assert "█" in seen.err
        assert "100%" in seen.err
        assert left_on_screen(seen.err) == ""

    def test_a_pipe_sees_nothing(self, krontab: Krontab, many: str) -> None:
        words = ("list", "--file", many, "--at", AT)
        seen = on_a_terminal(krontab, *words, stream="stdout", program=PROGRESS_AT_ONCE)
        assert seen.err == ""
        assert without_styles(seen.out) == krontab(*words).out

    def test_quick_work_stays_quiet(self, krontab: Krontab) -> None:
        assert on_a_terminal(krontab, *LIST, stream="stderr").err == ""

    def test_it_is_gone_before_an_error_is_told(self, krontab: Krontab, many: str) -> None:
        with Path(many).open("a") as file:
            file.write("0 25 * * * name=wrong command=x\n")
        words = ("list", "--file", many)
        seen = on_a_terminal(krontab, *words, stream="stderr", program=PROGRESS_AT_ONCE)
        assert seen.code == 1
        assert left_on_screen(without_styles(seen.err)) == krontab(*words).err


def left_on_screen(text: str) -> str:
    """What a person still sees of a text that goes back to the start of a line and clears it."""
    return "\n".join(line.rpartition("\x1b[K")[2] for line in text.split("\n"))
