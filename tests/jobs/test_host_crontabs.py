"""The crontabs of a host run as they are: what is read, whose it is, and what is left out.

The files, owners, links and pipes are real, under a directory that stands for /. Only root can
give a file to another user, so what needs that is skipped for others.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kron import Code, Limits
from kron.jobs import source
from kron.jobs.configuration import Configuration, load
from kron.jobs.crontab.host import SHOWN_OF_A_FILE, load_host, watched
from kron.jobs.crontab.local import Accounts
from kron.jobs.crontab.note import NoteCode
from kron.jobs.finding import Severity
from kron.jobs.source import FileAccess, own_access
from tests.jobs.crontabs import PATHS, ROOT
from tests.jobs.test_source import (
    WITHOUT_PRIVILEGES,
    Meddled,
    made,
    needs_root,
    public_place,
    told_by,
)
from tests.test_docs import page, rows

__all__ = ["public_place"]  # a fixture

ME = pwd.getpwuid(os.geteuid()).pw_name
OTHER = pwd.getpwnam("daemon")
"""A user that every Linux has and that no test runs as."""
STRANGER = 54_321
JOB = b"0 2 * * * /bin/true\n"
EVIL = b"0 2 * * * /bin/evil\n"
SPOOL = "var/spool/cron/crontabs"
SPOOLS = (SPOOL, "var/spool/cron/tabs", "var/spool/cron")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host of the test's own."""
    return debian(tmp_path)


def debian(root: Path) -> Path:
    """The directories of a Debian host, with its modes, in the zone of Paris."""
    for directory in ("", "etc", "etc/cron.d", "var", "var/spool", "var/spool/cron", SPOOL):
        (root / directory).mkdir(exist_ok=True)
        (root / directory).chmod(0o755)
    (root / SPOOL).chmod(0o1730)
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")
    return root


def line(user: str = ME, command: str = "/bin/true") -> bytes:
    return f"0 2 * * * {user} {command}\n".encode()


def system(host: Path, name: str, data: bytes | None = None, mode: int = 0o644) -> Path:
    return made(host / "etc/cron.d" / name, line() if data is None else data, mode)


def user(host: Path, name: str = ME, data: bytes = JOB, mode: int = 0o600, spool: str = "") -> Path:
    directory = host / (spool or SPOOL)
    directory.mkdir(mode=0o755, exist_ok=True)
    return made(directory / name, data, mode)


def read(
    host: Path, *, access: FileAccess | None = None, limits: Limits | None = None
) -> Configuration:
    return load_host(access or own_access(), root=str(host), limits=limits or Limits())


def jobs(found: Configuration, host: Path) -> list[str]:
    return [f"{entry.path.removeprefix(str(host))}:{entry.name}" for entry in found.entries]


def warned(found: Configuration) -> list[tuple[str, str]]:
    """The file's name and the code of each warning. Nothing but warnings is ever found."""
    assert found.failures == ()
    assert found.findings == []
    assert all(finding.severity is Severity.WARNING for finding in found.warnings)
    return [(Path(finding.path).name, finding.code) for finding in found.warnings]


# What is read


def test_system_and_user_crontabs_are_read_in_a_fixed_order(host: Path) -> None:
    made(host / "etc/crontab", line(command="/bin/first"))
    system(host, "z_9")
    system(host, "B-a")
    user(host)
    found = read(host).checked()
    assert jobs(found, host) == [
        "/etc/crontab:first",
        "/etc/cron.d/B-a:true",
        "/etc/cron.d/z_9:true",
        f"/{SPOOL}/{ME}:true",
    ]
    assert warned(found) == []
    assert found.ignored == ()


def test_an_entry_is_what_cron_would_run(host: Path) -> None:
    system(host, "shop", b"LANG=C\n5 4 * * 1 daemon tr a b%x%y\n")
    (entry,) = read(host).entries
    assert entry.identity == f"{host}/etc/cron.d/shop:tr-a-b"
    assert entry.line == 2
    assert entry.schedule_text == "5 4 * * 1 @tz(Europe/Paris) @policy(concurrency=allow)"
    task = entry.task
    assert (task.argv, task.stdin) == (("/bin/sh", "-c", "tr a b"), "x\ny\n")
    assert (task.user, task.cwd) == ("daemon", OTHER.pw_dir)
    assert (task.inherits_env, task.cwd_may_lack) == (False, True)
    assert dict(task.env) == {
        "SHELL": "/bin/sh",
        "PATH": "/usr/bin:/bin",
        "HOME": OTHER.pw_dir,
        "LOGNAME": "daemon",
        "USER": "daemon",
        "LANG": "C",
    }


