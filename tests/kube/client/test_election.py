"""One leader at a time, by a lease: who leads, until when, and what becomes of the lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kron.kube.client.client import Client
from kron.kube.client.election import Election, Predecessor
from kron.kube.client.lease import Holder, Lease
from kron.testing.clock import FakeClock
from kron.waking.clock import Clock
from tests.kube.client.leases import LeaseServer
from tests.kube.client.server import run, status, until

NOW = "2026-03-01T00:00:00Z"


class Candidate:
    """An election, and what was seen of it."""

    def __init__(self, client: Client, identity: str, clock: Clock, **durations: float) -> None:
        self.told: list[bool] = []
        self.troubles: list[str] = []
        self.predecessors: list[Predecessor | None] = []
        self.is_leading = False
        self.ended_at_s = 0.0
        self.could_act_at_the_end = False
        durations = {
            "duration_s": 15,
            "deadline_s": 10,
            "renew_s": 0.02,
            "retry_s": 0.02,
        } | durations
        self.election = Election(
            client,
            "ns",
            "lease",
            Holder(identity, f"{identity}-1"),
            clock=clock,
            observe=self.told.append,
            observe_trouble=self.troubles.append,
            duration_s=durations["duration_s"],
            deadline_s=durations["deadline_s"],
            renew_s=durations["renew_s"],
            retry_s=durations["retry_s"],
        )
        self.task: asyncio.Task[None] | None = None

    def start(self, lead: Callable[[], Awaitable[None]] | None = None) -> None:
        async def follow(predecessor: Predecessor | None) -> None:
            self.predecessors.append(predecessor)
            await (lead or self.lead)()

        self.task = asyncio.create_task(self.election.run(follow))

    async def lead(self) -> None:
        self.is_leading = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_leading = False
            self.ended_at_s = asyncio.get_running_loop().time()
            self.could_act_at_the_end = self.election.may_act()

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def candidates(
    server: LeaseServer, *identities: str, clock: Clock | None = None, **durations: float
) -> AsyncIterator[list[Candidate]]:
    async with server, server.client() as client:
        made = [
            Candidate(client, identity, clock or FakeClock(NOW), **durations)
            for identity in identities
        ]
        try:
            yield made
        finally:
            for each in made:
                if each.task is not None:
                    await each.stop()


async def looks(server: LeaseServer, count: int) -> None:
    """Wait until this many more requests have come."""
    await server.wait_for_requests(len(server.requests) + count)


def test_without_a_lease_one_is_made_by_the_convention() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: one.is_leading)
            assert one.election.may_act()
            assert one.told == [True]
            assert server.spec == {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-03-01T00:00:00.000000Z",
                "renewTime": "2026-03-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            }

    run(test())


def test_a_leader_renews_and_keeps_when_it_acquired() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await until(lambda: one.is_leading)
            for _ in range(4):
                clock.advance(4)
                version = server.version
                await until(lambda version=version: server.version > version + 1)  # type: ignore[misc]
                assert one.election.may_act()
            assert server.spec["acquireTime"] == "2026-03-01T00:00:00.000000Z"
            assert server.spec["renewTime"] == "2026-03-01T00:00:16.000000Z"
            assert server.spec["leaseTransitions"] == 0
            # A renewal is one request: the lease is not read before it is written.
            assert [request.method for request in server.requests[3:]] == ["PUT"] * (
                len(server.requests) - 3
            )

    run(test())


def test_of_many_candidates_one_leads() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, *"abcdefgh") as all_of_them:
            for each in all_of_them:
                each.start()
            await looks(server, 60)
            assert [each.is_leading for each in all_of_them].count(True) == 1
            assert [each.election.may_act() for each in all_of_them].count(True) == 1

    run(test())


def test_a_lease_given_back_is_taken_at_once_and_the_transition_is_counted() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one", "two") as [one, two]:
            one.start()
            await until(lambda: one.is_leading)
            two.start()
            await looks(server, 4)
            assert not two.is_leading
            server.changed.clear()
            await one.stop()
            assert one.task is not None
            assert one.task.cancelled()
            assert one.told == [True, False]
            assert not one.election.may_act()
            await until(lambda: two.is_leading)
            assert (server.holder, server.spec["leaseTransitions"]) == ("two", 1)

    run(test())


def test_what_is_given_back_has_no_holder_and_a_second_to_run() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: one.is_leading)
            await one.stop()
            assert not one.could_act_at_the_end or server.holder == ""
            assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)

    run(test())


def test_lead_has_ended_before_the_lease_is_given_back() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            holders: list[str] = []

            async def lead() -> None:
                one.is_leading = True
                try:
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(0.02)
                    holders.append(server.holder)

            one.start(lead)
            await until(lambda: one.is_leading)
            await one.stop()
            assert holders == ["one"]
            assert server.holder == ""

    run(test())


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({"renewTime": "2099-01-01T00:00:00.000000Z"}, id="clock-ahead"),
        pytest.param({"renewTime": "1971-01-01T00:00:00.000000Z"}, id="clock-behind"),
        pytest.param({"renewTime": "never", "acquireTime": 7}, id="no-time"),
        pytest.param({"leaseDurationSeconds": None}, id="no-duration"),
        pytest.param({"leaseDurationSeconds": "15"}, id="a-text"),
        pytest.param({"leaseDurationSeconds": -3}, id="negative"),
        pytest.param({"leaseDurationSeconds": 0}, id="zero"),
        pytest.param({"leaseTransitions": 2**31 - 1}, id="many-transitions"),
        pytest.param({"leaseTransitions": "x"}, id="strange-transitions"),
        pytest.param({"strategy": "x", "unknown": {"a": [1]}}, id="unknown-fields"),
    ],
)
def test_anothers_lease_is_taken_when_we_saw_it_unchanged_for_its_duration(
    written: dict[str, Any],
) -> None:
    async def test() -> None:
        server = LeaseServer({"holderIdentity": "other", "leaseDurationSeconds": 15} | written)
        clock = FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await looks(server, 2)
            clock.advance(14.9)
            await looks(server, 2)
            assert server.holder == "other"
            assert not one.election.may_act()
            clock.advance(0.2)
            await until(lambda: one.is_leading)
            assert server.holder == "one"
            assert 0 < server.spec["leaseTransitions"] <= 2**31 - 1
            assert server.spec["acquireTime"] == "2026-03-01T00:00:15.100000Z"
            assert server.spec.get("unknown") == written.get("unknown")

    run(test())


def test_a_lease_that_claims_to_hold_for_ever_is_believed_for_a_minute() -> None:
    async def test() -> None:
        server = LeaseServer({"holderIdentity": "other", "leaseDurationSeconds": 10**30})
        clock = FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await looks(server, 2)
            clock.advance(59)
            await looks(server, 2)
            assert server.holder == "other"
            clock.advance(2)
            await until(lambda: one.is_leading)

    run(test())


def test_a_lease_that_is_renewed_is_not_taken_however_long_it_lasts() -> None:
    async def test() -> None:
        server = LeaseServer({"holderIdentity": "other", "leaseDurationSeconds": 15})
        clock = FakeClock(NOW)
        async with candidates(server, "one", clock=clock, retry_s=0.005) as [one]:
            one.start()
            for _ in range(5):
                await looks(server, 2)
                clock.advance(10)
                server.give_to("other")
            await looks(server, 3)
            assert server.holder == "other"
            assert {request.method for request in server.requests} == {"GET"}

    run(test())


def test_the_wall_clock_makes_no_difference() -> None:
    async def test() -> None:
        server = LeaseServer({"holderIdentity": "other", "leaseDurationSeconds": 15})
        clock = FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await looks(server, 2)
            clock.jump(86_400)
            await looks(server, 2)
            assert server.holder == "other"
            clock.advance(16)
            await until(lambda: one.is_leading)
            clock.jump(-7 * 86_400)
            assert one.election.may_act()
            clock.jump(30 * 86_400)
            assert one.election.may_act()

    run(test())


def test_a_process_that_was_stopped_past_the_deadline_may_not_act_from_the_first_moment() -> None:
    async def test() -> None:
        server, clock = LeaseServer(), FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await until(lambda: one.is_leading)
            clock.advance(11)
            assert not one.election.may_act()
            server.give_to("other")
            await until(lambda: one.told == [True, False])
            assert server.holder == "other"

    run(test())


@pytest.mark.heavy
@pytest.mark.parametrize("failure", ["is_gone", "is_silent"])
def test_a_leader_that_cannot_renew_has_stopped_before_its_lease_runs_out(
    failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kron.kube.client.election._RELEASE_S", 0.05)

    async def test() -> None:
        server = LeaseServer()
        durations = {"duration_s": 2, "deadline_s": 0.6, "renew_s": 0.05, "retry_s": 0.02}
        async with candidates(server, "one", clock=Clock(), **durations) as [one]:
            one.start()
            await until(lambda: one.is_leading)
            loop = asyncio.get_running_loop()
            server.changed.clear()
            await server.changed.wait()
            renewed_s = loop.time()
            setattr(server, failure, True)
            await until(lambda: not one.is_leading)
            assert 0.2 < one.ended_at_s - renewed_s < 2
            assert not one.could_act_at_the_end
            setattr(server, failure, False)
            await until(lambda: one.is_leading)
            assert one.told == [True, False, True]

    run(test())


@pytest.mark.heavy
def test_a_renewal_that_hangs_is_given_up_in_time_for_another() -> None:
    async def test() -> None:
        server = LeaseServer()
        durations = {"duration_s": 2.4, "deadline_s": 1.2, "renew_s": 0.05, "retry_s": 0.02}
        async with candidates(server, "one", clock=Clock(), **durations) as [one]:
            one.start()
            await until(lambda: one.is_leading)
            server.is_silent = True
            await looks(server, 1)
            server.is_silent = False
            await looks(server, 4)
            assert one.is_leading
            assert one.told == [True]

    run(test())


@pytest.mark.heavy
def test_a_renewal_whose_answer_is_lost_is_found_again() -> None:
    async def test() -> None:
        server = LeaseServer()
        durations = {"duration_s": 2.4, "deadline_s": 1.2, "renew_s": 0.05, "retry_s": 0.02}
        async with candidates(server, "one", clock=Clock(), **durations) as [one]:
            one.start()
            await until(lambda: one.is_leading)
            server.loses_answers = True
            server.changed.clear()
            await server.changed.wait()
            server.loses_answers = False
            server.changed.clear()
            await server.changed.wait()
            assert one.told == [True]
            assert one.is_leading

    run(test())


def test_another_holder_ends_lead_at_once() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: one.is_leading)
            server.give_to("thief", leaseDurationSeconds=15)
            await until(lambda: not one.is_leading)
            assert not one.could_act_at_the_end
            await one.stop()
            assert server.holder == "thief"  # it is not ours to give back

    run(test())


def test_a_lease_that_was_touched_or_deleted_is_still_ours_if_nobody_took_it() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: one.is_leading)
            assert server.lease is not None
            metadata = server.lease["metadata"] | {"labels": {"touched": "yes"}}
            server.store(server.lease | {"metadata": metadata})
            await looks(server, 4)
            assert server.lease["metadata"]["labels"]["touched"] == "yes"
            server.lease = None
            await until(lambda: server.lease is not None)
            await looks(server, 4)
            assert (server.holder, one.told) == ("one", [True])

    run(test())


def test_a_lease_that_was_deleted_is_still_held_for_as_long_as_it_was_said_to() -> None:
    async def test() -> None:
        server = LeaseServer({"holderIdentity": "another", "leaseDurationSeconds": 5})
        clock = FakeClock(NOW)
        async with candidates(server, "one", clock=clock) as [one]:
            one.start()
            await looks(server, 2)
            server.lease = None
            await looks(server, 4)
            assert (server.lease, one.told) == (None, [])
            clock.advance(6)
            await until(lambda: one.is_leading)

    run(test())


def test_a_lease_that_cannot_be_made_for_want_of_a_namespace_is_told_of() -> None:
    class NoNamespace(LeaseServer):
        def _decide(self, request: Any) -> Any:
            return status(404, "NotFound", 'namespaces "ns" not found')

    async def test() -> None:
        server = NoNamespace()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: bool(one.troubles))
            assert 'namespaces "ns" not found' in one.troubles[0]
            assert one.told == []

    run(test())


def test_a_lead_that_is_ending_is_not_cut_short_by_a_second_stop() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            ends: list[str] = []
            release = asyncio.Event()

            async def lead() -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    ends.append("begun")
                    await release.wait()
                    ends.append("done")

            one.start(lead)
            await until(lambda: server.holder == "one")
            server.give_to("thief")
            await until(lambda: ends == ["begun"])
            assert one.task is not None
            one.task.cancel()
            await asyncio.sleep(0.02)
            assert not one.task.done()
            release.set()
            await asyncio.wait([one.task])
            assert ends == ["begun", "done"]

    run(test())


def test_a_lease_with_our_name_is_our_own_from_a_request_without_an_answer() -> None:
    async def test() -> None:
        server = LeaseServer()
        server.loses_answers = True
        durations = {"duration_s": 0.6, "deadline_s": 0.2, "renew_s": 0.05, "retry_s": 0.02}
        async with candidates(server, "one", clock=Clock(), **durations) as [one]:
            one.start()
            await server.changed.wait()
            server.loses_answers = False
            await until(lambda: one.is_leading)
            assert server.spec["leaseTransitions"] == 0

    run(test())


def test_cancelled_while_the_answer_is_out_the_lease_is_given_back_all_the_same() -> None:
    async def test() -> None:
        server = LeaseServer()
        server.loses_answers = True
        async with candidates(server, "one") as [one]:
            one.start()
            await server.changed.wait()
            server.loses_answers = False
            await one.stop()
            assert one.told == []
            assert server.holder == ""
            assert server.lease is not None

    run(test())


def test_a_dead_server_does_not_hold_up_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kron.kube.client.election._RELEASE_S", 0.05)

    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            one.start()
            await until(lambda: one.is_leading)
            server.is_silent = True
            await one.stop()
            assert one.task is not None
            assert one.task.cancelled()
            assert not one.election.may_act()

    run(test())


def test_lead_that_returns_gives_the_lease_back_and_stands_again() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            turns: list[int] = []

            async def lead() -> None:
                turns.append(server.version)

            one.start(lead)
            await until(lambda: len(turns) == 3)
            assert one.told[:4] == [True, False, True, False]

    run(test())


def test_an_error_of_lead_ends_the_election_and_the_lease_is_given_back() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:

            async def lead() -> None:
                raise LookupError("a bug")

            one.start(lead)
            assert one.task is not None
            await asyncio.wait([one.task])
            assert isinstance(one.task.exception(), LookupError)
            assert server.holder == ""

    run(test())


def test_a_lead_that_will_not_end_is_waited_for_and_never_runs_twice() -> None:
    async def test() -> None:
        server = LeaseServer()
        async with candidates(server, "one") as [one]:
            running = 0
            most = 0
            release = asyncio.Event()

            async def lead() -> None:
                nonlocal running, most
                running += 1
                most = max(most, running)
                try:
                    await asyncio.Event().wait()
                finally:
                    await release.wait()
                    running -= 1

            one.start(lead)
            await until(lambda: running == 1)
            server.give_to("thief")
            await until(lambda: not one.election.may_act())
            server.give_to("")
            await asyncio.sleep(0.05)
            assert server.holder == ""
            release.set()
            await until(lambda: server.holder == "one")
            await until(lambda: running == 1)
            assert most == 1
            release.set()

    run(test())


@pytest.mark.parametrize(
    "obj", [{}, {"spec": None}, {"spec": []}, {"spec": {"holderIdentity": 7}}, {"spec": "x"}]
)
def test_a_lease_of_any_shape_is_nobodys_and_can_be_held(obj: dict[str, Any]) -> None:
    lease = Lease(obj)
    assert (lease.holder, lease.count("leaseDurationSeconds")) == ("", 0)
    spec = lease.held(Holder("one", "one-1"), 0.3, 0)["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("one", 1)
    assert spec["leaseTransitions"] == 1
