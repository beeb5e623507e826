"""Lines from a stream of bytes, as they become complete."""

from __future__ import annotations


class LineTooLongError(ValueError):
    """A line that has no end within the bound."""


class Lines:
    """Collects bytes into lines of at most `most` bytes. A line without its end is not a line."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends; empty ones are left out."""
        first, *rest = data.split(b"\n")
        self._begun.append(first)
        self._begun_bytes += len(first)
        if self._begun_bytes > self._most:
            raise LineTooLongError(f"a line is longer than {self._most} bytes")
        if not rest:
            return []
        lines = [b"".join(self._begun), *rest]
        last = lines.pop()
        self._begun, self._begun_bytes = [last], len(last)
        return [line for line in lines if line.strip()]
