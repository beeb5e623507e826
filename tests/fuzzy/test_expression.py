"""The grammar, rule by rule: what is read, what is refused, where and why."""

from __future__ import annotations

import pytest
from hypothesis import given

import kron
from kron import Code, fuzzy
from kron.fuzzy.expression import KEYWORDS
from kron.fuzzy.problem import ERR_CODES
from tests.fuzzy.expressions import WEEKDAYS, Meant, Time, expressions, times
from tests.soak import examples

ACCEPTED = {
    # Every example of the fuzzy specification.
    "daily": "FUZZY:DAILY * * *",
    "daily around 14:00": "FUZZY:DAILY_AROUND:14:0 * * *",
    "daily between 9:00 and 17:00": "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *",
    "daily between 22:00 and 02:00": "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *",
    "weekly": "FUZZY:WEEKLY * * *",
    "weekly on monday": "FUZZY:WEEKLY:1 * * 1",
    "weekly on friday around 17:00": "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
    "hourly": "FUZZY:HOURLY * * *",
    "every 2h": "FUZZY:HOURLY:2 * * *",
    "every 6h": "FUZZY:HOURLY:6 * * *",
    "bi-weekly": "FUZZY:BI-WEEKLY * * *",
    "tri-weekly": "FUZZY:TRI-WEEKLY * * *",
    "every 5 minutes": "*/5 * * * *",
    "every 2 days": "0 0 */2 * *",
    "daily around 14:00 utc+9": "FUZZY:DAILY_AROUND:5:0 * * *",
    "daily between 9am utc+9 and 5pm utc+9": "FUZZY:DAILY_BETWEEN:0:0:8:0 * * *",
    "weekly on monday around 3pm utc-5": "FUZZY:WEEKLY:1:AROUND:20:0 * * 1",
    "daily around 9:30am utc+05:30": "FUZZY:DAILY_AROUND:4:0 * * *",
    # What Kron adds to the specification.
    "daily around 3pm utc-5": "FUZZY:DAILY_AROUND:20:0 * * *",
    "daily around 8 am": "FUZZY:DAILY_AROUND:8:0 * * *",
    "daily around 8:15 PM": "FUZZY:DAILY_AROUND:20:15 * * *",
    "weekly around 14:00": "FUZZY:WEEKLY:AROUND:14:0 * * *",
    "weekly between 9:00 and 17:00": "FUZZY:WEEKLY:BETWEEN:9:0:17:0 * * *",
    "weekly on friday between 9:00 and 17:00": "FUZZY:WEEKLY:5:BETWEEN:9:0:17:0 * * 5",
    "every 1 day": "0 0 * * *",
    "every 1 week": "0 0 * * 0",
    "every 2 weeks": "0 0 */14 * *",
    "daily on weekdays": "FUZZY:DAILY_WEEKDAYS * * *",
    "daily around 14:00 on weekdays": "FUZZY:DAILY_AROUND_WEEKDAYS:14:0 * * *",
    "daily between 9:00 and 17:00 on weekdays": "FUZZY:DAILY_BETWEEN_WEEKDAYS:9:0:17:0 * * *",
    "hourly on weekdays": "FUZZY:HOURLY_WEEKDAYS * * *",
    "every 2h on weekdays": "FUZZY:HOURLY_WEEKDAYS:2 * * *",
    "daily around midnight pt": "FUZZY:DAILY_AROUND:8:0 * * *",
    "daily around noon ET": "FUZZY:DAILY_AROUND:17:0 * * *",
    # The ends of the ranges.
    "daily around 00:00": "FUZZY:DAILY_AROUND:0:0 * * *",
    "daily around 23:59": "FUZZY:DAILY_AROUND:23:59 * * *",
    "daily around 12am": "FUZZY:DAILY_AROUND:0:0 * * *",
    "daily around 12:30am": "FUZZY:DAILY_AROUND:0:30 * * *",
    "daily around 12pm": "FUZZY:DAILY_AROUND:12:0 * * *",
    "daily around 0:00 utc+14:00": "FUZZY:DAILY_AROUND:10:0 * * *",
    "daily around 23:59 utc-12:00": "FUZZY:DAILY_AROUND:11:59 * * *",
    "every 59m": "*/59 * * * *",
    "every 30d": "0 0 */30 * *",
    "every 4w": "0 0 */28 * *",
    # The weekday moves with the conversion.
    "weekly on monday around 02:00 utc+9": "FUZZY:WEEKLY:0:AROUND:17:0 * * 0",
    "weekly on sunday around 02:00 utc+9": "FUZZY:WEEKLY:6:AROUND:17:0 * * 6",
    "weekly on saturday around 23:00 utc-5": "FUZZY:WEEKLY:0:AROUND:4:0 * * 0",
    "weekly on monday between 6am jst and 5pm jst": "FUZZY:WEEKLY:0:BETWEEN:21:0:8:0 * * 0",
    "daily around 02:00 utc+9 on weekdays": "FUZZY:DAILY_AROUND_WEEKDAYS:17:0 * * 0-4",
    "daily around 23:00 utc-5 on weekdays": "FUZZY:DAILY_AROUND_WEEKDAYS:4:0 * * 2-6",
}


