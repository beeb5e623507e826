"""The whole: order, places, progress, quiet on good files, bounded on bad ones; and its page."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.console.report import finding_lines
from kron.core.errors import Code, KronError
from kron.jobs.document import read_document
from kron.jobs.finding import Severity
from kron.lint import Advice, PathKind, advise
from tests.core.schedules import schedule_texts
from tests.core.test_syntax import SEED_EXAMPLES
from tests.lint.linted import NOW, PATH, FakeHost, codes, document, marked, only, warnings
from tests.soak import examples
from tests.test_docs import blocks, page, rows

GOOD = """\
# what a careful person writes
17 3 * * * @win(after,2h) name=backup command="/usr/bin/backup --all" user=backup timeout=2h
0 * * * * @win(after,20m) name=sync command=/usr/bin/sync-all @
*/15 * * * * @win(after,10m) name=poll command=/usr/bin/poll timeout=10m
0 8-18 * * MON-FRI @tz(Europe/Paris) @win(around,10m) name=mail command=/usr/bin/mail-out
0 4 1 * * @win(after,3h) @policy(deadline=24h) name=bill command="a | b > c" shell=true
0 6 * * * @tz(America/New_York) @win(after,1h) @avoid(date=2026-12-25) name=r command=/usr/bin/r
""".replace(" @\n", "\n")


def test_a_good_file_is_quiet() -> None:
    good = read_document(GOOD.encode(), PATH)
    assert good.findings == ()
    programs = ("backup", "sync-all", "poll", "mail-out", "r")
    paths = {f"/usr/bin/{name}": PathKind.PROGRAM for name in programs} | {
        "/bin/sh": PathKind.PROGRAM
    }
    host = FakeHost(paths=paths, users=("backup",))
    assert list(advise([good], now=NOW, host=host)) == []


def test_findings_come_line_by_line_and_from_left_to_right_and_the_fleet_last() -> None:
    found = warnings(
        *["0 0 * * *"] * 5, "*/7 * 31 * FRI @win(after,30s) @policy(deadline=1h)", "*/90 * * * *"
    )
    assert [(f.line, f.start, f.code) for f in found] == [
        (6, 0, Advice.STEP_UNEVEN),
        (6, 6, Advice.DAYS_LACKING),
        (6, 11, Advice.DAYS_EITHER),
        (6, 15, Advice.WINDOW_NARROW),
        (7, 0, Advice.STEP_UNEVEN),
        (1, 0, Advice.FLEET_SAME_SECOND),
    ]


def test_a_finding_has_everything_that_an_editor_needs() -> None:
    (finding,) = warnings("0 2 * * *", "  0 2 * * * @win(after,30s)")
    assert finding.severity is Severity.WARNING
    assert finding.place == f"{PATH}:2:13"
    assert finding.text == "  0 2 * * * @win(after,30s) name=job-2 command=/bin/true"
    assert marked(finding) == "@win(after,30s)"


def test_progress_is_told_of_every_job() -> None:
    told: list[int] = []
    documents = [document("0 2 * * *", "1 2 * * *"), document("2 2 * * *", path="/b")]
    assert list(advise(documents, now=NOW, host=None, progress=told.append)) == []
    assert sum(told) == 3


def test_the_same_schedule_is_warned_of_at_every_job_that_has_it() -> None:
    found = warnings("*/7 * * * *", "0 2 * * *", "*/7 * * * *")
    assert [(f.line, f.code) for f in found] == [
        (1, Advice.STEP_UNEVEN),
        (3, Advice.STEP_UNEVEN),
    ]


def test_now_must_say_which_instant_it_is() -> None:
    with pytest.raises(KronError) as caught:
        list(advise([document("0 2 * * *")], now=datetime(2026, 3, 1), host=None))
    assert caught.value.code is Code.INSTANT


@pytest.mark.parametrize("text", SEED_EXAMPLES)
@pytest.mark.parametrize(
    "now",
    [
        pytest.param(NOW, id="today"),
        pytest.param(datetime(1900, 1, 1, tzinfo=UTC), id="the first instant"),
        pytest.param(datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC), id="the last instant"),
    ],
)
def test_every_example_of_the_seed_can_be_advised_at_any_time(text: str, now: datetime) -> None:
    for finding in warnings(f"{text} timeout=48h", now=now):
        assert finding.message
        assert 0 <= finding.start < finding.end <= len(finding.text)


@examples(200)
@given(text=schedule_texts(), timeout=st.sampled_from(("", " timeout=5m", " timeout=800h")))
def test_any_schedule_can_be_advised(text: str, timeout: str) -> None:
    read = read_document(f"{text}{timeout} name=a command=/bin/true".encode(), PATH)
    for finding in advise([read], now=NOW, host=None):
        assert 0 <= finding.start < finding.end <= len(finding.text)
        assert len(finding.message) + len(finding.fix) < 700


HOURS = ";".join(
    f"between={minute // 60:02d}:{minute % 60:02d}-{minute // 60:02d}:{minute % 60:02d}"
    for minute in range(0, 1408, 22)
)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("* * * * * @win(after,144h) timeout=8000h", id="a thousand open periods"),
        pytest.param(f"* * * * * @win(after,144h) @only({HOURS})", id="and 64 clauses"),
        pytest.param(
            f"* * * * * @tz(Europe/Paris) @win(after,23h) @dist(normal) @only({HOURS})",
            id="every minute",
        ),
        pytest.param(f"0 0 * * * @win(before,8784h) @dist(normal) @only({HOURS})", id="a year"),
        pytest.param(f"0 0 29 2 * @win(around,8784h) @only({HOURS})", id="leap days"),
        pytest.param('0 2 * * * name=a command="x ' + "; " * 30_000 + '"', id="separators"),
        pytest.param('0 2 * * * name=a command="find -exec ' + "; " * 30_000 + '"', id="for find"),
        pytest.param('0 2 * * * name=a command="x ' + "/*" * 30_000 + '"', id="stars"),
        pytest.param('0 2 * * * name=a command="x ' + "a" * 60_000 + '"', id="a long word"),
        pytest.param("0 2 * * * name=a command=/" + "x" * 60_000, id="a long path"),
    ],
)
def test_a_hostile_line_costs_a_bounded_time_and_message(line: str) -> None:
    read = document(line)
    host = FakeHost()
    start_s = time.process_time()
    found = list(advise([read], now=NOW, host=host))
    assert time.process_time() - start_s < 0.5  # 40 ms are measured for the worst
    assert all(len(finding.message) + len(finding.fix) < 600 for finding in found)


@pytest.mark.heavy
def test_three_thousand_different_jobs_take_a_bounded_time() -> None:
    lines = [
        f"{n % 60} {n // 60 % 24} * * * @tz({'Europe/Paris' if n % 2 else 'America/New_York'}) "
        f"@win(after,{1 + n % 500}m) @only(hours=0-{n % 23 + 1};dow=MON-FRI) @seed(stable,salt={n})"
        for n in range(3_000)
    ]
    read = document(*lines)
    start_s = time.process_time()
    assert len(list(advise([read], now=NOW, host=None))) > 1_000
    assert time.process_time() - start_s < 2  # a quarter of it is measured


def test_what_is_advised_does_not_depend_on_the_time_of_day() -> None:
    lines = (
        "0 2 * * * @only(dow=MON-FRI)",
        "*/5 * * * * @win(after,6m)",
        "30 2 * * * @tz(Europe/Paris)",
    )
    expected = codes(*lines)
    for hours in (1, 5, 11):
        found = warnings(*lines, now=NOW + timedelta(hours=hours))
        assert sorted(finding.code for finding in found) == expected


def test_the_warning_in_the_docs_is_what_is_printed() -> None:
    (shown,) = blocks(page("lint.md"), "text")
    line = "30 2 * * * @tz(Europe/Paris) name=report command=/usr/bin/report"
    printed = finding_lines(only(line, Advice.DAYLIGHT_GAP), lambda text, *_: text)
    assert shown.splitlines() == list(printed)


def test_every_code_is_documented_and_no_other() -> None:
    documented = [row[0].strip("`") for row in rows(page("lint.md"), "## Warnings")]
    assert documented == list(Advice)


def test_no_warning_shares_its_code_with_an_error() -> None:
    assert not {str(advice) for advice in Advice} & {str(code) for code in Code}
