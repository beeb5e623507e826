"""The status writer: one write for whatever has changed, none for what has not, and nothing lost.

The API server is a few lines here: a conflict has to come at a certain moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.status_writer import StatusWriter
from kron.logs.journal import Journal
from kron.testing.clock import FakeClock
from tests.kube.operator.made import HOUR_S, T0, ended, ledger, member

CONFLICT = ApiError(409, "the object has been modified", reason="Conflict")


class Server:
    """Refuses the first writes as it is given, and accepts the others."""

    def __init__(self, *answers: ApiError) -> None:
        self.answers = list(answers)
        self.written: list[dict[str, Any]] = []
        self.read = 0
        self.version = 100

    async def patch(
        self, _: object, namespace: str, name: str, body: dict[str, Any], **__: object
    ) -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.answers:
            raise self.answers.pop(0)
        self.written.append(body)
        self.version += 1
        return self._object()

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        self.read += 1
        return self._object()

    def _object(self) -> dict[str, Any]:
        metadata = {"namespace": "ns", "name": "report", "uid": "u1", "generation": 1}
        return {"metadata": metadata | {"resourceVersion": str(self.version)}}


class Bench:
    """A status writer, its server, and what it has told."""

    def __init__(self, *answers: ApiError) -> None:
        clock = FakeClock("2026-03-01T00:00:00Z")
        self.server = Server(*answers)
        self.seen: list[dict[str, Any]] = []
        self.stored: list[ClusterMember] = []
        self.may_act = True
        self.status_writer = StatusWriter(
            cast("Client", self.server),
            Journal(clock, path="/dev/null"),
            clock,
            lambda: self.may_act,
            self.seen.append,
            self.stored.append,
        )

    def run(self, test: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def all_of_it() -> None:
            task = asyncio.create_task(self.status_writer.run())
            await test()
            task.cancel()

        asyncio.run(all_of_it())

    async def rest(self) -> None:
        """Let it work until there is nothing more to do at once."""
        for _ in range(50):
            await asyncio.sleep(0)


def test_what_has_changed_is_written_once_and_what_has_not_is_not() -> None:
    bench, made = Bench(), member(known=ledger(through_s=T0))

    async def test() -> None:
        for _ in range(5):
            bench.status_writer.touch(made)
        await bench.rest()
        bench.status_writer.touch(made)
        await bench.rest()

    bench.run(test)
    (body,) = bench.server.written
    assert body["metadata"] == {"resourceVersion": "100", "uid": "u1"}
    assert body["status"]["ledger"]["handledThrough"] == "2026-03-01T00:00:00Z"
    assert made.metadata.resource_version == "101", "the next write names the new version"
    assert bench.stored == [made, made]


def test_a_conflict_reads_the_kronjob_again_and_the_write_is_made() -> None:
    bench, made = Bench(CONFLICT), member(known=ledger())

    async def test() -> None:
        bench.status_writer.touch(made)
        await bench.rest()

    bench.run(test)
    assert (bench.server.read, len(bench.seen), len(bench.server.written)) == (1, 1, 1)


def test_while_a_job_waits_for_its_first_try_statuses_wait() -> None:
    bench, made = Bench(), member(known=ledger())

    async def test() -> None:
        bench.status_writer.hold()
        bench.status_writer.hold()
        bench.status_writer.touch(made)
        await bench.rest()
        bench.status_writer.let_go()
        await bench.rest()
        assert bench.server.written == []
        assert not bench.status_writer.is_idle.is_set()
        bench.status_writer.let_go()
        await bench.rest()
        assert len(bench.server.written) == 1

    bench.run(test)


def test_what_changes_while_a_write_is_under_way_is_written_after_it() -> None:
    bench, made = Bench(), member(known=ledger())

    async def test() -> None:
        bench.status_writer.touch(made)
        await asyncio.sleep(0)
        made.load(ledger(through_s=T0 + HOUR_S, last=ended(T0 + HOUR_S)))
        bench.status_writer.touch(made)
        await bench.rest()

    bench.run(test)
    outcomes = [body["status"]["lastOutcome"] for body in bench.server.written]
    assert outcomes[-1] == "executed"
    assert made.stored.ledger == made.ledger


def test_one_that_is_gone_is_written_no_more_even_if_another_has_its_name() -> None:
    """The other's uid would make every write a conflict, for ever."""
    bench, made = Bench(*[CONFLICT] * 1_000), member(known=ledger())

    async def test() -> None:
        bench.status_writer.touch(made)
        await asyncio.sleep(0)
        made.is_gone = True
        bench.status_writer.forget(made)
        await bench.rest()

    bench.run(test)
    assert bench.server.read <= 1
    assert bench.status_writer.waiting() == 0


def test_without_the_lease_nothing_is_written() -> None:
    bench, made = Bench(), member(known=ledger())
    bench.may_act = False

    async def test() -> None:
        bench.status_writer.touch(made)
        await bench.rest()

    bench.run(test)
    assert bench.server.written == []


def test_before_another_leads_nothing_waits_that_could_be_written() -> None:
    """Nor what comes meanwhile, such as the end of a Job: else the next leader lists everything."""
    bench, kept, finished = Bench(), member(known=ledger()), member(known=ledger())

    async def test() -> None:
        await bench.rest()
        bench.status_writer.keep_back(kept)
        bench.status_writer.touch(kept)
        await bench.rest()
        assert bench.server.written == []
        bench.status_writer.hurry()
        bench.status_writer.touch(finished, 3600.0)
        bench.status_writer.keep_back(finished)
        await bench.rest()
        assert bench.status_writer.waiting() == 0
        assert len(bench.server.written) == 2

    bench.run(test)
