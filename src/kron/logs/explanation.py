"""The explanation of a decision in words, as a block of records (seed 002, explanation mode)."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.decision import Decision, Trace
from kron.core.duration import format_duration
from kron.core.instant import DAY_S, to_date, to_text
from kron.core.schedule import UTC_ZONE, Schedule
from kron.logs.decisions import traced
from kron.logs.event import Event
from kron.logs.record import Record, record


def explain_records(
    made: Decision | Trace, *, namespace: str, name: str, time_ns: int
) -> Iterator[Record]:
    """`explain_start`, the steps, `explain_result` and `explain_end`, to be written together."""
    kept = traced(made)
    decision = kept.decision
    job = {"namespace": namespace, "name": name, "period": decision.period_id}
    chosen = None if decision.chosen_s is None else to_text(decision.chosen_s)
    yield record(Event.EXPLAIN_START, time_ns, **job)
    for detail in explain_steps(kept):
        yield record(Event.EXPLAIN_STEP, time_ns, detail=detail, **job)
    yield record(
        Event.EXPLAIN_RESULT, time_ns, chosen=chosen, reason=decision.reason or None, **job
    )
    yield record(Event.EXPLAIN_END, time_ns, **job)


def explain_steps(made: Trace) -> Iterator[str]:
    """What was done, one thing after the other; times of day are those of the schedule's zone."""
    decision = made.decision
    schedule = decision.schedule
    wall = _Wall(schedule, decision.nominal_s)
    zone = "" if schedule.zone == UTC_ZONE else f" {schedule.zone.key}"
    local = f" ({wall.time(decision.nominal_s)}{zone})" if zone else ""
    yield f"cron resolved nominal time {decision.period_id}{local}"
    window = schedule.window
    first, last = wall.time(decision.window_start_s), wall.time(decision.window_end_s)
    yield f"window {window.mode} {format_duration(window.duration_ns)} => [{first},{last}]{zone}"
    salt = f" with salt {schedule.seed.salt}" if schedule.seed.salt else ""
    yield f"{schedule.seed.strategy} seed of {decision.period_key}{salt} => {decision.seed_hash}"
    for draw in made.draws:
        selected = f"{schedule.distribution.name} distribution selected {draw.x:.4f}"
        second = wall.time(draw.candidate_s, seconds=True)
        yield f"{selected} => {second}{wall.verdict(draw.rejection)}"
    if not made.draws:
        second = wall.time(decision.window_start_s, seconds=True)
        yield f"the window has one second => {second}{wall.verdict(made.rejection)}"
    if decision.unschedulable and made.draws:
        yield f"{schedule.constraints} accepted none of {decision.attempts} candidates"


class _Wall:
    """Times of day in a schedule's zone, with the day where it is not that of the period."""

    __slots__ = ("_day", "_schedule")

    def __init__(self, schedule: Schedule, nominal_s: int) -> None:
        self._schedule = schedule
        self._day = schedule.zone.wall_at(nominal_s) // DAY_S

    def time(self, instant_s: int, *, seconds: bool = False) -> str:
        day, second = divmod(self._schedule.zone.wall_at(instant_s), DAY_S)
        minute, second = divmod(second, 60)
        date = "" if day == self._day else f"{to_date(day)} "
        tail = f":{second:02d}" if second or seconds else ""
        return f"{date}{minute // 60:02d}:{minute % 60:02d}{tail}"

    def verdict(self, rejection: str | None) -> str:
        if not self._schedule.constraints:
            return ""
        return ", accepted" if rejection is None else f", rejected: {rejection}"
