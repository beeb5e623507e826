"""One step in the life of a job's periods: look at the clock once and decide everything.

`step` returns the new ledger, what to do, and when to look again. The adapter commits the ledger
first, acts after, and passes back the ledger and the plan. The work of a step is bounded by the
number of periods that are open at once, however long the adapter was away.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.decision import Decision, decide_at
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import FIRST_S, LAST_S, out_of_range
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.core.schedule import Schedule
from kron.engine.actions import (
    ACTIVE,
    LATE,
    SUPERSEDED,
    Action,
    Outcome,
    Reschedule,
    Settle,
    SettleMany,
    Start,
)
from kron.engine.job import Job
from kron.engine.ledger import Handled, Intent, Ledger
from kron.engine.survey import Survey, due_s, survey

MOST_ONE_BY_ONE = 10
"""How many periods a step may miss one by one; more of them become one line."""


class Plan(Frozen):
    """What a loop that is awake knows: the decisions it waits for, and since when it waits."""

    made_s: int
    decisions: tuple[Decision, ...]


class Step(Frozen):
    ledger: Ledger
    actions: tuple[Action, ...]
    decided: tuple[Decision, ...]
    """The decisions that are new since the plan that was passed in, for the log."""
    plan: Plan | None
    """For the next step, if the loop stays awake until then; None while suspended."""
    wake_s: int | None
    """When to step again at the latest; None: not before something changes."""
    clock_behind: bool
    """The clock shows less than it did: periods whose windows are yet to open have ended."""

    def decided_now(self) -> list[Decision]:
        """The new decisions that an action of this step is about."""
        dealt_with = self._dealt_with()
        return [decision for decision in self.decided if id(decision) in dealt_with]

    def decided_ahead(self) -> Sequence[Decision]:
        """Of the new decisions, those that are to be waited for."""
        if not self.actions:
            return self.decided
        dealt_with = self._dealt_with()
        return [decision for decision in self.decided if id(decision) not in dealt_with]

    def _dealt_with(self) -> set[int]:
        return {id(each.decision) for each in self.actions if not isinstance(each, SettleMany)}


def step(
    job: Job,
    ledger: Ledger | None,
    now_s: int,
    *,
    active: bool = False,
    plan: Plan | None = None,
    slack_s: int = 0,
    held_s: int = 0,
) -> Step:
    """What to do for `job` at `now_s`, the whole second that the adapter's clock shows.

    `ledger` is None for a job never seen before. `active`: a run of this job is going on (one
    that is about to start counts too; the ledger knows it). `plan` is what the last step returned,
    if the loop has been awake since: a period that came due in that time and is late by no more
    than `slack_s` is on time, for a busy host is not downtime. `held_s`: for how long the adapter
    did not look on purpose. Of what came due in that time the latest may run, and no more: it is
    caught up with. A deadline that is set is not softened by either.
    """
    if not FIRST_S <= now_s <= LAST_S:
        raise out_of_range(f"the clock ({now_s} seconds after 1970)")
    if (boot_s := job.schedule.boot_s) is not None:
        now_s = max(now_s, boot_s)  # the boot has begun, whatever the clock shows
    previous = _previous(job, ledger)
    ledger = seen(job, ledger, now_s)
    through_s = ledger.handled_through_s
    clock_behind = through_s is not None and through_s - job.lead_s > now_s
    if job.schedule.policy.suspend:
        return Step(ledger, (), (), None, None, clock_behind)
    known = _known(job, plan)
    found = survey(job, ledger, now_s, known)
    due_actions: list[Start | Settle] = []
    if found.due:
        runnable = _runnable(job, found.due, now_s, plan, slack_s, held_s)
        due_actions = _actions(job, found.due, runnable, now_s, active or bool(ledger.starting))
    reported = _reported(found, due_actions)
    reschedules = [] if previous is None else _reschedules(job, previous, found, now_s)
    dealt_with = [action.decision for action in reported if not isinstance(action, SettleMany)]
    return Step(
        _ledger_after(job, ledger, found, due_actions),
        (*reschedules, *reported),
        tuple(d for d in (*dealt_with, *found.pending) if d.nominal_s not in known),
        Plan(now_s, found.pending),
        min(map(due_s, found.pending), default=None),
        clock_behind,
    )


def latest_start_s(schedule: Schedule, chosen_s: int, slack_s: int) -> int:
    """Until when a run that was decided on in time may still be started."""
    return chosen_s + schedule.terms.softened_s(slack_s)


def _previous(job: Job, ledger: Ledger | None) -> Schedule | str | None:
    """The schedule that the job had when it was last seen, if it was another one.

    It is text if this version of Kron cannot read it: then it was another one, whatever it said.
    """
    if ledger is None or ledger.schedule == job.text:
        return None
    try:
        previous = parse_schedule(ledger.schedule)
    except KronError:
        return ledger.schedule
    return None if previous == job.timing else previous


def seen(job: Job, ledger: Ledger | None, now_s: int) -> Ledger:
    """The ledger once this job, as it is now, has been seen."""
    if ledger is None:
        return Ledger(schedule=job.text, since_s=now_s)
    # An edit owes nothing from before. Neither does a clock that was set back to before the job
    # was seen: it exists from now on, not from some time in the future.
    is_edited = _previous(job, ledger) is not None
    since_s = now_s if is_edited else min(ledger.since_s, now_s)
    if since_s == ledger.since_s and ledger.schedule == job.text:
        return ledger
    return ledger.replace(schedule=job.text, since_s=since_s)


def _known(job: Job, plan: Plan | None) -> dict[int, Decision]:
    """The decisions of the plan that are still the ones this job would get."""
    return {
        decision.nominal_s: decision
        for decision in (plan.decisions if plan else ())
        if decision.identity == job.identity
        and (decision.schedule is job.schedule or decision.schedule == job.schedule)
    }


def _runnable(
    job: Job,
    due: tuple[Decision, ...],
    now_s: int,
    plan: Plan | None,
    slack_s: int,
    held_s: int,
) -> set[int]:
    """The due periods that may run: those on time or else, if its deadline allows, the latest."""
    schedulable = [(d.chosen_s, d.nominal_s) for d in due if d.chosen_s is not None]
    policy = job.schedule.terms
    slack_s = min(slack_s, policy.softened_s(slack_s))

    def softened(chosen_s: int, allowed_s: int) -> int:
        """How late it may be: by so much, if somebody was awake at that time."""
        return allowed_s if plan is not None and plan.made_s <= chosen_s else 0

    on_time = {
        nominal_s
        for chosen_s, nominal_s in schedulable
        if now_s - chosen_s <= softened(chosen_s, slack_s)
    }
    if on_time or not schedulable:
        return on_time
    latest_chosen_s, latest_nominal_s = schedulable[-1]
    held_s = softened(latest_chosen_s, policy.softened_s(held_s))
    in_time = now_s - latest_chosen_s <= max(policy.deadline_s, held_s)
    return {latest_nominal_s} if in_time else set()


def _actions(
    job: Job, due: tuple[Decision, ...], runnable: set[int], now_s: int, active: bool
) -> list[Start | Settle]:
    """What becomes of each due period, in the order in which they came due."""
    policy = job.schedule.terms
    actions: list[Start | Settle] = []
    for decision in due:
        if decision.chosen_s is None:
            actions.append(Settle(decision, Outcome.UNSCHEDULABLE, decision.reason))
        elif decision.nominal_s not in runnable:
            late = now_s - decision.chosen_s > policy.deadline_s
            actions.append(Settle(decision, Outcome.MISSED, LATE if late else SUPERSEDED))
        elif active and policy.concurrency is Concurrency.FORBID:
            actions.append(Settle(decision, Outcome.SKIPPED, ACTIVE))
        else:
            replaces = active and policy.concurrency is Concurrency.REPLACE
            actions.append(Start(decision, job.run_id(decision.period_id), replaces))
            active = True
    return actions


def _reported(found: Survey, due_actions: list[Start | Settle]) -> list[Action]:
    """The actions as people read them: many missed periods make one line."""
    others: list[Start | Settle] = []
    missed_s: list[int] = []
    for action in due_actions:
        if isinstance(action, Settle) and action.outcome is Outcome.MISSED:
            missed_s.append(action.decision.nominal_s)
        else:
            others.append(action)
    bulk = found.bulk
    total = len(missed_s) + (bulk.count if bulk else 0)
    if total <= MOST_ONE_BY_ONE:
        return [bulk, *due_actions] if bulk else [*due_actions]
    missed_s += [bulk.first_s, bulk.last_s] if bulk else []
    return [SettleMany(total, min(missed_s), max(missed_s)), *others]


def _ledger_after(
    job: Job, ledger: Ledger, found: Survey, due_actions: list[Start | Settle]
) -> Ledger:
    """The ledger once everything that is due has been dealt with."""
    intents = list(ledger.starting)
    last = ledger.last
    if found.bulk is not None:
        last = Handled(found.bulk.last_s, None, Outcome.MISSED, found.bulk.reason)
    for action in due_actions:
        decision = action.decision
        if isinstance(action, Settle):
            last = Handled(decision.nominal_s, decision.chosen_s, action.outcome, action.reason)
        else:
            assert decision.chosen_s is not None  # only a chosen period starts
            intents.append(Intent(decision.nominal_s, decision.chosen_s, action.run_id, job.text))
    ledger = ledger.with_handled(decision.nominal_s for decision in found.due)
    ledger = ledger.with_handled((), _watermark(ledger, found))
    if last is ledger.last and len(intents) == len(ledger.starting):
        return ledger
    return ledger.replace(starting=tuple(intents), last=last)


def _watermark(ledger: Ledger, found: Survey) -> int | None:
    """The last handled period before which none is left open."""
    watermark_s = found.bulk.last_s if found.bulk else None
    lapsed = {decision.nominal_s for decision in found.lapsed}
    for nominal_s in found.examined_s:
        if ledger.is_handled(nominal_s):
            watermark_s = nominal_s
        elif nominal_s not in lapsed:
            break
    return watermark_s


def _reschedules(job: Job, previous: Schedule | str, found: Survey, now_s: int) -> list[Reschedule]:
    """The periods that an edit has moved: both schedules have them, and neither has ended them."""
    if not isinstance(previous, Schedule) or previous.is_at_boot:
        return []
    moved = []
    for decision in (*found.lapsed, *found.due, *found.pending):
        nominal_s = decision.nominal_s
        if previous.nominals.at_or_before(nominal_s) != nominal_s:
            continue
        planned = decide_at(previous, job.identity, nominal_s)
        lapsed = due_s(decision) < now_s
        if planned.chosen_s != decision.chosen_s and not (lapsed and due_s(planned) < now_s):
            moved.append(Reschedule(decision, planned.chosen_s, lapsed))
    return moved
