"""Kubernetes' dialect of cron: what it means there, it means in Kron's spelling."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import KronError
from kron.core.instant import from_text, to_text
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.zone import load_zone
from kron.kube.kronctl.migrate.clock_changes import daylight_difference
from kron.kube.kronctl.migrate.dialect import translate
from tests.soak import examples

YEAR = Path(__file__).parent / "kubernetes_times.jsonl"
"""What Kubernetes' own library says (robfig/main.go made it)."""
ROWS: list[dict[str, Any]] = [json.loads(line) for line in YEAR.read_text().splitlines()]
READ = [row for row in ROWS if "error" not in row]
REFUSED = [row for row in ROWS if "error" in row]
FIRST_S, END_S = from_text("2026-01-01T00:00:00Z"), from_text("2027-01-01T00:00:00Z")


def schedule_of(text: str, zone: str = "UTC") -> Schedule:
    return parse_schedule(translate(text).cron).replace(zone=load_zone(zone))


def nominals_of_the_year(schedule: Schedule) -> set[int]:
    found = set()
    nominal_s = schedule.nominals.after(FIRST_S - 1)
    while nominal_s < END_S:
        found.add(nominal_s)
        nominal_s = schedule.nominals.after(nominal_s)
    return found


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        pytest.param("0 3 * * *", "0 3 * * *", id="as-it-is"),
        pytest.param("00 03 * * *", "00 03 * * *", id="zeros-in-front-stay"),
        pytest.param("0 3 * * mon-fri", "0 3 * * mon-fri", id="names-stay"),
        pytest.param("5/20 * * * *", "5-45/20 * * * *", id="a-step-from-a-number"),
        pytest.param("0/15 2 * * *", "*/15 2 * * *", id="a-step-from-the-first"),
        pytest.param("0 0 ? * *", "0 0 * * *", id="question-mark"),
        pytest.param("0 0 1,* * 1", "0 0 * * 1", id="a-star-within-a-list"),
        pytest.param("0 0 */2 * 1", "0 0 1-31/2 * 1", id="every-other-day-or-monday"),
        pytest.param("0 0 */2 * *", "0 0 */2 * *", id="every-other-day-alone-stays"),
        pytest.param("0 0 */1 * 1", "0 0 */1 * 1", id="every-day-is-no-restriction"),
        pytest.param("1,,2 * * * *", "1,2 * * * *", id="nothing-between-commas"),
        pytest.param("+5 * * * *", "5 * * * *", id="a-plus"),
        pytest.param("@hourly", "0 * * * *", id="hourly"),
        pytest.param("@midnight", "0 0 * * *", id="midnight"),
        pytest.param("@every 1m", "* * * * *", id="every-minute"),
        pytest.param("@every 30m", "*/30 * * * *", id="every-half-hour"),
        pytest.param("@every 1h", "0 * * * *", id="every-hour"),
        pytest.param("@every 6h", "0 */6 * * *", id="every-six-hours"),
        pytest.param("@every 24h", "0 0 * * *", id="every-day"),
    ],
)
def test_what_kron_spells_otherwise_is_rewritten_and_said(text: str, cron: str) -> None:
    translated = translate(text)
    assert translated.cron == cron
    assert bool(translated.notes) == (text != cron)
    for note in translated.notes:
        assert "is spelled" in note


@pytest.mark.parametrize("prefix", ["TZ=", "CRON_TZ="])
def test_a_zone_in_the_text_is_taken_out_of_it(prefix: str) -> None:
    translated = translate(f"{prefix}Europe/Paris 0 3 * * *")
    assert (translated.zone, translated.cron) == ("Europe/Paris", "0 3 * * *")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("0 0 * * 7", "day of week", id="sunday-is-no-seven-there"),
        pytest.param("0 24 * * *", "hour", id="hour"),
        pytest.param("0 0 * *", "has 4 fields", id="four-fields"),
        pytest.param("0 0 0 * * *", "has 6 fields", id="six-fields"),
        pytest.param("*/0 * * * *", "minute", id="step-of-none"),
        pytest.param(", * * * *", "has no value", id="an-empty-list"),
        pytest.param("@reboot", "@daily", id="reboot"),
        pytest.param("@every 90m", "divides neither an hour nor a day", id="every-90-minutes"),
        pytest.param("@every 30s", "cron has whole minutes", id="every-30-seconds"),
        pytest.param("@every 1m30s", "cron has whole minutes", id="every-90-seconds"),
        pytest.param("@every 0s", "cron has whole minutes", id="every-moment"),
        pytest.param("@every soon", "duration", id="every-soon"),
        pytest.param("TZ=Europe/Paris", "nothing else", id="a-zone-alone"),
        pytest.param("9" * 5000, "longer than", id="long"),
        pytest.param("1" * 4000 + " * * * *", "not a number", id="a-long-number"),
    ],
)
def test_what_has_no_spelling_is_refused_with_the_reason(text: str, told: str) -> None:
    with pytest.raises(KronError) as caught:
        translate(text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["schedule"])
