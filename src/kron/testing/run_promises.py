"""The promises about runs: what is on record and heard of them, how many go on, and how long."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.engine.actions import Outcome
from kron.jobs.task import DEFAULT_GRACE_NS
from kron.krond.enrolment.enrolment import NOT_STARTED
from kron.testing.life import Life
from kron.testing.world import Kept, Seen, World

GRACE_S = DEFAULT_GRACE_NS // SECOND_NS


def broken_for_runs(of: Life, world: World) -> Iterator[str]:
    """What did not hold of the runs of this life."""
    for job in of.jobs:
        kept = world.kept(job.name)
        # What is left of the runs of a job that nobody looks after is dealt with if it comes back.
        if kept is not None and not world.seen.is_abandoned(job.name):
            yield from _manual(job.name, kept, world.seen)
            if job.name not in world.seen.forgotten:  # which takes its history with it
                yield from _recorded(job.name, kept, world.seen)
    began = [manual.run_id for manual in world.seen.began_manually]
    if len(set(began)) < len(began):
        yield f"one of the manual runs {began} started twice"
    yield from _limited(of, world)


def _manual(name: str, kept: Kept, seen: Seen) -> Iterator[str]:
    """How a manual run ended that was promised or began is on record, and was logged.

    A crash may come between the moment that stores an end and the one that logs it.
    """
    began = {manual.run_id for manual in seen.began_manually if manual.name == name}
    promised = {run_id for job, run_id in seen.accepted if job == name}
    heard = {exited.run_id for exited in seen.exited}
    heard |= {end.run_id for end in seen.kept_at_crashes(name)}
    for run_id in (began | promised) - kept.active:
        ends = [end for end in kept.ended if end.run_id == run_id]
        if not ends and not kept.is_full and name not in seen.forgotten:
            yield f"the manual run {run_id} of {name} is not on record"
        if run_id in began and any(end.reason == NOT_STARTED for end in ends):
            yield f"the manual run {run_id} of {name} started, but krond says that it did not"
        if run_id not in heard:
            yield f"nothing was heard of the end of the manual run {run_id} of {name}"


def _recorded(name: str, kept: Kept, seen: Seen) -> Iterator[str]:
    """How each period ended is on record once, and of every run that began an end was logged."""
    ends = [(end.nominal_s, end.outcome) for end in kept.ended if end.nominal_s is not None]
    periods = [nominal_s for nominal_s, _ in ends]
    for nominal_s, outcome in ends:
        if periods.count(nominal_s) > 1:
            yield f"{name} {to_text(nominal_s)} is on record twice, also as {outcome}"
    if kept.is_full:
        return
    said = {(said.nominal_s, said.outcome) for said in seen.said if said.name == name}
    exited = {each.nominal_s for each in seen.exited if each.name == name}
    said |= {(nominal_s, Outcome.EXECUTED.value) for nominal_s in exited if nominal_s is not None}
    for nominal_s, outcome in said.difference(ends):
        yield f"{name} {to_text(nominal_s)} is {outcome}, which is not on record"
    heard = exited | {end.nominal_s for end in seen.kept_at_crashes(name)}
    for began in seen.began if not kept.is_busy else ():
        if began.name == name and began.nominal_s not in heard:
            yield f"nothing was heard of the end of the run of {name} {to_text(began.nominal_s)}"


def _limited(of: Life, world: World) -> Iterator[str]:
    """No more runs go on at once than may, and none goes on for longer than it may."""
    seen = world.seen
    if seen.crashed_s and any(seen.absent.values()):
        return  # some may go on that nobody looks after
    if of.most_running and seen.most_running > of.most_running:
        yield f"{seen.most_running} runs went on at once, more than {of.most_running}"
    timeouts_s = {job.name: job.timeout_s for job in of.jobs}
    # Who adopts a run that is being stopped gives it its grace once more.
    more_s = GRACE_S * (1 + len(seen.crashed_s)) + seen.away_s + 1
    for run in world.lasted():
        timeout_s = timeouts_s[run.name]
        if timeout_s is not None and run.seconds > timeout_s + more_s:
            yield f"a run of {run.name} went on for {run.seconds} s, with a timeout of {timeout_s}"
