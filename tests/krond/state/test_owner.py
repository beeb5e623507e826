"""One krond for each state directory, whatever becomes of the files in it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

from kron.core.errors import Code, KronError
from kron.krond.state import lock as lock_module
from kron.krond.state.directory import Directory
from kron.krond.state.owner import own, running_pid
from tests.krond.commands import NEVER, BackgroundHost, is_alive, krond
from tests.krond.host import Host
from tests.krond.state.test_lock import Orphan, process
from tests.logbook import wait_for


def hold(path: Path) -> None:
    """Own the directory, to the end of this process."""
    own(Directory.make(str(path)))


@pytest.mark.heavy
def test_deleting_krond_pid_does_not_admit_a_second_krond(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f'{NEVER} name=job command="sleep 60"')
        assert host.start_background().returncode == 0
        pid = host.pid()
        (host.state / "krond.pid").unlink()
        for options in ((), ("--foreground",), ("--once",)):
            second = host.start_background(*options)
            assert second.returncode == 3, options
            assert f"process {pid} has locked {host.state}" in second.stderr
            assert "remove" not in second.stderr
        assert host.pid() == pid
        # The commands still find it, and `stop` waits for its end.
        assert host.command("trigger", "job").returncode == 0
        assert host.command("stop", "--terminate").returncode == 0
        wait_for(lambda: not is_alive(pid), "its end")
        assert host.start_background().returncode == 0


@pytest.mark.heavy
def test_a_krond_without_any_of_its_files_is_named_and_can_be_reached_again(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=true")
        host.start()
        assert host.process is not None
        pid = host.process.pid
        for name in ("krond.pid", "control.sock"):
            (host.state / name).unlink()
        asked = host.command("status")
        assert asked.returncode == 1
        assert f"krond (process {pid}) has locked the state directory {host.state}" in asked.stderr
        assert f"kill -USR2 {pid}" in asked.stderr
        checked = host.command("check")
        assert (checked.returncode, f"process {pid}" in checked.stdout) == (2, True)
        second = krond("start", "--once", "--config", host.config, "--state-dir", host.state)
        assert (second.returncode, f"process {pid} has locked" in second.stderr) == (3, True)
        (host.state / "control.sock").mkdir()
        asked = host.command("status")
        assert "control.sock in it is not its socket" in asked.stderr
        assert f"move it away; then kill -USR2 {pid}" in asked.stderr
        (host.state / "control.sock").rmdir()
        os.kill(pid, signal.SIGUSR2)
        wait_for((host.state / "control.sock").exists, "its socket")
        assert host.command("stop").returncode == 0
        assert host.wait() == 0
        assert host.command("status").returncode == 5


def test_a_child_of_a_dead_krond_holds_the_directory_until_it_has_become_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = Orphan(lambda: hold(tmp_path))
    (tmp_path / "krond.pid").unlink()
    polls: list[float] = []

    def sleep(seconds: float) -> None:
        polls.append(seconds)
        if len(polls) == 20:
            orphan.let_go()

    monkeypatch.setattr(time, "sleep", sleep)
    directory = Directory.make(str(tmp_path))
    own(directory).release()
    assert len(polls) == 20
    directory.close()


def test_a_directory_whose_owner_is_not_visible_is_refused_after_a_while(tmp_path: Path) -> None:
    orphan = Orphan(lambda: hold(tmp_path))
    directory = Directory.make(str(tmp_path))
    with pytest.raises(KronError, match="is locked, but its krond is not visible") as caught:
        own(directory, patience_s=0.03)
    assert caught.value.code is Code.STATE
    assert f"fuser -v {tmp_path}" in caught.value.fix
    assert running_pid(str(tmp_path)) is None
    orphan.let_go()
    directory.close()


def test_another_program_that_locks_the_directory_is_not_taken_for_krond(tmp_path: Path) -> None:
    def work(tell: int) -> None:
        fcntl.flock(os.open(tmp_path, os.O_RDONLY), fcntl.LOCK_EX)
        os.write(tell, b"x")
        signal.pause()

    with process(work) as other:
        assert running_pid(str(tmp_path)) is None
        asked = krond("status", "--state-dir", tmp_path)
        assert asked.returncode == 5
        assert str(other) not in asked.stderr
        directory = Directory.make(str(tmp_path))
        with pytest.raises(KronError, match=r"is locked, .* or by another program") as caught:
            own(directory, patience_s=0.03)
        assert f"fuser -v {tmp_path}" in caught.value.fix
        directory.close()


def test_the_running_pid_is_that_of_the_owner(tmp_path: Path) -> None:
    assert running_pid(str(tmp_path)) is None
    assert running_pid(str(tmp_path / "missing")) is None

    def work(tell: int) -> None:
        hold(tmp_path)
        os.write(tell, b"x")
        time.sleep(60)

    with process(work) as other:
        assert running_pid(str(tmp_path)) == other
    assert running_pid(str(tmp_path)) is None
    (tmp_path / "krond.pid").write_text(f"{os.getpid()}\n")  # alive, and holds nothing
    assert running_pid(str(tmp_path)) is None


def test_a_look_at_who_is_running_does_not_keep_krond_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look takes the lock for a moment, while an old process id may be another's by now."""
    (tmp_path / "krond.pid").write_text("1\n")
    look = os.open(tmp_path, os.O_RDONLY)
    assert lock_module.is_free(look)
    monkeypatch.setattr(time, "sleep", lambda _seconds: os.close(look))
    directory = Directory.make(str(tmp_path))
    own(directory).release()
    directory.close()


def test_where_directories_cannot_be_locked_the_file_is_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS has it, which locks only what is open for writing."""
    flock = fcntl.flock

    def flock_of_nfs(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_of_nfs)
    first, second = Directory.make(str(tmp_path)), Directory.make(str(tmp_path))
    held = own(first)
    assert running_pid(str(tmp_path)) == os.getpid()
    with pytest.raises(KronError, match=f"process {os.getpid()} has locked"):
        own(second)
    held.release()
    (tmp_path / "krond.pid").write_text(f"{os.getpid()}\n")  # alive, and holds nothing
    assert running_pid(str(tmp_path)) is None
    own(second).release()
    first.close()
    second.close()
