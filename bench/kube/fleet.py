"""Ten thousand KronJobs: taking them up, waiting for them, and what they weigh.

None is due for months. Cold: no operator has seen them, and every status is written, which goes on
after the operator is ready. Warm: an earlier operator has written them all, and nothing may be
written again, though everything is listed twice.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bench.krond.usage import Usage, usage
from bench.krond.workshop import scratch
from bench.kube.judgement import besides, tally, writes
from bench.kube.manifests import kronjob
from bench.kube.plane import control_plane, create_all, make_namespace
from bench.kube.size import FLEET_KRONJOBS as KRONJOBS_THERE
from bench.kube.size import IDLE_S
from bench.kube.tail import Tail, statuses_of, wait_until_quiet
from bench.measure import Result, progress
from kron.kube.client.resources import KRONJOBS
from tests.cluster.controlplane import ControlPlane
from tests.cluster.operator import Operator

SYNCED_S = 20.0
MOST_EMPTY_MB = 100.0
MOST_KIB_EACH = 25.0
_LONGEST_S = 240.0
_REHEARSED_S = 600.0
"""The operator asks about each template afterwards, at a limited rate."""
_SETTLING_S = 5
_READY = '"event":"ready"'
_NAMESPACE = "fleet"


class _Start(NamedTuple):
    """From exec until it said that it was ready."""

    began_s: float
    ready_s: float
    usage: Usage


def measure() -> Iterator[Result]:
    """Without KronJobs, cold, warm, and a minute of nothing."""
    with control_plane() as cluster:
        for namespace in (_NAMESPACE, "empty"):
            make_namespace(cluster, namespace)
        progress("fleet, an operator without KronJobs ...")
        with Operator(cluster, "empty", scratch()) as operator:
            empty = _started(operator).usage
            operator.stop()
        progress(f"fleet, making {KRONJOBS_THERE:,} KronJobs ...")
        create_all(cluster, KRONJOBS, _NAMESPACE, list(_kronjobs()))
        wait_until_quiet(cluster.audit_log, time.time() + _LONGEST_S)
        with Operator(cluster, _NAMESPACE, scratch()) as operator:
            yield from _cold_and_warm(cluster, operator, empty)


def _cold_and_warm(cluster: ControlPlane, operator: Operator, empty: Usage) -> Iterator[Result]:
    progress("fleet, a cold start ...")
    statuses = statuses_of(cluster.audit_log, _NAMESPACE)
    cold = _started(operator)
    statuses.wait_for(KRONJOBS_THERE, "statuses written", cold.began_s + _LONGEST_S)
    written_s = time.time() - cold.began_s
    wait_until_quiet(cluster.audit_log, time.time() + _REHEARSED_S)
    cold_usage = _usage(operator)
    yield _synced("cold", cold)
    yield Result(
        f"exec to every first status written, {KRONJOBS_THERE:,} KronJobs",
        written_s,
        "s",
        details={"s of processor time, with all dry runs": cold_usage.cpu_ns / 1e9},
    )
    operator.stop()

    progress("fleet, a warm start ...")
    warm = _started(operator)
    time.sleep(_SETTLING_S)
    before = _usage(operator)
    idle_from_s = time.time()
    progress(f"fleet, nothing for {IDLE_S} s ...")
    time.sleep(IDLE_S)
    after = _usage(operator)
    operator.stop()
    requests = cluster.audit(_NAMESPACE)
    started = tally(requests, warm.began_s, idle_from_s)
    idle = tally(requests, idle_from_s, idle_from_s + IDLE_S)
    yield _synced("warm", warm)
    yield from _requests(started, idle, before, after)
    yield from _memory(empty, max(cold_usage.rss_kib, after.rss_kib), after.rss_kib)


def _kronjobs() -> Iterator[dict[str, object]]:
    """Due once a year, in four to eight months."""
    chance = random.Random(7)
    month = time.gmtime().tm_mon
    for number in range(KRONJOBS_THERE):
        minute, hour, day = chance.randrange(60), chance.randrange(24), chance.randrange(1, 29)
        due_month = (month + chance.randrange(4, 9) - 1) % 12 + 1
        text = f"{minute} {hour} {day} {due_month} * @win(after,{chance.randrange(1, 300)}m)"
        yield kronjob(f"report-{number}", text)


def _started(operator: Operator) -> _Start:
    """Start it and wait until it says that it is ready: it leads, and has taken everything up."""
    operator.output.touch()
    ready = Tail(operator.output, _READY)
    began_s = time.time()
    operator.launch()
    ready.wait_for(1, "ready", began_s + _LONGEST_S)
    return _Start(began_s, time.time() - began_s, _usage(operator))


def _usage(operator: Operator) -> Usage:
    assert operator.process is not None
    return usage(operator.process.pid)


def _synced(how: str, start: _Start) -> Result:
    return Result(
        f"exec to synced, {KRONJOBS_THERE:,} KronJobs, {how}",
        start.ready_s,
        "s",
        f"< {SYNCED_S:g}",
        start.ready_s < SYNCED_S,
        {"s of processor time": start.usage.cpu_ns / 1e9},
    )


def _requests(
    started: Counter[str], idle: Counter[str], before: Usage, after: Usage
) -> Iterator[Result]:
    written = writes(started)
    lists = sum(n for words, n in started.items() if words.startswith("list kronjobs"))
    yield Result(
        "writes by a warm start, all listed again",
        written,
        "",
        "0",
        written == 0,
        {"requests for pages of KronJobs": lists},
        "the lease aside",
    )
    asked = besides(idle, "leases")
    yield Result(
        f"requests in {IDLE_S} s with nothing due",
        asked,
        "",
        "0",
        asked == 0,
        {
            "for the lease": sum(idle.values()) - asked,
            "ms of processor time": (after.cpu_ns - before.cpu_ns) / 1e6,
        },
        "the lease aside",
    )


def _memory(empty: Usage, most_kib: int, warm_kib: int) -> Iterator[Result]:
    empty_mb = empty.rss_kib * 1024 / 1e6
    yield Result(
        "memory of kron-operator without KronJobs",
        empty_mb,
        "MB",
        f"<= {MOST_EMPTY_MB:g}",
        empty_mb <= MOST_EMPTY_MB,
    )
    each_kib = (most_kib - empty.rss_kib) / KRONJOBS_THERE
    yield Result(
        "memory of a KronJob",
        each_kib,
        "KiB",
        f"<= {MOST_KIB_EACH:g}",
        each_kib <= MOST_KIB_EACH,
        {
            "KiB after the warm start": (warm_kib - empty.rss_kib) / KRONJOBS_THERE,
            "MB in all": most_kib * 1024 / 1e6,
        },
    )
