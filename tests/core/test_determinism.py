"""The same question gets the same answer: in every run, process, locale and time zone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import kron

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = (
    "uniform",
    "skewEarly,shape=3",
    "skewLate,shape=2.5",
    "exponential,lambda=1.2,dir=late",
    "normal,mu=start,sigma=20m",
    "normal",
)
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe")
SEEDS = ("stable", 'daily,salt="İı é漢"', "weekly,salt=prod")
START = datetime(2026, 3, 28, 22, 5, tzinfo=UTC)


def digest() -> str:
    """One number for several hundred decisions, traces, errors and feasibilities."""
    total = hashlib.sha256()
    for distribution in DISTRIBUTIONS:
        for zone in ZONES:
            for seed in SEEDS:
                schedule = kron.parse_schedule(
                    f"*/7 1-5 * * * @tz({zone}) @win(around,3h) @dist({distribution}) "
                    f"@seed({seed}) @only(between=00:30-06:00;dow=MON-FRI,7) @avoid(dom=13)"
                )
                total.update(str(schedule).encode())
                for decision in kron.upcoming(schedule, identity="a/b", after=START, count=5):
                    total.update(repr(decision).encode())
                    trace = kron.trace(schedule, identity="İ", nominal=decision.nominal_time)
                    total.update(repr(trace).encode())
                    total.update(repr(kron.feasibility(schedule, nominal=START)).encode())
    for text in (
        "0 0 * * * @dist(uniform,zeta=1,alpha=2,beta=3,mu=4,sigma=5,shape=6)",
        "0 0 * * * @tz(Europe/Pariss)",
        "0 0 * * * @tz(America/Sao_Paolo) @only(hour=1;dows=2;month=3)",
        "0 0 * * tİt @seed(DAILY)",
    ):
        with pytest.raises(kron.KronError) as caught:
            kron.parse_schedule(text)
        total.update(str(caught.value).encode())
    return total.hexdigest()


@pytest.mark.heavy
def test_a_thousand_runs_decide_the_same() -> None:
    text = (
        "0 2 * * * @tz(Europe/Paris) @win(around,3h) @dist({}) @seed(daily,salt=a) @avoid(hours=2)"
    )
    for distribution in DISTRIBUTIONS:
        first = kron.decide(
            kron.parse_schedule(text.format(distribution)), identity="prod/db", nominal=START
        )
        for _ in range(1_000):
            schedule = kron.parse_schedule(text.format(distribution))
            assert kron.decide(schedule, identity="prod/db", nominal=START) == first


def test_the_order_of_questions_changes_no_answer() -> None:
    schedule = kron.parse_schedule(
        "* * * * * @tz(America/St_Johns) @win(after,5h) @dist(normal) @seed(weekly) @avoid(hours=4)"
    )
    moments = [START + timedelta(days=37 * step) for step in range(200)]

    def answers(order: list[datetime]) -> dict[datetime, kron.Decision]:
        return {at: kron.decide(schedule, identity="a", nominal=at) for at in order}

    assert answers(moments) == answers(moments[::-1])
    assert answers(moments) == answers(sorted(moments, key=lambda at: (at.minute, at.day)))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        pytest.param({"PYTHONHASHSEED": "0"}, [], id="hash seed 0"),
        pytest.param({"PYTHONHASHSEED": "1"}, [], id="hash seed 1"),
        pytest.param({"PYTHONHASHSEED": "4294967295"}, [], id="the last hash seed"),
        pytest.param({"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}, [], id="locale C"),
        pytest.param({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, [], id="Turkish"),
        pytest.param({"LC_ALL": "de_DE.ISO-8859-1"}, [], id="German, Latin 1"),
        pytest.param({"TZ": "Asia/Tokyo"}, [], id="host in Tokyo"),
        pytest.param({"TZ": "America/St_Johns"}, [], id="host in St. John's"),
        pytest.param({}, ["-O"], id="-O"),
        pytest.param({}, ["-OO"], id="-OO"),
        pytest.param({}, ["-X", "dev"], id="development mode"),
    ],
)
def test_every_process_decides_the_same(settings: dict[str, str], flags: list[str]) -> None:
    program = "from tests.core.test_determinism import digest; print(digest())"
    ran = subprocess.run(
        [sys.executable, *flags, "-c", program],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout.strip() == digest(), ran.stderr


def test_the_digest_is_not_empty() -> None:
    decisions = list(
        kron.upcoming(
            kron.parse_schedule("* * * * * @win(after,1h)"), identity="a", after=START, count=50
        )
    )
    assert len({decision.chosen_s for decision in decisions}) > 40
    assert json.dumps(digest())
