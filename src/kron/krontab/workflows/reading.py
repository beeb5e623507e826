"""Reading one workflow: from the YAML of a file to its schedules, line by line."""

from __future__ import annotations

from collections.abc import Callable

from kron.core.frozen import Frozen
from kron.krontab.workflows.remark import Said, remark_behind
from kron.krontab.workflows.repository import UnknownRepositoryError
from kron.krontab.workflows.schedule import (
    Origin,
    Wording,
    WorkflowSchedule,
    resolve,
    said_of_line,
    wording_of,
)
from kron.krontab.workflows.slot import Slot, read_slots
from kron.krontab.workflows.source import Part, Source, WorkflowCode, report_forbidden
from kron.krontab.workflows.splice import Line
from kron.krontab.workflows.tree import Tree, read_tree

Identify = Callable[[], str]
"""Gives the identifier of the file, or raises an `UnknownRepositoryError`."""


_ANY_IDENTIFIER = "owner/name/path"


class Reading(Frozen):
    """What a workflow holds."""

    tree: Tree
    schedules: tuple[WorkflowSchedule, ...]
    lines: tuple[Line, ...]
    identifier: str = ""
    """Empty if nothing in the file is fuzzy."""


def read_workflow(
    source: Source, part: Part, identify: Identify, *, trusting: bool = False
) -> Reading | None:
    """The schedules of a file; None if something is wrong, which is then among its findings.

    Trusting: where the identifier is not known, what has been compiled once is taken as it is.
    """
    if not part.is_closed:
        message = "the front matter has no end: no line --- follows"
        fence = source.text.index("---")
        source.report(WorkflowCode.YAML, message, fence, fence + 3)
        return None
    report_forbidden(source, part)
    tree = None if source.has_errors else read_tree(source, part)
    if tree is None:
        return None
    slots = read_slots(source, tree)
    by_line: dict[int, list[Slot]] = {}
    for slot in sorted(slots, key=lambda slot: slot.start):
        by_line.setdefault(source.line_of(slot.end), []).append(slot)
    remarks = {line: remark_behind(source, tree, on_it[0]) for line, on_it in by_line.items()}
    said: dict[int, Said | None] = {}
    for line, on_it in by_line.items():
        said |= zip(
            (slot.order for slot in on_it),
            said_of_line(source, on_it, remarks[line]),
            strict=True,
        )
    wordings = [wording_of(source, slot, said[slot.order]) for slot in slots]
    identifier, wordings = _identified(source, wordings, identify, trusting=trusting)
    schedules = resolve(source, slots, wordings, identifier)
    if source.has_errors:
        return None
    by_slot = {schedule.slot.order: schedule for schedule in schedules}
    lines = tuple(
        Line(tuple(by_slot[slot.order] for slot in on_it), remarks[line])
        for line, on_it in by_line.items()
    )
    return Reading(tree, tuple(schedules), lines, identifier)


def _identified(
    source: Source, wordings: list[Wording], identify: Identify, *, trusting: bool
) -> tuple[str, list[Wording]]:
    """The identifier, if anything in the file needs one."""
    origins = {wording.origin for wording in wordings}
    if origins <= {Origin.NONE}:
        return "", wordings
    try:
        return identify(), wordings
    except UnknownRepositoryError as error:
        if trusting and Origin.VALUE not in origins:
            return "", [Wording(Origin.NONE)] * len(wordings)
        source.report_file(WorkflowCode.REPOSITORY, error.message, error.fix)
        return _ANY_IDENTIFIER, wordings  # nothing comes of it, but what else is wrong is told too