@pytest.mark.parametrize(("text", "placeholder"), ACCEPTED.items(), ids=ACCEPTED)
def test_an_expression_has_its_placeholder(text: str, placeholder: str) -> None:
    assert fuzzy.parse(text).placeholder == placeholder


@examples(1000)
@given(expressions())
def test_every_expression_of_the_grammar_means_what_the_specification_says(meant: Meant) -> None:
    expression = fuzzy.parse(meant.text)
    assert expression.placeholder == meant.placeholder
    assert str(expression) == " ".join(meant.text.lower().split())
    assert fuzzy.parse(str(expression)).pattern == expression.pattern


@examples(300)
@given(times(), times())
def test_a_range_without_duration_is_refused_whatever_its_offsets(start: Time, end: Time) -> None:
    text = f"daily between {start.text} and {end.text}"
    if start.utc % 1440 == end.utc % 1440:
        assert problems(text)[0].code is Code.ZERO_DURATION_RANGE
    else:
        fuzzy.parse(text)


def problems(text: str) -> tuple[kron.Problem, ...]:
    """The problems of a text that must have some."""
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse(text)
    return caught.value.problems


def refusal(text: str, *marked: tuple[Code, str], fix: str = "") -> object:
    return pytest.param(text, list(marked), fix, id=text or "empty")


