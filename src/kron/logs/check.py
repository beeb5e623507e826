"""Checking a piece of a log: each of its decisions made again from its own line, and compared.

A piece can be checked without those before it, but for lines that name a chosen time which an
earlier piece decided: these are handed on (`Checked.asked`).
"""

from __future__ import annotations

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
from kron.logs.finding import Counts, Finding, Kind, shown
from kron.logs.reader import LINE_BYTES, lines_of, read_line
from kron.logs.record import Record
from kron.logs.template import Period, Templates

SCHEDULES_REMEMBERED = 4096

LONGEST_REMEMBERED = 4096
"""The longest text that is remembered: a hostile log has a new one of a MiB on every line."""

_DECISIONS = (Event.DECISION, Event.CONSTRAINT_UNSATISFIABLE)
_CHOSEN_AGAIN = (Event.TRIGGER, Event.JOB_CREATED, Event.STARTED, Event.MISSED_DEADLINE)
_SOURCES = ("nominal", "identity", "schedule", "engine")
_GIVEN = ("namespace", "name", "identity", "schedule", "engine")
_COMPARED: dict[str, tuple[str, ...]] = {
    event: tuple(field for field in event.fields if field not in _GIVEN) for event in _DECISIONS
}

# What a daemon with larger limits has decided must replay too. A line's length bounds it anyway.
_LIMITS = Limits(line_bytes=LINE_BYTES, window_days=400_000, clauses=LINE_BYTES)


class Place(Frozen):
    """A line, and the period that it speaks of."""

    line: int
    event: str
    period: Period

    def finding(self, kind: Kind, message: str) -> Finding:
        """A finding about this line."""
        return Finding(self.line, kind, message, self.event, *self.period)

    def mismatch(self, field: str, logged: str | None, expected: str, where: str) -> Finding:
        """The finding that a field is not what it is where it comes from."""
        said = "lacking" if logged is None else quoted(logged)
        message = f"{field} is {said} in the log, {quoted(expected)} {where}"
        found = self.finding(Kind.MISMATCH, message)
        return found.replace(field=field, logged=logged, expected=expected)


class Asked(Frozen):
    """A line that names a period's chosen time, as a trigger does."""

    place: Place
    chosen: str | None

    def answered(self, decided: str) -> Finding | None:
        """What there is to say, if the decision before it said `decided`."""
        if self.chosen == decided:
            return None
        return self.place.mismatch("chosen", self.chosen, decided, "in the decision before it")


class Checked(Frozen):
    """What a piece of a log holds."""

    counts: Counts
    findings: list[Finding]
    decided: dict[Period, str]
    """The chosen time of each period that it decides, '' for none."""
    asked: list[Asked]
    """The lines that speak of a period which no line before them, in this piece, decides."""


class Checker:
    """Checks pieces. It remembers the jobs it has met, which makes the next piece quicker."""

    __slots__ = ("_templates",)

    def __init__(self) -> None:
        self._templates = Templates()

    def check(self, number: int, piece: bytes | Problem) -> Checked:
        """What the piece holds whose first line has this number."""
        if isinstance(piece, Problem):
            return Checked(Counts(lines=1, unreadable=1), [_unreadable(number, piece)], {}, [])
        lines = agreed = 0
        rest = _Rest(self._templates)
        decided = rest.decided
        agreeing = self._templates.agreeing
        for line_number, line in enumerate(lines_of(piece), number):
            if isinstance(line, str):
                seen = agreeing(line)
                if seen is not None:
                    period, chosen = seen
                    decided[period] = chosen
                    agreed += 1
                    continue
                if not line or line.isspace():
                    continue
            lines += 1
            rest.take(line_number, line)
        counts = rest.counts.plus(Counts(lines=lines + agreed, decisions=agreed, agreed=agreed))
        return Checked(counts, rest.findings, decided, rest.asked)


class _Rest:
    """The lines of a piece that are not the decisions of known jobs, exactly as they should be."""

    __slots__ = ("_templates", "asked", "counts", "decided", "findings")

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self.counts = Counts()
        self.findings: list[Finding] = []
        self.decided: dict[Period, str] = {}
        self.asked: list[Asked] = []

    def take(self, number: int, line: str | Problem) -> None:
        record = read_line(line) if isinstance(line, str) else line
        if isinstance(record, Problem):
            self.counts = self.counts.plus(Counts(unreadable=1))
            self.findings.append(_unreadable(number, record))
        elif record.event in _DECISIONS:
            assert isinstance(line, str)
            self._decision(number, line, record)
        elif record.event in _CHOSEN_AGAIN:
            self._chosen_again(number, record)

    def _decision(self, number: int, line: str, record: Record) -> None:
        place = _place(number, record)
        if len(line) <= LONGEST_REMEMBERED:
            self.decided[place.period] = record.get("chosen") or ""
        try:
            schedule = _schedule_of(record)
            nominal_s = from_text(record["nominal"])
            expected = decision_values(decide_at(schedule, record["identity"], nominal_s))
        except KronError as error:
            self.counts = self.counts.plus(Counts(decisions=1, unchecked=1))
            cause = f"{error.message} ({error.fix})" if error.fix else error.message
            self.findings.append(place.finding(Kind.UNCHECKED, cause))
            return
        fields = _COMPARED[record.event]
        if expected["chosen"] and "chosen" not in fields:  # it can be satisfied after all
            fields = (*fields, "chosen")
        mismatches = [
            place.mismatch(field, record.get(field), expected[field], "recomputed")
            for field in fields
            if record.get(field) != expected[field]
        ]
        self.findings += mismatches
        if mismatches:
            self.counts = self.counts.plus(Counts(decisions=1, mismatched=1))
        else:
            self.counts = self.counts.plus(Counts(decisions=1, agreed=1))
            if len(line) <= LONGEST_REMEMBERED:
                self._templates.learn(line, record, schedule)

    def _chosen_again(self, number: int, record: Record) -> None:
        chosen = record.get("chosen")
        if not chosen and record.event == Event.MISSED_DEADLINE:
            return  # the line stands for many periods, which have no chosen time together
        asked = Asked(_place(number, record), chosen)
        decided = self.decided.get(asked.place.period)
        if decided is None:
            self.asked.append(asked)
            return
        finding = asked.answered(decided)
        self.counts = self.counts.plus(answer_counted(finding))
        if finding is not None:
            self.findings.append(finding)


def answer_counted(finding: Finding | None) -> Counts:
    """The counts of a line whose chosen time was compared with the decision before it."""
    return Counts(chosen_checked=1, chosen_mismatched=0 if finding is None else 1)


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


def _unreadable(number: int, problem: Problem) -> Finding:
    return Finding(number, Kind.UNREADABLE, str(problem))


def _place(number: int, record: Record) -> Place:
    period = [record.get(key) or "" for key in ("namespace", "name", "period")]
    return Place(number, record.event, (period[0], period[1], period[2]))
