"""The edits that put cron expressions into their slots, and nothing else.

An edit replaces [start, end) of the text. Whatever no edit covers stays as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.remark import Remark
from kron.krontab.workflows.schedule import Origin, WorkflowSchedule
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import Source, WorkflowCode
from kron.krontab.workflows.tree import Kind, Signature, Tree

_STEP = 2


class Edit(Frozen):
    """What to put in the place of [start, end)."""

    start: int
    end: int
    text: str


class Line(Frozen):
    """The schedules that end on one line, from left to right, and the remark behind them."""

    schedules: tuple[WorkflowSchedule, ...]
    remark: Remark | None
    """None if no comment can stand at the end of the line."""


def edits_of(source: Source, lines: Sequence[Line]) -> list[Edit]:
    """Every edit that a file needs, in order. Where one cannot be made, that is reported."""
    edits: list[Edit] = []
    for line in lines:
        outdated = [each for each in line.schedules if not each.is_current]
        for schedule in outdated:
            edits += _slot_edits(source, schedule)
        expressions = [each.expression for each in line.schedules]
        if not outdated or not any(expressions):
            continue
        if line.remark is None:
            report_place(source, outdated[0].slot)
        elif not _says(line.remark, expressions):
            edits.append(Edit(*line.remark.edit(source.text, expressions)))
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def report_place(source: Source, slot: Slot) -> None:
    """Say that a schedule stands where it cannot be edited without harm."""
    message = "a cron expression and its remark cannot be written here without changing the rest"
    fix = "give the schedule a line of its own: - cron: daily"
    source.report(WorkflowCode.PLACE, message, slot.start, slot.end, fix)


def spliced(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made. They are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for edit in edits:
        assert edit.start >= position
        pieces += (text[position : edit.start], edit.text)
        position = edit.end
    return "".join([*pieces, text[position:]])


def expected_signature(tree: Tree, schedules: Sequence[WorkflowSchedule]) -> Signature:
    """What the events of the document have to be after the edits."""
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
            (Kind.SEQUENCE, "", "", ""),
            (Kind.MAPPING, "", "", ""),
            (Kind.SCALAR, "cron", "", ""),
            scalar,
            ("end",),
            ("end",),
        ]
    return signature


def _says(remark: Remark, expressions: Sequence[str]) -> bool:
    said = None if remark.said is None else [each.text for each in remark.said]
    return said is not None and [
        "" if text == "-" else " ".join(text.split()) for text in said
    ] == list(expressions)


def _slot_edits(source: Source, schedule: WorkflowSchedule) -> list[Edit]:
    slot = schedule.slot
    scalar = _scalar(source, schedule)
    tail = [Edit(slot.tail_start, slot.tail_end, "")] if slot.tail_end > slot.tail_start else []
    if not slot.is_bare:
        return [Edit(slot.start, slot.end, scalar), *tail]
    if slot.in_flow:
        return [Edit(slot.start, slot.end, f"[{{cron: {scalar}}}]")]
    line_start = slot.start - source.column_of(slot.start)
    before = source.text[line_start : slot.start]
    if not before.strip():
        return [Edit(slot.start, slot.end, f"- cron: {scalar}"), *tail]
    start = line_start + len(before.rstrip(" \t"))
    entry = f"{_line_break(source, slot.start)}{' ' * (slot.key_column + _STEP)}- cron: {scalar}"
    return [Edit(start, slot.end, entry), *tail]


def _is_kept(schedule: WorkflowSchedule) -> bool:
    """Whether the scalar stays as it is written: plain cron that only gets its list."""
    slot = schedule.slot
    return schedule.wording.origin is Origin.NONE and not slot.is_block and "\n" not in slot.value


def _scalar(source: Source, schedule: WorkflowSchedule) -> str:
    slot = schedule.slot
    if _is_kept(schedule):
        return source.text[slot.start : slot.end]
    quote = slot.style if slot.style in ("'", '"') else '"'
    return f"{quote}{schedule.cron}{quote}"


def _value(schedule: WorkflowSchedule) -> str:
    return schedule.slot.value if _is_kept(schedule) else schedule.cron


def _line_break(source: Source, offset: int) -> str:
    end = source.line_end(offset)
    return "\r\n" if source.text.startswith("\r\n", end) else "\n"
