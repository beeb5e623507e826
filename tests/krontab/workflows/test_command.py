"""`krontab fuzzy compile` as people and scripts use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kron.fuzzy import scatter
from kron.krontab.workflows.compilation import compile_workflows
from tests.krontab.command import AT, PROGRAM, Krontab
from tests.krontab.workflows.clone import SLUG, Clone

YML = "w.yml"
DAILY = "on:\n  schedule: daily\n"
TITLE = "Schedule Heatmap (UTC)"


def compiled(name: str) -> str:
    cron = scatter("daily", f"{SLUG}/{name}")
    return f'on:\n  schedule:\n    - cron: "{cron}" # fuzzy: daily\n'


def test_it_shows_the_difference_and_what_it_means(clone: Clone) -> None:
    clone.write(YML, DAILY)
    ran = clone.compile(YML)
    cron = scatter("daily", f"{SLUG}/{YML}")
    hour, minute = cron.split()[1], cron.split()[0]
    assert ran.code == 0
    assert ran.lines == [
        f"--- {YML}",
        f"+++ {YML}",
        "@@ -1,2 +1,3 @@",
        " on:",
        "-  schedule: daily",
        "+  schedule:",
        f'+    - cron: "{cron}" # fuzzy: daily',
        "",
        f"SCHEDULE  CRON{' ' * (len(cron) - 2)}MEANING                       FILE",
        f"daily     {cron}  at {int(hour):02d}:{int(minute):02d} every day, UTC time  {YML}:2",
        "",
        "1 schedule in 1 file: 1 file out of date; --write writes them",
    ]


def test_writing_says_where_the_schedules_now_are(clone: Clone) -> None:
    path = clone.write(YML, DAILY)
    ran = clone.compile("--write", YML)
    assert ran.code == 0
    assert path.read_text() == compiled(YML)
    assert ran.lines[1].endswith(f"{YML}:3")
    assert ran.lines[-1] == "1 schedule in 1 file: 1 file written"


def test_check_is_for_ci(clone: Clone) -> None:
    clone.write(YML, DAILY)
    ran = clone.compile("--check", YML)
    assert (ran.code, ran.lines[-1]) == (1, "1 schedule in 1 file: 1 file out of date")
    cron = scatter("daily", f"{SLUG}/{YML}")
    assert ran.err == (
        f'{YML}:2:13: error: the fuzzy schedule "daily" is "{cron}" here, not compiled yet '
        f"[schedule-outdated]\n"
        "    schedule: daily\n"
        "              ^^^^^\n"
        f"  fix: krontab fuzzy compile --write {YML}\n"
    )
    clone.compile("--write", YML)
    ran = clone.compile("--check", YML).fine()
    assert ran.lines[-1] == "1 schedule in 1 file: up to date"


def test_check_tells_of_plain_cron_that_stands_alone(clone: Clone) -> None:
    clone.write(YML, "on:\n  schedule: '0 5 * * 1'\n")
    ran = clone.compile("--check", YML)
    assert ran.code == 1
    assert '"0 5 * * 1" must be in a list for GitHub' in ran.err


def test_json_has_everything_and_no_heatmap(clone: Clone) -> None:
    clone.write("a.yml", DAILY)
    clone.write("b.yml", compiled("b.yml"))
    ran = clone.compile("--format", "json", ".").fine()
    first, second = ran.json["files"]
    assert (first["path"], first["current"], first["written"]) == ("a.yml", False, False)
    assert first["diff"][2:] == [
        "@@ -1,2 +1,3 @@",
        " on:",
        "-  schedule: daily",
        *(f"+{line}" for line in compiled("a.yml").splitlines()[1:]),
    ]
    assert (second["current"], second["diff"]) == (True, [])
    (schedule,) = second["schedules"]
    assert schedule == {
        "line": 3,
        "column": 13,
        "expression": "daily",
        "identifier": f"{SLUG}/b.yml",
        "found": schedule["cron"],
        "cron": scatter("daily", f"{SLUG}/b.yml"),
        "timezone": "UTC",
        "meaning": schedule["meaning"],
        "current": True,
    }
    assert clone.compile("--format", "json", "--write", ".").json["files"][0]["written"]
    ran = clone.compile("--format", "json", "--check", ".")
    assert (ran.code, ran.err, ran.json["action"]) == (0, "", "check")


def test_json_of_a_check_counts_what_is_out_of_date(clone: Clone) -> None:
    clone.write(YML, DAILY)
    ran = clone.compile("--format", "json", "--check", YML)
    assert (ran.code, ran.json["errors"]) == (1, 1)
    assert ran.json["findings"][0]["code"] == "schedule-outdated"


def test_annotations_for_github(clone: Clone) -> None:
    clone.write(YML, "on:\n  schedule:\n    - cron: every 5 minutes\n")
    ran = clone.compile("--check", "--format", "github", YML)
    assert ran.code == 1
    assert ran.err == ""
    assert [line.split("::")[1] for line in ran.lines] == [
        f"{severity} file={YML},line=3,col=13,endColumn=28,title=krontab fuzzy compile%3A {code}"
        for severity, code in (("warning", "FIXED_INTERVAL"), ("error", "schedule-outdated"))
    ]


def test_the_heatmap_goes_to_standard_error_once_all_is_well(clone: Clone) -> None:
    clone.write(YML, DAILY)
    ran = clone.compile(YML)
    assert ran.err.startswith(f"\n{TITLE}\n")
    assert AT in ran.err
    assert TITLE not in ran.out
    assert ran.err == clone.compile(YML).err
    for words in (["--no-heatmap"], ["--check"], ["--format", "json"], ["--format", "github"]):
        assert TITLE not in clone.compile(*words, YML).err
    clone.write("bad.yml", "on:\n  schedule: dayly\n")
    assert TITLE not in clone.compile(".").err


def test_without_schedules_there_is_no_heatmap(clone: Clone) -> None:
    assert clone.compile(".").fine().lines == ["no schedules"]


def test_a_directory_is_searched_for_workflows(clone: Clone) -> None:
    names = [".github/workflows/b.yml", ".github/a.yaml", "sub/dir/c.yml", "a.yml"]
    for name in names:
        clone.write(name, DAILY)
    clone.write("d.md", f"---\n{DAILY}---\n")
    for name in (".hidden.yml", ".other/x.yml", "x.txt", "x.yml.bak", "X.YML", ".github/.x/y.yml"):
        clone.write(name, "on: {schedule: dayly}\n")
    (clone.root / "link.yml").symlink_to("a.yml")
    (clone.root / "links").symlink_to("sub")
    (clone.root / "directory.yml").mkdir()
    found = [each["path"] for each in clone.document(".")["files"]]
    assert found == [*sorted([names[0], names[1]], reverse=False), "a.yml", "d.md", names[2]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("x.md", "# Text\n", id="no-front-matter"),
        pytest.param("x.md", "---\n\nA line across the page, no schedule\n", id="a-line"),
        pytest.param("x.md", "---\ntitle: a: b\n---\n", id="front-matter-of-another-kind"),
        pytest.param("x.yml", "a: {{ template }}\n", id="template"),
        pytest.param("x.yml", "a: 1\n---\nspec:\n  schedule: '* * * * *'\n", id="kubernetes"),
        pytest.param("x.yml", "updates:\n  - schedule:\n      interval: x\n", id="dependabot"),
        pytest.param("x.yml", "\0\1\2", id="binary"),
        pytest.param("x.yml", "", id="empty"),
    ],
)
def test_what_is_no_workflow_is_passed_over_in_a_directory(
    name: str, text: str, clone: Clone
) -> None:
    clone.write(name, text)
    assert clone.compile(".").fine().lines == ["no schedules"]


def test_a_broken_workflow_is_not_passed_over(clone: Clone) -> None:
    clone.write("x.yml", "on:\n  schedule: [daily\n")
    clone.write("y.md", "---\non:\n  schedule: daily\n")
    assert [each["path"] for each in clone.document(".")["findings"]] == ["x.yml", "y.md"]


def test_a_file_that_is_named_twice_is_compiled_once(clone: Clone) -> None:
    clone.write(YML, DAILY)
    files = clone.document(".", YML, f"./{YML}", str(clone.root / YML))["files"]
    assert len(files) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("missing.yml", "file-missing", id="missing"),
        pytest.param("link.yml", "file-symlink", id="link"),
        pytest.param("pipe.yml", "file-kind", id="pipe"),
        pytest.param("w.txt", "file-kind", id="another-suffix"),
    ],
)
def test_a_path_that_is_no_workflow_is_an_error(path: str, code: str, clone: Clone) -> None:
    clone.write("w.txt", DAILY)
    clone.write(YML, DAILY)
    (clone.root / "link.yml").symlink_to(YML)
    os.mkfifo(clone.root / "pipe.yml")
    ran = clone.compile(path)
    assert ran.code == 1
    assert f"[{code}]" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_told_with_its_own_exit_code(clone: Clone) -> None:
    clone.write(YML, DAILY).chmod(0)
    assert clone.compile(YML).code == 2
    clone.write("sub/w.yml", DAILY).parent.chmod(0)
    assert "sub cannot be read: Permission denied [file-unreadable]" in clone.compile("sub").err


def test_a_name_that_the_system_refuses_is_told_with_its_own_exit_code(clone: Clone) -> None:
    ran = clone.compile("x" * 5_000)
    assert ran.code == 2
    assert "cannot be read: File name too long [file-unreadable]" in ran.err


def test_the_command_line_has_to_name_paths_and_one_action(clone: Clone) -> None:
    assert clone.compile().code == 2
    ran = clone.compile("--write", "--check", ".")
    assert ran.code == 2
    assert "not allowed with argument" in ran.err


def test_without_pyyaml_the_error_says_what_to_install(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    ran = clone.compile(".")
    assert ran.code == 2
    assert ran.err == (
        "krontab: workflow files cannot be read: PyYAML is not installed "
        "(pip install 'krond[yaml]')\n"
    )


def test_no_other_command_loads_pyyaml(krontab: Krontab) -> None:
    krontab.write("j.kron", "0 0 * * * name=a command=/bin/true\n")
    words = ["fuzzy", "scatter", "daily", "--id", "a/b/c"]
    program = (
        "import sys; from kron.krontab.program import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 'yaml' in sys.modules or 'pathlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, *words], check=False).returncode == 0


@pytest.mark.heavy
def test_it_works_as_a_process_in_a_pipe(clone: Clone) -> None:
    clone.write(YML, DAILY)
    ran = clone.krontab.process("fuzzy", "compile", "--write", YML)
    assert ran.code == 0
    assert (clone.root / YML).read_text() == compiled(YML)
    help_text = subprocess.run(
        [*PROGRAM, "fuzzy", "compile", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "--repo OWNER/NAME" in help_text


def test_a_terminal_gets_colours_and_a_pipe_none(clone: Clone) -> None:
    clone.write(YML, DAILY)
    assert "\x1b[32m+  schedule:\x1b[0m" in clone.compile("--color", "always", YML).out
    assert "\x1b" not in clone.compile(YML).out


def test_a_terminal_is_not_made_to_obey_a_body(clone: Clone) -> None:
    clone.write("w.md", f"---\n{DAILY}---\n\x1b[2Jbody\r\n")
    assert "\x1b[2Jbody" in clone.compile("w.md").out  # in a pipe the diff is exact
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb") as reading:
        subprocess.run(
            [*PROGRAM, "fuzzy", "compile", "--no-heatmap", "--color", "never", "w.md"],
            cwd=clone.root,
            stdout=theirs,
            check=True,
        )
        os.close(theirs)
        shown = os.read(reading.fileno(), 100_000).decode()
    assert " \ufffd[2Jbody\r\n" in shown
    assert "\x1b" not in shown


def test_distant_changes_are_hunks_of_their_own(clone: Clone) -> None:
    filler = "".join(f"k{number}: {number}\n" for number in range(40))
    times = "x: &x\n- cron: daily\n- cron: |\n   weekly\n- cron: '0 5 * * 1'\n"
    text = f"{times}{filler}y: &y {{cron: hourly}}\n{filler.replace('k', 'l')}"
    path = clone.write(YML, f"{text}on:\n  schedule: [*y, {{cron: bi-weekly}}]\n")
    clone.write("z.yml", f"{text}on:\n  schedule: *x\n")
    ran = clone.compile("--no-heatmap", YML)
    assert [line for line in ran.lines if line.startswith("@@")] == [
        "@@ -43,7 +43,7 @@",
        "@@ -85,4 +85,4 @@",
    ]
    clone.git("apply", "-p0", "-", given=ran.out.split("SCHEDULE ")[0])
    applied = path.read_bytes()
    assert clone.compile("--check", YML).code == 0
    assert path.read_bytes() == applied
    diff = clone.compile("--no-heatmap", "z.yml").out.split("SCHEDULE ")[0]
    assert "@@ -1,7 +1,6 @@" in diff
    clone.git("apply", "-p0", "-", given=diff)
    assert clone.compile("--check", "z.yml").code == 0


def test_a_compilation_gives_every_schedule_as_a_job(clone: Clone) -> None:
    path = clone.write(YML, "on:\n  schedule:\n    - cron: daily\n    - cron: '0 5 * * 1'\n")
    jobs = compile_workflows([str(clone.root)]).jobs
    assert [job.identity for job in jobs] == [f"{path}:3:13", f"{path}:4:13"]
    assert str(jobs[0].schedule.cron) == scatter("daily", f"{SLUG}/{YML}")


def test_counting_what_is_compiled_needs_no_repository(tmp_path: Path) -> None:
    path = tmp_path / YML
    path.write_text(compiled(YML))
    (job,) = compile_workflows([str(path)], trusting=True).jobs
    assert str(job.schedule.cron) == scatter("daily", f"{SLUG}/{YML}")
    path.write_text(DAILY)
    found = compile_workflows([str(path)], trusting=True)
    assert [finding.code for finding in found.errors] == ["repository"]
    (tmp_path / ".git").mkdir()
    (job,) = compile_workflows([str(path)], SLUG, trusting=True).jobs
    assert str(job.schedule.cron) == scatter("daily", f"{SLUG}/{YML}")
