"""Decision lines as templates: what the decision line of a known job must look like.

Most lines of a log are right, and exactly as Kron writes them. So replay does not take such a line
apart: it makes the line that Kron would write for the period, and compares the two as text. They
are equal only if every field is equal. A line that differs is read field by field instead, which
takes four times as long (40 us instead of 10, of which 7 are the decision itself).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

from kron.core.decision import decide_at
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.schedule import Schedule
from kron.logs.event import Event
from kron.logs.record import Record
from kron.logs.text import VALUE, text_pair
from kron.logs.timestamp import DAY, TIME, day_start_s, instant_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Key = TypeVar("_Key")
    _Value = TypeVar("_Value")

JOBS_REMEMBERED = 10_000
"""How many jobs are remembered: those of the latest decisions."""

_CHANGING = (
    "period", "nominal", "window_start", "window_end", "seed_hash", "chosen", "attempts",
)  # fmt: skip
"""The fields that change with the period, in the order of a line; none needs quoting."""


class LineStyle(Frozen):
    """How a format writes a decision line."""

    head: re.Pattern[str]
    """Matches a decision line up to its period; groups: day, namespace and name, period."""
    pair: Callable[[str, str], str]
    end: str


class Template(Frozen):
    """The decision line of one job."""

    schedule: Schedule
    identity: str
    namespace: str
    name: str
    tail: str
    """The line after the name, with a `%s` for each field that changes with the period."""

    def agreeing(self, line: str, start: int, period: str) -> tuple[Period, str] | None:
        """The period and its chosen time, if the line after `start` is right for this period."""
        nominal_s = instant_s(period)
        decision = decide_at(self.schedule, self.identity, nominal_s)
        if decision.chosen_s is None:
            return None
        chosen = to_text(decision.chosen_s)
        start_s = decision.window_start_s
        tail = self.tail % (
            period,
            period,
            period if start_s == nominal_s else to_text(start_s),
            to_text(decision.window_end_s),
            decision.seed_hash,
            chosen,
            decision.attempts,
        )
        if len(line) - start != len(tail) or not line.endswith(tail):
            return None
        return (self.namespace, self.name, period), chosen


Period = tuple[str, ...]
"""A namespace, a name and a period id."""


def remember(memory: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Put a value into a memory that holds the `most` latest, and up to twice as many."""
    memory.pop(key, None)  # the order of a dictionary is that of the first time
    memory[key] = value
    if len(memory) > 2 * most:
        for forgotten in list(islice(memory, most)):
            del memory[forgotten]


class Templates:
    """The templates of the latest jobs."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Template] = {}

    def agreeing(self, line: str) -> tuple[Period, str] | None:
        """The period and chosen time of a decision that is right in every field, else None."""
        head = _style(line[:1]).head.match(line)
        if head is None:
            return None
        day, job, period = head.groups()
        template = self._known.get(job)
        if template is None or day_start_s(day) is None:
            return None
        try:
            return template.agreeing(line, head.end(2), period)
        except KronError:  # the period is not an instant
            return None

    def learn(self, line: str, record: Record, schedule: Schedule, values: dict[str, str]) -> None:
        """Remember the job of a decision line that was read and recomputed as these `values`."""
        style = _style(line[:1])
        head = style.head.match(line)
        if head is None or record.event is not Event.DECISION:
            return
        values = dict(record.fields) | values
        fields = [
            style.pair(key, "%s" if key in _CHANGING else values[key].replace("%", "%%"))
            for key in Event.DECISION.fields[2:]
        ]
        tail = "".join(fields) + style.end
        template = Template(schedule, values["identity"], values["namespace"], values["name"], tail)
        if template.agreeing(line, head.end(2), head[3]):  # fields in the usual order
            remember(self._known, head[2], template, JOBS_REMEMBERED)


@lru_cache
def _style(first: str) -> LineStyle:
    """The style of a line that begins with this character."""
    if first != "{":
        head = re.compile(
            rf"({DAY})T{TIME} level=INFO component=scheduler event=decision"
            rf"( namespace={VALUE} name={VALUE}) period=([^ ]{{20}}) "
        )
        return LineStyle(head, text_pair, "")
    from kron.logs.json_lines import json_pair

    string = r'"(?:[^"\\]|\\.)*+"'
    head = re.compile(
        rf'\{{"timestamp":"({DAY})T{TIME}","level":"INFO","component":"scheduler",'
        rf'"event":"decision"(,"namespace":{string},"name":{string}),"period":"([^"]{{20}})"'
    )
    return LineStyle(head, json_pair, "}")
