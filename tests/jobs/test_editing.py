"""An edit is whole or not at all, whatever happens to the process, the disk or other editors."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kron import Code, KronError
from kron.core.limits import DEFAULT_LIMITS
from kron.jobs.editing import current_bytes, edit_file
from kron.jobs.source import FileAccess, own_access
from tests.jobs.test_source import (
    JOB,
    STRANGER,
    WITHOUT_PRIVILEGES,
    made,
    made_directory,
    needs_root,
    place,
    public_place,
    told_by,
)

__all__ = ["place", "public_place"]  # fixtures

OLD = "# old\n" + JOB.decode()
NEW = OLD + "0 3 * * * name=b command=/bin/true\n"


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def put(path: Path, text: str = NEW, access: FileAccess | None = None) -> None:
    edit_file(str(path), access or own_access(), lambda _: text)


def refusal(path: Path, text: str = NEW) -> KronError:
    with pytest.raises(KronError) as caught:
        put(path, text)
    return caught.value


# What is written


def test_a_change_gets_the_old_bytes_and_its_text_becomes_the_new_ones(place: Path) -> None:
    path = made(place / "x.kron", "# é\n".encode())
    edit_file(str(path), own_access(), lambda data: data.decode() + "# 漢\f\u2028")
    assert path.read_bytes() == "# é\n# 漢\f\u2028".encode()
    assert names_in(place) == ["x.kron"]


def test_a_file_that_is_not_there_is_made(place: Path) -> None:
    edit_file(str(place / "x.kron"), own_access(), lambda data: f"{data!r}")
    assert (place / "x.kron").read_text() == "b''"
    assert stat.S_IMODE((place / "x.kron").stat().st_mode) == 0o644


def test_a_new_file_has_its_mode_whatever_the_umask(place: Path) -> None:
    before = os.umask(0o077)
    try:
        put(place / "x.kron")
    finally:
        os.umask(before)
    assert stat.S_IMODE((place / "x.kron").stat().st_mode) == 0o644


def test_a_relative_path_is_edited(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    put(Path("x.kron"))
    assert (place / "x.kron").read_text() == NEW


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_the_mode_is_kept(place: Path, mode: int) -> None:
    path = made(place / "x.kron", mode=mode)
    put(path)
    assert path.read_text() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == mode


@needs_root
def test_the_owner_and_the_group_are_kept(place: Path) -> None:
    path = made(place / "x.kron", mode=0o640)
    os.chown(path, STRANGER, STRANGER + 1)
    put(path, access=FileAccess(STRANGER))
    status = path.stat()
    assert path.read_text() == NEW
    assert (status.st_uid, status.st_gid) == (STRANGER, STRANGER + 1)
    assert stat.S_IMODE(status.st_mode) == 0o640


def test_what_is_there_now_is_nothing_if_there_is_no_file(place: Path) -> None:
    assert current_bytes(str(place / "x.kron"), own_access()) == b""
    made(place / "x.kron")
    assert current_bytes(str(place / "x.kron"), own_access()) == JOB


# What is refused


def test_a_change_that_fails_writes_nothing(place: Path) -> None:
    path = made(place / "x.kron")
    before = path.stat()

    def fail(_: bytes) -> str:
        raise KronError(Code.NAME_REPEATED, "taken")

    with pytest.raises(KronError, match="taken"):
        edit_file(str(path), own_access(), fail)
    assert path.read_bytes() == JOB
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names_in(place) == ["x.kron"]
    put(path)  # the lock is free again
    assert path.read_text() == NEW


def test_a_file_that_would_not_be_read_is_not_edited(place: Path) -> None:
    loose = made(place / "loose.kron", mode=0o666)
    (place / "link.kron").symlink_to("loose.kron")
    in_loose = made_directory(place / "d", 0o777) / "x.kron"
    os.mkfifo(place / "pipe.kron")
    long = made(place / "long.kron")
    os.truncate(long, DEFAULT_LIMITS.file_bytes + 1)
    assert refusal(loose).code is Code.FILE_WRITABLE
    assert refusal(place / "link.kron").code is Code.FILE_SYMLINK
    assert refusal(in_loose).code is Code.FILE_WRITABLE
    assert refusal(place / "pipe.kron").code is Code.FILE_KIND
    assert refusal(long).code is Code.LIMIT
    assert loose.read_bytes() == JOB
    assert long.stat().st_size == DEFAULT_LIMITS.file_bytes + 1
    assert names_in(place) == ["d", "link.kron", "long.kron", "loose.kron", "pipe.kron"]
    assert names_in(place / "d") == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("none/x.kron", "No such file or directory", id="no directory"),
        pytest.param("file/x.kron", "Not a directory", id="a file for a directory"),
    ],
)
def test_a_file_in_no_directory_cannot_be_written(place: Path, path: str, message: str) -> None:
    made(place / "file")
    error = refusal(place / path)
    assert error.code is Code.FILE_UNWRITABLE
    assert error.message == f"{place / path} cannot be written: {message}"


def test_a_directory_that_only_others_can_write_is_left_alone(public_place: Path) -> None:
    made(public_place / "x.kron", OLD.encode())
    public_place.chmod(0o555)
    program = WITHOUT_PRIVILEGES + (
        "path = sys.argv[1] + '/x.kron'\n"
        "print(json.dumps([\n"
        "    answer(lambda: edit_file(path, access, lambda data: 'new')),\n"
        "    answer(lambda: edit_file(path + '2', access, lambda data: 'new')),\n"
        "]))"
    )
    try:
        told = told_by(program, str(public_place))
    finally:
        public_place.chmod(0o755)
    assert told == [
        ["file-unwritable", f"{public_place}/{name} cannot be written: Permission denied"]
        for name in ("x.kron", "x.kron2")
    ]
    assert (public_place / "x.kron").read_text() == OLD
    assert names_in(public_place) == ["x.kron"]


@needs_root
def test_a_file_of_root_keeps_its_owner_or_stays_as_it_is(public_place: Path) -> None:
    directory = made_directory(public_place / "d")
    path = made(directory / "x.kron", OLD.encode())
    os.chown(directory, 65_534, 65_534)
    program = WITHOUT_PRIVILEGES + (
        "print(json.dumps(answer(lambda: edit_file(sys.argv[1], access, lambda data: 'new'))))"
    )
    assert told_by(program, str(path)) == [
        "file-unwritable",
        f"{path} cannot be written: Operation not permitted",
    ]
    assert path.read_text() == OLD
    assert names_in(directory) == ["x.kron"]


def test_a_full_disk_leaves_the_old_file_and_no_other(place: Path) -> None:
    path = made(place / "x.kron", OLD.encode())
    program = WITHOUT_PRIVILEGES.replace("os.geteuid() == 0", "False") + (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "path = sys.argv[1]\n"
        "print(json.dumps([\n"
        "    answer(lambda: edit_file(path, access, lambda data: '#' * 100_000)),\n"
        "    answer(lambda: edit_file(path + '2', access, lambda data: '#' * 100_000)),\n"
        "]))"
    )
    assert told_by(program, str(path)) == [
        ["file-unwritable", f"{name} cannot be written: File too large"]
        for name in (path, f"{path}2")
    ]
    assert path.read_text() == OLD
    assert names_in(place) == ["x.kron"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "fchmod"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_any_failing_call_leaves_the_old_file_and_no_other(
    place: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    path = made(place / "x.kron", OLD.encode())

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        error = refusal(path)
    assert error.code is Code.FILE_UNWRITABLE
    assert error.message == f"{path} cannot be written: {os.strerror(number)}"
    assert path.read_text() == OLD
    assert names_in(place) == ["x.kron"]


def test_a_directory_that_cannot_be_locked_is_an_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)
    assert refusal(place / "x.kron").code is Code.FILE_UNWRITABLE


def test_a_text_that_is_not_unicode_is_an_error(place: Path) -> None:
    path = made(place / "x.kron", OLD.encode())
    assert refusal(path, "# \udcff\n").code is Code.TEXT
    assert path.read_text() == OLD


def test_what_a_killed_editor_left_behind_is_not_in_the_way(place: Path) -> None:
    path = made(place / "x.kron", OLD.encode())
    made(place / f".x.kron.{os.getpid()}.new", b"half")
    put(path)
    assert path.read_text() == NEW
    assert names_in(place) == ["x.kron"]


def test_an_edit_through_a_link_that_is_allowed_changes_the_file_it_points_to(
    place: Path,
) -> None:
    real = made(made_directory(place / "d") / "real.kron", OLD.encode(), 0o640)
    link = place / "x.kron"
    link.symlink_to("d/real.kron")
    put(link, access=own_access(insecure=True))
    assert link.is_symlink()
    assert real.read_text() == NEW
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


# Other processes

READING = """
import sys
path, old, new = sys.argv[1:]
print("ready", flush=True)
seen = set()
count = 0
while not {old, new} <= seen or count < 500:
    with open(path) as file:
        text = file.read()
    if text not in (old, new):
        sys.exit(f"saw {text!r}")
    seen.add(text)
    count += 1