def test_the_lines_of_a_users_crontab_are_that_users(host: Path) -> None:
    user(host, data=b"@daily root was-here\n")
    (entry,) = read(host).entries
    assert (entry.task.user, entry.task.command) == (ME, "root was-here")


def test_the_node_is_part_of_every_identity(host: Path) -> None:
    system(host, "a")
    (entry,) = load_host(own_access(), node="db1", root=str(host)).entries
    assert entry.identity == f"db1/{host}/etc/cron.d/a:true"


def test_a_job_is_found_by_its_name_or_by_its_file_and_name(host: Path) -> None:
    system(host, "a")
    system(host, "b", line(command="/bin/false"))
    user(host)
    found = read(host)
    assert found.entry("false").path == f"{host}/etc/cron.d/b"
    assert found.entry(f"{host}/{SPOOL}/{ME}:true").task.user == ME


def test_a_host_without_crontabs_has_no_jobs_and_no_warnings(tmp_path: Path) -> None:
    found = load_host(own_access(), root=str(tmp_path)).checked()
    assert list(found.entries) == []
    assert warned(found) == []


def test_without_a_local_time_the_zone_is_utc(host: Path) -> None:
    (host / "etc/localtime").unlink()
    system(host, "a")
    (entry,) = read(host).entries
    assert entry.schedule_text == "0 2 * * * @policy(concurrency=allow)"


@pytest.mark.parametrize("spool", SPOOLS)
def test_users_crontabs_are_found_where_each_distribution_has_them(host: Path, spool: str) -> None:
    user(host, spool=spool)
    assert jobs(read(host), host) == [f"/{spool}/{ME}:true"]


@pytest.mark.parametrize("mode", [0o1730, 0o1770, 0o1777, 0o700, 0o755])
def test_a_spool_may_let_others_add_files_if_they_cannot_replace_any(host: Path, mode: int) -> None:
    user(host)
    (host / SPOOL).chmod(mode)
    found = read(host)
    assert jobs(found, host) == [f"/{SPOOL}/{ME}:true"]
    assert warned(found) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_a_users_crontab_need_not_be_secret(host: Path, mode: int) -> None:
    user(host, mode=mode)
    assert jobs(read(host), host) == [f"/{SPOOL}/{ME}:true"]


@needs_root
@pytest.mark.parametrize("uid", [0, OTHER.pw_uid])
def test_a_users_crontab_belongs_to_the_user_or_to_root(host: Path, uid: int) -> None:
    os.chown(user(host, "daemon"), uid, uid)
    found = read(host)
    assert [entry.task.user for entry in found.entries] == ["daemon"]
    assert warned(found) == []


def test_every_crontab_of_the_corpus_can_lie_beside_the_others(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Accounts, "home_of", lambda _, user: f"/home/{user}")
    monkeypatch.setattr(Accounts, "uid_of", lambda _, __: os.geteuid())
    for path in PATHS:
        (host / path.lstrip("/")).parent.mkdir(exist_ok=True)
        made(host / path.lstrip("/"), (ROOT / path.lstrip("/")).read_bytes())
    found = read(host)
    left_out = [Path(each.path).name for each in found.warnings if each.code == NoteCode.LEFT_OUT]
    read_paths = {document.path.removeprefix(str(host)) for document in found.documents}
    assert read_paths | {f"/etc/cron.d/{name}" for name in left_out} == {
        path for path in PATHS if path != "/etc/anacrontab"
    }
    assert len(read_paths) > 10


# What is ignored


@pytest.mark.parametrize(
    "name", ["backup.dpkg-old", "a.b", ".placeholder", "a~", "a b", "a+", "é", "a\n", "#a#"]
)
def test_a_name_that_cron_does_not_read_is_ignored_and_named(host: Path, name: str) -> None:
    system(host, name)
    found = read(host)
    assert jobs(found, host) == []
    assert warned(found) == []
    assert found.ignored == (f"{host}/etc/cron.d/{name}",)


