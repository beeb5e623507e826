"""`krontab explain`: one decision in full, as a person reads it or as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.console.times import local_text
from kron.core.decision import ENGINE_VERSION, MAX_ATTEMPTS, Draw, Trace, trace
from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import to_seconds, to_text
from kron.core.words import describe, describe_distribution
from kron.krontab.drawing import time_line
from kron.krontab.jobs import Subject, add_source, find_subject, moment_of
from kron.krontab.periods import MEANINGS, Found, find_period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Say why a job runs when it runs: what its schedule means, the window, the seed and its hash, every
draw and why it was taken or rejected. It uses krond's identity for the job, so what it says is
what krond does.

A moment (--at) means, in this order: the period with that nominal instant, the period chosen for
that second, the period open then (the latest, if there are several), the next period."""
EXAMPLES = (
    ("krontab explain backup", "the period that is open now, or the next one"),
    ("krontab explain backup --at 2026-03-01T02:32:20Z", "why did it run at that second?"),
    (
        "krontab explain --schedule '0 0 * * * @win(after,3h) @seed(stable,salt=backup)' \\\n"
        "      --identity prod/db-backup --at 2026-03-01",
        "a schedule and an identity, without a file",
    ),
)
_SHOWN_DRAWS = 12


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job's name, or <path>:<name>")
    add_at(parser, "the moment whose period is explained")
    parser.add_argument(
        "--all-draws",
        action="store_true",
        help=f"show every draw, not the first {_SHOWN_DRAWS} only",
    )
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    subject = find_subject(arguments, terminal)
    at_s = to_seconds(moment_of(arguments))
    found = find_period(subject.job, at_s)
    traced = trace(subject.schedule, identity=subject.identity, nominal=found.decision.nominal_time)
    if arguments.format == "json":
        terminal.print_json(_document(subject, at_s, found, traced))
        return 0
    most_draws = MAX_ATTEMPTS if arguments.all_draws else _SHOWN_DRAWS
    for line in _lines(subject, at_s, found, traced, terminal=terminal, most_draws=most_draws):
        terminal.print(line)
    return 0


def _lines(
    subject: Subject, at_s: int, found: Found, traced: Trace, *, terminal: Terminal, most_draws: int
) -> Iterator[str]:
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
    yield from (row(label, text) for label, text in _draws(traced, most_draws))
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


def _document(subject: Subject, at_s: int, found: Found, traced: Trace) -> dict[str, Any]:
    decision = traced.decision
    schedule = subject.schedule
    chosen_s = decision.chosen_s
    return {
        "schema": "krontab.explain/1",
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
