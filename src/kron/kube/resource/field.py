"""A field of the resource as it is declared once: for the API server, the check and the docs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from kron.core.errors import Code
from kron.core.frozen import Frozen
from kron.kube.resource.patterns import for_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Kind(StrEnum):
    """What a field holds, in the words of JSON Schema."""

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
    """The member that it complains of, such as `.params.shape`; '' for the whole value."""
    code: Code = Code.FIELD_VALUE


class Field(Frozen):
    """One field and everything that is said of it."""

    name: str
    kind: Kind
    description: str
    is_required: bool = False
    default: object = None
    choices: tuple[str, ...] = ()
    shortest: int = 0
    """The fewest characters or items."""
    longest: int | None = None
    """The most characters or items."""
    least: int | None = None
    most: int | None = None
    above: int | None = None
    """It is more than this."""
    pattern: str = ""
    """For what no person writes. What people write has a rule, whose message says more."""
    rules: tuple[Rule, ...] = ()
    members: tuple[Field, ...] = ()
    items: Field | None = None
    is_open: bool = False
    """Whether members that are not declared are kept."""


def shaped(pattern: str, message: str, *, code: Code = Code.FIELD_FORM) -> Rule:
    """The rule that a text has a certain shape. The engine, where it is asked, says more."""
    return Rule(
        f"self.{matches(pattern)}", message, lambda text: is_match(pattern, text), code=code
    )


def matches(pattern: str) -> str:
    """The call in CEL. The pattern is a raw string there, and holds no single quote."""
    return f"matches(r'{for_server(pattern)}')"


def is_match(pattern: str, text: object) -> bool:
    """The same in Python, where what is not text matches nothing."""
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def has(value: object, *names: str) -> bool:
    """CEL's `has(self.a) && has(self.a.b)`. A null is not there: the API server has dropped it."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value is not None
