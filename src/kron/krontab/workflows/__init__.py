"""Workflow files of GitHub: their schedules read, resolved, and edited without loss.

Markdown with front matter and GitHub Actions YAML. Needs the extra `yaml`; nothing outside
`krontab fuzzy compile` and `krontab heatmap` imports this package.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.errors import Code, KronError
from kron.engine.job import Job
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding
from kron.krontab.workflows.compilation import (
    Compilation,
    Progress,
    Workflow,
    compile_workflows,
)
from kron.krontab.workflows.repository import is_slug
from kron.krontab.workflows.schedule import WorkflowSchedule
from kron.krontab.workflows.source import WorkflowCode
from kron.krontab.workflows.writing import replace_files

__all__ = [
    "Compilation",
    "Workflow",
    "WorkflowCode",
    "WorkflowError",
    "WorkflowSchedule",
    "compile_workflows",
    "is_slug",
    "replace_files",
    "schedules_of",
]


class WorkflowError(ConfigurationError):
    """Workflow files with errors, all of them."""

    def __init__(self, findings: list[Finding], unshown: int) -> None:
        first = findings[0]
        message = f"{len(findings) + unshown} errors in workflow files"
        KronError.__init__(self, _code(first.code), message, fix=first.fix)
        self.args = (findings, unshown)
        self.findings = tuple(findings)
        self.unshown = unshown


def schedules_of(
    paths: Iterable[str], repo: str | None = None, *, progress: Progress | None = None
) -> list[Job]:
    """Every schedule of the workflows among the files and directories, each as a job.

    A job's identity is the place where it stands, `path:line:column`. Fuzzy schedules are resolved
    as `krontab fuzzy compile` would; `repo` is OWNER/NAME, by default that of the remote `origin`.
    It is needed only where something is not compiled yet. A `WorkflowError` lists all errors.
    """
    compilation = compile_workflows(paths, repo, trusting=True, progress=progress)
    if compilation.errors:
        raise WorkflowError(compilation.errors, compilation.unshown)
    return compilation.jobs


def _code(code: str) -> Code:
    """Findings of this package have codes of their own, which say more than the error needs."""
    try:
        return Code(code)
    except ValueError:
        return Code.FIELD_VALUE
