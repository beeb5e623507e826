"""First sight, edits, suspension and a clock that is set: what is owed, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kron
from kron.core.instant import from_text, to_text
from kron.engine import Job, Reschedule, step
from tests.engine.scene import IDENTITY, Scene, told


def test_a_job_seen_for_the_first_time_owes_nothing_from_before() -> None:
    scene = Scene("0 * * * * @policy(deadline=24h)", "2026-03-01T00:30:00Z")
    assert scene.last == []
    assert scene.wake == "2026-03-01T01:00:00Z"


def test_a_window_that_is_open_at_first_sight_still_counts_if_it_is_chosen_later() -> None:
    schedule = kron.parse_schedule("0 0 * * * @win(after,24h)")
    nominal = schedule.prev_nominal(schedule.next_nominal(datetime(2026, 3, 1, 12, tzinfo=UTC)))
    decision = kron.decide(schedule, identity=IDENTITY, nominal=nominal)
    assert decision.chosen_s is not None
    for moment_s, expected in ((decision.chosen_s, "start"), (decision.chosen_s + 1, None)):
        job = Job(IDENTITY, schedule)
        first = step(job, None, moment_s)
        periods = [word.split()[0] for word in told(first) if decision.period_id in word]
        assert periods == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("0 12 * * *", "0 11 * * * @policy(deadline=9h)", id="another-time"),
        pytest.param("0 12 * * *", "0 12 * * * @win(around,2h) @policy(deadline=9h)", id="window"),
    ],
)
def test_an_edit_owes_nothing_from_before_it(before: str, after: str) -> None:
    scene = Scene(before, "2026-03-01T00:00:00Z")
    assert scene.at("2026-03-01T12:00:00Z") == ["start 2026-03-01T12:00:00Z"]
    scene.edit(after)
    words = scene.at("2026-03-01T14:00:00Z")
    assert [word for word in words if not word.startswith("moved 2026-03-02")] == []


def test_a_period_that_both_schedules_have_takes_its_new_time_and_says_so() -> None:
    scene = Scene("0 0 * * * @win(after,24h)", "2026-02-28T23:30:00Z")
    old = scene.wake
    scene.edit("0 0 * * * @win(after,24h) @seed(stable,salt=b)")
    words = scene.at("2026-02-28T23:40:00Z")
    moved = [action for action in scene.step.actions if isinstance(action, Reschedule)]
    new = next(d for d in scene.step.decided if d.period_id == "2026-03-01T00:00:00Z")
    assert new.chosen_s is not None
    assert old is not None
    assert f"moved {old} {to_text(new.chosen_s)}" in words
    assert all(not action.lapsed for action in moved if action.decision == new)
    # It is told once.
    assert scene.at("2026-02-28T23:41:00Z") == []


def test_a_period_moved_to_a_time_already_past_does_not_run_and_says_so() -> None:
    # Late distributions and early ones: at half time the new time is past, the old one to come.
    scene = Scene("0 0 * * * @win(after,20h) @dist(skewLate,shape=50)", "2026-02-28T23:30:00Z")
    scene.edit("0 0 * * * @win(after,20h) @dist(skewEarly,shape=50)")
    words = scene.at("2026-03-01T12:00:00Z")
    assert [word.split()[0] for word in words] == ["lapsed", "moved"]  # today's and tomorrow's
    # Taking the edit back in time gives the period back.
    scene.edit("0 0 * * * @win(after,20h) @dist(skewLate,shape=50)")
    words = scene.at("2026-03-01T12:01:00Z")
    assert [word.split()[0] for word in words] == ["moved"]
    assert scene.wake is not None
    assert scene.at(scene.wake) == ["start 2026-03-01T00:00:00Z"]


def test_what_was_handled_stays_handled_through_edits() -> None:
    scene = Scene("0 12 * * *", "2026-03-01T00:00:00Z")
    assert scene.at("2026-03-01T12:00:00Z") == ["start 2026-03-01T12:00:00Z"]
    for schedule in ("0 12 * * * @win(after,6h)", "0 * * * * @win(around,8h)", "0 12 * * *"):
        scene.edit(schedule)
        assert "start 2026-03-01T12:00:00Z" not in scene.at("2026-03-01T12:00:00Z")
        while scene.wake is not None and scene.wake < "2026-03-01T23:00:00Z":
            assert "start 2026-03-01T12:00:00Z" not in scene.at(scene.wake)


def test_an_equal_schedule_in_other_words_is_no_edit() -> None:
    scene = Scene("0 12 * * 1-5 @policy(deadline=1h)", "2026-03-02T00:00:00Z")
    scene.edit("00 12 * * MON-FRI @tz(UTC) @policy(deadline=60m)")
    scene.restart()
    assert scene.at("2026-03-02T12:30:00Z") == ["start 2026-03-02T12:00:00Z"]


def test_a_ledger_of_a_schedule_that_no_longer_parses_counts_as_edited() -> None:
    scene = Scene("0 12 * * * @policy(deadline=9h)", "2026-03-01T00:00:00Z")
    assert scene.ledger is not None
    scene.ledger = scene.ledger.replace(schedule="0 12 * * * @tz(Mars/Olympus)")
    scene.restart()
    assert scene.at("2026-03-01T13:00:00Z") == []


def test_while_suspended_nothing_triggers_and_nothing_is_handled() -> None:
    scene = Scene("0 * * * * @policy(deadline=30m)", "2026-03-01T00:30:00Z")
    scene.edit("0 * * * * @policy(deadline=30m,suspend=true)")
    before = scene.ledger
    for now in ("2026-03-01T01:00:00Z", "2026-03-01T02:00:00Z", "2036-03-01T02:00:00Z"):
        assert scene.at(now) == []
        assert scene.wake is None
        assert scene.ledger == before


def test_a_lifted_suspension_is_caught_up_with_like_downtime() -> None:
    scene = Scene("0 * * * * @policy(deadline=30m,suspend=true)", "2026-03-01T00:30:00Z")
    scene.edit("0 * * * * @policy(deadline=30m)")
    assert scene.at("2026-03-01T03:20:00Z") == [
        "missed 2026-03-01T01:00:00Z",
        "missed 2026-03-01T02:00:00Z",
        "start 2026-03-01T03:00:00Z",
    ]


def test_a_suspended_loop_is_not_armed_so_the_slack_does_not_apply() -> None:
    scene = Scene("0 * * * * @policy(suspend=true)", "2026-03-01T00:30:00Z", slack_s=5)
    scene.edit("0 * * * *")
    assert scene.at("2026-03-01T01:00:03Z") == ["missed 2026-03-01T01:00:00Z"]


def test_a_clock_set_back_runs_nothing_again() -> None:
    scene = Scene("*/10 * * * *", "2026-03-01T00:05:00Z")
    assert scene.at("2026-03-01T00:10:00Z") == ["start 2026-03-01T00:10:00Z"]
    assert scene.at("2026-03-01T00:20:00Z") == ["start 2026-03-01T00:20:00Z"]
    assert scene.at("2026-03-01T00:01:00Z") == []
    assert scene.step.clock_behind
    assert scene.at("2026-03-01T00:10:00Z") == []
    assert scene.wake == "2026-03-01T00:30:00Z"
    assert scene.at("2026-03-01T00:30:00Z") == ["start 2026-03-01T00:30:00Z"]
    assert not scene.step.clock_behind


def test_a_job_first_seen_under_a_wrong_clock_runs_when_the_clock_is_right_again() -> None:
    # A host that boots with its clock in 2106 must not put its jobs to sleep until then.
    scene = Scene("0 * * * *", "2106-01-01T00:30:00Z")
    assert scene.at("2026-03-01T00:30:00Z") == []
    assert scene.wake == "2026-03-01T01:00:00Z"
    assert scene.at("2026-03-01T01:00:00Z") == ["start 2026-03-01T01:00:00Z"]


def test_a_clock_set_forward_is_downtime() -> None:
    scene = Scene("0 * * * *", "2026-03-01T00:30:00Z", slack_s=5)
    assert scene.at("2026-03-01T02:10:00Z") == [
        "missed 2026-03-01T01:00:00Z",
        "missed 2026-03-01T02:00:00Z",
    ]


@pytest.mark.parametrize("now_s", [-(10**12), 10**12])
def test_a_clock_outside_the_years_that_kron_covers_is_an_error(now_s: int) -> None:
    job = Job(IDENTITY, kron.parse_schedule("0 * * * *"))
    with pytest.raises(kron.KronError) as caught:
        step(job, None, now_s)
    assert caught.value.code is kron.Code.INSTANT


@pytest.mark.parametrize("now", ["1900-01-01T00:00:00Z", "2999-12-31T23:59:59Z"])
def test_the_first_and_the_last_instant_work(now: str) -> None:
    for schedule in ("* * * * *", "0 0 * * * @win(after,8784h)", "0 0 * * * @win(before,8784h)"):
        job = Job(IDENTITY, kron.parse_schedule(schedule))
        first = step(job, None, from_text(now))
        again = step(job, first.ledger, from_text(now), plan=first.plan)
        assert again.ledger.since_s == from_text(now)


def test_a_job_with_too_many_open_periods_is_refused() -> None:
    Job(IDENTITY, kron.parse_schedule("* * * * * @win(after,160h)"))
    with pytest.raises(kron.KronError) as caught:
        Job(IDENTITY, kron.parse_schedule("* * * * * @win(after,8784h)"))
    assert caught.value.code is kron.Code.LIMIT
    assert "527,041" in str(caught.value)


def test_periods_that_come_in_bursts_are_counted_where_they_are_densest() -> None:
    # Every minute, but on the second half of a month only; seven days of it, whenever one looks.
    Job(IDENTITY, kron.parse_schedule("* * 15-31 * * @win(after,166h)"))
    with pytest.raises(kron.KronError) as caught:
        Job(IDENTITY, kron.parse_schedule("* * 15-31 * * @win(after,168h)"))
    assert "10,080" in str(caught.value) or "10,081" in str(caught.value)