"""


def test_a_reader_sees_the_old_file_or_the_new_one(place: Path) -> None:
    old, new = (f"# {letter * 50_000}\n" for letter in "on")
    path = made(place / "x.kron", old.encode())
    with subprocess.Popen(
        [sys.executable, "-c", READING, str(path), old, new], stdout=subprocess.PIPE
    ) as reading:
        try:
            assert reading.stdout is not None
            reading.stdout.readline()
            for _ in range(10_000):
                put(path, new)
                put(path, old)
                if reading.poll() is not None:
                    break
        finally:
            reading.kill()
    assert reading.returncode == 0


ADDING = """
import sys
from kron.jobs.document import read_document
from kron.jobs.editing import edit_file
from kron.jobs.source import own_access

path, editor = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    line = f"0 2 * * * name={editor}-{number} command=/bin/true"
    edit_file(path, own_access(), lambda data: read_document(data, path).with_lines(line))
"""


@pytest.mark.heavy
def test_eight_editors_at_once_lose_nothing(place: Path) -> None:
    path = made(place / "x.kron", OLD.encode())
    editors = [
        subprocess.Popen(
            [sys.executable, "-c", ADDING, str(path), str(editor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for editor in range(8)
    ]
    for editor in editors:
        assert editor.stdout is not None
        with editor.stdout:
            editor.stdout.readline()
    for editor in editors:  # all of them are there before the first begins
        assert editor.stdin is not None
        with editor.stdin:
            editor.stdin.write(b"go\n")
    assert [editor.wait(timeout=60) for editor in editors] == [0] * 8
    text = path.read_text()
    assert text.startswith(OLD)
    added = [line.split("name=")[1].split()[0] for line in text.removeprefix(OLD).splitlines()]
    assert sorted(added) == [f"{editor}-{number}" for editor in range(8) for number in range(5)]
    for first in "01234567":  # each editor's own lines are in its order
        own = [name for name in added if name.startswith(first)]
        assert own == sorted(own)
    assert names_in(place) == ["x.kron"]


KILLED = WITHOUT_PRIVILEGES.replace("os.geteuid() == 0", "False") + (
    """
