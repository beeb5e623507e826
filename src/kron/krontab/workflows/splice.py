"""The edits that put cron expressions into their slots, and nothing else; and their diff.

An edit replaces [start, end) of the text. All other text stays the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.schedule import FuzzyRemark, WorkflowSchedule
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import END, Signature, Tree, WorkflowCode, WorkflowSource
from kron.yaml_text.tree import NodeType

_STEP = 2
_CONTEXT = 3
_UNENDED = "\\ No newline at end of file"


class TextEdit(Frozen):
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
    for schedule in sorted(schedules, key=lambda each: each.slot.node.order, reverse=True):
        if schedule.is_current:
            continue
        order = schedule.slot.node.order
        kind, _, *properties = signature[order]
        value = schedule.slot.node.value if _is_kept(schedule) else schedule.cron
        scalar = (kind, value, *properties)
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
    quote = "'" if slot.node.style == "'" else '"'
    scalar = f"{quote}{schedule.cron}{quote}"
    if _is_kept(schedule):
        scalar = source.text[slot.start : slot.end]
    tail = [TextEdit(slot.tail_start, slot.tail_end, "")] if slot.tail_end > slot.tail_start else []
    if not slot.is_bare:
        return [TextEdit(slot.start, slot.end, scalar), *tail]
    if slot.node.in_flow:
        return [TextEdit(slot.start, slot.end, f"[{{cron: {scalar}}}]")]
    line_start = slot.start - source.column_of(slot.start)
    before = source.text[line_start : slot.start]
    if not before.strip():
        return [TextEdit(slot.start, slot.end, f"- cron: {scalar}"), *tail]
    start = line_start + len(before.rstrip(" \t"))
    line_break = "\r\n" if source.text.startswith("\r\n", source.line_end(slot.start)) else "\n"
    entry = f"{line_break}{' ' * (slot.key_column + _STEP)}- cron: {scalar}"
    return [TextEdit(start, slot.end, entry), *tail]


def _is_kept(schedule: WorkflowSchedule) -> bool:
    """Whether the scalar keeps its form: plain cron that is only put in a list."""
    slot = schedule.slot
    return schedule.words is None and not slot.is_block and "\n" not in slot.node.value


class _Block(Frozen):
    """Whole lines of the old text, [start, end), and the edits in them."""

    start: int
    end: int
    edits: list[TextEdit]


def difference(path: str, text: str, edits: Sequence[TextEdit]) -> list[str]:
    """The lines of a unified diff, without line breaks; an empty list without edits.

    It is written from the edits, because `difflib` has to look for them, in quadratic time: for 110
    different lines, repeated to 40,000 lines (150 kB), it takes 2.2 s, and hours for a file of the
    greatest length, 8 MiB. Of 200,000 blank lines with two edits it makes a diff of 400,000 lines.
    From the edits, the diff of 8 MB takes 0.01 s and has only the lines near them.
    """
    if not edits:
        return []
    shown = [f"--- {path}", f"+++ {path}"]
    counted = line = moved = 0
    for hunk in _hunks(text, _blocks(text, edits)):
        start, end = _context(text, hunk[0].start, hunk[-1].end)
        line += text.count("\n", counted, start)
        counted = start
        body = list(_body(text, hunk, start, end))
        old = sum(each[0] in " -" for each in body)
        new = sum(each[0] in " +" for each in body)
        shown.append(f"@@ -{line + 1},{old} +{line + moved + 1},{new} @@")
        shown += body
        moved += new - old
    return shown


def _blocks(text: str, edits: Sequence[TextEdit]) -> list[_Block]:
    """The changed lines; edits of the same or of adjacent lines are one block."""
    blocks: list[_Block] = []
    for edit in edits:
        last = blocks[-1] if blocks else _Block(-1, -1, [])
        start = last.start if edit.start < last.end else text.rfind("\n", 0, edit.start) + 1
        end = last.end if edit.end < last.end else _line_after(text, edit.end)
        if start <= last.end:
            last.edits.append(edit)
            blocks[-1] = last.replace(end=end)
        else:
            blocks.append(_Block(start, end, [edit]))
    return blocks


def _hunks(text: str, blocks: list[_Block]) -> Iterator[list[_Block]]:
    """The blocks in hunks; blocks whose contexts touch are one hunk."""
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and text.count("\n", hunk[-1].end, block.start) > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    yield hunk


def _context(text: str, start: int, end: int) -> tuple[int, int]:
    """[start, end) with some lines before and after it."""
    for _ in range(_CONTEXT):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _line_after(text, end) if end < len(text) else end
    return start, end


def _body(text: str, hunk: list[_Block], start: int, end: int) -> Iterator[str]:
    position = start
    for block in hunk:
        yield from _marked(" ", text[position : block.start])
        yield from _marked("-", text[block.start : block.end])
        yield from _marked("+", spliced(text, block.edits, block.start, block.end))
        position = block.end
    yield from _marked(" ", text[position:end])


def _marked(mark: str, text: str) -> Iterator[str]:
    """The lines of a text, each with a mark. Only a line feed ends a line."""
    if not text:
        return
    for line in text.removesuffix("\n").split("\n"):
        yield mark + line
    if not text.endswith("\n"):
        yield _UNENDED


def _line_after(text: str, offset: int) -> int:
    """Where the line after that of the offset begins, or the end of the text."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1
