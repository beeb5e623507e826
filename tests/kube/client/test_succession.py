"""From one leader to the next: what it leaves behind, and how the next one hears of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kron.kube.api_object import Object
from kron.kube.client.election import Election, Predecessor
from kron.kube.client.lease import Holder, Lease
from kron.testing.clock import FakeClock
from tests.kube.client.leases import LeaseServer
from tests.kube.client.server import run, until

NOW = "2026-03-01T00:00:00Z"
NOW_S = 1_772_323_200
MARK = {"kronjobs": {"*": "7"}}


class Replica:
    """An election with everything that a successor needs."""

    def __init__(self, client: Any, name: str, clock: FakeClock, **options: Any) -> None:
        self.predecessors: list[Predecessor | None] = []
        self.troubles: list[str] = []
        self.why_not = ""
        self.mark: dict[str, Any] | None = None
        self.dead = asyncio.Event()
        self.watched_over: list[tuple[str, str]] = []
        self.election = Election(
            *(client, "ns", "lease", Holder(name, f"{name}-1", f"{name}:80")),
            clock=clock,
            retry_s=options.pop("retry_s", 30),
            renew_s=0.02,
            observe=lambda _: None,
            observe_trouble=self.troubles.append,
            why_not=lambda: self.why_not,
            handover=lambda: self.mark,
            vigil=self._keep_vigil,
            **options,
        )
        self.task = asyncio.ensure_future(self.election.run(self._lead))

    async def _lead(self, predecessor: Predecessor | None) -> None:
        self.predecessors.append(predecessor)
        await asyncio.Event().wait()

    async def _keep_vigil(self, peer: str, instance: str) -> None:
        self.watched_over.append((peer, instance))
        await self.dead.wait()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def test_the_first_leader_has_no_predecessor_and_the_next_gets_its_mark_at_once() -> None:
    """The lease is watched: with 30 s between two looks, a poll would take too long."""

    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        server.is_watched = True
        async with server, server.client() as client:
            one = Replica(client, "one", clock)
            await until(lambda: one.predecessors == [None])
            two = Replica(client, "two", clock)
            await until(lambda: bool(two.watched_over))
            assert two.watched_over == [("one:80", "one-1")]
            one.mark = MARK
            await one.stop()
            await until(lambda: bool(two.predecessors))
            [predecessor] = two.predecessors
            assert predecessor is not None
            assert predecessor.handover is not None
            assert predecessor.handover["kronjobs"] == {"*": "7"}
            assert predecessor.last_word_s == NOW_S
            assert "kron.io/handover" not in server.lease["metadata"]["annotations"]  # type: ignore[index]
            await two.stop()

    run(test())


def test_a_leader_that_is_certainly_dead_is_replaced_before_its_lease_runs_out() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        server.is_watched = True
        name: Object = {"metadata": {"namespace": "ns", "name": "lease"}}
        server.store(Lease(name).held(Holder("one", "one-1", "one:80"), 15, NOW_S * 10**9))
        async with server, server.client() as client:
            two = Replica(client, "two", clock)
            await until(lambda: bool(two.watched_over))
            clock.advance(3)
            two.dead.set()
            await until(lambda: bool(two.predecessors))
            [predecessor] = two.predecessors
            assert predecessor is not None
            assert predecessor.handover is None
            assert predecessor.silent_s == 3
            assert server.holder == "two"
            await two.stop()

    run(test())


def test_a_leader_that_took_another_for_dead_steps_down_when_that_one_renews() -> None:
    """Whatever it believed: else both would take the lease from each other, and lead on."""

    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        server.is_watched = True
        name: Object = {"metadata": {"namespace": "ns", "name": "lease"}}
        of_one = Lease(name).held(Holder("one", "one-1", "one:80"), 15, NOW_S * 10**9)
        server.store(of_one)
        async with server, server.client() as client:
            two = Replica(client, "two", clock, retry_s=0.02)
            await until(lambda: bool(two.watched_over))
            two.dead.set()
            await until(lambda: server.holder == "two")
            two.dead.clear()
            assert server.lease is not None
            of_one["metadata"] |= {"resourceVersion": str(server.version)}
            server.store(of_one)
            await until(lambda: not two.election.may_act())
            await asyncio.sleep(0.2)
            assert server.holder == "one", "it waits for the lease, or for another death"
            await two.stop()

    run(test())


def test_the_process_of_another_holder_is_not_the_holders() -> None:
    """An operator that knows nothing of instances leaves that of the one before."""
    lease = Lease({}).held(Holder("one", "one-1", "one:80"), 15, 0)
    taken = Lease({**lease, "spec": {**lease["spec"], "holderIdentity": "old"}})
    assert (taken.instance, taken.peer) == ("", "")


def test_a_replica_that_must_not_lead_gives_the_lease_back_and_waits() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        async with server, server.client() as client:
            one = Replica(client, "one", clock, retry_s=0.02)
            await until(lambda: one.predecessors == [None])
            one.why_not = "the clock is wrong"
            await until(lambda: server.holder == "")
            assert not one.election.may_act()
            await asyncio.sleep(0.1)
            assert server.holder == ""
            assert one.troubles == ["the clock is wrong"], "once"
            one.why_not = ""
            await until(lambda: len(one.predecessors) == 2)
            await one.stop()

    run(test())


def test_a_process_that_is_started_again_takes_up_its_own_lease() -> None:
    async def test() -> None:
        spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026"}
        server = LeaseServer(spec)
        async with server, server.client() as client:
            one = Replica(client, "one", FakeClock(NOW))
            await until(lambda: bool(one.predecessors))
            assert one.predecessors[0] is not None, "an earlier process led, and did not end well"
            await one.stop()

    run(test())


def test_of_two_processes_with_one_identity_one_leads_and_the_other_says_so() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        async with server, server.client() as client:
            one = Replica(client, "same", clock, retry_s=0.02)
            await until(lambda: one.predecessors == [None])
            two = Replica(client, "same", clock, retry_s=0.02)
            two.election._holder = Holder("same", "same-2", "same:81")
            await until(lambda: bool(two.predecessors))
            await until(lambda: not one.election.may_act())
            await asyncio.sleep(0.2)
            assert two.election.may_act()
            assert not one.election.may_act()
            assert any("another process has the identity same" in said for said in one.troubles)
            await one.stop()
            assert server.holder == "same", "it gives back only what is its own"
            await two.stop()
            assert server.holder == ""

    run(test())


def test_a_trouble_counts_when_it_has_lasted_as_long_as_a_lease() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        server.is_gone = True
        async with server, server.client() as client:
            one = Replica(client, "one", clock, retry_s=0.02)
            await until(lambda: bool(one.troubles))
            assert "HTTP 503" in one.election.trouble, "at once if it never was well"
            server.is_gone = False
            await until(lambda: bool(one.predecessors))
            assert one.election.trouble == ""
            server.is_gone = True
            clock.advance(11)
            await until(lambda: len(one.troubles) > 1 and not one.election.may_act())
            assert one.election.trouble == ""
            clock.advance(16)
            assert "HTTP 503" in one.election.trouble
            await one.stop()

    run(test())


@pytest.mark.parametrize(
    "annotation",
    ["", "{", "[]", '{"kronjobs":{}}', '{"at":"2026-03-01T00:00:00.000001Z"}', "\ud800"],
)
def test_a_mark_that_is_not_of_the_last_holder_counts_for_nothing(annotation: str) -> None:
    """An operator that knows nothing of marks may have led since: it leaves them as they are."""
    spec = {"holderIdentity": "", "renewTime": "2026-03-01T00:00:00.000000Z"}
    metadata = {"annotations": {"kron.io/handover": annotation}}
    assert Lease({"metadata": metadata, "spec": spec}).handover is None


def test_a_mark_is_its_own_inverse_and_goes_when_the_lease_is_held() -> None:
    given_back = Lease(Lease({}).given_back(5 * 10**9, MARK))
    assert given_back.handover == MARK | {"at": "1970-01-01T00:00:05.000000Z"}
    held = Lease(given_back.held(Holder("one", "one-1", "one:80"), 15, 6 * 10**9))
    assert (held.handover, held.instance, held.peer) == (None, "one-1", "one:80")
    assert Lease(held.given_back(7 * 10**9, None)).handover is None
