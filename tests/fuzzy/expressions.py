"""Random fuzzy expressions with what they mean, worked out from the grammar alone.

Nothing here uses Kron's reading or writing of an expression.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
ABBREVIATIONS = {"PST": -480, "PDT": -420, "EST": -300, "EDT": -240, "JST": 540, "IST": 330}
WORKDAYS = {-1: "0-4", 0: "*", 1: "2-6"}


class Meant(NamedTuple):
    """A text and the placeholder that it has to have."""

    text: str
    placeholder: str


class Time(NamedTuple):
    """A time as text, and as minutes from midnight UTC of the day that it names."""

    text: str
    utc: int

    @property
    def fields(self) -> str:
        hour, minute = divmod(self.utc % 1440, 60)
        return f"{hour}:{minute}"

    @property
    def days(self) -> int:
        return self.utc // 1440


@cache
def times() -> st.SearchStrategy[Time]:
    """A time in any form, with or without an offset."""
    return st.builds(_time, _clocks(), _offsets())


@cache
def expressions() -> st.SearchStrategy[Meant]:
    """Any valid expression, in any case and spacing."""
    plain = st.one_of(
        st.builds(_daily, _windows(), st.booleans()),
        st.builds(_weekly, _windows(), st.none() | st.integers(0, 6)),
        st.builds(_hourly, st.sampled_from([None, 1, 2, 3, 4, 6, 8, 12]), _units(), st.booleans()),
        st.builds(_minutes, st.integers(5, 59), _units()),
        st.builds(_days, st.integers(1, 30), _units()),
        st.builds(_weeks, st.integers(1, 4), _units()),
        st.sampled_from(
            [
                Meant("bi-weekly", "FUZZY:BI-WEEKLY * * *"),
                Meant("tri-weekly", "FUZZY:TRI-WEEKLY * * *"),
            ]
        ),
    )
    gaps = st.sampled_from([" ", "  ", "\t", " \t "])
    cases = st.sampled_from([str.lower, str.upper, str.title, str.swapcase])
    return st.builds(
        lambda meant, gap, case: Meant(case(meant.text).replace(" ", gap), meant.placeholder),
        plain,
        gaps,
        cases,
    )


def _clocks() -> st.SearchStrategy[tuple[str, int]]:
    hours, minutes = st.integers(0, 23), st.integers(0, 59)
    return st.one_of(
        st.builds(lambda h, m: (f"{h}:{m:02d}", h * 60 + m), hours, minutes),
        st.builds(lambda h, m: (f"{h:02d}:{m:02d}", h * 60 + m), hours, minutes),
        st.builds(_twelve_hours, hours, st.just(0), st.sampled_from(["", " "])),
        st.builds(_twelve_hours, hours, minutes, st.sampled_from(["", " "])),
        st.sampled_from([("midnight", 0), ("noon", 720)]),
    )


def _twelve_hours(hour: int, minute: int, gap: str) -> tuple[str, int]:
    shown = {0: 12, 12: 12}.get(hour, hour % 12)
    minutes = f":{minute:02d}" if minute else ""
    return f"{shown}{minutes}{gap}{'am' if hour < 12 else 'pm'}", hour * 60 + minute


def _offsets() -> st.SearchStrategy[tuple[str, int]]:
    return st.one_of(
        st.just(("", 0)),
        st.builds(lambda hours: (f" utc{hours:+d}", hours * 60), st.integers(-12, 14)),
        st.builds(_long_offset, st.integers(-12 * 60, 14 * 60)),
        st.sampled_from([(f" {name}", minutes) for name, minutes in ABBREVIATIONS.items()]),
    )


def _long_offset(minutes: int) -> tuple[str, int]:
    sign = "-" if minutes < 0 else "+"
    return f" utc{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}", minutes


def _time(clock: tuple[str, int], offset: tuple[str, int]) -> Time:
    return Time(clock[0] + offset[0], clock[1] - offset[1])


class Window(NamedTuple):
    text: str
    kind: str
    fields: str
    days: int


def _windows() -> st.SearchStrategy[Window | None]:
    around = st.builds(
        lambda time: Window(f" around {time.text}", "AROUND", time.fields, time.days), times()
    )
    between = (
        st.tuples(times(), times())
        .filter(lambda pair: pair[0].utc % 1440 != pair[1].utc % 1440)
        .map(
            lambda pair: Window(
                f" between {pair[0].text} and {pair[1].text}",
                "BETWEEN",
                f"{pair[0].fields}:{pair[1].fields}",
                pair[0].days,
            )
        )
    )
    return st.none() | around | between


def _daily(window: Window | None, on_weekdays: bool) -> Meant:
    suffix = " on weekdays" if on_weekdays else ""
    weekdays = "_WEEKDAYS" if on_weekdays else ""
    if window is None:
        return Meant(f"daily{suffix}", f"FUZZY:DAILY{weekdays} * * *")
    days = WORKDAYS[window.days] if on_weekdays else "*"
    return Meant(
        f"daily{window.text}{suffix}",
        f"FUZZY:DAILY_{window.kind}{weekdays}:{window.fields} * * {days}",
    )


def _weekly(window: Window | None, weekday: int | None) -> Meant:
    text, constraint = ("", "") if window is None else (window.text, f":{window.kind}:")
    fields = "" if window is None else window.fields
    if weekday is None:
        return Meant(f"weekly{text}", f"FUZZY:WEEKLY{constraint}{fields} * * *")
    day = (weekday + (window.days if window else 0)) % 7
    return Meant(
        f"weekly on {WEEKDAYS[weekday]}{text}",
        f"FUZZY:WEEKLY:{day}{constraint}{fields} * * {day}",
    )


def _units() -> st.SearchStrategy[int]:
    """Which of the spellings of a unit is used, and whether it is glued to the number."""
    return st.integers(0, 5)


def _every(count: int, units: tuple[str, str, str], spelling: int) -> str:
    return f"every {count}{' ' if spelling < 3 else ''}{units[spelling % 3]}"


def _hourly(every: int | None, spelling: int, on_weekdays: bool) -> Meant:
    suffix = " on weekdays" if on_weekdays else ""
    weekdays = "_WEEKDAYS" if on_weekdays else ""
    if every is None:
        return Meant(f"hourly{suffix}", f"FUZZY:HOURLY{weekdays} * * *")
    text = _every(every, ("h", "hour", "hours"), spelling)
    return Meant(f"{text}{suffix}", f"FUZZY:HOURLY{weekdays}:{every} * * *")


def _minutes(count: int, spelling: int) -> Meant:
    return Meant(_every(count, ("m", "minute", "minutes"), spelling), f"*/{count} * * * *")


def _days(count: int, spelling: int) -> Meant:
    text = _every(count, ("d", "day", "days"), spelling)
    return Meant(text, "0 0 * * *" if count == 1 else f"0 0 */{count} * *")


def _weeks(count: int, spelling: int) -> Meant:
    text = _every(count, ("w", "week", "weeks"), spelling)
    return Meant(text, "0 0 * * 0" if count == 1 else f"0 0 */{7 * count} * *")
