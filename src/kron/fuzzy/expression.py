"""Fuzzy expressions: `daily around 14:00 utc+9` and its kin, the grammar of the specification.

Nothing else is accepted: a word too many or too few is an error, never a guess, and all problems of
an expression are reported together. Times are converted to UTC here.
"""

from __future__ import annotations

from functools import lru_cache

from kron.core.errors import Code, ParseError, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.tokens import check_text
from kron.fuzzy.interval import read_interval
from kron.fuzzy.pattern import WEEKDAYS, Around, Between, Kind, Pattern, advice
from kron.fuzzy.placeholder import write_placeholder
from kron.fuzzy.problem import FuzzyProblem
from kron.fuzzy.times import read_time
from kron.fuzzy.words import Words, did_you_mean, one_edit_away

_FORMS = {
    "daily": (
        '"around TIME" or "between TIME and TIME", then "on weekdays"',
        "daily around 14:00 on weekdays",
    ),
    "weekly": (
        '"on WEEKDAY", then "around TIME" or "between TIME and TIME"',
        "weekly on monday around 14:00",
    ),
    "hourly": ('"on weekdays"', "hourly on weekdays"),
    "bi-weekly": ("nothing", "bi-weekly"),
    "tri-weekly": ("nothing", "tri-weekly"),
    "every": ('"on weekdays", after an interval in hours', "every 2h"),
}
"""What an expression begins with, what may follow that, and an example."""
KEYWORDS = tuple(_FORMS)

_LONGEST_KEPT = 100
_JOINING = ("around", "between", "and", "on")
_NO_ZONES = (*_JOINING, *KEYWORDS, "am", "pm")
_WITHOUT_FUZZY_FORM = ("monthly", "yearly", "annually")


class Expression(Frozen):
    """What a fuzzy expression says: its words, the pattern they mean, and what is unwise in it."""

    text: str
    """The expression in small letters, one space between two words."""
    pattern: Pattern
    warnings: tuple[FuzzyProblem, ...] = ()

    @property
    def placeholder(self) -> str:
        """The text that `scatter` resolves; a fixed interval is a cron expression at once."""
        return write_placeholder(self.pattern)

    def __str__(self) -> str:
        return self.text


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Expression:
    """The expression that `text` says; a `ParseError` that lists all of its problems otherwise."""
    check_text(text, limits, "expression")
    # A fleet has many schedules and few expressions. Long ones are not worth their memory.
    return _parse_again(text) if len(text) <= _LONGEST_KEPT else _parse(text)


def _parse(text: str) -> Expression:
    words = Words(text)
    pattern = _read(words)
    if words.problems:
        raise ParseError(text, sorted(words.problems, key=lambda problem: problem.start))
    assert pattern is not None  # whatever cannot be read is reported
    unwise = advice(pattern, 0, len(text))
    return Expression(str(words), pattern, (*words.warnings, *unwise))


_parse_again = lru_cache(maxsize=1024)(_parse)


def _read(words: Words) -> Pattern | None:
    keyword = _read_keyword(words)
    pattern: Pattern | None
    if keyword == "daily":
        pattern = _read_daily(words)
    elif keyword == "weekly":
        pattern = _read_weekly(words)
    elif keyword == "hourly":
        pattern = Pattern(Kind.HOURLY, workdays=_read_weekdays(words))
    elif keyword == "every":
        pattern = _read_every(words)
    elif keyword:
        pattern = Pattern(Kind(keyword))
    else:
        return None
    if words.next:
        _report_extra(words, keyword)
    return pattern


def _read_keyword(words: Words) -> str:
    """The first word; if it is misspelt, the one that was meant, so that the rest is read too."""
    if not words.next:
        message = "the schedule is empty"
        words.report(Code.MISSING_COMPONENT, message, "write one like daily around 14:00")
        return ""
    word = words.take()
    if word in KEYWORDS:
        return word
    meant = one_edit_away(word, KEYWORDS)
    fix = f'did you mean "{meant}"?' if meant else "write one like daily around 14:00"
    if word in _WITHOUT_FUZZY_FORM:
        fix = "months and years have no fuzzy form: write five cron fields"
    elif word.startswith("fuzzy:"):
        fix = "scatter resolves a placeholder: here, write an expression such as daily"
    given = quoted(words.original(0))
    message = f"unknown schedule type {given}: valid are {', '.join(KEYWORDS)}"
    words.report(Code.UNKNOWN_KEYWORD, message, fix)
    return meant


def _read_daily(words: Words) -> Pattern:
    window, moved = _read_constraint(words)
    workdays = _read_weekdays(words)
    return Pattern(Kind.DAILY, window, workdays=None if workdays is None else moved)


def _read_weekly(words: Words) -> Pattern:
    weekday = _read_weekday(words) if words.take_if("on") else None
    window, moved = _read_constraint(words)
    if weekday is not None:
        weekday = (weekday + moved) % 7
    return Pattern(Kind.WEEKLY, window, weekday=weekday)


