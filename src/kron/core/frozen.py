"""Frozen values: what `@dataclass(frozen=True, slots=True)` gives, at a fraction of its start-up.

Importing `dataclasses` takes as long as starting Python itself (it imports `inspect`, `ast` and
`dis`), and each class costs 0.65 ms on top: with the thirty or so values of the engine that is
more than half of what importing kron may cost. Here a class costs a seventh of that, and an
instance three fifths, because it is stored through the slots. Type checkers see a dataclass.
docs/decisions/0002-frozen-values.md has the numbers; `make bench` measures them again.
"""

from __future__ import annotations

from abc import ABCMeta
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Literal, Self, dataclass_transform
else:  # importing `typing` would cost more than this whole module saves on a class

    def dataclass_transform(**_):
        return lambda decorated: decorated


_DERIVED = object()


def derived(*, init: Literal[False] = False) -> Any:
    """Marks what follows from the other fields: `__post_init__` sets it with `_derive`."""
    return _DERIVED


@dataclass_transform(frozen_default=True, field_specifiers=(derived,))
class FrozenMeta(ABCMeta):
    """Turns the annotated names of a class body into slots, in order, with their defaults.

    It is an ABCMeta too, so that a value can implement an abstract class.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> FrozenMeta:
        slots = tuple(namespace.get("__annotations__", ()))
        defaults = {slot: namespace.pop(slot) for slot in slots if slot in namespace}
        own = [slot for slot in slots if defaults.get(slot) is not _DERIVED]
        inherited: dict[str, None] = {}
        for base in bases:
            inherited |= dict.fromkeys(getattr(base, "_fields", ()))
            defaults = getattr(base, "_defaults", {}) | defaults
        fields = tuple(dict.fromkeys([*inherited, *own]))
        slots = tuple(slot for slot in slots if slot not in inherited)
        defaults = {field: defaults[field] for field in fields if field in defaults}
        namespace |= {"__slots__": slots, "__match_args__": fields}
        namespace |= {"_fields": fields, "_defaults": defaults}
        namespace["_compared"] = attrgetter("__class__", *fields)
        cls = super().__new__(mcs, name, bases, namespace)
        cls.__init__ = _constructor(cls)  # type: ignore[misc]
        return cls


def _constructor(cls: Any) -> Callable[..., None]:
    """`__init__` with the fields as parameters, storing each through its slot."""
    fields, defaults = cls._fields, cls._defaults
    parameters = "".join(
        f", {field}=_default_{field}" if field in defaults else f", {field}" for field in fields
    )
    stores = "".join(f" _store_{field}(self, {field})\n" for field in fields)
    names: dict[str, Any] = {f"_store_{field}": getattr(cls, field).__set__ for field in fields}
    names |= {f"_default_{field}": value for field, value in defaults.items()}
    last = "self.__post_init__()" if hasattr(cls, "__post_init__") else "return"
    source = f"def __init__(self{parameters}):\n{stores} {last}\n"
    exec(source, names)  # noqa: S102 (the names of fields, from class bodies of ours: no input)
    constructor: Callable[..., None] = names["__init__"]
    return constructor


class Frozen(metaclass=FrozenMeta):
    """A value: it compares, hashes and prints by its fields, and never changes."""

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, Any]]
        _compared: ClassVar[attrgetter[Any]]

    def replace(self, **changes: Any) -> Self:
        return type(self)(**{field: getattr(self, field) for field in self._fields} | changes)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True  # as most ledgers that are compared, which no step has changed
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._compared(self) == other._compared(other))

    def __hash__(self) -> int:
        return hash(self._compared(self))

    def __repr__(self) -> str:
        fields = (f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{self.__class__.__qualname__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.__class__.__qualname__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self.__class__.__qualname__} is frozen: {name} cannot be deleted")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return self.__class__, self._values()

    def _derive(self, **values: Any) -> None:
        """Set what is `derived()`; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, field) for field in self._fields])
