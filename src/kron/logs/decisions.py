"""A decision as records, in the order that seed 002 promises.

What a `decision` line says follows from three of its fields: `schedule`, `identity` and `nominal`.
`decision_values` is the one place that says how, for writing it and for checking it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kron.core.decision import ENGINE_VERSION, Decision, Trace, trace
from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import to_text
from kron.core.memo import Memo
from kron.core.schedule import Schedule
from kron.logs.event import Event, Level
from kron.logs.record import Record, joined, record
from kron.logs.text import text_pair
from kron.logs.timestamp import timestamp_text


def decision_records(
    made: Decision | Trace,
    *,
    namespace: str,
    name: str,
    time_ns: int,
    schedule_text: str,
    resource_uid: str = "",
    level: Level = Level.INFO,
) -> Iterator[Record]:
    """The decision and, where `level` is DEBUG, everything on the way to it.

    `schedule_text` is the whole text that was parsed, fuzzy or not: with the identity it is what
    the decision can be recomputed from.
    """
    decision = made.decision if isinstance(made, Trace) else made
    if level is Level.DEBUG:
        job = {"namespace": namespace, "name": name, "period": decision.period_id}
        yield _seed_computed(decision, time_ns, job, resource_uid)
        yield from _draws(traced(made), time_ns, job)
    event = Event.CONSTRAINT_UNSATISFIABLE if decision.unschedulable else Event.DECISION
    if event.level.reaches(level):
        values = decision_values(decision)
        values["namespace"] = joined(namespace)
        values["name"] = joined(name)
        values["identity"] = joined(decision.identity)
        values["schedule"] = joined(schedule_text)
        # Not by `record`: every field is there and is text, and a start logs one for each job.
        fields = tuple([(key, values[key]) for key in event.fields])
        yield Record(time_ns, event.level, event.component, event, fields)


def decision_text(
    decision: Decision, *, namespace: str, name: str, time_ns: int, schedule_text: str
) -> str:
    """The text line of a decision that has a chosen time, as its record would be written.

    In one go, in a third of the time: a start logs one for each job.
    """
    assert decision.chosen_s is not None  # another event tells of a period without one
    period = to_text(decision.nominal_s)
    mode, distribution, salt, zone, bounds, engine = _pieces_of_schedule(decision.schedule)
    return (
        f"{timestamp_text(time_ns)} level=INFO component=scheduler event=decision"
        f"{text_pair('namespace', joined(namespace))}{text_pair('name', joined(name))}"
        f" period={period} nominal={period}{mode}"
        f" window_start={to_text(decision.window_start_s)}"
        f" window_end={to_text(decision.window_end_s)}{distribution}"
        f" seed_hash={decision.seed_hash}{salt} chosen={to_text(decision.chosen_s)}{zone}"
        f"{text_pair('identity', joined(decision.identity))}"
        f"{_schedule_pair(schedule_text)}{bounds} attempts={decision.attempts}{engine}"
    )


@Memo
def _pieces_of_schedule(schedule: Schedule) -> tuple[str, ...]:
    """The fields between those that change, as they stand on a line."""
    values = _values_of_schedule(schedule)
    return tuple(
        "".join([text_pair(key, values[key]) for key in keys.split()])
        for keys in (
            "window_mode",
            "distribution dist_params seed_strategy",
            "salt",
            "timezone",
            "window_duration constraints",
            "engine",
        )
    )


@lru_cache(maxsize=4096)
def _schedule_pair(schedule_text: str) -> str:
    return text_pair("schedule", joined(schedule_text))


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


@Memo
def _values_of_schedule(schedule: Schedule) -> dict[str, str]:
    """Those that are the same for every period."""
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


def traced(made: Decision | Trace) -> Trace:
    """The decision with its draws, which are drawn again if they were not kept."""
    if isinstance(made, Trace):
        return made
    return trace(made.schedule, identity=made.identity, nominal=made.nominal_time)


def _seed_computed(
    decision: Decision, time_ns: int, job: dict[str, str], resource_uid: str
) -> Record:
    seed = decision.schedule.seed
    return record(
        Event.SEED_COMPUTED,
        time_ns,
        **job,
        seed_strategy=seed.strategy,
        resource_uid=resource_uid,
        period_key=decision.period_key,
        salt=seed.salt,
        seed_hash=decision.seed_hash,
        identity=decision.identity,
    )


def _draws(traced: Trace, time_ns: int, job: dict[str, str]) -> Iterator[Record]:
    """A `sample` for each draw, each followed by what refused it."""
    distribution = traced.decision.schedule.distribution.name
    for attempt, draw in enumerate(traced.draws, 1):
        candidate = to_text(draw.candidate_s)
        yield record(
            Event.SAMPLE,
            time_ns,
            **job,
            distribution=distribution,
            raw_value=draw.u,
            mapped_offset_ns=draw.offset_s * SECOND_NS,
            candidate=candidate,
            attempt=attempt,
        )
        if draw.rejection is not None:
            yield _rejected(time_ns, job, candidate, draw.rejection)
    if traced.rejection is not None:
        only_second = to_text(traced.decision.window_start_s)
        yield _rejected(time_ns, job, only_second, traced.rejection)


def _rejected(time_ns: int, job: dict[str, str], candidate: str, reason: str) -> Record:
    return record(Event.CONSTRAINT_REJECT, time_ns, **job, candidate=candidate, reason=reason)
