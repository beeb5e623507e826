"""What is read as a schedule, what is refused, and where the finger points."""

from __future__ import annotations

import pytest

from tests.krontab.workflows.clone import Clone

YML = "w.yml"


def in_list(entry: str) -> str:
    return f"on:\n  schedule:\n    - {entry}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            in_list("cron: dayly around 14:00"), ("UNKNOWN_KEYWORD", 3, 13), id="plain-scalar"
        ),
        pytest.param(
            in_list("cron: 'daily around 25:00'"), ("HOUR_OUT_OF_RANGE", 3, 27), id="in-quotes"
        ),
        pytest.param(
            in_list('cron: "  daily around 14:65"'), ("MINUTE_OUT_OF_RANGE", 3, 32), id="blanks"
        ),
        pytest.param(
            in_list("cron: &a !!str weekly on mondey"), ("UNKNOWN_WEEKDAY", 3, 32), id="anchored"
        ),
        pytest.param(
            in_list(r'cron: "\x64aily around"'), ("MISSING_TIME_SPEC", 3, 13), id="escaped"
        ),
        pytest.param(
            in_list("cron: >\n        daily\n        around"),
            ("MISSING_TIME_SPEC", 3, 13),
            id="block",
        ),
        pytest.param(
            in_list("cron: |\n        daily\n        around 14:00"), ("text", 3, 13), id="literal"
        ),
        pytest.param(
            in_list("cron: 'FUZZY:DAILY_AROUND:99:0 * * *'"),
            ("INVALID_PLACEHOLDER", 3, 14),
            id="placeholder",
        ),
        pytest.param(
            in_list('cron: "1 2 * * *" # fuzzy: every 5 fortnights'),
            ("UNKNOWN_UNIT", 3, 42),
            id="in-a-remark",
        ),
        pytest.param(
            in_list('cron: "1 2 * * *" # fuzzy:'), ("MISSING_COMPONENT", 3, 33), id="empty-remark"
        ),
        pytest.param("on:\n  schedule: monthly\n", ("UNKNOWN_KEYWORD", 2, 13), id="bare"),
        pytest.param(
            'on: {schedule: [{cron: "1 2 * * *"}, {cron: weekly}]} # fuzzy: daily\n',
            ("schedule-comment", 1, 64),
            id="a-remark-for-one-of-two",
        ),
        pytest.param(in_list("cron: 61 0 * * *"), ("cron-field", 3, 13), id="plain-cron"),
        pytest.param(in_list("cron: '0 0 * *'"), ("cron-field-count", 3, 14), id="four-fields"),
        pytest.param(in_list("cron: '0 0 31 2 *'"), ("cron-never", 3, 14), id="never"),
        pytest.param(in_list("cron: '@daily'"), ("schedule-form", 3, 13), id="shorthand"),
        pytest.param(
            in_list("cron: '0 0 * * * @win(after,1h)'"), ("schedule-form", 3, 13), id="modifier"
        ),
        pytest.param(in_list("cron: 5"), ("cron-field-count", 3, 13), id="a-number"),
        pytest.param(in_list("cron:"), ("schedule-form", 3, 7), id="empty-cron"),
        pytest.param(in_list("cron: [daily]"), ("schedule-form", 3, 7), id="cron-is-a-list"),
        pytest.param(in_list("daily"), ("schedule-form", 3, 7), id="entry-is-a-string"),
        pytest.param(in_list("corn: daily"), ("schedule-form", 3, 7), id="no-cron"),
        pytest.param("on:\n  schedule:\n", ("schedule-form", 2, 3), id="empty-schedule"),
        pytest.param(
            "on:\n  schedule:\n    cron: daily\n", ("schedule-form", 2, 3), id="without-a-dash"
        ),
        pytest.param("on:\n  schedule: &a daily\n", ("schedule-form", 2, 13), id="bare-anchor"),
        pytest.param(
            "a: &a daily\non:\n  schedule: *a\n", ("schedule-form", 3, 13), id="bare-alias"
        ),
        pytest.param(
            "a: &a {schedule: daily}\non:\n  <<: *a\n", ("schedule-form", 3, 3), id="merge-key"
        ),
        pytest.param(
            in_list("cron: daily\n      timezone: Europe/Berlin"),
            ("FUZZY_WITH_TZ", 4, 17),
            id="fuzzy-with-a-zone",
        ),
        pytest.param(
            in_list("cron: 0 5 * * *\n      timezone: Europe/Berln"),
            ("zone-unknown", 4, 17),
            id="no-such-zone",
        ),
        pytest.param(
            in_list("cron: 0 5 * * *\n      timezone: {}"), ("schedule-form", 4, 7), id="odd-zone"
        ),
        pytest.param(
            'on: {schedule: [{cron: daily, x: "a\n  b"}]}\n',
            ("schedule-place", 1, 24),
            id="no-place-for-the-remark",
        ),
        pytest.param("on:\n  push:\non:\n  schedule: daily\n", ("key-repeated", 3, 1), id="twice"),
        pytest.param(
            in_list("cron: daily\n      cron: weekly"), ("key-repeated", 4, 7), id="two-crons"
        ),
        pytest.param("on: *x\n", ("yaml", 1, 5), id="alias-of-nothing"),
        pytest.param("on:\n\tschedule: daily\n", ("yaml", 2, 1), id="tab"),
        pytest.param("on: {schedule: daily\n", ("yaml", 2, 1), id="not-closed"),
        pytest.param("on:\n  schedule: daily\n---\nx: y\n", ("yaml", 3, 1), id="two-documents"),
        pytest.param("on:\n  schedule: daily\n---\n", ("yaml", 3, 1), id="second-is-empty"),
        pytest.param("on:\n  schedule: daily\n--- [\n", ("yaml", 3, 1), id="second-is-broken"),
    ],
)
def test_an_error_has_its_code_its_line_and_its_column(
    text: str, found: tuple[str, int, int], clone: Clone
) -> None:
    assert clone.findings(YML, text) == [found]
    ran = clone.compile(YML)
    assert ran.code == 1
    assert ran.out == ""
    code, line, column = found
    assert ran.err.startswith(f"{YML}:{line}:{column}: error: ")
    assert f"[{code}]\n" in ran.err


