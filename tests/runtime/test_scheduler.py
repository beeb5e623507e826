"""The scheduler: what is stored before what, and what becomes of pending runs and of clocks."""

from __future__ import annotations

import pytest

from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.engine.actions import REPLACED, SUSPENDED
from kron.engine.ledger import Intent, Ledger
from kron.engine.recovery import Evidence, Sighting
from kron.runtime.scheduler import Scheduler
from kron.testing.clock import FakeClock
from tests.runtime.made import MINUTE_S, NOW_S, Asked, MadeJob, MadePending

NEXT_S = MINUTE_S + 60
NEXT_NS = NEXT_S * SECOND_NS


class Scene:
    """A scheduler of one or two jobs, stepped for the first time at 12:00:30."""

    def __init__(
        self, *texts: str, commits: bool = True, slack_s: int = 5, stepped: bool = True
    ) -> None:
        self.asked = Asked()
        self.clock = FakeClock(to_text(NOW_S))
        self.scheduler: Scheduler[MadeJob, MadePending] = Scheduler(
            self.asked,
            self.asked if commits else None,
            self.asked,
            self.asked,
            self.clock,
            slack_s=slack_s,
        )
        names = "ab"[: len(texts or ("",))]
        self.jobs = [
            MadeJob(self.asked, text, name)
            for text, name in zip(texts or ("* * * * *",), names, strict=True)
        ]
        if stepped:
            self.scheduler.step(self.jobs, NOW_S * SECOND_NS)
            self.asked.calls.clear()

    def wake(self, at_s: int = NEXT_S, *, busy_s: int = 0) -> list[str]:
        now_ns = at_s * SECOND_NS
        self.scheduler.step(self.scheduler.due(now_ns), now_ns, busy_s=busy_s)
        return self.asked.calls


def test_a_committer_stores_an_intent_before_its_run_is_asked_for() -> None:
    scene = Scene()
    assert scene.wake() == ["commit a starts", "triggered a", "request a", "go", "decided "]
    assert scene.jobs[0].ledger is not None
    assert [intent.nominal_s for intent in scene.jobs[0].ledger.starting] == [NEXT_S]


def test_without_a_committer_the_run_is_asked_for_first() -> None:
    scene = Scene(commits=False)
    # Its status is stored once the Job was tried, which is up to the executor.
    assert scene.wake() == ["triggered a", "request a", "go", "decided "]
    scene = Scene("* * * * * @policy(concurrency=forbid)", commits=False)
    scene.jobs[0].pending.append(MadePending("other", None))
    assert scene.wake()[:2] == [
        "settled skipped: an earlier run is still active and concurrency is forbid",
        "go",
    ]


def test_what_cannot_be_stored_is_not_started() -> None:
    scene = Scene()
    scene.asked.has_no_room = True
    before = scene.jobs[0].moment()
    assert scene.wake() == ["commit a starts", "changed a", "go"]
    assert scene.jobs[0].moment() == before
    scene.asked.has_no_room = False
    scene.asked.calls.clear()
    assert scene.wake()[:3] == ["commit a starts", "triggered a", "request a"]


def test_a_step_that_cannot_be_stored_and_does_nothing_is_stored_later() -> None:
    scene = Scene(stepped=False)
    scene.asked.has_no_room = True
    scene.scheduler.step(scene.jobs, NOW_S * SECOND_NS)
    assert scene.asked.words("commit", "changed") == ["commit a", "changed a"]
    assert scene.jobs[0].ledger is not None


def test_all_that_is_due_together_is_stored_together() -> None:
    scene = Scene("* * * * *", "* * * * *")
    scene.wake()
    assert scene.asked.words("commit", "request", "go") == [
        "commit a b starts",
        "request a",
        "request b",
        "go",
    ]


def test_a_step_that_changes_nothing_stores_nothing() -> None:
    scene = Scene()
    scene.scheduler.step(scene.jobs, (NOW_S + 1) * SECOND_NS)
    assert scene.asked.words("commit", "changed") == ["commit "]


def test_a_job_that_cannot_run_waits_for_nothing() -> None:
    scene = Scene()
    scene.jobs[0].is_valid = False
    scene.scheduler.step(scene.jobs, NEXT_NS)
    assert scene.asked.words("changed", "request") == ["changed a"]
    assert scene.scheduler.queue.next_s() is None


@pytest.mark.parametrize(
    ("slack_s", "busy_s", "starts"), [(5, 0, False), (5, 15, True), (0, 15, False)]
)
def test_lateness_by_own_work_is_forgiven_unless_the_bare_rule_holds(
    slack_s: int, busy_s: int, starts: bool
) -> None:
    scene = Scene(slack_s=slack_s)
    scene.wake(NEXT_S + 20, busy_s=busy_s)
    assert bool(scene.asked.requested) is starts


