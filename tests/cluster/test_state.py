"""What the operator finds: Jobs that are there, ledgers it cannot read, specs that are wrong."""

from __future__ import annotations

import json
import time

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
from kron.engine.ledger import Ledger
from kron.engine.storage import ledger_to_json
from kron.kube.resource.kronjob import InvalidSpec, read_kronjob
from tests.cluster.api import Object
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
    make_run,
    remember,
    write_ledger,
)
from tests.logbook import wait_for
from tests.moment import soon, wait_until


def test_a_deleted_kronjob_takes_its_jobs_along_and_owes_nothing_when_made_anew(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    first_s, second_s = soon(3), soon(8)
    template = job_template(runs_for=NEVER)
    kronjobs.make("gone", slot.aim("gone", first_s), template=template)
    anew = slot.aim("anew", first_s)
    kronjobs.make("anew", anew, policy=A_LONG_DEADLINE)
    kronjobs.make("cancelled", slot.aim("cancelled", second_s))
    kronjobs.make("clock", slot.aim("clock", second_s))
    wait_for_outcome(kronjobs, "gone", "executed")
    wait_for_outcome(kronjobs, "anew", "executed")
    for name in ("gone", "anew", "cancelled"):
        kronjobs.delete(name)
    wait_for(lambda: not kronjobs.jobs("gone") and not kronjobs.jobs("anew"), "Jobs go along")
    wait_until(first_s + 1)  # in the chosen second itself it would be in time
    made = kronjobs.make("anew", anew, policy=A_LONG_DEADLINE)
    wait_until_seen(kronjobs, "anew")
    wait_for_outcome(kronjobs, "clock", "executed")
    assert operator.stop() == 0
    # And while nobody looks:
    kronjobs.delete("anew")
    made = kronjobs.make("anew", anew, policy=A_LONG_DEADLINE)
    operator.start()
    wait_until_seen(kronjobs, "anew")

    status = kronjobs.status("anew")
    assert ended(status) == (None, None, None)
    assert from_text(status["ledger"]["since"]) >= from_text(made["metadata"]["creationTimestamp"])
    assert {job["metadata"]["labels"]["kron.io/name"] for job in kronjobs.jobs()} == {"clock"}
    asked_for = sorted(request.owners[0].split("/")[1] for request in creations(cluster, namespace))
    assert asked_for == ["anew", "clock", "gone"]
    operator.check_log()


def test_a_job_of_somebody_else_is_never_taken_over(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(4)
    names = ("orphaned", "posing")
    theirs = {}
    for name in names:
        made = kronjobs.make(name, slot.aim(name, at_s))
        owner = None if name == "orphaned" else kronjobs.make("other", "0 0 29 2 *")
        theirs[name] = make_run(kronjobs, made, slot.nominal_s, owner)

    for name in names:
        status = wait_for_outcome(kronjobs, name, "missed")
        found = kronjobs.api.get("jobs", namespace, theirs[name]["metadata"]["name"])
        for key in ("uid", "labels", "annotations", "ownerReferences"):
            assert found["metadata"].get(key) == theirs[name]["metadata"].get(key)
        assert found["metadata"]["name"] in status["lastReason"]
        assert status["active"] == []
        trouble = kronjobs.wait_for_condition(name, "SchedulingError")
        assert (trouble["reason"], trouble["message"]) == ("ForeignJob", status["lastReason"])
        kronjobs.wait_for_condition(name, "Ready", False)
        wait_for_events(kronjobs, name, "Missed")
        [event] = kronjobs.events(name, "ForeignJob")
        assert event["type"] == "Warning"
        [error] = operator.events("error", name)
        assert str(error.level) == "ERROR"
        assert error["period"] == slot.period
        assert operator.events("job_created", name) == operator.events("job_exists", name) == []
    operator.check_log()


def test_what_a_crash_left_behind_is_found_again(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    """The Job was made and the status not written; or a start was written down and not made."""
    slot = Slot(namespace)
    chosen_s = int(time.time()) - MINUTE_S
    since_s = slot.nominal_s - MINUTE_S
    made = {
        name: kronjobs.make(name, slot.aim(name, chosen_s), policy=policy)
        for name, policy in {
            "unwritten": A_LONG_DEADLINE,
            "unwritten-strict": {},
            "written": A_LONG_DEADLINE,
            "unmade": A_LONG_DEADLINE,
            "too-late": {},
        }.items()
    }
    for name in ("unwritten", "unwritten-strict"):
        remember(kronjobs, made[name], since_s)
    for name in ("written", "unmade", "too-late"):
        remember(kronjobs, made[name], since_s, starting_s=(slot.nominal_s,))
    jobs = {
        name: make_run(kronjobs, made[name], slot.nominal_s)["metadata"]["uid"]
        for name in ("unwritten", "unwritten-strict", "written")
    }
    operator.start()

    for name, uid in jobs.items():
        status = wait_for_outcome(kronjobs, name, "executed")
        assert (status["lastPeriodID"], status["lastChosenTime"]) == (
            slot.period,
            to_text(chosen_s),
        )
        assert status["ledger"]["starting"] == []
        assert [job["metadata"]["uid"] for job in kronjobs.jobs(name)] == [uid]
        [found] = operator.events("job_exists", name)
        assert (found["period"], found["uid"]) == (slot.period, uid)
    wait_for_outcome(kronjobs, "unmade", "executed")
    [job] = kronjobs.jobs("unmade")
    assert job["metadata"]["annotations"]["kron.io/chosen-time"] == to_text(chosen_s)
    assert ended(wait_for_outcome(kronjobs, "too-late", "missed")) == (
        slot.period,
        "missed",
        LATE,
    )
    assert kronjobs.jobs("too-late") == []
    assert [request.name for request in creations(cluster, namespace)] == [job["metadata"]["name"]]
    assert operator.metrics()['kron_runs_total{outcome="executed"}'] == 4
    operator.check_log()


def test_many_handled_periods_are_packed_and_none_of_them_runs_again(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    """Also those that an operator before wrote as a list, with other names."""
    until_s = soon(8)
    handled: dict[str, list[int]] = {}
    for name in ("packed", "listed"):
        schedule, handled[name] = _overlapping(f"{namespace}/{name}", until_s)
        through_s = handled[name][0] - MINUTE_S
        policy = A_LONG_DEADLINE | {"concurrency": "allow"}
        made = kronjobs.make(name, schedule, policy=policy)
        if name == "packed":
            remember(kronjobs, made, through_s, through_s=through_s, handled_s=handled[name])
        else:
            old = ledger_to_json(Ledger(read_kronjob(made).job.text, through_s, through_s))
            write_ledger(kronjobs, name, old | {"handled": [*map(to_text, handled[name])]})
    operator.start()
    for name, before_s in handled.items():
        wait_for_outcome(kronjobs, name, "executed")
        ledger = kronjobs.status(name)["ledger"]
        assert (ledger["schema"], "handled" in ledger, "handled_through" in ledger) == (
            3,
            False,
            False,
        )
        assert ledger["handledPacked"]["count"] > 400
        assert len(json.dumps(ledger)) < 2_000
        made_s = {
            from_text(job["metadata"]["annotations"]["kron.io/period-id"])
            for job in kronjobs.jobs(name)
        }
        assert made_s
        assert made_s.isdisjoint(before_s)
    operator.check_log()


def _overlapping(identity: str, until_s: int) -> tuple[str, list[int]]:
    """A schedule of which hundreds of periods are open, and those that were chosen until then.

    One at least is chosen in the seconds after.
    """
    minute_s = until_s - until_s % MINUTE_S
    for number in range(1_000):
        text = f"* * * * * @win(after,24h) @seed(stable,salt=s{number})"
        schedule = kron.parse_schedule(text)
        chosen = [
            (decide_at(schedule, identity, nominal_s).chosen_s or 0, nominal_s)
            for nominal_s in range(minute_s - 24 * HOUR_S, minute_s + MINUTE_S, MINUTE_S)
        ]
        if any(until_s < chosen_s <= until_s + 3 for chosen_s, _ in chosen):
            return text, [nominal_s for chosen_s, nominal_s in chosen if chosen_s <= until_s]
    raise AssertionError("no salt has a period chosen then")


CORRUPT: dict[str, Object] = {
    "no-fields": {"schema": 1},
    "no-schema": {"schedule": "* * * * *", "since": "2026-01-01T00:00:00Z"},
    "no-instant": {"schema": 1, "handled_through": "2026-02-30T00:00:00Z"},
}


def test_a_corrupt_ledger_is_begun_anew_and_a_newer_one_left_alone(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    gone_s = int(time.time()) - MINUTE_S
    for name, ledger in CORRUPT.items():
        kronjobs.make(name, slot.aim(name, gone_s), policy=A_LONG_DEADLINE)
        write_ledger(kronjobs, name, ledger)
    newer = {"schema": 4, "schedule": "", "since": "2026-01-01T00:00:00Z", "extra": {"of": "it"}}
    kronjobs.make("newer", slot.aim("newer", gone_s))
    write_ledger(kronjobs, "newer", newer)
    operator.start()
    wait_until_seen(kronjobs, *CORRUPT)
    kronjobs.wait_for_condition("newer", "SchedulingError")
    # Without its ledger, it owes nothing from before, and runs from now on.
    for name in CORRUPT:
        assert ended(kronjobs.status(name)) == (None, None, None)
    at_s = soon(4)
    for name in ("newer", *CORRUPT):
        kronjobs.change(name, schedule=slot.aim(name, at_s))

    for name in CORRUPT:
        status = wait_for_outcome(kronjobs, name, "executed")
        assert status["ledger"]["handledThrough"] == slot.period
        [record] = operator.events("state_corrupt", name)
        assert record["file"] == "status.ledger"
        assert record["error"]
        assert len(kronjobs.jobs(name)) == 1
    assert len(operator.events("state_corrupt")) == len(CORRUPT)

    trouble = kronjobs.wait_for_condition("newer", "SchedulingError")
    assert trouble["reason"] == "NewerStatus"
    assert "schema 4" in trouble["message"]
    kronjobs.wait_for_condition("newer", "Ready", False)
    assert kronjobs.jobs("newer") == []
    assert kronjobs.status("newer")["ledger"] == newer
    # The message says that it can be removed to begin anew.
    kronjobs.change("newer", schedule=slot.aim("newer", soon(3)))
    write_ledger(kronjobs, "newer", None)
    wait_for_outcome(kronjobs, "newer", "executed")
    kronjobs.wait_for_condition("newer", "Ready")
    operator.check_log()


INVALID: dict[str, Object] = {
    "never": {"schedule": "0 0 30 2 *"},
    "no-such-zone": {"schedule": "0 0 * * *", "timeZone": "Europe/Nowhere"},
    "too-many-open": {"schedule": "* * * * * @win(after,192h)"},
}


def test_a_spec_that_only_the_engine_can_refuse_is_told_of_and_runs_once_mended(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    broken_s = soon(4)
    kronjobs.make("broken-in-time", slot.aim("broken-in-time", broken_s))
    wait_until_seen(kronjobs, "broken-in-time")
    kronjobs.change("broken-in-time", schedule="0 0 31 2 *")
    for name, spec in INVALID.items():
        kronjobs.make(name, **spec)
    ended_at_s = soon()
    schedule = slot.aim("broken-later", ended_at_s)
    kronjobs.make("broken-later", schedule, policy=A_LONG_DEADLINE)
    wait_for_outcome(kronjobs, "broken-later", "executed")
    kronjobs.change("broken-later", schedule="0 0 31 2 *")

    for name in (*INVALID, "broken-in-time", "broken-later"):
        invalid = kronjobs.wait_for_condition(name, "InvalidSpec")
        with pytest.raises(InvalidSpec) as refused:
            read_kronjob(kronjobs.read(name))
        assert invalid["message"] == str(refused.value)
        ready = kronjobs.wait_for_condition(name, "Ready", False)
        assert ready["reason"] == "InvalidSpec"
        [event] = wait_for_events(kronjobs, name, "InvalidSpec")
        assert (event["type"], event["message"]) == ("Warning", invalid["message"])
        [error] = operator.events("error", name)
        assert error["error"] == invalid["message"]
        assert len(kronjobs.jobs(name)) == (name == "broken-later")
    assert "Europe/Nowhere" in kronjobs.wait_for_condition("no-such-zone", "InvalidSpec")["message"]

    told = {name: kronjobs.events(name, "InvalidSpec") for name in INVALID}
    operator.stop()
    operator.start()
    operator.wait_until_leading()
    at_s = max(soon(4), broken_s + 1)
    for name in INVALID:
        kronjobs.change(name, schedule=slot.aim(name, at_s), timeZone=None)
    kronjobs.change("broken-later", schedule=schedule)
    for name in INVALID:
        wait_for_outcome(kronjobs, name, "executed")
        kronjobs.wait_for_condition(name, "InvalidSpec", False)
        kronjobs.wait_for_condition(name, "Ready")
        assert len(kronjobs.jobs(name)) == 1
    again = {name: kronjobs.events(name, "InvalidSpec") for name in INVALID}
    assert again == told, "who has been told is not told again by the next operator"
    assert kronjobs.jobs("broken-in-time") == []
    # What had ended before the mistake stays so.
    kronjobs.wait_for_condition("broken-later", "Ready")
    assert len(kronjobs.jobs("broken-later")) == 1
    assert kronjobs.status("broken-later")["ledger"]["handledThrough"] == slot.period
    operator.check_log()
