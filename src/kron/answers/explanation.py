"""An explanation: the decision about one period in full, as lines of text or as JSON.

A moment selects the period: the one with that nominal instant, the one chosen for that second, the
one open then, or the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kron.answers.subject import Subject, defaults_document, hooks_document
from kron.answers.times import local_text, local_time
from kron.core.decision import ENGINE_VERSION, Trace, decide_at, trace
from kron.core.duration import SECOND_NS, format_duration
from kron.core.errors import visible
from kron.core.frozen import Frozen
from kron.core.instant import optional_text, out_of_range, to_text
from kron.core.policy import Concurrency
from kron.core.words import describe, describe_distribution
from kron.core.zone import Zone
from kron.engine.agenda import agenda, open_periods
from kron.engine.survey import nominals_after

_LINE_WIDTH = 60
_CHOSEN, _REJECTED, _NOMINAL = "●", "✗", "▲"
_CONCURRENCY = {
    Concurrency.ALLOW: "runs may overlap",
    Concurrency.FORBID: "skipped while an earlier run is active",
    Concurrency.REPLACE: "an earlier run is stopped",
}
_MEANINGS = {
    "nominal": "the period whose nominal instant this is",
    "chosen": "the period chosen to run at this second",
    "open": "the period open at this moment",
    "next": "the next period after this moment",
}
"""How the moment selects the period."""


class Explanation(Frozen):
    subject: Subject
    at_s: int
    match: str
    traced: Trace
    others: tuple[str, ...]
    """The other periods that are open at the same moment."""


def explain(subject: Subject, at_s: int) -> Explanation:
    job = subject.job
    opened = open_periods(job, at_s)
    chosen = [decision for decision in opened if decision.chosen_s == at_s]
    if next(nominals_after(job, at_s - 1), None) == at_s:
        decision, match = decide_at(job.schedule, job.identity, at_s), "nominal"
    elif opened:
        decision, match = (chosen[0], "chosen") if chosen else (opened[-1], "open")
    elif coming := next(agenda(job, at_s), None):
        decision, match = coming, "next"
    else:
        raise out_of_range("the next period")
    traced = trace(subject.schedule, identity=subject.identity, nominal=decision.nominal_time)
    others = [other.period_id for other in opened if other.nominal_s != decision.nominal_s]
    return Explanation(subject, at_s, match, traced, tuple(others))


def explanation_lines(
    explanation: Explanation, style: Callable[..., str], *, most_draws: int | None
) -> Iterator[str]:
    """The decision as text, with a drawing of its window. `style` adds colours, as a terminal's."""
    subject, at_s, traced = explanation.subject, explanation.at_s, explanation.traced
    decision = traced.decision
    schedule = subject.schedule
    zone = schedule.zone
    say = partial(_plain_row, style)
    yield from subject_rows(subject, style)
    yield say("period", f"{decision.period_id}, {_MEANINGS[explanation.match]} ({to_text(at_s)})")
    if others := explanation.others:
        more = f" and {len(others) - 4} more" if len(others) > 4 else ""
        yield say("", f"also open then: {', '.join(others[:4])}{more}")
    yield say("local", local_text(decision.nominal_s, zone))
    yield say("window", _window(subject, traced))
    if decision.window_start_s != decision.window_end_s:
        yield ""
        for line in _time_line(traced, zone):
            yield f"  {line}"
        yield ""
    yield say("seed", "SHA-256 of the identity, the period key and the salt, a line each:")
    yield say("", _check(subject, decision.period_key))
    yield say("seed hash", decision.seed_hash)
    yield say("law", describe_distribution(schedule))
    if not schedule.constraints.is_empty:
        yield say("constraints", str(schedule.constraints))
    yield from (say(label, text) for label, text in _draws(traced, most_draws))
    yield row(style, "chosen", style(_chosen(subject, traced), "bold"))
    yield policy_row(subject, style)


def subject_rows(subject: Subject, style: Callable[..., str]) -> Iterator[str]:
    """What can be said of a job whatever its periods are."""
    schedule, say = subject.schedule, partial(_plain_row, style)
    yield f"{style(visible(subject.name), 'bold')}  {visible(subject.place)}"
    yield say("identity", subject.identity)
    yield say("schedule", subject.schedule_text)
    if str(schedule) != subject.schedule_text:
        yield say("is read as", str(schedule))
    if (applied := subject.defaults) and applied.parts:
        yield say("defaults", f"{', '.join(applied.parts)} ({subject.path}:{applied.line})")
    if subject.slots:
        sizes = (f"{name} ({size} at a time)" for name, size in subject.slots)
        yield say("slots", ", ".join(sizes))
    if retries := subject.bounds.retries_sentence:
        yield say("retries", retries)
    if limits := subject.bounds.cgroup_text:
        yield say("limits", limits)
    for key, value in subject.hooks.items() if subject.hooks else ():
        yield say(key, value)
    yield say("meaning", describe(schedule))


def policy_row(subject: Subject, style: Callable[..., str]) -> str:
    policy = subject.schedule.policy
    late = "never late" if subject.schedule.is_at_boot else "missed if it cannot start in time"
    if policy.deadline_ns:
        late = f"may start {format_duration(policy.deadline_ns)} late"
    parts = [_CONCURRENCY[policy.concurrency], late, *["SUSPENDED"] * policy.suspend]
    return row(style, "policy", "; ".join(parts))


def _plain_row(style: Callable[..., str], label: str, text: str) -> str:
    """A row of text that may be anybody's."""
    return row(style, label, visible(text))


