"""Which period a moment means: the one due then, chosen for then, open then, or the next."""

from __future__ import annotations

from enum import StrEnum

from kron.core.decision import Decision, decide_at, trace
from kron.core.frozen import Frozen
from kron.core.instant import out_of_range
from kron.engine.agenda import agenda, open_periods
from kron.engine.job import Job
from kron.engine.survey import nominals_after


class Match(StrEnum):
    """How a period was found."""

    NOMINAL = "nominal"
    CHOSEN = "chosen"
    OPEN = "open"
    NEXT = "next"


MEANINGS = {
    Match.NOMINAL: "the period whose nominal instant this is",
    Match.CHOSEN: "the period chosen to run at this second",
    Match.OPEN: "the period open at this moment",
    Match.NEXT: "the next period after this moment",
}


class Found(Frozen):
    """A period, how it was found, and which others are open at the same moment."""

    decision: Decision
    match: Match
    others: tuple[Decision, ...]


def find_period(job: Job, at_s: int) -> Found:
    """The period that somebody who names this moment means."""
    opened = open_periods(job, at_s)

    def found(decision: Decision, match: Match) -> Found:
        others = (other for other in opened if other.nominal_s != decision.nominal_s)
        return Found(decision, match, tuple(others))

    if next(nominals_after(job, at_s - 1), None) == at_s:
        return found(decide_at(job.schedule, job.identity, at_s), Match.NOMINAL)
    for decision in opened:
        if decision.chosen_s == at_s:
            return found(decision, Match.CHOSEN)
    if opened:
        return found(opened[-1], Match.OPEN)
    coming = next(agenda(job, at_s), None)
    if coming is None:
        raise out_of_range("the next period")
    return found(coming, Match.NEXT)


def why_unschedulable(decision: Decision) -> str:
    """The reason, and what most of the candidates were rejected by."""
    from collections import Counter

    traced = trace(decision.schedule, identity=decision.identity, nominal=decision.nominal_time)
    rejections = [draw.rejection for draw in traced.draws] or [traced.rejection]
    (commonest, _), *_ = Counter(rejections).most_common(1)
    return f"{decision.reason}: {commonest}"
