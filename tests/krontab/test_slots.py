"""Slots as krontab shows them, and edits of one of several files."""

from __future__ import annotations

import pytest

from tests.krontab.command import AT, Krontab

POLICY = "@policy(deadline=1h)"
TEXT = f"""\
0 1 * * * {POLICY} name=alone command=/bin/true
0 2 * * * {POLICY} name=job command=/bin/true slots=disk,database
"""


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("jobs.kron", TEXT)
    krontab.write("sizes.kron", "slots: database=1 disk=2\n")
    return krontab


BOTH = ("--file", "jobs.kron", "--file", "sizes.kron", "--at", AT)


def test_list_shows_the_slots_of_each_job(krontab: Krontab) -> None:
    found = krontab("list", *BOTH, "--format", "json").fine().json["jobs"]
    assert {job["name"]: job["slots"] for job in found} == {
        "alone": [],
        "job": ["disk", "database"],
    }
    shown = krontab("list", *BOTH).fine()
    assert shown.lines[0].split()[-1] == "SLOTS"
    assert shown.lines[2].endswith("disk,database")


def test_a_list_without_slots_has_no_column_for_them(krontab: Krontab) -> None:
    assert "SLOTS" not in krontab("list", *BOTH, "--name", "alone").fine().out


def test_explain_shows_them_with_their_sizes(krontab: Krontab) -> None:
    found = krontab("explain", "job", *BOTH, "--format", "json").fine().json
    assert found["slots"] == [{"name": "disk", "size": 2}, {"name": "database", "size": 1}]
    shown = krontab("explain", "job", *BOTH).fine().out
    assert "  slots       disk (2 at a time), database (1 at a time)\n" in shown
    assert "  slots " not in krontab("explain", "alone", *BOTH).fine().out


def test_one_of_several_files_can_be_edited_alone(krontab: Krontab) -> None:
    words = ("--schedule", "daily", "--slots", "tape", "--", "/bin/true")
    krontab("add", "--file", "jobs.kron", "--name", "new", *words).fine()
    assert krontab.read("jobs.kron").endswith("name=new command=/bin/true slots=tape\n")
    krontab("remove", "new", "--file", "jobs.kron").fine()
    assert krontab.read("jobs.kron") == TEXT


def test_lint_of_a_file_alone_says_what_it_lacks(krontab: Krontab) -> None:
    assert krontab("lint", "--no-host", *BOTH).fine().out.startswith("0 errors")
    found = krontab("lint", "--no-host", "--file", "jobs.kron", "--format", "json")
    assert found.code == 1
    assert [each["code"] for each in found.json["findings"]] == ["slot", "slot"]
