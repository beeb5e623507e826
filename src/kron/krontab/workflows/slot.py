"""Slots: the places under `on.schedule` where a cron expression stands, or is to stand.

What is written in a slot is not read here, only where it is and in which style. A schedule that
has another shape than GitHub's, or a string alone, is a finding.
"""

from __future__ import annotations

import re

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.krontab.workflows.source import Source, WorkflowCode
from kron.krontab.workflows.tree import MERGE, Kind, Node, Tree

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+|\s++|#[^\n]*+)*+")
_BLOCK_HEADER = re.compile(r"[|>][0-9+-]*+")
_NULLS = ("", "~", "null", "Null", "NULL")
_EXAMPLE = "write it like - cron: daily around 14:00"


class Slot(Frozen):
    """A scalar that is, or becomes, a cron expression. Offsets are those of the source."""

    value: str
    style: str
    order: int
    """The number of its event in the tree."""
    line: int
    column: int
    """Where people find it: the line counts from 1, the column from 0."""
    start: int
    end: int
    """The scalar itself, without anchor and tag; of a block scalar, its indicator only."""
    tail_start: int = 0
    tail_end: int = 0
    """The lines of a block scalar, from the end of the first to the end of the last."""
    key_column: int = -1
    """The column of the key `schedule`, where the scalar stands in the place of the list."""
    in_flow: bool = False
    zone: str = ""
    zone_start: int = 0
    zone_end: int = 0
    """The time zone beside it, if there is one."""

    @property
    def is_bare(self) -> bool:
        """`schedule: daily`, without the list that GitHub needs."""
        return self.key_column >= 0

    @property
    def is_block(self) -> bool:
        """Written with `|` or `>`."""
        return self.style in ("|", ">")

    def value_start(self, text: str) -> int | None:
        """Where the value begins if it stands in the text as it is, letter by letter."""
        start = self.start + (1 if self.style in ("'", '"') else 0)
        return start if text.startswith(self.value, start) and not self.is_block else None


def read_slots(source: Source, tree: Tree) -> list[Slot]:
    """Every slot of a workflow, in the order of the schedule."""
    return _Reading(source).of_root(tree.root)


class _Reading:
    def __init__(self, source: Source) -> None:
        self._source = source

    def of_root(self, root: Node | None) -> list[Slot]:
        if root is None or root.kind is not Kind.MAPPING:
            return []
        pair = root.get("on")
        triggers = pair[1].resolved if pair else None
        if triggers is None or triggers.kind is not Kind.MAPPING:
            return []
        if not self._is_plain_mapping(triggers):
            return []
        pair = triggers.get("schedule")
        return [] if pair is None else self._of_schedule(*pair)

    def _of_schedule(self, key: Node, node: Node) -> list[Slot]:
        schedule = node.resolved
        if schedule.kind is Kind.SEQUENCE:
            return self._of_entries(schedule)
        if schedule.kind is Kind.MAPPING:
            message = "schedule is a mapping: it has to be a list, or one fuzzy schedule"
            self._report(message, key, "put a dash before cron: - cron: ...")
            return []
        if _is_null(schedule):
            self._report("schedule is empty", key, _EXAMPLE)
            return []
        if node.kind is Kind.ALIAS or node.anchor:
            message = "a schedule that is a string alone becomes a list, so it can have no anchor"
            self._report(message, node, _EXAMPLE)
            return []
        slot = self._slot(schedule)
        return [slot.replace(key_column=self._source.column_of(key.start))]

    def _of_entries(self, schedule: Node) -> list[Slot]:
        slots: dict[int, Slot] = {}
        for entry in schedule.children:
            slot = self._of_entry(entry)
            if slot is not None:  # several aliases of one scalar are one slot
                slots.setdefault(slot.order, slot)
        return list(slots.values())

    def _of_entry(self, node: Node) -> Slot | None:
        entry = node.resolved
        if entry.kind is not Kind.MAPPING:
            self._report("an entry of schedule has to be a mapping with cron", node, _EXAMPLE)
            return None
        if not self._is_plain_mapping(entry):
            return None
        pair = entry.get("cron")
        if pair is None:
            self._report("an entry of schedule has no cron", node, _EXAMPLE)
            return None
        key, value = pair[0], pair[1].resolved
        if value.kind is not Kind.SCALAR or _is_null(value):
            what = "is empty" if value.kind is Kind.SCALAR else f"is a {value.kind}"
            message = f"cron {what}: it has to be a cron expression or a fuzzy schedule"
            self._report(message, key, _EXAMPLE)
            return None
        return self._with_zone(self._slot(value), entry)

    def _slot(self, node: Node) -> Slot:
        text = self._source.text
        properties = _PROPERTIES.match(text, node.start, node.end)
        assert properties is not None  # the pattern also matches nothing
        slot = Slot(
            node.value,
            node.style,
            node.order,
            self._source.line_of(properties.end()),
            self._source.column_of(properties.end()),
            properties.end(),
            node.end,
            in_flow=node.in_flow,
        )
        if not slot.is_block:
            return slot
        header = _BLOCK_HEADER.match(text, slot.start, slot.end)
        assert header is not None
        tail_start = self._source.line_end(header.end())
        tail_end = header.end() + len(text[header.end() : node.end].rstrip())
        return slot.replace(
            end=header.end(), tail_start=tail_start, tail_end=max(tail_start, tail_end)
        )

    def _with_zone(self, slot: Slot, entry: Node) -> Slot:
        pair = entry.get("timezone")
        if pair is None:
            return slot
        zone = pair[1].resolved
        if zone.kind is not Kind.SCALAR or _is_null(zone):
            self._report("timezone is not the name of a time zone", pair[0], "delete it")
            return slot
        return slot.replace(zone=zone.value, zone_start=pair[1].start, zone_end=pair[1].end)

    def _is_plain_mapping(self, node: Node) -> bool:
        pair = node.get(MERGE)
        if pair is not None:
            message = f"GitHub does not read the merge key {quoted(MERGE)}"
            self._report(message, pair[0], "write out what it stands for")
        return pair is None

    def _report(self, message: str, node: Node, fix: str) -> None:
        self._source.report(WorkflowCode.FORM, message, node.start, node.end, fix)


def _is_null(node: Node) -> bool:
    return node.kind is Kind.SCALAR and not node.style and node.value in _NULLS
