"""Which periods a step has to think about: due ones, the next ones, and a bulk of old ones.

After ten years of downtime there may be five million overdue periods. Only the latest could still
run, so the old ones are counted without being visited; the periods that get a decision are those
whose windows reach the latest one, and a few more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from kron.core.decision import Decision, decide_at
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.engine.actions import SettleMany
from kron.engine.job import Job
from kron.engine.ledger import Ledger

LOOK_BACK = 32
"""How many overdue periods get a decision besides those that were open together. More than one,
because the latest may be unschedulable and an older one still within its deadline."""

_FEW_S = (LOOK_BACK - 2) * 60
"""A span this long has at most `LOOK_BACK` periods, even where a zone changes its offset."""


class Survey(Frozen):
    """The periods above the ledger's watermark, in nominal order but for `due`."""

    bulk: SettleMany | None
    """Overdue periods without a decision, if any of them is owed."""
    examined_s: tuple[int, ...]
    """The nominal instants that were looked at one by one."""
    due: tuple[Decision, ...]
    """Owed and not handled, in the order in which they came due."""
    pending: tuple[Decision, ...]
    """To come: at least the one that comes due next."""
    lapsed: tuple[Decision, ...]
    """Not handled, but chosen before the job existed, so not owed."""


def due_s(decision: Decision) -> int:
    """When a period is to be dealt with: when chosen or, if unschedulable, as its window closes."""
    return decision.window_end_s if decision.chosen_s is None else decision.chosen_s


def survey(job: Job, ledger: Ledger, now_s: int, known: dict[int, Decision]) -> Survey:
    """Sort the open periods of `job`; `known` holds decisions that need not be made again."""
    # Up to `low_s` every period is handled, or closed before the job existed.
    closed_s = ledger.since_s - job.trail_s - 1
    low_s = max(closed_s, ledger.handled_through_s or closed_s)
    bulk = _bulk(job, ledger, now_s, low_s)
    examined_s: list[int] = []
    due: list[Decision] = []
    pending: list[Decision] = []
    lapsed: list[Decision] = []
    wake_s: int | None = None
    for nominal_s in nominals_after(job, low_s if bulk is None else bulk.last_s):
        if wake_s is not None and nominal_s - job.lead_s > wake_s:
            break  # neither this one nor a later one can come due before
        examined_s.append(nominal_s)
        if ledger.is_handled(nominal_s):
            continue
        decision = known.get(nominal_s) or decide_at(job.schedule, job.identity, nominal_s)
        when_s = due_s(decision)
        if when_s < ledger.since_s:
            lapsed.append(decision)
        elif when_s <= now_s:
            due.append(decision)
        else:
            pending.append(decision)
            wake_s = when_s if wake_s is None else min(wake_s, when_s)
    due.sort(key=lambda decision: (due_s(decision), decision.nominal_s))
    owed = bulk if bulk is not None and bulk.count else None
    return Survey(owed, tuple(examined_s), tuple(due), tuple(pending), tuple(lapsed))


def chosen_between(job: Job, first_s: int, last_s: int) -> list[Decision]:
    """The decisions whose chosen times are in [first_s, last_s], handled or not."""
    nominals = nominals_between(job, first_s - job.trail_s, last_s + job.lead_s + 1)
    decisions = (decide_at(job.schedule, job.identity, nominal_s) for nominal_s in nominals)
    return [d for d in decisions if d.chosen_s is not None and first_s <= d.chosen_s <= last_s]


def _bulk(job: Job, ledger: Ledger, now_s: int, low_s: int) -> SettleMany | None:
    """The overdue periods that are certainly not the latest, if they are too many to look at.

    Its count is of those that are owed, which may be none.
    """
    if now_s - job.trail_s - job.schedule.width_s - low_s <= _FEW_S:
        return None  # the span is too short for more
    nominals = job.schedule.nominals
    try:
        closed_s = nominals.at_or_before(now_s - job.trail_s)
        # What closed before this one opened was chosen earlier.
        looked_at_from_s = closed_s - job.schedule.width_s
        if nominals.count(low_s, looked_at_from_s - 1) <= LOOK_BACK:
            return None
        for _ in range(LOOK_BACK):
            looked_at_from_s = nominals.at_or_before(looked_at_from_s - 1)
        last_s = nominals.at_or_before(looked_at_from_s - 1)
    except KronError:
        return None  # before the first year that Kron covers nothing was due
    handled = {
        nominal_s
        for nominal_s in ledger.handled_s
        if low_s < nominal_s <= last_s and nominals.at_or_before(nominal_s) == nominal_s
    }
    lapsed = _lapsed(job, ledger, low_s, min(last_s, ledger.since_s + job.lead_s)) - handled
    ended = handled | lapsed
    return SettleMany(
        nominals.count(low_s, last_s) - len(ended),
        next(nominal_s for nominal_s in nominals_after(job, low_s) if nominal_s not in ended),
        last_s,
    )


def _lapsed(job: Job, ledger: Ledger, after_s: int, until_s: int) -> set[int]:
    """The periods in (after_s, until_s] that were chosen before the job existed."""
    nominals = nominals_between(job, after_s + 1, until_s + 1)
    decisions = (decide_at(job.schedule, job.identity, nominal_s) for nominal_s in nominals)
    return {d.nominal_s for d in decisions if due_s(d) < ledger.since_s}


def nominals_after(job: Job, instant_s: int) -> Iterator[int]:
    """The nominal instants > `instant_s`, as far as Kron's years go."""
    try:
        while True:
            instant_s = job.schedule.nominals.after(instant_s)
            yield instant_s
    except KronError:
        return


def nominals_between(job: Job, first_s: int, end_s: int) -> Iterator[int]:
    """The nominal instants in [first_s, end_s)."""
    return takewhile(lambda nominal_s: nominal_s < end_s, nominals_after(job, first_s - 1))
