"""Several replicas, one of which acts, whatever becomes of it: killed, stopped, cut off, robbed."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from kron.core.duration import SECOND_NS
from kron.kube.operator.settings import DEFAULT_LEASE_DURATION_S as LEASE_DURATION_S
from kron.logs.record import Record
from tests.cluster.account import Account
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.cluster.once import all_executed_once, executed_once, made_by, make_once
from tests.cluster.operator import LEASE, Operator, replicas
from tests.cluster.outcomes import wait_until_seen
from tests.cluster.proxy import LOSE, SILENCE, Proxy
from tests.logbook import wait_for
from tests.moment import soon, wait_until
from tests.soak import SOAK

LEASE_S = 6
SHORT_LEASE = ("--lease-duration", f"{LEASE_S}s")
STOPS_ACTING_S = LEASE_S * 2 / 3
LONG = "5m"


def start(operators: list[Operator], *options: str) -> None:
    """Start them together, with the rights that are shipped, and wait until they are ready."""
    launch(operators, Account(operators[0].cluster, operators[0].namespace).kubeconfig(), *options)


def launch(operators: list[Operator], kubeconfig: str, *options: str) -> None:
    """Start them together, as this user, and wait until they are ready."""
    for each in operators:
        each.kubeconfig = kubeconfig
        each.launch(*options)
    for each in operators:
        each.wait_until_ready()


@contextmanager
def one_behind_a_proxy(
    cluster: ControlPlane, namespace: str, directory: Path, *identities: str
) -> Iterator[tuple[Proxy, Operator, Operator]]:
    """Two replicas with the rights that are shipped, the first of them behind a proxy."""
    account = Account(cluster, namespace)
    with Proxy(cluster, directory) as proxy:
        kubeconfigs = account.kubeconfig(proxy), account.kubeconfig()
        first, second = (
            Operator(cluster, namespace, directory, identity=identity, kubeconfig=kubeconfig)
            for identity, kubeconfig in zip(identities, kubeconfigs, strict=True)
        )
        with first, second:
            yield proxy, first, second


def leader_of(operators: Iterable[Operator]) -> Operator:
    """Wait until one of them leads, is at work, and no other thinks that it does."""
    candidates = [each for each in operators if each.process is not None]

    def look() -> Operator | None:
        leading = [each for each in candidates if each.metrics()["kron_leader"]]
        if len(leading) != 1 or leading[0].holder() != leading[0].identity:
            return None
        return leading[0] if is_at_work(leading[0]) else None

    return wait_for(look, "exactly one leads")


def is_at_work(operator: Operator) -> bool:
    """Whether it said that it is, after it last became the leader."""
    steps = [record for record in operator.records() if record.event in ("leader", "ready")]
    return bool(steps) and steps[-1].event == "ready"


def turns(operator: Operator) -> list[str]:
    """When it began and ceased to lead."""
    return [str(record.get("leads")) for record in operator.events("leader")]


def at_s(record: Record) -> float:
    return record.time_ns / SECOND_NS


def makers(operators: Iterable[Operator], name: str) -> list[str]:
    """Who says that it has made the Job of this KronJob."""
    return [each.identity for each in operators for _ in each.events("job_created", name)]


def statuses_written(proxy: Proxy) -> list[str]:
    """The KronJobs whose status was written through the proxy."""
    return [each["path"].split("/")[-2] for each in proxy.seen("patch", "kronjobs/status")]


def test_one_of_three_acts_and_when_it_is_told_to_stop_the_next_is_at_work_at_once(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    with replicas(cluster, namespace, tmp_path, 3) as made:
        start(made)
        delays_s = []
        leader = leader_of(made)
        for number in range(3):
            name = f"run-{number}"
            period = make_once(kronjobs, name, soon(2), deadline=LONG)
            executed_once(cluster, kronjobs, name, period)
            assert makers(made, name) == [leader.identity]
            assert leader.stop() == 0
            stopped_s = time.time()
            assert turns(leader) == ["true", "false"]
            if number < 2:
                leader = leader_of(made)
                delays_s.append(at_s(leader.events("ready")[-1]) - stopped_s)
        assert leader.holder() == "", "the last one has given it back, too"
        print("from the exit of a leader to the next at work:", [f"{x:.2f} s" for x in delays_s])
        assert max(delays_s) < 5, "2 s are promised, on a machine that has time"
        for each in made:
            each.check_log()


def test_somebody_deletes_the_lease_and_still_one_acts_and_nothing_runs_twice(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    with replicas(cluster, namespace, tmp_path) as made:
        start(made, *SHORT_LEASE)
        leader_of(made)
        first_s = soon(3)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number, deadline=LONG)
            for number in range(4)
        }
        for number in range(4):
            wait_until(first_s + number)
            cluster.api().delete("leases", namespace, LEASE)
        leader_of(made)
        all_executed_once(cluster, kronjobs, periods)
        assert all(len(makers(made, name)) == 1 for name in periods)


def test_a_leader_that_is_killed_is_replaced_at_once_and_nothing_is_lost(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """With the default policy: nothing may be late, but by the slack."""
    with replicas(cluster, namespace, tmp_path) as made:
        start(made)
        leader = leader_of(made)
        (other,) = (each for each in made if each is not leader)
        first_s = soon(3)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number // 4)
            for number in range(32)
        }
        leader.wait_for_event("trigger", "run-5")
        leader.kill()
        killed_s = time.time()
        all_executed_once(cluster, kronjobs, periods)
        assert turns(other) == ["true"]
        after_s = at_s(other.events("leader")[0]) - killed_s
        late_s = max(
            made_at_s(cluster, kronjobs, name, period) - (first_s + int(name[4:]) // 4)
            for name, period in periods.items()
        )
        print(f"from the death of a leader to the next {after_s:.2f} s, latest run {late_s:.2f} s")
        assert after_s < LEASE_DURATION_S / 2, "it does not wait for the lease"
        assert not other.events("missed_deadline")
        other.check_log()


def test_a_leader_that_cannot_be_reached_is_replaced_when_its_lease_has_run_out(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """Nobody knows whether it is dead, or only cut off."""
    with replicas(cluster, namespace, tmp_path) as made:
        start(made, *SHORT_LEASE, "--peer-address", "")
        leader = leader_of(made)
        (other,) = (each for each in made if each is not leader)
        first_s = soon(3)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number, deadline=LONG)
            for number in range(4)
        }
        leader.wait_for_event("trigger", "run-0")
        leader.kill()
        killed_s = time.time()
        all_executed_once(cluster, kronjobs, periods)
        assert turns(other) == ["true"]
        after_s = at_s(other.events("leader")[0]) - killed_s
        assert after_s > STOPS_ACTING_S, "the one that was killed might have been acting"
        assert {name for name in periods if makers([other], name)} >= {"run-1", "run-2", "run-3"}
        other.check_log()


def test_a_leader_that_is_cut_off_on_one_side_is_alive_and_keeps_its_lease(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """The other replica still reaches it, so only the lease can tell, and nothing runs twice."""
    with one_behind_a_proxy(cluster, namespace, tmp_path, "cut-off", "other") as (
        proxy,
        cut_off,
        other,
    ):
        cut_off.start(*SHORT_LEASE)
        cut_off.wait_until_leading()
        other.start(*SHORT_LEASE)
        first_s = soon(2)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number, deadline=LONG)
            for number in range(8)
        }
        cut_off.wait_for_event("trigger", "run-1")
        proxy.rule(SILENCE)
        cut_s = time.time()
        all_executed_once(cluster, kronjobs, periods)
        other.wait_until_leading()
        assert at_s(other.events("leader")[0]) - cut_s > STOPS_ACTING_S
        proxy.clear()
        wait_for(lambda: turns(cut_off) == ["true", "false"], "it has stepped down")
        period = make_once(kronjobs, "later", soon(2))
        executed_once(cluster, kronjobs, "later", period)
        assert makers([cut_off, other], "later") == ["other"]
        all_executed_once(cluster, kronjobs, periods)
        other.check_log()


def lists_of(cluster: ControlPlane, namespace: str) -> int:
    """How often an operator has listed KronJobs or Jobs of this namespace."""
    return sum(
        (request.verb, request.agent[:13]) == ("list", "kron-operator")
        and request.resource in ("kronjobs", "jobs")
        for request in cluster.audit(namespace)
    )


def test_the_next_leader_has_nothing_to_list(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """A machine that is too busy to store everything within a second leaves no mark: rarely.

    tests/kube/operator/test_takeover.py has the promise on a clock that is not real.
    """
    tries, listing = 4, 0
    kubeconfig = Account(cluster, namespace).kubeconfig()
    for number in range(tries):
        kronjobs.api.delete("leases", namespace, LEASE)  # no predecessor: nothing to be sure of
        with replicas(cluster, namespace, tmp_path / str(number), 2) as made:
            launch(made, kubeconfig)
            leader = leader_of(made)
            names = [f"calm-{number}-{each}" for each in range(30)]
            for name in names:
                kronjobs.make(name, "0 0 1 1 *")
            for name in names:
                wait_until_seen(kronjobs, name)
            listed = lists_of(cluster, namespace)
            assert leader.stop() == 0
            leader_of(made)
            listing += lists_of(cluster, namespace) > listed
    print(f"{listing} of {tries} leaders had to list")
    assert listing <= 1


def test_none_is_missed_when_leaders_hand_over(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """A rolling update under load, with the default policy: ten runs are due each second."""
    handovers = 3 if SOAK == 1 else 10
    lasts_s = 6 * handovers
    with replicas(cluster, namespace, tmp_path, handovers + 2) as made:
        start(made[:2])
        first_s = soon(12)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number // 10)
            for number in range(10 * lasts_s)
        }
        assert time.time() < first_s, "the machine is too slow for this test"
        for number in range(handovers):
            wait_until(first_s + 6 * number + 2)
            leader = leader_of(each for each in made if each.process is not None)
            assert leader.stop() == 0
            made[number + 2].kubeconfig = leader.kubeconfig
            made[number + 2].launch()
        wait_until(first_s + lasts_s)
        all_executed_once(cluster, kronjobs, periods)
        assert not [record for each in made for record in each.events("missed_deadline")]
        lists = [
            request
            for request in cluster.audit(namespace)
            if (request.verb, request.agent[:13]) == ("list", "kron-operator")
            and request.resource in ("kronjobs", "jobs")
        ]
        # Each replica lists once. A machine that is too busy to store everything within a second
        # leaves no mark, and then the next leader lists; most have nothing to list.
        takeovers_that_listed = len(lists) / 2 - (handovers + 2)
        assert takeovers_that_listed <= handovers / 2
        late_s = max(
            made_at_s(cluster, kronjobs, name, period) - (first_s + int(name[4:]) // 10)
            for name, period in list(periods.items())[:: max(1, lasts_s // 20)]
        )
        print(f"{handovers} handovers, {len(periods)} runs, the latest {late_s:.2f} s late")
        for each in made:
            if each.output.exists():
                each.check_log()


def test_a_process_that_is_started_again_takes_up_its_own_lease(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """As a container does that is restarted in its Pod: nobody else is there."""
    with replicas(cluster, namespace, tmp_path, 1) as [only]:
        start([only])
        leader_of([only])
        only.kill()
        period = make_once(kronjobs, "run", soon(2), deadline=LONG)
        only.start()
        executed_once(cluster, kronjobs, "run", period)
        [_, again] = only.events("leader")
        assert again.get("leads") == "true"
        only.check_log()


@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")
def test_a_replica_whose_clock_is_wrong_does_not_lead(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    with replicas(cluster, namespace, tmp_path) as [wrong, right]:
        kubeconfig = Account(cluster, namespace).kubeconfig()
        wrong.kubeconfig = right.kubeconfig = kubeconfig
        wrong.launch(environment=faked("+60s"))
        assert "the clock is at least" in str(wrong.wait_for_event("error").get("error"))
        wait_for(lambda: wrong.http("/readyz")[0] == 503, "it says that it could not lead")
        assert "ahead of the API server's" in wrong.http("/readyz")[1]
        assert wrong.metrics()["kron_clock_ahead_seconds"] > 50
        assert wrong.holder() == ""
        right.start()
        right.wait_until_leading()
        period = make_once(kronjobs, "run", soon(3))
        executed_once(cluster, kronjobs, "run", period)
        assert makers([wrong, right], "run") == [right.identity]
        assert abs(right.metrics()["kron_clock_ahead_seconds"]) < 5


@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")
@pytest.mark.parametrize("skew", ["+3s", "-3s"])
def test_clocks_that_differ_a_little_cost_no_run_when_a_leader_dies(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path, skew: str
) -> None:
    with replicas(cluster, namespace, tmp_path) as [first, second]:
        first.kubeconfig = second.kubeconfig = Account(cluster, namespace).kubeconfig()
        first.launch(environment=faked(skew))
        first.wait_until_leading()
        second.start()
        first_s = soon(6)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number // 2)
            for number in range(20)
        }
        first.wait_for_event("trigger", "run-8")
        first.kill()
        for name, period in periods.items():
            kronjobs.wait_for_status(name, lastPeriodID=period, lastOutcome="executed")
        for name, period in periods.items():
            assert len(made_by(cluster, kronjobs, name, period)) == 1, name


def faked(shift: str) -> dict[str, str]:
    """The environment of a process whose wall clock is off by so much."""
    shown = subprocess.run(
        ["faketime", "-f", shift, "env"], capture_output=True, text=True, check=True
    )
    fakes = ("LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED", "FAKETIME_DONT_FAKE_MONOTONIC")
    found = dict(line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line)
    kept = {name: found[name] for name in fakes if name in found and name != "FAKETIME_SHARED"}
    return kept | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def made_at_s(cluster: ControlPlane, kronjobs: KronJobs, name: str, period: str) -> float:
    """When the API server was asked for the Job of this period and made it."""
    [request] = made_by(cluster, kronjobs, name, period)
    return datetime.fromisoformat(request.at).timestamp()


def test_a_leader_whose_lease_cannot_be_renewed_stops_acting_before_another_begins(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    """And the same process goes on where the other one stops, when it leads again."""
    with one_behind_a_proxy(cluster, namespace, tmp_path, "cut-off", "other") as (
        proxy,
        cut_off,
        other,
    ):
        cut_off.start(*SHORT_LEASE)
        cut_off.wait_until_leading()
        other.start(*SHORT_LEASE)
        wait_for(lambda: proxy.seen("update", "leases"), "the lease is renewed")
        # Only the lease: everything else it could go on doing.
        proxy.rule(SILENCE, resource="leases")
        first_s = soon(0)
        periods = {
            f"run-{number}": make_once(kronjobs, f"run-{number}", first_s + number, deadline=LONG)
            for number in range(3, 11, 2)
        }
        all_executed_once(cluster, kronjobs, periods)
        other.wait_until_leading()
        renewed = [each for each in proxy.seen("update", "leases") if each["status"] == 200]
        stopped_s = at_s(cut_off.wait_for_event("leader", count=2))
        assert turns(cut_off) == ["true", "false"]
        assert stopped_s - renewed[-1]["at"] < LEASE_S
        assert stopped_s < at_s(other.events("leader")[0])
        (trouble,) = {record.get("operation") for record in cut_off.events("error")}
        assert trouble == "hold the lease", "it says why it stopped"
        assert makers([other], "run-9")
        late = [each for each in proxy.seen() if each["at"] > stopped_s]
        assert {each["verb"] for each in late} <= {"get", "list", "watch", "update"}
        assert {each["passed"] for each in late if each["verb"] == "update"} <= {0}

        # What the other did meanwhile is known, and nothing of it is done again.
        proxy.clear()
        kronjobs.delete("run-3")
        del periods["run-3"]
        wait_for(
            lambda: not any(kronjobs.status(name).get("active") for name in periods),
            "their Jobs are done, and the statuses say so",
        )
        written = len(statuses_written(proxy))
        assert other.stop() == 0
        wait_for(lambda: turns(cut_off) == ["true", "false", "true"], "it leads again")
        period = make_once(kronjobs, "again", soon(2), deadline=LONG)
        executed_once(cluster, kronjobs, "again", period)
        assert makers([cut_off], "again")
        assert {*statuses_written(proxy)[written:]} == {"again"}, "and nothing is written anew"
        all_executed_once(cluster, kronjobs, periods)
        assert cut_off.metrics()["kron_kronjobs"] == 4
        cut_off.check_log()
        other.check_log()


def test_a_leader_that_was_frozen_past_its_lease_does_nothing_more_when_it_wakes(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    with one_behind_a_proxy(cluster, namespace, tmp_path, "frozen", "other") as (
        proxy,
        frozen,
        other,
    ):
        frozen.start(*SHORT_LEASE)
        frozen.wait_until_leading()
        other.start(*SHORT_LEASE)
        first_s = soon(3)
        periods = {
            f"run-{number}": make_once(
                kronjobs, f"run-{number}", first_s + number // 3, deadline=LONG
            )
            for number in range(12)
        }
        frozen.wait_for_event("trigger", "run-0")
        frozen.pause()
        all_executed_once(cluster, kronjobs, periods)
        assert makers([other], "run-11")
        other.wait_until_leading()
        statuses = {name: kronjobs.status(name)["ledger"] for name in periods}
        resumed_s = time.time()
        frozen.resume()
        wait_for(lambda: turns(frozen) == ["true", "false"], "it steps down")
        period = make_once(kronjobs, "later", soon(2), deadline=LONG)
        executed_once(cluster, kronjobs, "later", period)
        assert makers([frozen, other], "later") == ["other"]
        done = [
            each
            for each in proxy.seen()
            if each["at"] > resumed_s and each["verb"] not in ("get", "list", "watch")
        ]
        assert [each for each in done if 200 <= each["passed"] < 300] == []
        all_executed_once(cluster, kronjobs, periods)
        assert {name: kronjobs.status(name)["ledger"] for name in periods} == statuses
        other.check_log()


def test_a_leader_that_is_told_to_stop_while_jobs_are_made_leaves_them_to_the_next(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    with one_behind_a_proxy(cluster, namespace, tmp_path, "first", "second") as (
        proxy,
        first,
        second,
    ):
        first.start(*SHORT_LEASE)
        first.wait_until_leading()
        second.start(*SHORT_LEASE)
        proxy.rule(SILENCE, verb="create", resource="jobs", about="unheard")
        proxy.rule(LOSE, verb="create", resource="jobs", about="unanswered")
        at = soon(3)
        periods = {
            name: make_once(kronjobs, name, at, deadline=LONG) for name in ("unheard", "unanswered")
        }
        wait_for(lambda: len(proxy.seen("create", "jobs")) >= 2, "both are asked for")
        assert first.stop() == 0
        assert second.holder() in ("", "second"), "it has given the lease back"
        all_executed_once(cluster, kronjobs, periods)
        assert makers([first, second], "unheard") == ["second"]
        first.check_log()
        second.check_log()
