"""An explanation: one decision in full, as a person reads it or as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from kron.console.drawing import time_line
from kron.console.periods import MEANINGS, Found, find_period
from kron.console.subject import Subject
from kron.console.terminal import Terminal
from kron.console.times import local_text
from kron.core.decision import ENGINE_VERSION, MAX_ATTEMPTS, Draw, Trace, trace
from kron.core.duration import SECOND_NS, format_duration
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.words import describe, describe_distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _ActionsContainer
    from typing import Any

SHOWN_DRAWS = 12
"""How many draws are shown unless all are asked for."""


class Explanation(Frozen):
    """The period that a moment means for a subject, with every draw of its decision."""

    subject: Subject
    at_s: int
    found: Found
    traced: Trace


def add_all_draws(parser: _ActionsContainer) -> None:
    """`--all-draws`."""
    parser.add_argument(
        "--all-draws",
        action="store_true",
        help=f"show every draw, not the first {SHOWN_DRAWS} only",
    )


def explain(subject: Subject, at_s: int) -> Explanation:
    """The explanation of the period that somebody who names this moment means."""
    found = find_period(subject.job, at_s)
    nominal = found.decision.nominal_time
    traced = trace(subject.schedule, identity=subject.identity, nominal=nominal)
    return Explanation(subject, at_s, found, traced)


def explanation_lines(
    explanation: Explanation, terminal: Terminal, *, all_draws: bool
) -> Iterator[str]:
    """The decision as a person reads it, with a drawing of its window."""
    subject, at_s = explanation.subject, explanation.at_s
    found, traced = explanation.found, explanation.traced
    decision = traced.decision
    schedule = subject.schedule
    zone = schedule.zone

    def row(label: str, text: str) -> str:
        return f"  {terminal.styled(f'{label:12}', 'dim')}{text}".rstrip()

    yield f"{terminal.styled(subject.name, 'bold')}  {subject.place}"
    yield row("identity", subject.identity)
    yield row("schedule", subject.schedule_text)
    if str(schedule) != subject.schedule_text:
        yield row("is read as", str(schedule))
    yield row("meaning", describe(schedule))
    yield row("period", f"{decision.period_id}, {MEANINGS[found.match]} ({to_text(at_s)})")
    if found.others:
        others = ", ".join(other.period_id for other in found.others[:4])
        more = f" and {len(found.others) - 4} more" if len(found.others) > 4 else ""
        yield row("", f"also open then: {others}{more}")
    yield row("local", local_text(decision.nominal_s, zone))
    yield row("window", _window(subject, traced))
    if decision.window_start_s != decision.window_end_s:
        yield ""
        for line in time_line(traced, zone):
            yield f"  {line}"
        yield ""
    yield row("seed", "SHA-256 of the identity, the period key and the salt, a line each:")
    yield row("", _check(subject, decision.period_key))
    yield row("seed hash", decision.seed_hash)
    yield row("law", describe_distribution(schedule))
    if schedule.constraints:
        yield row("constraints", str(schedule.constraints))
    yield from (
        row(label, text)
        for label, text in _draws(traced, MAX_ATTEMPTS if all_draws else SHOWN_DRAWS)
    )
    yield row("chosen", terminal.styled(_chosen(subject, traced), "bold"))
    yield row("policy", _policy(subject))


def _window(subject: Subject, traced: Trace) -> str:
    decision = traced.decision
    window = subject.schedule.window
    if not window.width_s:
        return "none: the work runs at the nominal instant"
    bounds = f"{to_text(decision.window_start_s)} to {to_text(decision.window_end_s)}"
    seconds = window.width_s + 1
    return f"{window.mode} {format_duration(window.duration_ns)}: {bounds}, {seconds:,} seconds"


def _check(subject: Subject, period_key: str) -> str:
    """A command that gives the seed's hash without Kron."""
    from shlex import quote

    parts = (subject.identity, period_key, subject.schedule.seed.salt)
    return f"printf '%s\\n%s\\n%s' {' '.join(map(quote, parts))} | sha256sum"


