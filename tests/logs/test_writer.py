"""The writer: one record, one line, one write; and what happens when the stream fails."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from kron.logs import Component, Format, Level, Record, Writer, read, write_text
from kron.logs.json_lines import write_json


def event(level: Level = Level.INFO, value: str = "a b") -> Record:
    return Record(1, level, Component.SEED, "e", (("a", value),))


class Stream:
    """Accepts a given number of bytes of each write, or fails."""

    def __init__(self, *takes: int | OSError | None) -> None:
        self._takes = list(takes)
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> int | None:
        take = self._takes.pop(0) if self._takes else len(data)
        if isinstance(take, OSError):
            raise take
        if take is not None:
            self.writes.append(bytes(data[:take]))
        return take

    @property
    def data(self) -> bytes:
        return b"".join(self.writes)


def test_a_record_is_one_line_in_one_write() -> None:
    text, json = Stream(), Stream()
    for _ in range(3):
        Writer(text).write(event())
        Writer(json, Format.JSON).write(event())
    assert text.writes == [f"{write_text(event())}\n".encode()] * 3
    assert json.writes == [f"{write_json(event())}\n".encode()] * 3


@pytest.mark.parametrize("least", list(Level))
def test_what_is_below_the_level_is_not_written(least: Level) -> None:
    stream = Stream()
    writer = Writer(stream, level=least)
    for level in Level:
        writer.write(event(level))
        assert writer.wants(level) == level.reaches(least)
    assert len(stream.writes) == sum(level.reaches(least) for level in Level)


def test_a_stream_that_takes_a_line_in_parts_gets_all_of_it() -> None:
    stream = Stream(5, 1, 10)
    Writer(stream).write(event())
    assert stream.data == f"{write_text(event())}\n".encode()


@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left on device"), None], ids=["full", "would-block"]
)
def test_a_failed_write_goes_to_the_caller_and_the_next_line_is_whole(
    failure: OSError | None,
) -> None:
    stream = Stream(5, failure)
    writer = Writer(stream)
    with pytest.raises(OSError, match="space left" if failure else "the log is full"):
        writer.write(event())
    writer.write(event(value="next"))
    writer.write(event(value="last"))
    assert stream.data.count(b"\n") == 3
    found = [entry for _, entry in read(io.BytesIO(stream.data)) if isinstance(entry, Record)]
    assert found == [event(value="next"), event(value="last")]


def test_a_write_that_fails_whole_leaves_no_trace() -> None:
    stream = Stream(OSError(5, "I/O error"))
    writer = Writer(stream)
    with pytest.raises(OSError, match="I/O error"):
        writer.write(event())
    writer.write(event())
    assert stream.data == f"{write_text(event())}\n".encode()


def test_an_unbuffered_file_has_the_line_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as stream:
        Writer(stream, Format.JSON).write(event(value="\ud800 \n"))
        with path.open("rb") as log:
            assert [entry for _, entry in read(log)] == [event(value="\ud800 \n")]


def test_a_reader_that_has_gone_is_an_error_for_the_caller() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as stream, pytest.raises(BrokenPipeError):
        Writer(stream).write(event())
