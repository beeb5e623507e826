"""The conformance suite of the specification: every test id of its section 10, run against Kron.

The tests and the cases of parsing are in conformance.txt, which is read when this module is
imported. The checks look at the results of three functions from outside: nothing here uses the
passes or the pool of scattering, so that a broken `parse`, `scatter` or `fnv1a_32` fails them.
All checks of scattering run over the same identifiers.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator

from kron.core.errors import ParseError
from kron.core.frozen import Frozen
from kron.fuzzy.expression import parse
from kron.fuzzy.scatter import fnv1a_32, scatter

LEVELS = {1: "Basic", 2: "Standard", 3: "Complete"}
IDENTIFIERS = tuple(
    f"org-{number % 7}/repo-{number % 31}/.github/workflows/job-{number}.md"
    for number in range(150)
)


Check = Callable[[], Iterator[str]]
"""Yields what is wrong; nothing if Kron conforms."""


class Test(Frozen):
    """One test of section 10: the level from which it is required, and its check."""

    id: str
    level: int
    title: str
    check: Check

    def failure(self) -> str:
        """Why it fails; '' if it passes."""
        try:
            return "; ".join(self.check())
        except Exception as error:  # whatever a check meets, the report says it
            return f"{type(error).__name__}: {error}"


def run() -> list[tuple[Test, str]]:
    """Every test in the order of the specification, and why it failed; '' if it passed."""
    return [(test, test.failure()) for test in TESTS]


def level_of(results: Iterable[tuple[Test, str]]) -> int:
    """The highest level all of whose tests passed, with those of the levels below; 0: none."""
    failed = [test.level for test, failure in results if failure]
    return min(failed, default=max(LEVELS) + 1) - 1


class _Resolved(Frozen):
    """A schedule, an identifier, and the cron expression that `scatter` gives them."""

    schedule: str
    identifier: str
    cron: str

    @property
    def fields(self) -> list[str]:
        return self.cron.split(" ")

    @property
    def hour(self) -> int:
        return int(self.fields[1])

    @property
    def minute(self) -> int:
        return int(self.fields[0])

    def __str__(self) -> str:
        return f"{self.schedule} for {self.identifier} is {self.cron}"


def _answers(expected: dict[str, str]) -> Check:
    """Each expression has this placeholder, or is refused with this code."""

    def check() -> Iterator[str]:
        for text, wanted in expected.items():
            try:
                found = parse(text).placeholder
            except ParseError as error:
                found = error.code
            if found != wanted:
                yield f"{text}: {found}, not {wanted}"

    return check


def _every(schedules: Iterable[str], is_right: Callable[[_Resolved], bool]) -> Check:
    """Whatever the identifier, the result of each schedule is right."""

    def check() -> Iterator[str]:
        results = (result for schedule in schedules for result in _resolved(schedule))
        return _first("wrong", (result for result in results if not is_right(result)))

    return check


def _resolved(schedule: str) -> Iterator[_Resolved]:
    return (_Resolved(schedule, name, scatter(schedule, name)) for name in IDENTIFIERS)


def _first(message: str, wrong: Iterable[object]) -> Iterator[str]:
    for example in wrong:
        yield f"{message}: {example}"
        return


def _is_preferred(result: _Resolved) -> bool:
    """Whether the time is one of the weighted pool's."""
    if 2 <= result.hour <= 5:
        return result.minute in (7, 13, 23, 37, 43, 53)
    return result.hour in (10, 11, 12, 19, 20, 21, 22, 23) and 5 <= result.minute <= 54


def _is_within(first: int, width: int) -> Callable[[_Resolved], bool]:
    """Whether the time lies at most `width` minutes after the minute `first` of some day."""
    return lambda result: (result.hour * 60 + result.minute - first) % (24 * 60) <= width


def _is_number(field: str, least: int, most: int) -> bool:
    return field.isdigit() and least <= int(field) <= most


def _is_step(field: str, most: int) -> bool:
    return field.startswith("*/") and _is_number(field[2:], 1, most)


def _is_weekday_field(result: _Resolved) -> bool:
    numbers = result.fields[4].replace("-", ",").split(",")
    return numbers == ["*"] or all(_is_number(number, 0, 6) for number in numbers)


def _is_hour_field(result: _Resolved) -> bool:
    hour = result.fields[1]
    return _is_number(hour, 0, 23) or ("HOURLY" in result.schedule and hour in ("*", "*/6"))


def _are_day_fields(result: _Resolved) -> bool:
    day, month = result.fields[2:4]
    return month == "*" and (day == "*" or _is_step(day, 30))


def _same_hash() -> Iterator[str]:
    known = {"": 0x811C9DC5, "a": 0xE40C292C, "foobar": 0xBF9CF968}
    wrong = (text for text, value in known.items() if fnv1a_32(text.encode()) != value)
    yield from _first("not FNV-1a", wrong)
    names = [name.encode() for name in IDENTIFIERS]
    twice = (name for name in names if fnv1a_32(name) != fnv1a_32(name))
    yield from _first("two hashes", twice)


def _different_hashes() -> Iterator[str]:
    different = {fnv1a_32(name.encode()) for name in IDENTIFIERS}
    if len(different) < len(IDENTIFIERS):
        yield f"{len(IDENTIFIERS)} identifiers have {len(different)} hashes"


def _hash_in_range() -> Iterator[str]:
    values = (fnv1a_32(name.encode()) for name in IDENTIFIERS)
    yield from _first("not of 32 bits", (value for value in values if not 0 <= value < 2**32))


