"""The lines of a watch: one event each, in pieces as they arrive."""

from __future__ import annotations

from kron.kube.client.errors import malformed


class Lines:
    """Collects bytes into lines of bounded length. An unfinished line is kept for later."""

    def __init__(self, what: str, most_bytes: int) -> None:
        self._what = what
        self._most_bytes = most_bytes
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without line feeds and empty lines."""
        first, *rest = data.split(b"\n")
        self._begun.append(first)
        self._begun_bytes += len(first)
        if self._begun_bytes > self._most_bytes:
            raise malformed(self._what, f"a line is longer than {self._most_bytes} bytes")
        if not rest:
            return []
        lines = [b"".join(self._begun), *rest]
        last = lines.pop()
        self._begun, self._begun_bytes = [last], len(last)
        return [line for line in lines if line.strip()]
