"""A decision as records: `seed_computed`, each `sample`, each `constraint_reject`, the decision.

Its explanation in words is a block of records too.

Every other field of a `decision` line follows from three of them: `schedule`, `identity` and
`nominal`. `decision_values` alone computes them, for writing a line and for checking it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kron.core.decision import ENGINE_VERSION, Decision, Trace, trace
from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import DAY_S, optional_text, to_date, to_text
from kron.core.memo import remembered
from kron.core.schedule import UTC_ZONE, Schedule
from kron.logs.event import Event, Level
from kron.logs.record import Record, joined, record


def decision_records(
    decision: Decision,
    *,
    namespace: str,
    name: str,
    time_ns: int,
    schedule_text: str,
    resource_uid: str = "",
    level: Level = Level.INFO,
) -> Iterator[Record]:
    """The decision and, where `level` is DEBUG, everything on the way to it.

    `schedule_text` is the whole text that was parsed, fuzzy or not: replay recomputes the decision
    from it and the identity.
    """
    if level is Level.DEBUG:
        job = {"namespace": namespace, "name": name, "period": decision.period_id}
        yield from _steps(decision, time_ns, job, resource_uid)
    event = Event.CONSTRAINT_UNSATISFIABLE if decision.unschedulable else Event.DECISION
    if event.level.reaches(level):
        values = decision_values(decision)
        values["namespace"] = joined(namespace)
        values["name"] = joined(name)
        values["identity"] = joined(decision.identity)
        values["schedule"] = joined(schedule_text)
        # Not by `record`: no field is missing and all are text, and a start logs one for each job.
        fields = tuple([(key, values[key]) for key in event.fields])
        yield Record(time_ns, event.level, event.component, event, fields)


def decision_values(decision: Decision) -> dict[str, str]:
    """Every field of a decision's line that follows from schedule, identity and nominal."""
    period = to_text(decision.nominal_s)
    return {
        **_values_of_schedule(decision.schedule),
        "period": period,
        "nominal": period,
        "window_start": to_text(decision.window_start_s),
        "window_end": to_text(decision.window_end_s),
        "seed_hash": decision.seed_hash,
        "chosen": "" if decision.chosen_s is None else to_text(decision.chosen_s),
        "attempts": str(decision.attempts),
        "reason": decision.reason,
    }


@remembered
def _values_of_schedule(schedule: Schedule) -> dict[str, str]:
    """The fields that are the same for every period."""
    return {
        "window_mode": str(schedule.window.mode),
        "distribution": schedule.distribution.name,
        "dist_params": schedule.distribution.parameters(),
        "seed_strategy": str(schedule.seed.strategy),
        "salt": joined(schedule.seed.salt),
        "timezone": schedule.zone.key,
        "window_duration": format_duration(schedule.window.duration_ns),
        "constraints": str(schedule.constraints),
        "engine": str(ENGINE_VERSION),
    }


def explain_records(
    decision: Decision, *, namespace: str, name: str, time_ns: int
) -> Iterator[Record]:
    """`explain_start`, the steps, `explain_result` and `explain_end`, as one block."""
    job = {"namespace": namespace, "name": name, "period": decision.period_id}
    chosen = optional_text(decision.chosen_s)
    yield record(Event.EXPLAIN_START, time_ns, **job)
    for detail in explain_steps(_traced(decision)):
        yield record(Event.EXPLAIN_STEP, time_ns, detail=detail, **job)
    yield record(
        Event.EXPLAIN_RESULT, time_ns, chosen=chosen, reason=decision.reason or None, **job
    )
    yield record(Event.EXPLAIN_END, time_ns, **job)


def explain_steps(made: Trace) -> Iterator[str]:
    """The steps to the decision, in order. Times of day are in the schedule's zone."""
    decision = made.decision
    schedule = decision.schedule
    wall = partial(_wall_time, schedule, decision.nominal_s)
    zone = "" if schedule.zone == UTC_ZONE else f" {schedule.zone.key}"
    local = f" ({wall(decision.nominal_s)}{zone})" if zone else ""
    source = "boot" if schedule.is_at_boot else "cron"
    yield f"{source} resolved nominal time {decision.period_id}{local}"
    window = schedule.window
    first, last = wall(decision.window_start_s), wall(decision.window_end_s)
    yield f"window {window.mode} {format_duration(window.duration_ns)} => [{first},{last}]{zone}"
    salt = f" with salt {schedule.seed.salt}" if schedule.seed.salt else ""
    yield f"{schedule.seed.strategy} seed of {decision.period_key}{salt} => {decision.seed_hash}"
    for draw in made.draws:
        selected = f"{schedule.distribution.name} distribution selected {draw.x:.4f}"
        second = wall(draw.candidate_s, seconds=True)
        yield f"{selected} => {second}{_verdict(schedule, draw.rejection)}"
    if not made.draws:
        second = wall(decision.window_start_s, seconds=True)
        yield f"the window has one second => {second}{_verdict(schedule, made.rejection)}"
    if decision.unschedulable and made.draws:
        yield f"{schedule.constraints} accepted none of {decision.attempts} candidates"


def _wall_time(schedule: Schedule, nominal_s: int, instant_s: int, *, seconds: bool = False) -> str:
    """The time of day in the schedule's zone, with the date if it is not that of the period."""
    day, second = divmod(schedule.zone.wall_at(instant_s), DAY_S)
    minute, second = divmod(second, 60)
    date = "" if day == schedule.zone.wall_at(nominal_s) // DAY_S else f"{to_date(day)} "
    tail = f":{second:02d}" if second or seconds else ""
    return f"{date}{minute // 60:02d}:{minute % 60:02d}{tail}"


def _verdict(schedule: Schedule, rejection: str | None) -> str:
    if schedule.constraints.is_empty:
        return ""
    return ", accepted" if rejection is None else f", rejected: {rejection}"


def _traced(decision: Decision) -> Trace:
    """The decision with its draws, made again."""
    return trace(decision.schedule, identity=decision.identity, nominal=decision.nominal_time)


def _steps(
    decision: Decision, time_ns: int, job: dict[str, str], resource_uid: str
) -> Iterator[Record]:
    """The seed, then a `sample` for each draw, each with its `constraint_reject` if refused."""
    schedule = decision.schedule
    yield record(
        Event.SEED_COMPUTED,
        time_ns,
        **job,
        seed_strategy=schedule.seed.strategy,
        resource_uid=resource_uid,
        period_key=decision.period_key,
        salt=schedule.seed.salt,
        seed_hash=decision.seed_hash,
        identity=decision.identity,
    )
    rejected = partial(record, Event.CONSTRAINT_REJECT, time_ns, **job)
    traced = _traced(decision)
    for attempt, draw in enumerate(traced.draws, 1):
        candidate = to_text(draw.candidate_s)
        yield record(
            Event.SAMPLE,
            time_ns,
            **job,
            distribution=schedule.distribution.name,
            raw_value=draw.u,
            mapped_offset_ns=draw.offset_s * SECOND_NS,
            candidate=candidate,
            attempt=attempt,
        )
        if draw.rejection is not None:
            yield rejected(candidate=candidate, reason=draw.rejection)
    if traced.rejection is not None:  # of the only second of the window, which needs no draw
        yield rejected(candidate=to_text(decision.window_start_s), reason=traced.rejection)
