"""Decision lines as templates: what a known job's line must look like, period by period.

Most lines of a log are right, and exactly what Kron's own writer writes. So a line is not taken
apart: the line that would be written for its period is made anew, and the two are compared. They
are equal only if every field is. Whatever differs is for someone else to read and judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kron.core.decision import decide_at
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.schedule import Schedule
from kron.logs.decisions import decision_values
from kron.logs.event import Event
from kron.logs.recent import Recent
from kron.logs.record import Record
from kron.logs.text import VALUE, text_pair
from kron.logs.timestamp import DAY, TIME, day_start_s, instant_s

JOBS_REMEMBERED = 10_000
"""How many jobs are sure to be remembered; twice as many may be."""

_FRACTION = r"(?:\.[0-9]{1,9})?"
_CHANGING = (
    "period", "nominal", "window_start", "window_end", "seed_hash", "chosen", "attempts",
)  # fmt: skip
"""The fields that are another for every period, in the order of a line; none needs quoting."""


class Style(Frozen):
    """What a template has to know of a format."""

    head: re.Pattern[str]
    """Matches a decision line up to its period; groups: day, namespace and name, period."""
    pair: Callable[[str, str], str]
    end: str


Period = tuple[str, str, str]
"""A namespace, a name and a period id."""


class Template:
    """The decision lines of one job, but for what changes from period to period."""

    __slots__ = ("identity", "name", "namespace", "pieces", "schedule")

    def __init__(self, style: Style, record: Record, schedule: Schedule) -> None:
        self.schedule = schedule
        self.identity = record["identity"]
        self.namespace = record["namespace"]
        self.name = record["name"]
        values = decision_values(decide_at(schedule, self.identity, instant_s(record["nominal"])))
        values |= {"identity": self.identity, "schedule": record["schedule"]}
        self.pieces = _pieces(style, values)

    def agreeing(self, line: str, start: int, period: str) -> tuple[Period, str] | None:
        """The chosen time, if the line goes on from `start` as it must for this period."""
        decision = decide_at(self.schedule, self.identity, instant_s(period))
        if decision.chosen_s is None:
            return None
        chosen = to_text(decision.chosen_s)
        window_start = to_text(decision.window_start_s)
        window_end = to_text(decision.window_end_s)
        a, b, c, d, e, f, g, h = self.pieces
        tail = (
            f"{a}{period}{b}{period}{c}{window_start}{d}{window_end}{e}{decision.seed_hash}"
            f"{f}{chosen}{g}{decision.attempts}{h}"
        )
        if len(line) - start != len(tail) or not line.endswith(tail):
            return None
        return (self.namespace, self.name, period), chosen


class Templates:
    """The templates of the jobs met lately."""

    __slots__ = ("_json", "_known", "_text")

    def __init__(self) -> None:
        self._known: Recent[str, Template] = Recent(JOBS_REMEMBERED)
        self._text = _text_style()
        self._json: Style | None = None

    def agreeing(self, line: str) -> tuple[Period, str] | None:
        """The period and chosen time of a decision exactly as it should be, else None."""
        head = self._style(line).head.match(line)
        if head is None:
            return None
        day, job, period = head.groups()
        template = self._known.get(job)
        if template is None or day_start_s(day) is None:
            return None
        try:
            return template.agreeing(line, head.end(2), period)
        except KronError:  # the period is no instant
            return None

    def learn(self, line: str, record: Record, schedule: Schedule) -> None:
        """Remember the job of a decision line that was read and recomputed."""
        style = self._style(line)
        head = style.head.match(line)
        if head is not None and record.event is Event.DECISION:
            template = Template(style, record, schedule)
            if template.agreeing(line, head.end(2), head[3]):  # fields in the usual order
                self._known.put(head[2], template)

    def _style(self, line: str) -> Style:
        if not line.startswith("{"):
            return self._text
        if self._json is None:
            self._json = _json_style()
        return self._json


def _pieces(style: Style, values: dict[str, str]) -> tuple[str, ...]:
    """What stands before, between and after the fields that change."""
    pieces = [""]
    for key in Event.DECISION.fields[2:]:
        if key in _CHANGING:
            before, after = style.pair(key, "0").split("0")
            pieces[-1] += before
            pieces.append(after)
        else:
            pieces[-1] += style.pair(key, values[key])
    pieces[-1] += style.end
    return tuple(pieces)


def _text_style() -> Style:
    head = re.compile(
        rf"({DAY})T{TIME}{_FRACTION}Z level=INFO component=scheduler event=decision"
        rf"( namespace={VALUE} name={VALUE}) period=([^ ]{{20}}) "
    )
    return Style(head, text_pair, "")


def _json_style() -> Style:
    from kron.logs.json_lines import json_pair

    string = r'"(?:[^"\\]|\\.)*+"'
    head = re.compile(
        rf'\{{"timestamp":"({DAY})T{TIME}{_FRACTION}Z","level":"INFO","component":"scheduler",'
        rf'"event":"decision"(,"namespace":{string},"name":{string}),"period":"([^"]{{20}})"'
    )
    return Style(head, json_pair, "}")