@pytest.mark.parametrize("name", [".hidden", "tmp.aB3xYz", "#tmp.host.1", "root~"])
def test_what_an_editor_or_crontab_leaves_in_a_spool_is_ignored(host: Path, name: str) -> None:
    user(host, name)
    found = read(host)
    assert (jobs(found, host), warned(found)) == ([], [])
    assert found.ignored == (f"{host}/{SPOOL}/{name}",)


def test_directories_in_a_spool_are_ignored_and_the_spools_are_not_named(host: Path) -> None:
    (host / "var/spool/cron/atjobs").mkdir()
    found = read(host)
    assert warned(found) == []
    assert found.ignored == (f"{host}/var/spool/cron/atjobs",)


# What is left out: the others run


def a_word_too_few(host: Path) -> Path:
    return system(host, "bad", line() + b"0 2 *\n")


def a_user_that_does_not_exist(host: Path) -> Path:
    return system(host, "bad", line() + line("no-such-user"))


def a_user_that_does_not_exist_but_has_a_home(host: Path) -> Path:
    return system(host, "bad", b"HOME=/\n" + line("no-such-user"))


def a_binary_file(host: Path) -> Path:
    return system(host, "bad", bytes(range(256)) * 1_000)


def nothing_but_zeros(host: Path) -> Path:
    return system(host, "bad", b"\0" * 100_000)


def a_file_from_windows(host: Path) -> Path:
    return system(host, "bad", line().replace(b"\n", b"\r\n"))


def another_encoding(host: Path) -> Path:
    return system(host, "bad", "# Dämon\n".encode("latin-1") + line())


def a_file_that_everybody_writes(host: Path) -> Path:
    return system(host, "bad", mode=0o666)


def a_file_that_a_group_writes(host: Path) -> Path:
    return system(host, "bad", mode=0o664)


def a_link_to_a_file_of_roots(host: Path) -> Path:
    made(host / "etc/real", line())
    (host / "etc/cron.d/bad").symlink_to("../real")
    return host / "etc/cron.d/bad"


def a_link_to_nothing(host: Path) -> Path:
    (host / "etc/cron.d/bad").symlink_to("none")
    return host / "etc/cron.d/bad"


def a_pipe(host: Path) -> Path:
    os.mkfifo(host / "etc/cron.d/bad", 0o644)
    return host / "etc/cron.d/bad"


def a_directory(host: Path) -> Path:
    (host / "etc/cron.d/bad").mkdir()
    return host / "etc/cron.d/bad"


def a_huge_file(host: Path) -> Path:
    path = system(host, "bad")
    os.truncate(path, 100_000_000)
    return path


def a_huge_line(host: Path) -> Path:
    return system(host, "bad", b"0 2 * * * root " + b"x" * 8_000_000 + b"\n")


def an_orphan(host: Path) -> Path:
    return user(host, "bad")


def an_orphan_that_a_terminal_would_obey(host: Path) -> Path:
    return user(host, "bad\x1b[2J")


def a_users_pipe(host: Path) -> Path:
    os.mkfifo(host / SPOOL / "daemon", 0o600)
    return host / SPOOL / "daemon"


def a_users_link(host: Path) -> Path:
    user(host, ".real")
    (host / SPOOL / "daemon").symlink_to(".real")
    return host / SPOOL / "daemon"


def a_second_name(host: Path) -> Path:
    path = made(host / "var/log", JOB)
    (host / SPOOL / "daemon").hardlink_to(path)
    return host / SPOOL / "daemon"


def a_users_crontab_that_a_group_writes(host: Path) -> Path:
    return user(host, "daemon", mode=0o660)


def a_users_crontab_with_an_error(host: Path) -> Path:
    return user(host, "daemon", JOB + b"61 * * * * x\n")


