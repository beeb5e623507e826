"""The API server's clock, by the Date of its answers: how far ours is certainly ahead or behind.

A Date has whole seconds, and an answer takes a while, so a difference is certain only beyond both.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from kron.core.duration import SECOND_NS
from kron.waking.clock import Clock


class ServerClock:
    def __init__(self, clock: Clock) -> None:
        self.ahead_s = 0.0
        """How much our clock is ahead, at the least; negative if it is behind."""
        self._clock = clock
        self._last_s = 0.0
        self._date = ""
        self._date_s = 0.0

    def heard(self, date: str, took_s: float) -> None:
        """An answer had this Date, and came `took_s` after its request was sent."""
        if not date:
            return
        if date != self._date:
            try:
                self._date_s = parsedate_to_datetime(date).timestamp()
            except (ValueError, OverflowError, TypeError):
                return
            self._date = date
        now_s = self._clock.now_ns() / SECOND_NS
        least_s = now_s - took_s - (self._date_s + 1.0)
        most_s = now_s - self._date_s
        last_s, self._last_s = self._last_s, max(0.0, least_s) + min(0.0, most_s)
        self.ahead_s = min(last_s, self._last_s, key=abs)  # one answer may be somebody else's
