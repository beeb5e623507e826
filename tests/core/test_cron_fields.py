"""What the five fields of a cron expression accept, what they mean, and how they refuse."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import islice

import pytest

from kron import ParseError, parse_schedule
from kron.core.cron import Field

MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK = range(5)


def _text(position: int, field: str) -> str:
    fields = ["*"] * 5
    fields[position] = field
    return " ".join(fields)


def _values(field: Field) -> set[int]:
    return {value for value in range(64) if field.mask >> value & 1}


def _parsed(position: int, text: str) -> Field:
    cron = parse_schedule(_text(position, text)).cron
    return (cron.minute, cron.hour, cron.day_of_month, cron.month, cron.day_of_week)[position]


ACCEPTED = [
    ("a star is every minute", MINUTE, "*", set(range(60))),
    ("a star is every hour", HOUR, "*", set(range(24))),
    ("a star is every day of the month", DAY_OF_MONTH, "*", set(range(1, 32))),
    ("a star is every month", MONTH, "*", set(range(1, 13))),
    ("a star is every day of the week, Sunday once", DAY_OF_WEEK, "*", set(range(7))),
    ("a number", MINUTE, "7", {7}),
    ("the lowest", MINUTE, "0", {0}),
    ("the highest", MINUTE, "59", {59}),
    ("the highest hour", HOUR, "23", {23}),
    ("the highest day", DAY_OF_MONTH, "31", {31}),
    ("the highest month", MONTH, "12", {12}),
    ("a leading zero", MINUTE, "08", {8}),
    ("many leading zeros", HOUR, "0009", {9}),
    ("leading zeros in a range", HOUR, "08-010", {8, 9, 10}),
    ("a leading zero in a step", MINUTE, "*/030", {0, 30}),
    ("a range", HOUR, "9-12", {9, 10, 11, 12}),
    ("a range of one", HOUR, "9-9", {9}),
    ("a list", MINUTE, "1,2,4", {1, 2, 4}),
    ("a list in any order", MINUTE, "30,5,10", {5, 10, 30}),
    ("a list that repeats itself", MINUTE, "5,5,4-6", {4, 5, 6}),
    ("a list of ranges and steps", MINUTE, "50-59/3,1,*/20", {0, 1, 20, 40, 50, 53, 56, 59}),
    ("a step over the star", MINUTE, "*/20", {0, 20, 40}),
    ("a step over the star of days starts at 1", DAY_OF_MONTH, "*/10", {1, 11, 21, 31}),
    ("a step over the star of months starts at 1", MONTH, "*/5", {1, 6, 11}),
    ("a step over the star of weekdays", DAY_OF_WEEK, "*/3", {0, 3, 6}),
    ("a step of one", HOUR, "*/1", set(range(24))),
    ("a step beyond the end", MINUTE, "*/999", {0}),
    ("a step over a range", HOUR, "9-17/4", {9, 13, 17}),
    ("a step that stops short of the range's end", HOUR, "9-16/4", {9, 13}),
    ("a step longer than its range", HOUR, "9-17/100", {9}),
    ("names of months", MONTH, "JAN,DEC", {1, 12}),
    ("names in any case", MONTH, "jan,Feb,mAr", {1, 2, 3}),
    ("a range of months", MONTH, "JUN-AUG", {6, 7, 8}),
    ("a step over a range of names", MONTH, "JAN-DEC/3", {1, 4, 7, 10}),
    ("names of days", DAY_OF_WEEK, "SUN,SAT", {0, 6}),
    ("a range of days", DAY_OF_WEEK, "MON-FRI", {1, 2, 3, 4, 5}),
    ("a range from a name to a number", DAY_OF_WEEK, "MON-5", {1, 2, 3, 4, 5}),
    ("0 is Sunday", DAY_OF_WEEK, "0", {0}),
    ("7 is Sunday too", DAY_OF_WEEK, "7", {0}),
    ("7 ends a range", DAY_OF_WEEK, "5-7", {5, 6, 0}),
    ("from Sunday to Sunday", DAY_OF_WEEK, "0-7", set(range(7))),
    ("7 ends a stepped range", DAY_OF_WEEK, "1-7/2", {1, 3, 5, 0}),
    ("only Sunday, twice", DAY_OF_WEEK, "0,7", {0}),
]


@pytest.mark.parametrize(
    ("position", "text", "values"), [pytest.param(*row[1:], id=row[0]) for row in ACCEPTED]
)
def test_accepts(position: int, text: str, values: set[int]) -> None:
    field = _parsed(position, text)
    assert _values(field) == values
    assert field.starred == text.startswith("*")


@pytest.mark.parametrize(
    ("position", "text", "values"), [pytest.param(*row[1:], id=row[0]) for row in ACCEPTED]
)
def test_prints_a_field_that_means_the_same(position: int, text: str, values: set[int]) -> None:
    printed = str(_parsed(position, text))
    again = _parsed(position, printed)
    assert _values(again) == values
    assert again.starred == text.startswith("*")
    assert str(again) == printed


# name, position, text, what the message quotes, what the fix says to write ("" for no such fix)
REJECTED = [
    ("above the minutes", MINUTE, "60", '"60"', ""),
    ("above the hours", HOUR, "24", '"24"', ""),
    ("day zero", DAY_OF_MONTH, "0", '"0"', ""),
    ("above the days", DAY_OF_MONTH, "32", '"32"', ""),
    ("month zero", MONTH, "0", '"0"', ""),
    ("above the months", MONTH, "13", '"13"', ""),
    ("above the weekdays", DAY_OF_WEEK, "8", '"8"', ""),
    ("a range above the bounds", MINUTE, "50-60", '"60"', ""),
    ("a number of many digits", MINUTE, "9" * 40, '"9999', ""),
    ("a negative number", MINUTE, "-1", '"-1"', ""),
    ("a sign", MINUTE, "+1", '"+1"', ""),
    ("a fraction", MINUTE, "1.5", '"1.5"', ""),
    ("an underscore", MINUTE, "1_0", '"1_0"', ""),
    ("digits of another script", MINUTE, "٣", '"٣"', ""),
    ("full-width digits", MINUTE, "１", '"１"', ""),
    ("a superscript", MINUTE, "²", '"²"', ""),
    ("an open range", MINUTE, "5-", '"5-"', ""),
    ("a range of three", MINUTE, "1-5-9", '"1-5-9"', ""),
    ("a star in a range", MINUTE, "*-5", '"*-5"', ""),
    ("two stars", MINUTE, "**", '"**"', ""),
    ("a star and a number", MINUTE, "*5", '"*5"', ""),
    ("an empty item", MINUTE, "1,,2", "empty", ""),
    ("a comma at the end", MINUTE, "1,", "empty", ""),
    ("a comma at the start", MINUTE, ",1", "empty", ""),
    ("a step of zero", MINUTE, "*/0", '"0"', ""),
    ("a step of many digits", MINUTE, "*/" + "9" * 40, '"9999', ""),
    ("a step without a number", MINUTE, "*/", '"*/"', ""),
    ("a step that is a name", MONTH, "*/JAN", '"*/JAN"', ""),
    ("two steps", MINUTE, "*/5/2", '"*/5/2"', ""),
    ("nothing but a step", MINUTE, "/5", '"/5"', ""),
    ("a step without a range", MINUTE, "5/10", '"5/10"', "5-59/10"),
    ("a step without a range of hours", HOUR, "2/6", '"2/6"', "2-23/6"),
    ("a step without a range of days", DAY_OF_MONTH, "3/7", '"3/7"', "3-31/7"),
    ("a step without a range of months", MONTH, "FEB/3", '"FEB/3"', "FEB-DEC/3"),
    ("a step without a range of weekdays", DAY_OF_WEEK, "MON/2", '"MON/2"', "MON-SAT/2"),
    ("minutes over the hour", MINUTE, "50-10", '"50-10"', "50-59,0-10"),
    ("hours over midnight", HOUR, "22-6", '"22-6"', "22-23,0-6"),
    ("hours to midnight", HOUR, "22-0", '"22-0"', "22-23,0"),
    ("from the last hour over midnight", HOUR, "23-6", '"23-6"', "23,0-6"),
    ("days over the end of the month", DAY_OF_MONTH, "25-5", '"25-5"', "25-31,1-5"),
    ("months over the year", MONTH, "NOV-FEB", '"NOV-FEB"', "NOV-DEC,JAN-FEB"),
    ("months over the year by number", MONTH, "11-2", '"11-2"', "11-12,1-2"),
    ("days over the week", DAY_OF_WEEK, "FRI-MON", '"FRI-MON"', "FRI-SAT,SUN-MON"),
    ("a weekend", DAY_OF_WEEK, "SAT-SUN", '"SAT-SUN"', "SAT,SUN"),
    ("days over the week in lower case", DAY_OF_WEEK, "fri-mon", '"fri-mon"', "fri-SAT,SUN-mon"),
    ("days over the week by number", DAY_OF_WEEK, "5-1", '"5-1"', "5-6,0-1"),
    ("from the other Sunday", DAY_OF_WEEK, "7-2", '"7-2"', "0-2"),
    ("from the other Sunday to Monday", DAY_OF_WEEK, "7-1", '"7-1"', "0-1"),
    ("from the other Sunday with a zero", DAY_OF_WEEK, "07-1", '"07-1"', "0-1"),
    ("from Saturday by number", DAY_OF_WEEK, "6-1", '"6-1"', "6,0-1"),
    ("minutes over the hour to the fifth", MINUTE, "10-5", '"10-5"', "10-59,0-5"),
    ("a backward range with a step", HOUR, "22-6/2", '"22-6/2"', ""),
    ("a name where there are none", MINUTE, "JAN", '"JAN"', ""),
    ("a weekday among the months", MONTH, "MON", '"MON"', ""),
    ("a month among the weekdays", DAY_OF_WEEK, "JAN", '"JAN"', ""),
    ("a name in full", MONTH, "JANUARY", '"JANUARY"', ""),
    ("two letters of a name", DAY_OF_WEEK, "MO", '"MO"', ""),
    ("Quartz: no value", DAY_OF_MONTH, "?", '"?"', ""),
    ("Quartz: the last day", DAY_OF_MONTH, "L", '"L"', ""),
    ("Quartz: the nearest weekday", DAY_OF_MONTH, "15W", '"15W"', ""),
    ("Quartz: the third Friday", DAY_OF_WEEK, "5#3", '"5#3"', ""),
    ("Quartz: the last Friday", DAY_OF_WEEK, "5L", '"5L"', ""),
    ("Jenkins: a hash", MINUTE, "H", '"H"', ""),
    ("a random range", MINUTE, "1~30", '"1~30"', ""),
]


@pytest.mark.parametrize(
    ("position", "text", "quote", "fix"), [pytest.param(*row[1:], id=row[0]) for row in REJECTED]
)
def test_rejects_and_quotes_what_is_wrong(position: int, text: str, quote: str, fix: str) -> None:
    whole = _text(position, text)
    with pytest.raises(ParseError) as raised:
        parse_schedule(whole)
    (problem,) = raised.value.problems
    assert problem.code == "cron-field"
    assert quote in problem.message
    assert whole[problem.start : problem.end] in text
    assert problem.start >= 2 * position, "the place lies in another field"
    assert problem.fix == (f"write {fix}" if fix else "")


@pytest.mark.parametrize(
    ("position", "fix"), [pytest.param(row[1], row[4], id=row[0]) for row in REJECTED if row[4]]
)
def test_every_fix_that_is_offered_parses(position: int, fix: str) -> None:
    assert _values(_parsed(position, fix))


def test_a_field_names_itself_in_its_error() -> None:
    names = ("minute", "hour", "day of month", "month", "day of week")
    for position, name in enumerate(names):
        with pytest.raises(ParseError) as raised:
            parse_schedule(_text(position, "99"))
        assert raised.value.message.startswith(f"{name}: ")


def test_every_wrong_item_of_every_field_is_reported_at_once_and_in_place() -> None:
    text = "60,5,61 24 0 13 8"
    with pytest.raises(ParseError) as raised:
        parse_schedule(text)
    marked = [text[problem.start : problem.end] for problem in raised.value.problems]
    assert marked == ["60", "61", "24", "0", "13", "8"]


@pytest.mark.parametrize(
    ("shorthand", "spelled"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@DAILY", "0 0 * * *"),
    ],
)
def test_a_shorthand_is_refused_with_its_five_fields(shorthand: str, spelled: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_schedule(shorthand)
    assert raised.value.code == "cron-shorthand"
    assert shorthand in raised.value.message
    assert raised.value.fix.split(" or ")[0] == f"write {spelled}"
    parse_schedule(spelled)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        pytest.param("", "none", id="nothing"),
        pytest.param("* * * *", "4", id="four"),
        pytest.param("* * * * * *", '"*"', id="six"),
        pytest.param("0 0 12 * * MON", '"MON"', id="with seconds"),
    ],
)
def test_any_other_number_of_fields_is_refused(text: str, quote: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_schedule(text)
    assert raised.value.code == "cron-field-count"
    assert quote in raised.value.message


# In February 2026 the 1st, 8th, 15th and 22nd are Sundays; the 13th is a Friday.
DAY_RULES = [
    ("both restricted: either matches", "0 0 13 2 SUN", {1, 8, 13, 15, 22}),
    ("only the day of month", "0 0 13 2 *", {13}),
    ("only the day of week", "0 0 * 2 SUN", {1, 8, 15, 22}),
    ("a stepped star of days is no restriction: both must match", "0 0 */2 2 SUN", {1, 15}),
    ("a stepped star of weekdays is no restriction either", "0 0 1-10 2 */3", {1, 4, 7, 8}),
    ("a star of step one neither", "0 0 13 2 */1", {13}),
    ("a list that starts with a star neither", "0 0 */31,13 2 FRI", {13}),
    ("a list that has its star later is one", "0 0 13,*/31 2 SUN", {1, 8, 13, 15, 22}),
    ("all days in numbers are one: then every day matches", "0 0 1-31 2 SUN", set(range(1, 29))),
    ("all weekdays in numbers likewise", "0 0 13 2 0-6", set(range(1, 29))),
]


@pytest.mark.parametrize(
    ("expression", "days"), [pytest.param(*row[1:], id=row[0]) for row in DAY_RULES]
)
def test_day_of_month_and_day_of_week(expression: str, days: set[int]) -> None:
    schedule = parse_schedule(expression)
    start = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    found = islice(schedule.nominals_after(start), len(days) + 1)
    assert {day.date() for day in found if (day.year, day.month) == (2026, 2)} == {
        date(2026, 2, day) for day in days
    }


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("0 0 30 2 *", id="30 February"),
        pytest.param("0 0 31 2 *", id="31 February"),
        pytest.param("0 0 30,31 2 *", id="30 and 31 February"),
        pytest.param("0 0 31 4,6,9,11 *", id="the 31st of the months that have 30"),
        pytest.param("0 0 31 2,4,6,9,11 */2", id="the same on some weekdays"),
        pytest.param("* * 31 FEB *", id="31 February, any minute"),
        pytest.param("0 0 30-31/1 2 */1 @tz(Europe/Paris)", id="with a zone"),
    ],
)
def test_what_can_never_match_is_refused(expression: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_schedule(expression)
    assert raised.value.code == "cron-never"
    (problem,) = raised.value.problems
    assert expression[problem.start : problem.end] == " ".join(expression.split()[:5])


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("0 0 29 2 *", id="29 February"),
        pytest.param("0 0 29 2 */7", id="29 February on a Sunday"),
        pytest.param("0 0 31 2 SUN", id="31 February or any Sunday in it"),
        pytest.param("0 0 31 1,2 *", id="31 January or February"),
        pytest.param("0 0 30 4,6,9,11 *", id="the 30th of the months that have 30"),
    ],
)
def test_what_matches_seldom_is_accepted(expression: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert parse_schedule(expression).next_nominal(start) > start