LEFT_OUT = [
    pytest.param(a_word_too_few, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(a_user_that_does_not_exist, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(a_user_that_does_not_exist_but_has_a_home, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(a_binary_file, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(nothing_but_zeros, NoteCode.LEFT_OUT, "error"),
    pytest.param(a_file_from_windows, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(another_encoding, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(a_file_that_everybody_writes, Code.FILE_WRITABLE, "(its mode is 0666)"),
    pytest.param(a_file_that_a_group_writes, Code.FILE_WRITABLE, "(its mode is 0664)"),
    pytest.param(a_link_to_a_file_of_roots, Code.FILE_SYMLINK, "is a symbolic link"),
    pytest.param(a_link_to_nothing, Code.FILE_SYMLINK, "is a symbolic link"),
    pytest.param(a_pipe, Code.FILE_KIND, "is not a regular file"),
    pytest.param(a_directory, Code.FILE_KIND, "is not a regular file"),
    pytest.param(a_huge_file, Code.LIMIT, "is longer than 8388608 bytes"),
    pytest.param(a_huge_line, NoteCode.LEFT_OUT, "it has an error"),
    pytest.param(an_orphan, NoteCode.USER_UNKNOWN, 'there is no user "bad" here'),
    pytest.param(
        an_orphan_that_a_terminal_would_obey,
        NoteCode.USER_UNKNOWN,
        'there is no user "bad\\x1b[2J" here',
    ),
    pytest.param(a_users_pipe, Code.FILE_KIND, "is not a regular file"),
    pytest.param(a_users_link, Code.FILE_SYMLINK, "is a symbolic link"),
    pytest.param(a_second_name, Code.FILE_KIND, "it is one of 2 hard links", marks=needs_root),
    pytest.param(
        a_users_crontab_that_a_group_writes,
        Code.FILE_WRITABLE,
        "(its mode is 0660)",
        marks=needs_root,
    ),
    pytest.param(
        a_users_crontab_with_an_error, NoteCode.LEFT_OUT, "it has an error", marks=needs_root
    ),
]


@pytest.mark.parametrize(("make", "code", "reason"), LEFT_OUT)
def test_a_bad_crontab_is_left_out_whole_and_the_others_run(
    host: Path, make: Callable[[Path], Path], code: str, reason: str
) -> None:
    system(host, "a")
    system(host, "z")
    path = make(host)
    began = time.process_time()
    found = read(host).checked()
    assert time.process_time() - began < 1
    assert jobs(found, host) == ["/etc/cron.d/a:true", "/etc/cron.d/z:true"]
    first = found.warnings[0]
    assert (first.code, first.severity, first.line) == (code, Severity.WARNING, 0)
    assert first.path == str(path).replace("\x1b", "\\x1b")
    assert first.message.startswith("its jobs do not run: ")
    assert first.message.endswith(reason)
    assert warned(found)[1:] == [(path.name, each.code) for each in found.warnings[1:]]
    assert all("\x1b" not in str(each) for each in found.warnings)


def test_the_errors_of_a_crontab_are_told_with_their_places_and_nothing_else(host: Path) -> None:
    path = system(host, "bad", b"MAILTO=me\n" + b"0 25 * * * nobody x\n" + line("no-such-user"))
    found = read(host)
    assert [str(each).splitlines()[0] for each in found.warnings] == [
        f"{path}: warning: its jobs do not run: it has 2 errors "
        "(fix it: like cron, krond runs only crontabs without errors) [cron-left-out]",
        f'{path}:2:3: warning: hour: "25" is not between 0 and 23 [cron-field]',
        f'{path}:3:11: warning: there is no user "no-such-user" here '
        "(create it, or name another) [field-value]",
    ]


@pytest.mark.heavy
def test_of_many_errors_or_notes_the_first_are_told_and_the_others_counted(host: Path) -> None:
    system(host, "errors", b"junk\n" * 50)
    system(host, "notes", b"0 0 31 2 * root x\n" * 7_000)
    warnings = read(host).warnings
    errors = [each for each in warnings if each.path.endswith("errors")]
    notes = [each for each in warnings if each.path.endswith("notes")]
    assert len(errors) == 1 + SHOWN_OF_A_FILE + 1
    assert errors[-1].message == "30 more errors are not shown"
    assert [each.line for each in notes] == [*range(1, SHOWN_OF_A_FILE + 1), 0]
    assert notes[-1].message == "6,980 more notes are not shown"


@needs_root
@pytest.mark.parametrize(
    ("make", "owner"),
    [
        pytest.param(lambda host: system(host, "bad"), STRANGER, id="a system crontab"),
        pytest.param(lambda host: system(host, "bad"), OTHER.pw_uid, id="of its user"),
        pytest.param(lambda host: user(host, "daemon"), STRANGER, id="a crontab of a user"),
        pytest.param(lambda host: user(host, "root"), OTHER.pw_uid, id="that of root"),
        pytest.param(lambda host: made(host / "etc/crontab", line()), STRANGER, id="/etc/crontab"),
    ],
)
def test_a_crontab_of_somebody_else_is_left_out(
    host: Path, make: Callable[[Path], Path], owner: int
) -> None:
    path = make(host)
    os.chown(path, owner, -1)
    found = read(host)
    assert jobs(found, host) == []
    assert warned(found) == [(path.name, Code.FILE_OWNER)]
    assert f"belongs to user {owner}, not to root or user" in found.warnings[0].message


@pytest.mark.parametrize(
    ("directory", "mode"),
    [
        pytest.param("etc/cron.d", 0o777, id="everybody writes cron.d"),
        pytest.param("etc/cron.d", 0o775, id="a group writes cron.d"),
        pytest.param("etc/cron.d", 0o1777, id="everybody adds to cron.d"),
        pytest.param(SPOOL, 0o730, id="a group writes the spool"),
        pytest.param(SPOOL, 0o777, id="everybody writes the spool"),
    ],
)
def test_nothing_runs_of_a_directory_that_others_could_write(
    host: Path, directory: str, mode: int
) -> None:
    made(host / "etc/crontab", line(command="/bin/first"))
    system(host, "a")
    user(host)
    (host / directory).chmod(mode)
    found = read(host)
    assert "/etc/crontab:first" in jobs(found, host)
    assert len(jobs(found, host)) == 2
    assert not any(job.startswith(f"/{directory}/") for job in jobs(found, host))
    assert warned(found) == [(Path(directory).name, Code.FILE_WRITABLE)]
    assert found.warnings[0].message.startswith("no job in it runs: others could write")


@needs_root
@pytest.mark.parametrize("directory", ["etc/cron.d", SPOOL])
def test_nothing_runs_of_a_directory_of_somebody_else(host: Path, directory: str) -> None:
    system(host, "a")
    os.chown(user(host, "daemon"), OTHER.pw_uid, -1)
    os.chown(host / directory, OTHER.pw_uid, -1)
    found = read(host)
    assert len(jobs(found, host)) == 1
    assert not any(job.startswith(f"/{directory}/") for job in jobs(found, host))
    assert warned(found) == [(Path(directory).name, Code.FILE_OWNER)]


def test_a_directory_that_is_a_link_is_not_followed(host: Path) -> None:
    (host / "etc/cron.d").rename(host / "etc/real")
    (host / "etc/cron.d").symlink_to("real")
    made(host / "etc/real/a", line())
    user(host)
    found = read(host)
    assert jobs(found, host) == [f"/{SPOOL}/{ME}:true"]
    assert warned(found) == [("cron.d", Code.FILE_SYMLINK)]


def test_of_two_crontabs_of_a_user_only_the_first_runs(host: Path) -> None:
    for spool in SPOOLS:
        user(host, spool=spool)
    found = read(host)
    assert jobs(found, host) == [f"/{SPOOL}/{ME}:true"]
    assert warned(found) == [(ME, NoteCode.TWICE)] * 2
    assert found.warnings[0].message == (
        f'its jobs do not run: {host}/{SPOOL}/{ME} is the crontab of "{ME}" that runs'
    )


def test_where_everybody_is_trusted_links_and_modes_do_not_matter(host: Path) -> None:
    system(host, "open", mode=0o666)
    made(host / "etc/real", line())
    (host / "etc/cron.d/link").symlink_to("../real")
    (host / "etc/cron.d").chmod(0o777)
    (host / SPOOL).chmod(0o777)
    (host / SPOOL / "daemon").hardlink_to(user(host, mode=0o666))
    os.mkfifo(host / "etc/cron.d/pipe", 0o644)
    found = read(host, access=own_access(insecure=True))
    assert [Path(job).name for job in jobs(found, host)] == [
        "link:true",
        "open:true",
        *sorted(["daemon:true", f"{ME}:true"]),
    ]
    assert warned(found) == [("pipe", Code.FILE_KIND)]


# What is reported about a crontab that runs


def test_what_krond_does_not_do_is_told_and_the_rest_runs(host: Path) -> None:
    path = user(host, data=b'MAILTO="-x"\n0 0 31 2 * /bin/first\n' + JOB)
    found = read(host)
    assert jobs(found, host) == [f"/{SPOOL}/{ME}:true"]
    assert [str(each).splitlines()[0] for each in found.warnings] == [
        f'{path}:1:9: warning: no mail is sent from here on: "-x" is not an address for mail '
        "(write it like ops@example.org, or root for a user of this host) [cron-mail]",
        f"{path}:2:1: warning: no day of any year matches this day of month, month and day of week "
        "(cron never runs it either) [cron-no-day]",
    ]


# What concerns all of them


@pytest.mark.parametrize("named", [b"Middle/Earth\n", b"", b"\xff\0" * 100, None])
def test_a_host_whose_zone_is_not_known_is_a_failure(host: Path, named: bytes | None) -> None:
    (host / "etc/localtime").unlink()
    made(host / "etc/localtime", b"TZif2")
    if named is not None:
        made(host / "etc/timezone", named)
    system(host, "a")
    found = read(host)
    assert list(found.entries) == []
    assert [(each.code, each.path) for each in found.failures] == [
        (Code.ZONE_UNKNOWN, f"{host}/etc/localtime")
    ]
    assert found.failures[0].severity is Severity.ERROR
    assert "zoneinfo/Europe/Paris" in found.failures[0].fix


def test_the_limit_of_jobs_holds_for_all_crontabs_together(host: Path) -> None:
    for name, count in {"a": 2, "b": 2, "c": 2, "d": 1}.items():
        system(host, name, line() * count)
    found = read(host, limits=Limits(jobs=5))
    assert [Path(document.path).name for document in found.documents] == ["a", "b", "d"]
    assert warned(found) == [("c", NoteCode.LEFT_OUT), ("c", Code.LIMIT)]
    assert found.warnings[1].line == 2
    assert found.warnings[1].message == "there are more than 5 jobs"


def test_the_limit_of_a_file_holds_for_each(host: Path) -> None:
    system(host, "a")
    system(host, "b", line() * 2)
    found = read(host, limits=Limits(file_bytes=len(line())))
    assert jobs(found, host) == ["/etc/cron.d/a:true"]
    assert warned(found) == [("b", Code.LIMIT)]


def test_files_of_our_own_format_stay_strict(host: Path) -> None:
    path = made(host / "bad.kron", b"junk\n")
    found = load([str(path)], own_access())
    assert found.warnings == ()
    assert {each.severity for each in found.findings} == {Severity.ERROR}


# Swaps


@pytest.mark.parametrize("number", range(1, 20))
def test_a_crontab_swapped_at_any_moment_for_a_link_is_not_followed(
    host: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = user(host)
    made(host / "evil", EVIL)
    (host / "link").symlink_to("evil")
    meddled = Meddled(number, lambda: os.replace(host / "link", path))  # noqa: PTH105
    with monkeypatch.context() as patch:
        patch.setattr(source, "os", meddled)
        found = read(host)
    assert jobs(found, host) in ([], [f"/{SPOOL}/{ME}:true"])
    assert meddled.left > 0 or path.is_symlink()
    if not jobs(found, host):
        assert warned(found) == [(ME, Code.FILE_SYMLINK)]


@pytest.mark.parametrize("number", range(1, 20))
def test_a_spool_swapped_at_any_moment_for_a_link_is_not_followed(
    host: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    user(host)
    (host / "evil").mkdir(mode=0o755)
    made(host / "evil" / ME, EVIL, 0o600)

    def swap() -> None:
        (host / SPOOL).rename(host / "old")
        (host / SPOOL).symlink_to(host / "evil")

    with monkeypatch.context() as patch:
        patch.setattr(source, "os", Meddled(number, swap))
        found = read(host)
    assert jobs(found, host) in ([], [f"/{SPOOL}/{ME}:true"])


@needs_root
def test_a_crontab_given_away_after_the_listing_is_left_out(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = user(host)

    def uid_of(_: Accounts, __: str) -> int:
        os.chown(path, STRANGER, -1)  # listed by now, and not yet opened
        return os.geteuid()

    monkeypatch.setattr(Accounts, "uid_of", uid_of)
    assert warned(read(host)) == [(ME, Code.FILE_OWNER)]


def test_a_crontab_removed_after_the_listing_is_told(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = user(host)

    def uid_of(_: Accounts, __: str) -> int:
        path.unlink()
        return os.geteuid()

    monkeypatch.setattr(Accounts, "uid_of", uid_of)
    assert warned(read(host)) == [(ME, Code.FILE_MISSING)]


def test_no_descriptor_is_left_open(host: Path) -> None:
    for make in (a_pipe, an_orphan, a_users_link):
        make(host)
    user(host)

    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    read(host)
    before = count()
    read(host)
    assert count() == before


# Accounts


def test_a_user_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def getpwnam(name: str) -> pwd.struct_passwd:
        asked.append(name)
        if name != "daemon":
            raise KeyError(name)
        return OTHER

    monkeypatch.setattr(pwd, "getpwnam", getpwnam)
    accounts = Accounts()
    for _ in range(3):
        assert accounts.uid_of("daemon") == OTHER.pw_uid
        assert accounts.home_of("daemon") == OTHER.pw_dir
        assert accounts.uid_of("nemo") is None
        assert accounts.home_of("nemo") is None
    assert asked == ["daemon", "nemo"]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "", "x" * 10_000])
def test_what_is_no_name_is_no_user(name: str) -> None:
    assert Accounts().uid_of(name) is None


# Size


def test_many_jobs_take_time_in_proportion(host: Path) -> None:
    def cost(count: int) -> float:
        system(host, "a", b"".join(b"%d 3 * * * root /x/%d\n" % (n % 60, n) for n in range(count)))
        began = time.process_time()
        assert sum(1 for _ in read(host).entries) == count
        return time.process_time() - began

    quarter, whole = cost(1_000), cost(4_000)
    assert whole < 8 * max(quarter, 0.050)


def test_reading_a_host_imports_nothing_heavy() -> None:
    heavy = "{'dataclasses', 'typing', 'logging', 'subprocess', 'pwd', 'json', 'shlex', 'inspect'}"
    code = f"import sys, kron.jobs.crontab.host; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# What to watch


def test_every_place_that_is_read_is_watched(host: Path) -> None:
    made(host / "etc/crontab", line())
    system(host, "a")
    for spool, name in zip(SPOOLS, (ME, "nobody", "daemon"), strict=True):
        user(host, name, spool=spool)
    found = read(host, access=own_access(insecure=True))
    assert {str(Path(document.path).parent) for document in found.documents} == set(
        watched(str(host))
    )
    assert watched() == [
        "/etc",
        "/etc/cron.d",
        "/var/spool/cron/crontabs",
        "/var/spool/cron/tabs",
        "/var/spool/cron",
    ]


# A user without privileges


@needs_root
def test_a_daemon_without_privileges_is_told_what_it_cannot_read(public_place: Path) -> None:
    host = debian(public_place)
    system(host, "a")
    system(host, "secret", mode=0o600)
    user(host)
    once_as_root = (  # so that every module is there: later, Python's own may be out of reach
        "import sys\nfrom kron.jobs.crontab.host import load_host\n"
        "from kron.jobs.source import own_access\n"
        "load_host(own_access(), root=sys.argv[1])\n"
    )
    program = (
        once_as_root
        + WITHOUT_PRIVILEGES
        + (
            "found = load_host(access, root=sys.argv[1])\n"
            "told = [[w.path, w.code, w.message] for w in found.warnings]\n"
            "print(json.dumps([[e.path for e in found.entries], told]))"
        )
    )
    paths, told = told_by(program, str(host))
    assert paths == [f"{host}/etc/cron.d/a"]
    assert told == [
        [
            f"{host}/{path}",
            Code.FILE_UNREADABLE,
            f"{effect}: {host}/{path} cannot be read: Permission denied",
        ]
        for path, effect in (
            ("etc/cron.d/secret", "its jobs do not run"),
            (SPOOL, "no job in it runs"),
        )
    ]


# The documentation


def test_the_page_says_what_is_left_out_and_why() -> None:
    text = " ".join(page("crontab.md").split())
    assert f"the first {SHOWN_OF_A_FILE} of a file" in text
    assert f"{Limits().jobs:,} jobs" in text
    assert f"{Limits().file_bytes >> 20} MiB" in text
    table = rows(page("crontab.md"), "## Running crontabs as they are")
    assert [row[0].split("`")[1] for row in table] == ["/etc/crontab", *watched()[1:]]
