"""The traps that other schedulers fell into, each by name, with answers worked out from the rule.

Times are written as the clock shows them, with the offset that tells the two showings of a fold
apart. docs/syntax.md has the rule.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise

import pytest

from kron import parse_schedule

SECOND = timedelta(seconds=1)

ROWS = [
    # New South Wales, 2019-10-06: 02:00 is followed by 03:00.
    (
        "Sydney: a stepped range of hours that begins in the gap",
        "30 2-23/4 * * * @tz(Australia/Sydney)",
        "2019-10-05T22:30:00+10:00",
        "2019-10-06T03:00:00+11:00 2019-10-06T06:30:00+11:00 2019-10-06T10:30:00+11:00",
    ),
    (
        "New York: every minute, asked in the middle of the second showing",
        "* * * * * @tz(America/New_York)",
        "2026-11-01T06:30:15+00:00",
        "2026-11-01T06:31:00+00:00 2026-11-01T06:32:00+00:00",
    ),
    (
        "Berlin: a Sunday noon after a night with a gap",
        "0 12 * * 0 @tz(Europe/Berlin)",
        "2022-03-20T12:00:00+01:00",
        "2022-03-27T12:00:00+02:00 2022-04-03T12:00:00+02:00",
    ),
    # Lord Howe moves by half an hour: forward at 02:00 to 02:30, back at 02:00 to 01:30.
    (
        "Lord Howe: a fixed time in the gap of half an hour",
        "15 2 * * * @tz(Australia/Lord_Howe)",
        "2026-10-04T00:00:00+10:30",
        "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00",
    ),
    (
        "Lord Howe: one time in the gap and one at its end are one run",
        "15,30 2 * * * @tz(Australia/Lord_Howe)",
        "2026-10-04T00:00:00+10:30",
        "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00 2026-10-05T02:30:00+11:00",
    ),
    (
        "Lord Howe: every quarter of an hour through the gap",
        "*/15 * * * * @tz(Australia/Lord_Howe)",
        "2026-10-04T01:30:00+10:30",
        "2026-10-04T01:45:00+10:30 2026-10-04T02:30:00+11:00 2026-10-04T02:45:00+11:00",
    ),
    (
        "Lord Howe: the full hour that the gap swallows",
        "0 * * * * @tz(Australia/Lord_Howe)",
        "2026-10-04T00:00:00+10:30",
        "2026-10-04T01:00:00+10:30 2026-10-04T03:00:00+11:00",
    ),
    (
        "Lord Howe: a fixed time in the fold of half an hour",
        "45 1 * * * @tz(Australia/Lord_Howe)",
        "2026-04-05T00:00:00+11:00",
        "2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30",
    ),
    (
        "Lord Howe: every quarter of an hour through the fold",
        "*/15 * * * * @tz(Australia/Lord_Howe)",
        "2026-04-05T01:15:00+11:00",
        "2026-04-05T01:30:00+11:00 2026-04-05T01:45:00+11:00 2026-04-05T01:30:00+10:30 "
        "2026-04-05T01:45:00+10:30 2026-04-05T02:00:00+10:30",
    ),
    # In Irish law summer is the standard time and winter the exception.
    (
        "Dublin: a fixed time in the gap",
        "30 1 * * * @tz(Europe/Dublin)",
        "2026-03-28T12:00:00+00:00",
        "2026-03-29T02:00:00+01:00 2026-03-30T01:30:00+01:00",
    ),
    (
        "Dublin: a fixed time in the fold",
        "30 1 * * * @tz(Europe/Dublin)",
        "2026-10-24T12:00:00+01:00",
        "2026-10-25T01:30:00+01:00 2026-10-26T01:30:00+00:00",
    ),
    (
        "Dublin: every hour through the fold",
        "30 * * * * @tz(Europe/Dublin)",
        "2026-10-25T00:30:00+01:00",
        "2026-10-25T01:30:00+01:00 2026-10-25T01:30:00+00:00 2026-10-25T02:30:00+00:00",
    ),
    # Brazil's clocks moved at midnight: 2018-11-04 has no hour 0, 2019-02-16 two hours 23.
    (
        "Sao Paulo: a midnight that does not exist",
        "0 0 * * * @tz(America/Sao_Paulo)",
        "2018-11-03T12:00:00-03:00",
        "2018-11-04T01:00:00-02:00 2018-11-05T00:00:00-02:00",
    ),
    (
        "Sao Paulo: only the day whose midnight does not exist",
        "0 0 4 11 * @tz(America/Sao_Paulo)",
        "2018-01-01T00:00:00-02:00",
        "2018-11-04T01:00:00-02:00 2019-11-04T00:00:00-03:00",
    ),
    (
        "Sao Paulo: every hour of a Sunday that starts at one",
        "0 * * * 0 @tz(America/Sao_Paulo)",
        "2018-11-03T22:00:00-03:00",
        "2018-11-04T01:00:00-02:00 2018-11-04T02:00:00-02:00",
    ),
    (
        "Sao Paulo: every minute of an hour that does not exist",
        "* 0 * * * @tz(America/Sao_Paulo)",
        "2018-11-03T00:58:00-03:00",
        "2018-11-03T00:59:00-03:00 2018-11-05T00:00:00-02:00",
    ),
    (
        "Sao Paulo: every half hour over the missing midnight",
        "*/30 * * * * @tz(America/Sao_Paulo)",
        "2018-11-03T23:00:00-03:00",
        "2018-11-03T23:30:00-03:00 2018-11-04T01:00:00-02:00",
    ),
    (
        "Sao Paulo: the last hour of a day, shown twice, fixed",
        "30 23 * * * @tz(America/Sao_Paulo)",
        "2019-02-16T12:00:00-02:00",
        "2019-02-16T23:30:00-02:00 2019-02-17T23:30:00-03:00",
    ),
    (
        "Sao Paulo: the last hour of a day, shown twice, followed",
        "30 * * * * @tz(America/Sao_Paulo)",
        "2019-02-16T22:30:00-02:00",
        "2019-02-16T23:30:00-02:00 2019-02-16T23:30:00-03:00 2019-02-17T00:30:00-03:00",
    ),
    (
        "Sao Paulo: the midnight after the fold comes once",
        "0 0 * * * @tz(America/Sao_Paulo)",
        "2019-02-16T12:00:00-02:00",
        "2019-02-17T00:00:00-03:00 2019-02-18T00:00:00-03:00",
    ),
    # Samoa crossed the date line: Thursday 2011-12-29 was followed by Saturday 2011-12-31.
    (
        "Apia: noon of the day that never was",
        "0 12 30 12 * @tz(Pacific/Apia)",
        "2011-12-01T00:00:00-10:00",
        "2011-12-31T00:00:00+14:00 2012-12-30T12:00:00+14:00",
    ),
    (
        "Apia: every noon over the day that never was",
        "0 12 * * * @tz(Pacific/Apia)",
        "2011-12-29T11:00:00-10:00",
        "2011-12-29T12:00:00-10:00 2011-12-31T00:00:00+14:00 2011-12-31T12:00:00+14:00",
    ),
    (
        "Apia: the midnight that was left out and the one after it are one run",
        "0 0 * * * @tz(Pacific/Apia)",
        "2011-12-29T00:00:00-10:00",
        "2011-12-31T00:00:00+14:00 2012-01-01T00:00:00+14:00",
    ),
    (
        "Apia: the Friday that never was, fixed",
        "0 12 * * FRI @tz(Pacific/Apia)",
        "2011-12-28T00:00:00-10:00",
        "2011-12-31T00:00:00+14:00 2012-01-06T12:00:00+14:00",
    ),
    (
        "Apia: the Friday that never was, followed",
        "0 */12 * * FRI @tz(Pacific/Apia)",
        "2011-12-28T00:00:00-10:00",
        "2012-01-06T00:00:00+14:00 2012-01-06T12:00:00+14:00",
    ),
    (
        "Apia: every hour",
        "0 * * * * @tz(Pacific/Apia)",
        "2011-12-29T22:00:00-10:00",
        "2011-12-29T23:00:00-10:00 2011-12-31T00:00:00+14:00",
    ),
    # Kwajalein went the other way: at the end of 1969-09-30 the clock was set back by 23 hours.
    (
        "Kwajalein: a noon that came twice, fixed",
        "0 12 * * * @tz(Pacific/Kwajalein)",
        "1969-09-30T00:00:00+11:00",
        "1969-09-30T12:00:00+11:00 1969-10-01T12:00:00-12:00",
    ),
    (
        "Kwajalein: a noon that came twice, followed",
        "*/30 12 * * * @tz(Pacific/Kwajalein)",
        "1969-09-30T00:00:00+11:00",
        "1969-09-30T12:00:00+11:00 1969-09-30T12:30:00+11:00 1969-09-30T12:00:00-12:00 "
        "1969-09-30T12:30:00-12:00 1969-10-01T12:00:00-12:00",
    ),
    (
        "Paris: a fixed time in the gap",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00",
    ),
    (
        "Paris: a fixed time in the fold",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-10-24T12:00:00+02:00",
        "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00",
    ),
    (
        "Paris: a fixed time in the fold, asked between its two showings",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-10-25T02:10:00+01:00",
        "2026-10-26T02:30:00+01:00",
    ),
    (
        "Paris: every half hour through the gap",
        "*/30 * * * * @tz(Europe/Paris)",
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T01:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00",
    ),
    (
        "Paris: every half hour through the fold",
        "*/30 * * * * @tz(Europe/Paris)",
        "2026-10-25T01:30:00+02:00",
        "2026-10-25T02:00:00+02:00 2026-10-25T02:30:00+02:00 2026-10-25T02:00:00+01:00 "
        "2026-10-25T02:30:00+01:00 2026-10-25T03:00:00+01:00",
    ),
    (
        "Paris: two times in the gap are one run",
        "0,30 2 * * * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00 2026-03-30T02:30:00+02:00",
    ),
    (
        "Paris: a time in the gap and one right after it are one run",
        "0 2,3 * * * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00 2026-03-30T03:00:00+02:00",
    ),
    (
        "Paris: a time in the gap and a later one are two runs",
        "30 2,3 * * * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T03:00:00+02:00 2026-03-29T03:30:00+02:00 2026-03-30T02:30:00+02:00",
    ),
    (
        "Paris: every minute listed names times, so the gap is made up for and the fold is not",
        "0-59 2 29 3 * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T03:00:00+02:00 2027-03-29T02:00:00+02:00",
    ),
    (
        "Paris: an hour of every minute that the gap swallows",
        "* 2 29 3 * @tz(Europe/Paris)",
        "2026-03-28T12:00:00+01:00",
        "2027-03-29T02:00:00+02:00 2027-03-29T02:01:00+02:00",
    ),
    # Liberia left its 44 minutes and 30 seconds behind at midnight: the clock jumped to 00:44:30.
    (
        "Monrovia: every minute over a gap that ends within one",
        "* * * * * @tz(Africa/Monrovia)",
        "1972-01-07T00:42:30+00:00",
        "1972-01-07T00:43:30+00:00 1972-01-07T00:45:00+00:00 1972-01-07T00:46:00+00:00",
    ),
    (
        "Monrovia: a fixed time in a gap that ends within a minute",
        "20 0 * * * @tz(Africa/Monrovia)",
        "1972-01-06T12:00:00+00:00",
        "1972-01-07T00:45:00+00:00 1972-01-08T00:20:00+00:00",
    ),
    (
        "Monrovia: asked between the gap and the first whole minute after it",
        "0 0 * * * @tz(Africa/Monrovia)",
        "1972-01-07T00:44:45+00:00",
        "1972-01-07T00:45:00+00:00 1972-01-08T00:00:00+00:00",
    ),
    # Damascus, Friday 2018-03-30: midnight is followed by 01:00.
    (
        "Damascus: every minute of an hour 0 that does not exist",
        "* 0,4,20 14-23/2 * 5 @tz(Asia/Damascus)",
        "2018-03-29T01:40:03+00:00",
        "2018-03-30T04:00:00+03:00 2018-03-30T04:01:00+03:00",
    ),
    # Troll moves by two hours: 01:00 to 03:00, and 03:00 back to 01:00.
    (
        "Troll: two hours of times in the gap are one run",
        "0 1,2 * * * @tz(Antarctica/Troll)",
        "2026-03-28T12:00:00+00:00",
        "2026-03-29T03:00:00+02:00 2026-03-30T01:00:00+02:00 2026-03-30T02:00:00+02:00",
    ),
    (
        "Troll: every hour through the gap",
        "0 * * * * @tz(Antarctica/Troll)",
        "2026-03-28T23:00:00+00:00",
        "2026-03-29T00:00:00+00:00 2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00",
    ),
    (
        "Troll: a fixed time in the fold of two hours",
        "30 2 * * * @tz(Antarctica/Troll)",
        "2026-10-25T00:00:00+02:00",
        "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+00:00",
    ),
    (
        "Troll: every hour through the fold of two hours",
        "0 * * * * @tz(Antarctica/Troll)",
        "2026-10-25T00:00:00+02:00",
        "2026-10-25T01:00:00+02:00 2026-10-25T02:00:00+02:00 2026-10-25T01:00:00+00:00 "
        "2026-10-25T02:00:00+00:00 2026-10-25T03:00:00+00:00",
    ),
    # Morocco leaves its summer time for Ramadan: back on 2025-02-23 at 03:00, forward on
    # 2025-04-06 at 02:00.
    (
        "Casablanca: into Ramadan, fixed",
        "30 2 * * * @tz(Africa/Casablanca)",
        "2025-02-22T12:00:00+01:00",
        "2025-02-23T02:30:00+01:00 2025-02-24T02:30:00+00:00",
    ),
    (
        "Casablanca: into Ramadan, followed",
        "30 * * * * @tz(Africa/Casablanca)",
        "2025-02-23T01:30:00+01:00",
        "2025-02-23T02:30:00+01:00 2025-02-23T02:30:00+00:00 2025-02-23T03:30:00+00:00",
    ),
    (
        "Casablanca: out of Ramadan, fixed",
        "30 2 * * * @tz(Africa/Casablanca)",
        "2025-04-05T12:00:00+00:00",
        "2025-04-06T03:00:00+01:00 2025-04-07T02:30:00+01:00",
    ),
    (
        "Casablanca: out of Ramadan, followed",
        "30 * * * * @tz(Africa/Casablanca)",
        "2025-04-06T00:30:00+00:00",
        "2025-04-06T01:30:00+00:00 2025-04-06T03:30:00+01:00",
    ),
    (
        "the leap day across 2100, which is no leap year",
        "0 0 29 2 *",
        "2092-03-01T00:00:00+00:00",
        "2096-02-29T00:00:00+00:00 2104-02-29T00:00:00+00:00",
    ),
    (
        "the leap day across 2000, which is one",
        "0 0 29 2 *",
        "1996-02-29T00:00:00+00:00",
        "2000-02-29T00:00:00+00:00 2004-02-29T00:00:00+00:00",
    ),
    (
        "the last day of the months that have 31",
        "0 0 31 * *",
        "2026-01-31T00:00:00+00:00",
        "2026-03-31T00:00:00+00:00 2026-05-31T00:00:00+00:00 2026-07-31T00:00:00+00:00 "
        "2026-08-31T00:00:00+00:00 2026-10-31T00:00:00+00:00 2026-12-31T00:00:00+00:00 "
        "2027-01-31T00:00:00+00:00",
    ),
    (
        "the end of the year",
        "59 23 31 12 *",
        "2026-12-31T23:59:00+00:00",
        "2027-12-31T23:59:00+00:00 2028-12-31T23:59:00+00:00",
    ),
]


@pytest.mark.parametrize(
    ("schedule_text", "after", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_trap(schedule_text: str, after: str, expected: str) -> None:
    schedule = parse_schedule(schedule_text)
    start = datetime.fromisoformat(after)
    answers = [datetime.fromisoformat(text).astimezone(UTC) for text in expected.split()]
    assert list(islice(schedule.nominals_after(start), len(answers))) == answers
    backwards = list(islice(schedule.nominals_before(answers[-1] + SECOND), len(answers)))
    assert backwards == answers[::-1]
    assert schedule.prev_nominal(answers[0] - SECOND) <= start
    count = schedule.nominals.count
    assert count(int(start.timestamp()), int(answers[-1].timestamp())) == len(answers)


PREVIOUS_ROWS = [
    (
        "New York: every minute, asked in the middle of the second showing",
        "* * * * * @tz(America/New_York)",
        "2026-11-01T06:30:15+00:00",
        "2026-11-01T06:30:00+00:00",
    ),
    (
        "Paris: a fixed time in the gap ran at its end",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T03:00:00+02:00",
    ),
    (
        "Paris: a second before the gap ends it has not run",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-03-29T01:59:59+01:00",
        "2026-03-28T02:30:00+01:00",
    ),
    (
        "Paris: during the second showing, the first was the run",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-10-25T02:45:00+01:00",
        "2026-10-25T02:30:00+02:00",
    ),
    (
        "Paris: during the second showing but before the time, the first was the run",
        "30 2 * * * @tz(Europe/Paris)",
        "2026-10-25T02:10:00+01:00",
        "2026-10-25T02:30:00+02:00",
    ),
    (
        "Lisbon 1941: the second showing of the last minute of a day",
        "* * 5 10 * @tz(Europe/Lisbon)",
        "1941-10-06T05:37:19+00:00",
        "1941-10-05T23:59:00+00:00",
    ),
    (
        "Monrovia: between the gap and the first whole minute after it nothing has run",
        "20 0 * * * @tz(Africa/Monrovia)",
        "1972-01-07T00:44:45+00:00",
        "1972-01-06T01:04:30+00:00",
    ),
    (
        "Apia: on the morning after the day that never was",
        "0 12 * * * @tz(Pacific/Apia)",
        "2011-12-31T06:00:00+14:00",
        "2011-12-31T00:00:00+14:00",
    ),
]


@pytest.mark.parametrize(
    ("schedule_text", "at", "expected"),
    [pytest.param(*row[1:], id=row[0]) for row in PREVIOUS_ROWS],
)
def test_trap_backwards(schedule_text: str, at: str, expected: str) -> None:
    schedule = parse_schedule(schedule_text)
    found = schedule.prev_nominal(datetime.fromisoformat(at))
    assert found == datetime.fromisoformat(expected)
    assert schedule.next_nominal(found - SECOND) == found


def test_a_leap_day_that_is_a_sunday_comes_after_28_and_sometimes_after_40_years() -> None:
    schedule = parse_schedule("0 0 29 2 */7")
    leap_years = [y for y in range(1904, 2400, 4) if y % 100 != 0 or y % 400 == 0]
    sundays = [y for y in leap_years if date(y, 2, 29).isoweekday() == 7]
    assert {later - earlier for earlier, later in pairwise(sundays)} == {28, 40}
    start = datetime(1901, 1, 1, tzinfo=UTC)
    found = [nominal.year for nominal in islice(schedule.nominals_after(start), len(sundays))]
    assert found == sundays
    back = schedule.nominals_before(datetime(2400, 1, 1, tzinfo=UTC))
    assert [nominal.year for nominal in islice(back, len(sundays))] == sundays[::-1]