def _read_every(words: Words) -> Pattern | None:
    pattern = read_interval(words)
    if pattern is None:
        _read_weekdays(words)  # they might be right, so they are no problem
    elif pattern.kind is Kind.HOURLY:
        return pattern.replace(workdays=_read_weekdays(words))
    return pattern


def _read_weekday(words: Words) -> int | None:
    if not words.next or words.next in _JOINING:
        fix = "write it like weekly on monday"
        words.report(Code.MISSING_COMPONENT, '"on" needs a day of the week', fix)
        return None
    word = words.take()
    if word in WEEKDAYS:
        return WEEKDAYS.index(word)
    given = quoted(words.original(words.last))
    message = f"unknown weekday {given}: valid are {', '.join(WEEKDAYS)}"
    begun = [weekday for weekday in WEEKDAYS if len(word) > 1 and weekday.startswith(word)]
    if word == "weekdays":
        fix = "write daily on weekdays"
    elif len(begun) == 1:
        fix = f"write {begun[0]}"
    else:
        fix = did_you_mean(word, WEEKDAYS) or "write it like weekly on monday"
    words.report(Code.UNKNOWN_WEEKDAY, message, fix)
    return None


def _read_weekdays(words: Words) -> int | None:
    """0 if `on weekdays` is ahead: Monday to Friday, moved by no day."""
    if words.next == "on" and words.after_next == "weekdays":
        words.take()
        words.take()
        return 0
    return None


def _read_constraint(words: Words) -> tuple[Around | Between | None, int]:
    """The window ahead, if there is one, and by how many days its conversion moves it."""
    if words.take_if("around"):
        return _read_around(words)
    if words.take_if("between"):
        return _read_between(words)
    return None, 0


def _read_around(words: Words) -> tuple[Around | None, int]:
    if not _is_time_ahead(words):
        fix = "write it like daily around 14:00"
        words.report(Code.MISSING_TIME_SPEC, '"around" needs a time', fix)
        words.skip_to("on")
        return None, 0
    time = read_time(words)
    if time is None:
        return None, 0
    moved, minute = time.to_utc()
    return Around(minute), moved


def _read_between(words: Words) -> tuple[Between | None, int]:
    """A problem with one time does not hide a problem with the other."""
    first = words.position
    problems = len(words.problems)
    start = read_time(words) if _is_time_ahead(words) else None
    second = words.position + 1
    if first == words.position or not words.take_if("and") or not _is_time_ahead(words):
        words.skip_to("on")
        message = '"between" needs a start time and an end time, connected by "and"'
        fix = "write it like daily between 9:00 and 17:00"
        words.report(Code.INCOMPLETE_RANGE, message, fix, words.place(first - 1, words.last))
        return None, 0
    end = read_time(words)
    if start is None or end is None or len(words.problems) > problems:
        return None, 0
    if (start.offset is None) != (end.offset is None):
        bare = first if start.offset is None else second
        message = f"{quoted(words.original(bare))} has no offset, so it is read as UTC"
        fix = "write the offset after both times"
        words.warn(Code.ONE_SIDED_OFFSET, message, fix, words.place(bare))
    moved, start_minute = start.to_utc()
    end_minute = end.to_utc()[1]
    if start_minute == end_minute:
        message = "the range has no duration: both times are the same minute of the day in UTC"
        fix = "write two different times, or daily around one"
        words.report(Code.ZERO_DURATION_RANGE, message, fix, words.place(first, words.last))
        return None, 0
    return Between(start_minute, end_minute), moved


def _is_time_ahead(words: Words) -> bool:
    return bool(words.next) and words.next not in _JOINING and not words.next.startswith("utc")


def _report_extra(words: Words, keyword: str) -> None:
    may_follow, example = _FORMS[keyword]
    given = quoted(words.original(words.position))
    message = f"{given} cannot stand here: what may follow {keyword} is {may_follow}"
    fix = _extra_fix(words, keyword) or f"write it like {example}"
    words.report(Code.UNSUPPORTED_SYNTAX, message, fix, words.place(words.position))


def _extra_fix(words: Words, keyword: str) -> str:
    """What was probably meant with the word ahead, which cannot stand where it is."""
    word, after, position = words.next, words.after_next, words.position
    if keyword not in ("daily", "weekly"):
        return ""
    if word == "at":
        return f"write around instead of at, for a time within an hour: {keyword} around 14:00"
    day = after if word == "on" else word
    if day in WEEKDAYS:
        return f"write weekly on {day}" + (", then the time" if position > 1 else "")
    if keyword == "daily" and word == "on":
        return did_you_mean(after, ["weekdays"])
    if word in ("around", "between"):
        return "put on weekdays at the end" if keyword == "daily" and position > 1 else ""
    if position > 1 and word.isalpha() and word not in _NO_ZONES:
        return "if it is a time zone, write its offset, like utc+1"
    return did_you_mean(word, _JOINING)
