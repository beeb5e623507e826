"""A memo: a result computed from a value, kept for the next time that the same object comes.

`functools.lru_cache` would hash the value and compare it, which for a schedule takes as long as
most of what is computed from it. Thousands of jobs share a few schedules, so it is enough to
recognise the object. The memo keeps it alive, so that no other object can get its address.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")

MOST = 4096


def remembered(make: Callable[[Key], Value]) -> Callable[[Key], Value]:
    """`make`, which keeps up to `MOST` values, then drops them all."""
    kept: dict[int, tuple[Key, Value]] = {}

    def look_up(key: Key) -> Value:
        known = kept.get(id(key))
        if known is None:
            if len(kept) >= MOST:
                kept.clear()
            known = kept[id(key)] = (key, make(key))
        return known[1]

    return look_up
