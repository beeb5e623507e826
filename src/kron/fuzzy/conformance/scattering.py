"""The conformance tests of scattering and of the cron expressions that come out of it.

They ask for what the seed says about the results, from the outside: nothing here uses the
implementation's own passes or pool. Every check runs over the same identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.core.frozen import Frozen
from kron.fuzzy.conformance.check import Check, Implementation, Test, holds

IDENTIFIERS = tuple(
    f"org-{number % 7}/repo-{number % 31}/.github/workflows/job-{number}.md"
    for number in range(150)
)
_DAY = 24 * 60
_DAILY = "FUZZY:DAILY * * *"
_ROUND_THE_CLOCK = tuple(f"FUZZY:DAILY_AROUND:{hour}:30 * * *" for hour in range(24))
_SCATTERED = (
    _DAILY,
    "FUZZY:DAILY_WEEKDAYS * * *",
    "FUZZY:DAILY_AROUND:14:0 * * *",
    "FUZZY:DAILY_AROUND:0:30 * * *",
    "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *",
    "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *",
    "FUZZY:HOURLY * * *",
    "FUZZY:HOURLY:6 * * *",
    "FUZZY:WEEKLY * * *",
    "FUZZY:WEEKLY:1 * * 1",
    "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
    "FUZZY:WEEKLY:3:BETWEEN:6:0:10:0 * * 3",
    "FUZZY:BI-WEEKLY * * *",
    "FUZZY:TRI-WEEKLY * * *",
)
_INTERVALS = ("*/5 * * * *", "*/59 * * * *", "0 0 */2 * *", "0 0 */14 * *", "0 0 * * *")


class Result(Frozen):
    """A resolved schedule, and its fields."""

    schedule: str
    identifier: str
    cron: str

    @property
    def fields(self) -> list[str]:
        """The fields as they are written."""
        return self.cron.split(" ")

    @property
    def hour(self) -> int:
        """The hour, where it is a number."""
        return int(self.fields[1])

    @property
    def minute(self) -> int:
        """The minute, where it is a number."""
        return int(self.fields[0])

    def __str__(self) -> str:
        return f"{self.schedule} for {self.identifier} is {self.cron}"


def _every(schedules: tuple[str, ...], is_right: Callable[[Result], bool]) -> Check:
    """Whatever the identifier, the result of each schedule is right."""

    def check(implementation: Implementation) -> Iterator[str]:
        results = (
            Result(schedule, identifier, implementation.scatter(schedule, identifier))
            for schedule in schedules
            for identifier in IDENTIFIERS
        )
        return holds("wrong", (result for result in results if not is_right(result)))

    return check


def _is_preferred(result: Result) -> bool:
    """Whether the time is one of the weighted pool's."""
    if 2 <= result.hour <= 5:
        return result.minute in (7, 13, 23, 37, 43, 53)
    return result.hour in (10, 11, 12, 19, 20, 21, 22, 23) and 5 <= result.minute <= 54


def _is_within(first: int, width: int) -> Callable[[Result], bool]:
    """Whether the time lies at most `width` minutes after the minute `first` of some day."""
    return lambda result: (result.hour * 60 + result.minute - first) % _DAY <= width


def _is_step(field: str, most: int) -> bool:
    return field.startswith("*/") and field[2:].isdigit() and 1 <= int(field[2:]) <= most


def _is_number(field: str, least: int, most: int) -> bool:
    return field.isdigit() and least <= int(field) <= most


def _is_weekday_field(field: str) -> bool:
    numbers = field.replace("-", ",").split(",")
    return field == "*" or all(_is_number(number, 0, 6) for number in numbers)


def _same_hash(implementation: Implementation) -> Iterator[str]:
    known = {"": 0x811C9DC5, "a": 0xE40C292C, "foobar": 0xBF9CF968}
    wrong = (text for text, value in known.items() if implementation.hash(text.encode()) != value)
    yield from holds("not FNV-1a", wrong)
    twice = (
        name
        for name in IDENTIFIERS
        if implementation.hash(name.encode()) != implementation.hash(name.encode())
    )
    yield from holds("two hashes", twice)


def _different_hashes(implementation: Implementation) -> Iterator[str]:
    different = {implementation.hash(name.encode()) for name in IDENTIFIERS}
    if len(different) < len(IDENTIFIERS):
        yield f"{len(IDENTIFIERS)} identifiers have {len(different)} hashes"


def _hash_in_range(implementation: Implementation) -> Iterator[str]:
    values = (implementation.hash(name.encode()) for name in IDENTIFIERS)
    yield from holds("not of 32 bits", (value for value in values if not 0 <= value < 2**32))


def _both_sides_of_midnight(implementation: Implementation) -> Iterator[str]:
    schedule = "FUZZY:WEEKLY:6:BETWEEN:22:0:2:0 * * 6"
    seen = set()
    for name in IDENTIFIERS:
        result = Result(schedule, name, implementation.scatter(schedule, name))
        is_late = 22 <= result.hour <= 23
        if not (is_late or result.hour <= 2) or result.fields[4] != ("6" if is_late else "0"):
            yield f"wrong: {result}"
            return
        seen.add(is_late)
    if len(seen) < 2:
        yield "every identifier is on the same side of midnight"


def _same_time(implementation: Implementation) -> Iterator[str]:
    first = [implementation.scatter(_DAILY, name) for name in IDENTIFIERS]
    again = [implementation.scatter(_DAILY, name) for name in reversed(IDENTIFIERS)]
    pairs = zip(IDENTIFIERS, first, reversed(again), strict=True)
    yield from holds("moved", (name for name, before, after in pairs if before != after))
    if len(set(first)) < len(first) // 3:
        yield f"{len(first)} identifiers have {len(set(first))} times"


