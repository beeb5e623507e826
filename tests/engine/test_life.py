"""A state machine lives through restarts, crashes, clock jumps, suspensions and edits.

After every step it checks what a period promises, above all that no period of the job
is ever executed twice, and that nothing that is owed is left lying.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import kron
from kron.core.decision import Decision, decide_at
from kron.core.instant import from_text, to_text
from kron.engine import (
    Adopt,
    Conclude,
    Evidence,
    Job,
    Ledger,
    Outcome,
    Plan,
    Reschedule,
    Restart,
    Settle,
    SettleMany,
    Sighting,
    Start,
    Step,
    recover,
    step,
)
from kron.engine.step import MOST_ONE_BY_ONE
from kron.engine.survey import LOOK_BACK, due_s
from tests.engine.playable import DAY_S, MOST_OPEN, schedules
from tests.engine.scene import IDENTITY, through_json
from tests.soak import examples

START_S = from_text("2026-03-27T00:00:00Z")  # two days before the clocks change in Paris


class Life(RuleBasedStateMachine):
    """An adapter with the worst of luck."""

    now_s: int
    schedule: str
    suspended: bool

    @initialize(schedule=schedules, slack_s=st.sampled_from([0, 5, 60]))
    def begin(self, schedule: str, slack_s: int) -> None:
        self.now_s = START_S
        self.schedule = schedule
        self.suspended = False
        self.slack_s = slack_s
        self.ledger: Ledger | None = None
        self.plan: Plan | None = None
        self.active = False
        self.executed: set[int] = set()
        self.ended: dict[int, Outcome] = {}
        self.wake_s: int | None = None
        self.undisturbed = True

    @property
    def job(self) -> Job:
        schedule = kron.parse_schedule(self.schedule)
        policy = schedule.policy.replace(suspend=self.suspended)
        return Job(IDENTITY, schedule.replace(policy=policy))

    @rule(fate=st.sampled_from(["works", "works", "works", "fails", "crash-before", "crash-after"]))
    def wake_in_time(self, fate: str) -> None:
        if self.wake_s is not None and self.wake_s > self.now_s:
            self.now_s = self.wake_s
        self.take_step(fate)

    @rule(late_s=st.integers(0, 90), fate=st.sampled_from(["works", "fails", "crash-after"]))
    def wake_late(self, late_s: int, fate: str) -> None:
        if self.wake_s is not None and self.wake_s > self.now_s:
            self.now_s = self.wake_s
        self.now_s += late_s
        self.take_step(fate)

    @rule(jump_s=st.integers(-3 * DAY_S, 3 * DAY_S))
    def set_the_clock(self, jump_s: int) -> None:
        self.now_s += jump_s
        self.undisturbed &= jump_s >= 0
        self.take_step("works")

    @rule(down_s=st.integers(0, 4000 * DAY_S))
    def be_down(self, down_s: int) -> None:
        self.restart()
        self.now_s = min(self.now_s + down_s, from_text("2300-01-01T00:00:00Z"))
        self.take_step("works")

    @rule(schedule=schedules)
    def edit(self, schedule: str) -> None:
        self.undisturbed &= schedule == self.schedule
        self.schedule = schedule
        self.take_step("works")

    @rule()
    def suspend_or_resume(self) -> None:
        self.suspended = not self.suspended
        self.take_step("works")

    @rule()
    def finish_the_run(self) -> None:
        self.active = False

    @rule(
        evidence=st.sampled_from([None, Evidence.REBOOTED]),
        down_s=st.integers(0, 600),
    )
    def restart_after_a_crash(self, evidence: Evidence | None, down_s: int) -> None:
        self.restart()
        self.now_s += down_s
        self.recover_all(evidence)

    def take_step(self, fate: str) -> None:
        if self.ledger is not None and self.ledger.starting and self.plan is None:
            self.recover_all(None)
        job = self.job
        before = self.ledger
        arguments = {"active": self.active, "plan": self.plan, "slack_s": self.slack_s}
        result = step(job, before, self.now_s, **arguments)  # type: ignore[arg-type]
        assert step(job, before, self.now_s, **arguments) == result, "a step is a pure function"  # type: ignore[arg-type]
        self.check_step(job, before, result)
        self.check_the_plan_only_saves_work(job, before)
        if fate == "crash-before":
            self.restart()  # nothing was committed, nothing was done
            return
        self.note(result)
        self.ledger = through_json(result.ledger)
        self.plan = result.plan
        self.wake_s = result.wake_s
        if fate == "crash-after":
            self.restart()  # committed, but nothing was started: the intents are on disk
            return
        for action in result.actions:
            if isinstance(action, Start):
                if fate == "fails":
                    self.give_up(action.decision.nominal_s)
                else:
                    self.execute(action.decision.nominal_s)

    def check_step(self, job: Job, before: Ledger | None, result: Step) -> None:
        policy = job.schedule.policy
        assert all(
            d.chosen_s is None or d.window_start_s <= d.chosen_s <= d.window_end_s
            for d in result.decided
        ), "1: the chosen time is in the window"
        settled = [a for a in result.actions if isinstance(a, Start | Settle)]
        min_looked_at_s = min((a.decision.nominal_s for a in settled), default=self.now_s)
        for action in result.actions:
            if isinstance(action, Reschedule):
                continue
            if isinstance(action, SettleMany):
                assert action.count > MOST_ONE_BY_ONE or action.last_s < min_looked_at_s
                assert action.first_s <= action.last_s <= self.now_s + job.lead_s
                continue
            decision = action.decision
            assert before is None or not before.is_handled(decision.nominal_s), (
                "5: what has ended does not end again"
            )
            assert decision == decide_at(job.schedule, IDENTITY, decision.nominal_s), (
                "3: the same inputs give the same chosen time"
            )
            assert due_s(decision) <= self.now_s
            assert due_s(decision) >= result.ledger.since_s, "nothing is owed from before"
            if isinstance(action, Start):
                assert decision.chosen_s is not None, "7: what is unschedulable does not run"
                late_s = self.now_s - decision.chosen_s
                assert late_s <= policy.softened_s(self.slack_s), "deadlines hold"
                assert result.ledger.intent(decision.nominal_s).run_id == action.run_id
            else:
                assert (action.outcome is Outcome.UNSCHEDULABLE) == decision.unschedulable
        assert len(result.actions) <= LOOK_BACK + 4 * MOST_OPEN, "4: work is bounded"
        assert len(result.decided) <= LOOK_BACK + 4 * MOST_OPEN, "4: work is bounded"
        assert len(result.ledger.handled_s) <= 4 * MOST_OPEN, "4: the ledger is bounded"
        if policy.suspend:
            assert not result.actions, "6: nothing happens while suspended"
            if before is not None:
                assert result.ledger.handled_s == before.handled_s
                assert result.ledger.handled_through_s == before.handled_through_s
        else:
            self.check_nothing_owed_is_left(job, result)

    def check_the_plan_only_saves_work(self, job: Job, before: Ledger | None) -> None:
        """But for the slack, a loop that kept its plan and one that lost it decide alike."""
        kept = step(job, before, self.now_s, active=self.active, plan=self.plan)
        lost = step(job, before, self.now_s, active=self.active)
        assert kept.replace(decided=()) == lost.replace(decided=())

    def check_nothing_owed_is_left(self, job: Job, result: Step) -> None:
        """A naive look at the last three windows: what is due has ended, what is to come waits."""
        nominals = job.schedule.nominals
        look_back_s = self.now_s - 3 * (job.schedule.width_s + 3600)
        nominal_s = nominals.after(max(look_back_s, result.ledger.since_s - job.trail_s - 1))
        upcoming: list[Decision] = []
        while nominal_s - job.lead_s <= self.now_s:
            decision = decide_at(job.schedule, IDENTITY, nominal_s)
            if not result.ledger.is_handled(nominal_s) and due_s(decision) >= result.ledger.since_s:
                assert due_s(decision) > self.now_s, "a period that is due has been dealt with"
                upcoming.append(decision)
            elif self.undisturbed and due_s(decision) > self.now_s:
                assert not result.ledger.is_handled(nominal_s), "no period ends before it is due"
            nominal_s = nominals.after(nominal_s)
        if upcoming:
            assert result.wake_s is not None
            assert result.wake_s <= min(map(due_s, upcoming)), "no period is slept through"

    def note(self, result: Step) -> None:
        for action in result.actions:
            if isinstance(action, Settle):
                self.end(action.decision.nominal_s, action.outcome)

    def end(self, nominal_s: int, outcome: Outcome) -> None:
        assert nominal_s not in self.ended, "5: an outcome is for ever"
        self.ended[nominal_s] = outcome

    def execute(self, nominal_s: int) -> None:
        assert self.ledger is not None
        assert nominal_s not in self.executed, "2: at most one execution a period"
        self.executed.add(nominal_s)
        self.end(nominal_s, Outcome.EXECUTED)
        self.active = True
        self.ledger = self.ledger.with_started(nominal_s)

    def give_up(self, nominal_s: int) -> None:
        assert self.ledger is not None
        self.end(nominal_s, Outcome.MISSED)
        self.ledger = self.ledger.with_start_given_up(nominal_s, Outcome.MISSED, "no such file")

    def restart(self) -> None:
        self.plan = None
        self.wake_s = None

    def recover_all(self, evidence: Evidence | None) -> None:
        if self.ledger is None:
            return
        found = [
            Sighting(intent.run_id, intent.nominal_s, intent.chosen_s, evidence)
            for intent in self.ledger.starting
            if evidence is not None
        ]
        if self.active:
            found.append(Sighting("by hand", None, None, Evidence.ALIVE))
        recovery = recover(self.job, self.ledger, found, self.now_s, slack_s=self.slack_s)
        self.ledger = through_json(recovery.ledger)
        for action in recovery.actions:
            match action:
                case Restart(intent):
                    assert intent.run_id == self.job.run_id(to_text(intent.nominal_s))
                    self.execute(intent.nominal_s)
                case Conclude(intent, outcome):
                    self.end(intent.nominal_s, outcome)
                case Adopt():
                    raise AssertionError("nothing was alive")

    @invariant()
    def what_has_ended_is_handled(self) -> None:
        if self.ledger is not None:
            assert all(map(self.ledger.is_handled, self.ended))


TestLife = Life.TestCase
TestLife.settings = examples(80)
