"""Times of day in a fuzzy expression: `14:00`, `3pm`, `9:30 am`, `noon`, each with its offset.

Everything is counted in whole minutes. `to_utc` also says by how many days the conversion moves
a time, because a weekday has to move with it.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, quoted
from kron.core.frozen import Frozen
from kron.fuzzy.pattern import DAY_MINUTES
from kron.fuzzy.words import Words, did_you_mean

_NAMED = {"midnight": 0, "noon": 12 * 60}
_HALVES = ("am", "pm")
_CLOCK = re.compile(r"(-?[0-9]{1,9}+)(?::(-?[0-9]{1,9}+))?+(am|pm)?+")
_OFFSET = re.compile(r"utc([+-])([0-9]{1,2})(?::([0-9]{2}))?")
_LOWEST_OFFSET = -12 * 60
_HIGHEST_OFFSET = 14 * 60
_EXAMPLE = "write it like 14:00 or 3:30pm"
_OFFSET_EXAMPLE = "write it like utc+9 or utc-3:30"
_FORMS = "a time is HH:MM (hours 0-23), or 1-12 with am or pm, or midnight or noon"

# Not compiled at import: only a mistake needs it.
_ALMOST_OFFSET = r"(?:gmt)?[+-][0-9]"

ABBREVIATIONS = {
    "pst": -8 * 60,
    "pdt": -7 * 60,
    "est": -5 * 60,
    "edt": -4 * 60,
    "jst": 9 * 60,
    "ist": 5 * 60 + 30,
    "pt": -8 * 60,
    "et": -5 * 60,
}
_AMBIGUOUS = {
    "pt": "PT could be PST or PDT: it is read as PST, utc-8, all year round",
    "et": "ET could be EST or EDT: it is read as EST, utc-5, all year round",
    "ist": "IST is read as India's time, utc+5:30; Ireland and Israel have an IST too",
}


class LocalTime(Frozen):
    """A minute of the day, and the offset from UTC in minutes if one was written."""

    minute: int
    offset: int | None = None

    def to_utc(self) -> tuple[int, int]:
        """By how many days the conversion moves the time, and the minute of the day in UTC."""
        return divmod(self.minute - (self.offset or 0), DAY_MINUTES)


def read_time(words: Words) -> LocalTime | None:
    """The time that begins with the word ahead, with its offset; None if it is reported."""
    word = words.take()
    minute = _NAMED.get(word)
    if minute is None:
        minute = _read_clock(words, word)
    offset = _read_offset(words)
    return None if minute is None else LocalTime(minute, offset)


def _read_clock(words: Words, word: str) -> int | None:
    index = words.last
    match = _CLOCK.fullmatch(word)
    if match is not None:
        hour, minute, half = match.groups()
        if half is None and words.next in _HALVES:
            half = words.take()
        if minute is not None or half is not None:
            return _minute_of_day(words, index, hour, minute or "00", half)
    fix = did_you_mean(word, _NAMED) or _EXAMPLE
    if word.isascii() and word.isdigit() and len(word) <= 2:
        hours = int(word)
        fix = f"write {hours}:00" + (f", {hours}am or {hours}pm" if 1 <= hours <= 12 else "")
    elif "utc" in word:
        fix = "put a space before utc"
    message = f"{quoted(words.original(index))} is not a time: {_FORMS}"
    words.report(Code.INVALID_TIME, message, fix, words.place(index))
    words.skip_to("and", "on")
    return None


def _minute_of_day(
    words: Words, index: int, hour_text: str, minute_text: str, half: str | None
) -> int | None:
    hour, minute = int(hour_text), int(minute_text)
    lowest, highest = (0, 23) if half is None else (1, 12)
    is_plain = len(hour_text) <= 2 and len(minute_text) == 2 and "-" not in hour_text + minute_text
    if not (is_plain and lowest <= hour <= highest and minute <= 59):
        _report_hour(words, index, hour_text, half)
        _report_minute(words, index, len(hour_text) + 1, minute_text)
        return None
    if half is not None:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 60 + minute


def _report_hour(words: Words, index: int, text: str, half: str | None) -> None:
    hour = int(text)
    given = f"the hour {quoted(text)} in {quoted(words.original(index, words.last))}"
    place = words.place_within(index, 0, len(text))
    if half is not None and not 1 <= hour <= 12:
        neither = "leave am and pm out: hours from 0 to 23 need neither"
        fix = neither if 0 <= hour <= 23 else _EXAMPLE
        words.report(Code.HOUR_12_OUT_OF_RANGE, f"{given} is not between 1 and 12", fix, place)
    elif not 0 <= hour <= 23 or text.startswith("-"):
        fix = "midnight is 00:00" if hour == 24 else _EXAMPLE
        words.report(Code.HOUR_OUT_OF_RANGE, f"{given} is not between 0 and 23", fix, place)
    elif len(text) > 2:
        message = f"{given} has more than two digits"
        words.report(Code.INVALID_TIME, message, f"write {hour}", place)


def _report_minute(words: Words, index: int, start: int, text: str) -> None:
    minute = int(text)
    given = f"the minute {quoted(text)} in {quoted(words.original(index, words.last))}"
    place = words.place_within(index, start, start + len(text))
    if not 0 <= minute <= 59 or text.startswith("-"):
        words.report(Code.MINUTE_OUT_OF_RANGE, f"{given} is not between 0 and 59", _EXAMPLE, place)
    elif len(text) != 2:
        message = f"{given} does not have two digits"
        words.report(Code.INVALID_TIME, message, f"write {minute:02d}", place)


def _read_offset(words: Words) -> int | None:
    """The offset ahead in minutes; None if it is missing, or wrong (which is reported)."""
    word = words.next
    if not word:
        return None
    offset = ABBREVIATIONS.get(word)
    if offset is not None:
        words.take()
        if word in _AMBIGUOUS:
            fix = f"write {spelled_offset(offset)} to be clear"
            words.warn(Code.AMBIGUOUS_ABBREVIATION, _AMBIGUOUS[word], fix)
        return offset
    match = _OFFSET.fullmatch(word)
    if match is not None:
        words.take()
        return _in_range(words, match)
    if word.startswith("utc") or re.match(_ALMOST_OFFSET, word):
        _report_malformed(words)
    return None


def _in_range(words: Words, match: re.Match[str]) -> int | None:
    hours, minutes = int(match[2]), int(match[3] or 0)
    offset = hours * 60 + minutes
    if match[1] == "-":
        offset = -offset
    if minutes <= 59 and _LOWEST_OFFSET <= offset <= _HIGHEST_OFFSET:
        return offset
    rule = "an offset lies between utc-12:00 and utc+14:00, and its minutes between 00 and 59"
    message = f"{quoted(match[0])} is out of range: {rule}"
    words.report(Code.OFFSET_OUT_OF_RANGE, message, _OFFSET_EXAMPLE)
    return None


def _report_malformed(words: Words) -> None:
    word = words.take()
    index = words.last
    if word == "utc" and words.next[:1] in ("+", "-"):
        word += words.take()
    fix = f"write {word}, without a space" if _OFFSET.fullmatch(word) else _OFFSET_EXAMPLE
    if word == "utc":
        fix = "leave it out: a time without an offset is in UTC"
    given = quoted(words.original(index, words.last))
    message = f"{given} is not an offset: it is utc, + or -, then hours or hours:minutes"
    words.report(Code.MALFORMED_OFFSET, message, fix, words.place(index, words.last))


def spelled_offset(offset: int) -> str:
    """An offset in minutes as an expression writes it."""
    hours, minutes = divmod(abs(offset), 60)
    sign = "-" if offset < 0 else "+"
    return f"utc{sign}{hours}" + (f":{minutes:02d}" if minutes else "")
