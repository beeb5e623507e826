"""krontab add and remove: checked before anything is written, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kron.krontab.target
from kron.jobs.document import read_document
from kron.jobs.fields import FIELDS
from tests.krontab.command import AT, Krontab
from tests.soak import examples

JOB = ("--schedule", "0 2 * * *", "--name", "new", "--command", "/bin/true")
LINE = "0 2 * * * name=new command=/bin/true\n"
ODD = (
    "# a comment with trailing spaces   \n"
    "\n"
    "\t \n"
    '  0\t1 * * *   @seed(stable,salt="ä b") name=first    command="/bin/echo  \\"é\\""   \n'
    "#0 0 * * * name=off command=/bin/off\n"
    "0 0 * * * name=last command=/bin/last"
)


def add(krontab: Krontab, *words: str, file: str = "jobs.kron", given: str = "") -> Any:
    return krontab("add", "--file", file, *words, given=given)


def only_entry(krontab: Krontab, file: str = "jobs.kron") -> Any:
    document = read_document(krontab.read(file).encode(), krontab.path(file))
    assert document.findings == ()
    (entry,) = document.entries
    return entry


def test_a_new_file_holds_the_job_alone(krontab: Krontab) -> None:
    ran = add(krontab, *JOB).fine()
    assert ran.out == f"added new to {krontab.path('jobs.kron')}\n"
    assert krontab.read("jobs.kron") == LINE
    assert stat.S_IMODE(Path(krontab.path("jobs.kron")).stat().st_mode) == 0o644
    assert krontab("next", "new", "--file", "jobs.kron", "--at", AT).code == 0


@pytest.mark.parametrize("end", ["\n", ""], ids=["usual", "last-line-without-its-end"])
def test_adding_leaves_the_rest_as_it_is_byte_for_byte(krontab: Krontab, end: str) -> None:
    krontab.write("jobs.kron", f"{ODD}{end}", mode=0o600)
    add(krontab, *JOB).fine()
    assert krontab.read("jobs.kron").removesuffix("\n") == f"{ODD}\n{LINE}".removesuffix("\n")
    assert stat.S_IMODE(Path(krontab.path("jobs.kron")).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "left"),
    [
        pytest.param("first", "".join(ODD.splitlines(True)[:3] + ODD.splitlines(True)[4:]), id="1"),
        pytest.param("last", ODD.rpartition("\n")[0], id="last-line-without-its-end"),
    ],
)
def test_removing_leaves_the_rest_as_it_is_byte_for_byte(
    krontab: Krontab, name: str, left: str
) -> None:
    krontab.write("jobs.kron", ODD)
    ran = krontab("remove", name, "--file", "jobs.kron").fine()
    assert ran.out == f"removed {name} from {krontab.path('jobs.kron')}\n"
    assert krontab.read("jobs.kron") == left


@pytest.mark.parametrize("end", ["\n", ""], ids=["usual", "last-line-without-its-end"])
def test_what_is_added_and_removed_leaves_no_trace(krontab: Krontab, end: str) -> None:
    text = f"{ODD}{end}"
    krontab.write("jobs.kron", text)
    add(krontab, *JOB).fine()
    krontab("remove", "new", "--file", "jobs.kron").fine()
    assert krontab.read("jobs.kron") == text
    assert [path.name for path in krontab.directory.iterdir()] == ["jobs.kron"]


def test_every_field_has_an_option(krontab: Krontab) -> None:
    values = {key: field.example.strip('"') for key, field in FIELDS.items()}
    words = [word for key in FIELDS for word in (f"--{key.replace('_', '-')}", values[key])]
    add(krontab, "--schedule", "0 2 * * * @win(after,1h)", *words).fine()
    entry = only_entry(krontab)
    written = [word.partition("=")[0] for word in krontab.read("jobs.kron").split() if "=" in word]
    assert written == list(FIELDS)
    assert entry.name == "db-backup"
    assert entry.task.argv == ("/bin/sh", "-c", "/usr/bin/backup --all")
    assert entry.description == "nightly dump"
    assert dict(entry.task.limits)["as"] == 512 * 2**20


def test_a_field_that_may_be_repeated_may_be(krontab: Krontab) -> None:
    add(krontab, *JOB, "--env", "A=1 2", "--env", "B=").fine()
    assert only_entry(krontab).task.env == (("A", "1 2"), ("B", ""))


@pytest.mark.parametrize(
    "words",
    [
        ("/bin/echo",),
        ("/bin/echo", "a b", "", '"', "\\", "$HOME", "*", "it's", "--all", "-x", "é\t"),
        ("/opt/my program/run", "--", "x"),
        ("echo", "name=x", "@win(after,1h)", "#"),
        ("--odd", "-program"),
    ],
)
def test_the_words_behind_two_hyphens_are_the_command(
    krontab: Krontab, words: tuple[str, ...]
) -> None:
    add(krontab, *JOB[:4], "--", *words).fine()
    assert only_entry(krontab).task.argv == words


def test_a_command_as_text_is_written_as_a_file_has_it(krontab: Krontab) -> None:
    add(krontab, *JOB[:4], "--command", '/bin/echo "a b" c').fine()
    assert only_entry(krontab).task.argv == ("/bin/echo", "a b", "c")
    assert krontab.read("jobs.kron").endswith(r'command="/bin/echo \"a b\" c"' + "\n")


visible = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
texts = st.text(st.one_of(visible, st.sampled_from("\t \"\\=@()#%$'")), min_size=1, max_size=20)


@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(texts, min_size=1, max_size=5), description=texts, variable=texts)
def test_whatever_is_said_is_read_back_as_it_was_said(
    krontab: Krontab, words: list[str], description: str, variable: str
) -> None:
    krontab.write("jobs.kron", "")
    options = (f"--description={description}", f"--env=V={variable}")
    add(krontab, *JOB[:4], *options, "--", *words).fine()
    entry = only_entry(krontab)
    assert list(entry.task.argv) == words
    assert entry.description == description
    assert entry.task.env == (("V", variable),)


def test_lines_on_standard_input_are_added_with_their_comments(krontab: Krontab) -> None:
    krontab.write("jobs.kron", LINE)
    given = (
        "# two more\n0 1 * * * name=one command=/bin/one\n\n0 1 * * * name=two command=/bin/two\n"
    )
    ran = add(krontab, given=given).fine()
    assert ran.out.startswith("added one, two to ")
    assert krontab.read("jobs.kron") == LINE + given


def test_what_import_prints_can_be_added(krontab: Krontab) -> None:
    krontab.write("crontab", "0 0 * * * /bin/true --all\n30 4 * * 1 cd /tmp && ls | wc -l\n")
    printed = krontab("import", "--user", "nobody", "--tz", "UTC", "crontab").out
    assert add(krontab, given=printed).fine().out.count(", ") == 1
    assert krontab("lint", "--file", "jobs.kron", "--no-host", "--at", AT).code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            ("--schedule", "0 25 * * *", *JOB[2:]), '"25" is not', id="a-field-of-the-schedule"
        ),
        pytest.param((*JOB[:2], "--name", "New", *JOB[4:]), "write new", id="a-name"),
        pytest.param((*JOB[:2], *JOB[4:]), "the line has no name", id="no-name"),
        pytest.param(JOB[:4], "the line has no command", id="no-command"),
        pytest.param((*JOB, "--umask", "9"), "octal", id="a-field"),
        pytest.param(JOB[2:], "the job has no schedule (add --schedule TEXT)", id="no-schedule"),
        pytest.param((*JOB, "--description", "a\nb"), "", id="a-line-break"),
        pytest.param((*JOB, "--env", "A=\x07"), "\\x07", id="a-control-character"),
        pytest.param((*JOB[:4], "--", ""), "the name of the program is empty", id="no-program"),
        pytest.param((*JOB[:2], "--name", "taken", *JOB[4:]), "taken by line 1", id="a-taken-name"),
        pytest.param((*JOB, "--description", "x" * 70_000), "longer than", id="a-long-line"),
        pytest.param(
            ("--schedule", "* * * * * @win(after,366h)", *JOB[2:]),
            "would be open at once",
            id="too-many-open-periods",
        ),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_what_is_invalid_is_not_written(
    krontab: Krontab, words: tuple[str, ...], told: str, dry: tuple[str, ...]
) -> None:
    text = "0 0 * * * name=taken command=/bin/true\n"
    krontab.write("jobs.kron", text)
    ran = add(krontab, *words, *dry)
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.err
    assert krontab.read("jobs.kron") == text
    assert [path.name for path in krontab.directory.iterdir()] == ["jobs.kron"]


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        pytest.param("0 0 * * * name=a command=/bin/a\n0 1 * * *", "", id="two-lines"),
        pytest.param("0 0 * * * user=root", "", id="a-field"),
        pytest.param("# 0 0 * * *", "cron expression", id="a-comment"),
    ],
)
def test_a_schedule_is_a_schedule_and_nothing_else(
    krontab: Krontab, schedule: str, told: str
) -> None:
    ran = add(krontab, "--schedule", schedule, *JOB[2:])
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.err
    assert not Path(krontab.path("jobs.kron")).exists()


def test_several_jobs_are_added_all_or_none(krontab: Krontab) -> None:
    krontab.write("jobs.kron", LINE)
    given = "0 1 * * * name=one command=/bin/one\n0 1 * * * name=new command=/bin/two\n"
    ran = add(krontab, given=given)
    assert (ran.code, ran.out) == (1, "")
    assert "taken by line 1" in ran.err
    assert krontab.read("jobs.kron") == LINE


@pytest.mark.parametrize("given", ["", "\n", "# only a comment\n"])
def test_standard_input_without_a_job_is_refused(krontab: Krontab, given: str) -> None:
    ran = add(krontab, given=given)
    assert (ran.code, ran.out) == (1, "")
    assert "has no job" in ran.err
    assert not Path(krontab.path("jobs.kron")).exists()


def test_errors_on_standard_input_are_told_with_their_line(krontab: Krontab) -> None:
    ran = add(krontab, given="0 1 * * * name=one command=/bin/one\n0 25 * * * name=x command=y\n")
    assert ran.code == 1
    assert "<new job>:2:3: error: " in ran.err


def test_a_dry_run_shows_the_difference_and_writes_nothing(krontab: Krontab) -> None:
    krontab.write("jobs.kron", ODD)
    path = krontab.path("jobs.kron")
    before = Path(path).stat()
    ran = add(krontab, *JOB, "--dry-run").fine()
    assert ran.lines[:2] == [f"--- {path}", f"+++ {path}"]
    assert f"+{LINE.strip()}" in ran.lines
    ran = krontab("remove", "first", "--file", "jobs.kron", "--dry-run").fine()
    assert [line for line in ran.lines if line.startswith("-")] == [
        f"--- {path}",
        f"-{ODD.splitlines()[3]}",
    ]
    assert krontab.read("jobs.kron") == ODD
    assert Path(path).stat() == before
    assert add(krontab, *JOB, "--dry-run", file="other.kron").code == 0
    assert [path.name for path in krontab.directory.iterdir()] == ["jobs.kron"]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{ODD}\n", id="usual"),
        pytest.param(
            ODD,
            id="last-line-without-its-end",
        ),
    ],
)
def test_the_difference_can_be_applied_by_patch(krontab: Krontab, text: str) -> None:
    krontab.write("jobs.kron", text)
    krontab.write("copy", text)
    shown = add(krontab, *JOB, "--dry-run").fine().out
    add(krontab, *JOB).fine()
    patched = subprocess.run(
        ["patch", "--quiet", "--fuzz=0", krontab.path("copy")],
        input=shown.encode(),
        capture_output=True,
        check=False,
    )
    assert patched.returncode == 0, patched
    assert krontab.read("copy") == krontab.read("jobs.kron")


def test_json_says_what_was_done(krontab: Krontab) -> None:
    path = krontab.path("jobs.kron")
    dry = add(krontab, *JOB, "--dry-run", "--format", "json").fine().json
    assert dry == {
        "schema": "krontab.edit/1",
        "action": "add",
        "jobs": ["new"],
        "path": path,
        "written": False,
        "diff": [f"--- {path}", f"+++ {path}", "@@ -0,0 +1 @@", f"+{LINE.strip()}"],
    }
    assert add(krontab, *JOB, "--format", "json").fine().json == dry | {"written": True}
    removed = krontab("remove", "new", "--file", "jobs.kron", "--format", "json").fine().json
    assert removed["action"] == "remove"
    assert removed["diff"][2:] == ["@@ -1 +0,0 @@", f"-{LINE.strip()}"]


def test_a_missing_directory_is_told_with_the_way_to_make_it(krontab: Krontab) -> None:
    ran = add(krontab, *JOB, file="no/such/jobs.kron")
    assert (ran.code, ran.out) == (1, "")
    assert f"mkdir -p {krontab.path('no/such')}" in ran.err
    assert not Path(krontab.path("no")).exists()


def test_a_dry_run_is_refused_where_the_run_would_be(krontab: Krontab) -> None:
    assert add(krontab, *JOB, "--dry-run", file="no/such/jobs.kron").code == 1


def test_a_file_with_errors_is_not_edited(krontab: Krontab) -> None:
    text = "0 25 * * * name=wrong command=/bin/true\n"
    krontab.write("jobs.kron", text)
    for ran in (add(krontab, *JOB), krontab("remove", "wrong", "--file", "jobs.kron")):
        assert (ran.code, ran.out) == (1, "")
        assert f"{krontab.path('jobs.kron')}:1:3: error: " in ran.err
    assert krontab.read("jobs.kron") == text


def by_others(path: Path) -> None:
    path.chmod(0o666)


def a_link(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        pytest.param(by_others, "others could write", id="writable-by-others"),
        pytest.param(a_link, "is a symbolic link", id="link"),
        pytest.param(a_directory, "is not a regular file", id="directory"),
        pytest.param(a_pipe, "is not a regular file", id="pipe"),
    ],
)
def test_a_file_that_krond_would_refuse_is_not_edited(
    krontab: Krontab, prepare: Callable[[Path], None], told: str
) -> None:
    prepare(Path(krontab.write("jobs.kron", LINE)))
    for ran in (
        add(krontab, *JOB[:2], "--name", "newer", *JOB[4:]),
        krontab("remove", "new", "--file", "jobs.kron"),
    ):
        assert (ran.code, ran.out) == (1, "")
        assert told in ran.err


def test_removing_what_is_not_there_is_answered_with_what_is(krontab: Krontab) -> None:
    text = LINE.replace("new", "db-backup")
    path = krontab.write("jobs.kron", text)
    ran = krontab("remove", "db-bakcup", "--file", "jobs.kron")
    assert (ran.code, ran.out) == (1, "")
    told = f'krontab: {path} has no job "db-bakcup" (did you mean "db-backup"?)\n'
    assert ran.err == told
    assert krontab.read("jobs.kron") == text


class TestTheDefaultFile:
    """Root's is the host's, anybody else's is their own."""

    @pytest.fixture
    def system(self, krontab: Krontab, monkeypatch: pytest.MonkeyPatch) -> Path:
        directory = krontab.directory / "etc/krond.d"
        monkeypatch.setattr(kron.krontab.target, "SYSTEM_DIRECTORY", str(directory))
        return directory

    def be(self, monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: uid)

    def test_of_root(self, krontab: Krontab, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if os.geteuid() != 0:
            pytest.skip("root's file has to belong to root")
        ran = krontab("add", *JOB).fine()
        assert ran.out == f"added new to {system}/krontab.kron\n"
        assert (system / "krontab.kron").read_text() == LINE
        assert system.stat().st_mode & 0o022 == 0
        krontab("remove", "new").fine()
        assert (system / "krontab.kron").read_text() == ""

    def test_of_a_user(
        self, krontab: Krontab, system: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.be(monkeypatch, os.getuid() or 12345)
        directory = krontab.home / ".config/krond"
        ran = krontab("add", *JOB).fine()
        assert ran.out == f"added new to {directory}/krontab.kron\n"
        assert (directory / "krontab.kron").read_text() == LINE
        assert directory.stat().st_mode & 0o022 == 0
        assert not system.exists()
        assert krontab("next", "new", "--at", AT).code == 0

    def test_a_dry_run_makes_no_directory(
        self, krontab: Krontab, system: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.be(monkeypatch, os.getuid() or 12345)
        assert krontab("add", *JOB, "--dry-run").code == 0
        assert list(krontab.home.iterdir()) == []

    def test_removing_makes_no_directory(
        self, krontab: Krontab, system: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.be(monkeypatch, os.getuid() or 12345)
        assert krontab("remove", "new").code == 1
        assert list(krontab.home.iterdir()) == []


@pytest.mark.parametrize("command", ["add", "remove"])
def test_two_files_are_not_one(krontab: Krontab, command: str) -> None:
    job = ["--schedule", "0 0 * * *", "--name", "job", "--command", "x"]
    words = ["job"] if command == "remove" else job
    ran = krontab(command, *words, "--file", "a.kron", "--file", "b.kron")
    assert (ran.code, ran.out) == (2, "")
    message = f"krontab {command}: --file is given twice\nTry: krontab {command} --help\n"
    assert ran.err == message
