"""Compiling workflow files: what each schedule becomes, and what is wrong anywhere.

A compilation has every file, old and new, and every finding. It writes nothing: the command decides
about that.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.engine.job import Job
from kron.fuzzy import collisions
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding, Severity
from kron.jobs.source import own_access, read_file
from kron.krontab.workflows.repository import Repositories
from kron.krontab.workflows.source import (
    SUFFIXES,
    WorkflowCode,
    WorkflowSource,
    encoded,
    is_likely,
    yaml_part,
)
from kron.krontab.workflows.splice import expected_signature, report_place, spliced
from kron.krontab.workflows.workflow import Identify, Workflow, read_workflow
from kron.yaml_text.file_text import files_below, unreadable
from kron.yaml_text.tree import load_yaml

_MOST_COLLISIONS = 100


class WorkflowError(ConfigurationError):
    def __init__(self, findings: list[Finding], unshown: int) -> None:
        message = f"{len(findings) + unshown} errors in workflow files"
        # A finding may have a code of this package, which is no `Code`. Nothing reads this one.
        KronError.__init__(self, Code.FIELD_VALUE, message, fix=findings[0].fix)
        self.args = (findings, unshown)
        self.findings = tuple(findings)
        self.unshown = unshown


class Compilation(Frozen):
    workflows: tuple[Workflow, ...]
    findings: tuple[Finding, ...]
    unshown: int = 0
    """How many more findings were not kept."""
    without: tuple[tuple[str, str], ...] = ()
    """Files that were named but have no schedule, each with the reason."""

    @property
    def errors(self) -> list[Finding]:
        return [each for each in self.findings if each.severity is Severity.ERROR]

    @property
    def outdated(self) -> list[Workflow]:
        return [each for each in self.workflows if each.edits]

    @property
    def jobs(self) -> list[Job]:
        return [job for workflow in self.workflows for job in workflow.jobs]


def compile_workflows(
    paths: Iterable[str],
    repo: str | None = None,
    *,
    trusting: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Compilation:
    """Compile the workflows among the files and directories. `progress` counts the files read.

    `repo` is OWNER/NAME, by default that of the remote `origin`. With `trusting`, only schedules
    that are not compiled yet need it.
    """
    load_yaml("workflow files", "yaml")
    identify = Repositories(repo).identifier
    workflows: list[Workflow] = []
    without: list[tuple[str, str]] = []
    findings: list[Finding] = []
    unshown = 0
    for path, is_named in _search(paths, findings):
        try:
            data = read_file(path, own_access(insecure=True))
        except KronError as error:
            finding = Finding.of_error(error, path)
            if error.code is Code.LIMIT and not is_named:
                finding = finding.replace(severity=Severity.WARNING)  # probably not a workflow
            findings.append(finding)
        else:
            source = WorkflowSource(path, data)
            workflow = _compile(source, identify, is_named=is_named, trusting=trusting)
            if isinstance(workflow, Workflow):
                workflows.append(workflow)
            elif workflow and is_named:
                without.append((path, workflow))
            findings += source.findings
            unshown += source.unshown
        if progress is not None:
            progress(1)
    findings = _merged(findings)
    collided = _collision_findings(workflows)
    findings += collided[:_MOST_COLLISIONS]
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    unshown += len(collided[_MOST_COLLISIONS:])
    return Compilation(tuple(workflows), tuple(findings), unshown, tuple(without))


def _search(paths: Iterable[str], failures: list[Finding]) -> list[tuple[str, bool]]:
    """The files in the order of the paths, each once, and whether a path names the file itself."""
    found: dict[Path, tuple[str, bool]] = {}
    for path in paths:
        try:
            if not Path(path).is_dir():
                _check_named(path)
                found[Path(path).resolve()] = (path, True)
                continue
            for below in files_below(path, SUFFIXES, failures, shown=".github"):
                file = Path(below)
                if file.is_file() and not file.is_symlink():
                    found.setdefault(file.resolve(), (str(file), False))
        except KronError as error:
            failures.append(Finding.of_error(error, path))
        except (OSError, ValueError) as error:
            failures.append(unreadable(path, error))
    return list(found.values())


def _check_named(path: str) -> None:
    file = Path(path)
    # Not Path.exists(), which from Python 3.14 on says no whatever the error was.
    try:
        mode = file.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise KronError(Code.FILE_MISSING, f"{path} does not exist") from None
    if stat.S_ISLNK(mode):
        message = f"{path} is a symbolic link: its path is not the path of the workflow"
        raise KronError(Code.FILE_SYMLINK, message, fix="name the file that it points to")
    if not stat.S_ISREG(mode):
        raise KronError(Code.FILE_KIND, f"{path} is neither a regular file nor a directory")
    if file.suffix not in SUFFIXES:
        message = f"{path} is not a workflow: its name does not end in {', '.join(SUFFIXES)}"
        raise KronError(Code.FILE_KIND, message)


def _compile(
    source: WorkflowSource, identify: Identify, *, is_named: bool, trusting: bool
) -> Workflow | str:
    """The workflow, or why the file has no schedule; '' if it has errors."""
    part = yaml_part(source)
    if part is None or not (is_named or is_likely(part)):
        return "it has no front matter"
    workflow = read_workflow(source, part, identify, trusting=trusting)
    if workflow is None:
        return ""
    if not workflow.schedules:
        return "it has no schedule under on"
    if workflow.edits and not source.has_errors and not _is_read_back(workflow):
        report_place(source, workflow.outdated[0].slot)
    return workflow


def _is_read_back(workflow: Workflow) -> bool:
    """Whether the rest of the file means the same after the edits: they are not written yet."""
    source = workflow.source
    again = WorkflowSource(source.path, encoded(spliced(source.text, workflow.edits)))
    part = yaml_part(again)
    assert part is not None
    new = read_workflow(again, part, lambda _: workflow.identifier)
    return (
        new is not None
        and not new.outdated
        and new.tree.signature == expected_signature(workflow.tree, workflow.schedules)
    )


def _collision_findings(workflows: list[Workflow]) -> list[Finding]:
    """A warning for each collision, at the last of the colliding schedules."""
    fuzzy = [
        (workflow, each) for workflow in workflows for each in workflow.schedules if each.expression
    ]
    places = {(each.identifier, each.cron): (workflow, each) for workflow, each in fuzzy}
    findings = []
    for found in collisions((each.identifier, each.expression) for _, each in fuzzy):
        workflow, schedule = places[found.identifiers[-1], found.cron]
        place = schedule.slot.start, schedule.slot.end
        finding = workflow.source.finding(found.code, found.message, *place, found.fix)
        findings.append(finding.replace(severity=Severity.WARNING))
    return findings


def _merged(findings: list[Finding]) -> list[Finding]:
    """The findings, with one for each repository that is not known."""
    unknown = [each for each in findings if each.code == WorkflowCode.REPOSITORY]
    counts = Counter(each.message for each in unknown)
    first = {each.message: each for each in reversed(unknown)}
    kept = [each for each in findings if each.code != WorkflowCode.REPOSITORY]
    for message, count in counts.items():
        more = f" (also for {count - 1:,} more files)" if count > 1 else ""
        kept.append(first[message].replace(message=message + more))
    return kept
