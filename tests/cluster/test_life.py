"""The life of a period in a real cluster: on time and once, edited, suspended, without a time."""

from __future__ import annotations

import time
from hashlib import sha256

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
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
from tests.cluster.slots import (
    HOUR_S,
    MINUTE_S,
    Slot,
    decision_of,
)
from tests.logbook import wait_for
from tests.moment import soon, wait_until


def test_a_period_becomes_one_job_that_says_what_it_is(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    template = job_template(runs_for=NEVER)
    template["metadata"] = {"labels": {"team": "data"}, "annotations": {"kron.io/period-id": "?"}}
    pods = template["spec"]["template"]
    pods["metadata"]["labels"] = {"tier": "batch"}
    field = "metadata.annotations['kron.io/period-id']"
    pods["spec"]["containers"][0]["env"] = [
        {"name": "PERIOD", "valueFrom": {"fieldRef": {"fieldPath": field}}}
    ]
    operator.start()
    at_s = soon()
    made = kronjobs.make(
        "report",
        slot.aim("report", at_s),
        template=template,
        timeZone="UTC",
        policy={"deadline": "1m"},
    )

    [job] = kronjobs.wait_for_jobs("report")
    assert from_text(job["metadata"]["creationTimestamp"]) >= at_s
    assert job["metadata"]["name"] == f"report-{sha256(slot.period.encode()).hexdigest()[:10]}"
    [owner] = job["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"]) == ("kron.io/v1alpha1", "KronJob")
    assert (owner["name"], owner["uid"]) == ("report", made["metadata"]["uid"])
    assert owner["controller"] is True

    ours = {"kron.io/name": "report", "kron.io/period-id": slot.period.replace(":", "-")}
    decision = decision_of(made, slot.nominal_s)
    notes = {
        "kron.io/period-id": slot.period,
        "kron.io/nominal-time": slot.period,
        "kron.io/chosen-time": to_text(at_s),
        "kron.io/window-start": slot.period,
        "kron.io/window-end": to_text(slot.nominal_s + 40 * MINUTE_S),
        "kron.io/seed-hash": decision.seed_hash,
        "kron.io/identity": f"{namespace}/report",
        "kron.io/engine": "1",
        "kron.io/attempts": "1",
    }
    assert job["metadata"]["labels"].items() >= ({"team": "data"} | ours).items()
    assert job["metadata"]["annotations"].items() >= notes.items()
    inside = job["spec"]["template"]["metadata"]
    assert inside["labels"].items() >= ({"tier": "batch"} | ours).items()
    assert inside["annotations"].items() >= notes.items()

    # All that is needed to work the time out again is there.
    schedule = kron.parse_schedule(job["metadata"]["annotations"]["kron.io/schedule"])
    assert decide_at(schedule, f"{namespace}/report", slot.nominal_s).chosen_s == at_s
    assert schedule.policy.deadline_s == MINUTE_S

    [pod] = wait_for(lambda: kronjobs.api.list("pods", namespace), "the Pod")
    [variable] = pod["spec"]["containers"][0]["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == field  # the API server accepts it
    assert pod["metadata"]["annotations"]["kron.io/period-id"] == slot.period

    status = wait_for_outcome(kronjobs, "report", "executed")
    assert ended(status) == (slot.period, "executed", None)
    assert (status["lastNominalTime"], status["lastChosenTime"]) == (slot.period, to_text(at_s))
    following_s = slot.nominal_s + HOUR_S
    assert status["nextPeriodID"] == status["nextNominalTime"] == to_text(following_s)
    chosen_s = decision_of(made, following_s).chosen_s
    assert chosen_s is not None
    assert status["nextChosenTime"] == to_text(chosen_s)
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    assert status["active"] == [{"name": name, "uid": uid, "periodID": slot.period}]
    assert [request.name for request in creations(cluster, namespace)] == [name]
    operator.check_log()


def test_periods_that_are_open_at_once_all_run_in_the_order_of_their_choice(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace, 3, 2, window="5m")
    earlier, later = map(to_text, slot.nominals_s)
    operator.start()
    at_s = soon(3)
    text = slot.aim("overlap", range(at_s + 3, at_s + 9), range(at_s, at_s + 3))
    made = kronjobs.make("overlap", text, policy={"concurrency": "allow"})
    kronjobs.wait_for_jobs("overlap", 2)
    wait_for(lambda: not kronjobs.status("overlap")["ledger"]["handled"], "nothing stays open")

    chosen = {
        request.name: next(
            job["metadata"]["annotations"]
            for job in kronjobs.jobs("overlap")
            if job["metadata"]["name"] == request.name
        )
        for request in creations(cluster, namespace)
    }
    periods = [notes["kron.io/period-id"] for notes in chosen.values()]
    assert periods == [later, earlier]
    times = [notes["kron.io/chosen-time"] for notes in chosen.values()]
    assert times == sorted(times)
    for notes in chosen.values():
        planned_s = decision_of(made, from_text(notes["kron.io/period-id"])).chosen_s
        assert notes["kron.io/chosen-time"] == to_text(planned_s or 0)
    ledger = kronjobs.status("overlap")["ledger"]
    assert ledger["handledThrough"] == later
    operator.check_log()


def test_an_edit_moves_what_has_not_ended_and_fires_nothing_of_the_past(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    far_s = int(time.time()) + 20 * MINUTE_S
    for name in ("moved", "lapsed"):
        kronjobs.make(name, slot.aim(name, far_s), policy=A_LONG_DEADLINE)
    wait_until_seen(kronjobs, "moved", "lapsed")
    first_s = soon()
    kronjobs.make("ended", slot.aim("ended", first_s), policy=A_LONG_DEADLINE)
    wait_for_outcome(kronjobs, "ended", "executed")
    wait_until(first_s + 1)

    second_s = soon(4)
    gone_s = first_s  # it was there by then, but was another
    kronjobs.change("ended", schedule=slot.aim("ended", second_s))
    kronjobs.change("lapsed", schedule=slot.aim("lapsed", gone_s))
    wait_until_seen(kronjobs, "ended", "lapsed")
    kronjobs.change("moved", schedule=slot.aim("moved", second_s))
    # A status is written after every Job of its second was asked for.
    status = wait_for_outcome(kronjobs, "moved", "executed")
    assert status["lastChosenTime"] == to_text(second_s)

    assert len(kronjobs.jobs("moved")) == 1
    assert len(kronjobs.jobs("ended")) == 1
    assert kronjobs.status("ended")["lastChosenTime"] == to_text(first_s)
    assert kronjobs.jobs("lapsed") == []
    assert ended(kronjobs.status("lapsed")) == (None, None, None)
    [moved] = operator.events("reschedule", "moved")
    assert (moved["previous_chosen"], moved["new_chosen"]) == (to_text(far_s), to_text(second_s))
    assert moved["period"] == slot.period
    lapsed = next(r for r in operator.events("reschedule", "lapsed") if r["period"] == slot.period)
    assert lapsed["new_chosen"] == to_text(gone_s)
    assert "already passed" in lapsed["reason"]
    assert slot.period not in [r["period"] for r in operator.events("reschedule", "ended")]
    operator.check_log()


def test_nothing_is_handled_while_suspended_and_lifting_it_catches_up_by_the_deadline(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(6)
    names = ("patient", "strict")
    kronjobs.make("patient", slot.aim("patient", at_s), policy=A_LONG_DEADLINE)
    kronjobs.make("strict", slot.aim("strict", at_s))
    kronjobs.make("born-suspended", slot.aim("born-suspended", at_s), policy={"suspend": True})
    kronjobs.make("clock", slot.aim("clock", at_s + 1))
    wait_until_seen(kronjobs, *names)
    before = {name: kronjobs.status(name)["ledger"] for name in names}
    for name in names:
        kronjobs.suspend(name)
    wait_until_seen(kronjobs, *names)
    assert time.time() < at_s, "the machine is too slow for this test"
    wait_for_outcome(kronjobs, "clock", "executed")

    for name in names:
        status = kronjobs.status(name)
        assert status["ledger"] == before[name]
        assert "nextChosenTime" not in status
        ready = kronjobs.condition(name, "Ready")
        assert ready is not None
        assert (ready["status"], ready["reason"]) == ("True", "Suspended")
        assert kronjobs.jobs(name) == []
    for name in (*names, "born-suspended"):
        kronjobs.suspend(name, False)

    status = wait_for_outcome(kronjobs, "patient", "executed")
    assert status["lastChosenTime"] == to_text(at_s)
    assert len(kronjobs.jobs("patient")) == 1
    assert ended(wait_for_outcome(kronjobs, "strict", "missed")) == (slot.period, "missed", LATE)
    assert kronjobs.jobs("strict") == []
    # It was seen before it was suspended until after its time: it owed that period too.
    status = wait_for_outcome(kronjobs, "born-suspended", "missed")
    for name in names:
        said = [record["suspend"] for record in operator.events("suspended", name)]
        assert [str(each).lower() for each in said] == ["true", "false"]
        wait_for_events(kronjobs, name, "Resumed")
        assert len(kronjobs.events(name, "Suspended")) == 1
    operator.check_log()


def test_a_period_without_a_second_that_the_constraints_accept_is_unschedulable(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    operator.start()
    at_s = soon(3)
    slot = Slot(namespace, 2)
    hour = (time.gmtime().tm_hour + 12) % 24
    kronjobs.make(
        "boxed-in",
        slot.cron,
        window={"mode": "after", "duration": f"{at_s - slot.nominal_s}s"},
        constraints={"only": [f"hours={hour}-{hour}"]},
    )
    status = wait_for_outcome(kronjobs, "boxed-in", "unschedulable")

    assert status["lastPeriodID"] == slot.period
    assert "lastChosenTime" not in status
    assert status["lastReason"]
    condition = kronjobs.wait_for_condition("boxed-in", "Unschedulable")
    assert (condition["reason"], condition["message"]) == ("NoTimeFound", status["lastReason"])
    kronjobs.wait_for_condition("boxed-in", "Ready")  # the next one may have a time
    [event] = wait_for_events(kronjobs, "boxed-in", "Unschedulable")
    assert slot.period in event["message"]
    periods = [record["period"] for record in operator.events("constraint_unsatisfiable")]
    assert slot.period in periods
    assert kronjobs.jobs() == []
    assert operator.metrics()['kron_runs_total{outcome="unschedulable"}'] == 1
    operator.check_log()
