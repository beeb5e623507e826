"""The promises: what has to hold of a life, judged by what was seen of it from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial

from kron.core.decision import Decision, decide_at
from kron.core.instant import to_text
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.core.schedule import Schedule
from kron.engine.actions import SUPERSEDED, SUSPENDED, Outcome
from kron.engine.job import Job
from kron.engine.ledger import Ledger
from kron.engine.survey import survey
from kron.testing.life import SLOW_S, START_S, Edit, FaultKind, Life
from kron.testing.world import SLACK_S, Began, Said, Seen, World

RECENT_S = 40
"""What came due as recently as this may still be under way when a life ends."""
MOST_EFFECTS_A_SECOND = 1
"""Far more than any life needs; a loop that does not come to rest has more."""


class BrokenPromiseError(AssertionError):
    """A promise did not hold. The message repeats the life."""


def check(of: Life, world: World) -> None:
    """Whether everything that Kron promises held in this life."""
    for problem in _problems(of, world):
        raise BrokenPromiseError(problem)


def _problems(of: Life, world: World) -> Iterator[str]:
    yield from _twice("started", world.seen.began)
    yield from _ends(of, world.seen)
    yield from _unheard(of, world)
    yield from _late(of, world.seen)
    yield from _skipped(of, world)
    yield from _explained(world.seen)
    yield from _together(of, world.seen)
    yield from _left_over(of, world)
    most = (of.lasts_s + of.last_look_s) * MOST_EFFECTS_A_SECOND * len(of.jobs) + 50
    if world.effects.count > most:
        yield f"{world.effects.count} effects, more than {most}"


def _twice(what: str, events: Iterable[Began | Said]) -> Iterator[str]:
    """At most one start, and one end without a run, for each job and period."""
    first: dict[tuple[str, int], Began | Said] = {}
    for event in events:
        before = first.setdefault((event.name, event.nominal_s), event)
        if before is not event:
            yield f"{_period(event)} {what} twice: {before} and {event}"


def _ends(of: Life, seen: Seen) -> Iterator[str]:
    """A period has one outcome.

    Of two that both lead, neither knows what the other has announced, or asked for.
    """
    if of.has(FaultKind.TWO_LEADERS):
        return
    started = {(began.name, began.nominal_s) for began in seen.began}
    for said in seen.said:
        if (said.name, said.nominal_s) in started:
            yield f"{_period(said)} was started, and is {said.outcome}: {said.reason}"
    yield from _twice("ended", seen.said)


def _unheard(of: Life, world: World) -> Iterator[str]:
    """Every period that came due has a run, or an announcement says why it has none.

    A crash may come between the moment that stores an end and the one that announces it.
    """
    seen = world.seen
    heard = {(began.name, began.nominal_s) for began in seen.began}
    heard |= {(said.name, said.nominal_s) for said in seen.said}
    for job in of.jobs:
        for decision in _owed(of, world, job.name):
            nominal_s = decision.nominal_s
            is_unheard = (job.name, nominal_s) not in heard and not any(
                name == job.name and first_s <= nominal_s <= last_s
                for name, first_s, last_s in seen.said_many
            )
            if is_unheard and not any(
                _has_ended(at_crash[job.name], nominal_s) for at_crash in seen.stored
            ):
                yield f"{job.name}: nothing was heard of {decision.period_id}"


def _owed(of: Life, world: World, name: str) -> Iterator[Decision]:
    """The decisions about the periods that a job owes: those due by now, or before its first edit.

    What a job owes after an edit or a suspension, the engine's own tests say.
    """
    schedule = _schedules(of, name)[0]
    ledger = world.stored(name)
    if schedule.policy.suspend or ledger is None:
        return
    # A job whose first state a crash kept from being stored was never seen before.
    was_lost = any(at_crash[name] is None for at_crash in world.seen.stored)
    since_s = max(START_S, ledger.since_s) if was_lost else START_S
    until_s = world.now_s
    edits = [event.at_s for event in of.events if isinstance(event, Edit) and event.name == name]
    if edits and not (of.clock_is_true and not was_lost):
        return
    if edits:  # one that comes while the adapter is down owes nothing from before
        until_s = min(until_s, START_S + edits[0], *world.seen.crashed_s)
    nothing = Ledger(schedule=name, since_s=since_s)
    owed = survey(Job(world.identity(name), schedule), nothing, until_s - RECENT_S, {})
    yield from (decision for decision in owed.due if decision.chosen_s is not None)


def _has_ended(ledger: Ledger | None, nominal_s: int) -> bool:
    if ledger is None or any(intent.nominal_s == nominal_s for intent in ledger.starting):
        return False
    return ledger.is_handled(nominal_s)


def _late(of: Life, seen: Seen) -> Iterator[str]:
    """Nothing is missed that its deadline allows, and nothing starts after its deadline."""
    for said in seen.said:
        if said.outcome != Outcome.MISSED or said.reason in (SUPERSEDED, SUSPENDED):
            continue
        late_s = said.at_s - (said.nominal_s if said.chosen_s is None else said.chosen_s)
        # A run that was decided on keeps the deadline that it had, whatever is edited meanwhile.
        allowed_s = min(schedule.policy.deadline_s for schedule in _schedules(of, said.name))
        if late_s <= allowed_s:
            yield f"{_period(said)} is missed {late_s} s late, with {allowed_s} s allowed"
    if not of.clock_is_true or of.has(FaultKind.ARRIVES_LATE):
        return
    grace_s = 1 + (SLOW_S if of.has(FaultKind.STORE_SLOW) else 0)  # to store it before it starts
    for began in seen.began:
        schedules = _schedules(of, began.name)
        allowed_s = max(each.policy.softened_s(SLACK_S) for each in schedules) + grace_s
        # How long the run that it replaces takes to end does not count.
        is_replacing = Concurrency.REPLACE in _policies(of, began.name)
        if not is_replacing and began.at_s > (began.chosen_s or began.nominal_s) + allowed_s:
            yield f"{_period(began)} started at {to_text(began.at_s)}, after its deadline"


def _skipped(of: Life, world: World) -> Iterator[str]:
    """A period is skipped for a run that was active when it came due, or about to start.

    Where starts fail, that run may never have begun, and after a crash it may be too late for it.
    """
    if not of.clock_is_true or any(of.has(kind) for kind in FaultKind):
        return
    for said in world.seen.said:
        [job] = [job for job in of.jobs if job.name == said.name]
        schedules = _schedules(of, said.name)
        if said.outcome != Outcome.SKIPPED or len(schedules) > 1:
            continue
        decide = partial(decide_at, schedules[0], world.identity(job.name))
        others = {run.nominal_s: run.at_s for run in world.seen.began if run.name == job.name}
        if world.seen.stored:
            meant = (nominal_s for name, nominal_s in world.seen.triggered if name == job.name)
            others = {nominal_s: decide(nominal_s).chosen_s or 0 for nominal_s in meant} | others
        others.pop(said.nominal_s, None)
        active_until_s = max(others.values(), default=0) + job.takes_s + max(of.down_s, SLACK_S)
        if active_until_s < (decide(said.nominal_s).chosen_s or 0):
            yield f"{_period(said)} is skipped, and no other run was active"


def _explained(seen: Seen) -> Iterator[str]:
    """Every run was announced, and every decision that was logged holds.

    Where few jobs are due at once, as in these lives, a run is announced before it begins.
    """
    for began in seen.began:
        if (began.name, began.nominal_s) not in seen.triggered:
            yield f"{_period(began)} began unannounced"
    for decision in seen.decided:
        if decision != decide_at(decision.schedule, decision.identity, decision.nominal_s):
            yield f"the decision for {decision.identity} {decision.period_id} does not follow"


def _together(of: Life, seen: Seen) -> Iterator[str]:
    """With forbid and replace no two runs of a job go on together."""
    if of.has(FaultKind.TWO_LEADERS):
        return  # neither of them knows what the other is about to do
    for job in of.jobs:
        if Concurrency.ALLOW in _policies(of, job.name):
            continue
        for began in seen.began:
            if began.name == job.name and began.others_active:
                yield f"{_period(began)} started beside {began.others_active} others"


def _left_over(of: Life, world: World) -> Iterator[str]:
    """Nothing that was due long ago is open, and no intent is left."""
    now_s = world.now_s
    began = {(run.name, run.nominal_s) for run in world.seen.began}
    for job in of.jobs:
        schedule = _schedules(of, job.name)[-1]
        ledger = world.stored(job.name)
        if ledger is None:
            yield f"{job.name} has no state"
            continue
        engine_job = Job(world.identity(job.name), schedule)
        for intent in ledger.starting:
            # A run that goes on is the proof of itself: its intent may be stored until it ends.
            is_open = (job.name, intent.nominal_s) not in began
            if is_open and intent.chosen_s < now_s - RECENT_S:
                yield f"{job.name}: the intent for {to_text(intent.nominal_s)} has no end"
        if not schedule.policy.suspend:
            found = survey(engine_job, ledger, now_s - RECENT_S, {})
            for decision in found.due:
                yield f"{job.name}: {decision.period_id} was due and has no end"


def _policies(of: Life, name: str) -> set[Concurrency]:
    """What the job's concurrency is at one time or another."""
    return {schedule.policy.concurrency for schedule in _schedules(of, name)}


def _schedules(of: Life, name: str) -> list[Schedule]:
    """The schedules of a job, one after the other."""
    texts = [job.schedule for job in of.jobs if job.name == name]
    texts += [each.schedule for each in of.events if isinstance(each, Edit) and each.name == name]
    return [_schedule(text) for text in texts]


_schedule = lru_cache(maxsize=64)(parse_schedule)


def _period(of: Began | Said) -> str:
    return f"{of.name} {to_text(of.nominal_s)}"