def _both_sides_of_midnight() -> Iterator[str]:
    seen = set()
    for result in _resolved("FUZZY:WEEKLY:6:BETWEEN:22:0:2:0 * * 6"):
        is_late = 22 <= result.hour <= 23
        if not (is_late or result.hour <= 2) or result.fields[4] != ("6" if is_late else "0"):
            yield f"wrong: {result}"
            return
        seen.add(is_late)
    if len(seen) < 2:
        yield "every identifier is on the same side of midnight"


def _same_time() -> Iterator[str]:
    first = [scatter(_DAILY, name) for name in IDENTIFIERS]
    again = [scatter(_DAILY, name) for name in reversed(IDENTIFIERS)]
    pairs = zip(IDENTIFIERS, first, reversed(again), strict=True)
    yield from _first("moved", (name for name, before, after in pairs if before != after))
    if len(set(first)) < len(first) // 3:
        yield f"{len(first)} identifiers have {len(set(first))} times"


_DAILY = "FUZZY:DAILY * * *"
_DAILY_WEEKDAYS = "FUZZY:DAILY_WEEKDAYS * * *"
_HOURLY = "FUZZY:HOURLY * * *"
_WEEKLY = "FUZZY:WEEKLY * * *"
_MONDAY = "FUZZY:WEEKLY:1 * * 1"
_BY_WEEKS = ("FUZZY:BI-WEEKLY * * *", "FUZZY:TRI-WEEKLY * * *")
_ROUND_THE_CLOCK = tuple(f"FUZZY:DAILY_AROUND:{hour}:30 * * *" for hour in range(24))
_SCATTERED = (
    *(_DAILY, _DAILY_WEEKDAYS, _HOURLY, _WEEKLY, _MONDAY, *_BY_WEEKS),
    "FUZZY:DAILY_AROUND:14:0 * * *",
    "FUZZY:DAILY_AROUND:0:30 * * *",
    "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *",
    "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *",
    "FUZZY:HOURLY:6 * * *",
    "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
    "FUZZY:WEEKLY:3:BETWEEN:6:0:10:0 * * 3",
)
_STEPS = ("*/5 * * * *", "*/59 * * * *", "0 0 */2 * *")
_RESOLVABLE = (*_SCATTERED, *_STEPS, "0 0 */14 * *", "0 0 * * *")

_SCATTERING: dict[str, Check] = {
    "T-SCATTER-001": _same_hash,
    "T-SCATTER-002": _different_hashes,
    "T-SCATTER-003": _hash_in_range,
    "T-SCATTER-004": _every((_DAILY, _DAILY_WEEKDAYS), _is_preferred),
    "T-SCATTER-005": _every(("FUZZY:DAILY_AROUND:14:2 * * *",), _is_within(13 * 60 + 2, 120)),
    "T-SCATTER-006": _every(("FUZZY:DAILY_BETWEEN:9:58:10:32 * * *",), _is_within(9 * 60 + 58, 34)),
    "T-SCATTER-007": _both_sides_of_midnight,
    "T-SCATTER-008": _every(
        (_HOURLY, "FUZZY:HOURLY:2 * * *"), lambda result: _is_number(result.fields[0], 5, 54)
    ),
    "T-SCATTER-009": _every((_WEEKLY,), lambda result: _is_number(result.fields[4], 0, 6)),
    "T-SCATTER-010": _same_time,
    "T-SCATTER-011": _every(
        (_DAILY,), lambda result: result.hour in (2, 3, 4, 5, 10, 11, 12, *range(19, 24))
    ),
    "T-SCATTER-012": _every(
        (*_SCATTERED, *_ROUND_THE_CLOCK), lambda result: 5 <= result.minute <= 54
    ),
    "T-SCATTER-013": _every(
        _ROUND_THE_CLOCK, lambda result: not (6 <= result.hour <= 9 and 27 <= result.minute <= 33)
    ),
    "T-SCATTER-014": _every(
        _ROUND_THE_CLOCK,
        lambda result: not (14 <= result.hour <= 18 and 12 <= result.minute % 30 <= 18),
    ),
    "T-SCATTER-015": _every((_WEEKLY, _MONDAY), _is_preferred),
    "T-SCATTER-016": _every(_BY_WEEKS, _is_preferred),
    "T-CRON-001": _every(_RESOLVABLE, lambda result: len(result.cron.split()) == 5),
    "T-CRON-002": _every(_SCATTERED, lambda result: _is_number(result.fields[0], 0, 59)),
    "T-CRON-003": _every(_SCATTERED, _is_hour_field),
    "T-CRON-004": _every(_RESOLVABLE, _is_weekday_field),
    "T-CRON-005": _every(_RESOLVABLE, _are_day_fields),
    "T-CRON-006": _every(
        (*_STEPS, "FUZZY:HOURLY:6 * * *"),
        lambda result: sum(_is_step(field, 59) for field in result.fields) == 1,
    ),
}


def _tests() -> Iterator[Test]:
    """The tests of conformance.txt, which begins with a comment about its form."""
    table = pkgutil.get_data("kron.fuzzy", "conformance.txt")
    assert table is not None  # the package's loader reads files
    for entry in table.decode().replace("\n    ", "\t").splitlines():
        if entry.startswith("#"):
            continue
        head, *cases = entry.split("\t")
        test_id, level, title = head.split(" ", 2)
        if own_case := re.fullmatch("Parse (.+) to (.+)", title):
            cases = [f"{own_case[2]} <- {own_case[1]}"]
        expected = {
            text: answer
            for answer, _, texts in (case.partition(" <- ") for case in cases)
            for text in texts.split(", ")
        }
        yield Test(test_id, int(level), title, _SCATTERING.get(test_id) or _answers(expected))


TESTS = tuple(_tests())
