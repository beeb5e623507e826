"""After downtime: one run at most, the rest missed, and never more work than periods are open."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kron
from kron.core.instant import from_text
from kron.engine import Job, SettleMany, Start, step
from kron.engine.step import MOST_ONE_BY_ONE
from kron.engine.survey import LOOK_BACK
from tests.engine.scene import IDENTITY, Scene


def test_of_the_overdue_periods_only_the_latest_runs() -> None:
    scene = Scene("0 * * * * @policy(deadline=2h)", "2026-03-01T00:30:00Z")
    scene.restart()
    assert scene.at("2026-03-01T04:10:00Z") == [
        "missed 2026-03-01T01:00:00Z",
        "missed 2026-03-01T02:00:00Z",
        "missed 2026-03-01T03:00:00Z",
        "start 2026-03-01T04:00:00Z",
    ]


def test_without_a_deadline_nothing_overdue_runs() -> None:
    scene = Scene("0 * * * *", "2026-03-01T00:30:00Z")
    scene.restart()
    assert scene.at("2026-03-01T02:00:01Z") == [
        "missed 2026-03-01T01:00:00Z",
        "missed 2026-03-01T02:00:00Z",
    ]
    assert scene.wake == "2026-03-01T03:00:00Z"


def test_a_period_that_is_on_time_is_not_crowded_out_by_one_that_is_late() -> None:
    scene = Scene("*/5 * * * * @policy(deadline=10m)", "2026-03-01T00:04:00Z")
    scene.restart()
    assert scene.at("2026-03-01T00:15:00Z") == [
        "missed 2026-03-01T00:05:00Z",
        "missed 2026-03-01T00:10:00Z",
        "start 2026-03-01T00:15:00Z",
    ]


@pytest.mark.parametrize(
    ("schedule", "now"),
    [
        pytest.param("*/5 * * * * @win(after,2h)", "06:00:00", id="overlap"),
        pytest.param(
            # All that can run runs in one minute, so the latest may be any of three hours' periods.
            "* * * * * @win(after,3h) @only(between=05:59-05:59)",
            "08:30:00",
            id="overlap-beyond-what-is-listed",
        ),
    ],
)
def test_the_latest_is_the_one_chosen_last_not_the_one_due_last(schedule: str, now: str) -> None:
    scene = Scene(f"{schedule} @policy(deadline=3h)", "2026-02-27T00:00:00Z")
    scene.restart()
    now_s = from_text(f"2026-03-01T{now}Z")
    scene.at(f"2026-03-01T{now}Z")
    overdue = {
        decision.chosen_s: decision.nominal_s
        for decision in kron.upcoming(
            scene.job.schedule,
            identity=IDENTITY,
            after=datetime(2026, 3, 1, 1, tzinfo=UTC),
            count=8 * 60,
        )
        if decision.chosen_s is not None and decision.chosen_s <= now_s
    }
    latest_s = overdue[max(overdue)]
    started = [a.decision.nominal_s for a in scene.step.actions if isinstance(a, Start)]
    assert started == [latest_s]
    assert latest_s != max(overdue.values())


def test_an_unschedulable_period_does_not_stand_in_the_way_of_one_that_can_run() -> None:
    # Sunday's period finds no second that is accepted; Saturday's is within its deadline.
    schedule = "0 10 * * * @win(after,1h) @avoid(dow=SUN) @policy(deadline=48h)"
    scene = Scene(schedule, "2026-02-27T12:00:00Z")
    scene.restart()
    assert scene.at("2026-03-01T12:00:00Z") == [
        "start 2026-02-28T10:00:00Z",
        "unschedulable 2026-03-01T10:00:00Z",
    ]


def test_ten_years_of_missed_minutes_are_one_line() -> None:
    scene = Scene("* * * * * @policy(deadline=1m)", "2016-01-01T00:00:10Z")
    scene.restart()
    minutes = (from_text("2026-01-01T00:00:00Z") - from_text("2016-01-01T00:00:00Z")) // 60
    assert scene.at("2026-01-01T00:00:10Z") == [
        f"missed {minutes - 1} 2016-01-01T00:01:00Z 2025-12-31T23:59:00Z",
        "start 2026-01-01T00:00:00Z",
    ]
    assert scene.ledger is not None
    assert scene.ledger.handled_s == frozenset()


@pytest.mark.parametrize("missed", [MOST_ONE_BY_ONE, MOST_ONE_BY_ONE + 1])
def test_a_few_missed_periods_are_told_one_by_one(missed: int) -> None:
    scene = Scene("* * * * *", "2026-03-01T00:00:10Z")
    scene.restart()
    words = scene.at(f"2026-03-01T00:{missed:02d}:10Z")
    assert len(words) == (missed if missed <= MOST_ONE_BY_ONE else 1)


def test_the_work_does_not_grow_with_the_downtime() -> None:
    open_at_once = 21
    for year in (2017, 2026, 2126):
        scene = Scene("* * * * * @tz(Europe/Paris) @win(after,20m)", "2016-01-01T00:00:10Z")
        scene.restart()
        scene.at(f"{year}-01-01T00:00:10Z")
        assert len(scene.step.decided) <= LOOK_BACK + 3 * open_at_once


def test_the_count_of_a_bulk_leaves_out_what_was_handled_and_what_was_never_owed() -> None:
    # Overlapping windows: at first sight some open periods were chosen before it, and before the
    # downtime some above the watermark had run. Neither is missed.
    schedule = kron.parse_schedule("*/5 * * * * @win(around,2h) @policy(concurrency=allow)")
    job = Job(IDENTITY, schedule)
    first_seen_s = from_text("2026-03-01T00:00:00Z")
    now_s = from_text("2026-03-05T00:00:00Z")
    awake = step(job, None, first_seen_s)
    handled: set[int] = set()
    for _ in range(5):
        assert awake.wake_s is not None
        awake = step(job, awake.ledger, awake.wake_s, plan=awake.plan)
        handled |= {a.decision.nominal_s for a in awake.actions if hasattr(a, "decision")}
    assert awake.ledger.handled_s, "the scene must have periods above the watermark"
    late = step(job, awake.ledger, now_s)
    owed = {
        decision.nominal_s
        for decision in kron.upcoming(
            schedule,
            identity=IDENTITY,
            after=datetime(2026, 2, 28, 20, tzinfo=UTC),
            count=12 * 24 * 5,
        )
        if decision.chosen_s is not None and first_seen_s <= decision.chosen_s <= now_s
    }
    bulk = [action for action in late.actions if isinstance(action, SettleMany)]
    singles = [action for action in late.actions if not isinstance(action, SettleMany)]
    assert len(bulk) == 1
    assert bulk[0].count + len(singles) == len(owed - handled)
    assert bulk[0].first_s == min(owed - handled)


def test_a_few_missed_periods_too_old_to_be_looked_at_are_reported_beside_the_others() -> None:
    """The other periods are unschedulable, so that hardly any is missed."""
    scene = Scene("*/30 * * * * @only(hours=0)", "2026-03-27T12:00:00Z")
    scene.restart()
    told = scene.at("2026-03-28T05:00:00Z")
    assert told[0] == "missed 1 2026-03-27T12:30:00Z 2026-03-27T12:30:00Z"
    assert [each for each in told[1:] if each.startswith("missed")] == [
        "missed 2026-03-28T00:00:00Z",
        "missed 2026-03-28T00:30:00Z",
    ]
    assert len(told) == 34
