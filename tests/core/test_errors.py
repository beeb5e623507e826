"""Errors: what a person sees, with the carets where the eye needs them, and nothing raw."""

from __future__ import annotations

import copy
import pickle
import time
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code
from kron.core.errors import (
    SHOWN_PROBLEMS,
    did_you_mean,
    excerpt,
    is_showable,
    quoted,
    without_secrets,
)
from tests.soak import examples

CRON = "0 10 * * *"
NOMINAL = datetime(2026, 3, 1, tzinfo=UTC)

OTHERS_PREFIXES = (
    "ledger",
    "field-",
    "name-",
    "slot",
    "cgroup",
    "job-",
    "file-",
    "state",
    "running",
    "not-running",
    "control",
    "cluster",
    "api",
)
"""Codes of the engine, of lines, files and clusters; those of fuzzy schedules are in capitals."""
REACHED = {
    Code.CRON_FIELD: "61 0 * * *",
    Code.CRON_FIELD_COUNT: "0 0",
    Code.CRON_NEVER: "0 0 31 2 *",
    Code.CRON_SHORTHAND: "@daily",
    Code.MODIFIER_UNKNOWN: f"{CRON} @nope(1)",
    Code.MODIFIER_REPEATED: f"{CRON} @tz(UTC) @tz(UTC)",
    Code.MODIFIER_FORM: f"{CRON} @win",
    Code.KEY_UNKNOWN: f"{CRON} @policy(a=b)",
    Code.KEY_REPEATED: f"{CRON} @seed(daily,salt=a,salt=b)",
    Code.VALUE_UNKNOWN: f"{CRON} @seed(hourly)",
    Code.NUMBER: f"{CRON} @dist(skewLate,shape=0)",
    Code.DURATION: f"{CRON} @win(after,2)",
    Code.ZONE_UNKNOWN: f"{CRON} @tz(Nowhere)",
    Code.CONSTRAINT: f"{CRON} @only(hours=24)",
    Code.TEXT: f"{CRON}\x00",
    Code.LIMIT: f"{CRON} @win(after,8785h)",
}


def error_of(text: str) -> kron.ParseError:
    """The error of a text that must have one."""
    with pytest.raises(kron.ParseError) as caught:
        kron.parse_schedule(text)
    return caught.value


def columns(text: str) -> int:
    """How many columns a terminal takes for the text, by Unicode's own properties."""
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me")
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


@pytest.mark.parametrize("code", sorted(REACHED))
def test_a_code_tells_what_went_wrong(code: Code) -> None:
    assert error_of(REACHED[code]).code is code


def test_identities_and_instants_have_codes_too() -> None:
    schedule = kron.parse_schedule(CRON)
    with pytest.raises(kron.KronError) as identity:
        kron.decide(schedule, identity="", nominal=NOMINAL)
    with pytest.raises(kron.KronError) as instant:
        kron.decide(schedule, identity="a", nominal=NOMINAL.replace(tzinfo=None))
    assert (identity.value.code, instant.value.code) == (Code.IDENTITY, Code.INSTANT)


def test_every_code_of_a_schedule_is_reached_by_some_input() -> None:
    others = {code for code in Code if code.isupper() or code.startswith(OTHERS_PREFIXES)}
    assert {*REACHED, Code.IDENTITY, Code.INSTANT} == set(Code) - others


