"""Whatever arrives, the answer is a KronError, in time and memory that the input's size bounds."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kron
from tests.core.schedules import schedule_texts
from tests.soak import examples

CRON = "0 10 * * *"
KIB = 1024
MOST = 64 * KIB


def answered(text: str) -> kron.KronError | None:
    """The error of a text, shown once as a person would see it; None if the text is fine."""
    try:
        schedule = kron.parse_schedule(text)
    except kron.KronError as refused:
        error = refused
    else:
        assert kron.parse_schedule(str(schedule)) == schedule
        return None
    shown = str(error)
    shown.encode()
    assert all(line.isprintable() for line in shown.split("\n"))
    if isinstance(error, kron.ParseError):
        assert 1 <= len(error.problems) <= 20
        for problem in error.problems:
            assert 0 <= problem.start <= problem.end <= len(text)
            assert problem.message
    return error


anything = st.text(st.characters(), max_size=80)
grammar_like = st.text(
    st.sampled_from('@()",;=\\ \t*/-0159:.wintzdsolyavhpMONJA\u202e\u0301漢\x00\ud800é'),
    max_size=80,
)


@examples(500)
@given(
    text=st.one_of(anything, grammar_like, grammar_like.map(lambda text: f"{CRON} @only({text})"))
)
@example("\x00")
@example("\ud800\udfff")
def test_any_text_is_a_schedule_or_a_kron_error(text: str) -> None:
    answered(text)


@examples(300)
@given(text=st.one_of(anything, st.text("0123456789.hmsnuµd -+e", max_size=40)))
def test_any_text_is_a_duration_or_a_kron_error(text: str) -> None:
    try:
        duration_ns = kron.parse_duration(text)
    except kron.KronError as error:
        str(error).encode()
    else:
        assert 0 <= duration_ns < 2**63


@examples(250)
@given(text=schedule_texts(), data=st.data())
def test_a_mistyped_schedule_is_a_schedule_or_a_kron_error(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 6))
        match data.draw(st.sampled_from(["delete", "duplicate", "replace", "move"])):
            case "delete":
                text = text[:place] + text[place + length :]
            case "duplicate":
                text = text[: place + length] + text[place:]
            case "replace":
                text = text[:place] + data.draw(grammar_like) + text[place + length :]
            case _:
                text = text[place:] + text[:place]
    answered(text)


def filled(unit: str, size: int = MOST) -> str:
    """As many whole units as fit into `size` bytes."""
    return unit * (size // len(unit.encode(errors="surrogatepass")))


UNITS = [
    "(",
    ")",
    "()",
    ",",
    '"',
    '""',
    '"" ',
    "@",
    "@ ",
    "\\",
    '\\"',
    ";",
    "@only(",
    "@only() ",
    "1,",
    "*/",
    "* ",
    "*,",
    "-",
    "=",
    "@tz(UTC) ",
    "@x(1) ",
    "@daily ",
    "0 ",
    " ",
    "\t",
    "1-",
    "0-59,",
    '@seed(daily,salt="',
    '@seed(daily,salt="\\"',
    '"\\',
    "@win(after,2h) ",
    "@win(after, 2h) ",
    "\u202e",
    "\u200b",
    "\u0301",
    "漢",
    "\x00",
    "\ud800",
    "\U0001f600",
    "é",
]
FRAMES = {
    "alone": "{}",
    "field": "{} 0 * * *",
    "after": CRON + " {}",
    "zone": CRON + " @tz({})",
    "window": CRON + " @win(after,{})",
    "distribution": CRON + " @dist({})",
    "parameter": CRON + " @dist(skewLate,shape={})",
    "salt": CRON + ' @seed(daily,salt="{}")',
    "policy": CRON + " @policy({})",
    "only": CRON + " @only({})",
    "hours": CRON + " @only(hours={})",
    "open": CRON + ' @only(hours="{}',
}


@pytest.mark.heavy
@pytest.mark.parametrize("unit", UNITS)
def test_a_line_full_of_one_thing_is_answered(unit: str) -> None:
    for frame in FRAMES.values():
        answered(frame.format(filled(unit, MOST - 100)))
        answered(frame.format(filled(unit, 500)))
    error = answered(filled(unit, MOST + 100))
    assert error is not None
    assert error.code is kron.Code.LIMIT


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(f"{CRON} @tz(../../etc/passwd)", "zone-unknown", id="a path that climbs"),
        pytest.param(f"{CRON} @tz(/etc/passwd)", "zone-unknown", id="an absolute path"),
        pytest.param(
            f"{CRON} @tz(Europe/../Europe/Paris)", "zone-unknown", id="a path in a circle"
        ),
        pytest.param(f"{CRON} @tz(Europe)", "zone-unknown", id="a directory"),
        pytest.param(f"{CRON} @tz(Europe/)", "zone-unknown", id="a directory with its slash"),
        pytest.param(f"{CRON} @tz(.)", "zone-unknown", id="a point"),
        pytest.param(f"{CRON} @tz(..)", "zone-unknown", id="two points"),
        pytest.param(f"{CRON} @tz(tzdata.zi)", "zone-unknown", id="another file of the database"),
        pytest.param(f"{CRON} @tz(zone.tab)", "zone-unknown", id="a table"),
        pytest.param(f"{CRON} @tz(__init__.py)", "zone-unknown", id="a file of the package"),
        pytest.param(f'{CRON} @tz("Europe/Paris ")', "zone-unknown", id="a space after"),
        pytest.param(f"{CRON} @tz(Europe\\Paris)", "modifier-form", id="a backslash"),
        pytest.param(f"{CRON} @tz(UTC\x00)", "text", id="NUL"),
        pytest.param(f'{CRON} @tz("")', "zone-unknown", id="empty"),
        pytest.param(f"{CRON} @tz({'a' * 300})", "zone-unknown", id="longer than a file name"),
        pytest.param(f"{CRON} @tz({'a/' * 30_000})", "zone-unknown", id="longer than a path"),
        pytest.param(f"{CRON} @tz(localtime)", "zone-unknown", id="localtime"),
        pytest.param(f"{CRON} @tz(posixrules)", "zone-unknown", id="posixrules"),
        pytest.param(f"{CRON} @tz(Factory)", "zone-unknown", id="Factory"),
        pytest.param(f"{CRON} @tz(right/UTC)", "zone-unknown", id="leap seconds"),
        pytest.param(f"{CRON} @tz(posix/UTC)", "zone-unknown", id="posix"),
        pytest.param(f"{CRON} @tz(utc)", "zone-unknown", id="small letters"),
        pytest.param(f"{CRON} @tz(EUROPE/PARIS)", "zone-unknown", id="capitals"),
        pytest.param(f"{CRON} @tz(CET-1CEST)", "zone-unknown", id="a POSIX rule"),
        pytest.param(f"{CRON} @tz(+02:00)", "zone-unknown", id="an offset"),
        pytest.param(f"{CRON} @tz(Europe/Pаris)", "zone-unknown", id="a Cyrillic letter"),
        pytest.param(f"{CRON} @tz(\u200eUTC)", "zone-unknown", id="left-to-right mark"),
        pytest.param(f"{CRON}\u200b", "cron-field", id="zero-width space"),
        pytest.param(f"\ufeff{CRON}", "cron-field", id="byte order mark"),
        pytest.param("０ 10 * * *", "cron-field", id="full width digit"),
        pytest.param("0 10 * * *\r\n", "text", id="Windows line end"),
        pytest.param("0\n10 * * *", "text", id="two lines"),
        pytest.param("0 10 ＊ * *", "cron-field", id="full width star"),
        pytest.param(f"{CRON} ＠tz(UTC)", "cron-field-count", id="full width at sign"),
        pytest.param(f"{CRON} @tz（UTC）", "modifier-form", id="full width parentheses"),
        pytest.param(f"{CRON} @seed(daily,salt=“a b”)", "modifier-form", id="typographic quotes"),
        pytest.param(f"{CRON} @win(after,{'9' * 50_000}h)", "duration", id="a huge number"),
        pytest.param(f"{CRON} @dist(skewLate,shape={'9' * 50_000})", "number", id="a huge shape"),
        pytest.param(f"{CRON} @dist(skewLate,shape=1e{'9' * 50_000})", "number", id="an exponent"),
        pytest.param(f"*/{'9' * 5_000} * * * *", "limit", id="a huge step"),
        pytest.param(f"*/{'9' * 900} * * * *", "cron-field", id="a large step"),
        pytest.param(f"{'9' * 900} * * * *", "cron-field", id="a large minute"),
    ],
)
def test_a_nasty_text_gets_its_own_answer(text: str, code: str) -> None:
    error = answered(text)
    assert error is not None
    assert error.code == code


def test_a_hundred_megabytes_are_refused_without_being_read() -> None:
    line = "(" * 100_000_000
    tracemalloc.start()
    try:
        with pytest.raises(kron.KronError) as caught:
            kron.parse_schedule(line)
        shown = str(caught.value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code is kron.Code.LIMIT
    assert len(shown) < 1_000
    assert peak < MOST


def cost(text: str, runs: int) -> float:
    """The least CPU time of some runs of parsing a text and showing its problems."""
    least = float("inf")
    for _ in range(runs):
        began = time.process_time()
        try:
            kron.parse_schedule(text)
        except kron.KronError as error:
            str(error)
        least = min(least, time.process_time() - began)
    return least


@pytest.mark.heavy
@pytest.mark.parametrize("frame", FRAMES)
def test_the_time_grows_no_faster_than_the_line(frame: str) -> None:
    never_too_much_s = 0.040
    for unit in UNITS:
        text = FRAMES[frame].format(filled(unit, MOST - 100))
        if cost(text, runs=1) < never_too_much_s:
            continue
        # Four times as long a line may take eight times as long.
        quarter = cost(FRAMES[frame].format(filled(unit, MOST // 4 - 100)), runs=5)
        assert cost(text, runs=5) < max(8 * quarter, never_too_much_s), unit


@pytest.mark.heavy
@pytest.mark.parametrize("frame", FRAMES)
def test_the_memory_is_a_small_multiple_of_the_line(frame: str) -> None:
    for unit in ("(", ",", '"', "\\", "1,", "@x(1) ", "漢"):
        text = FRAMES[frame].format(filled(unit, MOST - 100))
        cost(text, runs=1)
        tracemalloc.start()  # counts what is allocated from here on, so garbage may lie about
        try:
            cost(text, runs=1)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 64 * MOST, unit


@pytest.mark.heavy
@pytest.mark.parametrize("unit", ["1", "0h", "1h", ".", "0.", "ns", "9", "µ", "h", "\ud800"])
def test_a_long_duration_takes_time_in_proportion(unit: str) -> None:
    def run(size: int) -> float:
        text = filled(unit, size)
        least = float("inf")
        for _ in range(3):
            began = time.process_time()
            try:
                kron.parse_duration(text)
            except kron.KronError as error:
                str(error)
            least = min(least, time.process_time() - began)
        return least

    assert run(256 * KIB) < 8 * max(run(64 * KIB), 0.020)
