"""A record: one event of a log, independent of the format of its line.

All values are text. `record` makes one from typed values and enforces the vocabulary. A record that
was read (`from_values`) may come from a later version and have other events and fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.instant import to_seconds, to_text
from kron.core.tokens import format_number
from kron.logs.event import Component, Event, Level
from kron.logs.timestamp import FIRST_NS, LAST_NS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Choice = TypeVar("_Choice", Level, Component)

Value = str | int | float | bool | datetime | None

KEY = r"[A-Za-z_][A-Za-z0-9_.-]*+"
"""The pattern of a field's name."""

_LEVELS = {str(level): level for level in Level}
_COMPONENTS = {str(component): component for component in Component}
_EVENTS = {str(event): event for event in Event}
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class FieldError(KronError):
    """An error in one field of a line. The reader of the format adds the field's position."""

    def __init__(self, code: Code, key: str, message: str, fix: str = "") -> None:
        super().__init__(code, message, fix)
        self.key = key


class Record(Frozen):
    """One event: when it was logged, its level, its component and its fields."""

    time_ns: int
    level: Level
    component: Component
    event: str
    """An `Event`, or the name of an event that this version does not know."""
    fields: tuple[tuple[str, str], ...]

    def get(self, key: str) -> str | None:
        """The value of a field, or None if the record does not have it."""
        for name, value in self.fields:
            if name == key:
                return value
        return None

    def __getitem__(self, key: str) -> str:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value


def record(
    event: Event,
    time_ns: int,
    level: Level | None = None,
    component: Component | None = None,
    /,
    **values: Value,
) -> Record:
    """A record of the vocabulary; a `ValueError` names the fields that are missing or unknown.

    An optional field that is None is left out; a required one that is None is empty.
    """
    level = level or event.level
    component = component or event.component
    if level not in event.levels or component not in event.components:
        raise ValueError(f"the event {event} does not have level {level} and component {component}")
    if not FIRST_NS <= time_ns <= LAST_NS:
        raise ValueError(f"{time_ns} ns is outside the years 1 to 9999")
    unknown = values.keys() - set(event.fields)
    lacking = event.required - values.keys()
    if unknown or lacking:
        raise ValueError(
            f"the event {event} lacks {sorted(lacking)}, does not have {sorted(unknown)}"
        )
    fields = tuple(
        (key, text_of(values[key]))
        for key in event.fields
        if key in event.required or values.get(key) is not None
    )
    return Record(time_ns, level, component, event, fields)


def text_of(value: Value) -> str:
    """A value as every log writes it: instants in RFC3339, `true`, `false`, '' for None."""
    match value:
        case str():
            return joined(str(value))
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format_number(value)
        case datetime():
            return to_text(to_seconds(value))


def joined(text: str) -> str:
    """`text` with each pair of adjacent surrogates replaced by the character that they make.

    JSON writes a character beyond U+FFFF as such a pair, so a reader could not tell the two apart.
    """
    if text.isascii() or not _HALVES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def from_values(time_ns: int, values: dict[str, str]) -> Record:
    """The record of a line whose level, component and event are among the values."""
    level = _known(values, "level", _LEVELS)
    component = _known(values, "component", _COMPONENTS)
    event = values.pop("event", "")
    if not event:
        raise FieldError(Code.TEXT, "event", "the line has no event")
    return Record(time_ns, level, component, _EVENTS.get(event, event), tuple(values.items()))


def repeated(keys: Iterable[str]) -> FieldError:
    """The error for a line that has a field twice."""
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return FieldError(Code.KEY_REPEATED, key, f"the field {quoted(key)} is given twice")
        seen.add(key)
    raise ValueError("no field is given twice")


def _known(values: dict[str, str], key: str, choices: dict[str, _Choice]) -> _Choice:
    name = values.pop(key, "")
    choice = choices.get(name)
    if choice is not None:
        return choice
    if not name:
        raise FieldError(Code.TEXT, key, f"the line has no {key}")
    message = f"the {key} {quoted(name)} does not exist: it is one of {', '.join(choices)}"
    raise FieldError(Code.VALUE_UNKNOWN, key, message, fix=did_you_mean(name, choices))