def test_what_kubernetes_refuses_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(KronError):
        translate(row["schedule"])


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['schedule']} {row['zone']}") for row in READ]
)
def test_both_have_the_same_nominal_times_for_a_year_but_for_what_is_said(
    row: dict[str, Any],
) -> None:
    schedule = schedule_of(row["schedule"], row["zone"])
    said = daylight_difference(schedule, FIRST_S)
    assert len(said.notes) == bool(said.only_kubernetes) + bool(said.only_kron)
    kron = nominals_of_the_year(schedule)
    kubernetes = sorted(kron.difference(said.only_kron).union(said.only_kubernetes))
    lines = "".join(f"{to_text(instant_s)}\n" for instant_s in kubernetes if instant_s < END_S)
    assert hashlib.sha256(lines.encode()).hexdigest() == row["sha256"]


def test_what_daylight_saving_does_is_said_with_its_instants() -> None:
    said = daylight_difference(schedule_of("30 2 * * *", "Europe/Paris"), FIRST_S)
    assert list(map(to_text, said.only_kron)) == ["2026-03-29T01:00:00Z"]
    assert list(map(to_text, said.only_kubernetes)) == ["2026-10-25T01:30:00Z"]
    assert "2026-10-25T01:30:00Z" in said.notes[0]


def test_a_day_that_kubernetes_loses_or_gains_with_its_midnight_is_said() -> None:
    """Also if its own time of day is far from the change."""
    lost = daylight_difference(schedule_of("0 9 * * 5", "Africa/Cairo"), FIRST_S)
    assert list(map(to_text, lost.only_kron)) == ["2026-04-24T06:00:00Z"]
    assert lost.only_kubernetes == ()
    gained = daylight_difference(schedule_of("0 2,14 * * 6", "America/Santiago"), FIRST_S)
    assert list(map(to_text, gained.only_kubernetes)) == ["2026-09-06T05:00:00Z"]
    assert gained.only_kron == ()


def test_a_change_of_this_very_day_still_counts() -> None:
    schedule = schedule_of("0 9 * * 5", "Africa/Cairo")
    said = daylight_difference(schedule, from_text("2026-04-24T05:00:00Z"))
    assert list(map(to_text, said.only_kron)) == ["2026-04-24T06:00:00Z"]
    assert daylight_difference(schedule, from_text("2026-04-24T06:00:01Z")).only_kron == ()


@pytest.mark.parametrize("year", [1901, 2998])
def test_the_ends_of_the_years_that_kron_covers_are_no_obstacle(year: int) -> None:
    daylight_difference(
        schedule_of("0 3 29 2 *", "Europe/Paris"), from_text(f"{year}-06-01T00:00:00Z")
    )


NUMBERS = st.integers(0, 60).map(str)
WORDS = st.one_of(st.sampled_from(["*", "?", "mon", "SUN", "jan", "", "+1", "1e2"]), NUMBERS)
ITEMS = st.builds(
    lambda first, last, step: first + last + step,
    WORDS,
    st.one_of(st.just(""), WORDS.map("-{}".format)),
    st.one_of(st.just(""), NUMBERS.map("/{}".format)),
)
FIELDS = st.lists(ITEMS, min_size=1, max_size=3).map(",".join)


@given(st.lists(FIELDS, min_size=5, max_size=5).map(" ".join))
@examples(150)
def test_what_is_translated_is_a_schedule_that_translates_to_itself(text: str) -> None:
    try:
        cron = translate(text).cron
    except KronError:
        return
    try:
        parse_schedule(cron)
    except KronError as error:
        assert error.code == "cron-never"  # noqa: PT017
    assert translate(cron).cron == cron
