"""Next and previous are inverses, counting is walking, and earlier questions change no answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from random import Random
from zoneinfo import ZoneInfo

import pytest

from kron import KronError, Schedule, parse_schedule
from kron.core.instant import FIRST_S, LAST_S, to_datetime
from kron.core.nominal import Nominals, nominals
from kron.core.zone import Zone
from tests.core.brute_force import DAY_S
from tests.core.random_cron import RARE_YEARS, anywhere, near_change, random_schedule, random_zones
from tests.core.tzif import ZONES, offset_changes
from tests.soak import SOAK

CHUNKS = 4
CASES = 250 * SOAK
STEPS = 50
YEAR_S = 365 * DAY_S
SECOND = timedelta(seconds=1)


def _cases(seed: str) -> list[tuple[Schedule, datetime]]:
    random = Random(seed)
    zones = random_zones(random)
    cases: list[tuple[Schedule, datetime]] = []
    while len(cases) < CASES:
        zone = next(zones)
        instant_s = (near_change(random, zone) if len(cases) % 2 else None) or anywhere(random)
        moment = datetime.fromtimestamp(instant_s, UTC)
        if moment.year > RARE_YEARS + 1900:  # so that there always is a previous one
            cases.append((random_schedule(random, zone)[0], moment))
    return cases


def _walk(schedule: Schedule, moment: datetime, steps: int) -> list[datetime]:
    """So many steps, or fewer for a schedule so rare that it reaches the end of time."""
    walk: list[datetime] = []
    with suppress(KronError):
        walk.extend(islice(schedule.nominals_after(moment), steps))
    return walk


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_previous_of_next_is_next_and_nothing_lies_between(chunk: int) -> None:
    for schedule, moment in _cases(f"previous of next {chunk}"):
        following = schedule.next_nominal(moment)
        where = f"{schedule} from {moment}"
        assert following > moment, where
        assert schedule.prev_nominal(following) == following, where
        assert schedule.prev_nominal(following - SECOND) <= moment, where
        assert schedule.prev_nominal(following - SECOND) == schedule.prev_nominal(moment), where


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_next_of_the_second_before_previous_is_previous_and_nothing_lies_between(
    chunk: int,
) -> None:
    for schedule, moment in _cases(f"next of previous {chunk}"):
        preceding = schedule.prev_nominal(moment)
        where = f"{schedule} from {moment}"
        assert preceding <= moment, where
        assert schedule.next_nominal(preceding - SECOND) == preceding, where
        assert schedule.next_nominal(preceding) > moment, where
        assert schedule.next_nominal(preceding) == schedule.next_nominal(moment), where


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_walking_backwards_retraces_the_walk_forwards(chunk: int) -> None:
    for schedule, moment in _cases(f"retrace {chunk}"):
        forwards = _walk(schedule, moment, STEPS)
        backwards = list(islice(schedule.nominals_before(forwards[-1] + SECOND), len(forwards)))
        assert backwards == forwards[::-1], f"{schedule} from {moment}"


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_count_equals_walking(chunk: int) -> None:
    random = Random(f"count {chunk}")
    for schedule, moment in _cases(f"count {chunk}"):
        walk = [moment, *_walk(schedule, moment, random.randint(0, STEPS))]
        steps = len(walk) - 1
        first_s, last_s = (int(end.timestamp()) for end in (moment, walk[-1]))
        count = schedule.nominals.count
        where = f"{schedule} from {first_s} to {last_s}"
        assert count(first_s, last_s) == steps, where
        if steps:
            assert count(first_s, last_s - 1) == steps - 1, where
            middle_s = random.randint(first_s, last_s)
            assert count(first_s, middle_s) + count(middle_s, last_s) == steps, where


def test_count_of_nothing_is_zero() -> None:
    count = parse_schedule("* * * * *").nominals.count
    assert [count(0, 0), count(0, -1), count(60, 0), count(59, 60)] == [0, 0, 0, 1]


def test_count_of_a_century_of_minutes_is_every_minute_of_real_time() -> None:
    count = parse_schedule("* * * * * @tz(Europe/Paris)").nominals.count
    first_s = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
    last_s = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
    assert count(first_s, last_s) == (last_s - first_s) // 60


_HALF = timedelta(microseconds=500_000)
_LEAST = timedelta(microseconds=1)
NINE = datetime(2026, 6, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("moment", "following", "preceding"),
    [
        pytest.param(NINE - _LEAST, NINE, NINE - DAY, id="a microsecond before"),
        pytest.param(NINE - _HALF, NINE, NINE - DAY, id="half a second before"),
        pytest.param(NINE, NINE + DAY, NINE, id="exactly"),
        pytest.param(NINE + _LEAST, NINE + DAY, NINE, id="a microsecond after"),
        pytest.param(NINE + _HALF, NINE + DAY, NINE, id="half a second after"),
    ],
)
def test_fractions_of_a_second_keep_next_after_and_previous_not_after(
    moment: datetime, following: datetime, preceding: datetime
) -> None:
    schedule = parse_schedule("0 9 * * *")
    assert schedule.next_nominal(moment) == following
    assert schedule.prev_nominal(moment) == preceding
    assert next(schedule.nominals_after(moment)) == following
    before = preceding - DAY if preceding == moment else preceding
    assert next(schedule.nominals_before(moment)) == before


@pytest.mark.heavy
def test_random_fractions_of_a_second_obey_the_order() -> None:
    random = Random("fractions")
    for schedule, whole in _cases("fractions"):
        moment = whole.replace(microsecond=random.randint(1, 999_999))
        assert schedule.next_nominal(moment) > moment
        assert schedule.prev_nominal(moment) <= moment
        assert next(schedule.nominals_before(moment)) < moment


def test_the_zone_of_the_question_does_not_matter_and_the_answer_is_in_utc() -> None:
    schedule = parse_schedule("30 2 * * * @tz(Europe/Paris)")
    for zone in (UTC, ZoneInfo("Asia/Kathmandu"), timezone(timedelta(hours=-9, minutes=-30))):
        answer = schedule.next_nominal(NINE.astimezone(zone))
        assert answer == datetime(2026, 6, 2, 0, 30, tzinfo=UTC)
        assert answer.tzinfo is UTC


def test_a_question_in_a_fold_means_the_showing_that_it_names() -> None:
    schedule = parse_schedule("*/30 * * * * @tz(Europe/Paris)")
    second_showing = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=ZoneInfo("Europe/Paris"))
    first_showing = second_showing.replace(fold=0)
    assert schedule.next_nominal(first_showing) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert schedule.next_nominal(second_showing) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


NAIVE = datetime(2026, 1, 1)
TOO_EARLY = datetime(1899, 12, 31, 23, 59, 59, tzinfo=UTC)
TOO_LATE = datetime(3000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(NAIVE, id="naive"),
        pytest.param(TOO_EARLY, id="before 1900"),
        pytest.param(datetime.min.replace(tzinfo=UTC), id="the first datetime there is"),
        pytest.param(TOO_LATE, id="after 2999"),
        pytest.param(datetime.max.replace(tzinfo=UTC), id="the last datetime there is"),
        pytest.param(
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))), id="past the last in UTC"
        ),
        pytest.param(
            datetime.min.replace(tzinfo=timezone(timedelta(hours=12))), id="before the first in UTC"
        ),
    ],
)
def test_a_moment_that_is_no_instant_of_ours_is_an_error(moment: datetime) -> None:
    schedule = parse_schedule("0 9 * * *")
    for ask in (
        schedule.next_nominal,
        schedule.prev_nominal,
        lambda moment: next(schedule.nominals_after(moment)),
        lambda moment: next(schedule.nominals_before(moment)),
    ):
        with pytest.raises(KronError) as raised:
            ask(moment)
        assert raised.value.code == "instant"


@pytest.mark.heavy
@pytest.mark.heavy
@pytest.mark.parametrize("expression", ["* * * * *", "59 23 31 12 *", "0 0 29 2 *", "0 0 1 1 *"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/Paris"])
def test_walks_reach_both_ends_of_time_and_stop_with_an_error(expression: str, zone: str) -> None:
    schedule = parse_schedule(f"{expression} @tz({zone})")
    last = datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)
    first = datetime(1900, 1, 1, tzinfo=UTC)
    latest = schedule.prev_nominal(last)
    earliest = schedule.next_nominal(first)
    assert first < earliest <= latest <= last
    with pytest.raises(KronError) as raised:
        schedule.next_nominal(latest)
    assert raised.value.code == "instant"
    before = schedule.nominals_before(earliest)
    with pytest.raises(KronError) as raised:
        assert [next(before), next(before)][0] == first  # one at the very first second, no other
    assert raised.value.code == "instant"


def _fresh(schedule: Schedule) -> Nominals:
    """The schedule's nominals in a zone that has not been asked anything yet."""
    key = schedule.zone.key
    return nominals(schedule.cron, Zone(key, ZoneInfo(key)))


