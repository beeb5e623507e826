"""Reading the configuration: the jobs of the sources that the settings name, and what is logged.

A job may ask for limits that krond cannot set on this host: those are errors too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from kron.core.errors import Code, ParseError
from kron.jobs.configuration import SYSTEM_DIRECTORY, Configuration, default_paths, load
from kron.jobs.document import KEPT_FINDINGS, Document
from kron.jobs.finding import Finding, findings_of
from kron.jobs.task import CgroupLimit
from kron.jobs.values import place_of
from kron.krond.cgroups import Absence
from kron.krond.configuration.settings import JobSource, KrondSettings
from kron.logs.event import Event, Level
from kron.logs.journal import Journal

NOTHING_READ = "there is no file to read, so nothing will run; name files with krond start --config"
NO_JOBS = "the configuration has no job, so nothing will run"
DELEGATE = (
    "set Delegate=yes and DelegateSubgroup=krond in krond's unit (systemd 254 or later), "
    "or remove the field"
)
PART = "stop that one, run this one in a unit or container of its own, or remove the field"


def read_configuration(settings: KrondSettings) -> Configuration:
    """All jobs of the configured sources, with the errors of their files."""
    read = Configuration(())
    if JobSource.KRONTAB in settings.sources:
        is_root = os.geteuid() == 0  # the system's directory is for root only
        default = [path for path in default_paths() if is_root or path != SYSTEM_DIRECTORY]
        read = load(settings.config or default, settings.access, node=settings.node)
    if JobSource.CRON not in settings.sources:
        return read
    from kron.jobs.crontab.host import load_host

    crontabs = load_host(settings.access, node=settings.node)
    return Configuration(
        (*read.documents, *crontabs.documents),
        (*read.failures, *crontabs.failures),
        (*read.ignored, *crontabs.ignored),
        crontabs.warnings,
    )


def why_nothing_runs(configuration: Configuration) -> str:
    """For people; '' if the configuration has a job."""
    if next(configuration.entries, None) is not None:
        return ""
    return NO_JOBS if configuration.documents else NOTHING_READ


def log_read(journal: Journal, configuration: Configuration) -> None:
    """Log what is worth knowing about a configuration that is right."""
    if nothing := why_nothing_runs(configuration):
        journal.error("read the configuration", nothing, level=Level.WARN)
    for warning in configuration.warnings:
        journal.error("read the configuration", warning.head, level=Level.WARN)
    for path in configuration.ignored:
        journal.event(Event.CONFIG_IGNORED, file=path, reason="it is not a configuration file")


def with_limits_checked(
    configuration: Configuration, controllers: frozenset[str] | Absence
) -> Configuration:
    """The configuration, with an error for each limit that krond cannot set.

    `controllers` are those that krond has, or why it has no cgroups for its runs.
    """
    found = (
        finding for document in configuration.documents for finding in _unmet(document, controllers)
    )
    failures = (*configuration.failures, *islice(found, KEPT_FINDINGS))
    return configuration.replace(failures=failures)


def _unmet(document: Document, controllers: frozenset[str] | Absence) -> Iterator[Finding]:
    lacking = [
        (entry, limit)
        for entry in document.entries
        for limit, _ in entry.task.cgroup_limits
        if isinstance(controllers, Absence) or limit.controller not in controllers
    ]
    lines = document.text.split("\n") if lacking else []
    # A line of defaults is reported once for all of its jobs.
    places = {(place_of(entry, limit.field, lines), limit): entry.name for entry, limit in lacking}
    fix = PART if controllers is Absence.TAKEN else DELEGATE
    for ((number, token), limit), job in places.items():
        problem = token.problem(Code.CGROUP, _why(limit, job, controllers), fix=fix)
        yield from findings_of(
            ParseError(lines[number - 1], [problem]), path=document.path, line=number
        )


def _why(limit: CgroupLimit, job: str, controllers: frozenset[str] | Absence) -> str:
    if isinstance(controllers, Absence):
        return f"{limit.field} of {job}: {controllers}, so runs have no limits"
    return f"{limit.field} of {job}: the cgroup controller {limit.controller} is not krond's"
