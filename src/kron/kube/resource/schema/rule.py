"""A rule of a field that needs more than a type, in CEL and in Python, and its common kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kron.core.errors import Code
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEVER = "false"


class Rule(Frozen):
    """A rule in CEL for the API server and, beside it, the same rule in Python."""

    cel: str
    message: str
    holds: Callable[[Any], bool]
    path: str = ""
    """The member that the rule is about, such as `.params.shape`; '' for the whole value."""
    code: Code = Code.FIELD_VALUE

    @property
    def is_refusal(self) -> bool:
        """Whether no value fulfils it: see `refused`."""
        return self.cel == _NEVER


def shaped(message: str, *patterns: str) -> Rule:
    """The rule that a text matches one of these. The engine, if it reads it, explains more."""
    return Rule(
        " || ".join(f"self.{matches(pattern)}" for pattern in patterns),
        message,
        lambda text: any(is_match(pattern, text) for pattern in patterns),
        code=Code.FIELD_FORM,
    )


def matches(pattern: str) -> str:
    """The call in CEL, anchored and in the server's dialect; `fullmatch` anchors it in Python.

    The pattern is a raw string there and contains no single quote.
    """
    for_server = pattern.replace(r"\u2028\u2029", r"\x{2028}\x{2029}")
    return f"matches(r'^(?:{for_server})$')"


def is_match(pattern: str, text: object) -> bool:
    """The same in Python. A value that is not text does not match."""
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def has(value: object, *names: str) -> bool:
    """CEL's `has(self.a) && has(self.a.b)`. A null counts as absent: the API server drops it."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value is not None


def refused(name: str, advice: str) -> Rule:
    """The rule of a field that people write and that a KronJob does not have.

    The API server drops unknown fields without a word, and a job would run in another time zone. So
    the field is declared, and refused. The rule is that of the field, not of the spec: one that is
    stored already does not keep people from editing the rest, since an API server does not apply
    the rules of what stays as it is.
    """
    message = f"a KronJob has no field {name}: {advice}"
    return Rule(_NEVER, message, lambda _: False, code=Code.FIELD_UNKNOWN)
