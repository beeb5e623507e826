"""The limits of cgroups that jobs ask for, against those that krond can set on this host."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kron.core.errors import Code, ParseError
from kron.jobs.configuration import Configuration
from kron.jobs.document import KEPT_FINDINGS, Document
from kron.jobs.finding import Finding, findings_of
from kron.jobs.task import CgroupLimit
from kron.jobs.values import place_of

FIX = (
    "set Delegate=yes and DelegateSubgroup=krond in krond's unit (systemd 254 or later), "
    "or remove the field"
)


def with_limits_checked(
    configuration: Configuration, controllers: frozenset[str] | None
) -> Configuration:
    """The configuration, with an error for each limit that krond cannot set.

    `controllers` are those that krond has; None: it has no cgroups for its runs.
    """
    found = (
        finding for document in configuration.documents for finding in _unmet(document, controllers)
    )
    failures = (*configuration.failures, *islice(found, KEPT_FINDINGS))
    return configuration.replace(failures=failures)


def _unmet(document: Document, controllers: frozenset[str] | None) -> Iterator[Finding]:
    lacking = [
        (entry, limit)
        for entry in document.entries
        for limit, _ in entry.task.cgroup_limits
        if controllers is None or limit.controller not in controllers
    ]
    lines = document.text.split("\n") if lacking else []
    # A line of defaults is reported once for all of its jobs.
    places = {(place_of(entry, limit.field, lines), limit): entry.name for entry, limit in lacking}
    for ((number, token), limit), job in places.items():
        problem = token.problem(Code.CGROUP, _why(limit, job, controllers), fix=FIX)
        yield from findings_of(
            ParseError(lines[number - 1], [problem]), path=document.path, line=number
        )


def _why(limit: CgroupLimit, job: str, controllers: frozenset[str] | None) -> str:
    if controllers is None:
        return f"{limit.field} of {job}: no cgroup is delegated to krond, so runs have no limits"
    return f"{limit.field} of {job}: the cgroup controller {limit.controller} is not krond's"