@pytest.mark.parametrize(
    ("text", "rendering"),
    [
        pytest.param(
            "61 10 * * *",
            'column 1: minute: "61" is not between 0 and 59\n  61 10 * * *\n  ^^',
            id="at the start",
        ),
        pytest.param(
            "0 10 * * * @seed(hourly)",
            'column 18: unknown strategy "hourly": it is one of stable, daily, weekly\n'
            "  0 10 * * * @seed(hourly)\n"
            "                   ^^^^^^",
            id="at the end",
        ),
        pytest.param(
            "0 10 * * * @win()",
            "column 17: an argument is empty\n  0 10 * * * @win()\n                  ^",
            id="nothing has one caret too",
        ),
        pytest.param(
            "0 10 * * * @win(after,1d)",
            'column 23: unknown unit "d" in the duration "1d" (write 1d as 24h)\n'
            "  0 10 * * * @win(after,1d)\n"
            "                        ^^",
            id="with a fix",
        ),
        pytest.param(
            "61 24 * * *",
            'column 1: minute: "61" is not between 0 and 59\n  61 24 * * *\n  ^^\n'
            'column 4: hour: "24" is not between 0 and 23\n  61 24 * * *\n     ^^',
            id="two problems",
        ),
        pytest.param(
            '@seed(daily,salt="漢字") 61 0 * * *',
            'column 24: minute: "61" is not between 0 and 59\n'
            '  @seed(daily,salt="漢字") 61 0 * * *\n'
            "                           ^^",
            id="wide characters before",
        ),
        pytest.param(
            "0 漢字 * * *",
            'column 3: hour: "漢字" is not *, a number from 0 to 23, or a range like n-m, '
            "or a step like */s or n-m/s\n"
            "  0 漢字 * * *\n"
            "    ^^^^",
            id="wide characters marked",
        ),
        pytest.param(
            '@seed(daily,salt="e\u0301e\u0301") 61 0 * * *',
            'column 26: minute: "61" is not between 0 and 59\n'
            '  @seed(daily,salt="e\u0301e\u0301") 61 0 * * *\n'
            "                         ^^",
            id="combining marks before",
        ),
        pytest.param(
            '@seed(daily,salt="\u202e") 61 0 * * *',
            'column 23: minute: "61" is not between 0 and 59\n'
            '  @seed(daily,salt="\\u202e") 61 0 * * *\n'
            "                             ^^",
            id="a hidden mark is shown",
        ),
    ],
)
def test_the_carets_stand_under_the_problem(text: str, rendering: str) -> None:
    assert str(error_of(text)) == rendering


