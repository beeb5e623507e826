"""The heatmap: section 12 of the fuzzy specification, and what `krontab heatmap` adds to it."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kron import parse_schedule
from kron.console.terminal import Style
from kron.core.constraint import MINUTES_A_DAY
from kron.engine import Job
from kron.fleet import Tally, busiest, count_firings
from kron.jobs.configuration import Configuration
from kron.jobs.document import read_document
from kron.krontab import heatmap as rendering
from kron.krontab.commands import heatmap as command
from kron.krontab.heatmap import DEFAULT_WEEKS, GLYPHS, buckets, grid_lines
from tests.fleet.plans import agenda_firings, job, seconds
from tests.krontab.command import AT, Krontab
from tests.krontab.on_a_terminal import PROGRESS_AT_ONCE, on_a_terminal, without_styles
from tests.test_docs import blocks, page, rows

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONDAY = seconds("2026-03-02T00:00")
PLAN = """\
0 0 * * * name=backup command=/bin/true
0 0 * * * name=keys command=/bin/true
0 0 * * MON name=report command=/bin/true
*/20 9-11 * * MON-FRI name=orders command=/bin/true
30 4 1 * * name=invoices command=/bin/true
15 4 * * SUN @tz(Europe/Paris) name=vacuum command=/bin/true
*/10 22 * * SAT name=sync command=/bin/true
* 23 * * * @policy(suspend=true) name=asleep command=/bin/true
"""
GRID = """\
Schedule Heatmap (UTC)

    00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23
Mon  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ▒  ▒  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·
Tue  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ▒  ▒  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·
Wed  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ▒  ▒  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·
Thu  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ▒  ▒  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·
Fri  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ▒  ▒  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·
Sat  ▒  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ▓  ·
Sun  ▒  ·  ·  ░  ░  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·

    · 0   ░ 1   ▒ 2-3   ▓ 4-6   █ 7+
    runs in that hour, mean of 4 weeks from 2026-03-01T00:00:00Z, rounded up
    7 jobs (1 more suspended), 67.2 runs a week
    busiest hour: Sat 22:00, 6 runs
"""
HOURS = """\

Runs a day, by hour (UTC)

00       2.1  ██████████████████████████████████████████████████
01         0
02         0
03       0.1  ███▎
04      <0.1  ▊
05         0
"""
MINUTES = """\

Runs by minute of the hour

    :00  :05  :10  :15  :20  :25  :30  :35  :40  :45  :50  :55
    █·········▁····▁····▅·········▁·········▅·········▁·········
    most at :00: 46.1% of all runs

The busiest minutes of the day (UTC)

