"""What each modifier means: from its arguments to a window, a distribution, a seed and so on.

Every reader returns its value or None, and puts what is wrong into `problems`, so that a line
with three mistakes is told about all three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from enum import StrEnum
from math import inf

from kron.core.constraint import MINUTES_A_DAY, VALUE_KINDS, Clause, ClauseKind
from kron.core.cron import parse_values
from kron.core.distribution import (
    Anchor,
    Direction,
    Distribution,
    Exponential,
    Normal,
    SkewEarly,
    SkewLate,
    Uniform,
)
from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, ParseError, Problem, did_you_mean, quoted
from kron.core.instant import DAY_S, to_day
from kron.core.limits import Limits
from kron.core.policy import Concurrency, Policy
from kron.core.seed import Seed, Strategy
from kron.core.tokens import Argument, Modifier, Token
from kron.core.window import Mode, Window
from kron.core.zone import Zone, load_zone

_NUMBER = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_BETWEEN = r"([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Value = TypeVar("_Value")
    _Choice = TypeVar("_Choice", bound=StrEnum)


class Reader:
    """Reads modifiers, and keeps every problem it meets."""

    def __init__(self, limits: Limits, problems: list[Problem]) -> None:
        self._limits = limits
        self._problems = problems

    def zone(self, modifier: Modifier) -> Zone | None:
        """`@tz(name)`."""
        positional, _ = self._arguments(modifier, most=1, keys=())
        return self._parsed(positional[0], load_zone) if positional else None

    def window(self, modifier: Modifier) -> Window | None:
        """`@win(mode,duration)`."""
        positional, _ = self._arguments(modifier, least=2, most=2, keys=())
        if len(positional) < 2:
            return None
        mode = self._choice(positional[0], Mode)
        duration_ns = self._parsed(positional[1], parse_duration)
        if mode is None or duration_ns is None:
            return None
        longest_ns = self._limits.window_days * DAY_S * SECOND_NS
        if duration_ns > longest_ns:
            days = self._limits.window_days
            message = f"the window {quoted(positional[1].value)} is longer than {days} days"
            self._report(positional[1], Code.LIMIT, message, f"at most {days * 24}h")
            return None
        return Window(mode, duration_ns)

    def distribution(self, modifier: Modifier) -> Distribution | None:
        """`@dist(name[,key=value...])`."""
        before = len(self._problems)
        positional, given = self._arguments(modifier, most=1, keys=None)
        if not positional:
            return None
        name = positional[0]
        if name.value not in _DISTRIBUTION_KEYS:
            self._unknown(name, "distribution", _DISTRIBUTION_KEYS)
            return None
        keys = _DISTRIBUTION_KEYS[name.value]
        for argument in given.values():
            if argument.key not in keys:
                self._unknown_key(argument, name.value, keys)
        distribution = self._distribution(name.value, given)
        return distribution if len(self._problems) == before else None

    def seed(self, modifier: Modifier) -> Seed | None:
        """`@seed(strategy[,salt=text])`."""
        positional, given = self._arguments(modifier, most=1, keys=("salt",))
        strategy = self._choice(positional[0], Strategy) if positional else None
        if strategy is None:
            return None
        return Seed(strategy, given["salt"].value if "salt" in given else "")

    def policy(self, modifier: Modifier) -> Policy | None:
        """`@policy(key=value[,key=value...])`."""
        keys = ("concurrency", "deadline", "suspend")
        _, given = self._arguments(modifier, least=0, most=0, keys=keys)
        policy = Policy()
        concurrency: Concurrency | None = policy.concurrency
        deadline_ns: int | None = policy.deadline_ns
        suspend: _Switch | None = _Switch.FALSE
        if "concurrency" in given:
            concurrency = self._choice(given["concurrency"], Concurrency)
        if "deadline" in given:
            deadline_ns = self._parsed(given["deadline"], parse_duration)
        if "suspend" in given:
            suspend = self._choice(given["suspend"], _Switch)
        if concurrency is None or deadline_ns is None or suspend is None:
            return None
        return Policy(concurrency, deadline_ns, suspend is _Switch.TRUE)

    def clauses(self, modifier: Modifier) -> tuple[Clause, ...] | None:
        """`@only(clause[;clause...])` and `@avoid(...)`."""
        if modifier.body.text.count(";") >= self._limits.clauses:
            message = f"@{modifier.name} has more than {self._limits.clauses} clauses"
            self._problems.append(modifier.token.problem(Code.LIMIT, message))
            return None
        found = []
        for argument in modifier.arguments(";", self._problems):
            if argument.key is None:
                message = f"{quoted(argument.value)} is not a clause"
                self._report(argument, Code.CONSTRAINT, message, "write it like hours=8-18")
            elif argument.key not in _CLAUSES:
                self._unknown_key(argument, f"@{modifier.name}", _CLAUSES)
            elif clause := self._parsed(argument, _CLAUSES[argument.key]):
                found.append(clause)
        return tuple(found)

    def _distribution(self, name: str, given: dict[str, Argument]) -> Distribution:
        def number(key: str, default: float) -> float:
            value = self._parsed(given[key], _parse_positive) if key in given else default
            return default if value is None else value

        if name in ("skewEarly", "skewLate"):
            shape = number("shape", SkewEarly().shape)
            return SkewEarly(shape) if name == "skewEarly" else SkewLate(shape)
        if name == "exponential":
            direction = self._choice(given["dir"], Direction) if "dir" in given else None
            return Exponential(number("lambda", Exponential().rate), direction or Direction.EARLY)
        if name == "normal":
            anchor = self._choice(given["mu"], Anchor) if "mu" in given else None
            sigma_ns = self._parsed(given["sigma"], _parse_sigma) if "sigma" in given else None
            return Normal(anchor, sigma_ns)
        return Uniform()

    def _arguments(
        self, modifier: Modifier, *, least: int = 1, most: int, keys: tuple[str, ...] | None
    ) -> tuple[list[Argument], dict[str, Argument]]:
        """Arguments without and with a key; too many, too few and unknown ones are reported."""
        before = len(self._problems)
        positional: list[Argument] = []
        given: dict[str, Argument] = {}
        form = f"write it like {FORMS[modifier.name]}"
        for argument in modifier.arguments(",", self._problems):
            if argument.key is None and len(positional) < most:
                positional.append(argument)
            elif argument.key is None:
                message = f"@{modifier.name} does not take {quoted(argument.value)}"
                self._report(argument, Code.MODIFIER_FORM, message, form)
            elif keys is not None and argument.key not in keys:
                self._unknown_key(argument, f"@{modifier.name}", keys)
            elif argument.key in given:
                message = f"{quoted(argument.key)} is given twice"
                self._report(argument, Code.KEY_REPEATED, message)
            else:
                given[argument.key] = argument
        if len(positional) < least and len(self._problems) == before:
            message = f"@{modifier.name} lacks an argument"
            self._problems.append(modifier.token.problem(Code.MODIFIER_FORM, message, fix=form))
        return positional, given

    def _parsed(self, argument: Argument, parse: Callable[[str], _Value]) -> _Value | None:
        try:
            return parse(argument.value)
        except ParseError as error:
            shifted = (problem.shifted(argument.value_start) for problem in error.problems)
            self._problems.extend(shifted)
            return None

    def _choice(self, argument: Argument, choices: type[_Choice]) -> _Choice | None:
        try:
            return choices(argument.value)
        except ValueError:
            self._unknown(argument, argument.key or choices.__name__.lower(), list(choices))
            return None

    def _unknown(self, argument: Argument, what: str, choices: Iterable[str]) -> None:
        names = list(choices)
        message = f"unknown {what} {quoted(argument.value)}: it is one of {', '.join(names)}"
        self._report(argument, Code.VALUE_UNKNOWN, message, did_you_mean(argument.value, names))

    def _unknown_key(self, argument: Argument, where: str, keys: Iterable[str]) -> None:
        names = list(keys)
        key = argument.key or ""
        allowed = f"the keys are {', '.join(names)}" if names else "it has none"
        message = f"unknown key {quoted(key)} for {where}: {allowed}"
        token = Token(key, argument.token.start)
        self._problems.append(
            token.problem(Code.KEY_UNKNOWN, message, fix=did_you_mean(key, names))
        )

    def _report(self, argument: Argument, code: Code, message: str, fix: str = "") -> None:
        self._problems.append(argument.token.problem(code, message, fix=fix))


class _Switch(StrEnum):
    TRUE = "true"
    FALSE = "false"


FORMS = {
    "tz": "@tz(Europe/Paris)",
    "win": "@win(after,2h)",
    "dist": "@dist(skewLate,shape=2)",
    "seed": "@seed(stable,salt=text)",
    "policy": "@policy(concurrency=forbid,deadline=10m)",
    "only": "@only(dow=MON-FRI;hours=8-18)",
    "avoid": "@avoid(date=2026-12-25)",
}
"""Every modifier, with an example of its right form."""

_DISTRIBUTION_KEYS: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "normal": ("mu", "sigma"),
    "skewEarly": ("shape",),
    "skewLate": ("shape",),
    "exponential": ("lambda", "dir"),
}


def _parse_positive(text: str) -> float:
    if re.fullmatch(_NUMBER, text) and 0.0 < float(text) < inf:
        return float(text)
    message = f"{quoted(text)} is not a positive number"
    raise ParseError.single(text, Code.NUMBER, message, fix="for example 2 or 1.5")


def _parse_sigma(text: str) -> int:
    sigma_ns = parse_duration(text)
    if sigma_ns:
        return sigma_ns
    raise ParseError.single(text, Code.NUMBER, "sigma must be longer than 0s")


def _parse_between(text: str) -> tuple[int, int]:
    match = re.fullmatch(_BETWEEN, text)
    if match:
        first = int(match[1]) * 60 + int(match[2])
        last = int(match[3]) * 60 + int(match[4])
        if max(first, last) < MINUTES_A_DAY and max(int(match[2]), int(match[4])) < 60:
            return first, last
    message = f"{quoted(text)} is not a time range from 00:00 to 23:59"
    raise _constraint_error(text, message, "write it like 08:00-20:00 or 22:00-06:00")


def _parse_day(text: str) -> int:
    if re.fullmatch(_DATE, text):
        try:
            return to_day(date.fromisoformat(text))
        except ValueError:
            pass
    message = f"{quoted(text)} is not a day of the calendar"
    raise _constraint_error(text, message, "write it like 2026-12-25")


def _parse_days(text: str) -> tuple[int, int]:
    first_text, dots, last_text = text.partition("..")
    if not dots:
        message = f"{quoted(text)} is not a range of days"
        raise _constraint_error(text, message, "write it like 2026-12-24..2026-12-31")
    first = _parse_day(first_text)
    try:
        last = _parse_day(last_text)
    except ParseError as error:
        place = len(first_text) + len(dots)
        raise ParseError(text, [problem.shifted(place) for problem in error.problems]) from None
    if first > last:
        fix = f"write {last_text}..{first_text}"
        raise _constraint_error(text, f"the range {quoted(text)} runs backwards", fix)
    return first, last


def _constraint_error(text: str, message: str, fix: str) -> ParseError:
    return ParseError.single(text, Code.CONSTRAINT, message, fix=fix)


def _values_clause(kind: ClauseKind) -> Callable[[str], Clause]:
    return lambda text: Clause(kind, mask=parse_values(VALUE_KINDS[kind], text))


def _between_clause(text: str) -> Clause:
    first, last = _parse_between(text)
    return Clause(ClauseKind.BETWEEN, first=first, last=last)


def _date_clause(text: str) -> Clause:
    day = _parse_day(text)
    return Clause(ClauseKind.DATES, first=day, last=day)


def _dates_clause(text: str) -> Clause:
    first, last = _parse_days(text)
    return Clause(ClauseKind.DATES, first=first, last=last)


_CLAUSES: dict[str, Callable[[str], Clause]] = {
    **{kind: _values_clause(kind) for kind in VALUE_KINDS},
    ClauseKind.BETWEEN: _between_clause,
    "date": _date_clause,
    ClauseKind.DATES: _dates_clause,
}
