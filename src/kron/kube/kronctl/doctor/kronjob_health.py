"""What is wrong with single KronJobs, by what their status says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.answers.times import distance
from kron.console.report import many
from kron.core.instant import to_text
from kron.kube.api_object import Object, instant_s, objects
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict
from kron.kube.kronctl.listed import ListedKronJob, of_cluster

_LATE_S = 60
"""An operator that works has seen a KronJob, and started what is due, long before that."""


def check_kronjobs(contents: Sequence[Object], within: str | None, now_s: int) -> list[Check]:
    found = [check for content in contents for check in _judge(of_cluster(content), now_s)]
    where = "in all namespaces" if within is None else f"in {within}"
    if not contents:
        fix = "-A looks in all namespaces" if within is not None else ""
        return [Check(Subject.KRONJOBS, Verdict.NOTE, f"no KronJobs were found {where}", fix)]
    if not found:
        message = f"{many(len(contents), 'KronJob')} {where}: nothing is wrong"
        return [Check(Subject.KRONJOBS, Verdict.OK, message)]
    return sorted(found, key=lambda check: check.kronjob)


def _judge(listed: ListedKronJob, now_s: int) -> Iterator[Check]:
    name = listed.identity
    describe = f"kubectl describe kronjob -n {listed.namespace} {listed.name}"
    ready = listed.readiness
    changed_s = _changed_s(listed.content["metadata"]) or now_s
    if why := listed.why_not_ready:
        yield Check(Subject.READY, Verdict.PROBLEM, f"it is not ready: {why}", describe, name)
    elif ready.is_ready is None and now_s - changed_s > _LATE_S:
        message = "no operator has seen it, or its last edit"
        fix = "check whether an operator runs, and looks after this namespace (--namespace)"
        yield Check(Subject.SEEN, Verdict.PROBLEM, message, fix, name)
    else:
        yield from _overdue(listed, now_s)
    yield from _failed(listed)


def _changed_s(metadata: Object) -> int | None:
    """When it was made or last edited by anybody but the operator, as far as its metadata say."""
    edits = (each for each in objects(metadata, "managedFields") if not each.get("subresource"))
    times = (instant_s(metadata, "creationTimestamp"), *(instant_s(each, "time") for each in edits))
    return max((each for each in times if each is not None), default=None)


def _overdue(listed: ListedKronJob, now_s: int) -> Iterator[Check]:
    next_s = instant_s(listed.status, "nextChosenTime")
    if next_s is not None and not listed.is_suspended and now_s - next_s > _LATE_S:
        late = distance(now_s - next_s)
        message = f"it was due at {to_text(next_s)}, {late} ago, and no operator has started it"
        fix = "check who leads (leader, above), and the log of that operator"
        yield Check(Subject.DUE, Verdict.PROBLEM, message, fix, listed.identity)


def _failed(listed: ListedKronJob) -> Iterator[Check]:
    results = listed.results
    if not results.recent or not results.recent[0].is_failed:
        return
    last = results.recent[0]
    why = ": ".join(filter(None, (last.reason, last.message)))
    never = "it has never succeeded, and " if results.last_success_s is None else ""
    message = f"{never}its last run failed at {to_text(last.finished_s)}{why and f' ({why})'}"
    fix = f"kubectl logs -n {listed.namespace} job/{last.name}"
    yield Check(Subject.RESULT, Verdict.PROBLEM, message, fix, listed.identity)
