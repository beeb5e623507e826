"""Slots: what a `slots:` line says, `slots: database=1 disk=2`.

The size of a slot is how many runs of the jobs that name it may go on at a time. It holds for all
files that are read together, wherever its line is; several lines may give it, if they agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from kron.core.errors import SHOWN_PROBLEMS, Code, ParseError, Problem, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import Limits
from kron.core.tokens import Token, check_text
from kron.jobs.fields import is_slot
from kron.jobs.finding import Finding, findings_of
from kron.jobs.values import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.jobs.document import Document

SLOTS = "slots:"
"""The first word of the line, in the place of a schedule."""

LARGEST = 1_000_000
_EXAMPLE = "write it like slots: database=1 disk=2"
_WORD = re.compile(r"[^ \t]+")


class Slot(Frozen):
    """One name of a `slots:` line, and where it is."""

    name: str
    size: int
    line: int
    token: Token


def is_slots(line: str) -> bool:
    return line.lstrip(" \t").startswith(SLOTS)


def read_slots(text: str, limits: Limits, *, line: int) -> tuple[Slot, ...]:
    """What a `slots:` line says; a `ParseError` with all of its problems."""
    check_text(text, limits, "line")
    first, *words = (Token(match[0], match.start()) for match in _WORD.finditer(text))
    if first.text != SLOTS:
        message = f"a space is missing after {quoted(SLOTS)}"
        raise ParseError(text, [first.problem(Code.FIELD_FORM, message)])
    if not words:
        message = "the line names no slot"
        raise ParseError(text, [first.problem(Code.FIELD_MISSING, message, fix=_EXAMPLE)])
    problems: list[Problem] = []
    slots = []
    for word in words:
        slot = _slot(word, line)
        if isinstance(slot, Problem):
            problems.append(slot)
        else:
            slots.append(slot)
    if problems:
        raise ParseError(text, problems[:SHOWN_PROBLEMS])
    return tuple(slots)


def _slot(word: Token, line: int) -> Slot | Problem:
    name, equals, size = word.text.partition("=")
    if not equals:
        message = f"{quoted(word.text)} is not a name with a size"
        return word.problem(Code.FIELD_FORM, message, fix=_EXAMPLE)
    if not is_slot(name):
        message = f"{quoted(name)} is not the name of a slot"
        fix = "it has lower-case letters, digits, -, _ and . only"
        return Token(name, word.start).problem(Code.FIELD_VALUE, message, fix=fix)
    if not re.fullmatch("[0-9]{1,7}", size) or not 1 <= int(size) <= LARGEST:
        message = f"{quoted(size)} is not how many runs may have the slot {name} at a time"
        place = Token(size, word.start + len(name) + 1)
        return place.problem(Code.FIELD_VALUE, message, fix=f"write a number from 1 to {LARGEST}")
    return Slot(name, int(size), line, word)


def sizes(documents: Iterable[Document]) -> dict[str, int]:
    """The size of each slot."""
    return {slot.name: slot.size for document in documents for slot in document.slots}


def disagreements(documents: Iterable[Document]) -> Iterator[Finding]:
    """An error for each size that is not the first one of its slot."""
    known: dict[str, tuple[int, str]] = {}
    for document in documents:
        lines = document.text.split("\n") if document.slots else []
        for slot in document.slots:
            place = f"{document.path}:{slot.line}"
            size, first = known.setdefault(slot.name, (slot.size, place))
            if slot.size != size:
                message = f"the slot {slot.name} has the size {size} at {first}"
                problem = slot.token.problem(Code.SLOT, message, fix="keep one of them")
                error = ParseError(lines[slot.line - 1], [problem])
                yield from findings_of(error, path=document.path, line=slot.line)


def unknown(documents: Collection[Document]) -> Iterator[Finding]:
    """An error for each slot that a job, or its defaults, names and no line gives a size."""
    known = sizes(documents)
    for document in documents:
        lost = [
            (entry, name)
            for entry in document.entries
            for name in entry.task.slots
            if name not in known
        ]
        lines = document.text.split("\n") if lost else []
        places = {(place_of(entry, "slots", lines), name): None for entry, name in lost}
        for (number, token), name in places:
            message = f"no line of the files that are read gives the slot {name} a size"
            fix = did_you_mean(name, known) or f"add a line such as {SLOTS} {name}=1"
            problem = token.problem(Code.SLOT, message, fix=fix)
            error = ParseError(lines[number - 1], [problem])
            yield from findings_of(error, path=document.path, line=number)
