"""Where output goes: plain text, JSON, and colour where a person looks at it.

The text is the same everywhere: UTF-8 whatever the locale says, and no colour in a pipe.
"""

from __future__ import annotations

import os
import sys

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
        self._output_colour = _wants_colour(output, colour)
        self._error_colour = _wants_colour(errors, colour)

    @classmethod
    def standard(cls, colour: str = "auto") -> Terminal:
        """The process's own. A character that cannot be shown is escaped, never an error."""
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
        return cls(sys.stdout, sys.stderr, colour)

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
