"""The standard streams: text and JSON out, with colour on a terminal, and files in.

The text is the same everywhere: UTF-8 whatever the locale says, and no colour in a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from kron.core.errors import Code, KronError, columns, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

Style = Callable[..., str]
"""`Terminal.styled` or `Terminal.styled_error`: a text and the names of its styles."""

Row = Sequence[str]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
COLOUR_CHOICES = ("auto", "always", "never")


class Terminal:
    def __init__(self, output: TextIO, errors: TextIO, colour: str = "auto") -> None:
        self.output = output
        self.errors = errors
        self.use_colour(colour)

    @classmethod
    def standard(cls) -> Terminal:
        """The streams of this process. A character that cannot be encoded is escaped."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # it was closed before the start: writing to it fails
                stream = open(os.devnull)  # noqa: PTH123, SIM115
                setattr(sys, name, stream)
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        return cls(sys.stdout, sys.stderr)

    def use_colour(self, colour: str) -> None:
        self._output_colour = _wants_colour(self.output, colour)
        self._error_colour = _wants_colour(self.errors, colour)

    def let_go(self) -> None:
        """Drop what cannot be written: Python would try again at exit, and exit with 120."""
        for stream in (self.output, self.errors):
            try:
                stream.flush()
            except OSError:
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def print(self, *lines: str) -> None:
        self.output.writelines(f"{line}\n" for line in lines)

    def print_json(self, value: object) -> None:
        self.output.write(f"{json_text(value)}\n")

    def error(self, *lines: str) -> None:
        with suppress(OSError):  # nothing else can be done
            self.errors.writelines(f"{line}\n" for line in lines)

    def styled(self, text: str, *styles: str) -> str:
        return _styled(text, styles) if self._output_colour else text

    def styled_error(self, text: str, *styles: str) -> str:
        return _styled(text, styles) if self._error_colour else text

    def table(
        self, head: Row, rows: Sequence[Row], right: Row = (), styles: dict[str, str] | None = None
    ) -> Iterator[str]:
        """Lines in columns as wide as their content. `right` and `styles` name columns.

        Cells hold plain text, which may be anybody's: nothing of it is obeyed by a terminal.
        """
        rows = [tuple(map(visible, row)) for row in rows]
        widths = [max(map(columns, column)) for column in zip(head, *rows, strict=True)]

        def line(row: Row, styles: dict[str, str]) -> str:
            cells = []
            for name, text, width in zip(head, row, widths, strict=True):
                styled = self.styled(text, styles[name]) if name in styles else text
                padding = " " * (width - columns(text))
                cells.append(padding + styled if name in right else styled + padding)
            return "  ".join(cells).rstrip(" ")

        yield line(head, dict.fromkeys(head, "dim"))
        for row in rows:
            yield line(row, styles or {})

    @property
    def shows_progress(self) -> bool:
        return self.errors.isatty()


def json_text(value: object) -> str:
    """JSON with nothing that a terminal would obey or hide, such as DEL and U+202E."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    odd = [each for each in set(text) if not each.isprintable() and each != "\n"]
    return text.translate({ord(each): _json_escape(each) for each in odd}) if odd else text


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def standard_input() -> bytes:
    """All of standard input; an error if it is closed, or longer than a file may be."""
    from kron.core.limits import DEFAULT_LIMITS

    if sys.stdin is None:
        raise KronError(Code.FILE_UNREADABLE, "standard input is closed")
    data = sys.stdin.buffer.read(DEFAULT_LIMITS.file_bytes + 1)
    if len(data) > DEFAULT_LIMITS.file_bytes:
        message = f"standard input is longer than {DEFAULT_LIMITS.file_bytes} bytes"
        raise KronError(Code.LIMIT, message)
    return data


def _styled(text: str, styles: tuple[str, ...]) -> str:
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _wants_colour(stream: TextIO, colour: str) -> bool:
    if colour != "auto":
        return colour == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain
