"""The progress of long work: one line on standard error, if that is a terminal."""

from __future__ import annotations

import time

from kron.console.terminal import Terminal

_WIDTH = 30
_EVERY_S = 0.1
_QUIET_S = 0.3


class Progress:
    """Counts the work done. The line appears after a moment, so that quick work shows none."""

    def __init__(self, terminal: Terminal, what: str, total: int = 0) -> None:
        self._terminal = terminal
        self._what = what
        self._total = total
        self._done = 0
        self._shown = False
        self._next_s = time.monotonic() + _QUIET_S if terminal.shows_progress else float("inf")

    def advance(self, by: int = 1) -> None:
        self.reach(self._done + by)

    def reach(self, done: int) -> None:
        self._done = done
        if time.monotonic() >= self._next_s:
            self._show()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._terminal.errors.write("\r\x1b[K")
            self._terminal.errors.flush()

    def _show(self) -> None:
        self._shown = True
        self._next_s = time.monotonic() + _EVERY_S
        if self._total:
            share = min(1.0, self._done / self._total)
            filled = int(share * _WIDTH)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            text = f"{self._what} {bar} {share:4.0%}"
        else:
            text = f"{self._what} {self._done:,}"
        self._terminal.errors.write(f"\r{text}\x1b[K")
        self._terminal.errors.flush()
