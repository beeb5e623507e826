"""A map that remembers what was put in or asked for lately, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic, TypeVar

    _Key = TypeVar("_Key")
    _Value = TypeVar("_Value")

    class _Base(Generic[_Key, _Value]):
        pass
else:

    class _Base:
        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls


class Recent(_Base["_Key", "_Value"]):
    """Two generations of at most `half` entries each.

    When the younger one is full the older one is forgotten and the younger one grows old, so that
    nothing is forgotten before `half` others have come. Cheaper than a list of who was used last.
    """

    __slots__ = ("_half", "_old", "_young")

    def __init__(self, half: int) -> None:
        self._half = half
        self._young: dict[_Key, _Value] = {}
        self._old: dict[_Key, _Value] = {}

    def get(self, key: _Key) -> _Value | None:
        """The value, or None if there is none or it has been forgotten."""
        value = self._young.get(key)
        if value is None and self._old:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Remember a value."""
        self._young[key] = value
        self._grow_old()

    def put_all(self, values: Mapping[_Key, _Value]) -> None:
        """Remember many at once; they count as one when it comes to being full."""
        self._young.update(values)
        self._grow_old()

    def _grow_old(self) -> None:
        if len(self._young) >= self._half:
            self._old = self._young
            self._young = {}