@pytest.mark.parametrize(
    "lead",
    [
        pytest.param("é", id="precomposed"),
        pytest.param("e\u0301", id="combining accent"),
        pytest.param("漢", id="wide"),
        pytest.param("\uff21", id="full width"),
        pytest.param("\U0001f600", id="emoji"),
        pytest.param("\u0e01\u0e31", id="Thai vowel sign"),
        pytest.param("\u0915\u0941", id="Devanagari vowel sign"),
        pytest.param("a\u20dd", id="enclosing mark"),
        pytest.param("\u2764\ufe0f", id="variation selector"),
    ],
)
def test_a_caret_stands_under_its_character_in_every_script(lead: str) -> None:
    shown, carets = excerpt(f"{lead}!", len(lead), len(lead) + 1).splitlines()
    assert carets.index("^") == columns(shown[: shown.index("!")])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a=https://h.org:8/abc b=1", "a=https://h.org:8/*** b=1", id="path"),
        pytest.param("a=https://h.org?abc", "a=https://h.org****", id="query"),
        pytest.param("a=https://[::1]/abc", "a=https://[::1]/***", id="address"),
        pytest.param("a=https://me:pw@h/", "a=https://********", id="password"),
        pytest.param("a=https://me:p/w@h", "a=https://********", id="password with a slash"),
        pytest.param("a=https://h:abc/", "a=https://******", id="not a port"),
        pytest.param('a="https://h/a b" c=1', 'a="https://h/***" c=1', id="space in quotes"),
        pytest.param('a="https://h/\\"b" c=1', 'a="https://h/***" c=1', id="escaped quote"),
        pytest.param('a="curl https://h/b -o c"', 'a="curl https://h/* -o c"', id="in a command"),
        pytest.param("a=\"curl 'https://h/b'\"", "a=\"curl 'https://h/*'\"", id="quotes stay"),
        pytest.param('a=https://h/b"c"', 'a=https://h/***"', id="quote in the middle"),
        pytest.param('a="https://h/b', 'a="https://h/*', id="quote never closed"),
        pytest.param("http://h/a https://i", "http://h/* https://i", id="two"),
        pytest.param("a=//h/b c:/d", "a=//h/b c:/d", id="none"),
        pytest.param("curl -Lhttps://h/b", "curl -Lhttps://h/*", id="after an option"),
        pytest.param("1https://h/b", "1https://h/*", id="after a digit"),
        pytest.param("a=-https://h/b", "a=-https://h/*", id="after a dash"),
        pytest.param('a="-https://h/b c"', 'a="-https://h/***"', id="after a quote and a dash"),
        pytest.param("://h/b", "://h/*", id="no scheme"),
        pytest.param("https://h/a\u00a0b c", "https://h/*** c", id="no-break space"),
        pytest.param("https://h/a\vb\u2028c", "https://h/*****", id="other spaces"),
        pytest.param('a="https://h"/bc d', 'a="https://h**** d', id="quoted in part"),
        pytest.param('a=https://h/"b c" d', 'a=https://h/****" d', id="quoted in part, at the end"),
        pytest.param('a="https://me b@h"', 'a="https://******"', id="password with a space"),
        pytest.param("a=https:/h/b c", "a=https:**** c", id="one slash"),
        pytest.param("HTTPS//h/b", "HTTPS/****", id="no colon"),
        pytest.param('a="http:h/b c" d', 'a="http:*****" d', id="no slash"),
        pytest.param("https:///b", "https://**", id="no host"),
        pytest.param("(https://h/b) /srv/http/b", "(https://h/*) /srv/http/b", id="a path"),
    ],
)
def test_of_a_url_its_scheme_and_host_are_shown(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert excerpt(text, 0, 1).splitlines()[0] == f"  {shown}"
    assert quoted(text) == f'"{shown}"'
    assert is_showable(text) == (shown == text)


FAR = 5_000
"""Characters beyond what is looked at to show a part of a text."""


def test_a_part_of_a_url_is_hidden_however_far_its_ends_are() -> None:
    assert quoted(f"https://secret{'.secret' * FAR}@h") == f'"https://{"*" * 51}…"'
    assert quoted(f"https://h/{'secret' * FAR}") == f'"https://{"*" * 51}…"'
    url = f"https://h/{'secret' * FAR}"
    shown = excerpt(f"a={url} b", len(url) + 3, len(url) + 4)
    assert shown == f"  …{'*' * 49} b\n  {' ' * 51}^"
    assert set(excerpt(url, FAR, FAR + 1).splitlines()[0]) == set(" …*")


def test_what_is_far_from_a_url_is_shown() -> None:
    text = f"https://h/secret {'a ' * FAR}b {'c ' * FAR} https://h/secret"
    at = text.index("b")
    assert excerpt(text, at, at + 1).splitlines()[0] == f"  …{'a ' * 25}b {'c ' * 24}…"


@pytest.mark.parametrize(
    "repeated", ["'", '"', ")", "https://", "a:// ", "a://", ":", "a", '"a', "\\", "@", "http:"]
)
@pytest.mark.parametrize("lead", ["", "https://h/", '"https://h/'])
def test_the_time_to_hide_secrets_grows_as_the_text_does(lead: str, repeated: str) -> None:
    seconds = [0.001]
    for size in (1 << 12, 1 << 15, 1 << 20):
        text = lead + repeated * (size // len(repeated)) + "x://"
        started = time.process_time()
        without_secrets(text)
        seconds.append(max(time.process_time() - started, 0.001))
        assert seconds[-1] < 4 * 32 * seconds[-2]


def test_no_more_of_a_value_is_looked_at_than_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def counting(text: str) -> str:
        looked_at.append(len(text))
        return without_secrets(text)

    monkeypatch.setattr("kron.core.errors.without_secrets", counting)
    text = "https://h/" + "'" * (1 << 20)
    quoted(text)
    excerpt(text, 1 << 19, 1 << 20)
    assert len(looked_at) == 2
    assert max(looked_at) < 10_000


@examples(300)
@given(
    text=st.text(max_size=300),
    start=st.integers(0, 300),
    length=st.integers(0, 300),
)
def test_an_excerpt_is_two_short_printable_lines(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    lines = excerpt(text, start, min(start + length, len(text))).split("\n")
    assert len(lines) == 2
    shown, carets = lines
    assert shown.isprintable()
    assert set(carets) <= {" ", "^"}
    assert "^" in carets
    assert len(shown) <= 2 + 2 + 100 * len("\\U00000000")


@examples(200)
@given(
    before=st.integers(0, 5_000),
    marked=st.integers(1, 200),
    after=st.integers(0, 5_000),
)
def test_a_long_line_is_shortened_around_the_caret(before: int, marked: int, after: int) -> None:
    text = "a" * before + "X" * marked + "b" * after
    shown, carets = excerpt(text, before, before + marked).splitlines()
    assert len(shown) <= 104
    first, last = carets.index("^"), carets.rindex("^")
    assert set(shown[first : last + 1]) == {"X"}
    assert shown[first - 1] != "X"
    core = shown[2:].strip("…")
    assert core in text
    assert shown[2:].startswith("…") or text.startswith(core)
    assert shown[2:].endswith("…") or text.endswith(core)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{CRON} @\u202ereve(", id="modifier without end"),
        pytest.param(f"{CRON} @\u202ereve", id="modifier without parentheses"),
        pytest.param(f"{CRON} @\u202ereve(1)", id="unknown modifier"),
        pytest.param(f"{CRON} @policy(\u202e=1)", id="unknown key"),
        pytest.param(f"{CRON} @dist(uniform,\u202e=1,\u202e=2)", id="unknown key twice"),
        pytest.param(f"{CRON} @seed(\u200b)", id="unknown value"),
        pytest.param(f'{CRON} @seed(daily,salt="a"\u202e)', id="quoted in part"),
        pytest.param(f'{CRON} @seed(daily,salt="\\\u202e")', id="unknown escape"),
        pytest.param(f"{CRON} @tz(\u202e)", id="zone"),
        pytest.param(f"{CRON} @win(after,1\u202e)", id="duration"),
        pytest.param(f"{CRON} @win(after,\u202e)", id="no duration"),
        pytest.param(f"{CRON} @dist(skewLate,shape=\u202e)", id="number"),
        pytest.param(f"{CRON} @only(\u202e)", id="clause"),
        pytest.param(f"{CRON} @only(hours=\u202e)", id="values"),
        pytest.param(f"{CRON} @only(between=\u202e)", id="between"),
        pytest.param(f"{CRON} @only(date=\u202e)", id="date"),
        pytest.param(f"{CRON} @only(dates=\u202e..\u202e)", id="dates"),
        pytest.param("\u202e 10 * * *", id="cron field"),
        pytest.param(f"{CRON} \u202e", id="a sixth field"),
        pytest.param(f"{CRON} @tz(UTC)\u202e", id="glued"),
        pytest.param(f"{CRON} @tz(U\u00a0TC)", id="no-break space"),
        pytest.param(f"{CRON}\x1b[2J\r\n\x07\x00\x9b", id="terminal controls"),
        pytest.param(f"{CRON} @tz(\ud800)", id="lone surrogate"),
    ],
)
def test_nothing_reaches_the_output_raw(text: str) -> None:
    error = error_of(text)
    shown = str(error)
    assert all(line.isprintable() for line in shown.split("\n"))
    shown.encode()
    for problem in error.problems:
        assert problem.message.isprintable()
        assert problem.fix.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{CRON} @{'a' * 60_000}", id="modifier without parentheses"),
        pytest.param(f"{CRON} @{'a' * 60_000}(", id="modifier without end"),
        pytest.param(f"{CRON} @{'a' * 60_000}(1)", id="unknown modifier"),
        pytest.param(f"{CRON} @policy({'a' * 60_000}=1)", id="unknown key"),
        pytest.param(f"{CRON} @dist(uniform,{'a' * 20_000}=1,{'a' * 20_000}=2)", id="repeated key"),
        pytest.param(f'{CRON} @seed(daily,salt="a"{"b" * 60_000})', id="quoted in part"),
        pytest.param(f"{CRON} @win(after,{'0h' * 30_000}1)", id="duration without unit"),
        pytest.param(f"{CRON} @win(after,{'0h' * 30_000}9000h)", id="window too long"),
        pytest.param(f"{CRON} @win(after,{'0h' * 30_000}{'1' * 39}d)", id="many days"),
        pytest.param(f"{CRON} @tz({'a' * 60_000})", id="zone"),
        pytest.param(f"{CRON} {'a' * 60_000}", id="a sixth field"),
        pytest.param(f"{'1,' * 30_000}1 0 * * *", id="a long field"),
        pytest.param(f"{CRON} @only({'a' * 60_000})", id="clause"),
        pytest.param(f"{CRON} @only(dates={'a' * 60_000}..b)", id="dates"),
    ],
)
def test_a_message_is_short_however_long_the_mistake(text: str) -> None:
    error = error_of(text)
    assert all(len(problem.message) <= 300 for problem in error.problems)
    assert all(len(problem.fix) <= 200 for problem in error.problems)
    assert len(str(error)) <= len(error.problems) * 1_000


