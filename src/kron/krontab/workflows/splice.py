"""The edits that put cron expressions into their slots, and nothing else.

An edit replaces [start, end) of the text. All other text stays the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.remark import FuzzyRemark
from kron.krontab.workflows.schedule import WorkflowSchedule
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import END, Signature, Tree, WorkflowCode, WorkflowSource
from kron.yaml_text.tree import NodeType

_STEP = 2


class TextEdit(Frozen):
    """A replacement for [start, end)."""

    start: int
    end: int
    text: str


def edits_of_line(
    source: WorkflowSource, schedules: Sequence[WorkflowSchedule], remark: FuzzyRemark | None
) -> list[TextEdit]:
    """The edits that the schedules on one line need. An edit that is not possible is reported."""
    outdated = [each for each in schedules if not each.is_current]
    edits = [edit for each in outdated for edit in _slot_edits(source, each)]
    expressions = [each.expression for each in schedules]
    if outdated and any(expressions):
        if remark is None:
            report_place(source, outdated[0].slot)
        elif not remark.names(expressions):
            edits.append(TextEdit(*remark.edit(source.text, expressions)))
    return edits


def report_place(source: WorkflowSource, slot: Slot) -> None:
    """Report a schedule that cannot be edited without changing something else."""
    message = "a cron expression and its remark cannot be written here without changing the rest"
    fix = "give the schedule a line of its own: - cron: daily"
    source.report(WorkflowCode.PLACE, message, slot.start, slot.end, fix)


def spliced(text: str, edits: Sequence[TextEdit], start: int = 0, end: int | None = None) -> str:
    """[start, end) of the text after the edits in it, which are in order and do not overlap."""
    pieces: list[str] = []
    for edit in edits:
        assert edit.start >= start
        pieces += (text[start : edit.start], edit.text)
        start = edit.end
    return "".join([*pieces, text[start:end]])


def expected_signature(tree: Tree, schedules: Sequence[WorkflowSchedule]) -> Signature:
    """The signature that the document must have after the edits."""
    signature = list(tree.signature)
    for schedule in sorted(schedules, key=lambda each: each.slot.order, reverse=True):
        if schedule.is_current:
            continue
        order = schedule.slot.order
        kind, _, *properties = signature[order]
        scalar = (kind, _value(schedule), *properties)
        if not schedule.slot.is_bare:
            signature[order] = scalar
            continue
        signature[order : order + 1] = [
            (NodeType.SEQUENCE, "", "", ""),
            (NodeType.MAPPING, "", "", ""),
            (NodeType.SCALAR, "cron", "", ""),
            scalar,
            END,
            END,
        ]
    return signature


def _slot_edits(source: WorkflowSource, schedule: WorkflowSchedule) -> list[TextEdit]:
    slot = schedule.slot
    scalar = _scalar(source, schedule)
    tail = [TextEdit(slot.tail_start, slot.tail_end, "")] if slot.tail_end > slot.tail_start else []
    if not slot.is_bare:
        return [TextEdit(slot.start, slot.end, scalar), *tail]
    if slot.in_flow:
        return [TextEdit(slot.start, slot.end, f"[{{cron: {scalar}}}]")]
    line_start = slot.start - source.column_of(slot.start)
    before = source.text[line_start : slot.start]
    if not before.strip():
        return [TextEdit(slot.start, slot.end, f"- cron: {scalar}"), *tail]
    start = line_start + len(before.rstrip(" \t"))
    entry = f"{_line_break(source, slot.start)}{' ' * (slot.key_column + _STEP)}- cron: {scalar}"
    return [TextEdit(start, slot.end, entry), *tail]


def _is_kept(schedule: WorkflowSchedule) -> bool:
    """Whether the scalar keeps its form: plain cron that is only put in a list."""
    slot = schedule.slot
    return schedule.words is None and not slot.is_block and "\n" not in slot.value


def _scalar(source: WorkflowSource, schedule: WorkflowSchedule) -> str:
    slot = schedule.slot
    if _is_kept(schedule):
        return source.text[slot.start : slot.end]
    quote = slot.style if slot.style in ("'", '"') else '"'
    return f"{quote}{schedule.cron}{quote}"


def _value(schedule: WorkflowSchedule) -> str:
    return schedule.slot.value if _is_kept(schedule) else schedule.cron


def _line_break(source: WorkflowSource, offset: int) -> str:
    end = source.line_end(offset)
    return "\r\n" if source.text.startswith("\r\n", end) else "\n"
