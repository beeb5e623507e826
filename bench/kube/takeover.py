"""Leaders that stop, and leaders that are killed, among ten thousand KronJobs.

Ten runs are due each second, with the default policy: a run that comes late is missed. Three
replicas share the lease; each one that ends is started again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import kron
from bench.krond.marks import Lateness
from bench.krond.moment import cron_fields, soon
from bench.krond.workshop import scratch
from bench.kube.judgement import lateness
from bench.kube.manifests import kronjob
from bench.kube.plane import control_plane, create_all, make_namespace
from bench.kube.size import FLEET_KRONJOBS as KRONJOBS_THERE
from bench.kube.size import HANDOVERS, KILLS
from bench.kube.tail import statuses_of, wait_until_quiet
from bench.measure import Result, progress
from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.kube.client.resources import KRONJOBS
from tests.cluster.controlplane import ControlPlane
from tests.cluster.operator import Operator
from tests.moment import wait_until

MOST_TAKEN_S = 1.0
MOST_LATE_S = 2.0
A_SECOND = 10
_APART_S = 12
_NAMESPACE = "takeover"
_LONGEST_S = 600.0
_BETWEEN_S = 10


def measure() -> Iterator[Result]:
    with control_plane() as cluster:
        make_namespace(cluster, _NAMESPACE)
        progress(f"takeover, making {KRONJOBS_THERE:,} KronJobs ...")
        far = [kronjob(f"far-{n}", f"{n % 60} 0 29 2 *") for n in range(KRONJOBS_THERE)]
        create_all(cluster, KRONJOBS, _NAMESPACE, far)
        replicas = [Operator(cluster, _NAMESPACE, scratch(), identity=name) for name in "abc"]
        try:
            statuses = statuses_of(cluster.audit_log, _NAMESPACE)
            replicas[0].start()
            statuses.wait_for(KRONJOBS_THERE, "statuses written", time.time() + _LONGEST_S)
            wait_until_quiet(cluster.audit_log, time.time() + _LONGEST_S)
            for replica in replicas[1:]:
                replica.start()
            yield from _ended(cluster, replicas, "stopped", HANDOVERS, _stop)
            yield from _ended(cluster, replicas, "killed", KILLS, _kill)
        finally:
            for replica in replicas:
                replica.kill()


def _ended(
    cluster: ControlPlane,
    replicas: list[Operator],
    how: str,
    times: int,
    end: Callable[[Operator], None],
) -> Iterator[Result]:
    """End the leader this often, one after the other, while runs are due."""
    progress(f"takeover, a leader that is {how}, {times} times ...")
    lasts_s = times * _APART_S
    window_s = -(-lasts_s // 60) * 60
    count = A_SECOND * window_s
    prefix = how.split(maxsplit=1)[0]
    begins_s = soon(_BETWEEN_S + count / 60, whole_minute=True)
    text = f"{cron_fields(begins_s)} @win(after,{window_s}s)"
    schedule = kron.parse_schedule(text)
    due = {}
    made = []
    for number in range(count):
        name = f"{prefix}-{number}"
        chosen_s = decide_at(schedule, f"{_NAMESPACE}/{name}", begins_s).chosen_s
        assert chosen_s is not None
        due[name] = chosen_s
        obj = kronjob(name, text)
        del obj["spec"]["policy"]
        made.append(obj)
    statuses = statuses_of(cluster.audit_log, _NAMESPACE)
    create_all(cluster, KRONJOBS, _NAMESPACE, made)
    statuses.wait_for(count, "the statuses of KronJobs", begins_s)
    taken_s = []
    for number in range(times):
        wait_until(begins_s + number * _APART_S + 1)
        leader = next(each for each in replicas if each.identity == each.holder())
        before = {each.identity: len(each.events("ready")) for each in replicas}
        end(leader)
        ended_s = time.time()
        others = [each for each in replicas if each is not leader]
        taken_s.append(_at_work_s(others, before) - ended_s)
        leader.launch()
    wait_until(begins_s + window_s + 5)
    late = lateness(cluster.audit(_NAMESPACE), _NAMESPACE, due)
    missed = count - late.count
    yield from _results(how, times, late, missed, taken_s)


def _results(
    how: str, times: int, late: Lateness, missed: int, taken_s: list[float]
) -> Iterator[Result]:
    each = f"leader {how} {times} times, {KRONJOBS_THERE:,} KronJobs"
    yield Result(
        f"{each}: missed",
        missed,
        "",
        "0",
        missed == 0,
        {"runs due": late.count + missed},
    )
    yield Result(
        f"{each}: worst lateness of a run",
        late.last_s,
        "s",
        f"<= {MOST_LATE_S:g}",
        late.last_s <= MOST_LATE_S,
        {"ms p99": late.percentile_s(99) * 1e3, "ms median": late.percentile_s(50) * 1e3},
    )
    yield Result(
        f"{each}: from its end to the next at work, the slowest",
        max(taken_s),
        "s",
        f"<= {MOST_TAKEN_S:g}",
        max(taken_s) <= MOST_TAKEN_S,
        {"s median": sorted(taken_s)[len(taken_s) // 2]},
    )


def _at_work_s(others: list[Operator], before: dict[str, int]) -> float:
    """When one of these said that it is at work, after as many times as before."""
    until_s = time.time() + 60
    while time.time() < until_s:
        for each in others:
            ready = each.events("ready")
            if len(ready) > before[each.identity]:
                return ready[-1].time_ns / SECOND_NS
        time.sleep(0.05)
    raise AssertionError("nobody took over within a minute")


def _stop(leader: Operator) -> None:
    assert leader.stop() == 0


def _kill(leader: Operator) -> None:
    leader.kill()
