"""A tracked job: its ledger changes by its own methods only, and the store hears of each change."""

from __future__ import annotations

from kron.core.instant import from_text
from kron.core.parser import parse_schedule
from kron.engine.actions import LATE, Outcome
from kron.engine.ledger import Intent, Ledger
from kron.engine.recovery import Evidence, Restart, Sighting
from tests.runtime.made import MINUTE_S, NOW_S, Asked, MadeJob

NEXT_S = MINUTE_S + 60


def made(text: str = "* * * * *") -> tuple[MadeJob, Asked]:
    asked = Asked()
    return MadeJob(asked, text), asked


def stepped(text: str = "* * * * *") -> tuple[MadeJob, Asked]:
    job, asked = made(text)
    job.step(NOW_S, slack_s=0)
    return job, asked


def starting(job: MadeJob) -> Ledger:
    """A ledger of which the run of this minute was about to start."""
    assert job.job is not None
    intent = Intent(MINUTE_S, MINUTE_S, "run", job.job.text)
    ledger = Ledger(job.job.text, MINUTE_S).with_handled((MINUTE_S,))
    return ledger.replace(starting=(intent,))


def test_a_step_leaves_the_storing_to_the_scheduler() -> None:
    job, asked = stepped()
    assert job.planned == ((NEXT_S, NEXT_S),)
    assert asked.calls == []


def test_what_the_store_has_replaces_what_was_known() -> None:
    job, asked = stepped()
    job.load(None, ((1, 2),))
    assert (job.ledger, job.plan, job.planned) == (None, None, ((1, 2),))
    assert asked.calls == []


def test_a_run_that_began_is_stored_as_proven() -> None:
    job, asked = made()
    job.load(starting(job))
    job.started(MINUTE_S)
    assert asked.calls == ["changed a proven"]
    assert job.ledger is not None
    assert job.ledger.starting == ()
    assert job.ledger.last is not None
    assert job.ledger.last.outcome is Outcome.EXECUTED


def test_a_run_that_was_given_up_is_stored() -> None:
    job, asked = made()
    job.load(starting(job))
    job.gave_up(MINUTE_S, Outcome.MISSED, LATE)
    assert asked.calls == ["changed a"]
    assert job.ledger is not None
    assert job.ledger.last is not None
    assert (job.ledger.last.outcome, job.ledger.last.reason) == (Outcome.MISSED, LATE)


def test_a_run_that_is_found_is_news_once() -> None:
    job, asked = made()
    job.load(starting(job))
    run = Sighting("run", MINUTE_S, MINUTE_S, Evidence.ALIVE)
    assert [job.found(run), job.found(run)] == [True, False]
    assert asked.calls == ["changed a"]


def test_a_job_that_cannot_run_finds_and_recovers_nothing() -> None:
    job, asked = made()
    job.load(starting(job))
    job.is_valid = False
    assert not job.found(Sighting("run", MINUTE_S, MINUTE_S, Evidence.ALIVE))
    assert job.recovered((), NOW_S, slack_s=60) == ()
    assert asked.calls == []


def test_an_intent_without_a_run_is_started_again_and_stays_an_intent() -> None:
    job, asked = made()
    job.load(starting(job))
    assert job.recovered((), NOW_S, slack_s=60) == (
        Restart(starting(job).starting[0], replaces=False),
    )
    assert job.ledger == starting(job)
    assert asked.calls == []  # nothing has changed


def test_what_another_process_ended_has_ended() -> None:
    job, asked = stepped()
    assert job.ledger is not None
    other = job.ledger.with_handled((NEXT_S,))
    job.merge(other)
    assert job.ledger.is_handled(NEXT_S)
    assert asked.calls == ["changed a"]


def test_an_edit_to_the_same_schedule_keeps_the_plan() -> None:
    job, _ = stepped()
    same, other = parse_schedule("* * * * *"), parse_schedule("*/2 * * * *")
    job.edited(same, parse_schedule("* * * * *"))
    assert job.plan is not None
    job.edited(same, other)
    assert job.plan is None


def test_a_planned_decision_that_comes_out_otherwise_is_dropped_when_it_is_due() -> None:
    job, _ = stepped("* * * * * @win(after,50s)")
    assert job.plan is not None
    decided = job.plan.decisions
    broken = decided[0].replace(chosen_s=NEXT_S + 1)
    assert broken != decided[0]
    job._plan = job.plan.replace(decisions=(broken,))
    job.confirm_plan(NEXT_S + 60)
    assert job.plan.decisions == ()


def test_a_planned_decision_that_holds_is_kept_when_it_is_due() -> None:
    job, _ = stepped()
    before = job.plan
    job.confirm_plan(NEXT_S)
    assert job.plan is before


def test_a_plan_of_which_nothing_is_due_explains_no_wake() -> None:
    job, _ = stepped()
    job.confirm_plan(NOW_S)
    assert job.plan is not None
    assert job.plan.decisions == ()


def test_a_forgotten_job_owes_nothing_but_does_not_run_this_second_again() -> None:
    job, asked = made()
    job.load(Ledger("* * * * *", MINUTE_S - 3600).with_handled((NEXT_S,)), ((1, 2),))
    job.forget(NEXT_S)
    assert job.ledger is not None
    assert job.ledger.since_s == NEXT_S
    assert job.ledger.is_handled(NEXT_S)
    assert (job.plan, job.planned) == (None, ())
    assert asked.calls == ["changed a"]
    assert job.step(NEXT_S, slack_s=60).actions == ()


def test_a_job_whose_ledger_does_not_read_does_not_run_this_second_either() -> None:
    job, _ = made()
    job.forget(NEXT_S)
    assert job.step(NEXT_S, slack_s=60).actions == ()


def test_a_retired_job_has_no_schedule_and_no_plan() -> None:
    job, asked = stepped()
    job.retire()
    assert job.ledger is not None
    assert (job.ledger.schedule, job.plan, job.planned) == ("", None, ())
    assert asked.calls == ["changed a"]
    assert from_text("2026-11-16T12:00:30Z") == job.ledger.since_s
