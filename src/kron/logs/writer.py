"""The writer: records to lines on a stream, those of a level that is wanted.

It has no clock and no buffer: a record carries its time, and is written before `write` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from kron.logs.event import Level
from kron.logs.record import Record
from kron.logs.text import write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Stream(Protocol):
        """Where the lines go: a file opened as `open(path, "ab", buffering=0)`, for example."""

        def write(self, data: bytes, /) -> int | None:
            """As `io.RawIOBase.write`: how many bytes were taken, None for not now."""


class Format(StrEnum):
    """How a record becomes a line."""

    TEXT = "text"
    JSON = "json"


class Writer:
    """Writes records to a stream, each as one line and, if the stream takes it whole, one write.

    An `OSError` of the stream goes to the caller, who knows whether to stop or to go on. The line
    is lost then; should it have been torn, the next one still begins on a line of its own.
    """

    __slots__ = ("_least", "_line", "_stream", "_torn")

    def __init__(
        self, stream: Stream, form: Format = Format.TEXT, level: Level = Level.INFO
    ) -> None:
        self._stream = stream
        self._line = line_of(form)
        self._least = level
        self._torn = False

    def wants(self, level: Level) -> bool:
        """Whether a record of this level would be written, so that others need not be made."""
        return level.reaches(self._least)

    def write(self, record: Record) -> None:
        """Write the record, unless its level is below the one that is wanted."""
        if self.wants(record.level):
            self.write_line(self._line(record))

    def write_line(self, text: str) -> None:
        """Write what `line_of` the format has made of a record of a level that is wanted."""
        line = (text + "\n").encode()
        if self._torn:
            line = b"\n" + line
        while line:
            taken = self._stream.write(line)
            if not taken:
                raise BlockingIOError("the log takes no more at the moment")
            self._torn = taken < len(line)
            line = line[taken:]


def line_of(form: Format) -> Callable[[Record], str]:
    """The function that writes a record in this format."""
    if form is Format.TEXT:
        return write_text
    from kron.logs.json_lines import write_json

    return write_json
