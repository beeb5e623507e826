"""A thousand due in the same second: how long until the last of their Jobs exists.

The peer is the CronJob controller of the same control plane, tuned, and takes turns with
kron-operator; after each turn a bare client makes the same Jobs again. With its default flags the
peer has a control plane and a round of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bench.krond.marks import Lateness
from bench.krond.moment import cron_fields, kron_schedule, soon
from bench.krond.usage import usage
from bench.krond.workshop import scratch
from bench.kube.floor import bare_burst
from bench.kube.judgement import for_runs, lateness, tally
from bench.kube.manifests import cronjob, kronjob
from bench.kube.plane import control_plane, create_all, make_namespace
from bench.kube.size import BURST_JOBS as JOBS
from bench.kube.size import BURST_ROUNDS as ROUNDS
from bench.kube.tail import jobs_of, statuses_of, wait_until_quiet
from bench.measure import Result, progress
from kron.kube.client.resources import CRONJOBS, KRONJOBS
from tests.cluster.controlplane import ControlPlane
from tests.cluster.operator import Operator
from tests.moment import wait_until

OF_THE_PEER = 0.33
MOST_REQUESTS = 2
_LEAD_S = 10 + JOBS / 50
"""Salts are looked for, objects are made and statuses written meanwhile."""
_APART_S = 75
"""From the peer's second to ours. The operator's connections are closed by then, as they would be
in the middle of the night."""
_LONGEST_S = 60.0
_LONGEST_DEFAULT_S = 300.0
_NAMES = [f"report-{number}" for number in range(JOBS)]


class _Kron(NamedTuple):
    lateness: Lateness
    requests: Counter[str]
    cpu_s: float
    floor: Lateness
    """Of a bare client, afterwards."""


def measure() -> Iterator[Result]:
    """kron-operator and the tuned peer, the peer as it comes, and what follows."""
    rounds = []
    with control_plane() as cluster:
        for number in range(ROUNDS):
            progress(f"burst, round {number + 1} of {ROUNDS} ...")
            rounds.append(_round(cluster, number))
    kron = min((kron for kron, _ in rounds), key=lambda each: _time(each.lateness))
    peer = min((peer for _, peer in rounds), key=_time)
    yield _told("kron-operator", kron.lateness, {"s of processor time": kron.cpu_s})
    floor = min((kron.floor for kron, _ in rounds), key=_time)
    yield _told("CronJobs, tuned", peer, {})
    yield _told("the same Jobs from a bare client", floor, {})
    progress("burst, CronJobs with default flags ...")
    with control_plane(tuned=False) as cluster:
        yield _told("CronJobs, default flags", _burst_of_peer(cluster, 0, _LONGEST_DEFAULT_S), {})
    ratio = kron.lateness.last_s / peer.last_s
    yield Result(
        "kron-operator / CronJobs, tuned",
        ratio,
        "times as long",
        f"<= {OF_THE_PEER:g}",
        ratio <= OF_THE_PEER,
        {"of CronJobs, the bare client": floor.last_s / peer.last_s},
    )
    yield _requests([kron.requests for kron, _ in rounds])


def _told(name: str, late: Lateness, details: dict[str, float]) -> Result:
    lost = JOBS - late.count
    return Result(
        f"{JOBS:,} at once: {name}",
        late.last_s,
        "s to the last Job",
        "" if not lost else "all of them",
        None if not lost else False,
        {
            "s first": late.first_s,
            "s median": late.percentile_s(50),
            "s p99": late.percentile_s(99),
            **details,
            **({"not made": lost} if lost else {}),
        },
    )


def _requests(rounds: list[Counter[str]]) -> Result:
    """Of all rounds, the one with the most."""
    most = max(rounds, key=for_runs)
    a_run = for_runs(most) / JOBS
    shown = {words: n for words, n in most.most_common() if words.split(" ")[1] != "leases"}
    return Result(
        "requests a run by kron-operator",
        a_run,
        "",
        f"<= {MOST_REQUESTS}",
        a_run <= MOST_REQUESTS,
        shown,
        "Events, watches and the lease aside",
    )


def _time(late: Lateness) -> tuple[int, float]:
    return -late.count, late.last_s


def _round(cluster: ControlPlane, number: int) -> tuple[_Kron, Lateness]:
    """Both in turn; the operator and its KronJobs exist all the time."""
    namespace = make_namespace(cluster, f"kron-{number}")
    peer_due_s = soon(_LEAD_S, whole_minute=True)
    due_s = peer_due_s + _APART_S
    with Operator(cluster, namespace, scratch()) as operator:
        operator.start()
        operator.wait_until_leading()
        statuses = statuses_of(cluster.audit_log, namespace)
        create_all(
            cluster,
            KRONJOBS,
            namespace,
            [kronjob(name, kron_schedule(f"{namespace}/{name}", due_s)) for name in _NAMES],
        )
        statuses.wait_for(JOBS, "the statuses of KronJobs", peer_due_s)
        peer = _burst_of_peer(cluster, number, _APART_S - 5, peer_due_s)
        wait_until_quiet(cluster.audit_log, due_s - 1)
        wait_until(due_s - 0.5)
        assert operator.process is not None
        jobs = jobs_of(cluster.audit_log, namespace)
        ended = statuses_of(cluster.audit_log, namespace)
        before_ns = usage(operator.process.pid).cpu_ns
        jobs.wait(JOBS, due_s + _LONGEST_S)
        ended.wait(JOBS, due_s + 2 * _LONGEST_S)
        wait_until_quiet(cluster.audit_log, due_s + 3 * _LONGEST_S)
        cpu_s = (usage(operator.process.pid).cpu_ns - before_ns) / 1e9
        operator.stop()
    requests = cluster.audit(namespace)
    late = lateness(requests, namespace, dict.fromkeys(_NAMES, due_s))
    floor = bare_burst(cluster, namespace, _NAMES)
    return _Kron(late, tally(requests, due_s), cpu_s, floor), peer


def _burst_of_peer(
    cluster: ControlPlane, number: int, longest_s: float, due_s: int | None = None
) -> Lateness:
    namespace = make_namespace(cluster, f"peer-{number}")
    due_s = due_s or soon(_LEAD_S, whole_minute=True)
    schedule = cron_fields(due_s)
    create_all(cluster, CRONJOBS, namespace, [cronjob(name, schedule) for name in _NAMES])
    wait_until_quiet(cluster.audit_log, due_s - 1)
    jobs = jobs_of(cluster.audit_log, namespace)
    wait_until(due_s - 0.5)
    jobs.wait(JOBS, due_s + longest_s)
    return lateness(cluster.audit(namespace), namespace, dict.fromkeys(_NAMES, due_s))
