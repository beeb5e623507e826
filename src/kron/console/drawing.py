"""The window of a period as a small time line: where the nominal instant is, and each draw."""

from __future__ import annotations

from collections.abc import Iterator

from kron.console.times import local_time
from kron.core.decision import Trace
from kron.core.instant import to_text
from kron.core.zone import Zone

_WIDTH = 60
CHOSEN, REJECTED, NOMINAL = "●", "✗", "▲"


def time_line(trace: Trace, zone: Zone) -> Iterator[str]:
    """Two or three lines, as wide whatever the window; times in the schedule's zone."""
    decision = trace.decision
    start_s, end_s = decision.window_start_s, decision.window_end_s
    cells = ["├", *["─"] * (_WIDTH - 2), "┤"]

    def place(instant_s: int) -> int:
        return round((instant_s - start_s) / (end_s - start_s) * (_WIDTH - 1))

    for draw in trace.draws:
        if draw.rejection is not None:
            cells[place(draw.candidate_s)] = REJECTED
    if decision.chosen_s is not None:
        cells[place(decision.chosen_s)] = CHOSEN
    start, end = _bounds(start_s, end_s, zone)
    margin = " " * (len(start) + 1)
    yield f"{start} {''.join(cells)} {end}"
    yield f"{margin}{_marked(place(decision.nominal_s))}"
    if signs := _legend(trace):
        yield f"{margin}{signs}"


def _bounds(start_s: int, end_s: int, zone: Zone) -> tuple[str, str]:
    start, end = local_time(start_s, zone), local_time(end_s, zone)
    form = "%H:%M:%S" if start.date() == end.date() else "%Y-%m-%d %H:%M:%S"
    return start.strftime(form), end.strftime(form)


def _marked(place: int) -> str:
    label = f"{NOMINAL} nominal"
    if place + len(label) <= _WIDTH:
        return f"{' ' * place}{label}"
    label = f"nominal {NOMINAL}"
    return f"{' ' * (place - len(label) + 1)}{label}"


def _legend(trace: Trace) -> str:
    """What the signs on the line mean, as far as they are used."""
    decision = trace.decision
    parts = []
    if decision.chosen_s is not None:
        parts.append(f"{CHOSEN} chosen {to_text(decision.chosen_s)}")
    if any(draw.rejection is not None for draw in trace.draws):
        parts.append(f"{REJECTED} rejected")
    return "   ".join(parts)
