"""The weighted pool of times for schedules that name no time (section 6.3.1 of seed 004).

Its order is part of the contract: BEST, GOOD, OK, hour by hour, minute by minute, each time
repeated by its weight. Another order would move everybody's schedules.
"""

from __future__ import annotations

from kron.core.frozen import Frozen


class Tier(Frozen):
    """Hours and minutes that are equally welcome."""

    name: str
    weight: int
    hours: range
    minutes: tuple[int, ...]

    def slots(self) -> list[int]:
        """Its minutes of the day, each repeated by the weight."""
        return [
            hour * 60 + minute
            for hour in self.hours
            for minute in self.minutes
            for _ in range(self.weight)
        ]


TIERS = (
    Tier("BEST", 3, range(2, 6), (7, 13, 23, 37, 43, 53)),
    Tier("GOOD", 2, range(10, 13), tuple(range(5, 55))),
    Tier("OK", 1, range(19, 24), tuple(range(5, 55))),
)
POOL = tuple(minute for tier in TIERS for minute in tier.slots())
"""Minutes of the day: 72 + 300 + 250 = 622 of them."""
