"""How a period ends: its four outcomes; lateness and concurrency."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kron
from kron.core.instant import from_text, to_text
from kron.engine import Job, Settle, Start, latest_start_s, step
from tests.engine.scene import IDENTITY, Scene, told

CHOSEN = "@win(after,3h) @seed(stable,salt=s23736)"
"""With this salt the period of 2026-03-01T00:00:00Z is chosen at 02:32:20Z."""

PERIOD = "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("policy", "now", "active", "expected"),
    [
        pytest.param("deadline=0s", "02:32:19", False, None, id="not-eligible-yet"),
        pytest.param("deadline=0s", "02:32:20", False, "start", id="on-the-second"),
        pytest.param("deadline=0s", "02:32:21", False, "missed", id="no-deadline-one-second-late"),
        pytest.param("deadline=10m", "02:40:00", False, "start", id="within-the-deadline"),
        pytest.param("deadline=10m", "02:42:20", False, "start", id="at-the-deadline"),
        pytest.param("deadline=10m", "02:42:21", False, "missed", id="past-the-deadline"),
        pytest.param("deadline=900ms", "02:32:21", False, "missed", id="deadline-below-a-second"),
        pytest.param("concurrency=forbid", "02:32:20", True, "skipped", id="forbid-while-active"),
        pytest.param("concurrency=allow", "02:32:20", True, "start", id="allow-while-active"),
        pytest.param("concurrency=replace", "02:32:20", True, "replace", id="replace-while-active"),
        pytest.param("concurrency=replace", "02:32:20", False, "start", id="nothing-to-replace"),
        pytest.param(
            "concurrency=forbid", "02:32:21", True, "missed", id="lateness-comes-before-concurrency"
        ),
    ],
)
def test_a_due_period_ends_as_its_policy_says(
    policy: str, now: str, active: bool, expected: str | None
) -> None:
    scene = Scene(f"0 0 * * * {CHOSEN} @policy({policy})", "2026-02-28T23:00:00Z")
    scene.restart()
    assert scene.at(f"2026-03-01T{now}Z", active=active) == (
        [] if expected is None else [f"{expected} {PERIOD}"]
    )


def test_a_handled_period_is_never_handled_again() -> None:
    scene = Scene(f"0 0 * * * {CHOSEN} @policy(deadline=10m)", "2026-02-28T23:00:00Z")
    assert scene.at("2026-03-01T02:32:20Z") == [f"start {PERIOD}"]
    assert scene.at("2026-03-01T02:32:20Z") == []
    scene.restart()
    assert scene.at("2026-03-01T02:33:00Z") == []


@pytest.mark.parametrize(
    ("slack_s", "late_s", "awake", "expected"),
    [
        pytest.param(5, 5, True, "start", id="awake-and-within-the-slack"),
        pytest.param(5, 6, True, "missed", id="awake-but-later-than-the-slack"),
        pytest.param(5, 5, False, "missed", id="slack-is-not-for-downtime"),
        pytest.param(0, 1, True, "missed", id="the-bare-rule"),
    ],
)
def test_a_loop_that_was_awake_may_be_late_by_the_slack(
    slack_s: int, late_s: int, awake: bool, expected: str
) -> None:
    scene = Scene("0 2 * * *", "2026-03-01T01:00:00Z", slack_s=slack_s)
    if not awake:
        scene.restart()
    assert scene.at(f"2026-03-01T02:00:{late_s:02d}Z") == [f"{expected} 2026-03-01T02:00:00Z"]


@pytest.mark.parametrize(
    ("late_s", "expected"), [(1, "start"), (2, "missed"), (4, "missed"), (6, "missed")]
)
def test_the_slack_does_not_soften_a_deadline_that_is_set(late_s: int, expected: str) -> None:
    scene = Scene("0 2 * * * @policy(deadline=1s)", "2026-03-01T01:00:00Z", slack_s=5)
    assert scene.at(f"2026-03-01T02:00:0{late_s}Z") == [f"{expected} 2026-03-01T02:00:00Z"]


@pytest.mark.parametrize(
    ("deadline", "latest_s"), [("0s", 5), ("900ms", 0), ("1s", 1), ("1h", 3600)]
)
def test_a_run_that_was_decided_on_may_wait_until_its_deadline_or_for_the_slack_without_one(
    deadline: str, latest_s: int
) -> None:
    schedule = kron.parse_schedule(f"0 2 * * * @policy(deadline={deadline})")
    assert latest_start_s(schedule, 1_000, 5) == 1_000 + latest_s


def test_slack_holds_for_a_period_that_no_step_had_planned_yet() -> None:
    # The host hung for a minute: one period is lost to that, the one due three seconds ago is not.
    scene = Scene("* * * * *", "2026-03-01T01:00:10Z", slack_s=5)
    assert scene.at("2026-03-01T01:02:03Z") == [
        "missed 2026-03-01T01:01:00Z",
        "start 2026-03-01T01:02:00Z",
    ]


def test_all_periods_that_come_due_together_run_if_the_policy_allows() -> None:
    # Two periods of an overlapping schedule, both on time in one wake.
    schedule = kron.parse_schedule("*/5 * * * * @win(after,2h) @policy(concurrency=allow)")
    job = Job(IDENTITY, schedule)
    first = step(job, None, from_text("2026-03-01T00:00:00Z"))
    assert first.plan is not None
    due = sorted(d.chosen_s for d in first.plan.decisions if d.chosen_s is not None)[:2]
    both = step(job, first.ledger, due[1], plan=first.plan, slack_s=due[1] - due[0])
    assert [type(action) for action in both.actions] == [Start, Start]


def test_within_one_wake_forbid_lets_the_first_run_and_skips_the_second() -> None:
    schedule = kron.parse_schedule("*/5 * * * * @win(after,2h) @policy(concurrency=forbid)")
    job = Job(IDENTITY, schedule)
    first = step(job, None, from_text("2026-03-01T00:00:00Z"))
    assert first.plan is not None
    due = sorted(d.chosen_s for d in first.plan.decisions if d.chosen_s is not None)[:2]
    both = step(job, first.ledger, due[1], plan=first.plan, slack_s=due[1] - due[0])
    assert [word.split()[0] for word in told(both)] == ["start", "skipped"]


def test_a_run_that_is_about_to_start_counts_as_active() -> None:
    job = Job(IDENTITY, kron.parse_schedule("* * * * *"))
    first = step(job, None, from_text("2026-03-01T00:00:30Z"))
    second = step(job, first.ledger, from_text("2026-03-01T00:01:00Z"), plan=first.plan)
    assert len(second.ledger.starting) == 1
    third = step(job, second.ledger, from_text("2026-03-01T00:02:00Z"), plan=second.plan)
    assert told(third) == ["skipped 2026-03-01T00:02:00Z"]


def test_an_unschedulable_period_ends_when_its_window_closes_and_never_starts() -> None:
    scene = Scene("0 10 * * * @win(after,1h) @only(hours=12)", "2026-03-01T09:00:00Z")
    assert scene.wake == "2026-03-01T11:00:00Z"
    assert scene.at("2026-03-01T10:59:59Z") == []
    assert scene.at("2026-03-01T11:00:00Z") == ["unschedulable 2026-03-01T10:00:00Z"]
    (action,) = scene.step.actions
    assert isinstance(action, Settle)
    assert action.reason == "no candidate accepted within MaxAttempts"
    assert scene.at("2026-03-01T11:00:01Z") == []


def test_overlapping_windows_run_every_period_in_the_order_chosen() -> None:
    # Twenty-four periods are open at any time. None may be lost, none may run twice.
    schedule = "*/5 * * * * @win(after,2h) @policy(concurrency=allow)"
    scene = Scene(schedule, "2026-03-01T00:00:00Z")
    started: list[str] = []
    while scene.wake is not None and scene.wake < "2026-03-02T00:00:00Z":
        started += [word.removeprefix("start ") for word in scene.at(scene.wake)]
        assert scene.ledger is not None
        assert len(scene.ledger.handled_s) <= 24
    assert started != sorted(started)
    due = {
        decision.period_id
        for decision in kron.upcoming(
            scene.job.schedule,
            identity=IDENTITY,
            after=datetime(2026, 2, 28, 21, tzinfo=UTC),
            count=12 * 27,
        )
        if decision.chosen_s is not None
        and "2026-03-01T00:00:00Z" <= to_text(decision.chosen_s) < "2026-03-02T00:00:00Z"
    }
    assert len(started) == len(set(started))
    assert set(started) == due
