"""Where output goes: plain text, JSON, and colour where a person looks at it.

The text is the same everywhere: UTF-8 whatever the locale says, and no colour in a pipe.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
COLOUR_CHOICES = ("auto", "always", "never")


class Terminal:
    """Standard output and standard error."""

    def __init__(self, output: TextIO, errors: TextIO, colour: str = "auto") -> None:
        self.output = output
        self.errors = errors
        self.use_colour(colour)

    @classmethod
    def standard(cls) -> Terminal:
        """The process's own. A character that cannot be shown is escaped, never an error."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # it was closed before we began: whoever writes is told
                stream = open(os.devnull)  # noqa: PTH123, SIM115
                setattr(sys, name, stream)
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        return cls(sys.stdout, sys.stderr)

    def use_colour(self, colour: str) -> None:
        """`--color`."""
        self._output_colour = _wants_colour(self.output, colour)
        self._error_colour = _wants_colour(self.errors, colour)

    def let_go(self) -> None:
        """Drop what cannot be written: Python would try again as it ends, and end with 120."""
        for stream in (self.output, self.errors):
            try:
                stream.flush()
            except OSError:
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def print(self, text: str = "") -> None:
        """A line for standard output."""
        self.output.write(f"{text}\n")

    def print_json(self, value: Any) -> None:
        """One JSON document for standard output."""
        import json

        json.dump(value, self.output, indent=2, ensure_ascii=False)
        self.output.write("\n")

    def error(self, text: str) -> None:
        """A line for standard error."""
        with suppress(OSError):  # there is nobody left to tell
            self.errors.write(f"{text}\n")

    def styled(self, text: str, *styles: str) -> str:
        """`text` for standard output, in colour if that is wanted."""
        return _styled(text, styles) if self._output_colour else text

    def styled_error(self, text: str, *styles: str) -> str:
        """`text` for standard error, in colour if that is wanted."""
        return _styled(text, styles) if self._error_colour else text

    @property
    def shows_progress(self) -> bool:
        """Whether a person waits at standard error."""
        return self.errors.isatty()


def _styled(text: str, styles: tuple[str, ...]) -> str:
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _wants_colour(stream: TextIO, colour: str) -> bool:
    if colour != "auto":
        return colour == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain
