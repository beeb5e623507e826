"""`next_nominal` and `prev_nominal` beside cronsim, croniter and APScheduler.

Each peer is used in its quickest form: cronsim and croniter as iterators that have been made
already, APScheduler as a trigger that gets its last fire time (it cannot walk backwards).
Ours is the public method, asked with datetimes; our own iterator is shown and does not count.
Before anything is timed, all must agree. A walk is what the peers are made for; how much a single
question out of the blue costs is shown as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

from bench.measure import Prepare, Result, Run, least_seconds, progress
from kron import parse_schedule

TIMES_AS_FAST = 10
FLAT = 3.0
ROUNDS = 10
START = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ZONES = ("UTC", "Europe/Paris", "Australia/Lord_Howe")


class Expression(NamedTuple):
    """A cron expression, how far a run walks, and its days as APScheduler understands them."""

    text: str
    steps: int
    days: tuple[dict[str, str], ...]


EXPRESSIONS = (
    Expression("*/5 * * * *", 200, ({},)),
    Expression("15 9 * * MON-FRI", 200, ({"day_of_week": "mon-fri"},)),
    Expression("0 3 1 * *", 200, ({"day": "1"},)),
    Expression("0 0 29 2 *", 25, ({"day": "29", "month": "2"},)),  # 25: a century of them
    Expression("7 3 * * 0", 200, ({"day_of_week": "sun"},)),
    Expression("0 0 1,15 * FRI", 200, ({"day": "1,15"}, {"day_of_week": "fri"})),
)


def measure() -> Iterator[Result]:
    """Each expression in each zone in each direction, then how far apart our own times are."""
    ours: dict[str, float] = {}
    for direction, contenders_for in (("next", _forwards), ("prev", _backwards)):
        for expression in EXPRESSIONS:
            for zone in ZONES:
                case = f"{direction}  {expression.text}  {zone}"
                progress(f"{case} ...")
                contenders = contenders_for(expression, zone)
                _check_agreement(case, contenders)
                runs = {name: _timed(begin, expression.steps) for name, begin in contenders.items()}
                least = least_seconds(runs, rounds=ROUNDS)
                each_us = {name: s / expression.steps * 1e6 for name, s in least.items()}
                ours[case] = each_us["kron"]
                peers = [us for name, us in each_us.items() if not name.startswith("kron")]
                ratio = min(peers) / ours[case]
                yield Result(
                    case,
                    ratio,
                    "times as fast",
                    f">= {TIMES_AS_FAST}",
                    ratio >= TIMES_AS_FAST,
                    {f"{name} us": us for name, us in each_us.items()},
                )
    yield from _out_of_the_blue()
    slowest, quickest = max(ours, key=ours.__getitem__), min(ours, key=ours.__getitem__)
    spread = ours[slowest] / ours[quickest]
    yield Result(
        "slowest / quickest of ours",
        spread,
        "",
        f"<= {FLAT:g}",
        spread <= FLAT,
        {f"{slowest} us": ours[slowest], f"{quickest} us": ours[quickest]},
    )


def _out_of_the_blue() -> Iterator[Result]:
    """Moments in no order: every answer is worked out again, and cronsim has to be made again."""
    zone = "Europe/Paris"
    moments = [START + timedelta(seconds=n * 7_919_317 % 1_000_000_007) for n in range(100)]
    local = [moment.astimezone(_tzinfo(zone)) for moment in moments]
    for text, _, _ in EXPRESSIONS:
        progress(f"out of the blue  {text} ...")
        next_nominal = parse_schedule(f"{text} @tz({zone})").next_nominal
        runs: dict[str, Prepare] = {
            "kron": partial(partial, _each, next_nominal, moments),
            "cronsim": partial(partial, _each, partial(_first_of_cronsim, text), local),
        }
        least = least_seconds(runs, rounds=ROUNDS)
        each_us = {f"{name} us": s / len(moments) * 1e6 for name, s in least.items()}
        ratio = least["cronsim"] / least["kron"]
        yield Result(f"out of the blue  {text}  {zone}", ratio, "times as fast", details=each_us)


def _each(ask: Callable[[datetime], datetime], moments: list[datetime]) -> None:
    for moment in moments:
        ask(moment)


def _first_of_cronsim(text: str, moment: datetime) -> datetime:
    return next(CronSim(text, moment))


Walk = Callable[[int], datetime]
"""Walks that many steps from START and gives the last answer."""


def _timed(begin: Callable[[], Walk], steps: int) -> Prepare:
    def prepare() -> Run:
        return partial(begin(), steps)

    return prepare


def _check_agreement(case: str, contenders: dict[str, Callable[[], Walk]]) -> None:
    """All contenders must do the same work, or comparing their times means nothing."""
    for steps in range(1, 16):
        answers = {name: begin()(steps) for name, begin in contenders.items()}
        if len(set(answers.values())) > 1:
            raise SystemExit(f"{case}: the contenders differ at step {steps}: {answers}")


def _iterating(begin: Callable[[], Iterator[datetime]]) -> Callable[[], Walk]:
    def begin_walk() -> Walk:
        iterator = begin()

        def walk(steps: int) -> datetime:
            for _ in range(steps - 1):
                next(iterator)
            return next(iterator)

        return walk

    return begin_walk


def _forwards(expression: Expression, zone: str) -> dict[str, Callable[[], Walk]]:
    start = START.astimezone(_tzinfo(zone))
    schedule = parse_schedule(f"{expression.text} @tz({zone})")
    next_nominal = schedule.next_nominal
    next_fire_time = _trigger(expression, zone).get_next_fire_time

    def kron(steps: int) -> datetime:
        last = START
        for _ in range(steps):
            last = next_nominal(last)
        return last

    def apscheduler(steps: int) -> datetime:
        last = start
        for _ in range(steps):
            last = next_fire_time(last, last)
        return last

    return {
        "kron": lambda: kron,
        "kron iterator": _iterating(lambda: schedule.nominals_after(START)),
        "cronsim": _iterating(lambda: CronSim(expression.text, start)),
        "croniter": _iterating(lambda: croniter(expression.text, start).all_next(datetime)),
        "apscheduler": lambda: apscheduler,
    }


def _backwards(expression: Expression, zone: str) -> dict[str, Callable[[], Walk]]:
    start = START.astimezone(_tzinfo(zone))
    schedule = parse_schedule(f"{expression.text} @tz({zone})")
    prev_nominal = schedule.prev_nominal

    def kron(steps: int) -> datetime:
        last = START
        for _ in range(steps):
            last = prev_nominal(last - SECOND)
        return last

    return {
        "kron": lambda: kron,
        "kron iterator": _iterating(lambda: schedule.nominals_before(START)),
        "cronsim": _iterating(lambda: CronSim(expression.text, start, reverse=True)),
        "croniter": _iterating(lambda: croniter(expression.text, start).all_prev(datetime)),
    }


def _trigger(expression: Expression, zone: str) -> CronTrigger | OrTrigger:
    minute, hour, *_ = expression.text.split()
    triggers = [
        CronTrigger(minute=minute, hour=hour, timezone=_tzinfo(zone), **days)
        for days in expression.days
    ]
    return triggers[0] if len(triggers) == 1 else OrTrigger(triggers)


def _tzinfo(zone: str) -> tzinfo:
    # Peers have a shorter way through for the UTC of the standard library.
    return UTC if zone == "UTC" else ZoneInfo(zone)
