"""Slots: the places under `on.schedule` where a cron expression is, or belongs.

This finds where a slot is and how it is written, not what it says. A schedule that is neither in
GitHub's form nor a single string is a finding.
"""

from __future__ import annotations

import re

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.krontab.workflows.source import Tree, WorkflowCode, WorkflowSource
from kron.yaml_text.tree import MERGE, NodeType, YamlNode

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+|\s++|#[^\n]*+)*+")
_BLOCK_HEADER = re.compile(r"[|>][0-9+-]*+")
_EXAMPLE = "write it like - cron: daily around 14:00"


class Slot(Frozen):
    """A scalar that is, or becomes, a cron expression. Offsets are those of the source."""

    node: YamlNode
    start: int
    end: int
    """The scalar itself, without anchor and tag; of a block scalar, its indicator only."""
    tail_start: int = 0
    tail_end: int = 0
    """The lines of a block scalar, from the end of the first to the end of the last."""
    key_column: int = -1
    """The column of the key `schedule`, if the scalar is its value instead of a list."""
    zone: str = ""
    zone_start: int = 0
    zone_end: int = 0
    """The time zone beside it, or ''."""

    @property
    def is_bare(self) -> bool:
        """`schedule: daily`, without the list that GitHub needs."""
        return self.key_column >= 0

    @property
    def is_block(self) -> bool:
        return self.node.style in ("|", ">")


def read_slots(source: WorkflowSource, tree: Tree) -> list[Slot]:
    """Every slot of a workflow, in the order of the schedule."""
    pair = tree.root.get("on") if tree.root else None
    triggers = pair[1].resolved if pair else None
    if triggers is None or not _is_plain_mapping(source, triggers):
        return []
    pair = triggers.get("schedule")
    return [] if pair is None else _of_schedule(source, *pair)


def _of_schedule(source: WorkflowSource, key: YamlNode, node: YamlNode) -> list[Slot]:
    schedule = node.resolved
    if schedule.type is NodeType.SEQUENCE:
        slots: dict[int, Slot] = {}
        for entry in schedule.children:
            for slot in _of_entry(source, entry):  # several aliases of one scalar are one slot
                slots.setdefault(slot.node.order, slot)
        return list(slots.values())
    if schedule.type is NodeType.MAPPING:
        message = "schedule is a mapping: it must be a list, or one fuzzy schedule"
        return _refused(source, message, key, "put a dash before cron: - cron: ...")
    if schedule.is_null:
        return _refused(source, "schedule is empty", key)
    if node.type is NodeType.ALIAS or node.anchor:
        message = "a schedule that is a single string becomes a list, so it can have no anchor"
        return _refused(source, message, node)
    return [_slot(source, schedule).replace(key_column=source.column_of(key.start))]


def _of_entry(source: WorkflowSource, node: YamlNode) -> list[Slot]:
    entry = node.resolved
    if entry.type is not NodeType.MAPPING:
        return _refused(source, "an entry of schedule must be a mapping with cron", node)
    if not _is_plain_mapping(source, entry):
        return []
    pair = entry.get("cron")
    if pair is None:
        return _refused(source, "an entry of schedule has no cron", node)
    key, value = pair[0], pair[1].resolved
    if value.type is not NodeType.SCALAR or value.is_null:
        what = "is empty" if value.type is NodeType.SCALAR else f"is a {value.type}"
        message = f"cron {what}: it must be a cron expression or a fuzzy schedule"
        return _refused(source, message, key)
    return [_with_zone(source, _slot(source, value), entry)]


def _slot(source: WorkflowSource, node: YamlNode) -> Slot:
    text = source.text
    properties = _PROPERTIES.match(text, node.start, node.end)
    assert properties is not None  # the pattern also matches nothing
    slot = Slot(node, properties.end(), node.end)
    if not slot.is_block:
        return slot
    header = _BLOCK_HEADER.match(text, slot.start, slot.end)
    assert header is not None
    tail_start = source.line_end(header.end())
    tail_end = header.end() + len(text[header.end() : node.end].rstrip())
    return slot.replace(end=header.end(), tail_start=tail_start, tail_end=max(tail_start, tail_end))


def _with_zone(source: WorkflowSource, slot: Slot, entry: YamlNode) -> Slot:
    pair = entry.get("timezone")
    if pair is None:
        return slot
    zone = pair[1].resolved
    if zone.type is not NodeType.SCALAR or zone.is_null:
        _refused(source, "timezone is not the name of a time zone", pair[0], "delete it")
        return slot
    return slot.replace(zone=zone.value, zone_start=pair[1].start, zone_end=pair[1].end)


def _is_plain_mapping(source: WorkflowSource, node: YamlNode) -> bool:
    pair = node.get(MERGE)
    if pair is not None:
        message = f"GitHub does not support the merge key {quoted(MERGE)}"
        _refused(source, message, pair[0], "write out what it stands for")
    return pair is None


def _refused(
    source: WorkflowSource, message: str, node: YamlNode, fix: str = _EXAMPLE
) -> list[Slot]:
    """Report a schedule that is in the wrong form; it has no slot."""
    source.report(WorkflowCode.FORM, message, node.start, node.end, fix)
    return []