def test_twenty_problems_are_enough() -> None:
    for text in (
        f"{CRON} " + "@nope(1) " * 1_000,
        f"{CRON} " + "@nope " * 1_000,
        f"{CRON} @policy({','.join(f'k{n}=1' for n in range(1_000))})",
        f"{CRON} @only({';'.join(f'k{n}=1' for n in range(64))})",
        f"{','.join(['99'] * 200)} 0 * * *",
        "\x00" * 1_000,
    ):
        error = error_of(text)
        assert len(error.problems) == SHOWN_PROBLEMS == 20
        assert str(error).count("column ") == 20


@pytest.mark.parametrize(
    ("word", "choices", "guess"),
    [
        pytest.param("skewearly", ["skewEarly", "skewLate"], "skewEarly", id="case"),
        pytest.param("concurency", ["concurrency", "deadline"], "concurrency", id="a letter short"),
        pytest.param("deadlines", ["concurrency", "deadline"], "deadline", id="a letter more"),
        pytest.param("slat", ["salt"], "salt", id="two letters swapped"),
        pytest.param("xyz", ["salt", "after"], None, id="nothing near"),
        pytest.param("", ["salt"], None, id="nothing"),
        pytest.param("salt" * 20, ["salt" * 20], None, id="too long to guess"),
        pytest.param("salt", [], None, id="no choices"),
    ],
)
def test_a_near_miss_gets_a_guess(word: str, choices: list[str], guess: str | None) -> None:
    assert did_you_mean(word, choices) == ("" if guess is None else f'did you mean "{guess}"?')