REFUSED = [
    # E-01 to E-10, with the specification's own examples first.
    refusal("monthly", (Code.UNKNOWN_KEYWORD, "monthly"), fix="write five cron fields"),
    refusal("dayly", (Code.UNKNOWN_KEYWORD, "dayly"), fix='did you mean "daily"?'),
    refusal("biweekly", (Code.UNKNOWN_KEYWORD, "biweekly"), fix='did you mean "bi-weekly"?'),
    refusal("Evrey 2h", (Code.UNKNOWN_KEYWORD, "Evrey"), fix='did you mean "every"?'),
    refusal("0 0 * * *", (Code.UNKNOWN_KEYWORD, "0"), fix="daily around 14:00"),
    refusal("FUZZY:DAILY * * *", (Code.UNKNOWN_KEYWORD, "FUZZY:DAILY"), fix="placeholder"),
    refusal("wee\u212aly", (Code.UNKNOWN_KEYWORD, "wee\u212aly"), fix='did you mean "weekly"?'),
    refusal("daily around 25:00", (Code.HOUR_OUT_OF_RANGE, "25"), fix="14:00"),
    refusal("daily around 24:00", (Code.HOUR_OUT_OF_RANGE, "24"), fix="midnight is 00:00"),
    refusal("daily around -1:00", (Code.HOUR_OUT_OF_RANGE, "-1"), fix="14:00"),
    refusal("daily around -0:30", (Code.HOUR_OUT_OF_RANGE, "-0"), fix="14:00"),
    refusal("daily around 123456789:00", (Code.HOUR_OUT_OF_RANGE, "123456789"), fix="14:00"),
    refusal("daily around 14:65", (Code.MINUTE_OUT_OF_RANGE, "65"), fix="14:00"),
    refusal("daily around 14:60", (Code.MINUTE_OUT_OF_RANGE, "60"), fix="14:00"),
    refusal("daily around 14:-5", (Code.MINUTE_OUT_OF_RANGE, "-5"), fix="14:00"),
    refusal("daily around 3:99pm", (Code.MINUTE_OUT_OF_RANGE, "99"), fix="14:00"),
    refusal("daily around", (Code.MISSING_TIME_SPEC, "around"), fix="daily around 14:00"),
    refusal("daily around utc+9", (Code.MISSING_TIME_SPEC, "around"), fix="daily around 14:00"),
    refusal("daily around on weekdays", (Code.MISSING_TIME_SPEC, "around"), fix="14:00"),
    refusal("daily between 9:00", (Code.INCOMPLETE_RANGE, "between 9:00"), fix="9:00 and 17:00"),
    refusal("daily between", (Code.INCOMPLETE_RANGE, "between"), fix="9:00 and 17:00"),
    refusal("daily between 9:00 and", (Code.INCOMPLETE_RANGE, "between 9:00 and"), fix="and 17"),
    refusal("daily between and 9:00", (Code.INCOMPLETE_RANGE, "between and 9:00"), fix="and 17"),
    refusal(
        "weekly between 9:00 17:00", (Code.INCOMPLETE_RANGE, "between 9:00 17:00"), fix="and 17:00"
    ),
    refusal(
        "daily between 9:00 on weekdays", (Code.INCOMPLETE_RANGE, "between 9:00"), fix="and 17:00"
    ),
    refusal(
        "daily between 14:00 and 14:00",
        (Code.ZERO_DURATION_RANGE, "14:00 and 14:00"),
        fix="two different times",
    ),
    refusal(
        "daily between 9am utc+9 and midnight",
        (Code.ZERO_DURATION_RANGE, "9am utc+9 and midnight"),
        fix="two different times",
    ),
    refusal("weekly on mondey", (Code.UNKNOWN_WEEKDAY, "mondey"), fix='did you mean "monday"?'),
    refusal("weekly on Firday", (Code.UNKNOWN_WEEKDAY, "Firday"), fix='did you mean "friday"?'),
    refusal("weekly on wed", (Code.UNKNOWN_WEEKDAY, "wed"), fix="write wednesday"),
    refusal("weekly on t", (Code.UNKNOWN_WEEKDAY, "t"), fix="weekly on monday"),
    refusal("weekly on 1", (Code.UNKNOWN_WEEKDAY, "1"), fix="weekly on monday"),
    refusal("weekly on weekdays", (Code.UNKNOWN_WEEKDAY, "weekdays"), fix="daily on weekdays"),
    refusal("every 5 fortnights", (Code.UNKNOWN_UNIT, "fortnights"), fix="every 10 minutes"),
    refusal("every 5Mins", (Code.UNKNOWN_UNIT, "Mins"), fix="every 10 minutes"),
    refusal("every 5 minuets", (Code.UNKNOWN_UNIT, "minuets"), fix='did you mean "minutes"?'),
    refusal("every 2 minutes", (Code.INTERVAL_TOO_SMALL, "2 minutes"), fix="every 5 minutes"),
    refusal("every 0 minutes", (Code.INTERVAL_TOO_SMALL, "0 minutes"), fix="every 5 minutes"),
    refusal("every 0h", (Code.INTERVAL_TOO_SMALL, "0h"), fix="every 1 hour"),
    refusal("every 0 weeks", (Code.INTERVAL_TOO_SMALL, "0 weeks"), fix="every 1 week"),
    refusal("every -2h", (Code.INTERVAL_TOO_SMALL, "-2h"), fix="every 2h"),
    refusal("every 1.5 hours", (Code.NON_INTEGER_INTERVAL, "1.5"), fix="every 2h"),
    refusal("every 1,5h", (Code.NON_INTEGER_INTERVAL, "1,5h"), fix="every 2h"),
    refusal("every two hours", (Code.NON_INTEGER_INTERVAL, "two"), fix="every 2h"),
    refusal("every ２ hours", (Code.NON_INTEGER_INTERVAL, "２"), fix="every 2h"),
    # The codes of the ERR-table that the E-table lacks.
    refusal("every 5h", (Code.UNSUPPORTED_INTERVAL, "5h"), fix="every 2h"),
    refusal("every 24 hours", (Code.UNSUPPORTED_INTERVAL, "24 hours"), fix="write daily"),
    refusal("every 60 minutes", (Code.UNSUPPORTED_INTERVAL, "60 minutes"), fix="every 1h"),
    refusal("every 90m", (Code.UNSUPPORTED_INTERVAL, "90m"), fix="every 2h"),
    refusal("every 31 days", (Code.UNSUPPORTED_INTERVAL, "31 days"), fix="30 days"),
    refusal("every 5w", (Code.UNSUPPORTED_INTERVAL, "5w"), fix="4 weeks"),
    refusal(
        f"every {'9' * 5000} days", (Code.UNSUPPORTED_INTERVAL, f"{'9' * 5000} days"), fix="30"
    ),
    refusal("daily around 9", (Code.INVALID_TIME, "9"), fix="write 9:00, 9am or 9pm"),
    refusal("daily around 14", (Code.INVALID_TIME, "14"), fix="write 14:00"),
    refusal("daily around 9:5", (Code.INVALID_TIME, "5"), fix="write 05"),
    refusal("daily around 14:005", (Code.INVALID_TIME, "005"), fix="write 05"),
    refusal("daily around 009:00", (Code.INVALID_TIME, "009"), fix="write 9"),
    refusal("daily around 9.30", (Code.INVALID_TIME, "9.30"), fix="14:00"),
    refusal("daily around teatime", (Code.INVALID_TIME, "teatime"), fix="14:00"),
    refusal("daily around nooon", (Code.INVALID_TIME, "nooon"), fix='did you mean "noon"?'),
    refusal("daily around 14:00utc+9", (Code.INVALID_TIME, "14:00utc+9"), fix="space before utc"),
    refusal("daily around ٣:00", (Code.INVALID_TIME, "٣:00"), fix="14:00"),
    refusal("daily around 13pm", (Code.HOUR_12_OUT_OF_RANGE, "13"), fix="leave am and pm out"),
    refusal("daily around 0 am", (Code.HOUR_12_OUT_OF_RANGE, "0"), fix="leave am and pm out"),
    refusal("daily around 99am", (Code.HOUR_12_OUT_OF_RANGE, "99"), fix="3:30pm"),
    refusal("daily around 9:00 utc+25", (Code.OFFSET_OUT_OF_RANGE, "utc+25"), fix="utc+9"),
    refusal("daily around 9:00 utc+14:01", (Code.OFFSET_OUT_OF_RANGE, "utc+14:01"), fix="utc+9"),
    refusal("daily around 9:00 utc-12:01", (Code.OFFSET_OUT_OF_RANGE, "utc-12:01"), fix="utc+9"),
    refusal("daily around 9:00 utc+5:60", (Code.OFFSET_OUT_OF_RANGE, "utc+5:60"), fix="utc+9"),
    refusal("daily around 9:00 utc9", (Code.MALFORMED_OFFSET, "utc9"), fix="utc+9 or utc-3:30"),
    refusal("daily around 9:00 UTC", (Code.MALFORMED_OFFSET, "UTC"), fix="leave it out"),
    refusal("daily around 9:00 utc +9", (Code.MALFORMED_OFFSET, "utc +9"), fix="without a space"),
    refusal("daily around 9:00 utc+0930", (Code.MALFORMED_OFFSET, "utc+0930"), fix="like utc+9"),
    refusal("daily around 9:00 utc+9:3", (Code.MALFORMED_OFFSET, "utc+9:3"), fix="like utc+9"),
    refusal("daily around 9:00 gmt-3", (Code.MALFORMED_OFFSET, "gmt-3"), fix="like utc+9"),
    refusal("daily around 9:00 +09:00", (Code.MALFORMED_OFFSET, "+09:00"), fix="like utc+9"),
    refusal("", (Code.MISSING_COMPONENT, ""), fix="daily around 14:00"),
    refusal("weekly on", (Code.MISSING_COMPONENT, "on"), fix="weekly on monday"),
    refusal("weekly on around 9:00", (Code.MISSING_COMPONENT, "on"), fix="weekly on monday"),
    refusal("every", (Code.MISSING_COMPONENT, "every"), fix="every 2h"),
    refusal("every 5", (Code.MISSING_COMPONENT, "5"), fix="every 10 minutes"),
    refusal("every 5 on weekdays", (Code.MISSING_COMPONENT, "5"), fix="every 10 minutes"),
    refusal("every hour", (Code.MISSING_COMPONENT, "hour"), fix="write hourly"),
    refusal("every tuesday", (Code.MISSING_COMPONENT, "tuesday"), fix="weekly on tuesday"),
    refusal("daily at 14:00", (Code.UNSUPPORTED_SYNTAX, "at"), fix="daily around 14:00"),
    refusal("weekly on monday at 9:00", (Code.UNSUPPORTED_SYNTAX, "at"), fix="around"),
    refusal("daily arround 14:00", (Code.UNSUPPORTED_SYNTAX, "arround"), fix='mean "around"?'),
    refusal("daily 14:00", (Code.UNSUPPORTED_SYNTAX, "14:00"), fix="daily around 14:00"),
    refusal("daily daily", (Code.UNSUPPORTED_SYNTAX, "daily"), fix="daily around 14:00"),
    refusal("daily around 9:00 CET", (Code.UNSUPPORTED_SYNTAX, "CET"), fix="like utc+1"),
    refusal("daily around noon pm", (Code.UNSUPPORTED_SYNTAX, "pm"), fix="daily around 14:00"),
    refusal("daily on monday", (Code.UNSUPPORTED_SYNTAX, "on"), fix="weekly on monday"),
    refusal("daily on weekday", (Code.UNSUPPORTED_SYNTAX, "on"), fix='mean "weekdays"?'),
    refusal(
        "daily on weekdays around 9:00",
        (Code.UNSUPPORTED_SYNTAX, "around"),
        fix="at the end",
    ),
    refusal("weekly monday", (Code.UNSUPPORTED_SYNTAX, "monday"), fix="write weekly on monday"),
    refusal("weekly around 9:00 on friday", (Code.UNSUPPORTED_SYNTAX, "on"), fix="then the time"),
    refusal("daily between 1:00 and 2:00 and 3:00", (Code.UNSUPPORTED_SYNTAX, "and"), fix="14:00"),
    refusal("hourly around 14:00", (Code.UNSUPPORTED_SYNTAX, "around"), fix="hourly on weekdays"),
    refusal("bi-weekly on monday", (Code.UNSUPPORTED_SYNTAX, "on"), fix="bi-weekly"),
    refusal("every 2h at 14:00", (Code.UNSUPPORTED_SYNTAX, "at"), fix="every 2h"),
    refusal("every 5 minutes on weekdays", (Code.UNSUPPORTED_SYNTAX, "on"), fix="every 2h"),
    refusal("every 2 days on weekdays", (Code.UNSUPPORTED_SYNTAX, "on"), fix="every 2h"),
    # Several at once.
    refusal(
        "dayly around 25:65 foo",
        (Code.UNKNOWN_KEYWORD, "dayly"),
        (Code.HOUR_OUT_OF_RANGE, "25"),
        (Code.MINUTE_OUT_OF_RANGE, "65"),
        (Code.UNSUPPORTED_SYNTAX, "foo"),
    ),
    refusal(
        "weekly on mondey between 13pm utc9 and 24:00 on weekdays",
        (Code.UNKNOWN_WEEKDAY, "mondey"),
        (Code.HOUR_12_OUT_OF_RANGE, "13"),
        (Code.MALFORMED_OFFSET, "utc9"),
        (Code.HOUR_OUT_OF_RANGE, "24"),
        (Code.UNSUPPORTED_SYNTAX, "on"),
    ),
    refusal(
        "daily between teatime and noonish",
        (Code.INVALID_TIME, "teatime"),
        (Code.INVALID_TIME, "noonish"),
    ),
    refusal(
        "daily between 9 30 am",
        (Code.INCOMPLETE_RANGE, "between 9 30 am"),
        (Code.INVALID_TIME, "9"),
    ),
    refusal(
        "evry 5 fortnihgts at",
        (Code.UNKNOWN_KEYWORD, "evry"),
        (Code.UNKNOWN_UNIT, "fortnihgts"),
        (Code.UNSUPPORTED_SYNTAX, "at"),
    ),
]


