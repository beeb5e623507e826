"""Random cron expressions, zones and instants for the tests, from a seeded generator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from random import Random

from kron import ParseError, Schedule, parse_schedule
from tests.core.brute_force import DAY_S
from tests.core.tzif import ZONES, offset_changes

FIRST_S = int(datetime(1901, 1, 1, tzinfo=UTC).timestamp())
LAST_S = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
NEAR_S = 2 * DAY_S
RARE_YEARS = 41
"""The rarest expressions, a leap day on one weekday, may not come for forty years."""


def random_expression(random: Random) -> str:
    """Five fields, each kind of item in every field, stars as often as people write them."""
    return " ".join(
        (
            _field(random, 0, 59, 0.2),
            _field(random, 0, 23, 0.3),
            _field(random, 1, 31, 0.6),
            _field(random, 1, 12, 0.75),
            _field(random, 0, 7, 0.65),
        )
    )


def random_schedule(random: Random, zone: str) -> tuple[Schedule, str]:
    """A random expression that can match, in that zone, and its text."""
    while True:
        expression = random_expression(random)
        with suppress(ParseError):  # a day that never comes
            return parse_schedule(f"{expression} @tz({zone})"), expression


def random_zones(random: Random) -> Iterator[str]:
    """Zones without end, each of them once before any appears again."""
    zones = list(ZONES)
    while True:
        random.shuffle(zones)
        yield from zones


def near_change(random: Random, zone: str) -> int | None:
    """An instant within two days of an offset change; None for a zone that has none."""
    changes = [instant_s for instant_s, _ in offset_changes(zone) if instant_s > FIRST_S]
    if not changes:
        return None
    return random.choice(changes) + random.randint(-NEAR_S, NEAR_S)


def anywhere(random: Random) -> int:
    """An instant of the twentieth or twenty-first century."""
    return random.randint(FIRST_S, LAST_S)


def _field(random: Random, low: int, high: int, stars: float) -> str:
    if random.random() < stars:
        return "*"
    return ",".join(_item(random, low, high) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _item(random: Random, low: int, high: int) -> str:
    first, last = sorted((random.randint(low, high), random.randint(low, high)))
    kind = random.random()
    if kind < 0.35 or first == last:
        return str(first)
    if kind < 0.6:
        return f"{first}-{last}"
    if kind < 0.8:
        return f"{first}-{last}/{random.randint(1, high // 2 + 1)}"
    return f"*/{random.randint(1, high)}"
