"""Placeholders: what parse writes, scatter reads; the reference's spellings too; nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given

import kron
from kron import Code, fuzzy
from kron.fuzzy.pattern import Around, Between, Kind, Pattern
from kron.fuzzy.placeholder import read_placeholder, write_placeholder
from tests.fuzzy.expressions import Meant, expressions
from tests.soak import examples

IDENTIFIER = "owner/repo/.github/workflows/report.md"


@examples(600)
@given(expressions())
def test_every_placeholder_that_parse_writes_is_read_back(meant: Meant) -> None:
    expression = fuzzy.parse(meant.text)
    assert read_placeholder(expression.placeholder) == expression.pattern
    assert fuzzy.scatter(expression.placeholder, IDENTIFIER) == fuzzy.scatter(
        meant.text, IDENTIFIER
    )


def every_pattern() -> list[Pattern]:
    """Each kind with each of its options, and windows at the ends of the day."""
    windows = [None, Around(0), Around(1439), Between(0, 1439), Between(1320, 120)]
    return [
        *(Pattern(Kind.DAILY, window) for window in windows),
        *(Pattern(Kind.DAILY, window, workdays=0) for window in windows),
        *(Pattern(Kind.DAILY, window, workdays=-1) for window in windows[1:]),
        *(Pattern(Kind.DAILY, window, workdays=1) for window in windows[1:]),
        *(
            Pattern(Kind.WEEKLY, window, weekday=weekday)
            for window in windows
            for weekday in (None, *range(7))
        ),
        *(
            Pattern(Kind.HOURLY, every=every, workdays=workdays)
            for every in (None, *range(1, 24))
            for workdays in (None, 0)
        ),
        *(Pattern(Kind.MINUTES, every=every) for every in range(5, 60)),
        *(Pattern(Kind.DAYS, every=every) for every in range(1, 31)),
        Pattern(Kind.WEEKS, every=1),
        Pattern(Kind.BI_WEEKLY),
        Pattern(Kind.TRI_WEEKLY),
    ]


def test_reading_is_the_inverse_of_writing() -> None:
    texts = [write_placeholder(pattern) for pattern in every_pattern()]
    assert [read_placeholder(text) for text in texts] == every_pattern()
    assert len(set(texts)) == len(texts)


REFERENCE = {
    "FUZZY:HOURLY/1 * * *": "FUZZY:HOURLY:1 * * *",
    "FUZZY:HOURLY/2 * * *": "FUZZY:HOURLY:2 * * *",
    "FUZZY:HOURLY_WEEKDAYS/6 * * *": "FUZZY:HOURLY_WEEKDAYS:6 * * *",
    "FUZZY:BI_WEEKLY * * *": "FUZZY:BI-WEEKLY * * *",
    "FUZZY:TRI_WEEKLY * * *": "FUZZY:TRI-WEEKLY * * *",
    "FUZZY:WEEKLY:1 * * *": "FUZZY:WEEKLY:1 * * 1",
    "FUZZY:WEEKLY_AROUND:5:17:0 * * *": "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
    "FUZZY:WEEKLY_AROUND:0:0:0 * * *": "FUZZY:WEEKLY:0:AROUND:0:0 * * 0",
    "FUZZY:DAILY_WEEKDAYS * * *": "FUZZY:DAILY_WEEKDAYS * * *",
    "FUZZY:DAILY_WEEKDAYS * * 1-5": "FUZZY:DAILY_WEEKDAYS * * *",
    "FUZZY:DAILY_AROUND_WEEKDAYS:9:0 * * *": "FUZZY:DAILY_AROUND_WEEKDAYS:9:0 * * *",
    "FUZZY:DAILY_BETWEEN_WEEKDAYS:9:0:17:0 * * *": "FUZZY:DAILY_BETWEEN_WEEKDAYS:9:0:17:0 * * *",
    "FUZZY:DAILY_AROUND:09:05 * * *": "FUZZY:DAILY_AROUND:9:5 * * *",
    "FUZZY:WEEKLY:5:AROUND:17:0 * * *": "FUZZY:WEEKLY:5:AROUND:17:0 * * 5",
}


@pytest.mark.parametrize(("text", "ours"), REFERENCE.items(), ids=REFERENCE)
def test_the_spellings_of_the_reference_are_read(text: str, ours: str) -> None:
    assert write_placeholder(read_placeholder(text)) == ours
    assert fuzzy.scatter(text, IDENTIFIER) == fuzzy.scatter(ours, IDENTIFIER)


REFUSED = [
    "FUZZY:",
    "FUZZY:INVALID",
    "FUZZY:INVALID * * *",
    "FUZZY:DAILY",
    "FUZZY:DAILY * *",
    "FUZZY:DAILY * * * *",
    "FUZZY:DAILY  * * *",
    "FUZZY:DAILY * * * ",
    " FUZZY:DAILY * * *",
    "FUZZY:DAILY 1 * *",
    "FUZZY:DAILY * 1 *",
    "FUZZY:DAILY * * 1",
    "FUZZY:DAILY * * 1-5",
    "FUZZY:DAILY: * * *",
    "FUZZY:DAILY:1 * * *",
    "FUZZY:DAILY_WEEKDAYS * * 0-4",
    "FUZZY:DAILY_WEEKDAYS * * 3-6",
    "FUZZY:DAILY_AROUND * * *",
    "FUZZY:DAILY_AROUND:14 * * *",
    "FUZZY:DAILY_AROUND:24:0 * * *",
    "FUZZY:DAILY_AROUND:14:60 * * *",
    "FUZZY:DAILY_AROUND:-1:0 * * *",
    "FUZZY:DAILY_AROUND:٣:0 * * *",
    "FUZZY:DAILY_AROUND:014:0 * * *",
    "FUZZY:DAILY_AROUND:14:0:0 * * *",
    "FUZZY:DAILY_BETWEEN:9:0 * * *",
    "FUZZY:DAILY_BETWEEN:9:0:9:0 * * *",
    "FUZZY:DAILY_BETWEEN:9:0:17:60 * * *",
    "FUZZY:HOURLY:0 * * *",
    "FUZZY:HOURLY:24 * * *",
    "FUZZY:HOURLY: * * *",
    "FUZZY:HOURLY:2:3 * * *",
    "FUZZY:HOURLY * * 1-4",
    "FUZZY:HOURLY_WEEKDAYS * * 0-4",
    "FUZZY:WEEKLY:7 * * 7",
    "FUZZY:WEEKLY:1 * * 2",
    "FUZZY:WEEKLY * * 1",
    "FUZZY:WEEKLY:MON * * 1",
    "FUZZY:WEEKLY:1:AROUND * * 1",
    "FUZZY:WEEKLY:1:NEAR:9:0 * * 1",
    "FUZZY:WEEKLY_AROUND:14:0 * * *",
    "FUZZY:WEEKLY_AROUND:AROUND:14:0 * * *",
    "FUZZY:WEEKLY_WEEKDAYS * * *",
    "FUZZY:BI-WEEKLY:1 * * *",
    "FUZZY:QUAD-WEEKLY * * *",
    "*/4 * * * *",
    "*/60 * * * *",
    "*/05 * * * *",
    "0 0 */1 * *",
    "0 0 */31 * *",
    "0 0 */2 * 0",
    "0 0 * * 1",
    "15 9 * * 1-5",
    "0 0 * * *\n",
    "@daily",
]


@pytest.mark.parametrize("text", REFUSED)
def test_nothing_else_is_a_placeholder(text: str) -> None:
    with pytest.raises(kron.ParseError) as caught:
        read_placeholder(text)
    (problem,) = caught.value.problems
    assert problem.code is Code.INVALID_PLACEHOLDER
    assert (problem.start, problem.end) == (0, len(text))
    assert "FUZZY:" in problem.message or "cron" in problem.message


REASONS = {
    "FUZZY:DAILY": "three fields follow its type, as in FUZZY:DAILY_AROUND:14:0 * * *",
    "FUZZY:BOGUS * * *": 'there is no type "BOGUS"',
    "FUZZY:DAILY_AROUND:25:0 * * *": '"25" is not a number from 0 to 23',
    "FUZZY:DAILY_AROUND:5:60 * * *": '"60" is not a number from 0 to 59',
    "FUZZY:DAILY_AROUND:5 * * *": "AROUND is followed by H:M, BETWEEN by H:M:H:M",
    "FUZZY:DAILY_BETWEEN:9:0:9:0 * * *": "the range has no duration",
    "FUZZY:HOURLY/0 * * *": "a step is at least 1",
    "FUZZY:HOURLY:24 * * *": '"24" is not a number from 0 to 23',
    "FUZZY:WEEKLY:9 * * *": '"9" is not a number from 0 to 6',
    "FUZZY:DAILY * * 1": 'the day of week "1" does not fit what is before it',
    "0 2 * * *": "it does not begin with FUZZY:",
}


@pytest.mark.parametrize(("text", "reason"), REASONS.items(), ids=REASONS)
def test_a_refusal_says_why(text: str, reason: str) -> None:
    with pytest.raises(kron.ParseError) as caught:
        read_placeholder(text)
    assert caught.value.message.startswith(f'"{text}" is not a placeholder: {reason}')


def test_a_step_that_does_not_divide_the_day_is_read_with_a_warning() -> None:
    """The reference writes any step; an expression may not."""
    result = fuzzy.scattered("FUZZY:HOURLY/5 * * *", IDENTIFIER)
    assert result.cron.split()[1] == "*/5"
    (warning,) = result.warnings
    assert warning.code is Code.UNEVEN_STEP
    assert "its last step is 4 hours" in warning.message


@pytest.mark.parametrize("text", ["F" * 65_537, "é" * 32_769])
def test_its_bytes_are_counted(text: str) -> None:
    with pytest.raises(kron.KronError, match="longer than 65536 bytes"):
        read_placeholder(text)
