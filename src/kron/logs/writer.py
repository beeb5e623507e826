"""The writer: records to lines on a stream, from a given level up.

It has no clock and no buffer: a record carries its time, and is written before `write` returns.
"""

from __future__ import annotations

from enum import StrEnum

from kron.logs.event import Level
from kron.logs.record import Record
from kron.logs.text import write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Stream(Protocol):
        """The stream of the lines, for example `open(path, "ab", buffering=0)`."""

        def write(self, data: bytes, /) -> int | None:
            """As `io.RawIOBase.write`: how many bytes were taken, None for not now."""


class Format(StrEnum):
    """How a record becomes a line."""

    TEXT = "text"
    JSON = "json"


class Writer:
    """Writes records to a stream, each as one line and, if the stream takes it whole, one write.

    An `OSError` of the stream goes to the caller, which decides whether to go on. That line is
    lost; if a part of it was written, the next one still begins on a new line.
    """

    __slots__ = ("_least", "_line", "_stream", "_torn")

    def __init__(
        self, stream: Stream, form: Format = Format.TEXT, level: Level = Level.INFO
    ) -> None:
        self._stream = stream
        self._line = write_text
        if form is Format.JSON:
            from kron.logs.json_lines import write_json

            self._line = write_json
        self._least = level
        self._torn = False

    def wants(self, level: Level) -> bool:
        """Whether a record of this level would be written; if not, there is no need to make one."""
        return level.reaches(self._least)

    def write(self, record: Record) -> None:
        if not self.wants(record.level):
            return
        line = f"{self._line(record)}\n".encode()
        if self._torn:
            line = b"\n" + line
        while line:
            taken = self._stream.write(line)
            if not taken:
                raise BlockingIOError("the log is full at the moment")
            self._torn = taken < len(line)
            line = line[taken:]
