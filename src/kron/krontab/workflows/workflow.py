"""A workflow: from the YAML of a file to its schedules, and the edits that would update it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from kron.core.errors import SHOWN_PROBLEMS, KronError, quoted
from kron.core.frozen import Frozen
from kron.engine.job import Job
from kron.jobs.finding import Finding
from kron.krontab.workflows.schedule import (
    FuzzyWords,
    WorkflowSchedule,
    remark_behind,
    resolve,
    words_of_line,
)
from kron.krontab.workflows.slot import Slot, read_slots
from kron.krontab.workflows.source import Tree, WorkflowCode, WorkflowSource, encoded, read_tree
from kron.krontab.workflows.splice import TextEdit, difference, edits_of_line, spliced
from kron.krontab.workflows.writing import Replacement
from kron.yaml_text.json_values import Stretch

Identify = Callable[[str], str]
"""Returns the identifier of the file at a path; a `KronError` if its repository is not known."""

_ANY_IDENTIFIER = "owner/name/path"


class Workflow(Frozen):
    source: WorkflowSource
    tree: Tree
    identifier: str
    """Empty if the file has no fuzzy schedule."""
    schedules: tuple[WorkflowSchedule, ...]
    edits: tuple[TextEdit, ...]
    """In the order of the text; none if the file is up to date."""

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def outdated(self) -> list[WorkflowSchedule]:
        return [each for each in self.schedules if not each.is_current]

    @property
    def jobs(self) -> list[Job]:
        """The schedules as jobs, each named after its position."""
        places = [self.place_of(each) for each in self.schedules]
        return [
            Job(f"{self.path}:{line}:{column}", each.schedule)
            for each, (line, column) in zip(self.schedules, places, strict=True)
        ]

    def place_of(self, schedule: WorkflowSchedule) -> tuple[int, int]:
        """Its line and column for people: both count from 1."""
        start = schedule.slot.start
        return self.source.line_of(start), self.source.column_of(start) + 1

    def difference(self) -> list[str]:
        return difference(self.path, self.source.text, self.edits)

    def replacement(self) -> Replacement:
        text = self.source.text
        return Replacement(self.path, encoded(text), encoded(spliced(text, self.edits)))

    def lines(self, *, after_edits: bool) -> list[int]:
        """The line of each schedule."""
        text, edits = self.source.text, self.edits if after_edits else ()
        starts = [edit.start for edit in edits]
        grown = [edit.text.count("\n") - text.count("\n", edit.start, edit.end) for edit in edits]
        moved = [0, *accumulate(grown)]
        return [
            self.place_of(each)[0] + moved[bisect_right(starts, each.slot.start)]
            for each in self.schedules
        ]

    def outdated_findings(self) -> list[Finding]:
        """An error for each outdated schedule, at most as many as are shown of one file."""
        code, fix = WorkflowCode.OUTDATED, f"krontab fuzzy compile --write {self.path}"
        return [
            self.source.finding(code, _outdated(each), each.slot.start, each.slot.end, fix)
            for each in self.outdated[:SHOWN_PROBLEMS]
        ]


def _outdated(schedule: WorkflowSchedule) -> str:
    value = schedule.slot.node.value
    if schedule.slot.is_bare and not schedule.expression:
        return f"{quoted(value)} must be in a list for GitHub"
    found = " ".join(value.split())
    state = "not compiled yet" if found == schedule.expression else f"not {quoted(found)}"
    words = f"the fuzzy schedule {quoted(schedule.expression)} is {quoted(schedule.cron)} here"
    return f"{words}, {state}"


def read_workflow(
    source: WorkflowSource, part: Stretch, identify: Identify, *, trusting: bool = False
) -> Workflow | None:
    """A file with its schedules; None if something is wrong, which is then among its findings.

    With `trusting`, a schedule that was compiled before counts as current if the identifier is not
    known.
    """
    tree = read_tree(source, part)
    if tree is None:
        return None
    slots = read_slots(source, tree)
    by_line: dict[int, list[Slot]] = {}
    for slot in sorted(slots, key=lambda slot: slot.start):
        by_line.setdefault(source.line_of(slot.end), []).append(slot)
    lines = [(on_it, remark_behind(source, tree, on_it[0])) for on_it in by_line.values()]
    words: dict[int, FuzzyWords | None] = {}
    for on_it, remark in lines:
        words |= words_of_line(source, on_it, remark)
    identifier = ""
    if any(words.values()):
        try:
            identifier = identify(source.path)
        except KronError as error:
            if trusting and all(each is None or each.in_remark for each in words.values()):
                words = dict.fromkeys(words)
            else:
                finding = Finding.of_error(error, source.path)
                source.findings.append(finding.replace(code=WorkflowCode.REPOSITORY))
                identifier = _ANY_IDENTIFIER  # so that other errors are found, too
    schedules = resolve(source, slots, words, identifier)
    if source.has_errors:
        return None
    by_slot = {schedule.slot.node.order: schedule for schedule in schedules}
    edits: list[TextEdit] = []
    for on_it, remark in lines:
        edits += edits_of_line(source, [by_slot[slot.node.order] for slot in on_it], remark)
    edits.sort(key=lambda edit: (edit.start, edit.end))
    return Workflow(source, tree, identifier, tuple(schedules), tuple(edits))