TESTS = (
    Test("T-SCATTER-001", 1, "Hash produces same output for same input", _same_hash),
    Test("T-SCATTER-002", 1, "Different inputs produce different outputs", _different_hashes),
    Test(
        "T-SCATTER-003",
        1,
        "Hash value is within modulo range (0 to modulo-1)",
        _hash_in_range,
    ),
    Test(
        "T-SCATTER-004",
        1,
        "Daily schedule selects time from weighted pool (BEST/GOOD/OK tiers only)",
        _every((_DAILY, "FUZZY:DAILY_WEEKDAYS * * *"), _is_preferred),
    ),
    Test(
        "T-SCATTER-005",
        2,
        "Around schedule stays within ±60 minute window",
        _every(("FUZZY:DAILY_AROUND:14:2 * * *",), _is_within(13 * 60 + 2, 120)),
    ),
    Test(
        "T-SCATTER-006",
        2,
        "Between schedule stays within specified range",
        _every(("FUZZY:DAILY_BETWEEN:9:58:10:32 * * *",), _is_within(9 * 60 + 58, 34)),
    ),
    Test(
        "T-SCATTER-007",
        2,
        "Midnight-crossing range handles day wrap correctly",
        _both_sides_of_midnight,
    ),
    Test(
        "T-SCATTER-008",
        2,
        "Hourly schedule produces minute in [5, 54]",
        _every(
            ("FUZZY:HOURLY * * *", "FUZZY:HOURLY:2 * * *"),
            lambda result: _is_number(result.fields[0], 5, 54),
        ),
    ),
    Test(
        "T-SCATTER-009",
        1,
        "Weekly schedule selects valid day 0-6",
        _every(("FUZZY:WEEKLY * * *",), lambda result: _is_number(result.fields[4], 0, 6)),
    ),
    Test("T-SCATTER-010", 1, "Same workflow gets same time across compilations", _same_time),
    Test(
        "T-SCATTER-011",
        1,
        "Daily schedule lands in BEST (02–05), GOOD (10–12), or OK (19–23) window",  # noqa: RUF001
        _every((_DAILY,), lambda result: result.hour in (2, 3, 4, 5, 10, 11, 12, *range(19, 24))),
    ),
    Test(
        "T-SCATTER-012",
        3,
        "Minute values in [5, 54] for all patterns (hour-boundary avoidance)",
        _every((*_SCATTERED, *_ROUND_THE_CLOCK), lambda result: 5 <= result.minute <= 54),
    ),
    Test(
        "T-SCATTER-013",
        2,
        "DAILY_AROUND scatter landing in EU peak hours (06–09) avoids minutes [27, 33]",  # noqa: RUF001
        _every(
            _ROUND_THE_CLOCK,
            lambda result: not (6 <= result.hour <= 9 and 27 <= result.minute <= 33),
        ),
    ),
    Test(
        "T-SCATTER-014",
        2,
        "DAILY_AROUND scatter landing in US business hours (14–18) avoids minutes [12, 18] and "  # noqa: RUF001
        "[42, 48]",
        _every(
            _ROUND_THE_CLOCK,
            lambda result: not (14 <= result.hour <= 18 and 12 <= result.minute % 30 <= 18),
        ),
    ),
    Test(
        "T-SCATTER-015",
        1,
        "Weekly schedule uses weighted daily time pool (preferred windows)",
        _every(("FUZZY:WEEKLY * * *", "FUZZY:WEEKLY:1 * * 1"), _is_preferred),
    ),
    Test(
        "T-SCATTER-016",
        3,
        "Bi-weekly and tri-weekly schedules use weighted daily time pool",
        _every(("FUZZY:BI-WEEKLY * * *", "FUZZY:TRI-WEEKLY * * *"), _is_preferred),
    ),
    Test(
        "T-CRON-001",
        1,
        "Generated cron has exactly 5 fields",
        _every((*_SCATTERED, *_INTERVALS), lambda result: len(result.cron.split()) == 5),
    ),
    Test(
        "T-CRON-002",
        1,
        "Minute field is in range 0-59",
        _every(_SCATTERED, lambda result: _is_number(result.fields[0], 0, 59)),
    ),
    Test(
        "T-CRON-003",
        1,
        "Hour field is in range 0-23",
        _every(
            _SCATTERED,
            lambda result: (
                _is_number(result.fields[1], 0, 23)
                or ("HOURLY" in result.schedule and result.fields[1] in ("*", "*/6"))
            ),
        ),
    ),
    Test(
        "T-CRON-004",
        1,
        "Day-of-week field is in range 0-6 or *",
        _every((*_SCATTERED, *_INTERVALS), lambda result: _is_weekday_field(result.fields[4])),
    ),
    Test(
        "T-CRON-005",
        1,
        "Month and day-of-month are valid",
        _every(
            (*_SCATTERED, *_INTERVALS),
            lambda result: (
                result.fields[3] == "*"
                and (result.fields[2] == "*" or _is_step(result.fields[2], 30))
            ),
        ),
    ),
    Test(
        "T-CRON-006",
        3,
        "Interval expressions use valid */N syntax",
        _every(
            ("*/5 * * * *", "*/59 * * * *", "0 0 */2 * *", "FUZZY:HOURLY:6 * * *"),
            lambda result: sum(_is_step(field, 59) for field in result.fields) == 1,
        ),
    ),
)