@examples(200)
@given(value=st.text(st.characters(), max_size=200))
def test_a_quoted_value_is_short_printable_and_whole_where_it_can_be(value: str) -> None:
    shown = quoted(value)
    assert shown[0] == shown[-1] == '"'
    assert shown.isprintable()
    if value.isprintable():
        assert shown[1:-1] == value if len(value) <= 60 else shown[1:-1] == value[:59] + "…"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(kron.KronError(Code.INSTANT, "a message"), id="plain"),
        pytest.param(kron.KronError(Code.INSTANT, "a message", fix="a fix"), id="with a fix"),
        pytest.param(
            kron.ParseError("text", [kron.Problem(Code.TEXT, "m", 0, 1, "f")]), id="parse"
        ),
    ],
)
def test_an_error_survives_pickling_and_copying(error: kron.KronError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert (twin.code, twin.message, twin.fix) == (error.code, error.message, error.fix)
        assert str(twin) == str(error)
        if isinstance(error, kron.ParseError):
            assert isinstance(twin, kron.ParseError)
            assert (twin.text, twin.problems) == (error.text, error.problems)


def test_a_parse_error_is_a_kron_error_with_the_code_of_its_first_problem() -> None:
    error = error_of("61 10 * * * @seed(hourly)")
    assert isinstance(error, kron.KronError)
    assert (error.code, error.message) == (error.problems[0].code, error.problems[0].message)
    assert error.text == "61 10 * * * @seed(hourly)"


def test_a_message_without_a_fix_stands_alone() -> None:
    assert str(kron.KronError(Code.TEXT, "wrong")) == "wrong"
    assert str(kron.KronError(Code.TEXT, "wrong", fix="do this")) == "wrong (do this)"