class Deadly:
    # os, as the module sees it, in which the call of a number kills the process
    def __init__(self, number):
        self.left = number
    def __getattr__(self, name):
        value = getattr(os, name)
        if not callable(value) or name in ("getpid", "fspath"):
            return value
        def call(*arguments, **options):
            self.left -= 1
            if self.left == 0:
                if name == "write":
                    value(arguments[0], bytes(arguments[1])[:10])
                os.kill(os.getpid(), signal.SIGKILL)
            return value(*arguments, **options)
        return call

path, old, new = sys.argv[1:]
killed = []
for number in range(1, 100):
    with open(path, "w") as file:
        file.write(old)
    child = os.fork()
    if not child:
        editing.os = Deadly(number)
        edit_file(path, access, lambda data: new)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with open(path) as file:
        killed.append([os.WIFSIGNALED(status), file.read()])
    if not os.WIFSIGNALED(status):
        break
edit_file(path, access, lambda data: data.decode() + "# after\\n")
print(json.dumps(killed))
"""
)


def test_kill_minus_nine_at_any_call_leaves_the_old_file_or_the_new_one(place: Path) -> None:
    path = made(place / "x.kron", OLD.encode())
    *killed, last = told_by(KILLED, str(path), OLD, NEW)
    assert last == [False, NEW]
    assert len(killed) >= 10  # at every call until the last
    assert all(was_killed for was_killed, _ in killed)
    texts = [text for _, text in killed]
    assert set(texts) == {OLD, NEW}
    assert texts == sorted(texts, key=[OLD, NEW].index)  # the rename, and nothing else, changes it
    assert path.read_text() == NEW + "# after\n"  # and the next editor goes on from there
    left_behind = [name for name in names_in(place) if name != "x.kron"]
    assert left_behind  # the halves that were being written,
    assert all(name.startswith(".") for name in left_behind)  # which no listing reads
