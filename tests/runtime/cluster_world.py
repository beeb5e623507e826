"""kron-operator for the simulation: whole replicas on an API server in memory, in virtual time.

A replica that has crashed is cut off: nothing that it still asks for arrives. What it had sent
before may arrive later all the same, and so may an answer be lost.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar, cast

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.engine.ledger import Ledger
from kron.kube.client.client import Client
from kron.kube.client.errors import SILENT, ApiError, no_answer
from kron.kube.client.resources import Resource
from kron.kube.client.server_clock import ServerClock
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.operator import Operator
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.run import read_run
from kron.kube.resource.status import status_from_json
from kron.testing.life import SLOW_S, Fault, FaultKind, Forget, Life, Remove, Trigger
from kron.testing.loop import FakeTimer, VirtualLoop
from kron.testing.world import REFUSED, SLACK_S, Began, Crash, Effects, World
from tests.kube.operator.server import Object, Server, kronjob
from tests.runtime.said import SilentJournal

LEASE_S = 60
"""Longer than people have it, so that fewer of the steps of a life renew the lease."""
RENEW_S = 20
"""And less often; even so, only a leader that stands still for 60 seconds loses it."""
LATE_S = (3.0, 23.0, 100.0)
"""How late a request may arrive: after the try that follows it, after its period was given up,
after its Job has finished and the next leader has begun; but within the network's delay."""


Answer = TypeVar("Answer")


def unavailable() -> ApiError:
    """An answer that may be another one soon."""
    return ApiError(503, "not now", reason="ServiceUnavailable")


class CutOffError(ApiError):
    """The replica is gone, though it does not know."""


