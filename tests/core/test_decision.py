"""Decisions: the golden vectors bit for bit, and every line of the decision contract."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kron
from kron.core.decision import MAX_ATTEMPTS, UNSCHEDULABLE
from tests.core.schedules import schedule_texts
from tests.soak import examples

VECTORS = Path(__file__).parents[1] / "vectors"
NOMINAL = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
MODES = {"center": "around", "around": "around", "after": "after", "before": "before"}


def instant(text: str) -> datetime:
    """RFC3339 as an aware datetime."""
    return datetime.fromisoformat(text)


def text_of(moment: datetime | None) -> str:
    """An instant as the vectors write it; nothing as ''."""
    return "" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def golden_cases() -> Iterator[Any]:
    """The cases of kron-core-v*.json, by their names."""
    for path in sorted(VECTORS.glob("kron-core-v*.json")):
        for case in json.loads(path.read_text())["cases"]:
            yield pytest.param(case["input"], case["expected"], id=f"{path.stem}: {case['name']}")


def schedule_of(given: dict[str, Any]) -> str:
    """The text of a schedule that says what a golden case's input says."""
    known = {"identity", "job", "periodStart", "window", "mode", "distribution", "seedStrategy"}
    known |= {"salt", "timezone", "onlyHours", "onlyDow", "avoidBetween"}
    assert set(given) <= known
    salt = f',salt="{given["salt"]}"' if given["salt"] else ""
    text = (
        f"* * * * * @tz({given.get('timezone', 'UTC')}) "
        f"@win({MODES[given['mode']]},{given['window']}) "
        f"@dist({given['distribution']}) @seed({given['seedStrategy']}{salt})"
    )
    only = []
    if "onlyHours" in given:
        only.append(f"hours={','.join(map(str, given['onlyHours']))}")
    if "onlyDow" in given:
        only.append(f"dow={','.join(map(str, given['onlyDow']))}")
    avoid = []
    for between in given.get("avoidBetween", []):
        first, last = between["startMinute"], between["endMinute"]
        avoid.append(f"between={first // 60:02d}:{first % 60:02d}-{last // 60:02d}:{last % 60:02d}")
    if only:
        text += f" @only({';'.join(only)})"
    if avoid:
        text += f" @avoid({';'.join(avoid)})"
    return text