@pytest.mark.parametrize(("text", "expected", "fix"), REFUSED)
def test_a_wrong_expression_is_refused_where_it_is_wrong(
    text: str, expected: list[tuple[Code, str]], fix: str
) -> None:
    found = problems(text)
    assert [(problem.code, text[problem.start : problem.end]) for problem in found] == expected
    assert fix in found[0].fix
    for problem in found:
        assert problem.fix, "every error shows the right form"
        assert isinstance(problem, fuzzy.FuzzyProblem)
        assert problem.err_code == ERR_CODES[problem.code]
        assert f"[{problem.code}, {problem.err_code}]" in str(problem)


MESSAGES = {
    "monthly": ("monthly", *KEYWORDS),
    "daily around 25:00": ("25", "0 and 23"),
    "daily around 14:65": ("65", "0 and 59"),
    "daily around 13pm": ("13", "1 and 12"),
    "daily around": ("around",),
    "daily between 9:00": ("start", "end", '"and"'),
    "daily between 14:00 and 14:00": ("duration",),
    "weekly on mondey": ("mondey", *WEEKDAYS),
    "every 5 fortnights": ("fortnights", "minutes", "hours", "days", "weeks", " m,", " h,", " d,"),
    "every 2 minutes": ("2 minutes", "5 minutes", "GitHub Actions"),
    "every 1.5 hours": ("1.5", "whole number"),
    "every 5h": ("5h", "1h, 2h, 3h, 4h, 6h, 8h, 12h"),
    "daily around 14:00 utc+25": ("utc+25", "utc-12:00", "utc+14:00"),
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_message_says_what_the_specification_asks_for(text: str) -> None:
    (problem,) = problems(text)
    for said in MESSAGES[text]:
        assert said in problem.message


def test_every_code_of_a_refusal_is_reached() -> None:
    reached = {problem.code for row in REFUSED for problem in problems(row.values[0])}  # type: ignore[attr-defined]
    assert reached == set(ERR_CODES)


def test_every_err_code_of_the_specification_is_carried() -> None:
    assert set(ERR_CODES.values()) == {
        *(f"ERR-SYNTAX-00{number}" for number in range(1, 6)),
        *(f"ERR-TIME-00{number}" for number in range(1, 4)),
        *(f"ERR-TZ-00{number}" for number in range(1, 3)),
        *(f"ERR-INTERVAL-00{number}" for number in range(1, 3)),
    }


WARNED: dict[str, list[tuple[Code, str, str]]] = {
    "daily": [],
    "daily around 14:00 utc+9 on weekdays": [],
    "every 2h": [],
    "hourly": [],
    "daily around noon JST": [],
    "daily around noon PT": [(Code.AMBIGUOUS_ABBREVIATION, "PT", "write utc-8")],
    "daily around noon et": [(Code.AMBIGUOUS_ABBREVIATION, "et", "write utc-5")],
    "daily around noon ist": [(Code.AMBIGUOUS_ABBREVIATION, "ist", "write utc+5:30")],
    "daily between 9:00 pt and 17:00 pt": [
        (Code.AMBIGUOUS_ABBREVIATION, "pt", "write utc-8"),
        (Code.AMBIGUOUS_ABBREVIATION, "pt", "write utc-8"),
    ],
    "daily between 9am and 5pm utc+9": [(Code.ONE_SIDED_OFFSET, "9am", "after both times")],
    "daily between 9am utc+9 and 5 pm": [(Code.ONE_SIDED_OFFSET, "5", "after both times")],
    "every 5 minutes": [(Code.FIXED_INTERVAL, "every 5 minutes", "every 2h")],
    "every 7m": [(Code.FIXED_INTERVAL, "every 7m", "hourly"), (Code.UNEVEN_STEP, "every 7m", "")],
    "every 1 day": [(Code.FIXED_INTERVAL, "every 1 day", "daily")],
    "every 1w": [(Code.FIXED_INTERVAL, "every 1w", "weekly")],
    "every 2 days": [
        (Code.FIXED_INTERVAL, "every 2 days", ""),
        (Code.UNEVEN_STEP, "every 2 days", ""),
    ],
    "every 2 weeks": [
        (Code.FIXED_INTERVAL, "every 2 weeks", "bi-weekly"),
        (Code.UNEVEN_STEP, "every 2 weeks", ""),
    ],
    "bi-weekly": [(Code.UNEVEN_STEP, "bi-weekly", "")],
    "tri-weekly": [(Code.UNEVEN_STEP, "tri-weekly", "")],
}


@pytest.mark.parametrize("text", WARNED)
def test_what_is_valid_but_unwise_has_a_warning(text: str) -> None:
    expected = WARNED[text]
    found = fuzzy.parse(text).warnings
    assert [(one.code, text[one.start : one.end]) for one in found] == [
        (code, marked) for code, marked, _ in expected
    ]
    for warning, (_, _, fix) in zip(found, expected, strict=True):
        assert fix in warning.fix
        assert warning.err_code == ""


def test_an_uneven_step_says_where_it_restarts() -> None:
    (warning,) = fuzzy.parse("bi-weekly").warnings
    assert "*/14 starts again each month (days 1, 15, 29)" in warning.message


def test_parsing_has_the_limits_of_a_line() -> None:
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse("daily ", kron.Limits(line_bytes=5))
    assert caught.value.code is Code.LIMIT
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse("é" * 40_000)
    assert caught.value.code is Code.LIMIT, "the limit is in bytes, as the message says"