def test_a_run_may_start_until_its_deadline_or_the_slack_is_over() -> None:
    scene = Scene("* * * * * @policy(deadline=1m)", "* * * * *")
    scene.wake()
    assert [run.latest_s for run in scene.asked.requested] == [NEXT_S + 60, NEXT_S + 5]


def test_what_was_pending_is_given_up_for_the_run_that_replaces_it() -> None:
    scene = Scene()
    earlier, later = MadePending("earlier", MINUTE_S), MadePending("later", None, replaces=True)
    job = scene.jobs[0]
    scene.scheduler.request(job, earlier)
    scene.scheduler.request(job, later)
    assert job.pending == [later]
    assert scene.asked.words("give_up") == [f"give_up earlier skipped: {REPLACED}"]


def test_a_suspension_gives_up_the_runs_of_periods_and_not_those_that_people_asked_for() -> None:
    scene = Scene()
    job = scene.jobs[0]
    job.pending = [MadePending("owed", MINUTE_S), MadePending("manual", None)]
    scene.scheduler.suspended(job, suspend=True)
    assert [run.run_id for run in job.pending] == ["manual"]
    assert scene.asked.calls == ["suspended True", f"give_up owed missed: {SUSPENDED}"]
    scene.scheduler.suspended(job, suspend=False)
    assert [run.run_id for run in job.pending] == ["manual"]


def test_a_job_that_is_let_go_starts_nothing() -> None:
    scene = Scene()
    job = scene.jobs[0]
    job.pending = [MadePending("owed", MINUTE_S), MadePending("manual", None)]
    scene.scheduler.give_up(job, "it is gone")
    assert job.pending == []
    assert scene.asked.calls == [
        "give_up owed missed: it is gone",
        "give_up manual missed: it is gone",
    ]


@pytest.mark.parametrize(("shift_s", "steps"), [(90, False), (-90, True)])
def test_a_clock_that_was_set_is_logged_and_one_set_back_looks_at_every_job(
    shift_s: int, steps: bool
) -> None:
    scene = Scene()
    scene.clock.advance(7)
    scene.clock.jump(shift_s)
    scene.scheduler.clock_changed(scene.jobs, scene.clock.now_ns())
    assert scene.asked.calls[0] == f"clock_changed {float(shift_s)}"
    assert bool(scene.asked.words("commit")) is steps


def test_a_clock_that_was_set_before_it_was_watched_is_not_logged() -> None:
    scene = Scene()
    scene.clock.jump(90)
    scene.scheduler.watch_clock()
    scene.scheduler.clock_changed(scene.jobs, scene.clock.now_ns())
    assert scene.asked.calls == []


def test_that_a_job_waits_for_the_clock_is_said_once() -> None:
    scene = Scene(stepped=False)
    job = scene.jobs[0]
    job.load(Ledger("* * * * *", MINUTE_S).with_handled((), NEXT_S + 3600))
    for _ in range(2):
        scene.scheduler.step(scene.jobs, NOW_S * SECOND_NS)
    assert scene.asked.words("waits_for_clock") == ["waits_for_clock a"]
    assert job.is_behind


class TestRecovery:
    def scene(self, *, schedule: str = "* * * * *", text: str = "* * * * *") -> Scene:
        scene = Scene(text, stepped=False, slack_s=60)
        ledger = Ledger(schedule, MINUTE_S - 3600).with_handled((MINUTE_S,))
        intent = Intent(MINUTE_S, MINUTE_S, "run", schedule)
        scene.jobs[0].load(ledger.replace(starting=(intent,)))
        return scene

    def recover(self, scene: Scene, *found: Sighting) -> list[str]:
        scene.scheduler.recover([(scene.jobs[0], found)], NOW_S * SECOND_NS)
        return scene.asked.calls

    def test_what_has_ended_is_stored_before_anything_starts(self) -> None:
        scene = self.scene()
        assert self.recover(scene) == ["flush", "decided ", "triggered a", "request a"]
        assert scene.asked.requested[0].run_id == "run"

    def test_a_run_that_is_found_is_adopted(self) -> None:
        scene = self.scene()
        alive = Sighting("run", MINUTE_S, MINUTE_S, Evidence.ALIVE)
        assert self.recover(scene, alive) == ["changed a", "adopt run", "flush"]

    def test_the_decision_of_an_edited_job_is_logged_as_it_was_made(self) -> None:
        scene = self.scene(text="* * * * * @policy(deadline=2m)")
        assert "decided * * * * *" in self.recover(scene)

    def test_a_decision_that_does_not_follow_is_not_logged(self) -> None:
        scene = self.scene(schedule="* * * * * @win(after,50s)")
        assert "request a" in self.recover(scene)
        assert scene.asked.words("decided") == []
