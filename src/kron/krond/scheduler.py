"""The scheduler: looks at the clock once, lets the engine decide, stores that, and acts on it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

from kron.core.decision import Decision, decide_at
from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.engine.actions import Outcome, Reschedule, Settle, SettleMany, Start
from kron.engine.step import Plan, Step, latest_start_s, step
from kron.engine.survey import due_s
from kron.krond.keeper import Keeper
from kron.krond.member import Member
from kron.krond.pending import Pending
from kron.krond.starter import Starter
from kron.krond.state.record import Ended
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.queue import Queue

MANY = 16
"""From so many jobs on, their lines are logged after their runs have started."""


class Scheduler:
    """Steps members when they are due, and whenever something about them has changed."""

    def __init__(
        self,
        queue: Queue[Member],
        keeper: Keeper,
        starter: Starter,
        journal: Journal,
        *,
        slack_s: int,
    ) -> None:
        self._queue = queue
        self._keeper = keeper
        self._starter = starter
        self._journal = journal
        self._slack_s = slack_s

    def wake(self, now_ns: int, busy_s: int) -> None:
        """Deal with everybody who is due. `busy_s`: so long krond could not look before."""
        now_s = now_ns // SECOND_NS
        due = self._queue.due(now_s)
        for member in due:
            member.plan = _confirmed(member, now_s)
        self.step(due, now_ns, busy_s=busy_s)

    def step(self, members: Iterable[Member], now_ns: int, *, busy_s: int = 0) -> None:
        """Step these members: decide, store, tell and start, in this order.

        All intents are on disk before the first run starts, and a thousand cost a few syncs. Who
        has not changed is not stored. With a slack of 0, the bare rule, being busy is no excuse.
        """
        slack_s = self._slack_s + busy_s if self._slack_s else 0
        now_s = now_ns // SECOND_NS
        turns: list[tuple[Member, Step]] = []
        changed: list[Member] = []
        starts = False
        for member in members:
            ledger_before, planned_before = member.ledger, member.planned
            result = step(
                member.job,
                member.ledger,
                now_s,
                active=bool(member.runs or member.waiting),
                plan=member.plan,
                slack_s=slack_s,
            )
            member.take(result)
            self._queue.put(member, result.wake_s)
            if result.actions:
                starts = starts or any(isinstance(action, Start) for action in result.actions)
                _remember(member, result, now_ns)
            turns.append((member, result))
            if member.ledger != ledger_before or member.planned != planned_before:
                changed.append(member)
        self._keeper.commit(changed, quickly=starts)
        with self._journal.held() if len(turns) >= MANY else nullcontext():
            for member, result in turns:
                if result.actions or result.clock_behind or member.is_behind:
                    self._tell(member, result, now_s)
            self._starter.go()
        for member, result in turns:
            self._journal.decisions(member.entry, result.decided_ahead())

    def _tell(self, member: Member, result: Step, now_s: int) -> None:
        """Log what was decided, and have runs started."""
        self._tell_clock(member, result, now_s)
        self._journal.decisions(member.entry, result.decided_now())
        for action in result.actions:
            match action:
                case Start():
                    self._journal.trigger(member.entry, action.decision, now_s)
                    self._starter.request(
                        self.pending(member, action.decision, action.run_id),
                        replaces=action.replaces,
                    )
                case Settle():
                    active_job = member.active_job
                    self._journal.settled(member.entry, action, now_s, active_job=active_job)
                case SettleMany():
                    self._journal.settled_many(member.entry, action, now_s)
                case Reschedule():
                    self._journal.moved(member.entry, action)

    def pending(self, member: Member, decision: Decision, run_id: str) -> Pending:
        """The run of a period, to be started while it is in time."""
        chosen_s = decision.chosen_s
        assert chosen_s is not None  # only a chosen period starts
        latest_s = latest_start_s(member.entry.schedule, chosen_s, self._slack_s)
        return Pending(member, run_id, decision.nominal_s, chosen_s, latest_s)

    def trigger(self, member: Member, decision: Decision, run_id: str, now_s: int) -> Pending:
        """The run of a period that a krond before this one decided on and did not start."""
        made_again = decide_at(member.entry.schedule, decision.identity, decision.nominal_s)
        if made_again == decision:  # or it was edited since, and the log has what it was
            self._journal.decisions(member.entry, (decision,))
        self._journal.trigger(member.entry, decision, now_s)
        return self.pending(member, decision, run_id)

    def _tell_clock(self, member: Member, result: Step, now_s: int) -> None:
        """Say once that a job waits for the clock to be where it was."""
        if result.clock_behind and not member.is_behind:
            self._journal.of_job(Event.CLOCK_CHANGED, member.entry, now=to_text(now_s))
        member.is_behind = result.clock_behind


def _confirmed(member: Member, now_s: int) -> Plan | None:
    """The plan without decisions that, made again, come out otherwise (seed 003)."""
    plan = member.plan
    if plan is None:
        return None
    confirmed = tuple(
        decision
        for decision in plan.decisions
        if due_s(decision) > now_s
        or decision == decide_at(decision.schedule, decision.identity, decision.nominal_s)
    )
    if all(due_s(decision) > now_s for decision in plan.decisions):
        confirmed = ()  # none of them is why the member was woken
    return plan if len(confirmed) == len(plan.decisions) else plan.replace(decisions=confirmed)


def _remember(member: Member, result: Step, now_ns: int) -> None:
    """Put into the history what has ended without a run."""
    for action in result.actions:
        if isinstance(action, Settle):
            nominal_s, chosen_s = action.decision.nominal_s, action.decision.chosen_s
            outcome = action.outcome
        elif isinstance(action, SettleMany):
            nominal_s, chosen_s, outcome = action.last_s, None, Outcome.MISSED
        else:
            continue
        ended = Ended(
            nominal_s=nominal_s,
            chosen_s=chosen_s,
            outcome=outcome.value,
            reason=action.reason,
            ended_ns=now_ns,
        )
        member.record(ended)
