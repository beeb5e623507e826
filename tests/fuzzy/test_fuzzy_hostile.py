"""Whatever arrives, the answer is a KronError, in time and memory that the input's size bounds."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import fuzzy
from kron.fuzzy.placeholder import read_placeholder
from tests.fuzzy.expressions import Meant, expressions
from tests.soak import examples

MOST = 64 * 1024
Reader = Callable[[str], object]
READERS: dict[str, Reader] = {
    "parse": fuzzy.parse,
    "placeholder": read_placeholder,
    "scatter": lambda text: fuzzy.scatter(text, "owner/repo/path.md"),
    "baseline": lambda text: fuzzy.parse_schedule(text, identity="owner/repo/path.md"),
}


def answered(text: str, read: Reader) -> kron.KronError | None:
    """The error of a text, shown once as a person would see it; None if the text is fine."""
    try:
        read(text)
    except kron.KronError as refused:
        error = refused
    else:
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


WORDS = (
    *("daily", "weekly", "hourly", "every", "bi-weekly", "on", "monday", "mondey", "weekdays"),
    *("around", "between", "and", "at", "am", "pm", "14:00", "9", "3pm", "25:99", "noon"),
    *("utc+9", "utc", "utc+99", "pst", "pt", "5", "2h", "minutes", "fortnights", "-1", "1.5"),
    *("FUZZY:DAILY", "FUZZY:WEEKLY:1:AROUND:9:0", "*", "1-5", "@tz(UTC)", "@win(after,1h)"),
    *("@", "(", '"', "é", "\ud800", "\x00"),
)
words = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@pytest.mark.parametrize("reader", READERS)
@examples(150)
@given(text=st.one_of(st.text(st.characters(), max_size=60), words))
def test_any_text_is_read_or_a_kron_error(reader: str, text: str) -> None:
    answered(text, READERS[reader])


@examples(250)
@given(meant=expressions(), data=st.data())
def test_a_mistyped_expression_is_read_or_a_kron_error(meant: Meant, data: st.DataObject) -> None:
    text = meant.text
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        text = (
            text[:place]
            + data.draw(st.sampled_from(["", "x", " ", "0", ":", "-"]))
            + text[place + 1 :]
        )
    for read in READERS.values():
        answered(text, read)


UNITS = [
    "daily ", "around ", "between ", "and ", "on ", "every ", "9", "9 ", "9:", ":", "utc+9 ", "utc",
    "-", "pm", "FUZZY:", "FUZZY:DAILY ", ":0", "* ", "*/", "@", "@tz(UTC) ", "@win(", "(", '"',
    " ", "\t", "\x00", "\ud800", "漢", "é", "\u212a",
]  # fmt: skip
FRAMES = {
    "parse": [
        "daily {}",
        "daily around {}",
        "daily around 9:00 {}",
        "weekly on {}",
        "every {}",
        "every 5 {}",
        "daily between {} and 9:00",
        "daily between 9:00 and {}",
    ],
    "placeholder": ["FUZZY:{} * * *", "FUZZY:DAILY_AROUND:{} * * *", "FUZZY:DAILY * * {}"],
    "scatter": ["{}"],
    "baseline": ["daily {}", "daily @win({})"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("unit", UNITS)
def test_a_line_full_of_one_thing_is_answered_soon(unit: str) -> None:
    started = time.process_time()
    many = unit * ((MOST - 200) // len(unit.encode(errors="surrogatepass")))
    for reader, frames in FRAMES.items():
        for frame in frames:
            answered(frame.format(many), READERS[reader])
            answered(frame.format(unit * 40), READERS[reader])
    assert time.process_time() - started < 30  # about a second; backtracking would take for ever


@pytest.mark.parametrize("reader", READERS)
def test_a_huge_text_costs_next_to_nothing(reader: str) -> None:
    for text in ("daily " * 10_000_000, "FUZZY:DAILY " * 5_000_000):
        tracemalloc.start()
        error = answered(text, READERS[reader])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert error is not None
        assert error.code is kron.Code.LIMIT
        assert peak < 1024 * 1024
