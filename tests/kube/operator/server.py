"""An API server in memory, for what a real one cannot be made to do at will: to report two changes
at once, to answer after its watch has reported, to come back with an older storage.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from itertools import chain
from typing import Any, TypeVar, cast

from kron.kube.client.client import Client
from kron.kube.client.errors import SILENT, ApiError, no_answer
from kron.kube.client.resources import Resource
from kron.kube.client.server_clock import ServerClock
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.operator import Operator
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.kronjob import read_kronjob
from kron.logs.journal import Journal
from kron.testing.clock import FakeClock
from kron.testing.loop import FakeTimer, VirtualLoop
from tests.kube.client.server import until

Object = dict[str, Any]
Value = TypeVar("Value")
NAMESPACE = "ns"
NOW = "2026-11-16T12:00:20Z"
MOST_S = 600
"""For a test that waits in vain."""
CONFLICT = ApiError(409, "it has changed", reason="Conflict")
PAGE = ApiError(404, "<h1>default backend</h1>")
"""A load balancer's answer: it says nothing about the object."""


def kronjob(name: str = "a", **spec: Any) -> Object:
    """A KronJob with a period each minute, which nobody has seen yet."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "run", "image": "none"}]}
    return {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"namespace": NAMESPACE, "name": name, "uid": f"u-{name}", "generation": 1},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
            **spec,
        },
    }


def seen(obj: Object, **more: Any) -> Object:
    """One that was first seen long ago, so that a run is owed if it has a deadline.

    `more` are further fields of its ledger.
    """
    first = {"schema": 1, "schedule": read_kronjob(obj).job.text, "since": "2026-01-01T00:00:00Z"}
    return obj | {"status": {"ledger": first | {"handled": [], "starting": []} | more}}


def copied(obj: Value) -> Value:
    """Another one of equal parts; for JSON values, several times as quick as `deepcopy`."""
    return cast("Value", pickle.loads(pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)))


class Server:
    """Objects, versions and watches, and hooks where a test wants to step in."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, dict[str, Object]] = {
            "kronjobs": {},
            "jobs": {},
            "leases": {},
            "events": {},
        }
        self.requests: list[tuple[str, str, str]] = []
        self.on_create_job: Callable[[Object], Coroutine[Any, Any, None]] | None = None
        self.on_dry_run: Callable[[Object], Coroutine[Any, Any, None]] | None = None
        self.on_job_made: Callable[[Object], Coroutine[Any, Any, None]] | None = None
        self.stays: frozenset[str] = frozenset()
        """The names of Jobs that are there still when their deletion was answered."""
        self.on_patch: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.refusals: dict[tuple[str, str], list[ApiError]] = {}
        """The next answers to a verb on a plural, instead of what was asked for."""
        self._watches: dict[str, list[asyncio.Queue[tuple[str, Object] | None]]] = {
            "kronjobs": [],
            "jobs": [],
            "leases": [],
        }

    # What tests do

    def put(self, plural: str, obj: Object) -> Object:
        """Store an object, and tell the watches."""
        return self._store(plural, copied(obj))

    def edit(self, name: str, **spec: Any) -> None:
        """Change fields of a KronJob's spec."""
        obj = copied(self.objects["kronjobs"][name])
        obj["spec"] |= spec
        obj["metadata"]["generation"] += 1
        self.put("kronjobs", obj)

    def remove(self, plural: str, name: str) -> None:
        """Delete an object, and tell the watches."""
        obj = self.objects[plural].pop(name)
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self._tell(plural, "DELETED", obj)

    def cut_watches(self) -> None:
        """Let every watch end, so that everything is listed again."""
        for queue in chain(*self._watches.values()):
            queue.put_nowait(None)

    def forget_watches(self) -> None:
        """Whoever watched is no more."""
        for queues in self._watches.values():
            queues.clear()

    def status(self, name: str = "a") -> Object:
        """The status that is stored of a KronJob, {} if there is none."""
        status: Object = self.objects["kronjobs"][name].get("status", {})
        return status

    def asked(self, verb: str, plural: str) -> list[str]:
        """The names of the objects for which this was asked."""
        return [name for each, of, name in self.requests if (each, of) == (verb, plural)]

    # What a client sees

    async def pages(
        self, resource: Resource, *_: object, **__: object
    ) -> AsyncIterator[tuple[list[Object], str]]:
        await self._asked("list", resource)
        yield copied(list(self.objects[resource.plural].values())), str(self.version)

    async def events(
        self, resource: Resource, *_: object, **__: object
    ) -> AsyncIterator[tuple[str, Object]]:
        queue: asyncio.Queue[tuple[str, Object] | None] = asyncio.Queue()
        self._watches[resource.plural].append(queue)
        while (told := await queue.get()) is not None:
            yield told  # what is there already comes without a pause, as the lines of a chunk do
        raise no_answer("watch", "it was cut", reason=SILENT, is_sent=False)

    async def get(self, resource: Resource, _: str, name: str, **__: object) -> Object:
        await self._asked("get", resource, name)
        return copied(self._find(resource, name))

    async def create(self, resource: Resource, _: str, body: Object, **__: object) -> Object:
        obj: Object = json.loads(json.dumps(body))
        name = obj["metadata"].setdefault("name", f"event-{self.version}")
        await self._asked("create", resource, name)
        if resource.plural == "jobs" and self.on_create_job:
            await self.on_create_job(obj)
        if name in self.objects[resource.plural]:
            raise ApiError(409, "it is there", reason="AlreadyExists")
        obj["metadata"]["uid"] = f"uid-{self.version}"
        made = self._store(resource.plural, obj)
        if resource.plural == "jobs" and self.on_job_made:
            await self.on_job_made(made)
        return made

    async def dry_run(self, resource: Resource, _: str, body: Object, **__: object) -> None:
        await self._asked("dry-run", resource, body["metadata"]["name"])
        if self.on_dry_run:
            await self.on_dry_run(json.loads(json.dumps(body)))

    async def replace(
        self, resource: Resource, _: str, name: str, body: Object, **__: object
    ) -> Object:
        await self._asked("update", resource, name)
        self._check(self._find(resource, name), body["metadata"])
        return self.put(resource.plural, body)

    async def patch(
        self, resource: Resource, _: str, name: str, body: Object, **__: object
    ) -> Object:
        await self._asked("patch", resource, name)
        if self.on_patch:
            await self.on_patch()
        change = json.loads(json.dumps(body))
        obj = copied(self._find(resource, name))
        self._check(obj, change["metadata"])
        if resource.plural == "jobs":  # a run is fenced off
            obj["metadata"].setdefault("annotations", {}).update(change["metadata"]["annotations"])
            obj["spec"] |= change["spec"]
            return self._store(resource.plural, obj)
        # A merge patch: what is null goes.
        status = obj.get("status", {}) | change["status"]
        obj["status"] = {key: value for key, value in status.items() if value is not None}
        return self._store(resource.plural, obj)

    async def delete(
        self, resource: Resource, _: str, name: str, *, uid: str = "", **__: object
    ) -> None:
        await self._asked("delete", resource, name)
        self._check(self._find(resource, name), {"uid": uid})
        if name not in self.stays:
            self.remove(resource.plural, name)

    async def _asked(self, verb: str, resource: Resource, name: str = "") -> None:
        self.requests.append((verb, resource.plural, name))
        await asyncio.sleep(0)
        if refusals := self.refusals.get((verb, resource.plural)):
            raise refusals.pop(0)

    def _check(self, obj: Object, wanted: Object) -> None:
        """Refuse a change of another object, or of another version, than the one that is meant."""
        for key in ("uid", "resourceVersion"):
            if wanted.get(key) and wanted[key] != obj["metadata"][key]:
                raise CONFLICT

    def _store(self, plural: str, obj: Object) -> Object:
        """`put` an object that nobody else has."""
        name = obj["metadata"]["name"]
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        kind = "MODIFIED" if name in self.objects[plural] else "ADDED"
        self.objects[plural][name] = obj
        self._tell(plural, kind, obj)
        return copied(obj)

    def _find(self, resource: Resource, name: str) -> Object:
        try:
            return self.objects[resource.plural][name]
        except KeyError:
            raise ApiError(404, "it is not there", reason="NotFound") from None

    def _tell(self, plural: str, kind: str, obj: Object) -> None:
        for queue in self._watches.get(plural, ()):
            queue.put_nowait((kind, copied(obj)))


