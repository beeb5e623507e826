"""The lock: one krond for each directory, which waits for children that are about to exec."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kron.core.errors import Code, KronError
from kron.krond.program import exit_code
from kron.krond.state.errors import PersistenceError
from kron.krond.state.lock import lock

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="changing owners needs root")
NOBODY = 65_534
UNITS = Path(__file__).parents[3] / "share" / "systemd"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "krond.pid")


@contextmanager
def process(work: Callable[[int], None]) -> Iterator[int]:
    """A forked process that does `work` with a descriptor it writes a byte to when it is ready."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            work(tell)
        finally:
            os._exit(1)
    os.close(tell)
    try:
        assert os.read(ready, 1) == b"x"
        yield child
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def hold(path: str) -> Callable[[int], None]:
    def work(tell: int) -> None:
        held = lock(path)
        os.write(tell, b"x")
        signal.pause()
        held.release()

    return work


class Orphan:
    """A child between fork and exec, whose parent held the lock and is dead."""

    def __init__(self, take: Callable[[], object], *, reap: bool = True) -> None:
        self._told, tell = os.pipe()
        self._wait, self._go = os.pipe()
        self.owner = os.fork()
        if self.owner == 0:
            take()
            if os.fork() == 0:
                os.close(self._go)
                os.write(tell, b"x")
                os.read(self._wait, 1)  # until the other end is closed
            os._exit(0)
        os.close(tell)
        os.close(self._wait)
        assert os.read(self._told, 1) == b"x"
        if reap:
            self.reap()

    def reap(self) -> None:
        os.waitpid(self.owner, 0)

    def is_zombie(self) -> bool:
        return os.waitid(os.P_PID, self.owner, os.WEXITED | os.WNOWAIT) is not None

    def let_go(self) -> None:
        os.close(self._go)
        assert os.read(self._told, 1) == b""  # it has exited, and its descriptors are closed
        os.close(self._told)


def test_the_file_holds_our_process_id_as_a_line(path: str) -> None:
    held = lock(path)
    assert Path(path).read_text() == f"{os.getpid()}\n"
    held.release()
    assert Path(path).read_text() == ""
    lock(path).release(remove=True)
    assert not Path(path).exists()


def test_two_processes_cannot_have_it(path: str) -> None:
    with process(hold(path)) as other:
        with pytest.raises(KronError, match=f"process {other} has locked") as caught:
            lock(path)
        assert caught.value.code is Code.RUNNING
        assert "krond stop" in caught.value.fix
        assert Path(path).read_text() == f"{other}\n"
    lock(path).release()


def test_a_live_owner_is_reported_at_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with process(hold(path)), pytest.raises(KronError, match="another krond is running"):
        lock(path)
    assert sum(slept) <= 0.05


def test_a_child_between_fork_and_exec_is_waited_for(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = Orphan(lambda: lock(path))
    polls: list[float] = []

    def sleep(seconds: float) -> None:
        polls.append(seconds)
        assert Path(path).read_text() == f"{orphan.owner}\n"
        if len(polls) == 20:
            orphan.let_go()

    monkeypatch.setattr(time, "sleep", sleep)
    held = lock(path)
    assert len(polls) == 20
    assert Path(path).read_text() == f"{os.getpid()}\n"
    held.release()


def test_an_owner_that_is_dead_but_not_yet_reaped_is_dead(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = Orphan(lambda: lock(path), reap=False)
    assert orphan.is_zombie()
    polls: list[float] = []

    def sleep(seconds: float) -> None:
        polls.append(seconds)
        if len(polls) == 20:
            orphan.let_go()

    monkeypatch.setattr(time, "sleep", sleep)
    lock(path).release()
    assert len(polls) == 20
    orphan.reap()


def test_waiting_for_a_child_has_an_end_and_systemd_tries_again(path: str) -> None:
    orphan = Orphan(lambda: lock(path))
    with pytest.raises(KronError, match="its krond is not visible from this PID") as caught:
        lock(path, patience_s=0.03)
    for kind in ("system", "user"):
        unit = (UNITS / kind / "krond.service").read_text()
        (prevented,) = re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)
        assert str(exit_code(caught.value)) not in prevented.split()
    orphan.let_go()
    lock(path).release()


def test_exec_lets_go_of_the_lock(path: str) -> None:
    held = lock(path)
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    held.release()
    lock(path).release()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


JUNK = [
    pytest.param(b"", id="empty"),
    pytest.param(b"junk\n", id="word"),
    pytest.param(b"12", id="no-line"),
    pytest.param(b"-1\n", id="negative"),
    pytest.param(b"0\n", id="zero"),
    pytest.param(b"99999999999\n", id="too-big"),
    pytest.param(b"9" * 100_000, id="long"),
    pytest.param(b"\0" * 4096, id="zeros"),
    pytest.param("٣\n".encode(), id="other-digits"),
    pytest.param(b"\xff\xfe\n", id="binary"),
    pytest.param(b"4194305\n", id="dead"),
]


@pytest.mark.parametrize("content", JUNK)
def test_what_an_earlier_krond_left_in_the_file_does_not_matter(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    held = lock(path)
    assert Path(path).read_text() == f"{os.getpid()}\n"
    held.release()


@pytest.mark.parametrize("content", JUNK)
def test_a_locked_file_with_junk_in_it_is_waited_for_and_then_refused(
    path: str, content: bytes
) -> None:
    held = lock(path)
    Path(path).write_bytes(content)
    with pytest.raises(KronError, match="is not visible"):
        lock(path, patience_s=0.02)
    held.release()


def test_a_file_that_its_owner_removes_meanwhile_is_not_the_lock(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lock(path)
    Path(path).write_bytes(b"")
    monkeypatch.setattr(time, "sleep", lambda _seconds: first.release(remove=True))
    second = lock(path)
    monkeypatch.undo()
    assert Path(path).read_text() == f"{os.getpid()}\n"
    with pytest.raises(KronError, match="another krond is running"):
        lock(path)
    second.release()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.symlink_to("elsewhere"), id="dangling-link"),
        pytest.param(lambda path: path.symlink_to("/etc/passwd"), id="link"),
        pytest.param(os.mkfifo, id="fifo"),
        pytest.param(lambda path: path.mkdir(), id="directory"),
    ],
)
def test_only_a_regular_file_is_locked(path: str, make: Callable[[Path], None]) -> None:
    make(Path(path))
    with pytest.raises(KronError, match="not a regular file") as caught:
        lock(path)
    assert caught.value.code is Code.STATE
    assert "remove" not in caught.value.fix


def test_a_file_with_another_name_is_not_overwritten(path: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    os.link(precious, path)
    with pytest.raises(KronError, match="2 names"):
        lock(path)
    assert precious.read_text() == "precious"


@AS_ROOT
def test_a_file_of_somebody_else_is_not_locked(path: str) -> None:
    Path(path).touch()
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(KronError, match="belongs to user 65534"):
        lock(path)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(PersistenceError, match="cannot be locked: No such file"):
        lock(str(tmp_path / "none" / "krond.pid"))