class Line:
    """The connection of one replica to the API server, with its faults."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self.is_cut = False

    async def pages(
        self, resource: Resource, *_: object, **__: object
    ) -> AsyncIterator[tuple[list[Object], str]]:
        self._check()
        async for page in self._world.server.pages(resource):
            yield page

    async def events(
        self, resource: Resource, *_: object, **__: object
    ) -> AsyncIterator[tuple[str, Object]]:
        self._check()
        async for told in self._world.server.events(resource):
            self._check()
            yield told

    async def get(self, resource: Resource, namespace: str, name: str, **__: object) -> Object:
        self._check()
        return await self._world.server.get(resource, namespace, name)

    async def create(
        self, resource: Resource, namespace: str, body: Object, **options: Any
    ) -> Object:
        world = self._world
        if resource.plural == "events":
            raise unavailable()  # people's, and nothing that the operator relies on
        if resource.plural == "leases":
            self._check()
            return await world.server.create(resource, namespace, body)
        self._check()
        if world.fails(FaultKind.START_FAILS):
            raise unavailable()
        is_fence = "kron.io/fence" in body["metadata"]["annotations"]
        if world.fails(FaultKind.START_REFUSED) and not is_fence:
            raise ApiError(422, REFUSED, reason="Invalid")
        if world.fails(FaultKind.ARRIVES_LATE):
            world.arrive_later(lambda: world.server.create(resource, namespace, body))
            world.effect_happened()  # it was sent, whatever becomes of the sender
            self._check()
            await asyncio.sleep(options["timeout_s"])
            raise no_answer("create jobs", "no answer", reason=SILENT, is_sent=True)
        return await self._change(
            lambda: world.server.create(resource, namespace, body), options.get("timeout_s", 5.0)
        )

    async def dry_run(self, *_: object, **__: object) -> None:
        self._check()

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: Object, **__: object
    ) -> Object:
        self._check()
        return await self._world.server.replace(resource, namespace, name, body)

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Object, **__: object
    ) -> Object:
        self._check()
        if self._world.fails(FaultKind.STORE_FAILS):
            raise unavailable()
        if self._world.fails(FaultKind.STORE_SLOW):
            await asyncio.sleep(SLOW_S)
        return await self._change(
            lambda: self._world.server.patch(resource, namespace, name, body), 5.0
        )

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", propagation: str = ""
    ) -> None:
        self._check()
        if propagation == "Background":  # not of one that is replaced, and ends in that moment
            self._world.check_recorded(name)
        await self._change(
            lambda: self._world.server.delete(resource, namespace, name, uid=uid), 5.0
        )

    async def _change(
        self, change: Callable[[], Coroutine[Any, Any, Answer]], timeout_s: float
    ) -> Answer:
        world = self._world
        answer = await change()
        world.effect_happened()
        self._check()
        if world.fails(FaultKind.ANSWER_LOST):
            await asyncio.sleep(timeout_s)
            raise no_answer("change", "no answer", reason=SILENT, is_sent=True)
        return answer

    def _check(self) -> None:
        if self.is_cut:
            raise CutOffError(0, "nobody is there")


class ClusterServer(Server):
    """The API server, with something that lets Jobs run and finish."""

    def __init__(self, world: ClusterWorld) -> None:
        super().__init__()
        self._world = world

    def _store(self, plural: str, obj: Object) -> Object:
        is_new = plural == "jobs" and obj["metadata"]["name"] not in self.objects["jobs"]
        made = super()._store(plural, obj)
        if is_new:
            self._world.job_began(made)
        return made

    async def _asked(self, verb: str, resource: Resource, name: str = "") -> None:
        await asyncio.sleep(0)


class Replica:
    """One operator, and what it has open."""

    def __init__(self, world: ClusterWorld, identity: str, lease: str) -> None:
        self.line = Line(world)
        self.timer = FakeTimer(world.clock)
        journal = SilentJournal(
            world.clock, world.seen, world.effect_happened, lambda: self.line.is_cut
        )
        world.loop.timers.append(self.timer)
        settings = OperatorSettings(
            identity=identity,
            lease_namespace="kron",
            lease_name=lease,
            lease_duration_s=LEASE_S,
            slack_s=SLACK_S,
            peer="somewhere:80",
        )
        operator = Operator(
            settings,
            cast("Client", self.line),
            journal,
            Metrics(),
            world.clock,
            self.timer,
            ServerClock(world.clock),
            world.outlive,
        )
        self._election = operator._election
        self._election._renew_s = RENEW_S
        self.instance = operator.instance
        world.living.add(self.instance)
        self.task = world.loop.create_task(operator.run())

    def end(self, world: ClusterWorld) -> None:
        """Cut it off, and let what is left of it come to its end unheard."""
        self.line.is_cut = True
        self._election._held_until_ns = None  # it would wait for answers that never come
        world.living.discard(self.instance)
        self.task.cancel()
        self.task.add_done_callback(lambda _: world.loop.stop())
        while not self.task.done():
            world.loop.live_until(world.clock.monotonic_ns() + SECOND_NS)
        if not self.task.cancelled():
            self.task.result()
            raise AssertionError("an operator does not end by itself")
        world.loop.timers.remove(self.timer)
        self.timer.close()


class ClusterWorld(World):
    """A cluster with an operator, and at times with two that both lead."""

    never_happens = (Remove, Trigger, Forget)

    def __init__(self, life: Life, effects: Effects) -> None:
        random.seed(life.seed)  # the operator's jitter
        super().__init__(life, effects)
        self.loop = VirtualLoop(self.clock)
        self.server = ClusterServer(self)
        self._later: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = count()
        self._replicas: list[Replica] = []
        self._has_crashed = False
        self.living: set[str] = set()
        """The instances of the replicas that have not crashed."""
        self._late_s = LATE_S[life.seed % len(LATE_S)]
        kept = life.seed // len(LATE_S) % 2  # a Job that is deleted at once proves nothing
        for job in life.jobs:
            made = kronjob(job.name, schedule=job.schedule, successfulJobsHistoryLimit=kept)
            self.server.put("kronjobs", made)

    # The world, as the simulation sees it

    def boot(self) -> None:
        self._has_crashed = False
        number = next(self._numbers)
        self._replicas.append(Replica(self, f"replica-{number}", "lease"))

    def crash(self) -> None:
        for replica in self._replicas:
            replica.end(self)
        self._replicas.clear()
        self.server.forget_watches()

    def live_until(self, monotonic_ns: int) -> None:
        while not self._has_crashed and self.clock.monotonic_ns() < monotonic_ns:
            self.clock.advance_ns(self.stopped_ns())  # all replicas stand still, not the world
            next_ns = self._later[0][0] if self._later else monotonic_ns
            self.loop.live_until(min(next_ns, monotonic_ns))
            self._pass_time()
            self._check_replicas()
        if self._has_crashed:
            raise Crash

    def write(self, name: str, schedule: str) -> None:
        self.server.edit(name, schedule=schedule)

    def reload(self) -> None:
        """It watches its KronJobs."""

    def lose_power(self) -> None:
        """Its Jobs run on other nodes."""

    def fault(self, fault: Fault) -> None:
        if fault.kind is FaultKind.TWO_LEADERS:
            other = Replica(self, f"other-{next(self._numbers)}", "another lease")
            self._replicas.append(other)
            until_ns = self.clock.monotonic_ns() + fault.lasts_s * SECOND_NS
            self._at(until_ns, lambda: self._end(other))
        else:
            super().fault(fault)

    def identity(self, name: str) -> str:
        return f"ns/{name}"

    def stored(self, name: str) -> Ledger | None:
        return status_from_json(self.server.objects["kronjobs"][name]).ledger

    def close(self) -> None:
        super().close()
        self.loop.close()

    # What the operator meets

    def effect_happened(self) -> None:
        """Something has changed that outlives the operator. A crash cuts everybody off at once."""
        try:
            self.effects.happened()
        except Crash:
            self._has_crashed = True
            for replica in self._replicas:
                replica.line.is_cut = True
            self.loop.stop()

    async def outlive(self, _: str, instance: str) -> None:
        """Wait until a replica is dead, as one that is connected to it sees at once."""
        while instance in self.living:
            await asyncio.sleep(1.0)

    def arrive_later(self, request: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A request is on its way, whatever becomes of who sent it."""

        async def arrive() -> None:
            with suppress(ApiError):
                await request()
                self.effect_happened()

        at_ns = self.clock.monotonic_ns() + round(self._late_s * SECOND_NS)
        self._at(at_ns, lambda: self.loop.create_task(arrive()))

    def job_began(self, job: Object) -> None:
        """A Job was made: it runs, and finishes in its time."""
        run = read_run(job)
        if run.is_fence:
            return
        others = [
            other
            for other in map(read_run, self.server.objects["jobs"].values())
            if other.kronjob == run.kronjob
            and not (other.is_finished or other.is_fence)
            and other.name != run.name
        ]
        chosen_s = run.chosen_s or 0
        self.seen.began.append(
            Began(run.kronjob, from_text(run.period), chosen_s, self.now_s, len(others))
        )
        ends_ns = self.clock.monotonic_ns() + self.takes_s[run.kronjob] * SECOND_NS
        self._at(ends_ns, lambda: self._finish(run.name, run.uid))

    def check_recorded(self, name: str) -> None:
        """A finished Job is deleted only after its result was stored: nothing else has it."""
        job = self.server.objects["jobs"].get(name)
        run = None if job is None else read_run(job)
        if run is not None and run.result is not None:
            status = status_from_json(self.server.objects["kronjobs"][run.kronjob])
            assert status.results.has(run.result), (run, status.results)

    def _finish(self, name: str, uid: str) -> None:
        job = self.server.objects["jobs"].get(name)
        if job is not None and job["metadata"]["uid"] == uid:
            done = {
                "conditions": [{"type": "Complete", "status": "True"}],
                "completionTime": to_text(self.now_s),
            }
            self.server.put("jobs", json.loads(json.dumps(job)) | {"status": done})

    def _end(self, replica: Replica) -> None:
        if replica in self._replicas:
            self._replicas.remove(replica)
            replica.end(self)
            # What it has stored, it may have had no time to announce.
            self.seen.stored.append({name: self.stored(name) for name in self.takes_s})

    def _at(self, monotonic_ns: int, act: Callable[[], object]) -> None:
        heappush(self._later, (monotonic_ns, next(self._numbers), act))
        self.loop.stop()  # so that the sleep is cut short if this comes before its end

    def _pass_time(self) -> None:
        while self._later and self._later[0][0] <= self.clock.monotonic_ns():
            heappop(self._later)[2]()

    def _check_replicas(self) -> None:
        for replica in self._replicas:
            if replica.task.done():
                replica.task.result()
                raise AssertionError("an operator does not end by itself")
