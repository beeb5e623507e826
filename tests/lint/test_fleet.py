"""Fleets: jobs that start together are reported once, and a spread fleet is not reported."""

from __future__ import annotations

import random

import pytest

from kron.jobs.finding import Finding
from kron.lint import Advice, advise
from kron.lint.fleet import busiest_share
from tests.lint.linted import NOW, document, marked, schedule_of, warnings

FLEET = (Advice.FLEET_SAME_SECOND, Advice.FLEET_CROWDED)


def crowds(*lines: str) -> list[Finding]:
    return [finding for finding in warnings(*lines) if finding.code in FLEET]


@pytest.mark.parametrize(
    ("lines", "count", "when"),
    [
        pytest.param(["0 0 * * *"] * 5, 5, "at 00:00 (UTC) every day", id="midnight"),
        pytest.param(
            ["*/5 * * * *"] * 3 + ["*/10 * * * *"] * 3,
            6,
            "at 00:00, 00:10, 00:20 and 141 more (UTC) every day",
            id="steps that meet",
        ),
        pytest.param(
            ["0 3 * * *"] * 3 + ["0 3 * * MON"] * 2,
            5,
            "at 03:00 (UTC) on 53 days from 2026-03-02",
            id="only on Mondays",
        ),
        pytest.param(
            ["0 3 1 * * @policy(deadline=1h)"] * 3 + ["0 3 * * MON"] * 3,
            6,
            "at 03:00 (UTC) on 3 days from 2026-06-01",
            id="when the first is a Monday",
        ),
        pytest.param(
            ["30 6 * * * @tz(Asia/Tokyo)"] * 6, 6, "at 06:30 (Asia/Tokyo) every day", id="a zone"
        ),
        pytest.param(
            ["0 0 * * * @avoid(date=2026-12-25)"] * 5,
            5,
            "at 00:00 (UTC) on 365 days from 2026-03-01",
            id="with constraints",
        ),
    ],
)
def test_a_crowd_is_told_of_once_with_its_time(lines: list[str], count: int, when: str) -> None:
    (finding,) = crowds(*lines)
    assert finding.code == Advice.FLEET_SAME_SECOND
    assert finding.message.startswith(
        f"{count} jobs without a window start in the same second, {when}: job-1, job-2, job-3 and "
    )
    assert finding.line == 1
    assert marked(finding) == " ".join(lines[0].split()[:5])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["0 0 * * *"] * 4, id="four"),
        pytest.param(["0 0 * * * @win(after,15m)"] * 50, id="with windows"),
        pytest.param(["0 0 * * * @policy(suspend=true)"] * 50, id="suspended"),
        pytest.param([f"{minute} 0 * * *" for minute in range(20)], id="minutes apart"),
        pytest.param([f"0 3 * * {day}" for day in range(7)], id="on different days"),
        pytest.param(
            ["0 3 * * * @tz(Europe/Paris)"] * 4 + ["0 3 * * * @tz(Asia/Tokyo)"] * 4,
            id="in different zones",
        ),
        pytest.param(["0 3 * * * @only(hours=5)"] * 9, id="jobs that never run"),
    ],
)
def test_no_crowd_is_seen_where_there_is_none(lines: list[str]) -> None:
    assert crowds(*lines) == []


def test_a_job_is_named_in_one_crowd_only_and_the_largest_comes_first() -> None:
    lines = ["0 0 * * *"] * 6 + ["*/30 * * * *"] * 2 + ["30 6 * * *"] * 7
    first, second = crowds(*lines)
    assert first.message.startswith("9 jobs without a window start in the same second, at 06:30")
    assert second.message.startswith("6 jobs without a window start in the same second, at 00:00")
    assert (first.line, second.line) == (7, 1)


@pytest.mark.heavy
def test_a_large_fleet_at_random_minutes_is_no_crowd_but_a_storm_in_it_is() -> None:
    chance = random.Random(4)
    lines = [f"{chance.randrange(60)} {chance.randrange(24)} * * *" for _ in range(4_000)]
    assert crowds(*lines) == []
    storm = crowds(*lines, *["0 0 * * *"] * 60)
    assert len(storm) == 1
    assert "at 00:00 (UTC) every day" in storm[0].message


def test_jobs_of_several_files_are_counted_together() -> None:
    documents = [document(*["0 0 * * *"] * 3, path=f"/etc/krond.d/{name}.kron") for name in "ab"]
    (finding,) = advise(documents, now=NOW, host=None)
    assert finding.message.startswith("6 jobs without a window start in the same second")
    assert (finding.path, finding.line) == ("/etc/krond.d/a.kron", 1)


def test_the_proposed_window_has_room_and_does_not_overlap() -> None:
    assert crowds(*["0 0 * * *"] * 20)[0].fix == "spread them, for example with @win(after,5m)"
    assert crowds(*["* * * * *"] * 20)[0].fix == "spread them, for example with @win(after,1m)"
    for line in ("0 0 * * * @win(after,5m)", "* * * * * @win(after,1m)"):
        assert warnings(*[line] * 20) == []


def test_too_many_jobs_for_a_window_are_told_with_the_load_of_its_busiest_second() -> None:
    (finding,) = crowds(*["0 0 * * * @win(after,2m)"] * 500)
    assert finding.code == Advice.FLEET_CROWDED
    assert finding.message == (
        "500 jobs share @win(after,2m) at 00:00 (UTC) every day: in its busiest second 4.1 of them "
        "start on average: job-1, job-2, job-3 and 497 more"
    )
    assert finding.fix == "use a wider window, or a flatter distribution"
    assert marked(finding) == "@win(after,2m)"
    assert crowds(*["0 0 * * * @win(after,16m)"] * 500) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("0 0 * * * @win(after,99s)", 0.01, id="uniform"),
        pytest.param("0 0 * * * @win(after,99s) @dist(skewEarly)", 0.1, id="early"),
        pytest.param("0 0 * * * @win(after,99s) @dist(skewLate)", 0.1, id="late"),
        pytest.param("0 0 * * * @win(after,9999s) @dist(normal,sigma=100s)", 0.00399, id="normal"),
        pytest.param(
            "0 0 * * * @win(after,9999s) @dist(normal,mu=start,sigma=100s)", 0.00798, id="half"
        ),
    ],
)
def test_the_busiest_second_is_where_the_distribution_is_densest(
    line: str, expected: float
) -> None:
    assert busiest_share(schedule_of(line)) == pytest.approx(expected, rel=0.01)