def row(style: Callable[..., str], label: str, text: str) -> str:
    return f"  {style(f'{label:12}', 'dim')}{text}".rstrip()


def explanation_document(explanation: Explanation) -> dict[str, object]:
    """The same for scripts. The command adds the name of its schema."""
    subject, at_s, traced = explanation.subject, explanation.at_s, explanation.traced
    decision = traced.decision
    schedule = subject.schedule
    chosen_s = decision.chosen_s
    return {
        "engine": ENGINE_VERSION,
        "at": to_text(at_s),
        "match": explanation.match,
        "job": subject.name,
        "path": subject.path or None,
        "line": subject.line or None,
        "defaults": defaults_document(subject.path, subject.defaults),
        "slots": [{"name": name, "size": size} for name, size in subject.slots],
        "hooks": hooks_document(subject.hooks),
        **subject.bounds.document(),
        "identity": subject.identity,
        "schedule": subject.schedule_text,
        "canonical": str(schedule),
        "meaning": describe(schedule),
        "timezone": schedule.zone.key,
        "period": decision.period_id,
        "period_key": decision.period_key,
        "also_open": explanation.others,
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
        "chosen": optional_text(chosen_s),
        "local": None if chosen_s is None else local_time(chosen_s, schedule.zone).isoformat(),
        "unschedulable": decision.unschedulable,
        "reason": decision.reason,
        "rejection": traced.rejection,
        "policy": {
            "concurrency": schedule.policy.concurrency,
            "deadline": format_duration(schedule.policy.deadline_ns),
            "suspend": schedule.policy.suspend,
        },
    }


def _window(subject: Subject, traced: Trace) -> str:
    decision = traced.decision
    window = subject.schedule.window
    if not window.width_s:
        return "none: the job runs at the nominal instant"
    bounds = f"{to_text(decision.window_start_s)} to {to_text(decision.window_end_s)}"
    seconds = window.width_s + 1
    return f"{window.mode} {format_duration(window.duration_ns)}: {bounds}, {seconds:,} seconds"


def _check(subject: Subject, period_key: str) -> str:
    """A command that computes the seed's hash without Kron."""
    from shlex import quote

    parts = [subject.identity, period_key, subject.schedule.seed.salt]
    form = "%s"
    if not all(map(str.isprintable, parts)):
        form, parts = "%b", list(map(_for_printf, parts))
    return f"printf '{form}\\n{form}\\n{form}' {' '.join(map(quote, parts))} | sha256sum"


def _for_printf(text: str) -> str:
    """What `%b` of printf prints as this text, without characters that a terminal would obey."""
    return "".join(
        each.replace("\\", r"\\")
        if each.isprintable()
        else "".join(f"\\0{byte:03o}" for byte in each.encode(errors="surrogatepass"))
        for each in text
    )


def _draws(traced: Trace, most: int | None) -> Iterator[tuple[str, str]]:
    for number, draw in enumerate(traced.draws[:most], start=1):
        offset = format_duration(draw.offset_s * SECOND_NS)
        verdict = "accepted" if draw.rejection is None else f"rejected: {draw.rejection}"
        place = f"start + {offset} = {to_text(draw.candidate_s)}"
        yield f"draw {number}", f"u = {draw.u:.10f}, x = {draw.x:.10f}: {place}  {verdict}"
    if most is not None and len(traced.draws) > most:
        yield "", f"... and {len(traced.draws) - most} more (--all-draws shows them)"
    if not traced.draws:
        yield "draws", f"rejected: {traced.rejection}" if traced.rejection else "none is needed"


def _chosen(subject: Subject, traced: Trace) -> str:
    decision = traced.decision
    if decision.chosen_s is None:
        return f"none: unschedulable, {decision.reason}"
    local = local_text(decision.chosen_s, subject.schedule.zone)
    return f"{to_text(decision.chosen_s)}, {local}"


def _time_line(trace: Trace, zone: Zone) -> Iterator[str]:
    """The window as a line of fixed width, its nominal instant, its draws and a legend."""
    decision = trace.decision
    start_s, end_s = decision.window_start_s, decision.window_end_s
    cells = ["├", *["─"] * (_LINE_WIDTH - 2), "┤"]

    def place(instant_s: int) -> int:
        return round((instant_s - start_s) / (end_s - start_s) * (_LINE_WIDTH - 1))

    for draw in trace.draws:
        if draw.rejection is not None:
            cells[place(draw.candidate_s)] = _REJECTED
    if decision.chosen_s is not None:
        cells[place(decision.chosen_s)] = _CHOSEN
    first, last = local_time(start_s, zone), local_time(end_s, zone)
    form = "%H:%M:%S" if first.date() == last.date() else "%Y-%m-%d %H:%M:%S"
    start, end = first.strftime(form), last.strftime(form)
    margin = " " * (len(start) + 1)
    yield f"{start} {''.join(cells)} {end}"
    yield f"{margin}{_marked(place(decision.nominal_s))}"
    legend = []
    if decision.chosen_s is not None:
        legend.append(f"{_CHOSEN} chosen {to_text(decision.chosen_s)}")
    if any(draw.rejection is not None for draw in trace.draws):
        legend.append(f"{_REJECTED} rejected")
    yield f"{margin}{'   '.join(legend)}"


def _marked(place: int) -> str:
    label = f"{_NOMINAL} nominal"
    if place + len(label) <= _LINE_WIDTH:
        return f"{' ' * place}{label}"
    label = f"nominal {_NOMINAL}"
    return f"{' ' * (place - len(label) + 1)}{label}"
