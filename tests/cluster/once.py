"""KronJobs with a single period a year, due at the second that a test wants, and what came of it.

`due_at` has a period each minute, so the one that a test is about may not be the last one.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import kron
from kron.core.decision import decide_at
from kron.core.instant import to_text
from kron.kube.resource.run import job_name
from tests.cluster.api import Object
from tests.cluster.audit import Request
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import MINUTE_S, KronJobs
from tests.cluster.outcomes import creations


def once_at(namespace: str, name: str, at_s: int, more: str = "") -> str:
    """A schedule with which this KronJob is due at `at_s`, and then not for a year."""
    nominal_s = at_s - at_s % MINUTE_S
    moment = time.gmtime(nominal_s)
    cron = f"{moment.tm_min} {moment.tm_hour} {moment.tm_mday} {moment.tm_mon} *"
    for number in range(100_000):
        text = f"{cron} @win(after,1m) @seed(stable,salt=s{number}) {more}".strip()
        schedule = kron.parse_schedule(text)
        if decide_at(schedule, f"{namespace}/{name}", nominal_s).chosen_s == at_s:
            return text
    raise AssertionError(f"no salt puts {namespace}/{name} at {at_s}")


def make_once(
    kronjobs: KronJobs,
    name: str,
    at_s: int,
    *,
    deadline: str = "",
    template: Object | None = None,
    **spec: Any,
) -> str:
    """Create one that is due at `at_s` and then not for a year: its period."""
    if deadline:
        spec["policy"] = {"deadline": deadline} | spec.get("policy", {})
    schedule = once_at(kronjobs.namespace, name, at_s)
    kronjobs.make(name, schedule, template=template, **spec)
    return to_text(at_s - at_s % MINUTE_S)


def requests_for(
    cluster: ControlPlane, kronjobs: KronJobs, name: str, period: str
) -> list[Request]:
    """Every request for the Job of that period, with its answer."""
    job = job_name(name, period)
    return [each for each in creations(cluster, kronjobs.namespace) if each.name == job]


def made_by(cluster: ControlPlane, kronjobs: KronJobs, name: str, period: str) -> list[Request]:
    """The requests that made the Job of that period; if none of them was answered so, the one whose
    client was killed before the answer."""
    found = requests_for(cluster, kronjobs, name, period)
    return [each for each in found if each.is_made] or [each for each in found if each.may_be_made]


def executed_once(
    cluster: ControlPlane, kronjobs: KronJobs, name: str, period: str
) -> list[Request]:
    """Wait until status says that the period was executed: it was, once. All requests for it."""
    all_executed_once(cluster, kronjobs, {name: period})
    return requests_for(cluster, kronjobs, name, period)


def all_executed_once(
    cluster: ControlPlane,
    kronjobs: KronJobs,
    periods: dict[str, str],
    *,
    was_killed: bool = False,
) -> None:
    """The same for several: their periods by name. `was_killed`: the API server was, and may not
    have logged what it did last."""
    for name, period in periods.items():
        kronjobs.wait_for_status(name, lastPeriodID=period, lastOutcome="executed")
    wanted = {job_name(name, period): name for name, period in periods.items()}
    there = {
        job["metadata"]["name"]: job["metadata"]["ownerReferences"][0]["name"]
        for job in kronjobs.jobs()
        if job["metadata"]["ownerReferences"][0]["name"] in periods
    }
    assert there == wanted, (there, wanted)
    asked = [each for each in creations(cluster, kronjobs.namespace) if each.name in wanted]
    several = Counter(request.name for request in asked if request.is_made) - Counter(list(wanted))
    assert not several, several
    may_be = {request.name for request in asked if request.is_made or request.may_be_made}
    assert was_killed or may_be == set(wanted), (asked, wanted)


def drop_half_line(cluster: ControlPlane) -> None:
    """Of the audit log of an API server that was killed while it wrote. Not while one runs."""
    log = cluster.audit_log
    content = log.read_bytes()
    log.write_bytes(content[: content.rfind(b"\n") + 1])