CHANGING = [zone for zone in ZONES if any(when > 0 for when, _ in offset_changes(zone))]


@pytest.mark.parametrize(
    ("text", "asked_s", "instant_s", "expected_s"),
    [
        ("16 * * * * @tz(America/Glace_Bay)", 1825477237, 1857010937, 1857014160),
        ("31-58 * * * * @tz(Europe/Moscow)", 433811720, 465346723, 465348660),
    ],
)
def test_a_fold_in_which_the_table_ends_is_shown_once_more(
    text: str, asked_s: int, instant_s: int, expected_s: int
) -> None:
    """Found by the soak: the answer was the first showing, which lay in the past."""
    walk = _fresh(parse_schedule(text))
    walk.after(asked_s)
    assert walk.after(instant_s) == expected_s


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_answer_depends_on_what_the_zone_was_asked_before(chunk: int) -> None:
    """The zone's table grows by whole years around a question: its edges must not show.

    So the earlier questions lie a year before and after, where the edges would fall on a change.
    """
    random = Random(f"asked before {chunk}")
    for _ in range(CASES // 2):
        zone = random.choice(CHANGING)
        change_s = random.choice([when for when, _ in offset_changes(zone) if when > 0])
        schedule, _ = random_schedule(random, zone)
        instant_s = change_s + random.randint(-7200, 7200)
        asked = _fresh(schedule)
        for _ in range(random.randint(1, 4)):
            direction = random.choice((-1, 1))
            asked.after(instant_s + direction * YEAR_S + random.randint(-7200, 7200))
        fresh = _fresh(schedule)
        where = f"{schedule} at {instant_s}"
        assert asked.after(instant_s) == fresh.after(instant_s), where
        assert asked.at_or_before(instant_s) == fresh.at_or_before(instant_s), where


def test_a_time_just_after_the_edge_of_the_table_still_knows_the_fold_it_is_in() -> None:
    schedule = parse_schedule("30 2 * * * @tz(Europe/Paris)")
    asked = _fresh(schedule)
    in_the_fold_s = int(datetime(2025, 10, 26, 1, 20, tzinfo=UTC).timestamp())
    asked.after(in_the_fold_s + YEAR_S - 600)
    # 02:30 was shown first at 00:30 UTC: the next one is tomorrow's.
    tomorrow = datetime(2025, 10, 27, 1, 30, tzinfo=UTC)
    assert asked.after(in_the_fold_s) == int(tomorrow.timestamp())


def test_an_answer_beyond_the_edge_of_the_table_lies_in_the_future() -> None:
    schedule = parse_schedule("0 * 20 2,12 * @tz(Europe/Paris)")
    asked = _fresh(schedule)
    asked.after(int(datetime(2026, 1, 15, tzinfo=UTC).timestamp()))  # knows a year on from here
    last_of_the_year = datetime(2026, 12, 20, 22, tzinfo=UTC)  # 23:00 in Paris
    expected = datetime(2027, 2, 19, 23, tzinfo=UTC)
    assert asked.after(int(last_of_the_year.timestamp())) == int(expected.timestamp())


@pytest.mark.heavy
@pytest.mark.parametrize("expression", ["*/5 * * * *", "0 3 1 * *", "0 0 29 2 *", "30 2 * * *"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris"])
def test_a_walk_ends_with_the_years_that_kron_covers(expression: str, zone: str) -> None:
    schedule = parse_schedule(f"{expression} @tz({zone})")
    last = to_datetime(schedule.nominals.at_or_before(LAST_S))
    first = to_datetime(schedule.nominals.after(FIRST_S - 1))
    assert walked_to(schedule.nominals_after(last - timedelta(days=3000))) == last
    assert walked_to(schedule.nominals_before(first + timedelta(days=3000))) == first


def walked_to(walk: Iterator[datetime]) -> datetime:
    """The last instant of a walk that goes on until there are no more."""
    walked: list[datetime] = []
    with pytest.raises(KronError, match="1900 to 2999"):
        walked.extend(walk)
    return walked[-1]
