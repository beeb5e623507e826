"""After a downtime: what is still run, what is missed, and how little is said of it."""

from __future__ import annotations

import time

from kron.core.instant import from_text, to_text
from kron.runtime import DEFAULT_SLACK_S
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, job_template
from tests.cluster.operator import Operator
from tests.cluster.outcomes import (
    A_LONG_DEADLINE,
    LATE,
    creations,
    ended,
    wait_for_events,
    wait_for_outcome,
    wait_until_seen,
)
from tests.cluster.slots import HOUR_S, MINUTE_S, Slot, make_manual, remember
from tests.moment import soon, wait_until

LONG_AGO_S = from_text("2016-01-01T00:00:00Z")


def test_what_came_due_while_the_operator_was_down_runs_if_its_deadline_allows(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(7)
    seen = ("strict", "patient", "edited", "suspended", "deleted")
    for name in seen:
        policy = {} if name == "strict" else A_LONG_DEADLINE
        kronjobs.make(name, slot.aim(name, at_s), policy=policy)
    wait_until_seen(kronjobs, *seen)
    assert operator.stop() == 0
    assert time.time() < at_s, "the machine is too slow for this test"
    kronjobs.suspend("suspended")
    kronjobs.delete("deleted")
    kronjobs.change("edited", schedule=slot.aim("edited", at_s - MINUTE_S))
    kronjobs.make("new", slot.aim("new", at_s), policy=A_LONG_DEADLINE)
    wait_until(at_s + DEFAULT_SLACK_S + 1)  # what came due since the last word is on time before
    operator.start()
    wait_until_seen(kronjobs, "edited", "suspended", "new")

    status = wait_for_outcome(kronjobs, "patient", "executed")
    assert status["lastChosenTime"] == to_text(at_s)
    [job] = kronjobs.jobs("patient")
    assert job["metadata"]["annotations"]["kron.io/chosen-time"] == to_text(at_s)
    assert ended(wait_for_outcome(kronjobs, "strict", "missed")) == (slot.period, "missed", LATE)
    [missed] = operator.wait_for_events("missed_deadline", "strict")  # logged once it is stored
    assert (missed["period"], missed["chosen"]) == (slot.period, to_text(at_s))
    assert wait_for_events(kronjobs, "strict", "Missed")
    for name in ("edited", "suspended", "new"):
        assert ended(kronjobs.status(name)) == (None, None, None)
    assert [request.name for request in creations(cluster, namespace)] == [job["metadata"]["name"]]
    operator.check_log()


def test_of_ten_years_only_the_latest_may_run_and_the_rest_is_one_line(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    chosen_s = int(time.time()) - MINUTE_S
    first_s = LONG_AGO_S + slot.nominal_s % HOUR_S
    made = {
        name: kronjobs.make(name, slot.aim(name, chosen_s), policy=policy, template=template)
        for name, policy, template in (
            ("patient", A_LONG_DEADLINE, None),
            ("strict", {}, None),
            ("busy", A_LONG_DEADLINE, job_template(runs_for=NEVER)),
            ("few", {"deadline": "30h"}, None),
        )
    }
    for name in ("patient", "strict", "busy"):
        remember(kronjobs, made[name], first_s)
    remember(kronjobs, made["few"], first_s, through_s=slot.nominal_s - 4 * HOUR_S)
    make_manual(kronjobs, made["busy"], "by-hand")
    operator.start()

    hours = (slot.nominal_s - first_s) // HOUR_S
    before = to_text(slot.nominal_s - HOUR_S)
    for name, outcome, count, last in (
        ("patient", "executed", hours, before),
        ("strict", "missed", hours + 1, slot.period),
        ("busy", "skipped", hours, before),
    ):
        status = wait_for_outcome(kronjobs, name, outcome)
        assert status["lastPeriodID"] == slot.period
        assert status["ledger"]["handledThrough"] == slot.period
        assert status["ledger"]["handled"] == []
        [missed] = operator.wait_for_events("missed_deadline", name)  # logged once it is stored
        told = (int(missed["count"]), missed["first_period"], missed["period"])
        assert told == (count, to_text(first_s), last)
        [event] = wait_for_events(kronjobs, name, "Missed")
        for part in (str(count), to_text(first_s), last):
            assert part in event["message"]
    # A few are logged one by one.
    wait_for_outcome(kronjobs, "few", "executed")
    few = operator.wait_for_events("missed_deadline", "few", 3)
    hourly = [to_text(slot.nominal_s - ago * HOUR_S) for ago in (3, 2, 1)]
    assert [record["period"] for record in few] == hourly
    assert all("only the latest" in record["reason"] for record in few)

    jobs = [request.owners[0].split("/")[1] for request in creations(cluster, namespace)]
    assert sorted(jobs) == ["few", "patient"]
    missed_in_all = 3 * hours + 1 + len(few)
    assert operator.metrics()['kron_runs_total{outcome="missed"}'] == missed_in_all
    operator.check_log()
