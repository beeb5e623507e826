"""Replay: make every decision of a log again from its own line, and compare the two.

A line has everything that its decision follows from (`schedule`, `identity`, `nominal`, `engine`),
so checking a log needs nothing but the log. Replay only reads and reports: it changes nothing and
asks no clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from kron.core.decision import ENGINE_VERSION, decide_at
from kron.core.errors import Code, KronError, Problem, quoted
from kron.core.frozen import Frozen
from kron.core.instant import from_text
from kron.core.limits import Limits
from kron.core.schedule import Schedule
from kron.core.tokens import is_fuzzy
from kron.fuzzy.baseline import parse_schedule
from kron.logs.decisions import decision_values
from kron.logs.event import Event
from kron.logs.reader import LINE_BYTES, ProgressCallback, lines, read_line
from kron.logs.record import Record
from kron.logs.template import Period, Templates, remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.logs.reader import ByteSource

PERIODS_REMEMBERED = 50_000
"""How many decisions are remembered at least, for later lines that repeat their chosen time."""

SCHEDULES_REMEMBERED = 4096

LONGEST_REMEMBERED = 4096
"""The longest line that is remembered: a hostile log has a new one of a MiB on every line."""

_DECISIONS = (Event.DECISION, Event.CONSTRAINT_UNSATISFIABLE)
_CHOSEN_AGAIN = (Event.TRIGGER, Event.JOB_CREATED, Event.STARTED, Event.MISSED_DEADLINE)
_SOURCES = ("nominal", "identity", "schedule", "engine")
_GIVEN = ("namespace", "name", "identity", "schedule", "engine")
_COMPARED: dict[str, tuple[str, ...]] = {
    event: tuple(field for field in event.fields if field not in _GIVEN) for event in _DECISIONS
}

# A decision made under larger limits than the default must replay too. The length of a line
# bounds the work anyway.
_LIMITS = Limits(line_bytes=LINE_BYTES, window_days=400_000, clauses=LINE_BYTES)


class FindingKind(StrEnum):
    MISMATCH = "mismatch"
    """A field is not what it must be."""
    UNCHECKED = "unchecked"
    """A decision cannot be made again from its line."""
    UNREADABLE = "unreadable"
    """A line is not an event, or the file is damaged."""


class ReplayFinding(Frozen):
    """One fault of one line. A field that does not apply to the kind is '' or None."""

    line: int
    kind: FindingKind
    message: str
    """The finding in words, without the line and the job."""
    event: str = ""
    namespace: str = ""
    name: str = ""
    period: str = ""
    field: str = ""
    logged: str | None = None
    """What the log says; None if the line lacks the field."""
    expected: str | None = None
    """What it must say: what was recomputed, or what the decision before it said."""

    def __str__(self) -> str:
        of = f" {self.event} of {shown(self.namespace)} {shown(self.name)},"
        period = f" period {shown(self.period)}:"
        return f"line {self.line}:{of + period if self.event else ''} {self.message}"


class Counts(Frozen):
    """How much was read, and how much of it agrees."""

    lines: int = 0
    """Lines that are not blank."""
    decisions: int = 0
    """Lines `decision` and `constraint_unsatisfiable`: agreed + mismatched + unchecked."""
    agreed: int = 0
    mismatched: int = 0
    unchecked: int = 0
    unreadable: int = 0
    """Lines that are not events, and damage to the file."""
    chosen_checked: int = 0
    """Lines `trigger` and the like that repeat a chosen time, compared with the decision before."""
    chosen_mismatched: int = 0


class Replay:
    """Goes through a log once: iterate over it for the findings, then read the counts.

    `source` is read as bytes, plain or gzip. `progress` is called with the number of bytes read so
    far. It runs at 100,000 decisions a second on one core, most of which is deciding them again;
    without `Templates` it would be 25,000.
    """

    def __init__(self, source: ByteSource, *, progress: ProgressCallback | None = None) -> None:
        self._lines = lines(source, progress)
        self._templates = Templates()
        self._chosen: dict[Period, str] = {}
        """The chosen time of each period decided lately, '' for none."""
        self._tally = dict.fromkeys(Counts._fields, 0)

    @property
    def counts(self) -> Counts:
        """The counts of what has been checked so far."""
        tally = self._tally
        decisions = tally["agreed"] + tally["mismatched"] + tally["unchecked"]
        return Counts(**tally | {"decisions": decisions})

    def __iter__(self) -> Iterator[ReplayFinding]:
        tally = self._tally
        chosen = self._chosen
        agreeing = self._templates.agreeing
        for number, line in self._lines:
            if isinstance(line, str):
                seen = agreeing(line)
                if seen is not None:
                    tally["lines"] += 1
                    tally["agreed"] += 1
                    remember(chosen, seen[0], seen[1], PERIODS_REMEMBERED)
                    continue
                if not line or line.isspace():
                    continue
            tally["lines"] += 1
            yield from self._findings(number, line)

    def _findings(self, number: int, line: str | Problem) -> Iterator[ReplayFinding]:
        """The findings of a line that no template has recognised."""
        record = read_line(line) if isinstance(line, str) else line
        if isinstance(record, Problem):
            self._tally["unreadable"] += 1
            yield ReplayFinding(number, FindingKind.UNREADABLE, str(record))
        elif record.event in _DECISIONS:
            assert isinstance(line, str)
            yield from self._decision(number, line, record)
        elif record.event in _CHOSEN_AGAIN:
            yield from self._chosen_again(number, record)

    def _decision(self, number: int, line: str, record: Record) -> Iterator[ReplayFinding]:
        may_remember = len(line) <= LONGEST_REMEMBERED
        if may_remember:
            chosen = record.get("chosen") or ""
            remember(self._chosen, _period(record), chosen, PERIODS_REMEMBERED)
        try:
            schedule = _schedule_of(record)
            nominal_s = from_text(record["nominal"])
            expected = decision_values(decide_at(schedule, record["identity"], nominal_s))
        except KronError as error:
            self._tally["unchecked"] += 1
            cause = f"{error.message} ({error.fix})" if error.fix else error.message
            yield _finding(number, record, FindingKind.UNCHECKED, cause)
            return
        fields = _COMPARED[record.event]
        if expected["chosen"] and "chosen" not in fields:  # it can be satisfied after all
            fields = (*fields, "chosen")
        wrong = [field for field in fields if record.get(field) != expected[field]]
        self._tally["mismatched" if wrong else "agreed"] += 1
        for field in wrong:
            yield _mismatch(number, record, field, expected[field], "recomputed")
        if may_remember and not wrong:
            self._templates.learn(line, record, schedule, expected)

    def _chosen_again(self, number: int, record: Record) -> Iterator[ReplayFinding]:
        """Compare the chosen time that a line repeats with that of the decision before it."""
        if record.event == Event.MISSED_DEADLINE and not record.get("chosen"):
            return  # the line stands for many periods, which have no chosen time together
        decided = self._chosen.get(_period(record))
        if decided is None:
            return
        self._tally["chosen_checked"] += 1
        if record.get("chosen") != decided:
            self._tally["chosen_mismatched"] += 1
            yield _mismatch(number, record, "chosen", decided, "in the decision before it")


def _schedule_of(record: Record) -> Schedule:
    """The schedule of a decision's line; a `KronError` if the line cannot be recomputed."""
    lacking = [field for field in _SOURCES if record.get(field) is None]
    if lacking:
        message = f"it cannot be recomputed without {', '.join(lacking)}"
        raise KronError(Code.TEXT, message)
    engine = record["engine"]
    if engine != str(ENGINE_VERSION):
        message = f"it was made by engine {shown(engine)}, and this is engine {ENGINE_VERSION}"
        raise KronError(Code.TEXT, message)
    text, identity = record["schedule"], record["identity"]
    if len(text) + len(identity) > LONGEST_REMEMBERED:
        return parse_schedule(text, identity=identity, limits=_LIMITS)
    # Only a fuzzy text means something else to each job.
    return _schedule(text, identity if is_fuzzy(text) else "")


@lru_cache(SCHEDULES_REMEMBERED)
def _schedule(text: str, identity: str) -> Schedule:
    return parse_schedule(text, identity=identity, limits=_LIMITS)


def _period(record: Record) -> Period:
    return tuple(record.get(key) or "" for key in ("namespace", "name", "period"))


def _finding(number: int, record: Record, kind: FindingKind, message: str) -> ReplayFinding:
    return ReplayFinding(number, kind, message, record.event, *_period(record))


def _mismatch(number: int, record: Record, field: str, expected: str, where: str) -> ReplayFinding:
    logged = record.get(field)
    said = "lacking" if logged is None else quoted(logged)
    message = f"{field} is {said} in the log, {quoted(expected)} {where}"
    found = _finding(number, record, FindingKind.MISMATCH, message)
    return found.replace(field=field, logged=logged, expected=expected)


def shown(value: str) -> str:
    """A value of a log for a terminal: quoted if it is empty, long or not plain text."""
    odd = not value.isprintable() or not value or " " in value or '"' in value or len(value) > 60
    return quoted(value) if odd else value