class Replica:
    """An operator that works on such a server, from `start` to `stop`."""

    def __init__(
        self, server: Server, *, log: str = "/dev/null", identity: str = "me", **settings: Any
    ) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)  # see `play`
        self.clock = loop.clock
        timer = FakeTimer(loop.clock)
        loop.timers.append(timer)
        self.metrics = Metrics()
        self.operator = Operator(
            OperatorSettings(identity=identity, lease_namespace="kron", **settings),
            cast("Client", server),
            Journal(self.clock, path=log),
            self.metrics,
            self.clock,
            timer,
            ServerClock(self.clock),
        )
        self.server = server
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Run until it leads."""
        self.task = asyncio.create_task(self.operator.run())
        await until(lambda: self.operator._enrolment.takes_up)

    async def stop(self) -> None:
        """It must have gone on until now."""
        assert self.task is not None
        assert not self.task.done(), self.task
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        self.server.objects["leases"].clear()
        self.server.forget_watches()

    def member(self, name: str = "a") -> ClusterMember:
        """What it knows of a KronJob."""
        member = self.operator._roster.get((NAMESPACE, name))
        assert member is not None
        return member


def play(test: Callable[[Server], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a new server, in virtual time: no sleep takes any."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(FakeClock(NOW))) as runner:
        runner.run(asyncio.wait_for(test(Server()), MOST_S))
