"""krontab list: all jobs with their next run, sorted and filtered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.krontab.command import AT, Krontab, make_directory

FIRST = """\
0 2 * * * name=db/backup command="/bin/backup --all" user=postgres description="nightly dump"
0 1 * * * name=web command=/bin/web
"""
SECOND = """\
# a comment
0 3 * * * @policy(suspend=true) name=asleep command=/bin/sleep user=root

0 4 1 1 * @avoid(hours=4) name=never command=/bin/never
0 0 29 2 * name=db/leap command=/bin/leap user=postgres
"""


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("d/b.kron", FIRST)
    krontab.write("d/a.kron", SECOND)
    return krontab


def names(krontab: Krontab, *more: str) -> list[str]:
    words = ("list", "--file", "d", "--at", AT, *more)
    document: Any = krontab(*words, "--format", "json").fine().json
    listed = [str(job["name"]) for job in document["jobs"]]
    lines = krontab(*words).lines
    assert [line.split()[0] for line in lines[1:]] == listed
    return listed


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param((), "web db/backup db/leap asleep never", id="next-is-the-default"),
        pytest.param(("--sort", "next"), "web db/backup db/leap asleep never", id="next"),
        pytest.param(("--sort", "name"), "asleep db/backup db/leap never web", id="name"),
        pytest.param(("--sort", "file"), "asleep never db/leap db/backup web", id="file"),
        pytest.param(
            ("--sort", "name", "--reverse"), "web never db/leap db/backup asleep", id="reverse"
        ),
    ],
)
def test_the_order_is_the_one_that_is_asked_for(
    krontab: Krontab, options: tuple[str, ...], expected: str
) -> None:
    assert names(krontab, *options) == expected.split()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(("--name", "db/*"), "db/backup db/leap", id="star"),
        pytest.param(("--name", "we?"), "web", id="question-mark"),
        pytest.param(("--name", "web"), "web", id="plain"),
        pytest.param(("--user", "postgres"), "db/backup db/leap", id="user"),
        pytest.param(("--user", "postgres", "--name", "*leap"), "db/leap", id="both"),
    ],
)
def test_a_filter_leaves_out_the_rest(
    krontab: Krontab, options: tuple[str, ...], expected: str
) -> None:
    assert names(krontab, *options) == expected.split()


def test_a_filter_that_nothing_matches_says_so(krontab: Krontab) -> None:
    ran = krontab("list", "--file", "d", "--name", "WEB")
    assert (ran.code, ran.out) == (0, "")
    assert "no job matches" in ran.err
    ran = krontab("list", "--file", "d", "--name", "WEB", "--format", "json")
    assert ran.fine().json["jobs"] == []


def test_no_configuration_at_all_says_what_to_do(krontab: Krontab) -> None:
    krontab.write("empty/readme.txt", "no krontab file")
    ran = krontab("list", "--file", "empty")
    assert (ran.code, ran.out) == (0, "")
    assert "krontab add" in ran.err


def test_the_table_shows_when_how_far_and_where(krontab: Krontab) -> None:
    place = krontab.path("d")
    assert krontab("list", "--file", "d", "--at", AT).fine().lines == [
        "NAME       NEXT RUN (UTC)          IN  SCHEDULE                         FILE",
        f"web        2026-03-01T01:00:00Z    1h  0 1 * * *                        {place}/b.kron:2",
        f"db/backup  2026-03-01T02:00:00Z    2h  0 2 * * *                        {place}/b.kron:1",
        f"db/leap    2028-02-29T00:00:00Z  730d  0 0 29 2 *                       {place}/a.kron:5",
        f"asleep     suspended                   0 3 * * * @policy(suspend=true)  {place}/a.kron:2",
        f"never      none soon                   0 4 1 1 * @avoid(hours=4)        {place}/a.kron:4",
    ]


def test_json_says_everything_about_a_job(krontab: Krontab) -> None:
    words = ("list", "--file", "d", "--at", AT, "--format", "json", "--name")
    path = krontab.path("d/b.kron")
    assert krontab(*words, "db/backup").fine().json == {
        "schema": "krontab.list/1",
        "at": AT,
        "jobs": [
            {
                "name": "db/backup",
                "identity": f"{path}:db/backup",
                "path": path,
                "line": 1,
                "defaults": None,
                "schedule": "0 2 * * *",
                "timezone": "UTC",
                "command": "/bin/backup --all",
                "user": "postgres",
                "description": "nightly dump",
                "slots": [],
                "hooks": [],
                "retries": None,
                "cgroup_limits": [],
                "suspended": False,
                "at_boot": False,
                "next_period": "2026-03-01T02:00:00Z",
                "next_run": "2026-03-01T02:00:00Z",
            }
        ],
    }
    for name, suspended in (("asleep", True), ("never", False)):
        (job,) = krontab(*words, name).json["jobs"]
        assert (job["suspended"], job["next_period"], job["next_run"]) == (suspended, None, None)


def test_names_are_one_a_line_for_scripts(krontab: Krontab) -> None:
    krontab.write("d/c.kron", "0 0 * * * name=web command=/bin/true\n")
    ran = krontab("list", "--file", "d", "--format", "names").fine()
    assert ran.lines == ["asleep", "db/backup", "db/leap", "never", "web"]


def test_a_run_that_constraints_put_far_off_is_still_found(krontab: Krontab) -> None:
    krontab.write("far.kron", "*/10 * * * * @only(dates=2026-05-01..2026-05-02) name=a command=x\n")
    (job,) = krontab("list", "--file", "far.kron", "--at", AT, "--format", "json").json["jobs"]
    assert job["next_run"] == "2026-05-01T00:00:00Z"


def test_files_and_directories_are_read_together_and_once(krontab: Krontab) -> None:
    krontab.write("e.kron", "0 0 * * * name=e command=/bin/true\n")
    krontab.write("d/hidden.txt", "this is no krontab file")
    words = ("--file", "d", "--file", "d/b.kron", "--file", "e.kron", "--format", "names")
    assert krontab("list", *words).fine().lines == [
        "asleep",
        "db/backup",
        "db/leap",
        "e",
        "never",
        "web",
    ]


def test_a_user_has_a_directory_of_their_own(krontab: Krontab) -> None:
    directory = make_directory(krontab.home / ".config/krond")
    (directory / "mine.kron").write_text("0 0 * * * name=mine-alone command=/bin/true\n")
    (directory / "mine.kron").chmod(0o644)
    assert "mine-alone" in krontab("list", "--format", "names").fine().lines
    assert krontab("next", "mine-alone", "--at", AT).fine().lines[1].startswith(AT)


def test_all_errors_of_all_files_are_told_at_once(krontab: Krontab) -> None:
    krontab.write("d/c.kron", "0 25 * * * name=x command=y\n0 0 * * * nam=x command=y\n")
    krontab.write("d/e.kron", "0 0 * * * name=X command=y\n")
    ran = krontab("list", "--file", "d", "--file", "missing.kron")
    assert (ran.code, ran.out) == (1, "")
    for place in ("d/c.kron:1:3", "d/c.kron:2:11", "d/e.kron:1:16", "missing.kron"):
        assert f"{krontab.path(place)}: error: " in ran.err
    assert "  0 25 * * * name=x command=y\n    ^^\n" in ran.err
    assert 'did you mean "name"?' in ran.err
