"""What each modifier means: from its arguments to a window, a distribution, a seed and so on.

`FORMS` is the grammar: what a modifier takes, and what is made of it. A value that cannot be read
is None, and what is wrong with it is in `problems`, so that a line with three mistakes gets three
messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from enum import StrEnum
from math import inf

from kron.core.constraint import MINUTES_A_DAY, VALUE_KINDS, Clause, ClauseKind
from kron.core.cron import parse_values
from kron.core.distribution import DISTRIBUTIONS, Anchor, Direction
from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, ParseError, Problem, attempt, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_day
from kron.core.limits import Limits
from kron.core.policy import Concurrency, Policy
from kron.core.seed import Seed, Strategy
from kron.core.tokens import Argument, Modifier, Token
from kron.core.window import Mode, Window
from kron.core.zone import load_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Parse = Callable[[str], Any]

_NUMBER = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_BETWEEN = r"([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


class Form(Frozen):
    example: str
    field: str
    """The field of the schedule that it sets."""
    make: Any = None
    """Its `keys`, if any, come each with the parameter that it is. None: the first argument says
    what is made."""
    positional: tuple[Parse, ...] = ()


class Reader:
    """Reads modifiers, and keeps every problem it meets."""

    def __init__(self, limits: Limits, problems: list[Problem]) -> None:
        self._limits = limits
        self._problems = problems

    def read(self, modifier: Modifier) -> Any:
        """What the modifier says; None if that is reported."""
        if modifier.name in CLAUSED:
            return self._clauses(modifier)
        form, before = FORMS[modifier.name], len(self._problems)
        positional, keyed = self._arguments(modifier, form)
        is_short = len(positional) < len(form.positional)
        parsers = () if is_short else zip(positional, form.positional, strict=True)
        values = [self._parsed(argument, parse) for argument, parse in parsers]
        make, where = form.make, f"@{modifier.name}"
        if make is None and values:
            make = values.pop()
            where = make.name if make is not None else where
        keys = dict(getattr(make, "keys", ()))
        given: dict[str, Any] = {}
        for key, argument in keyed.items() if make is not None else ():
            if key in keys:
                given[keys[key]] = self._parsed(argument, _VALUES[key])
            else:
                self._unknown_key(argument, where, keys)
        if len(self._problems) > before:
            return None
        if is_short:
            fix = f"write it like {form.example}"
            message = f"{where} lacks an argument"
            self._problems.append(modifier.token.problem(Code.MODIFIER_FORM, message, fix=fix))
            return None
        made = make(*values, **given)
        days = self._limits.window_days
        if isinstance(made, Window) and made.duration_ns > days * DAY_S * SECOND_NS:
            message = f"the window {quoted(positional[1].value)} is longer than {days} days"
            self._report(positional[1], Code.LIMIT, message, f"at most {days * 24}h")
        return made

    def _clauses(self, modifier: Modifier) -> tuple[Clause, ...] | None:
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

    def _arguments(
        self, modifier: Modifier, form: Form
    ) -> tuple[list[Argument], dict[str, Argument]]:
        """Arguments without and with a key; too many and repeated ones are reported."""
        positional: list[Argument] = []
        keyed: dict[str, Argument] = {}
        for argument in modifier.arguments(",", self._problems):
            if argument.key is None and len(positional) < len(form.positional):
                positional.append(argument)
            elif argument.key is None:
                message = f"@{modifier.name} does not take {quoted(argument.value)}"
                fix = f"write it like {form.example}"
                self._report(argument, Code.MODIFIER_FORM, message, fix)
            elif argument.key in keyed:
                message = f"{quoted(argument.key)} is given twice"
                self._report(argument, Code.KEY_REPEATED, message)
            else:
                keyed[argument.key] = argument
        return positional, keyed

    def _parsed(self, argument: Argument, parse: Parse) -> Any:
        return attempt(self._problems, parse, argument.value, argument.value_start)

    def _unknown_key(self, argument: Argument, where: str, keys: Iterable[str]) -> None:
        names = list(keys)
        key = argument.key or ""
        allowed = f"the keys are {', '.join(names)}" if names else "it has none"
        message = f"unknown key {quoted(key)} for {where}: {allowed}"
        token = Token(key, argument.token.start)
        fix = did_you_mean(key, names)
        self._problems.append(token.problem(Code.KEY_UNKNOWN, message, fix=fix))

    def _report(self, argument: Argument, code: Code, message: str, fix: str = "") -> None:
        self._problems.append(argument.token.problem(code, message, fix=fix))


def _one_of(what: str, choices: dict[str, Any]) -> Parse:
    def parse(text: str) -> Any:
        if text in choices:
            return choices[text]
        message = f"unknown {what} {quoted(text)}: it is one of {', '.join(choices)}"
        fix = did_you_mean(text, choices)
        raise ParseError.single(text, Code.VALUE_UNKNOWN, message, fix=fix)

    return parse


def _member(what: str, enum: type[StrEnum]) -> Parse:
    return _one_of(what, {str(member): member for member in enum})


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


def _parse_between(text: str) -> Clause:
    match = re.fullmatch(_BETWEEN, text)
    if match:
        first = int(match[1]) * 60 + int(match[2])
        last = int(match[3]) * 60 + int(match[4])
        if max(first, last) < MINUTES_A_DAY and max(int(match[2]), int(match[4])) < 60:
            return Clause(ClauseKind.BETWEEN, first=first, last=last)
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


def _parse_date(text: str) -> Clause:
    day = _parse_day(text)
    return Clause(ClauseKind.DATES, first=day, last=day)


def _parse_dates(text: str) -> Clause:
    first_text, dots, last_text = text.partition("..")
    if not dots:
        message = f"{quoted(text)} is not a range of days"
        raise _constraint_error(text, message, "write it like 2026-12-24..2026-12-31")
    problems: list[Problem] = []
    first = attempt(problems, _parse_day, first_text)
    last = attempt(problems, _parse_day, last_text, len(first_text) + len(dots))
    if first is None or last is None:
        raise ParseError(text, problems)
    if first > last:
        fix = f"write {last_text}..{first_text}"
        raise _constraint_error(text, f"the range {quoted(text)} runs backwards", fix)
    return Clause(ClauseKind.DATES, first=first, last=last)


def _constraint_error(text: str, message: str, fix: str) -> ParseError:
    return ParseError.single(text, Code.CONSTRAINT, message, fix=fix)


def _parse_values(kind: ClauseKind) -> Parse:
    return lambda text: Clause(kind, mask=parse_values(VALUE_KINDS[kind], text))


_CLAUSES: dict[str, Parse] = {
    **{kind: _parse_values(kind) for kind in VALUE_KINDS},
    ClauseKind.BETWEEN: _parse_between,
    "date": _parse_date,
    ClauseKind.DATES: _parse_dates,
}
_VALUES: dict[str, Parse] = {
    "salt": str,
    "concurrency": _member("concurrency", Concurrency),
    "deadline": parse_duration,
    "suspend": _one_of("suspend", {"true": True, "false": False}),
    "mu": _member("mu", Anchor),
    "sigma": _parse_sigma,
    "shape": _parse_positive,
    "lambda": _parse_positive,
    "dir": _member("dir", Direction),
}
"""How the value of each key is read."""

CLAUSED = ("only", "avoid")
"""The modifiers that hold clauses, with semicolons between them."""

FORMS = {
    "tz": Form("@tz(Europe/Paris)", "zone", lambda zone: zone, (load_zone,)),
    "win": Form("@win(after,2h)", "window", Window, (_member("mode", Mode), parse_duration)),
    "dist": Form(
        "@dist(skewLate,shape=2)",
        "distribution",
        positional=(_one_of("distribution", DISTRIBUTIONS),),
    ),
    "seed": Form("@seed(stable,salt=text)", "seed", Seed, (_member("strategy", Strategy),)),
    "policy": Form("@policy(concurrency=forbid,deadline=10m)", "policy", Policy),
    "only": Form("@only(dow=MON-FRI;hours=8-18)", "only"),
    "avoid": Form("@avoid(date=2026-12-25)", "avoid"),
}
