"""A listing: the next runs of one job, or the next run of each of many; as a table or as JSON.

For many jobs, the command adds the other columns, such as the file or the last outcome.
"""

from __future__ import annotations

from itertools import islice

from kron.answers.subject import Subject
from kron.answers.times import distance, local_text, local_time
from kron.core.decision import Decision, trace
from kron.core.instant import optional_text, to_text
from kron.engine.agenda import agenda, next_run
from kron.engine.job import Job
from kron.engine.survey import due_s

NEXT_RUN, IN = "NEXT RUN (UTC)", "IN"
AT_BOOT = "at the next boot"


def next_of(job: Job, at_s: int) -> Decision | None:
    """The next run of a job; None if it is suspended or has none soon."""
    return None if job.schedule.policy.suspend else next_run(job, at_s)


def next_first(decision: Decision | None) -> tuple[bool, int]:
    """A sort key: the next run first, jobs without one last."""
    return decision is None, 0 if decision is None else due_s(decision)


def next_cells(job: Job, decision: Decision | None, at_s: int) -> tuple[str, str]:
    """The cells NEXT_RUN and IN of a row."""
    if decision is None and job.schedule.policy.suspend:
        return "suspended", ""
    if decision is None:
        return AT_BOOT if job.schedule.is_at_boot else "none soon", ""
    return to_text(due_s(decision)), distance(due_s(decision) - at_s)


def next_fields(decision: Decision | None) -> dict[str, str | None]:
    return {
        "next_period": None if decision is None else decision.period_id,
        "next_run": None if decision is None else to_text(due_s(decision)),
    }


def coming_table(
    subject: Subject, at_s: int, count: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The next runs from `at_s` on, at most `count`: the names of the columns, and the rows."""
    zone = subject.schedule.zone
    rows: list[tuple[str, ...]] = []
    for decision in islice(agenda(subject.job, at_s), count):
        if (chosen_s := decision.chosen_s) is None:
            cells = "unschedulable", _why_unschedulable(decision), ""
        else:
            cells = to_text(chosen_s), local_text(chosen_s, zone), distance(chosen_s - at_s)
        rows.append((decision.period_id, *cells))
    return ("PERIOD", "RUNS AT (UTC)", f"LOCAL ({zone.key})", "IN"), rows


def coming_document(subject: Subject, at_s: int, count: int) -> dict[str, object]:
    """The same for scripts. The command adds the name of its schema."""
    return {
        "at": to_text(at_s),
        "job": subject.name,
        "identity": subject.identity,
        "schedule": subject.schedule_text,
        "timezone": subject.schedule.zone.key,
        "suspended": subject.schedule.policy.suspend,
        "at_boot": subject.schedule.is_at_boot,
        "runs": [
            {
                "period": decision.period_id,
                "window_start": to_text(decision.window_start_s),
                "window_end": to_text(decision.window_end_s),
                "chosen": optional_text(decision.chosen_s),
                "local": None
                if decision.chosen_s is None
                else local_time(decision.chosen_s, subject.schedule.zone).isoformat(),
                "in_seconds": due_s(decision) - at_s,
                "unschedulable": decision.unschedulable,
                "reason": _why_unschedulable(decision) if decision.unschedulable else "",
            }
            for decision in islice(agenda(subject.job, at_s), count)
        ],
    }


def _why_unschedulable(decision: Decision) -> str:
    """The reason, and what rejected most of the candidates."""
    from collections import Counter

    traced = trace(decision.schedule, identity=decision.identity, nominal=decision.nominal_time)
    rejections = [draw.rejection for draw in traced.draws] or [traced.rejection]
    (commonest, _), *_ = Counter(rejections).most_common(1)
    return f"{decision.reason}: {commonest}"
