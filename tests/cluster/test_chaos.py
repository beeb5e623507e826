"""At most one Job a period, and none lost, whatever is killed, stopped or restarted meanwhile."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from itertools import count
from pathlib import Path

from kron.engine.actions import SUPERSEDED
from kron.logs.replay import Replay
from tests.cluster.api import Object, RefusedError
from tests.cluster.controlplane import ControlPlane
from tests.cluster.judge import Verdict
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.operator import Operator
from tests.cluster.outcomes import are_looked_at
from tests.logbook import wait_for
from tests.moment import wait_until
from tests.soak import SOAK

UNANSWERED = (RefusedError, OSError, HTTPException)
"""What our own requests may meet: the API server was killed a moment ago."""
ROUNDS = 12 * SOAK
LEASE_S = 3
LEAST_S = 30
"""It lasts so long at least: half of the KronJobs are due meanwhile, whenever it begins."""
SPREAD = "* * * * * @win(after,1m)"
STEADY = {f"steady-{n}": f"{SPREAD} @policy(concurrency=allow,deadline=10m)" for n in range(30)}
STRICT = {f"strict-{n}": f"{SPREAD} @policy(concurrency=allow)" for n in range(10)}
BUSY = {
    f"{policy}-{n}": f"{SPREAD} @policy(concurrency={policy},deadline=10m)"
    for policy in ("forbid", "replace")
    for n in range(6)
}
EDITED = {f"edited-{n}": f"{SPREAD} @policy(deadline=10m)" for n in range(6)}


class Replicas:
    """Two operators. One that was killed is followed by another, of another name."""

    def __init__(self, cluster: ControlPlane, namespace: str, directory: Path) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._directory = directory
        self._numbers = count()
        self.everybody: list[Operator] = []
        self.living: list[Operator] = [self._launch(), self._launch()]

    def _launch(self) -> Operator:
        identity = f"r{next(self._numbers)}"
        operator = Operator(self._cluster, self._namespace, self._directory, identity=identity)
        self.everybody.append(operator)
        return operator.launch("--lease-duration", f"{LEASE_S}s")

    def leader(self) -> Operator:
        """Wait until one of them holds the lease: that one."""
        return wait_for(self._holder, "somebody leads", 60.0)

    def _holder(self) -> Operator | None:
        holder = ""
        with suppress(*UNANSWERED):
            holder = self.living[0].holder()
        return next((each for each in self.living if each.identity == holder), None)

    def kill(self, operator: Operator) -> None:
        """SIGKILL, and another one."""
        operator.kill()
        self.living.remove(operator)
        self.living.append(self._launch())

    def close(self) -> None:
        """End all of them."""
        for operator in self.everybody:
            operator.kill()


class Chaos:
    """What can happen, each as a method that returns when it is over."""

    def __init__(
        self, cluster: ControlPlane, kronjobs: KronJobs, replicas: Replicas, chance: random.Random
    ) -> None:
        self._cluster = cluster
        self._kronjobs = kronjobs
        self._replicas = replicas
        self._chance = chance

    def kill_leader(self) -> None:
        """Whoever leads is killed at some moment."""
        leader = self._replicas.leader()
        time.sleep(self._chance.random() * 1.5)
        self._replicas.kill(leader)

    def kill_both(self) -> None:
        """Everybody is killed."""
        for operator in list(self._replicas.living):
            self._replicas.kill(operator)

    def split(self) -> None:
        """The leader is stopped until another leads, and then goes on where it was."""
        leader = self._replicas.leader()
        leader.pause()
        time.sleep(LEASE_S + 1 + self._chance.random())
        leader.resume()

    def restart_api(self) -> None:
        """The API server is killed and comes back."""
        self._cluster.stop_api()
        time.sleep(self._chance.random())
        self._cluster.start_api()

    def restart_etcd(self) -> None:
        """etcd is killed and comes back."""
        self._cluster.stop_etcd()
        time.sleep(self._chance.random())
        self._cluster.start_etcd()

    def edit(self) -> None:
        """Some KronJobs are edited, suspended or resumed."""
        for name, schedule in EDITED.items():
            with suppress(*UNANSWERED):
                self._edit(name, schedule)

    def _edit(self, name: str, schedule: str) -> None:
        what = self._chance.choice(("salt", "suspend", "resume", "nothing"))
        if what == "salt":
            salt = f"@seed(stable,salt=s{self._chance.randrange(1000)})"
            self._kronjobs.change(name, schedule=f"{schedule} {salt}")
        elif what != "nothing":
            suspend = "true" if what == "suspend" else "false"
            text = schedule.replace("deadline=10m", f"deadline=10m,suspend={suspend}")
            self._kronjobs.change(name, schedule=text)

    def round(self) -> None:
        """One of them, at some moment."""
        time.sleep(self._chance.random() * 1.5)
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.kill_leader, 5),
            (self.kill_both, 2),
            (self.split, 2),
            (self.restart_api, 2),
            (self.restart_etcd, 1),
            (self.edit, 3),
        ]
        actions, weights = zip(*kinds, strict=True)
        self._chance.choices(actions, weights)[0]()


def test_at_most_one_and_none_lost(own_cluster: ControlPlane, tmp_path: Path) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    namespace = "chaos"
    api = own_cluster.api()
    api.create("namespaces", None, {"metadata": {"name": namespace}})
    kronjobs = KronJobs(api, namespace)
    quick, slow = job_template(runs_for="0"), job_template(runs_for="70")
    for schedules, template in ((STEADY, quick), (STRICT, quick), (BUSY, slow), (EDITED, quick)):
        for name, schedule in schedules.items():
            kronjobs.make(name, schedule, template=template, successfulJobsHistoryLimit=1)
    replicas = Replicas(own_cluster, namespace, tmp_path / "operators")
    try:
        wait_for(lambda: all("status" in obj for obj in _all(kronjobs)), "all are seen", 60.0)
        began_s = time.time()
        chaos = Chaos(own_cluster, kronjobs, replicas, random.Random(seed))
        for _ in range(ROUNDS):
            chaos.round()
        wait_until(began_s + LEAST_S)
        until_s = int(time.time())
        wait_for(lambda: _all_looked_at(kronjobs, until_s), "everything due is dealt with", 120.0)
    finally:
        replicas.close()
    verdict = Verdict(own_cluster.audit(), namespace)
    verdict.check_at_most_one()
    verdict.check_one_outcome()
    unedited = [obj for obj in _all(kronjobs) if obj["metadata"]["name"] not in EDITED]
    ended = verdict.check_all_ended(unedited, until_s)
    superseded = _superseded(replicas)
    lost = [
        (name, period)
        for (name, period), ran in ended.items()
        if name in STEADY and not ran and (name, period) not in superseded
    ]
    assert lost == []
    assert sum(ran for (name, _), ran in ended.items() if name in STEADY) > ROUNDS // 4
    for operator in replicas.everybody:
        if operator.output.exists():
            with operator.output.open("rb") as log:
                assert list(Replay(log)) == []


def _all(kronjobs: KronJobs) -> list[Object]:
    return kronjobs.api.list("kronjobs", kronjobs.namespace)


def _all_looked_at(kronjobs: KronJobs, until_s: int) -> bool:
    with suppress(*UNANSWERED):
        return are_looked_at(kronjobs, until_s)
    return False


def _superseded(replicas: Replicas) -> set[tuple[str, str]]:
    """The periods that were missed because a later one was overdue as well."""
    return {
        (record["name"], record["period"])
        for operator in replicas.everybody
        if operator.output.exists()
        for record in operator.events("missed_deadline")
        if record["reason"] == SUPERSEDED
    }
