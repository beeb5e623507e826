"""Schedules in words: what each field means, and no two meanings in the same words."""

from __future__ import annotations

import pytest
from hypothesis import given

import kron
from kron.core.words import describe, describe_cron, describe_distribution
from tests.core.schedules import cron_texts
from tests.soak import examples


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 0 * * *", "at 00:00 every day"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0-59/5 * * * *", "every 5 minutes"),
        ("17 * * * *", "at minute 17 of every hour"),
        ("0 */2 * * *", "at minute 0 of every 2nd hour from 00 on every day"),
        ("30 */5 * * *", "at 00:30, 05:30, 10:30, 15:30 and 20:30 every day"),
        ("15 9 * * MON-FRI", "at 09:15 on Monday to Friday"),
        ("0 0 * * SAT,SUN", "at 00:00 on Saturday and Sunday"),
        ("0 3 1 * *", "at 03:00 on day 1 of the month"),
        ("0 0 1,15 * FRI", "at 00:00 on days 1 and 15 of the month, and also on every Friday"),
        ("0 0 1 */2 *", "at 00:00 on day 1 of the month in January, March, May, July, September "
         "and November"),
        ("0 0 */2 * 1", "at 00:00 on days 1, 3, 5 and so on up to 31 of the month if that is a "
         "Monday"),
        ("*/7 8-18 * * *", "at minutes 0, 7, 14 and so on up to 56 of the hours 08 to 18 "
         "every day"),
        ("* 3 * * *", "every minute of the hour 03 every day"),
        ("*/20 * * * 1", "every 20 minutes on Monday"),
        ("0 0 29 2 *", "at 00:00 on day 29 of the month in February"),
    ],
)  # fmt: skip
def test_a_cron_expression_reads_as_its_fields_say(cron: str, words: str) -> None:
    assert describe_cron(kron.parse_schedule(cron).cron) == words


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("0 10 * * *", "at 10:00 every day, UTC time"),
        ("0 10 * * * @tz(Europe/Paris)", "at 10:00 every day, Europe/Paris time"),
        ("0 10 * * * @win(after,2h)", "at 10:00 every day, UTC time, run within the 2h after that"),
        (
            "0 10 * * * @win(before,90m)",
            "at 10:00 every day, UTC time, run within the 1h30m before that",
        ),
        (
            "0 10 * * * @win(around,20m)",
            "at 10:00 every day, UTC time, run within 20m around then",
        ),
        ("0 10 * * * @win(after,500ms)", "at 10:00 every day, UTC time"),
    ],
)
def test_a_schedule_says_its_zone_and_its_window(schedule: str, words: str) -> None:
    assert describe(kron.parse_schedule(schedule)) == words


@pytest.mark.parametrize(
    ("modifiers", "words"),
    [
        ("", "uniform: x = u"),
        ("@dist(skewEarly)", "skewEarly, shape 2: x = u^2"),
        ("@dist(skewLate,shape=2.5)", "skewLate, shape 2.5: x = 1 - (1 - u)^2.5"),
        ("@dist(exponential)", "exponential, lambda 1: decays from the window's start"),
        (
            "@dist(exponential,lambda=3,dir=late)",
            "exponential, lambda 3: decays from the window's end",
        ),
        ("@dist(normal)", "normal, mu mid, sigma 20m: a bell, cut to the window"),
        (
            "@dist(normal,mu=start,sigma=5m)",
            "normal, mu start, sigma 5m: a bell, cut to the window",
        ),
    ],
)
def test_a_distribution_says_the_defaults_that_apply(modifiers: str, words: str) -> None:
    schedule = kron.parse_schedule(f"0 10 * * * @win(after,2h) {modifiers}")
    assert describe_distribution(schedule) == words


def test_a_bell_around_the_nominal_instant_says_so() -> None:
    schedule = kron.parse_schedule("0 10 * * * @win(around,1h) @dist(normal)")
    assert describe_distribution(schedule).startswith("normal, mu nominal, sigma 10m")


_MEANINGS: dict[str, tuple[int, ...]] = {}


@given(cron_texts())
@examples(300)
def test_two_meanings_never_read_the_same(text: str) -> None:
    cron = kron.parse_schedule(text).cron
    fields = (cron.minute, cron.hour, cron.day_of_month, cron.month, cron.day_of_week)
    meaning = tuple(field.mask for field in fields)
    assert _MEANINGS.setdefault(describe_cron(cron), meaning) == meaning
