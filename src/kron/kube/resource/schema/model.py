"""What the offline check knows about a field: its type, its bounds and its rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

from kron.core.errors import Code
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FieldType(StrEnum):
    """The type of a field's value, in the words of JSON Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "boolean"
    OBJECT = "object"
    LIST = "array"
    MAP = "map"
    """An object whose keys are the user's and whose values are text."""


class Rule(Frozen):
    """A rule in CEL for the API server and, beside it, the same rule in Python."""

    cel: str
    message: str
    holds: Callable[[Any], bool]
    path: str = ""
    """The member that the rule is about, such as `.params.shape`; '' for the whole value."""
    code: Code = Code.FIELD_VALUE


class SchemaField(Frozen):
    """One field and everything that a value of it has to fulfil."""

    type: FieldType
    name: str
    is_required: bool = False
    choices: tuple[str, ...] = ()
    shortest: int = 0
    """The fewest characters or items."""
    longest: int | None = None
    """The most characters or items."""
    least: int | None = None
    most: int | None = None
    above: int | None = None
    """The value is more than this."""
    rules: tuple[Rule, ...] = ()
    members: tuple[SchemaField, ...] = ()
    items: SchemaField | None = None
    is_open: bool = False
    """Whether undeclared members are kept."""


text = partial(SchemaField, FieldType.TEXT)
texts = partial(SchemaField, FieldType.MAP)
integer = partial(SchemaField, FieldType.INTEGER)
switch = partial(SchemaField, FieldType.SWITCH)


def structure(name: str, *members: SchemaField, **more: Any) -> SchemaField:
    """A field that is an object with these members."""
    return SchemaField(FieldType.OBJECT, name, members=members, **more)


def shaped(pattern: str, message: str, *, code: Code = Code.FIELD_FORM) -> Rule:
    """The rule that a text matches a pattern. The engine, if it reads the text, explains more."""
    return Rule(
        f"self.{matches(pattern)}", message, lambda text: is_match(pattern, text), code=code
    )


def matches(pattern: str) -> str:
    """The call in CEL. The pattern is a raw string there and contains no single quote."""
    return f"matches(r'{for_server(pattern)}')"


def is_match(pattern: str, text: object) -> bool:
    """The same in Python. A value that is not text does not match."""
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def has(value: object, *names: str) -> bool:
    """CEL's `has(self.a) && has(self.a.b)`. A null counts as absent: the API server drops it."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value is not None


def for_server(pattern: str) -> str:
    """The pattern in the server's dialect, anchored. In Python, `fullmatch` does that."""
    return rf"^(?:{pattern})$".replace(r"\u2028\u2029", r"\x{2028}\x{2029}")
