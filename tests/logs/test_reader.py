"""The reader: plain or gzip, text or JSON, whole or damaged, in bounded memory."""

from __future__ import annotations

import gzip
import io
import random
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.logs import Component, Format, Level, Record, read, write_text
from kron.logs.reader import LINE_BYTES, lines
from tests.logs.records import log, records
from tests.soak import examples

MIB = 1024 * 1024


def event(number: int, value: str = "x") -> Record:
    return Record(number, Level.INFO, Component.SEED, "e", (("a", value),))


EVENTS = [event(number) for number in range(5)]
LINES = log(EVENTS)


def found(data: bytes) -> list[tuple[int, Record | kron.Problem]]:
    return list(read(io.BytesIO(data)))


def problems(data: bytes) -> list[tuple[int, str]]:
    return [(n, entry.message) for n, entry in found(data) if isinstance(entry, kron.Problem)]


def found_records(data: bytes) -> list[Record]:
    return [entry for _, entry in found(data) if isinstance(entry, Record)]


class Trickle:
    """A pipe that brings a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._stream = io.BytesIO(data)
        self._size = size

    def read(self, size: int) -> bytes:
        return self._stream.read(min(size, self._size))


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
def test_lines_come_with_their_numbers_however_they_arrive(
    compress: Callable[[bytes], bytes], size: int
) -> None:
    data = compress(LINES)
    assert list(read(Trickle(data, size))) == list(enumerate(EVENTS, 1))


@examples(60)
@given(made=st.lists(records(), max_size=6), forms=st.lists(st.sampled_from(Format), min_size=6))
def test_text_and_json_may_be_mixed(made: list[Record], forms: list[Format]) -> None:
    data = b"".join(log([record], form) for record, form in zip(made, forms, strict=False))
    assert found_records(data) == made
    assert found_records(gzip.compress(data)) == made


def test_gzip_is_known_by_its_first_bytes_and_may_have_many_members() -> None:
    members = b"".join(gzip.compress(log([record])) for record in EVENTS)
    assert found(members) == list(enumerate(EVENTS, 1))
    assert found(members + b"\0" * 700_000) == list(enumerate(EVENTS, 1))
    padded = gzip.compress(log(EVENTS[:2])) + b"\0" * 9 + gzip.compress(log(EVENTS[2:]))
    assert found(padded) == list(enumerate(EVENTS, 1))


@pytest.mark.parametrize("keep", [2, 9, 10, 11, 30, -9, -8, -1])
def test_a_gzip_file_that_is_cut_off_is_reported_after_what_it_held(keep: int) -> None:
    whole = gzip.compress(log([event(number, f"{number:x}" * 9) for number in range(99)]))
    entries = found(whole[:keep])
    last_number, last = entries[-1]
    assert isinstance(last, kron.Problem)
    assert "cut off" in last.message
    kept = [entry for _, entry in entries if isinstance(entry, Record)]
    assert kept == [event(number, f"{number:x}" * 9) for number in range(len(kept))]
    assert last_number == len(kept) + 1
    if keep < 0:
        assert len(kept) == 99


@pytest.mark.heavy
def test_what_was_read_of_a_gzip_file_before_it_was_cut_counts() -> None:
    chance = random.Random(4)
    made = [event(number, f"{chance.getrandbits(256):x}") for number in range(20_000)]
    whole = gzip.compress(log(made))
    entries = found(whole[: len(whole) // 2])
    kept = [entry for _, entry in entries if isinstance(entry, Record)]
    assert 9_000 < len(kept) < 11_000
    assert kept == made[: len(kept)]
    cut_line, cut_file = entries[-2:]
    assert [cut_line[0], cut_file[0]] == [len(kept) + 1] * 2


@pytest.mark.heavy
def test_a_damaged_gzip_file_is_reported() -> None:
    made = [
        event(number, f"{random.Random(number).getrandbits(256):x}") for number in range(20_000)
    ]
    damaged = bytearray(gzip.compress(log(made)))
    damaged[len(damaged) // 2] ^= 0xFF
    entries = found(bytes(damaged))
    last = entries[-1][1]
    assert isinstance(last, kron.Problem)
    assert "gzip data is damaged" in last.message
    assert entries[:100] == list(enumerate(made[:100], 1))
    assert "damaged" in problems(gzip.compress(LINES) + b"junk")[-1][1]


@pytest.mark.parametrize(
    ("magic", "name"),
    [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"), (b"BZh9", "bzip2")],
)
def test_another_compression_is_named(magic: bytes, name: str) -> None:
    ((number, problem),) = found(magic + b"\x00\n" * 50)
    assert number == 1
    assert isinstance(problem, kron.Problem)
    assert problem.message == f"the log is compressed with {name}"
    assert problem.fix.endswith(f"{name} -dc FILE")


def test_junk_lines_are_reported_and_passed_over() -> None:
    data = LINES.replace(b"\n", b"\n\x00\xff junk\n", 2)
    assert found_records(data) == EVENTS
    assert [number for number, _ in problems(data)] == [2, 4]
    assert all("not UTF-8: it has the byte 0xff" in message for _, message in problems(data))


def test_what_is_not_utf_8_does_not_hide_its_neighbours() -> None:
    data = LINES + "ab\xe9\n".encode("latin-1") + LINES
    ((number, problem),) = (
        (number, entry) for number, entry in found(data) if isinstance(entry, kron.Problem)
    )
    assert (number, problem.start) == (6, 2)
    assert len(found_records(data)) == 10


def test_blank_lines_count_but_are_passed_over() -> None:
    spaced = b"\n  \n" + LINES.replace(b"\n", b"\n\n") + b"\r\n\t\n"
    assert [number for number, _ in found(spaced)] == [3, 5, 7, 9, 11]
    assert found_records(spaced) == EVENTS


def test_lines_may_end_as_on_windows() -> None:
    assert found(LINES.replace(b"\n", b"\r\n")) == list(enumerate(EVENTS, 1))


def test_nothing_is_nothing() -> None:
    for data in (b"", gzip.compress(b""), b"\n", b"\n\n\n"):
        assert found(data) == []


def test_a_last_line_without_a_line_break_may_be_cut_off_and_is_not_believed() -> None:
    assert found_records(LINES[:-1]) == EVENTS[:-1]
    ((number, message),) = problems(LINES[:-1])
    assert number == 5
    assert "does not end with a line break" in message


def test_a_last_line_of_json_shows_that_it_is_whole() -> None:
    data = log(EVENTS, Format.JSON)
    assert found_records(data[:-1]) == EVENTS
    assert "line break" in problems(data[:-2])[0][1]
    assert "not JSON" in problems(log([event(1, "}")], Format.JSON)[:-3])[0][1]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("length", "is_read"),
    [
        pytest.param(LINE_BYTES, True, id="the-longest"),
        pytest.param(LINE_BYTES + 1, False, id="one-more"),
        pytest.param(3 * LINE_BYTES, False, id="three-times"),
    ],
)
def test_a_line_may_be_one_mib_long(
    compress: Callable[[bytes], bytes], length: int, is_read: bool
) -> None:
    empty = len(write_text(event(9, "")).encode()) - 2
    long = log([event(9, "x" * (length - empty))])
    assert len(long) == length + 1
    data = compress(log(EVENTS) + long + log(EVENTS))
    numbers = {number for number, _ in problems(data)}
    assert numbers == (set() if is_read else {6})
    assert len(found_records(data)) == (11 if is_read else 10)
    assert [number for number, _ in found(data)] == list(range(1, 12))


def test_bytes_count_and_not_characters() -> None:
    long = log([event(9, "漢" * (LINE_BYTES // 3))])
    assert [number for number, _ in problems(LINES + long + LINES)] == [6]


def test_a_last_line_that_is_too_long_is_reported() -> None:
    assert problems(LINES + b"x" * 3 * MIB) == [(6, "the line is longer than 1,048,576 bytes")]


class Endless:
    """A line of a gigabyte, then some events."""

    def __init__(self, blocks: int) -> None:
        self._blocks = iter([*[b"x" * 256 * 1024] * blocks, b"\n" + LINES])

    def read(self, _: int) -> bytes:
        return next(self._blocks, b"")


def peak_bytes(entries: Iterator[object]) -> int:
    tracemalloc.start()
    try:
        for _ in entries:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_a_line() -> None:
    assert peak_bytes(read(Endless(blocks=4_000))) < 8 * MIB
    assert [number for number, _ in read(Endless(blocks=100))] == [1, 2, 3, 4, 5, 6]


@pytest.mark.heavy
def test_memory_does_not_grow_with_what_gzip_unfolds() -> None:
    bomb = gzip.compress(b"\0" * 100 * MIB)
    assert len(bomb) < MIB
    assert peak_bytes(read(io.BytesIO(bomb))) < 12 * MIB


def test_progress_is_told_in_bytes_of_the_file() -> None:
    data = gzip.compress(LINES * 50_000, 1)
    reported: list[int] = []
    assert sum(1 for _ in lines(io.BytesIO(data), reported.append)) > 10
    assert reported == sorted(reported)
    assert reported[-1] == len(data)
