"""krontab diff: what changes in chosen times if one configuration takes the place of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.instant import from_text, to_datetime
from tests.krontab.command import AT, Krontab

A_LINE = "0 2 * * * @win(after,3h) name=backup command=/bin/true"
B_LINE = "0 2 * * * @win(after,4h) name=backup command=/bin/true"


def compared(krontab: Krontab, *more: str) -> Any:
    words = ("diff", "a.kron", "b.kron", "--at", AT, *more)
    return krontab(*words, "--format", "json").fine().json


def write(krontab: Krontab, before: str, after: str) -> None:
    krontab.write("a.kron", f"{before}\n")
    krontab.write("b.kron", f"{after}\n")


@pytest.mark.parametrize(
    ("before", "after", "change", "runs"),
    [
        pytest.param(A_LINE, A_LINE, None, 0, id="same"),
        pytest.param(A_LINE, A_LINE.replace("true", "false"), None, 0, id="another-command"),
        pytest.param(A_LINE, A_LINE.replace("3h)", "180m)"), None, 0, id="the-same-in-other-words"),
        pytest.param("", A_LINE, "added", 7, id="added"),
        pytest.param(A_LINE, "", "removed", 7, id="removed"),
        pytest.param(A_LINE, B_LINE, "changed", 7, id="moved"),
        pytest.param(A_LINE, A_LINE.replace("0 2 * * *", "0 2 * * MON"), "changed", 6, id="fewer"),
        pytest.param(
            A_LINE.replace("@win", "@policy(suspend=true) @win"), A_LINE, "changed", 7, id="woken"
        ),
        pytest.param(
            A_LINE, A_LINE.replace("@win", "@policy(suspend=true) @win"), "changed", 7, id="asleep"
        ),
        pytest.param(
            A_LINE,
            A_LINE.replace("@win", "@avoid(dates=2026-03-03..2026-03-04) @win"),
            "changed",
            2,
            id="no-longer-schedulable",
        ),
    ],
)
def test_what_changes_is_told_by_job_and_run(
    krontab: Krontab, before: str, after: str, change: str | None, runs: int
) -> None:
    write(krontab, before, after)
    document = compared(krontab)
    if change is None:
        assert (document["jobs"], document["same"]) == ([], 1)
        return
    (job,) = document["jobs"]
    assert (job["job"], job["change"], len(job["runs"])) == ("backup", change, runs)
    assert document["same"] == 0
    for run in job["runs"]:
        assert run["before"] != run["after"]
        assert (run["before"] is None) >= (change == "added")
        assert (run["after"] is None) >= (change == "removed")


def test_b_is_read_as_if_it_lay_where_a_lies(krontab: Krontab) -> None:
    """A job's identity, and so its times, follow from its place: a copy must not differ."""
    krontab.write("a.kron", f"{A_LINE}\n")
    path = krontab.write("elsewhere/b.kron", f"{A_LINE}\n")
    words = ("diff", "a.kron", path, "--at", AT, "--format", "json")
    assert krontab(*words).fine().json["jobs"] == []
    krontab.write("elsewhere/b.kron", f"{B_LINE}\n")
    (job,) = krontab(*words).json["jobs"]
    schedule = kron.parse_schedule("0 2 * * * @win(after,4h)")
    identity = f"{krontab.path('a.kron')}:backup"
    for run in job["runs"]:
        nominal = to_datetime(from_text(run["period"]))
        decision = kron.decide(schedule, identity=identity, nominal=nominal)
        assert decision.chosen_time is not None
        assert run["after"] == decision.chosen_time.isoformat()[:19] + "Z"


def test_a_fuzzy_schedule_is_scattered_as_if_it_lay_where_a_lies(krontab: Krontab) -> None:
    line = "daily between 9:00 and 17:00 name=tea command=/bin/true"
    write(krontab, line, line)
    assert compared(krontab)["jobs"] == []
    write(krontab, line, line.replace("9:00 and 17:00", "18:00 and 20:00"))
    (job,) = compared(krontab)["jobs"]
    assert len(job["runs"]) == 14  # seven that go and seven that come


def test_a_node_id_is_part_of_both_identities(krontab: Krontab) -> None:
    write(krontab, A_LINE, B_LINE)
    plain = compared(krontab)
    noded = compared(krontab, "--node-id", "web-17")
    assert [run["before"] for run in plain["jobs"][0]["runs"]] != [
        run["before"] for run in noded["jobs"][0]["runs"]
    ]
    write(krontab, A_LINE, A_LINE)
    assert compared(krontab, "--node-id", "web-17")["jobs"] == []


def test_the_days_bound_what_is_looked_at(krontab: Krontab) -> None:
    write(krontab, "", "0 0 * * * name=midnight command=/bin/true")
    for days, until in ((1, "2026-03-02"), (7, "2026-03-08"), (366, "2027-03-02")):
        document = compared(krontab, "--days", str(days))
        assert len(document["jobs"][0]["runs"]) == days
        assert (document["at"], document["until"]) == (AT, f"{until}T00:00:00Z")


