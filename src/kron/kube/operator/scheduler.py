"""The scheduler: looks at the clock once, lets the engine decide, and has that carried out.

In krond the ledger is safe before a run starts. Here the name of the Job is the lock: the API
server refuses a second one. So the Job is created first and the status written after, and what is
lost in between is found again from the Jobs (`take_up`).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from kron.core.decision import Decision, decide_at
from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.instant import to_text
from kron.core.parser import parse_schedule
from kron.engine.actions import Outcome, Reschedule, Settle, SettleMany, Start
from kron.engine.ledger import Intent, Ledger
from kron.engine.recovery import Adopt, Conclude, Evidence, Restart, recover
from kron.engine.step import Step, latest_start_s, step
from kron.kube.operator.member import Member
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.pending import Pending
from kron.kube.operator.recorder import Recorder
from kron.kube.operator.reporter import Reporter
from kron.kube.operator.settlement import Settlement
from kron.kube.operator.starter import Starter
from kron.kube.resource.kronjob import KronJob
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.queue import Queue


class Scheduler:
    """Steps members when they are due, and whenever something about them has changed."""

    def __init__(
        self,
        queue: Queue[Member],
        starter: Starter,
        settlement: Settlement,
        recorder: Recorder,
        reporter: Reporter,
        journal: Journal,
        metrics: Metrics,
        *,
        slack_s: int,
    ) -> None:
        self._queue = queue
        self._starter = starter
        self._settlement = settlement
        self._recorder = recorder
        self._reporter = reporter
        self._journal = journal
        self._metrics = metrics
        self._slack_s = slack_s

    def take_up(self, member: Member, now_ns: int) -> None:
        """Begin to act for a member: find out what became of its runs, and step it."""
        now_s = now_ns // SECOND_NS
        if member.kronjob is not None and member.can_run:
            self.adopt(member)
            self._recover(member, member.kronjob, now_s)
        self.step([member], now_ns)

    def adopt(self, member: Member) -> None:
        """Take note of Jobs that are there and of which its ledger does not know."""
        if member.kronjob is None or not member.can_run:
            return
        for run in member.unknown_runs():
            member.adopt(run)
            self._metrics.ended(Outcome.EXECUTED)
            self._journal.of_job(
                Event.JOB_EXISTS, member.kronjob, period=run.period, job=run.name, uid=run.uid
            )
            self._recorder.touch(member)

    def step(self, members: Iterable[Member], now_ns: int) -> None:
        """Step these members. Jobs are asked for first; all that can wait comes after."""
        now_s = now_ns // SECOND_NS
        turns: list[tuple[Member, KronJob, Step]] = []
        for member in members:
            kronjob = member.kronjob
            if kronjob is None or not member.can_run:
                self._queue.put(member, None)
                self._recorder.touch(member)
                continue
            result = step(
                kronjob.job,
                member.ledger,
                now_s,
                active=bool(member.starting or member.active_runs()),
                plan=member.plan,
                slack_s=self._slack_s,
            )
            member.take(result)
            self._queue.put(member, result.wake_s)
            self._tell(member, kronjob, result, now_s)
            turns.append((member, kronjob, result))
            if not member.starting:
                self._recorder.touch(member)
        for _, kronjob, result in turns:
            self._journal.decisions(kronjob, result.decided_ahead())

    def _tell(self, member: Member, kronjob: KronJob, result: Step, now_s: int) -> None:
        """Log what was decided, and have Jobs made."""
        if result.clock_behind and not member.is_behind:
            self._journal.of_job(Event.CLOCK_CHANGED, kronjob, now=to_text(now_s))
        member.is_behind = result.clock_behind
        self._journal.decisions(kronjob, result.decided_now())
        for action in result.actions:
            match action:
                case Start():
                    self._journal.trigger(kronjob, action.decision, now_s)
                    self._starter.request(
                        Pending(
                            member,
                            action.decision,
                            kronjob.schedule_text,
                            self._latest_s(kronjob, action.decision),
                            replaces=action.replaces,
                        )
                    )
                case Settle():
                    active_job = member.active_job
                    self._journal.settled(kronjob, action, now_s, active_job=active_job)
                    self._metrics.ended(action.outcome)
                    self._reporter.settled(member, action, active_job)
                case SettleMany():
                    self._journal.settled_many(kronjob, action, now_s)
                    self._metrics.ended(Outcome.MISSED, action.count)
                    self._reporter.settled_many(member, action)
                case Reschedule():
                    self._journal.moved(kronjob, action)

    def _recover(self, member: Member, kronjob: KronJob, now_s: int) -> None:
        """Settle what an operator before this one had decided on and not brought to an end."""
        if member.ledger is None:
            return
        for intent in member.ledger.starting:
            if member.is_starting(intent.nominal_s):
                continue
            active = bool(member.active_runs() or member.starting)
            found = recover(
                kronjob.job,
                member.ledger,
                intent,
                Evidence.ABSENT,
                now_s,
                active=active,
                slack_s=self._slack_s,
            )
            decided_now = decide_at(kronjob.schedule, kronjob.identity, intent.nominal_s)
            decision, text = _as_decided(decided_now, kronjob, member.ledger, intent)
            member.ledger = found.ledger
            match found.action:
                case Restart(replaces=replaces):
                    if decision == decided_now:
                        self._journal.decisions(kronjob, (decision,))
                    self._journal.trigger(kronjob, decision, now_s)
                    latest_s = self._latest_s(kronjob, decision)
                    pending = Pending(member, decision, text, latest_s, replaces=replaces)
                    self._starter.request(pending)
                case Conclude(outcome=outcome, reason=reason):
                    self._settlement.told(member, decision, outcome, reason)
                case Adopt():
                    raise AssertionError("what has no Job cannot be adopted")

    def _latest_s(self, kronjob: KronJob, decision: Decision) -> int:
        assert decision.chosen_s is not None  # only a chosen period starts
        return latest_start_s(kronjob.schedule, decision.chosen_s, self._slack_s)


def _as_decided(
    decided_now: Decision, kronjob: KronJob, ledger: Ledger, intent: Intent
) -> tuple[Decision, str]:
    """The decision that an intent came of, and the text that it was made by.

    If the KronJob was edited since, the period keeps the time that it had, and the log has it.
    """
    if decided_now.chosen_s == intent.chosen_s:
        return decided_now, kronjob.schedule_text
    with suppress(KronError):  # an operator of another version may have written it
        schedule = parse_schedule(ledger.schedule)
        before = decide_at(schedule, kronjob.identity, intent.nominal_s)
        if before.chosen_s == intent.chosen_s:
            return before, ledger.schedule
    return decided_now.replace(chosen_s=intent.chosen_s), kronjob.schedule_text
