"""krontab explain: which period a moment means, and everything that is said about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.krontab.command import Krontab

DAILY = "0 12 * * * @win(after,3h)"
OVERLAPPING = "0 * * * * @win(after,150m)"
NEVER = "0 12 * * * @win(after,1h) @avoid(hours=0-23)"


def explained(krontab: Krontab, schedule: str, at: str, *more: str) -> Any:
    words = ("--schedule", schedule, "--identity", "i", "--at", at, *more)
    return krontab("explain", *words, "--format", "json").fine().json


def shown(krontab: Krontab, schedule: str, at: str, *more: str) -> str:
    words = ("--schedule", schedule, "--identity", "i", "--at", at, *more)
    return krontab("explain", *words).fine().out


def rows(text: str) -> dict[str, str]:
    """What stands behind each label."""
    labelled = [line for line in text.splitlines()[1:] if line[2:14].strip() and line[13:14] == " "]
    return {line[2:14].strip(): line[14:] for line in labelled}


@pytest.mark.parametrize(
    ("schedule", "at", "match", "period"),
    [
        pytest.param(DAILY, "2026-03-01T12:00:00Z", "nominal", "2026-03-01", id="nominal"),
        pytest.param(DAILY, "2026-03-01T12:00:01Z", "open", "2026-03-01", id="just-opened"),
        pytest.param(DAILY, "2026-03-01T15:00:00Z", "open", "2026-03-01", id="last-second"),
        pytest.param(DAILY, "2026-03-01T15:00:01Z", "next", "2026-03-02", id="just-closed"),
        pytest.param(DAILY, "2026-03-01T11:59:59Z", "next", "2026-03-01", id="about-to-open"),
        pytest.param("0 12 * * *", "2026-03-01T12:00:00Z", "nominal", "2026-03-01", id="no-window"),
        pytest.param("0 12 * * *", "2026-03-01T12:00:01Z", "next", "2026-03-02", id="none-open"),
        pytest.param(
            "0 12 * * * @win(before,3h)", "2026-03-01T09:00:00Z", "open", "2026-03-01", id="before"
        ),
        pytest.param(
            "0 12 * * * @win(before,3h)",
            "2026-03-01T12:00:01Z",
            "next",
            "2026-03-02",
            id="before-is-over-at-the-nominal",
        ),
        pytest.param(
            "0 12 * * * @win(around,3h)", "2026-03-01T13:30:00Z", "open", "2026-03-01", id="around"
        ),
        pytest.param(
            "0 12 * * * @win(around,3h)",
            "2026-03-01T10:29:59Z",
            "next",
            "2026-03-01",
            id="around-not-yet",
        ),
        pytest.param(
            "0 12 1 * * @win(after,72h)", "2026-03-04T12:00:00Z", "open", "2026-03-01", id="days"
        ),
        pytest.param(NEVER, "2026-03-01T12:30:00Z", "open", "2026-03-01", id="unschedulable"),
    ],
)
def test_a_moment_means_a_period(
    krontab: Krontab, schedule: str, at: str, match: str, period: str
) -> None:
    document = explained(krontab, schedule, at)
    assert (document["match"], document["period"]) == (match, f"{period}T12:00:00Z")
    assert document["at"] == at


def test_the_second_of_a_run_means_that_run_though_later_periods_are_open(krontab: Krontab) -> None:
    whole_day = [f"2026-03-01T{hour:02d}:00:00Z" for hour in range(24)]
    by_nominal = [explained(krontab, OVERLAPPING, at) for at in whole_day]
    assert [document["period"] for document in by_nominal] == whole_day
    found = 0
    for document in by_nominal:
        again = explained(krontab, OVERLAPPING, document["chosen"])
        assert again["match"] in ("chosen", "nominal")
        if again["match"] == "chosen":
            found += again["period"] == document["period"]
    assert found == len(whole_day)


def test_of_several_open_periods_the_latest_is_meant_and_the_others_are_named(
    krontab: Krontab,
) -> None:
    at = "2026-03-01T12:10:07Z"
    document = explained(krontab, OVERLAPPING, at)
    assert (document["match"], document["period"]) == ("open", "2026-03-01T12:00:00Z")
    assert document["also_open"] == ["2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"]
    text = shown(krontab, OVERLAPPING, at)
    assert "also open then: 2026-03-01T10:00:00Z, 2026-03-01T11:00:00Z\n" in text
    many = shown(krontab, "*/10 * * * * @win(after,2h)", at)
    assert " and 7 more\n" in many


def test_a_run_with_fractions_of_a_second_and_another_offset_is_the_same_moment(
    krontab: Krontab,
) -> None:
    plain = explained(krontab, DAILY, "2026-03-01T12:00:00Z")
    for at in ("2026-03-01T13:00:00+01:00", "2026-03-01T12:00:00.999Z", "20260301T120000Z"):
        assert explained(krontab, DAILY, at) == plain
    midnight = explained(krontab, DAILY, "2026-03-01T00:00:00Z")
    assert explained(krontab, DAILY, "2026-03-01") == midnight


@pytest.mark.parametrize(
    "at",
    [
        "noon",
        "",
        "2026-03-01T12:00:00",
        "2026-03-01 12:00",
        "12:00",
        "2026-02-30",
        "2026-03-01T25:00:00Z",
        *(
            pytest.param(
                at,
            )
            for at in ("2026-03-01 12", "20260301 120000", "1" * 5000)
        ),
    ],
)
def test_a_moment_that_names_no_instant_is_refused(krontab: Krontab, at: str) -> None:
    ran = krontab("explain", "--schedule", DAILY, "--identity", "i", "--at", at)
    assert (ran.code, ran.out) == (2, "")
    assert "krontab explain --help" in ran.err


def test_without_a_moment_it_is_now(krontab: Krontab) -> None:
    document = krontab(
        "explain", "--schedule", "* * * * *", "--identity", "i", "--format", "json"
    ).json
    assert document["match"] in ("nominal", "next")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(document["at"])) < timedelta(minutes=10)


def test_a_period_without_a_time_is_explained_draw_by_draw(krontab: Krontab) -> None:
    document = explained(krontab, NEVER, "2026-03-01T12:00:00Z")
    assert document["unschedulable"] is True
    assert document["chosen"] is document["local"] is None
    assert document["reason"] == "no candidate accepted within MaxAttempts"
    assert document["attempts"] == len(document["draws"]) == 64
    assert {draw["rejection"] for draw in document["draws"]} == {"inside avoid(hours=0-23)"}
    assert len(document["seed_hash"]) == 64
    text = shown(krontab, NEVER, "2026-03-01T12:00:00Z")
    assert "  chosen      none: unschedulable, no candidate accepted within MaxAttempts\n" in text
    assert text.count("rejected: inside") == 12
    assert "... and 52 more (--all-draws shows them)\n" in text
    whole = shown(krontab, NEVER, "2026-03-01T12:00:00Z", "--all-draws")
    assert whole.count("rejected: inside") == 64
    assert "more" not in whole
    assert "●" not in whole
    assert "✗ rejected" in whole


def test_a_draw_that_is_rejected_is_followed_by_the_next(krontab: Krontab) -> None:
    schedule = "0 12 * * * @win(after,4h) @only(hours=14)"
    document = explained(krontab, schedule, "2026-03-01T12:00:00Z")
    *rejected, taken = document["draws"]
    assert [draw["candidate"][:14] == "2026-03-01T14:" for draw in rejected] == [False] * len(
        rejected
    )
    assert all(draw["rejection"] for draw in rejected)
    assert taken["rejection"] is None
    assert taken["candidate"] == document["chosen"]
    assert document["attempts"] == len(document["draws"])


def test_a_window_without_width_needs_no_draw(krontab: Krontab) -> None:
    document = explained(krontab, "0 12 * * *", "2026-03-01T12:00:00Z")
    assert (document["draws"], document["attempts"]) == ([], 0)
    assert document["window_start"] == document["window_end"] == document["chosen"]
    text = shown(krontab, "0 12 * * *", "2026-03-01T12:00:00Z")
    assert rows(text)["window"] == "none: the job runs at the nominal instant"
    assert rows(text)["draws"] == "none is needed"
    assert "├" not in text


def test_a_window_without_width_is_still_held_to_the_constraints(krontab: Krontab) -> None:
    schedule = "0 12 * * * @avoid(hours=12)"
    document = explained(krontab, schedule, "2026-03-01T12:00:00Z")
    assert document["unschedulable"] is True
    assert document["rejection"] == "inside avoid(hours=12)"
    text = shown(krontab, schedule, "2026-03-01T12:00:00Z")
    assert rows(text)["draws"] == "rejected: inside avoid(hours=12)"


@pytest.mark.parametrize(
    ("schedule", "start", "end", "line"),
    [
        pytest.param(
            "0 12 * * * @win(after,3h)",
            "2026-03-01T12:00:00Z",
            "2026-03-01T15:00:00Z",
            "after 3h: 2026-03-01T12:00:00Z to 2026-03-01T15:00:00Z, 10,801 seconds",
            id="after",
        ),
        pytest.param(
            "0 12 * * * @win(before,3h)",
            "2026-03-01T09:00:00Z",
            "2026-03-01T12:00:00Z",
            "before 3h: 2026-03-01T09:00:00Z to 2026-03-01T12:00:00Z, 10,801 seconds",
            id="before",
        ),
        pytest.param(
            "0 12 * * * @win(around,3h)",
            "2026-03-01T10:30:00Z",
            "2026-03-01T13:30:00Z",
            "around 3h: 2026-03-01T10:30:00Z to 2026-03-01T13:30:00Z, 10,801 seconds",
            id="around",
        ),
        pytest.param(
            "0 12 * * * @win(after,50h)",
            "2026-03-01T12:00:00Z",
            "2026-03-03T14:00:00Z",
            "after 50h: 2026-03-01T12:00:00Z to 2026-03-03T14:00:00Z, 180,001 seconds",
            id="days",
        ),
        pytest.param(
            "0 12 * * * @win(after,1s)",
            "2026-03-01T12:00:00Z",
            "2026-03-01T12:00:01Z",
            "after 1s: 2026-03-01T12:00:00Z to 2026-03-01T12:00:01Z, 2 seconds",
            id="one-second",
        ),
    ],
)
def test_the_window_is_told_with_its_bounds(
    krontab: Krontab, schedule: str, start: str, end: str, line: str
) -> None:
    document = explained(krontab, schedule, "2026-03-01T12:00:00Z")
    assert (document["window_start"], document["window_end"]) == (start, end)
    assert rows(shown(krontab, schedule, "2026-03-01T12:00:00Z"))["window"] == line


@pytest.mark.parametrize(
    ("schedule", "left", "right", "nominal"),
    [
        pytest.param("0 12 * * * @win(after,3h)", "12:00:00", "15:00:00", 0, id="after"),
        pytest.param("0 12 * * * @win(before,3h)", "09:00:00", "12:00:00", 59, id="before"),
        pytest.param("0 12 * * * @win(around,3h)", "10:30:00", "13:30:00", 30, id="around"),
        pytest.param(
            "0 12 1 * * @win(after,50h)",
            "2026-03-01 12:00:00",
            "2026-03-03 14:00:00",
            0,
            id="days-are-dated",
        ),
        pytest.param(
            "0 12 * * * @tz(Asia/Tokyo) @win(after,3h)", "12:00:00", "15:00:00", 0, id="local"
        ),
        pytest.param("0 12 * * * @win(after,1s)", "12:00:00", "12:00:01", 0, id="one-second"),
    ],
)
def test_the_window_is_drawn_to_scale(
    krontab: Krontab, schedule: str, left: str, right: str, nominal: int
) -> None:
    document = explained(krontab, schedule, "2026-03-01")
    text = shown(krontab, schedule, "2026-03-01")
    lines = text.splitlines()
    line, below, legend = lines[lines.index("") + 1 :][:3]
    assert line.startswith(f"  {left} ")
    assert line.endswith(f" {right}")
    margin = len(left) + 3
    cells = line[margin : -len(right) - 1]
    assert len(cells) == 60
    start, chosen, end = (
        datetime.fromisoformat(document[key]).timestamp()
        for key in ("window_start", "chosen", "window_end")
    )
    assert cells.index("●") == round((chosen - start) / (end - start) * 59)
    assert below.index("▲") - margin == nominal
    assert legend.strip() == f"● chosen {document['chosen']}"


def test_times_are_told_in_the_zone_of_the_schedule(krontab: Krontab) -> None:
    schedule = "30 9 * * * @tz(America/New_York)"
    winter = explained(krontab, schedule, "2026-03-01")
    assert (winter["chosen"], winter["local"]) == (
        "2026-03-01T14:30:00Z",
        "2026-03-01T09:30:00-05:00",
    )
    summer = explained(krontab, schedule, "2026-07-01")
    assert (summer["chosen"], summer["local"]) == (
        "2026-07-01T13:30:00Z",
        "2026-07-01T09:30:00-04:00",
    )
    assert rows(shown(krontab, schedule, "2026-07-01"))["chosen"] == (
        "2026-07-01T13:30:00Z, Wed 2026-07-01 09:30:00 -04:00"
    )


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("", "skipped while an earlier run is active; missed if it cannot start in time"),
        (
            "@policy(concurrency=allow,deadline=90m)",
            "runs may overlap; may start 1h30m late",
        ),
        (
            "@policy(concurrency=replace,suspend=true)",
            "an earlier run is stopped; missed if it cannot start in time; SUSPENDED",
        ),
    ],
)
def test_the_policy_is_told_in_words(krontab: Krontab, policy: str, line: str) -> None:
    assert rows(shown(krontab, f"0 0 * * * {policy}", "2026-03-01"))["policy"] == line


def test_a_suspended_job_is_explained_as_if_it_were_not(krontab: Krontab) -> None:
    plain = explained(krontab, DAILY, "2026-03-01")
    suspended = explained(krontab, f"{DAILY} @policy(suspend=true)", "2026-03-01")
    assert suspended["policy"]["suspend"] is True
    assert suspended["chosen"] == plain["chosen"]


def test_what_is_written_otherwise_than_it_is_read_is_shown_both_ways(krontab: Krontab) -> None:
    text = shown(krontab, "00  0 * * sun @win(after,180m)", "2026-03-01")
    assert rows(text)["schedule"] == "00  0 * * sun @win(after,180m)"
    assert rows(text)["is read as"] == "0 0 * * SUN @win(after,3h)"
    assert "is read as" not in shown(krontab, DAILY, "2026-03-01")


def test_a_job_is_told_with_its_place(krontab: Krontab) -> None:
    path = krontab.write("jobs.kron", f"# one\n\n{DAILY} name=a/b command=/bin/true\n")
    words = ("explain", "a/b", "--file", "jobs.kron", "--at", "2026-03-01")
    assert krontab(*words).lines[0] == f"a/b  {path}:3"
    document = krontab(*words, "--format", "json").json
    assert (document["job"], document["path"], document["line"]) == ("a/b", path, 3)


def test_a_name_that_two_files_have_is_told_apart_by_its_path(krontab: Krontab) -> None:
    first = krontab.write("d/a.kron", f"{DAILY} name=same command=/bin/true\n")
    second = krontab.write("d/b.kron", f"{DAILY} name=same command=/bin/true\n")
    ran = krontab("explain", "same", "--file", "d")
    assert (ran.code, ran.out) == (1, "")
    assert f"{first}:same, {second}:same" in ran.err
    document = krontab("explain", f"{second}:same", "--file", "d", "--format", "json").fine().json
    assert document["path"] == second


def test_a_job_that_is_not_there_is_answered_with_the_one_that_is(krontab: Krontab) -> None:
    krontab.write("jobs.kron", f"{DAILY} name=db-backup command=/bin/true\n")
    ran = krontab("explain", "db-bakcup", "--file", "jobs.kron")
    assert ran.err == 'krontab: there is no job "db-bakcup" (did you mean "db-backup"?)\n'


@pytest.mark.parametrize(
    "schedule",
    [
        pytest.param("0 0 1 1 *", id="yearly"),
        pytest.param("0 0 29 2 *", id="leap-days"),
    ],
)
def test_at_the_end_of_time_there_is_nothing_to_explain(krontab: Krontab, schedule: str) -> None:
    words = ("--schedule", schedule, "--identity", "i", "--at", "2999-12-31T23:00:00Z")
    ran = krontab("explain", *words)
    assert (ran.code, ran.out) == (1, "")
    assert "1900 to 2999" in ran.err


def test_the_last_period_of_all_is_explained(krontab: Krontab) -> None:
    document = explained(krontab, "59 23 * * * @win(after,1h)", "2999-12-31T23:59:00Z")
    assert document["match"] == "nominal"


def test_the_first_period_of_all_is_explained(krontab: Krontab) -> None:
    document = explained(krontab, "0 1 * * *", "1900-01-01T00:00:00Z")
    assert (document["match"], document["period"]) == ("next", "1900-01-01T01:00:00Z")