TIME      A DAY  BUSIEST DAY  JOBS
00:00       2.1  Mon 3        report, backup, keys
09:00       0.7  Mon 1        orders
"""


def plain(text: str, *_: str) -> str:
    return text


def cells(lines: list[str]) -> dict[str, str]:
    """The glyphs of each day."""
    return {line[:3]: line[3:] for line in lines if line[:3] in DAYS}


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("plan.kron", PLAN)
    return krontab


def test_the_whole_picture(krontab: Krontab) -> None:
    for words in (("plan.kron",), ("--file", "plan.kron"), (".",)):
        ran = krontab("heatmap", *words, "--at", AT)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == GRID


def test_the_views_come_below_the_grid(krontab: Krontab) -> None:
    words = ("heatmap", "plan.kron", "--at", AT, "--hourly", "--minute", "--top", "2")
    ran = krontab(*words)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(GRID + HOURS)
    assert ran.err.endswith(MINUTES)
    (shown,) = re.findall(r"(?:^[0-9]{2} +[0-9<.,]+.*\n)+", ran.err, re.MULTILINE)
    assert [line[:2] for line in shown.splitlines()] == [f"{hour:02d}" for hour in range(24)]
    assert krontab(*words[:4], "--minute", "--top", "2").err == GRID + MINUTES


def heatmap_lines(
    jobs: list[Job], at_s: int, style: Style, *, weeks: int = DEFAULT_WEEKS
) -> list[str]:
    """The heatmap of these jobs."""
    return grid_lines(count_firings(jobs, at_s, weeks), style)


def test_the_elements_that_section_12_asks_for() -> None:
    lines = heatmap_lines([job("0 5 * * *")], MONDAY, plain)
    assert lines[0] == "Schedule Heatmap (UTC)"
    (header,) = (line for line in lines if "00 01" in line)
    assert header.split() == [f"{hour:02d}" for hour in range(24)]
    found = cells(lines)
    assert tuple(found) == DAYS
    assert {len(row) for row in found.values()} == {len(header) - 3}
    for row in found.values():
        assert row.split() == ["·"] * 5 + ["░"] + ["·"] * 18
        # Each glyph stands under the last digit of its hour.
        assert [row[column] for column in range(2, 72, 3)] == row.split()
    legend = next(line for line in lines if "█" in line)
    assert lines.index(legend) > lines.index(f"Sun{found['Sun']}")
    assert legend.split() == ["·", "0", "░", "1", "▒", "2-3", "▓", "4-6", "█", "7+"]


def test_there_is_none_where_nothing_is_scheduled() -> None:
    assert heatmap_lines([], MONDAY, plain) == []
    assert heatmap_lines([job("* * * * * @policy(suspend=true)")], MONDAY, plain) == []


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        pytest.param("", "no jobs", id="empty"),
        pytest.param(PLAN.splitlines()[-1] + "\n", "all 1 jobs are suspended", id="suspended"),
    ],
)
def test_that_nothing_is_scheduled_is_said_in_a_line(krontab: Krontab, plan: str, why: str) -> None:
    krontab.write("plan.kron", plan)
    for views in ((), ("--hourly", "--minute")):
        ran = krontab("heatmap", "plan.kron", *views)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.startswith(f"nothing is scheduled: {why}; ")
        assert ran.err.count("\n") == 1


def test_what_is_scheduled_but_far_away_is_a_grid_of_dots(krontab: Krontab) -> None:
    krontab.write("plan.kron", "0 0 29 2 * name=leap command=/bin/true\n")
    ran = krontab("heatmap", "plan.kron", "--at", AT, "--hourly", "--minute")
    assert {glyph for row in cells(ran.err.splitlines()).values() for glyph in row.split()} == {"·"}
    assert "1 job, 0 runs a week\n" in ran.err
    assert "busiest" not in ran.err
    assert (
        krontab("heatmap", "plan.kron", "--minute", "--format", "json").fine().json["firings"] == 0
    )


@pytest.mark.parametrize(
    ("count", "glyph"),
    [(0, "·"), (1, "░"), (2, "▒"), (3, "▒"), (4, "▓"), (6, "▓"), (7, "█"), (14, "█")],
)
def test_each_glyph_stands_for_its_bucket(count: int, glyph: str) -> None:
    # A job at another time keeps the heatmap there where the count is 0.
    jobs = [job("0 5 * * TUE"), *(job("30 7 * * WED", f"prod/{n}") for n in range(count))]
    assert cells(heatmap_lines(jobs, MONDAY, plain))["Wed"].split()[7] == glyph


@pytest.mark.parametrize(
    ("in_four_weeks", "glyph"), [(1, "░"), (4, "░"), (5, "▒"), (12, "▒"), (13, "▓"), (25, "█")]
)
def test_a_cell_is_the_mean_of_the_weeks_rounded_up(in_four_weeks: int, glyph: str) -> None:
    days = [f"{day} 3" for day in (3, 10, 17, 24)]
    jobs = [job(f"0 7 {days[n % 4]} *", f"prod/{n}") for n in range(in_four_weeks)]
    assert cells(heatmap_lines(jobs, MONDAY, plain))["Tue"].split()[7] == glyph


@pytest.mark.parametrize(
    ("most", "bounds"),
    [
        (0, (1, 2, 4, 7)),
        (14, (1, 2, 4, 7)),
        (15, (1, 3, 6, 9)),
        (100, (1, 25, 50, 75)),
        (1_700, (1, 420, 840, 1_260)),
        (40_000_000, (1, 10_000_000, 20_000_000, 30_000_000)),
    ],
)
def test_the_buckets_of_a_big_fleet_are_quarters_of_its_busiest_cell(
    most: int, bounds: tuple[int, ...]
) -> None:
    assert buckets(most) == bounds


def test_the_buckets_rise_and_the_busiest_cell_has_the_last_glyph() -> None:
    for most in [*range(7, 3_000), *range(10**6, 10**7, 99_991)]:
        bounds = buckets(most)
        assert list(bounds) == sorted(set(bounds))
        assert bounds[0] == 1
        assert bounds[-1] <= most


def test_the_legend_is_that_of_the_buckets() -> None:
    storm = [job("0 0 * * *", f"prod/{n}") for n in range(1_700)]
    lines = heatmap_lines([*storm, job("* * * * *", "every-minute")], MONDAY, plain)
    assert "    · 0   ░ 1-439   ▒ 440-879   ▓ 880-1,319   █ 1,320+" in lines
    assert {row.split()[0] for row in cells(lines).values()} == {"█"}
    assert {glyph for row in cells(lines).values() for glyph in row.split()[1:]} == {"░"}


def test_buckets_can_be_given(krontab: Krontab) -> None:
    ran = krontab("heatmap", "plan.kron", "--at", AT, "--buckets", "1,3,4,6")
    assert "    · 0   ░ 1-2   ▒ 3   ▓ 4-5   █ 6+\n" in ran.err
    found = cells(ran.err.splitlines())
    assert (found["Mon"].split()[0], found["Tue"].split()[0], found["Sat"].split()[22]) == (
        "▒",
        "░",
        "█",
    )


def test_windows_smooth_a_storm_to_the_eye() -> None:
    def drawn(window: str) -> set[str]:
        jobs = [job(f"0 0 * * * {window}", f"prod/{n}") for n in range(24)]
        lines = heatmap_lines(jobs, MONDAY, plain, weeks=1)
        return {glyph for row in cells(lines).values() for glyph in row.split()}

    assert drawn("") == {"·", "█"}
    assert "█" not in drawn("@win(after,23h59m)")


def test_the_picture_of_ten_thousand_jobs_that_run_every_minute_fits_80_columns() -> None:
    tally = Tally(MONDAY, 106, 60, (10_000 * 106,) * 10_080, 10_000, 1_000)
    lines = [*grid_lines(tally, plain), *rendering.hour_lines(tally, plain)]
    lines += rendering.minute_lines(tally, [], {}, plain)
    assert max(map(len, lines)) <= 80


@pytest.mark.heavy
def test_colour_is_for_a_terminal_and_changes_no_text(krontab: Krontab) -> None:
    words = ("heatmap", "plan.kron", "--at", AT, "--hourly", "--minute")
    expected = krontab(*words).err
    assert "\x1b" not in expected
    seen = on_a_terminal(krontab, *words, stream="stderr")
    assert (seen.code, seen.out) == (0, "")
    assert "\x1b[" in seen.err
    assert without_styles(seen.err) == expected
    for plainly in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_a_terminal(krontab, *words, stream="stderr", environment=plainly).err == expected
    # Standard output being a terminal is no reason to colour standard error.
    assert on_a_terminal(krontab, *words, stream="stdout").err == expected


@pytest.mark.parametrize("form", ["json", "csv"])
def test_scripts_get_no_heatmap_and_people_no_output(krontab: Krontab, form: str) -> None:
    before = sorted(krontab.directory.iterdir())
    ran = krontab("heatmap", "plan.kron", "--at", AT, "--minute", "--format", form).fine()
    assert not set(ran.out) & set(GLYPHS)
    assert "Heatmap" not in ran.out
    assert sorted(krontab.directory.iterdir()) == before
    on_terminal = on_a_terminal(
        krontab, "heatmap", "plan.kron", "--at", AT, "--format", form, stream="stderr"
    )
    assert on_terminal.err == ""


def test_json_has_the_counts_of_all_weeks(krontab: Krontab) -> None:
    path = krontab.path("plan.kron")
    document = (
        krontab("heatmap", "plan.kron", "--at", AT, "--minute", "--top", "1", "--format", "json")
        .fine()
        .json
    )
    assert (document["at"], document["until"]) == (AT, "2026-03-29T00:00:00Z")
    assert (document["weeks"], document["jobs"], document["suspended"]) == (4, 7, 1)
    assert document["cells"][0][0] == 12
    assert document["cells"][5][22] == 24
    assert document["firings"] == sum(map(sum, document["cells"])) == sum(document["hours"]) == 269
    minutes = document["minutes"]
    assert sum(minutes["of_hour"]) == sum(minutes["of_day"]) == 269
    assert minutes["busiest"] == [
        {
            "time": "00:00",
            "firings": 60,
            "weekday": "Mon",
            "firings_on_weekday": 12,
            "jobs_total": 3,
            "jobs": [
                {"name": name, "identity": f"{path}:{name}"}
                for name in ("report", "backup", "keys")
            ],
        }
    ]
    without = krontab("heatmap", "plan.kron", "--at", AT, "--format", "json").fine().json
    assert without == document | {"minutes": None}


def test_json_names_some_of_many_jobs(krontab: Krontab) -> None:
    krontab.write(
        "plan.kron", "".join(f"0 0 * * * name=j{n} command=/bin/true\n" for n in range(30))
    )
    words = ("heatmap", "plan.kron", "--minute")
    (busy,) = krontab(*words, "--format", "json").fine().json["minutes"]["busiest"]
    assert (busy["jobs_total"], len(busy["jobs"])) == (30, 20)
    assert re.search(
        r"^00:00        30  Mon 30       j0, j1, j10 and 27 more$", krontab(*words).err, re.M
    )


@pytest.mark.parametrize(
    ("view", "head", "count"),
    [
        pytest.param((), ["weekday", "hour", "firings"], 168, id="cells"),
        pytest.param(("--hourly",), ["hour", "firings"], 24, id="hours"),
        pytest.param(("--minute",), ["time", "firings"], MINUTES_A_DAY, id="minutes"),
    ],
)
def test_csv_is_one_table(
    krontab: Krontab, view: tuple[str, ...], head: list[str], count: int
) -> None:
    ran = krontab("heatmap", "plan.kron", "--at", AT, *view, "--format", "csv").fine()
    first, *table = csv.reader(io.StringIO(ran.out))
    assert first == head
    assert len(table) == count
    assert sum(int(row[-1]) for row in table) == 269
    assert len({tuple(row[:-1]) for row in table}) == count


def test_the_counts_are_those_of_the_agendas(krontab: Krontab) -> None:
    plan = (
        "0 0 * * * @win(after,5h) @tz(America/New_York) name=a command=/bin/true\n"
        "*/15 * * * * @win(around,20m) @only(dow=MON-FRI;hours=8-18) name=b command=/bin/true\n"
        "daily between 9:00 and 17:00 name=c command=/bin/true\n"
    )
    path = krontab.write("plan.kron", plan)
    words = ("--at", "2026-03-05T13:14:15Z", "--weeks", "2", "--node-id", "web-17")
    document = krontab("heatmap", "plan.kron", *words, "--format", "json").fine().json
    listed = krontab("list", "--file", "plan.kron", *words[:2], "--format", "json").json["jobs"]
    assert {each["identity"] for each in listed} == {f"{path}:{name}" for name in "abc"}
    expected = [[0] * 24 for _ in range(7)]
    entries = list(read_document(plan.encode(), path, node="web-17").entries)
    assert entries[0].identity == f"web-17/{path}:a"
    start_s = seconds("2026-03-05T13:14:15")
    for entry in entries:
        for fired_s in agenda_firings(entry.job, start_s, start_s + 14 * 86_400):
            moment = datetime.fromtimestamp(fired_s, UTC)
            expected[moment.weekday()][moment.hour] += 1
    assert document["cells"] == expected


CRONTAB = """\
CRON_TZ=UTC
@reboot /bin/start
0 0 31 2 * /bin/never
0 3 * * * /bin/a
@daily /bin/b
"""


def test_crontabs_are_read_as_import_reads_them(krontab: Krontab) -> None:
    krontab.write("user.tab", CRONTAB)
    krontab.write("system.tab", "0 3 * * * root /bin/a\n")
    ran = krontab("heatmap", "--crontab", "user.tab", "--at", AT, "--format", "json")
    assert ran.code == 0
    assert (ran.json["jobs"], ran.json["firings"]) == (2, 56)
    assert ran.json["at_boot"] == 1
    assert "user.tab:3:1: warning: " in ran.err
    assert "no day" in ran.err
    both = ("--crontab", "user.tab", "system.tab", "--tz", "UTC", "--at", AT, "--format", "json")
    assert krontab("heatmap", *both).json["jobs"] == 3
    assert krontab("heatmap", "plan.kron", *both).json["jobs"] == 10
    assert krontab("heatmap", *both, "--crontab", "./user.tab").json["jobs"] == 3  # named twice
    for how in (("--system",), ("--user", "root")):
        ran = krontab("heatmap", "--crontab", "system.tab", *how, "--tz", "Asia/Tokyo", *both[5:])
        assert ran.json["cells"][0][18] == 4
    given = krontab("heatmap", "--crontab", "-", *both[3:], given="0 3 * * * /bin/a\n").fine().json
    assert given["cells"][0][3] == 4


def test_what_import_prints_can_be_looked_at(krontab: Krontab) -> None:
    krontab.write("user.tab", "0 0 * * * /bin/a\n" * 30)
    made = krontab("import", "user.tab", "--user", "root", "--tz", "UTC", "--spread", "59m").out
    words = ("--at", AT, "--minute", "--format", "json")
    before = krontab("heatmap", "--crontab", "user.tab", "--tz", "UTC", *words).fine().json
    after = krontab("heatmap", "-", *words, given=made).fine().json
    assert before["cells"] == after["cells"]
    assert max(before["minutes"]["of_day"]) == 30 * 28
    assert max(after["minutes"]["of_day"]) < 90


WORKFLOW = "---\non:\n  schedule: daily between 9:00 and 10:00\n---\nHello\n"
ACTIONS = 'on:\n  schedule:\n    - cron: "30 4 * * 1"\n'


def test_workflows_are_read_as_compile_reads_them(krontab: Krontab) -> None:
    krontab.write(".github/workflows/a.md", WORKFLOW)
    krontab.write(".github/workflows/b.yml", ACTIONS)
    words = ("heatmap", "--workflows", ".github", "--repo", "octo/tools", "--at", AT)
    document = krontab(*words, "--minute", "--format", "json").fine().json
    assert (document["jobs"], document["firings"]) == (2, 32)
    assert document["cells"][0] == [0] * 4 + [4] + [0] * 4 + [4] + [0] * 14
    (name,) = {job["name"] for busy in document["minutes"]["busiest"][1:] for job in busy["jobs"]}
    assert name.endswith("b.yml:3:13")
    ran = krontab("heatmap", "--workflows", ".github", "--at", AT)
    assert ran.code == 1
    assert "--repo OWNER/NAME" in ran.err
    assert "Heatmap" not in ran.err


def test_what_is_compiled_needs_no_repository(krontab: Krontab) -> None:
    compiled = 'on:\n  schedule:\n    - cron: "7 3 * * *" # fuzzy: daily\n'
    krontab.write(".github/workflows/a.yml", compiled)
    document = krontab("heatmap", "--workflows", ".", "--at", AT, "--format", "json").fine().json
    assert document["jobs"] == 1


def test_a_name_cannot_command_a_terminal() -> None:
    jobs = [Job("prod/x", parse_schedule("0 0 * * *"))]
    tally = count_firings(jobs, MONDAY, 1, by_minute=True)
    names = {"prod/x": "a\x1b[31mb\nc" + "d" * 100}
    shown = "\n".join(rendering.minute_lines(tally, busiest(jobs, tally, 1), names, plain))
    assert r"a\x1b[31mb\x0acddd" in shown
    assert max(map(len, shown.splitlines())) < 100


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(("--system", "--user", "a"), "not allowed with", id="system-and-user"),
        pytest.param(("--system",), "--crontab", id="system-without-crontab"),
        pytest.param(("--user", "root"), "--crontab", id="user-without-crontab"),
        pytest.param(("--user", ""), "--crontab", id="no-user-without-crontab"),
        pytest.param(("--tz", "UTC"), "--crontab", id="zone-without-crontab"),
        pytest.param(("--repo", "a/b"), "--workflows", id="repository-without-workflows"),
        pytest.param(("--repo", "ab"), "is not OWNER/NAME", id="no-repository"),
        pytest.param(("-", "--crontab", "-"), "only once", id="standard-input-twice"),
        pytest.param(
            ("--hourly", "--minute", "--format", "csv"), "one table", id="two-tables-at-once"
        ),
        pytest.param(("--buckets", "1,2,3"), "four rising numbers", id="three-buckets"),
        pytest.param(("--buckets", "0,1,2,3"), "four rising numbers", id="a-bucket-of-nothing"),
        pytest.param(("--buckets", "1,2,2,3"), "four rising numbers", id="an-empty-bucket"),
        pytest.param(("--buckets", "1,2,x,3,4"), "four rising numbers", id="no-number"),
        pytest.param(("--weeks", "0"), "from 1 to 106", id="no-weeks"),
        pytest.param(("--weeks", "107"), "from 1 to 106", id="too-many-weeks"),
        pytest.param(("--top", "1441"), "from 1 to 1,440", id="too-many-minutes"),
    ],
)
def test_a_wrong_command_line_is_answered_with_the_rule(
    krontab: Krontab, words: tuple[str, ...], complaint: str
) -> None:
    ran = krontab("heatmap", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("krontab heatmap: ")
    assert complaint in ran.err


@pytest.mark.parametrize("source", ["file", "crontab"])
def test_a_file_with_an_error_has_no_heatmap(krontab: Krontab, source: str) -> None:
    krontab.write("wrong", "0 3 * * * name=a command=/bin/a\n0 25 * * * name=b command=/bin/b\n")
    ran = krontab("heatmap", f"--{source}", "wrong", "--at", AT)
    assert (ran.code, ran.out) == (1, "")
    assert "wrong:2:3: " in ran.err
    assert "Heatmap" not in ran.err


def test_a_big_fleet_shows_progress_to_a_person(krontab: Krontab) -> None:
    words = ("heatmap", "plan.kron", "--at", AT, "--minute", "--top", "2")
    seen = on_a_terminal(krontab, *words, stream="stderr", program=PROGRESS_AT_ONCE)
    assert "counting runs" in seen.err
    assert "100%" in seen.err
    assert without_styles(seen.err).endswith(f"\r\x1b[K{GRID}{MINUTES}")


def nightly(krontab: Krontab, monkeypatch: pytest.MonkeyPatch, text: str, command_line: str) -> str:
    """What the command shows of a file that lies where the docs say, wherever the tests run."""
    program, name, path, *words = command_line.split()
    document = read_document(text.encode(), path)
    configuration = Configuration((document,))
    monkeypatch.setattr(command, "load_configuration", lambda *_: configuration)
    assert program == "krontab"
    ran = krontab(name, path, *words)
    assert (ran.code, ran.out) == (0, "")
    return ran.err


def test_the_docs_show_what_is_shown(krontab: Krontab, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page("heatmap.md")
    (plan,) = blocks(text, "krontab")
    command_line = blocks(text, "sh")[0].strip()
    before, after = blocks(text, "text")
    assert nightly(krontab, monkeypatch, plan, command_line) == before
    assert "`0 0 * * * @win(after,4h)`" in text
    spread = plan.replace("0 0 * * * ", "0 0 * * * @win(after,4h) ")
    assert nightly(krontab, monkeypatch, spread, command_line) == after


def test_the_docs_have_the_numbers_of_the_code() -> None:
    text = page("heatmap.md")
    firsts = [0, *rendering.USUAL_BUCKETS]
    lasts = [after - 1 for after in rendering.USUAL_BUCKETS]
    ranges = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, lasts, strict=False)
    ]
    expected = [*ranges, f"{rendering.USUAL_BUCKETS[-1]} or more"]
    assert rows(text, "## Glyphs") == [
        [f"`{glyph}`", meaning] for glyph, meaning in zip(GLYPHS, expected, strict=True)
    ]
    assert f"has more than {rendering.USUAL_UP_TO} runs" in text
    assert f"by default {rendering.DEFAULT_WEEKS}, at most {command._MOST_WEEKS}" in text
    schema = (Path(__file__).parents[2] / "docs/schemas/krontab.heatmap.1.json").read_text()
    assert f'"maxItems": {rendering._NAMED_JOBS},' in schema
