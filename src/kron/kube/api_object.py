"""Reading an object of the API server: a member of the right type, or nothing.

For members that Kron can do without. `schema.validate` has checked the others before.
"""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.duration import parse_duration
from kron.core.errors import KronError
from kron.core.instant import from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Object = dict[str, "Any"]
"""An object of the API server, as JSON holds it."""


def member(values: object, name: str) -> Object:
    """An object within an object; an empty one if it is missing."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, dict) else {}


def objects(values: Mapping[str, Any], name: str) -> list[Object]:
    """The objects of a list; an empty list if it is missing."""
    items = values.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def text(values: Mapping[str, Any], name: str) -> str:
    """A text, or ''."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def integer(values: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number, or the default."""
    value = values.get(name)
    return value if type(value) is int else default


def instant_s(values: Mapping[str, Any], name: str) -> int | None:
    """An instant as Kubernetes writes it, or None."""
    return _instant_s(values.get(name))


def instants_s(values: Mapping[str, Any], name: str) -> list[int]:
    """The instants of a list; an empty list if it is missing."""
    items = values.get(name)
    found = map(_instant_s, items if isinstance(items, list) else ())
    return [each_s for each_s in found if each_s is not None]


def duration_ns(values: Mapping[str, Any], name: str) -> int | None:
    """A duration such as 10m, or None."""
    try:
        return parse_duration(text(values, name))
    except KronError:
        return None


def _instant_s(value: object) -> int | None:
    try:
        return from_text(value) if isinstance(value, str) and value else None
    except KronError:
        return None
