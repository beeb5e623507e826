"""The promises: what has to hold of the periods of a life, judged by what was seen from outside."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial

from kron.core.decision import Decision, decide_at
from kron.core.instant import to_text
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.core.schedule import Schedule
from kron.engine.actions import GIVEN_UP_BEFORE, SUPERSEDED, SUSPENDED, Outcome
from kron.engine.job import Job
from kron.engine.ledger import Ledger
from kron.engine.survey import survey
from kron.krond.control.orders import FORGOTTEN
from kron.krond.enrolment.enrolment import REMOVED
from kron.krond.process.failure import StartStage, reason
from kron.testing.life import (
    MANY_JOBS,
    SLOW_S,
    START_S,
    Edit,
    FaultKind,
    Life,
)
from kron.testing.run_promises import broken_for_runs
from kron.testing.world import REFUSED, SLACK_S, Began, Said, Seen, World

RECENT_S = 40
"""What came due as recently as this may still be under way when a life ends."""
MOST_EFFECTS_A_SECOND = 1
"""Far more than any life needs; a loop that does not come to rest has more."""


_STARTED_BEFORE = reason(StartStage.PROOF, errno.EEXIST)


class BrokenPromiseError(AssertionError):
    """A promise did not hold. The message repeats the life."""


def check(of: Life, world: World) -> None:
    """Whether everything that Kron promises held in this life."""
    for problem in _problems(of, world):
        raise BrokenPromiseError(problem)


def _problems(of: Life, world: World) -> Iterator[str]:
    yield from _twice("started", world.seen.began, world.seen)
    yield from _ends(of, world.seen)
    yield from _owed_to_nobody(of, world.seen)
    yield from _unheard(of, world)
    yield from _late(of, world.seen)
    yield from _skipped(of, world)
    yield from _explained(of, world.seen)
    yield from _together(of, world.seen)
    yield from _left_over(of, world)
    yield from _once_a_boot(of, world.seen)
    yield from broken_for_runs(of, world)
    most = (of.lasts_s + of.last_look_s) * MOST_EFFECTS_A_SECOND * len(of.jobs) + 50
    if world.effects.count > most:
        yield f"{world.effects.count} effects, more than {most}"


def _twice(what: str, events: Iterable[Began | Said], seen: Seen) -> Iterator[str]:
    """At most one start, and one end without a run, for each job and period."""
    last: dict[tuple[str, int], Began | Said] = {}
    for event in events:
        before = last.get((event.name, event.nominal_s))
        if before is not None and not _is_forgotten(before, event, seen):
            yield f"{_period(event)} {what} twice: {before} and {event}"
        last[event.name, event.nominal_s] = event


def _is_forgotten(before: Began | Said, after: Began | Said, seen: Seen) -> bool:
    """Whether the job was forgotten in between, when the period was still to come."""
    forgotten_s = seen.forgotten.get(after.name, [])[before.era : after.era]
    # An announcement of a skip does not say when the period was due.
    return any(after.chosen_s is None or at_s < after.chosen_s for at_s in forgotten_s)


def _ends(of: Life, seen: Seen) -> Iterator[str]:
    """A period has one outcome.

    Of two that both lead, neither knows what the other has announced, or asked for.
    """
    if of.has(FaultKind.TWO_LEADERS):
        return
    started = {(began.name, began.nominal_s): began for began in seen.began}
    for said in seen.said:
        began = started.get((said.name, said.nominal_s))
        if began is None:
            continue
        before, after = (began, said) if began.era < said.era else (said, began)
        if not _is_forgotten(before, after, seen):
            yield f"{_period(said)} was started, and is {said.outcome}: {said.reason}"
    yield from _twice("ended", seen.said, seen)


def _owed_to_nobody(of: Life, seen: Seen) -> Iterator[str]:
    """Nothing starts that came due while the job was not configured, or was forgotten since."""
    if not of.clock_is_true:
        return
    slow_s = 2 * SLOW_S if of.has(FaultKind.STORE_SLOW) else 0
    for began in seen.began:
        due_s = began.nominal_s if began.chosen_s is None else began.chosen_s
        for from_s, until_s in seen.absent.get(began.name, ()):
            if from_s < due_s and (until_s is None or due_s < until_s):
                yield f"{_period(began)} started, though the job was not configured when it was due"
            # What came due before is started before the configuration changes.
            if from_s + slow_s < began.at_s and (until_s is None or began.at_s < until_s):
                yield f"{_period(began)} started, though the job was no longer configured"
        if any(due_s < at_s for at_s in seen.forgotten.get(began.name, [])[: began.era]):
            yield f"{_period(began)} started, though the job was forgotten since it was due"


def _unheard(of: Life, world: World) -> Iterator[str]:
    """Every period that came due has a run, or an announcement says why it has none.

    A crash may come between the moment that stores an end and the one that announces it.
    """
    seen = world.seen
    heard = {(began.name, began.nominal_s) for began in seen.began}
    heard |= {(said.name, said.nominal_s) for said in seen.said}
    # Of a run that was about to start when the host lost power, nobody knows whether it began.
    for exited in seen.exited:
        period = exited.name, exited.nominal_s or 0
        if exited.nominal_s is not None and period not in heard:
            heard.add(period)
            if not seen.losses_of_power:
                yield f"{exited.name} {to_text(exited.nominal_s)} has ended, and never began"
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
    edits = [event.at_s for event in of.changes(name)]
    if edits and not (of.clock_is_true and not was_lost):
        return
    if edits:  # one that comes while the adapter is down owes nothing from before
        until_s = min(until_s, START_S + edits[0], *world.seen.crashed_s)
    for decision in _due(world.identity(name), schedule, since_s, until_s - RECENT_S):
        if decision.chosen_s is not None and not _may_wait(of, world, name, decision.chosen_s):
            yield decision


@lru_cache(maxsize=64)  # most crashes of a life leave it what it was
def _due(identity: str, schedule: Schedule, since_s: int, until_s: int) -> tuple[Decision, ...]:
    """What comes due for a job of which nothing has ended."""
    nothing = Ledger(schedule=identity, since_s=since_s)
    return survey(Job(identity, schedule), nothing, until_s, {}).due


def _may_wait(of: Life, world: World, name: str, chosen_s: int) -> bool:
    """Whether a run may still wait for others to end."""
    longest_s = max(schedule.terms.deadline_s for schedule in _schedules(of, name))
    return bool(of.most_running) and chosen_s + longest_s + RECENT_S >= world.now_s


def _has_ended(ledger: Ledger | None, nominal_s: int) -> bool:
    if ledger is None or any(intent.nominal_s == nominal_s for intent in ledger.starting):
        return False
    return ledger.is_handled(nominal_s)


def _late(of: Life, seen: Seen) -> Iterator[str]:
    """Nothing is missed that its deadline allows, and nothing starts after its deadline."""
    for said in seen.said:
        if said.outcome != Outcome.MISSED or _is_withdrawn(of, said, seen):
            continue
        late_s = said.at_s - (said.nominal_s if said.chosen_s is None else said.chosen_s)
        # A run that was decided on keeps the deadline that it had, whatever is edited meanwhile.
        allowed_s = min(schedule.terms.deadline_s for schedule in _schedules(of, said.name))
        if late_s <= allowed_s:
            yield f"{_period(said)} is missed {late_s} s late, with {allowed_s} s allowed"
    if not of.clock_is_true or of.has(FaultKind.ARRIVES_LATE):
        return
    grace_s = 1 + (SLOW_S if of.has(FaultKind.STORE_SLOW) else 0)  # to store it before it starts
    for began in seen.began:
        schedules = _schedules(of, began.name)
        allowed_s = max(each.terms.softened_s(SLACK_S) for each in schedules) + grace_s
        # How long the run that it replaces takes to end does not count.
        is_replacing = Concurrency.REPLACE in _policies(of, began.name)
        if not is_replacing and began.at_s > (began.chosen_s or began.nominal_s) + allowed_s:
            yield f"{_period(began)} started at {to_text(began.at_s)}, after its deadline"


def _is_withdrawn(of: Life, said: Said, seen: Seen) -> bool:
    """Whether it is missed for another reason than that it is late."""
    return (
        said.reason in (SUPERSEDED, SUSPENDED)
        or (said.reason == GIVEN_UP_BEFORE and bool(seen.crashed_s or seen.away_s))
        or (said.reason == REMOVED and said.name in seen.absent)
        or (said.reason in (FORGOTTEN, _STARTED_BEFORE) and said.name in seen.forgotten)
        or (REFUSED in said.reason and of.has(FaultKind.START_REFUSED))
    )


def _skipped(of: Life, world: World) -> Iterator[str]:
    """A period is skipped for a run that was active when it came due, or about to start.

    Where starts fail, that run may never have begun, and after a crash it may be too late for it.
    """
    is_plain = not (of.loses_power or of.most_running or set(map(type, of.events)) - {Edit})
    if not is_plain:
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


def _explained(of: Life, seen: Seen) -> Iterator[str]:
    """Every run was announced, and every decision that was logged holds.

    Where few jobs are due at once, a run is announced before it begins, else soon after.
    """
    is_held = len(of.jobs) >= MANY_JOBS and seen.crashed_s
    for began in seen.began if not is_held else ():
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
        for manual in seen.began_manually:
            if manual.name == job.name and manual.others_active:
                yield f"{job.name} was started by hand beside {manual.others_active} others"


def _left_over(of: Life, world: World) -> Iterator[str]:
    """Nothing that was due long ago is open, and no intent is left."""
    now_s = world.now_s
    began = {(run.name, run.nominal_s) for run in world.seen.began}
    for job in of.jobs:
        schedule = _schedules(of, job.name)[-1]
        ledger = world.stored(job.name)
        if world.seen.is_abandoned(job.name):
            continue
        if ledger is None:
            yield f"{job.name} has no state"
            continue
        engine_job = Job(world.identity(job.name), schedule)
        for intent in ledger.starting:
            # A run that goes on is the proof of itself: its intent may be stored until it ends.
            is_open = (job.name, intent.nominal_s) not in began
            if _may_wait(of, world, job.name, intent.chosen_s):
                continue
            if is_open and intent.chosen_s < now_s - RECENT_S:
                yield f"{job.name}: the intent for {to_text(intent.nominal_s)} has no end"
        if not schedule.policy.suspend and not world.seen.is_absent(job.name):
            found = survey(engine_job, ledger, now_s - RECENT_S, {})
            for decision in found.due:
                yield f"{job.name}: {decision.period_id} was due and has no end"


def _once_a_boot(of: Life, seen: Seen) -> Iterator[str]:
    """A job that is `@reboot` all the time runs once in each boot, if nothing keeps it from it."""
    for job in of.jobs:
        schedules = _schedules(of, job.name)
        if not all(schedule.is_at_boot for schedule in schedules):
            continue
        boots, runs = 1 + seen.losses_of_power, sum(run.name == job.name for run in seen.began)
        if runs > boots:
            yield f"{job.name} ran {runs} times in {boots} boots"
        policy = schedules[0].policy
        is_held = policy.suspend or policy.deadline_ns or of.loses_power or of.most_running
        if not (is_held or of.events or runs):
            yield f"{job.name} did not run"


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
