"""Jobs with `@reboot` in the answers of krontab: they run once a boot, and no clock says when."""

from __future__ import annotations

import pytest

from tests.krontab.command import AT, Krontab

JOBS = """\
@reboot name=warm command=/bin/true slots=disk timeout=1h
@reboot @policy(deadline=10m,suspend=true) name=asleep command=/bin/true
0 3 * * * @win(after,1h) @policy(deadline=1h) name=nightly command=/bin/true
slots: disk=1
"""
OF_A_DECISION = ("period", "nominal", "window_start", "window_end", "seed_hash", "chosen", "local")


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("jobs.kron", JOBS)
    return krontab


def test_list_says_at_the_next_boot(krontab: Krontab) -> None:
    words = ("list", "--file", "jobs.kron", "--at", AT)
    rows = {line.split()[0]: line for line in krontab(*words).fine().lines}
    assert " at the next boot " in rows["warm"]
    assert " suspended " in rows["asleep"]
    jobs = {job["name"]: job for job in krontab(*words, "--format", "json").fine().json["jobs"]}
    assert [jobs[name]["at_boot"] for name in ("warm", "asleep", "nightly")] == [True, True, False]
    assert jobs["warm"]["next_run"] is None


def test_next_has_no_run_to_show(krontab: Krontab) -> None:
    words = ("next", "warm", "--file", "jobs.kron", "--at", AT)
    ran = krontab(*words)
    assert (ran.code, len(ran.lines)) == (0, 1)
    assert "no clock says when" in ran.err
    document = krontab(*words, "--format", "json").fine().json
    assert (document["at_boot"], document["runs"]) == (True, [])


def test_explain_says_what_there_is_to_say(krontab: Krontab) -> None:
    words = ("explain", "warm", "--file", "jobs.kron", "--at", AT)
    text = krontab(*words).fine().out
    for said in ("once in each boot", "disk (1 at a time)", "first starts", "never late"):
        assert said in text
    document = krontab(*words, "--format", "json").fine().json
    assert (document["match"], document["canonical"]) == ("boot", "@reboot")
    assert {document[key] for key in OF_A_DECISION} == {None}
    late = krontab("explain", "asleep", *words[2:]).fine().out
    assert "may start 10m late; SUSPENDED" in late


def test_lint_has_nothing_against_it(krontab: Krontab) -> None:
    words = ("lint", "--file", "jobs.kron", "--no-host", "--at", AT)
    assert krontab(*words).fine().lines == ["0 errors, 0 warnings in 3 jobs of 1 file"]


def test_many_of_them_are_no_crowd_of_a_minute(krontab: Krontab) -> None:
    krontab.write("many.kron", "".join(f"@reboot name=j{n} command=/bin/true\n" for n in range(50)))
    krontab("lint", "--file", "many.kron", "--no-host", "--at", AT).fine()


def test_heatmap_counts_them_apart(krontab: Krontab) -> None:
    ran = krontab("heatmap", "jobs.kron", "--at", AT)
    assert "1 job (1 more suspended, 1 more once a boot), 7 runs a week" in ran.err
    krontab.write("boot.kron", "@reboot name=a command=/bin/true\n")
    ran = krontab("heatmap", "boot.kron", "--at", AT, "--minute")
    assert ran.err.startswith("nothing is scheduled: 1 job runs once a boot")


def test_diff_shows_the_runs_that_a_job_has_no_longer(krontab: Krontab) -> None:
    krontab.write("new.kron", JOBS.replace("0 3 * * * @win(after,1h)", "@reboot"))
    lines = krontab("diff", "jobs.kron", "new.kron", "--at", AT).lines
    assert lines[0].startswith("changed nightly  (7 runs)")
    assert "no longer at" in lines[1]


def test_add_takes_it_and_says_what_is_wrong_with_a_window(krontab: Krontab) -> None:
    words = ("add", "--file", "jobs.kron", "--name", "new", "--command", "/bin/true", "--schedule")
    krontab(*words, "@reboot").fine()
    ran = krontab(*words, "@reboot @win(after,5m)")
    assert ran.code == 1
    assert "@win does not go with @reboot" in ran.err


def test_a_line_of_a_crontab_is_known_as_one(krontab: Krontab) -> None:
    krontab.write("tab.kron", "@reboot /bin/true --all\n")
    ran = krontab("lint", "--file", "tab.kron")
    assert ran.code == 1
    assert "this is a line of a crontab" in ran.out