def test_the_place_in_markdown_is_that_of_the_whole_file(clone: Clone) -> None:
    text = "---\nname: x\non:\n  schedule: dayly\n---\n"
    assert clone.findings("w.md", text) == [("UNKNOWN_KEYWORD", 4, 13)]


def test_front_matter_without_an_end_is_an_error(clone: Clone) -> None:
    assert clone.findings("w.md", "---\non:\n  schedule: daily\n") == [("yaml", 1, 1)]


def test_all_errors_of_all_files_are_told_at_once_and_nothing_is_written(clone: Clone) -> None:
    good = clone.write("a.yml", "on:\n  schedule: daily\n")
    clone.write("b.yml", "on:\n  schedule:\n    - cron: dayly\n    - cron: '61 * * * *'\n")
    clone.write("c.md", "---\non: {schedule: weekly on mondey}\n---\n")
    ran = clone.compile("--write", ".", "missing.yml")
    assert ran.code == 1
    assert [line.split(": ")[0] for line in ran.err.splitlines() if ": error: " in line] == [
        "b.yml:3:13",
        "b.yml:4:14",
        "c.md:2:26",
        "missing.yml",
    ]
    assert ran.err.endswith("4 errors: nothing is written\n")
    assert good.read_text() == "on:\n  schedule: daily\n"


def test_of_one_file_twenty_errors_are_shown_and_the_others_counted(clone: Clone) -> None:
    clone.write(YML, "on:\n  schedule:\n" + "    - cron: dayly\n" * 30)
    document = clone.document(YML)
    assert (document["errors"], document["unshown"]) == (20, 10)
    assert "... and 10 more findings\n" in clone.compile(YML).err


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("a: b\n", id="no-on"),
        pytest.param("on: push\n", id="a-string"),
        pytest.param("on: [push, schedule]\n", id="a-list"),
        pytest.param("on:\n  push:\n", id="no-schedule"),
        pytest.param("on:\n  schedule: []\n", id="no-entries"),
        pytest.param("jobs:\n  on:\n    schedule: daily\n", id="not-at-the-top"),
        pytest.param("true:\n  schedule: daily\n", id="a-boolean"),
        pytest.param("- on: {schedule: daily}\n", id="a-list-of-them"),
    ],
)
def test_a_file_without_a_schedule_is_named_if_it_was_named(text: str, clone: Clone) -> None:
    clone.write(YML, text)
    ran = clone.compile(YML)
    assert (ran.code, ran.lines) == (0, ["no schedules"])
    assert ran.err == f"{YML}: nothing to compile: it has no schedule under on\n"
    assert clone.document(YML)["without_schedule"] == [YML]


def test_markdown_without_front_matter_is_named_if_it_was_named(clone: Clone) -> None:
    clone.write("w.md", "# Hello\n---\non: {schedule: daily}\n---\n")
    assert clone.compile("w.md").err == "w.md: nothing to compile: it has no front matter\n"


@pytest.mark.parametrize(
    ("cron", "codes"),
    [
        pytest.param("every 5 minutes", ["FIXED_INTERVAL"], id="fixed"),
        pytest.param("daily around 9am pt", ["AMBIGUOUS_ABBREVIATION"], id="abbreviation"),
        pytest.param("daily between 9:00 and 9:03", ["BUSY_MINUTE"], id="busy"),
        pytest.param("'20/15 * * * *'", ["cron-field"], id="a-step-that-github-reads"),
        pytest.param("'0 0 5/2 JAN/3 MON/2'", ["cron-field"] * 3, id="several-such-steps"),
    ],
)
def test_what_is_doubtful_is_a_warning_and_stops_nothing(
    cron: str, codes: list[str], clone: Clone
) -> None:
    clone.write(YML, in_list(f"cron: {cron}"))
    ran = clone.compile("--write", YML)
    assert ran.code == 0
    assert ": warning: " in ran.err
    assert [code for code, _, _ in clone.findings(YML, in_list(f"cron: {cron}"))] == codes


def test_a_zone_beside_plain_cron_is_understood(clone: Clone) -> None:
    clone.write(YML, in_list("cron: 30 5 * * 1-5\n      timezone: America/New_York"))
    (schedule,) = clone.document(YML)["files"][0]["schedules"]
    assert schedule["timezone"] == "America/New_York"
    assert schedule["current"]


def test_utc_beside_a_fuzzy_schedule_is_what_it_is_in_anyway(clone: Clone) -> None:
    text = clone.compiled(YML, in_list("cron: daily\n      timezone: Etc/UTC"))
    assert text.endswith("# fuzzy: daily\n      timezone: Etc/UTC\n")
