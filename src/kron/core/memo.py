"""A memo: a result computed from a value, kept for the next time that the same object comes.

`functools.lru_cache` would hash the value and compare it, which for a schedule takes as long as
most of what is computed from it. Thousands of jobs share a few schedules, so it is enough to
recognise the object. The memo keeps it alive, so that no other object can get its address.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.generic import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")
else:
    Key = Value = None

MOST = 4096


class Memo(Generic[Key, Value]):
    """Keeps up to `MOST` values, then drops them all."""

    __slots__ = ("_kept", "_make")

    def __init__(self, make: Callable[[Key], Value]) -> None:
        self._make = make
        self._kept: dict[int, tuple[Key, Value]] = {}

    def __call__(self, key: Key) -> Value:
        known = self._kept.get(id(key))
        if known is not None:
            return known[1]
        if len(self._kept) >= MOST:
            self._kept.clear()
        made = self._make(key)
        self._kept[id(key)] = (key, made)
        return made
