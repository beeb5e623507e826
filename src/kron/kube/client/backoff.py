"""How long to wait before trying again: longer each time, and not at the same moment as others."""

from __future__ import annotations

from random import random

FIRST_S = 0.25
LONGEST_S = 3.0
"""Short, because whoever waits is blind: a KronJob that is first seen late owes nothing."""
LONGEST_ASKED_S = 60.0
"""What a Retry-After may ask for. A cache that is older than this is worse than one request."""


class Backoff:
    """Waits of 0.25 s, doubling to 3 s, each with jitter: between a half and the whole of it."""

    def __init__(self, first_s: float = FIRST_S, longest_s: float = LONGEST_S) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def reset(self) -> None:
        """It went well: begin with the shortest wait again."""
        self._next_s = self._first_s

    def next_s(self, asked_s: float | None = None) -> float:
        """The next wait; at least `asked_s`, if the server asks for some."""
        wait_s = self._next_s * (0.5 + random() / 2)  # noqa: S311
        self._next_s = min(2 * self._next_s, self._longest_s)
        if asked_s is None:
            return wait_s
        return max(wait_s, min(asked_s, LONGEST_ASKED_S))