def _draws(traced: Trace, most: int) -> Iterator[tuple[str, str]]:
    for number, draw in enumerate(traced.draws[:most], start=1):
        yield f"draw {number}", _draw(draw)
    hidden = len(traced.draws) - most
    if hidden > 0:
        yield "", f"... and {hidden} more (--all-draws shows them)"
    if not traced.draws:
        verdict = f"rejected: {traced.rejection}" if traced.rejection else "none is needed"
        yield "draws", verdict


def _draw(draw: Draw) -> str:
    offset = format_duration(draw.offset_s * SECOND_NS)
    verdict = "accepted" if draw.rejection is None else f"rejected: {draw.rejection}"
    return (
        f"u = {draw.u:.10f}, x = {draw.x:.10f}: start + {offset} = "
        f"{to_text(draw.candidate_s)}  {verdict}"
    )


def _chosen(subject: Subject, traced: Trace) -> str:
    decision = traced.decision
    if decision.chosen_s is None:
        return f"none: unschedulable, {decision.reason}"
    local = local_text(decision.chosen_s, subject.schedule.zone)
    return f"{to_text(decision.chosen_s)}, {local}"


def _policy(subject: Subject) -> str:
    policy = subject.schedule.policy
    late = format_duration(policy.deadline_ns)
    parts = [
        {
            "allow": "runs may overlap",
            "forbid": "skipped while an earlier run goes on",
            "replace": "an earlier run is stopped",
        }[policy.concurrency],
        f"may start {late} late" if policy.deadline_ns else "missed if it cannot start in time",
    ]
    return "; ".join(parts + ["SUSPENDED"] * policy.suspend)


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """The same for scripts, but for the schema's name, which is the command's."""
    subject, at_s = explanation.subject, explanation.at_s
    found, traced = explanation.found, explanation.traced
    decision = traced.decision
    schedule = subject.schedule
    chosen_s = decision.chosen_s
    return {
        "engine": ENGINE_VERSION,
        "at": to_text(at_s),
        "match": found.match,
        "job": subject.name,
        "path": subject.path or None,
        "line": subject.line or None,
        "identity": subject.identity,
        "schedule": subject.schedule_text,
        "canonical": str(schedule),
        "meaning": describe(schedule),
        "timezone": schedule.zone.key,
        "period": decision.period_id,
        "period_key": decision.period_key,
        "also_open": [other.period_id for other in found.others],
        "nominal": decision.period_id,
        "window_mode": schedule.window.mode,
        "window_duration": format_duration(schedule.window.duration_ns),
        "window_start": to_text(decision.window_start_s),
        "window_end": to_text(decision.window_end_s),
        "distribution": schedule.distribution.name,
        "dist_params": schedule.distribution.parameters(),
        "seed_strategy": schedule.seed.strategy,
        "salt": schedule.seed.salt,
        "seed_material": f"{subject.identity}\n{decision.period_key}\n{schedule.seed.salt}",
        "seed_hash": decision.seed_hash,
        "constraints": str(schedule.constraints),
        "draws": [
            {
                "u": draw.u,
                "x": draw.x,
                "offset_seconds": draw.offset_s,
                "candidate": to_text(draw.candidate_s),
                "rejection": draw.rejection,
            }
            for draw in traced.draws
        ],
        "attempts": decision.attempts,
        "chosen": None if chosen_s is None else to_text(chosen_s),
        "local": None if chosen_s is None else local_text(chosen_s, schedule.zone, rfc3339=True),
        "unschedulable": decision.unschedulable,
        "reason": decision.reason,
        "rejection": traced.rejection,
        "policy": {
            "concurrency": schedule.policy.concurrency,
            "deadline": format_duration(schedule.policy.deadline_ns),
            "suspend": schedule.policy.suspend,
        },
    }
