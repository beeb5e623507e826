"""The minutes of the day as bit masks: those that a schedule matches, and those it may run in."""

from __future__ import annotations

from functools import lru_cache

from kron.core.constraint import MINUTES_A_DAY
from kron.core.schedule import Schedule

EVERY_MINUTE = (1 << MINUTES_A_DAY) - 1


def matching_minutes(schedule: Schedule) -> int:
    """The minutes of a matching day at which a period is due."""
    return _matching_minutes(schedule.cron.hour.mask, schedule.cron.minute.mask)


def accepted_minutes(schedule: Schedule) -> int:
    """The minutes that the clauses about the time of day leave."""
    if schedule.time_filter is None:
        return EVERY_MINUTE
    mask = 0
    for first_s, end_s in schedule.time_filter.accepted_seconds():
        mask |= (1 << end_s // 60) - (1 << first_s // 60)
    return mask


@lru_cache(maxsize=4096)
def _matching_minutes(hours: int, minutes: int) -> int:
    mask = 0
    for hour in range(24):
        if hours >> hour & 1:
            mask |= minutes << 60 * hour
    return mask