def test_a_moved_run_is_one_run_with_its_distance(krontab: Krontab) -> None:
    write(krontab, A_LINE, A_LINE.replace("@win(after,3h) ", ""))
    shown = krontab("diff", "a.kron", "b.kron", "--at", AT, "--days", "1").fine()
    (run,) = compared(krontab, "--days", "1")["jobs"][0]["runs"]
    assert run["after"] == "2026-03-01T02:00:00Z"
    assert shown.lines[0] == "changed backup  (1 run)"
    start = f"  2026-03-01T02:00:00Z: {run['before']} -> {run['after']} (-"
    assert shown.lines[1].startswith(start)


def test_runs_that_come_and_go_say_so(krontab: Krontab) -> None:
    write(
        krontab,
        "0 5 * * * name=old command=/bin/true\n0 0 * * * name=kept command=/bin/true",
        "0 6 * * * name=new command=/bin/true\n0 0 * * * name=kept command=/bin/true",
    )
    shown = krontab("diff", "a.kron", "b.kron", "--at", AT, "--days", "2").fine()
    assert shown.lines == [
        "added   new  (2 runs)",
        "  2026-03-01T06:00:00Z: now at 2026-03-01T06:00:00Z",
        "  2026-03-02T06:00:00Z: now at 2026-03-02T06:00:00Z",
        "removed old  (2 runs)",
        "  2026-03-01T05:00:00Z: no longer at 2026-03-01T05:00:00Z",
        "  2026-03-02T05:00:00Z: no longer at 2026-03-02T05:00:00Z",
        "2 jobs differ in the next 2 days, 1 does not",
    ]


def test_many_runs_are_shown_when_they_are_asked_for(krontab: Krontab) -> None:
    write(krontab, "", "0 * * * * name=hourly command=/bin/true")
    words = ("diff", "a.kron", "b.kron", "--at", AT)
    shown = krontab(*words).fine()
    assert "  ... and 163 more (--all shows them)" in shown.lines
    assert len(krontab(*words, "--all").lines) == 168 + 2


def test_directories_are_compared_file_by_file(krontab: Krontab) -> None:
    krontab.write("a/one.kron", f"{A_LINE}\n")
    krontab.write("a/two.kron", f"{A_LINE}\n")
    krontab.write("b/two.kron", f"{B_LINE}\n")
    krontab.write("b/three.kron", f"{A_LINE}\n")
    krontab.write("b/notes.txt", "not a krontab file")
    document = krontab("diff", "a", "b", "--at", AT, "--format", "json").fine().json
    assert [(job["job"], job["change"]) for job in document["jobs"]] == [
        ("one.kron:backup", "removed"),
        ("three.kron:backup", "added"),
        ("two.kron:backup", "changed"),
    ]
    same = krontab("diff", "a", "a", "--at", AT, "--format", "json").json
    assert (same["jobs"], same["same"]) == ([], 2)


def test_a_copy_of_a_directory_does_not_differ(krontab: Krontab) -> None:
    lines = f"{A_LINE}\ndaily name=fuzzy command=/bin/true\n"
    krontab.write("a/one.kron", lines)
    krontab.write("b/one.kron", lines)
    assert krontab("diff", "a", "b", "--at", AT, "--exit-code").code == 0
    assert krontab("diff", "a/", "./b/../b", "--at", AT, "--exit-code").code == 0


def test_with_exit_code_a_difference_ends_with_1(krontab: Krontab) -> None:
    write(krontab, A_LINE, B_LINE)
    words = ("diff", "a.kron", "b.kron", "--at", AT)
    assert krontab(*words).code == 0
    assert krontab(*words, "--exit-code").code == 1
    assert krontab(*words, "--exit-code", "--format", "json").code == 1
    assert krontab("diff", "a.kron", "a.kron", "--exit-code").code == 0


def test_a_file_and_a_directory_are_not_compared(krontab: Krontab) -> None:
    krontab.write("a.kron", f"{A_LINE}\n")
    krontab.write("d/a.kron", f"{A_LINE}\n")
    for words in (("a.kron", "d"), ("d", "a.kron")):
        ran = krontab("diff", *words)
        assert (ran.code, ran.out) == (1, "")
        assert "not both files or both directories" in ran.err


def test_errors_of_either_side_are_told(krontab: Krontab) -> None:
    write(krontab, A_LINE, "0 25 * * * name=x command=y")
    for words in (("a.kron", "b.kron"), ("b.kron", "a.kron")):
        ran = krontab("diff", *words)
        assert (ran.code, ran.out) == (1, "")
        assert f"{krontab.path('b.kron')}:1:3: error: " in ran.err


def test_the_same_moment_in_the_far_future_does_not_fail(krontab: Krontab) -> None:
    write(krontab, A_LINE, B_LINE)
    words = ("diff", "a.kron", "b.kron", "--at", "2999-12-31T23:00:00Z", "--format", "json")
    assert krontab(*words).fine().json["until"] == "3000-01-07T23:00:00Z"


def test_a_link_is_followed_only_if_that_is_allowed(krontab: Krontab) -> None:
    write(krontab, A_LINE, B_LINE)
    Path(krontab.path("link.kron")).symlink_to(krontab.path("b.kron"))
    ran = krontab("diff", "a.kron", "link.kron")
    assert (ran.code, ran.out) == (1, "")
    assert "is a symbolic link" in ran.err
    assert krontab("diff", "a.kron", "link.kron", "--allow-insecure-config").code == 0
