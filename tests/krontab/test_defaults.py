"""Defaults as krontab shows them: what applies and whence, and that edits leave it alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.krontab.command import AT, Krontab

TEXT = """\
0 1 * * * name=before command=/bin/true
defaults: @policy(deadline=1h) user=root env=TOKEN=secret timeout=2h
0 2 * * * @policy(concurrency=allow) name=job command=/bin/true
0 3 * * * @policy(deadline=5m) name=own command=/bin/true user=root env=TOKEN=x timeout=1h
"""


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("jobs.kron", TEXT)
    return krontab


def ask(krontab: Krontab, *words: str) -> Any:
    return krontab(*words, "--file", "jobs.kron", "--at", AT)


def test_list_shows_what_applies_and_whence(krontab: Krontab) -> None:
    found = ask(krontab, "list", "--format", "json").fine().json["jobs"]
    path = krontab.path("jobs.kron")
    fields = ["@policy(deadline=1h)", "user=root", "timeout=2h", "env=TOKEN"]
    assert {job["name"]: job["defaults"] for job in found} == {
        "before": None,
        "job": {"path": path, "line": 2, "fields": fields},
        "own": {"path": path, "line": 2, "fields": []},
    }
    schedules = {job["name"]: (job["schedule"], job["user"]) for job in found}
    assert schedules["job"] == ("0 2 * * * @policy(concurrency=allow,deadline=1h)", "root")
    shown = ask(krontab, "list").fine()
    assert shown.lines[0].split()[-1] == "DEFAULTS"
    assert shown.lines[2].endswith("line 2: @policy(deadline=1h) user=root timeout=2h env=TOKEN")
    assert shown.lines[3].endswith("line 2")
    assert "secret" not in shown.out


def test_a_list_without_defaults_has_no_column_for_them(krontab: Krontab) -> None:
    krontab.write("jobs.kron", TEXT.splitlines(keepends=True)[0])
    assert "DEFAULTS" not in ask(krontab, "list").fine().out


def test_explain_shows_what_applies_and_whence(krontab: Krontab) -> None:
    path = krontab.path("jobs.kron")
    shown = ask(krontab, "explain", "job").fine().out
    assert (
        f"  defaults    @policy(deadline=1h), user=root, timeout=2h, env=TOKEN ({path}:2)\n"
        in shown
    )
    assert "may start 1h late" in shown
    assert "secret" not in shown
    document = ask(krontab, "explain", "job", "--format", "json").fine().json
    assert (document["defaults"]["line"], document["policy"]["deadline"]) == (2, "1h")
    assert "defaults" not in ask(krontab, "explain", "before").fine().out
    assert ask(krontab, "explain", "before", "--format", "json").json["defaults"] is None


def test_an_error_in_the_defaults_is_reported_once(krontab: Krontab) -> None:
    krontab.write("jobs.kron", TEXT.replace("timeout=2h", "timeout=2d"))
    found = krontab("lint", "--file", "jobs.kron", "--format", "json").json["findings"]
    assert [(each["code"], each["line"]) for each in found] == [("duration", 2)]


def test_a_job_is_added_and_removed_below_defaults(krontab: Krontab) -> None:
    words = ("--schedule", "0 4 * * *", "--name", "new", "--", "/bin/echo", "$HOME")
    krontab("add", "--file", "jobs.kron", *words).fine()
    line = '0 4 * * * name=new command="/bin/echo $HOME"'
    assert krontab.read("jobs.kron") == f"{TEXT}defaults:\n{line}\n"
    krontab("remove", "new", "--file", "jobs.kron").fine()
    assert krontab.read("jobs.kron") == TEXT


def test_an_import_can_be_added_to_a_file_with_defaults(krontab: Krontab) -> None:
    krontab.write("old.crontab", "LANG=C\n0 5 * * * /bin/x\n")
    lines = krontab("import", "old.crontab", "--user", "root", "--tz", "UTC").out
    krontab("add", "--file", "jobs.kron", given=lines).fine()
    assert krontab.read("jobs.kron") == f"{TEXT}{lines}"
