"""Ten Jobs a second for a minute, as windows spread them: how late each of them is.

A KronJob's window of a minute puts it on any second of that minute, so nothing is arranged here.
CronJobs can be due at a whole minute only; a few of them, and nothing else, show what the peer
needs when there is next to nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator

import kron
from bench.krond.marks import Lateness
from bench.krond.moment import MINUTE_S, cron_fields, soon
from bench.krond.workshop import scratch
from bench.kube.judgement import lateness
from bench.kube.manifests import cronjob, kronjob
from bench.kube.plane import control_plane, create_all, make_namespace
from bench.kube.size import SPREAD_JOBS as JOBS
from bench.kube.size import SPREAD_PEERS as PEERS
from bench.kube.tail import jobs_of, statuses_of, wait_until_quiet
from bench.measure import Result, progress
from kron.core.decision import decide_at
from kron.kube.client.resources import CRONJOBS, KRONJOBS
from tests.cluster.controlplane import ControlPlane
from tests.cluster.operator import Operator
from tests.moment import wait_until

MOST_P99_S = 0.1
_LEAD_S = 10 + JOBS / 40
_LONGEST_S = 20.0
_KRON, _PEER = "spread", "peer"


def measure() -> Iterator[Result]:
    """kron-operator's Jobs in one minute, the peer's at the beginning of another."""
    with control_plane() as cluster:
        progress(f"spread, {JOBS:,} KronJobs ...")
        late = _spread(cluster)
        progress(f"spread, {PEERS} CronJobs ...")
        peer = _peers(cluster)
    p99_s = late.percentile_s(99)
    yield Result(
        f"{JOBS:,} Jobs in a minute: p99 of made - chosen",
        p99_s * 1e3,
        "ms",
        f"<= {MOST_P99_S * 1e3:g}",
        late.count == JOBS and p99_s <= MOST_P99_S,
        {
            "ms median": late.percentile_s(50) * 1e3,
            "ms worst": late.last_s * 1e3,
            **({"not made": JOBS - late.count} if late.count < JOBS else {}),
        },
    )
    yield Result(
        f"{PEERS} CronJobs, tuned, at a whole minute: the last",
        peer.last_s * 1e3,
        "ms",
        details={"ms first": peer.first_s * 1e3, "ms median": peer.percentile_s(50) * 1e3},
    )


def _spread(cluster: ControlPlane) -> Lateness:
    namespace = make_namespace(cluster, _KRON)
    minute_s = soon(_LEAD_S, whole_minute=True)
    text = f"{cron_fields(minute_s)} @win(after,1m)"
    schedule = kron.parse_schedule(text)
    names = [f"report-{number}" for number in range(JOBS)]
    due_s = {name: _chosen_s(schedule, f"{namespace}/{name}", minute_s) for name in names}
    with Operator(cluster, namespace, scratch()) as operator:
        operator.start()
        operator.wait_until_leading()
        statuses = statuses_of(cluster.audit_log, namespace)
        create_all(cluster, KRONJOBS, namespace, [kronjob(name, text) for name in names])
        statuses.wait_for(JOBS, "the statuses of KronJobs", minute_s - 3)
        wait_until_quiet(cluster.audit_log, minute_s - 1)
        jobs = jobs_of(cluster.audit_log, namespace)
        wait_until(minute_s + MINUTE_S)
        jobs.wait(JOBS, minute_s + MINUTE_S + _LONGEST_S)
        operator.stop()
    return lateness(cluster.audit(namespace), namespace, due_s)


def _chosen_s(schedule: kron.Schedule, identity: str, nominal_s: int) -> int:
    chosen_s = decide_at(schedule, identity, nominal_s).chosen_s
    assert chosen_s is not None  # a window without constraints always has room
    return chosen_s


def _peers(cluster: ControlPlane) -> Lateness:
    namespace = make_namespace(cluster, _PEER)
    due_s = soon(10, whole_minute=True)
    names = [f"report-{number}" for number in range(PEERS)]
    schedule = cron_fields(due_s)
    create_all(cluster, CRONJOBS, namespace, [cronjob(name, schedule) for name in names])
    jobs = jobs_of(cluster.audit_log, namespace)
    wait_until(due_s + 1)
    jobs.wait(PEERS, due_s + _LONGEST_S)
    return lateness(cluster.audit(namespace), namespace, dict.fromkeys(names, due_s))
