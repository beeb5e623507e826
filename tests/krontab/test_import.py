"""krontab import: the command around the conversion, which tests/jobs tests line by line."""

from __future__ import annotations

import pytest

from tests.krontab.command import AT, Krontab

USERS = """\
# backups
PATH=/usr/bin:/bin
0 0 * * * /bin/true --all
@daily echo "good morning" | tee /tmp/x
0 0 31 2 * /bin/never
@reboot /bin/start
CONTENT_TYPE=text/html
"""
SYSTEMS = "17 * * * * root cd / && run-parts --report /etc/cron.hourly\n0 0 * * * www-data /bin/w\n"
UTC = ("--tz", "UTC")


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("user.crontab", USERS)
    krontab.write("system.crontab", SYSTEMS)
    krontab.write("wrong.crontab", "0 25 * * * /bin/true\n0 0 * * * /bin/true\n")
    return krontab


def test_lines_go_to_standard_output_and_what_is_left_out_to_standard_error(
    krontab: Krontab,
) -> None:
    ran = krontab("import", "--user", "nobody", *UTC, "user.crontab")
    assert ran.code == 0
    assert ran.out.startswith("# backups\n")
    for left_out in ("0 0 31 2 * /bin/never", "CONTENT_TYPE=text/html"):
        assert f"# not carried over: {left_out} [" in ran.out
        assert f"  {left_out}\n" in ran.err
    assert "times without CRON_TZ are in UTC" in ran.err
    assert "\n@reboot name=start-at-boot command=/bin/start\n" in ran.out


@pytest.mark.parametrize(
    ("options", "file"),
    [
        pytest.param(("--user", "nobody"), "user.crontab", id="user"),
        pytest.param(("--system",), "system.crontab", id="system"),
        pytest.param(("--user", "nobody", "--spread", "15m"), "user.crontab", id="spread"),
        pytest.param(("--system", "--spread", "auto"), "system.crontab", id="spread-auto"),
        pytest.param(("--user", "nobody", "--no-environment"), "user.crontab", id="bare"),
        pytest.param(("--user", "nobody", "--tz", "Asia/Tokyo"), "user.crontab", id="zone"),
    ],
)
def test_the_result_lints_clean(krontab: Krontab, options: tuple[str, ...], file: str) -> None:
    ran = krontab("import", *UTC, *options, file)
    assert ran.code == 0
    linted = krontab("lint", "--file", "-", "--no-host", "--at", AT, given=ran.out)
    assert linted.code == 0
    assert " 0 errors" in f" {linted.out}"
    assert krontab("list", "--file", "-", "--format", "names", given=ran.out).lines


def test_a_window_is_proposed_if_that_is_asked_for(krontab: Krontab) -> None:
    words = ("import", "--user", "nobody", *UTC, "user.crontab")
    assert "@win" not in krontab(*words).out
    assert krontab(*words, "--spread", "15m").out.count("@win(after,15m)") == 2
    assert krontab(*words, "--spread", "auto").out.count("@win(after,") == 2


def test_several_crontabs_become_one_file_without_a_name_twice(krontab: Krontab) -> None:
    krontab.write("other.crontab", USERS)
    words = ("import", "--user", "nobody", *UTC, "user.crontab", "other.crontab")
    ran = krontab(*words)
    assert "# from user.crontab\n" in ran.out
    assert "# from other.crontab\n" in ran.out
    names = krontab("list", "--file", "-", "--format", "names", given=ran.out).fine().lines
    assert len(names) == 6
    assert {name.partition("/")[0] for name in names} == {"user-crontab", "other-crontab"}


@pytest.mark.parametrize(
    ("files", "names"),
    [
        pytest.param(("-", "a"), ["-/b", "a/b"], id="standard input"),
        pytest.param(("./-x", "./A.b"), ["-x/b", "a-b/b"], id="only what is not valid is changed"),
        pytest.param(("./A", "./_a_"), ["a/b", "a/b-2"], id="alike once they are changed"),
        pytest.param(("./é", "./ü", "a"), ["file/b", "file-2/b", "a/b"], id="nothing is left"),
    ],
)
def test_every_job_of_several_crontabs_has_a_name_of_its_own(
    krontab: Krontab, files: tuple[str, ...], names: list[str]
) -> None:
    line = "0 0 * * * root /bin/b\n"
    for file in files:
        if file != "-":
            krontab.write(file, line)
    ran = krontab("import", "--system", *UTC, "--format", "json", *files, given=line).fine()
    assert [name for file in ran.json["files"] for name in file["jobs"]] == names


def test_json_has_lines_and_findings_by_file(krontab: Krontab) -> None:
    words = ("import", "--user", "nobody", *UTC, "--format", "json")
    document = krontab(*words, "user.crontab").fine().json
    (file,) = document["files"]
    assert (file["kind"], file["user"], file["path"]) == ("user", "nobody", "user.crontab")
    printed = krontab(*words[:-2], "user.crontab")
    assert "\n".join(file["lines"]) + "\n" == printed.out
    assert len(file["jobs"]) == 3
    assert {finding["severity"] for finding in file["findings"]} == {"warning"}
    wrong = krontab(*words, "wrong.crontab")
    assert wrong.code == 1
    assert [f["severity"] for f in wrong.json["files"][0]["findings"]].count("error") == 1


def test_a_wrong_line_is_told_and_the_others_are_carried_over(krontab: Krontab) -> None:
    ran = krontab("import", "--user", "nobody", *UTC, "wrong.crontab")
    assert ran.code == 1
    assert "wrong.crontab:1:3: error: " in ran.err
    assert krontab("list", "--file", "-", "--format", "names", given=ran.out).fine().lines


def test_standard_input_is_a_crontab_too(krontab: Krontab) -> None:
    words = ("import", "--user", "nobody", *UTC)
    assert krontab(*words, "-", given=USERS).out == krontab(*words, "user.crontab").out


def test_the_zone_of_the_host_does_not_come_in_by_the_environment_of_a_reader(
    krontab: Krontab,
) -> None:
    words = ("import", "--user", "nobody", "--tz", "Europe/Paris", "user.crontab")
    plain = krontab.process(*words)
    assert krontab.process(*words, environment={"TZ": "Asia/Tokyo"}) == plain
    assert plain.out.count("@tz(Europe/Paris)") == 2


def test_an_unknown_zone_is_refused(krontab: Krontab) -> None:
    ran = krontab("import", "--user", "nobody", "--tz", "Europe/Pariss", "user.crontab")
    assert ran.code in (1, 2)
    assert "Europe/Paris" in ran.err
    assert "name=" not in ran.out
