"""Compiling workflow files: what each schedule becomes, and what is wrong anywhere.

Nothing is written here. A compilation knows every file, old and new, and every finding; whoever
asked for it decides what becomes of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate

from kron.core.errors import SHOWN_PROBLEMS, Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.engine.job import Job
from kron.fuzzy import collisions
from kron.jobs.finding import Finding, Severity
from kron.jobs.source import own_access, read_file
from kron.krontab.workflows.difference import difference
from kron.krontab.workflows.reading import Reading, read_workflow
from kron.krontab.workflows.repository import Repositories
from kron.krontab.workflows.schedule import WorkflowSchedule
from kron.krontab.workflows.search import Found, search
from kron.krontab.workflows.source import Source, WorkflowCode, encoded, is_likely, yaml_part
from kron.krontab.workflows.splice import (
    Edit,
    edits_of,
    expected_signature,
    report_place,
    spliced,
)
from kron.krontab.workflows.tree import load_yaml
from kron.krontab.workflows.writing import Replacement

Progress = Callable[[int], None]

_MOST_COLLISIONS = 100


class Workflow(Frozen):
    """A file with its schedules, and the edits that would bring it up to date."""

    source: Source
    identifier: str
    """Empty if nothing in the file is fuzzy."""
    schedules: tuple[WorkflowSchedule, ...]
    edits: tuple[Edit, ...] = ()

    @property
    def path(self) -> str:
        """The file."""
        return self.source.path

    @property
    def is_current(self) -> bool:
        """Whether there is nothing to write."""
        return not self.edits

    @property
    def jobs(self) -> list[Job]:
        """The schedules as jobs, each named after the place where it stands."""
        return [
            Job(f"{self.path}:{each.slot.line}:{each.slot.column + 1}", each.schedule)
            for each in self.schedules
        ]

    def difference(self) -> list[str]:
        """What the edits change, as the lines of a unified diff."""
        return difference(self.path, self.source.text, self.edits)

    def replacement(self) -> Replacement:
        """What is to be put on the disk."""
        text = self.source.text
        return Replacement(self.path, encoded(text), encoded(spliced(text, self.edits)))

    def lines_after(self) -> list[int]:
        """The line of each schedule once the edits are made."""
        text = self.source.text
        starts = [edit.start for edit in self.edits]
        grown = [
            edit.text.count("\n") - text.count("\n", edit.start, edit.end) for edit in self.edits
        ]
        moved = [0, *accumulate(grown)]
        return [
            each.slot.line + moved[bisect_right(starts, each.slot.start)] for each in self.schedules
        ]

    def outdated_findings(self) -> list[Finding]:
        """An error for each schedule that is not what it should be, as many as anybody reads."""
        fix = f"krontab fuzzy compile --write {self.path}"
        outdated = [each for each in self.schedules if not each.is_current]
        return [
            self.source.finding(
                WorkflowCode.OUTDATED, _outdated(each), each.slot.start, each.slot.end, fix
            )
            for each in outdated[:SHOWN_PROBLEMS]
        ]


class Compilation(Frozen):
    """All files that hold schedules, and everything that is wrong or doubtful."""

    workflows: tuple[Workflow, ...]
    findings: tuple[Finding, ...]
    unshown: int = 0
    """How many findings there are beyond these."""
    without: tuple[tuple[str, str], ...] = ()
    """Files that were named and have no schedule, each with the reason."""

    @property
    def errors(self) -> list[Finding]:
        """What is wrong."""
        return [each for each in self.findings if each.severity is Severity.ERROR]

    @property
    def outdated(self) -> list[Workflow]:
        """The files that would be written."""
        return [each for each in self.workflows if not each.is_current]

    @property
    def jobs(self) -> list[Job]:
        """Every schedule of every file."""
        return [job for workflow in self.workflows for job in workflow.jobs]


def compile_workflows(
    paths: Iterable[str],
    repo: str | None = None,
    *,
    trusting: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Compilation:
    """Compile the workflows among the files and directories. `progress` is told of files read."""
    load_yaml()  # without it there is nothing to begin
    findings: list[Finding] = []
    compiler = _Compiler(Repositories(repo), findings, limits, trusting=trusting)
    for found in search(paths, findings):
        compiler.add(found)
        if progress is not None:
            progress(1)
    findings = _told_once(findings)
    collided = _collision_findings(compiler.workflows)
    findings += collided[:_MOST_COLLISIONS]
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    return Compilation(
        tuple(compiler.workflows),
        tuple(findings),
        compiler.unshown + len(collided[_MOST_COLLISIONS:]),
        tuple(compiler.without),
    )


class _Compiler:
    def __init__(
        self,
        repositories: Repositories,
        findings: list[Finding],
        limits: Limits,
        *,
        trusting: bool,
    ) -> None:
        self.workflows: list[Workflow] = []
        self.without: list[tuple[str, str]] = []
        self.unshown = 0
        self._repositories = repositories
        self._findings = findings
        self._limits = limits
        self._trusting = trusting

    def add(self, found: Found) -> None:
        """Compile one file."""
        try:
            data = read_file(found.path, own_access(insecure=True), self._limits)
        except KronError as error:
            finding = Finding.of_error(error, found.path)
            if error.code is Code.LIMIT and not found.is_named:
                finding = finding.replace(severity=Severity.WARNING)  # data, most likely
            self._findings.append(finding)
            return
        source = Source(found.path, data)
        self._compile(source, found)
        self._findings += source.findings
        self.unshown += source.unshown

    def _compile(self, source: Source, found: Found) -> None:
        part = yaml_part(source)
        if part is None or not (found.is_named or is_likely(source, part)):
            if found.is_named:
                self.without.append((found.path, "it has no front matter"))
            return
        reading = read_workflow(
            source, part, lambda: self._identify(source), trusting=self._trusting
        )
        if reading is None:
            return
        if not reading.schedules:
            if found.is_named:
                self.without.append((found.path, "it has no schedule under on"))
            return
        edits = edits_of(source, reading.lines)
        if edits and not source.has_errors:
            self._read_back(source, reading, edits)
        workflow = Workflow(source, reading.identifier, reading.schedules, tuple(edits))
        self.workflows.append(workflow)

    def _identify(self, source: Source) -> str:
        return self._repositories.identifier(source.path)

    def _read_back(self, source: Source, reading: Reading, edits: list[Edit]) -> None:
        """What would be written is read again first: the rest of the file has to mean the same."""
        again = Source(source.path, encoded(spliced(source.text, edits)))
        part = yaml_part(again)
        assert part is not None
        new = read_workflow(again, part, lambda: reading.identifier)
        if (
            new is not None
            and all(each.is_current for each in new.schedules)
            and new.tree.signature == expected_signature(reading.tree, reading.schedules)
        ):
            return
        report_place(source, next(each for each in reading.schedules if not each.is_current).slot)


def _outdated(schedule: WorkflowSchedule) -> str:
    if schedule.slot.is_bare and not schedule.expression:
        return f"{quoted(schedule.slot.value)} stands alone, and GitHub needs a list here"
    words = f"the fuzzy schedule {quoted(schedule.expression)} is {quoted(schedule.cron)} here"
    found = " ".join(schedule.slot.value.split())
    return (
        f"{words}, not compiled yet"
        if found == schedule.expression
        else f"{words}, not {quoted(found)}"
    )


def _collision_findings(workflows: list[Workflow]) -> list[Finding]:
    """A warning for each collision, at the last of the schedules that collide."""
    fuzzy = [
        (workflow, each) for workflow in workflows for each in workflow.schedules if each.expression
    ]
    places = {(each.identifier, each.cron): (workflow, each) for workflow, each in fuzzy}
    findings = []
    for collision in collisions((each.identifier, each.expression) for _, each in fuzzy):
        workflow, schedule = places[collision.identifiers[-1], collision.cron]
        findings.append(
            workflow.source.finding(
                collision.code,
                collision.message,
                schedule.slot.start,
                schedule.slot.end,
                collision.fix,
                severity=Severity.WARNING,
            )
        )
    return findings


def _told_once(findings: list[Finding]) -> list[Finding]:
    """The findings, those about one and the same repository in one."""
    first: dict[str, Finding] = {}
    others: Counter[str] = Counter()
    kept: list[Finding] = []
    for finding in findings:
        if finding.code == WorkflowCode.REPOSITORY and finding.message in first:
            others[finding.message] += 1
            continue
        first.setdefault(finding.message, finding)
        kept.append(finding)
    return [
        finding.replace(message=f"{finding.message} (so it is for {count:,} more files)")
        if (count := others[finding.message])
        else finding
        for finding in kept
    ]