@pytest.mark.parametrize(("given", "expected"), list(golden_cases()))
def test_the_golden_vectors_hold_bit_for_bit(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    schedule = kron.parse_schedule(schedule_of(given))
    nominal = instant(given["periodStart"])
    decision = kron.decide(schedule, identity=given["identity"], nominal=nominal)
    decided = {
        "periodId": decision.period_id,
        "periodKey": decision.period_key,
        "windowStart": text_of(decision.window_start),
        "windowEnd": text_of(decision.window_end),
        "seedHash": decision.seed_hash,
        "chosenTime": text_of(decision.chosen_time),
        "attempts": decision.attempts,
        "unschedulable": decision.unschedulable,
        "reason": decision.reason,
    }
    assert decided == {"unschedulable": False, "reason": ""} | expected
    assert decision.nominal_time == nominal


def test_the_reference_decisions_hold_bit_for_bit() -> None:
    rows = (VECTORS / "reference-decisions.jsonl").read_text().splitlines()
    assert len(rows) == 400
    for line in rows:
        row = json.loads(line)
        schedule = kron.parse_schedule(row["schedule"])
        nominal = instant(row["nominal"])
        decision = kron.decide(schedule, identity=row["identity"], nominal=nominal)
        assert {
            "schedule": row["schedule"],
            "identity": decision.identity,
            "nominal": decision.period_id,
            "window_start": text_of(decision.window_start),
            "window_end": text_of(decision.window_end),
            "period_key": decision.period_key,
            "seed_hash": decision.seed_hash,
            "chosen": text_of(decision.chosen_time) or None,
            "attempts": decision.attempts,
        } == row
        assert decision.unschedulable is (row["chosen"] is None)
        assert decision.reason == (UNSCHEDULABLE if row["chosen"] is None else "")
        assert schedule.prev_nominal(nominal) == nominal


def test_the_words_and_the_budget_of_the_contract() -> None:
    assert UNSCHEDULABLE == "no candidate accepted within MaxAttempts"
    assert MAX_ATTEMPTS == 64


@pytest.mark.parametrize(
    ("window", "start", "end"),
    [
        pytest.param("after,0s", 0, 0, id="nothing"),
        pytest.param("after,1ns", 0, 0, id="after: a nanosecond is no second"),
        pytest.param("after,999999999ns", 0, 0, id="after: just below a second"),
        pytest.param("after,1s", 0, 1, id="after: a second"),
        pytest.param("after,1.999999999s", 0, 1, id="after: floored"),
        pytest.param("after,1h", 0, 3600, id="after: an hour"),
        pytest.param("after,8784h", 0, 366 * 86400, id="after: 366 days"),
        pytest.param("around,0s", 0, 0, id="around: nothing"),
        pytest.param("around,1ns", 0, 0, id="around: half a nanosecond is none"),
        pytest.param("around,2ns", -1, 0, id="around: a start below the second is floored"),
        pytest.param("around,3ns", -1, 0, id="around: odd nanoseconds"),
        pytest.param("around,1s", -1, 0, id="around: half a second each way"),
        pytest.param("around,1.999999999s", -1, 1, id="around: the odd nanosecond is after"),
        pytest.param("around,1.999999998s", -1, 0, id="around: just below"),
        pytest.param("around,2s", -1, 1, id="around: a second each way"),
        pytest.param("around,2.000000001s", -1, 1, id="around: a nanosecond more"),
        pytest.param("around,2.000000002s", -2, 1, id="around: two nanoseconds more"),
        pytest.param("around,3s", -2, 1, id="around: three seconds"),
        pytest.param("around,1h1m1s", -1831, 1830, id="around: an odd duration"),
        pytest.param("before,0s", 0, 0, id="before: nothing"),
        pytest.param("before,1ns", -1, 0, id="before: a nanosecond"),
        pytest.param("before,1s", -1, 0, id="before: a second"),
        pytest.param("before,1.5s", -2, 0, id="before: floored"),
        pytest.param("before,2h", -7200, 0, id="before: two hours"),
    ],
)
def test_both_bounds_are_floored_to_whole_seconds(window: str, start: int, end: int) -> None:
    schedule = kron.parse_schedule(f"0 12 * * * @win({window})")
    decision = kron.decide(schedule, identity="a", nominal=NOMINAL)
    assert decision.window_start == NOMINAL + timedelta(seconds=start)
    assert decision.window_end == NOMINAL + timedelta(seconds=end)
    assert decision.chosen_time is not None
    assert decision.window_start <= decision.chosen_time <= decision.window_end
    assert decision.attempts == (1 if end > start else 0)


@pytest.mark.parametrize(
    ("seed", "zone", "nominal", "period_key"),
    [
        pytest.param(
            "stable", "Asia/Tokyo", "2026-03-01T20:00:00Z", "2026-03-01T20:00:00Z", id="stable"
        ),
        pytest.param("daily", "UTC", "2026-03-01T23:59:00Z", "2026-03-01", id="daily"),
        pytest.param(
            "daily", "Asia/Tokyo", "2026-03-01T15:00:00Z", "2026-03-02", id="the next day there"
        ),
        pytest.param(
            "daily", "America/New_York", "2026-03-01T04:59:00Z", "2026-02-28", id="the day before"
        ),
        pytest.param(
            "daily", "Europe/Paris", "2026-03-28T23:00:00Z", "2026-03-29", id="winter time"
        ),
        pytest.param(
            "daily", "Europe/Paris", "2026-03-29T22:00:00Z", "2026-03-30", id="summer time"
        ),
        pytest.param("weekly", "UTC", "2026-01-01T00:00:00Z", "2026-W01", id="first week"),
        pytest.param(
            "weekly", "UTC", "2027-01-01T00:00:00Z", "2026-W53", id="week of the year before"
        ),
        pytest.param(
            "weekly", "UTC", "2025-12-29T00:00:00Z", "2026-W01", id="week of the next year"
        ),
        pytest.param("weekly", "Asia/Tokyo", "2026-03-01T15:00:00Z", "2026-W10", id="Monday there"),
    ],
)
def test_the_period_key_follows_the_seed_strategy_in_the_zone(
    seed: str, zone: str, nominal: str, period_key: str
) -> None:
    schedule = kron.parse_schedule(f"* * * * * @tz({zone}) @seed({seed},salt=pepper)")
    decision = kron.decide(schedule, identity="team/job", nominal=instant(nominal))
    assert decision.period_key == period_key
    expected = hashlib.sha256(f"team/job\n{period_key}\npepper".encode()).hexdigest()
    assert decision.seed_hash == expected


@pytest.mark.parametrize(
    ("modifiers", "moment", "accepted"),
    [
        # only: every kind must hold, any clause of one kind.
        pytest.param("@only(hours=12)", "2026-03-02T12:30:00Z", True, id="hours"),
        pytest.param("@only(hours=11,13)", "2026-03-02T12:30:00Z", False, id="other hours"),
        pytest.param("@only(hours=11;hours=12)", "2026-03-02T12:30:00Z", True, id="one kind: any"),
        pytest.param("@only(hours=12;dow=MON)", "2026-03-02T12:30:00Z", True, id="kinds: all"),
        pytest.param(
            "@only(hours=12;dow=TUE)", "2026-03-02T12:30:00Z", False, id="kinds: one fails"
        ),
        pytest.param(
            "@only(hours=11;dow=MON)", "2026-03-02T12:30:00Z", False, id="kinds: the other fails"
        ),
        pytest.param(
            "@only(hours=12;between=12:00-12:10)",
            "2026-03-02T12:30:00Z",
            False,
            id="hours and between",
        ),
        pytest.param(
            "@only(date=2026-03-02;dates=2026-04-01..2026-04-30)",
            "2026-03-02T00:00:00Z",
            True,
            id="date and dates are one kind: the day",
        ),
        pytest.param(
            "@only(date=2026-03-02;dates=2026-04-01..2026-04-30)",
            "2026-04-30T23:59:00Z",
            True,
            id="date and dates are one kind: the range",
        ),
        pytest.param(
            "@only(date=2026-03-02;dates=2026-04-01..2026-04-30)",
            "2026-05-01T00:00:00Z",
            False,
            id="date and dates are one kind: neither",
        ),
        # avoid: any clause.
        pytest.param("@avoid(hours=12)", "2026-03-02T12:30:00Z", False, id="avoid hours"),
        pytest.param("@avoid(hours=11)", "2026-03-02T12:30:00Z", True, id="avoid other hours"),
        pytest.param("@avoid(hours=11;dow=MON)", "2026-03-02T12:30:00Z", False, id="avoid any"),
        pytest.param(
            "@avoid(hours=12;dow=TUE)", "2026-03-02T12:30:00Z", False, id="avoid any, the other"
        ),
        pytest.param("@avoid(hours=11;dow=TUE)", "2026-03-02T12:30:00Z", True, id="avoid none"),
        pytest.param(
            "@only(hours=12) @avoid(hours=12)", "2026-03-02T12:30:00Z", False, id="avoid wins"
        ),
        pytest.param(
            "@only(hours=12) @avoid(dow=TUE)", "2026-03-02T12:30:00Z", True, id="both are content"
        ),
        # between: inclusive to the minute.
        pytest.param(
            "@only(between=12:30-12:31)", "2026-03-02T12:29:00Z", False, id="before the first"
        ),
        pytest.param(
            "@only(between=12:30-12:31)", "2026-03-02T12:30:00Z", True, id="the first minute"
        ),
        pytest.param(
            "@only(between=12:30-12:31)", "2026-03-02T12:31:00Z", True, id="the last minute"
        ),
        pytest.param(
            "@only(between=12:30-12:31)", "2026-03-02T12:32:00Z", False, id="after the last"
        ),
        pytest.param("@only(between=12:30-12:30)", "2026-03-02T12:30:00Z", True, id="one minute"),
        pytest.param(
            "@only(between=22:00-06:00)", "2026-03-02T21:59:00Z", False, id="midnight: before"
        ),
        pytest.param(
            "@only(between=22:00-06:00)", "2026-03-02T22:00:00Z", True, id="midnight: first"
        ),
        pytest.param(
            "@only(between=22:00-06:00)", "2026-03-02T00:00:00Z", True, id="midnight: itself"
        ),
        pytest.param(
            "@only(between=22:00-06:00)", "2026-03-02T06:00:00Z", True, id="midnight: last"
        ),
        pytest.param(
            "@only(between=22:00-06:00)", "2026-03-02T06:01:00Z", False, id="midnight: after"
        ),
        pytest.param(
            "@only(between=00:01-00:00)", "2026-03-02T12:00:00Z", True, id="the whole day"
        ),
        # Days.
        pytest.param("@only(dow=7)", "2026-03-01T12:00:00Z", True, id="7 is Sunday"),
        pytest.param("@only(dow=0)", "2026-03-01T12:00:00Z", True, id="0 is Sunday"),
        pytest.param("@only(dow=5-7)", "2026-03-01T12:00:00Z", True, id="Friday to Sunday"),
        pytest.param("@only(dow=5-7)", "2026-03-02T12:00:00Z", False, id="not Monday"),
        pytest.param("@only(dom=2)", "2026-03-02T12:00:00Z", True, id="day of the month"),
        pytest.param("@only(dom=31)", "2026-03-02T12:00:00Z", False, id="another day of the month"),
        pytest.param("@only(months=MAR)", "2026-03-02T12:00:00Z", True, id="month"),
        pytest.param(
            "@only(months=1-2,4-12)", "2026-03-02T12:00:00Z", False, id="every other month"
        ),
        pytest.param(
            "@only(date=2026-03-02)", "2026-03-02T23:59:00Z", True, id="date to its last minute"
        ),
        pytest.param(
            "@only(date=2026-03-02)", "2026-03-03T00:00:00Z", False, id="date, the day after"
        ),
        pytest.param(
            "@avoid(dates=2026-12-24..2026-12-31)", "2026-12-23T23:59:00Z", True, id="dates: before"
        ),
        pytest.param(
            "@avoid(dates=2026-12-24..2026-12-31)", "2026-12-24T00:00:00Z", False, id="dates: first"
        ),
        pytest.param(
            "@avoid(dates=2026-12-24..2026-12-31)", "2026-12-31T23:59:00Z", False, id="dates: last"
        ),
        pytest.param(
            "@avoid(dates=2026-12-24..2026-12-31)", "2027-01-01T00:00:00Z", True, id="dates: after"
        ),
        # In the schedule's zone, through daylight saving.
        pytest.param(
            "@tz(Asia/Tokyo) @only(hours=21)", "2026-03-02T12:00:00Z", True, id="hours in Tokyo"
        ),
        pytest.param(
            "@tz(Asia/Tokyo) @only(dow=TUE)", "2026-03-02T15:00:00Z", True, id="Tuesday in Tokyo"
        ),
        pytest.param(
            "@tz(Asia/Kathmandu) @only(between=17:45-17:45)",
            "2026-03-02T12:00:00Z",
            True,
            id="three quarters of an hour",
        ),
        pytest.param(
            "@tz(Pacific/Apia) @only(date=2026-03-03)", "2026-03-02T12:00:00Z", True, id="Apia"
        ),
        pytest.param(
            "@tz(Europe/Paris) @only(hours=1)", "2026-03-29T00:59:00Z", True, id="before the gap"
        ),
        pytest.param(
            "@tz(Europe/Paris) @only(hours=3)", "2026-03-29T01:00:00Z", True, id="after the gap"
        ),
        pytest.param(
            "@tz(Europe/Paris) @only(hours=2)", "2026-10-25T00:30:00Z", True, id="fold, first time"
        ),
        pytest.param(
            "@tz(Europe/Paris) @only(hours=2)", "2026-10-25T01:30:00Z", True, id="fold, second time"
        ),
        pytest.param(
            "@tz(Europe/Paris) @only(hours=2)", "2026-10-25T02:00:00Z", False, id="after the fold"
        ),
        pytest.param(
            "@tz(Australia/Lord_Howe) @only(between=01:30-01:59)",
            "2026-04-04T14:45:00Z",
            True,
            id="Lord Howe, first time",
        ),
        pytest.param(
            "@tz(Australia/Lord_Howe) @only(between=01:30-01:59)",
            "2026-04-04T15:15:00Z",
            True,
            id="Lord Howe, second time",
        ),
    ],
)
def test_constraints_leave_what_they_say(modifiers: str, moment: str, accepted: bool) -> None:
    schedule = kron.parse_schedule(f"* * * * * {modifiers}")
    decision = kron.decide(schedule, identity="a", nominal=instant(moment))
    assert decision.chosen_time == (instant(moment) if accepted else None)
    assert decision.unschedulable is not accepted
    last_second = instant(moment) + timedelta(seconds=59)
    late = kron.decide(schedule, identity="a", nominal=last_second)
    assert late.unschedulable is not accepted


def splitmix64(seed_hash: str) -> Iterator[float]:
    """The contract's generator, written a second time and differently."""
    state = int(seed_hash[:16], 16)
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        yield ((mixed ^ (mixed >> 31)) >> 11) / 2**53


nominals = st.integers(0, 20_000).map(
    lambda days: datetime(1985, 1, 1, 0, 30, tzinfo=UTC) + timedelta(days=days, hours=days % 24)
)


@examples(200)
@given(text=schedule_texts(), nominal=nominals, number=st.integers(0, 10**6))
def test_a_trace_shows_every_draw_of_the_same_decision(
    text: str, nominal: datetime, number: int
) -> None:
    schedule = kron.parse_schedule(text)
    trace = kron.trace(schedule, identity=f"job/{number}", nominal=nominal)
    decision = trace.decision
    assert decision == kron.decide(schedule, identity=f"job/{number}", nominal=nominal)
    assert len(trace.draws) == decision.attempts
    width = int((decision.window_end - decision.window_start).total_seconds())
    if width == 0:
        assert trace.draws == ()
        assert (trace.rejection is None) is not decision.unschedulable
        return
    assert trace.rejection is None
    units = list(islice(splitmix64(decision.seed_hash), len(trace.draws)))
    assert [draw.u for draw in trace.draws] == units
    start = int(decision.window_start.timestamp())
    for draw in trace.draws:
        assert 0.0 <= draw.u < 1.0
        assert -1e-9 <= draw.x <= 1.0 + 1e-9
        assert draw.offset_s == max(0, min(width, int(draw.x * (width + 1) // 1)))
        assert draw.candidate_s == start + draw.offset_s
    assert all(draw.rejection for draw in trace.draws[:-1])
    last = trace.draws[-1]
    if decision.chosen_time is None:
        assert last.rejection
        assert len(trace.draws) == 64
    else:
        assert last.rejection is None
        assert last.candidate_s == decision.chosen_time.timestamp()


@pytest.mark.parametrize(
    ("modifiers", "rejection"),
    [
        pytest.param("@only(hours=11)", "outside only(hours=11)", id="only"),
        pytest.param(
            "@only(hours=11;hours=13)", "outside only(hours=11;hours=13)", id="any of two"
        ),
        pytest.param("@only(hours=12;dow=SUN)", "outside only(dow=SUN)", id="the kind that fails"),
        pytest.param("@avoid(dom=1;dow=MON)", "inside avoid(dow=MON)", id="avoid"),
        pytest.param("@only(hours=12)", None, id="accepted"),
        pytest.param("", None, id="nothing to refuse it"),
    ],
)
def test_a_window_without_width_has_no_draw_and_says_why(
    modifiers: str, rejection: str | None
) -> None:
    schedule = kron.parse_schedule(f"* * * * * {modifiers}")
    trace = kron.trace(schedule, identity="a", nominal=NOMINAL)
    assert (trace.draws, trace.rejection) == ((), rejection)
    assert trace.decision.attempts == 0


@examples(200)
@given(text=schedule_texts(), nominal=nominals)
def test_what_is_chosen_is_in_the_window_and_accepted(text: str, nominal: datetime) -> None:
    schedule = kron.parse_schedule(text)
    decision = kron.decide(schedule, identity="a", nominal=nominal)
    assume(decision.chosen_time is not None)
    assert decision.chosen_time is not None
    assert decision.window_start <= decision.chosen_time <= decision.window_end
    local = decision.chosen_time.astimezone(ZoneInfo(schedule.zone.key))
    assert accepts(schedule, local)


def accepts(schedule: kron.Schedule, local: datetime) -> bool:
    """Whether the constraints hold for a local time, by their text alone."""

    def holds(clause: str) -> bool:
        key, _, value = clause.partition("=")
        if key == "between":
            first, last = value.split("-")
            now = f"{local:%H:%M}"
            return first <= now <= last if first <= last else now >= first or now <= last
        if key == "date":
            return local.date().isoformat() == value
        if key == "dates":
            first, last = value.split("..")
            return first <= local.date().isoformat() <= last
        named = {"dow": f"{local:%a}".upper(), "months": f"{local:%b}".upper()}
        names = {"dow": "SUN MON TUE WED THU FRI SAT", "months": MONTH_NAMES}
        numbers = {"hours": local.hour, "dom": local.day}
        for item in value.split(","):
            low, _, high = item.partition("-")
            if key in named:
                order = names[key].split()
                if order.index(low) <= order.index(named[key]) <= order.index(high or low):
                    return True
            elif int(low) <= numbers[key] <= int(high or low):
                return True
        return False

    only: dict[str, bool] = {}
    for clause in map(str, schedule.constraints.only):
        kind = clause.partition("=")[0].replace("dates", "date")
        only[kind] = only.get(kind, False) or holds(clause)
    return all(only.values()) and not any(map(holds, map(str, schedule.constraints.avoid)))


MONTH_NAMES = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param("", id="empty"),
        pytest.param("a\nb", id="line break"),
        pytest.param("\n", id="only a line break"),
        pytest.param("a\ud800", id="lone surrogate"),
    ],
)
def test_an_identity_that_could_share_a_seed_is_refused(identity: str) -> None:
    schedule = kron.parse_schedule("* * * * * @win(after,1h)")
    for call in (kron.decide, kron.trace):
        with pytest.raises(kron.KronError) as caught:
            call(schedule, identity=identity, nominal=NOMINAL)
        assert caught.value.code is kron.Code.IDENTITY
        assert str(caught.value).isprintable()
    with pytest.raises(kron.KronError):
        next(kron.upcoming(schedule, identity=identity, after=NOMINAL))


def test_an_identity_may_hold_anything_else() -> None:
    schedule = kron.parse_schedule("* * * * * @win(after,1h)")
    identities = ["a", "é漢", " ", "/etc/krond.d/a b.kron:job", "\x00", "a\r", "x" * 10_000]
    hashes = {kron.decide(schedule, identity=i, nominal=NOMINAL).seed_hash for i in identities}
    assert len(hashes) == len(identities)


@pytest.mark.parametrize(
    "nominal",
    [
        pytest.param(NOMINAL.replace(microsecond=1), id="a microsecond"),
        pytest.param(NOMINAL.replace(microsecond=999_999), id="nearly a second"),
        pytest.param(NOMINAL.replace(tzinfo=None), id="naive"),
        pytest.param(NOMINAL.replace(year=1899), id="too early"),
        pytest.param(NOMINAL.replace(year=3000), id="too late"),
        pytest.param(
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), id="before all years"
        ),
        pytest.param(
            datetime.max.replace(microsecond=0, tzinfo=timezone(timedelta(hours=-14))),
            id="after all years",
        ),
    ],
)
def test_a_nominal_that_is_no_whole_second_of_our_years_is_refused(nominal: datetime) -> None:
    schedule = kron.parse_schedule("* * * * * @win(after,1h)")
    for call in (kron.decide, kron.trace):
        with pytest.raises(kron.KronError) as caught:
            call(schedule, identity="a", nominal=nominal)
        assert caught.value.code is kron.Code.INSTANT


@pytest.mark.parametrize("nominal", ["1900-01-01T00:00:00Z", "2999-12-31T23:59:59Z"])
@pytest.mark.parametrize("mode", ["after", "around", "before"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia"])
def test_the_first_and_the_last_instant_can_be_decided(nominal: str, mode: str, zone: str) -> None:
    text = f"* * * * * @tz({zone}) @win({mode},8784h) @seed(weekly) @avoid(hours=3)"
    decision = kron.decide(kron.parse_schedule(text), identity="a", nominal=instant(nominal))
    assert decision.chosen_time is not None
    assert decision.window_start <= decision.chosen_time <= decision.window_end


@pytest.mark.parametrize("zone", ["Europe/Paris", "Asia/Kathmandu", "America/Los_Angeles"])
def test_the_same_instant_in_any_zone_is_the_same_period(zone: str) -> None:
    schedule = kron.parse_schedule("* * * * * @win(after,1h) @seed(daily)")
    elsewhere = NOMINAL.astimezone(ZoneInfo(zone))
    there = kron.decide(schedule, identity="a", nominal=elsewhere)
    assert there == kron.decide(schedule, identity="a", nominal=NOMINAL)
    assert there.nominal_time.utcoffset() == timedelta(0)
    assert there.period_id == "2026-03-02T12:00:00Z"


def test_everything_in_the_seed_changes_the_hash_and_nothing_else_does() -> None:
    def seed_hash(text: str, identity: str = "a", nominal: datetime = NOMINAL) -> str:
        schedule = kron.parse_schedule(text)
        return kron.decide(schedule, identity=identity, nominal=nominal).seed_hash

    plain = seed_hash("* * * * *")
    assert plain == seed_hash("0 12 * * * @tz(Asia/Tokyo) @win(around,1h) @dist(skewLate)")
    assert plain == seed_hash("* * * * * @policy(suspend=true) @only(hours=1)")
    different = {
        plain,
        seed_hash("* * * * *", identity="b"),
        seed_hash("* * * * *", nominal=NOMINAL + timedelta(minutes=1)),
        seed_hash("* * * * * @seed(stable,salt=a)"),
        seed_hash("* * * * * @seed(daily)"),
        seed_hash("* * * * * @seed(weekly)"),
    }
    assert len(different) == 6


def test_upcoming_decides_every_period_after_an_instant_in_order() -> None:
    schedule = kron.parse_schedule("*/15 * * * * @tz(Europe/Paris) @win(around,10m) @seed(daily)")
    after = datetime(2026, 3, 28, 23, 50, 0, 1, tzinfo=UTC)
    decisions = list(kron.upcoming(schedule, identity="a", after=after, count=30))
    expected = list(islice(schedule.nominals_after(after), 30))
    assert [decision.nominal_time for decision in decisions] == expected
    assert decisions == [
        kron.decide(schedule, identity="a", nominal=nominal) for nominal in expected
    ]


def test_upcoming_is_lazy_and_endless_without_a_count() -> None:
    schedule = kron.parse_schedule("* * * * *")
    decisions = kron.upcoming(schedule, identity="a", after=NOMINAL)
    assert next(decisions).nominal_time == NOMINAL + timedelta(minutes=1)
    assert next(decisions).nominal_time == NOMINAL + timedelta(minutes=2)
    assert list(kron.upcoming(schedule, identity="a", after=NOMINAL, count=0)) == []


def test_upcoming_ends_with_an_error_where_the_years_end() -> None:
    schedule = kron.parse_schedule("0 0 1 1 *")
    after = datetime(2998, 6, 1, tzinfo=UTC)
    decisions = kron.upcoming(schedule, identity="a", after=after)
    assert next(decisions).period_id == "2999-01-01T00:00:00Z"
    with pytest.raises(kron.KronError) as caught:
        next(decisions)
    assert caught.value.code is kron.Code.INSTANT


def test_upcoming_refuses_a_naive_instant_at_once() -> None:
    with pytest.raises(kron.KronError):
        kron.upcoming(kron.parse_schedule("* * * * *"), identity="a", after=datetime(2026, 1, 1))
