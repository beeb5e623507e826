"""Living processes: none is taken for another, and none that runs is taken for ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from errno import EMFILE
from pathlib import Path
from typing import Any

import pytest

from kron.krond.process import processes
from kron.krond.process.account import Account
from kron.krond.process.launch import launch
from kron.krond.process.processes import Processes
from tests.krond.process.expected import needs_root
from tests.krond.process.scene import GROUP, OTHER, USER, Scene
from tests.logbook import wait_for

RUN, OTHER_RUN = os.urandom(10).hex(), os.urandom(10).hex()  # of no other test that runs now
OWN = os.getuid()

HOST = Processes()
age_ns, boot_id, find_runs = HOST.age_ns, HOST.boot_id, HOST.find_runs
is_alive, members, start_ticks = HOST.is_alive, HOST.members, HOST.start_ticks


class Runs:
    """Processes that live until the test is over, unless it ends them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._pids: list[int] = []
        self.reading, self.writing = os.pipe()

    def start(self, *argv: str, **changes: Any) -> int:
        proof = str(self._scene.runs / str(len(self._pids)))
        what = self._scene.launch_of(*(argv or ("/bin/sleep", "600")), proof=proof, **changes)
        self._pids.append(launch(what))
        return self._pids[-1]

    def run(self, run_id: str, *argv: str, **changes: Any) -> int:
        env = {b"PATH": b"/usr/bin:/bin", b"KRON_RUN_ID": run_id.encode()}
        env = changes.pop("env", env)
        pid = self.start(*argv, env=env, **changes)
        if env:
            wait_for(lambda: _has_environment(pid), "its environment")
        return pid

    def heard(self) -> str:
        """A line that one of them wrote to `writing`."""
        return os.read(self.reading, 4096).decode()

    def end(self) -> None:
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os.close(self.reading)
        os.close(self.writing)


def _has_environment(pid: int) -> bool:
    """The kernel lets posix_spawn return a moment before the new program has it."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z" or Path(f"/proc/{pid}/environ").read_bytes() != b""


@pytest.fixture
def runs(scene: Scene) -> Iterator[Runs]:
    made = Runs(scene)
    yield made
    made.end()


def ticks_of(pid: int) -> int:
    ticks = start_ticks(pid)
    assert ticks is not None
    return ticks


def make_zombie(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def find(*run_ids: str, uid: int = OWN) -> dict[str, int]:
    return find_runs(dict.fromkeys(run_ids, uid))


def test_a_process_is_alive_until_it_ends(runs: Runs) -> None:
    pid = runs.start()
    ticks = ticks_of(pid)
    assert is_alive(pid, ticks)
    make_zombie(pid)
    assert start_ticks(pid) == ticks
    assert not is_alive(pid, ticks)
    os.waitpid(pid, 0)
    assert start_ticks(pid) is None
    assert not is_alive(pid, ticks)


def test_another_process_of_the_same_number_is_not_the_one_meant(runs: Runs) -> None:
    pid = runs.start()
    assert not is_alive(pid, ticks_of(pid) - 1)
    assert not is_alive(pid, ticks_of(pid) + 1)


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40])
def test_a_number_that_no_process_has_is_no_process(pid: int) -> None:
    assert start_ticks(pid) is None


@pytest.mark.parametrize("name", [") R 1", "(", "a) Z 1 2 3 4 5", "\\n) Z", ") Z 0 0 0 0 (x"])
def test_the_name_of_a_program_can_hold_anything(runs: Runs, name: str) -> None:
    command = f'printf "{name}" > /proc/$$/comm; echo ready >&2; exec 2>&-; read x'
    keep, given = os.pipe()
    before = runs.start("/bin/sleep", "600")
    pid = runs.start("/bin/sh", "-c", command, stdin=keep, stderr=runs.writing)
    try:
        runs.heard()
        shown = Path(f"/proc/{pid}/stat").read_bytes()
        assert name[:3].replace("\\n", "\n").encode() in shown
        ticks = ticks_of(pid)
        assert ticks_of(before) <= ticks
        assert 0 <= age_ns(ticks) < 60 * 10**9
        assert is_alive(pid, ticks)
        assert members(pid) == [pid]
    finally:
        os.close(keep)
        os.close(given)


ENDED_FIRST_THREAD = """
import ctypes, os, threading, time
def wait():
    while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    os.write(2, b"ready")
    time.sleep(600)
threading.Thread(target=wait).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_goes_on(runs: Runs) -> None:
    pid = runs.run(RUN, sys.executable, "-c", ENDED_FIRST_THREAD, stderr=runs.writing)
    assert runs.heard() == "ready"
    assert b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    assert is_alive(pid, ticks_of(pid))
    assert members(pid) == [pid]
    assert find(RUN) == {RUN: pid}


def test_the_age_of_a_process_is_the_time_since_its_start(runs: Runs) -> None:
    before_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    ticks = ticks_of(runs.start())
    age = age_ns(ticks)
    passed_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - before_ns
    assert 0 <= age <= passed_ns + 10**9 // os.sysconf("SC_CLK_TCK")
    assert age_ns(10**12) == 0


def test_the_boot_has_one_name() -> None:
    assert boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert boot_id() is boot_id()


def test_the_members_of_a_group_are_those_that_still_run(runs: Runs) -> None:
    command = "sleep 600 & sleep 600 & setsid sh -c 'echo $$ >&2; exec sleep 600' & wait"
    pid = runs.start("/bin/sh", "-c", command, stderr=runs.writing)
    other = runs.start()
    away = int(runs.heard())
    try:
        found = members(pid)
        assert members(away) == [away]
    finally:
        os.kill(away, signal.SIGKILL)
    assert pid in found
    assert len(found) == 3
    assert not {away, other} & set(found)
    for member in found:
        os.kill(member, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    deadline = time.monotonic() + 10
    while members(pid) and time.monotonic() < deadline:
        os.sched_yield()
    assert members(pid) == []
    assert members(2**22 + 1) == []


def test_a_run_is_found_by_its_id(runs: Runs) -> None:
    pid = runs.run(RUN)
    other = runs.run(OTHER_RUN)
    assert find(RUN) == {RUN: pid}
    assert find(RUN, OTHER_RUN, "e" * 20) == {RUN: pid, OTHER_RUN: other}
    assert find() == {}
    make_zombie(pid)
    assert find(RUN) == {}


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({b"XKRON_RUN_ID": RUN.encode()}, id="another-variable"),
        pytest.param({b"A": b"KRON_RUN_ID=" + RUN.encode()}, id="a-value"),
        pytest.param({b"A": b"\nKRON_RUN_ID=" + RUN.encode()}, id="a-line"),
        pytest.param({b"KRON_RUN_ID": RUN.encode() + b"0"}, id="longer"),
        pytest.param({b"KRON_RUN_ID": RUN.encode()[:-1]}, id="shorter"),
        pytest.param({b"KRON_RUN_ID": b"\xff"}, id="no-text"),
        pytest.param({}, id="no-environment"),
    ],
)
def test_only_the_variable_with_that_very_value_counts(
    runs: Runs, variables: dict[bytes, bytes]
) -> None:
    runs.run(RUN, env=variables)
    assert find(RUN) == {}


def test_what_a_run_started_is_not_the_run(runs: Runs) -> None:
    """It has the id as well, and may have a session of its own; the first to start is the run."""
    command = "sleep 600 & setsid sh -c 'echo $$ >&2; exec sleep 600' & wait"
    pid = runs.run(RUN, "/bin/sh", "-c", command, stderr=runs.writing)
    grandchild = int(runs.heard())
    try:
        assert os.getsid(grandchild) == grandchild
        assert find(RUN) == {RUN: pid}
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_a_process_without_a_session_of_its_own_is_no_run() -> None:
    with subprocess.Popen(["/bin/sleep", "600"], env={"KRON_RUN_ID": RUN}) as process:
        try:
            assert find(RUN) == {}
        finally:
            process.kill()


@needs_root
def test_nobody_can_pose_as_the_run_of_somebody_else(runs: Runs) -> None:
    poser = runs.run(RUN, account=Account(OTHER, GROUP, (), "poser"))
    assert find(RUN, uid=USER) == {}
    pid = runs.run(RUN, account=Account(USER, GROUP, (), "somebody"))
    assert find(RUN, uid=USER) == {RUN: pid}
    assert find(RUN, uid=OTHER) == {RUN: poser}
    assert find(RUN, uid=0) == {}
    assert find_runs({RUN: USER, OTHER_RUN: OTHER}) == {RUN: pid}


UNPRIVILEGED = """
import json, os, sys
from kron.krond.process.processes import Processes
host = Processes()
os.setgroups([]); os.setresgid(54322, 54322, 54322); os.setresuid(54321, 54321, 54321)
pid = int(sys.argv[1])
print(json.dumps([host.find_runs({sys.argv[2]: uid}) for uid in (0, 54321)]
    + [host.members(pid), host.is_alive(pid, host.start_ticks(pid))]))
"""


@pytest.mark.heavy
@needs_root
def test_an_environment_that_krond_may_not_read_is_no_run_of_its(runs: Runs) -> None:
    pid = runs.run(RUN)
    program = [sys.executable, "-c", UNPRIVILEGED, str(pid), RUN]
    told = subprocess.run(program, capture_output=True, check=True).stdout
    assert json.loads(told) == [{}, {}, [pid], True]


@pytest.mark.parametrize("gone", [FileNotFoundError, ProcessLookupError])
@pytest.mark.parametrize("where", ["/stat", "stat", "status", "environ"])
def test_a_process_that_goes_while_it_is_read_is_gone(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, gone: type[OSError], where: str
) -> None:
    pid = runs.run(RUN)
    other = runs.run(OTHER_RUN)
    read = processes._read

    def vanishing(path: str, directory: int | None = None) -> bytes:
        holder = path if directory is None else f"{Path(f'/proc/self/fd/{directory}').readlink()}/"
        if f"/{pid}/" in holder and path.endswith(where) and (where != "stat" or directory):
            raise gone
        return read(path, directory)

    monkeypatch.setattr(processes, "_read", vanishing)
    assert find(RUN, OTHER_RUN) == {OTHER_RUN: other}
    assert members(pid) == ([] if where == "/stat" else [pid])


@pytest.mark.parametrize("text", [b"", b"12 (sh", b"12 (sh) R 1 2"])
def test_half_a_line_is_no_process(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(processes, "_read", lambda *_: text)
    assert start_ticks(1) is None
    assert members(1) == []
    assert find(RUN) == {}


def test_a_number_that_is_taken_by_another_while_it_is_read_is_not_mixed_up(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look saw an earlier process; its environment is that of the later one."""
    pid = runs.run(RUN)
    look = processes._look

    def earlier(number: int) -> Any:
        process = look(number)
        if process is not None and number == pid:
            return process.replace(ticks=process.ticks - 1)
        return process

    monkeypatch.setattr(processes, "_look", earlier)
    assert find(RUN) == {}


def test_want_of_descriptors_is_not_taken_for_the_end_of_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(EMFILE, os.strerror(EMFILE))

    monkeypatch.setattr(processes, "_read", broken)
    for ask in (
        lambda: start_ticks(1),
        lambda: is_alive(1, 1),
        lambda: members(1),
        lambda: find(RUN),
    ):
        with pytest.raises(OSError, match="Too many open files"):
            ask()


def test_an_endless_environment_is_read_up_to_what_the_kernel_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(processes._read("/dev/zero")) == processes._LONGEST_ENVIRONMENT
    size = os.sysconf("SC_ARG_MAX")
    assert min(size, 6 << 20) <= processes._LONGEST_ENVIRONMENT


@pytest.mark.heavy
def test_processes_that_come_and_go_disturb_nobody(runs: Runs, scene: Scene) -> None:
    pid = runs.run(RUN)
    pids = []
    for number in range(60):
        what = scene.launch_of("/bin/true", proof=str(scene.runs / f"brief-{number}"))
        pids.append(launch(what))
        assert find(RUN) == {RUN: pid}
        assert members(pid) == [pid]
        if number % 2:
            os.waitpid(pids.pop(), 0)
    for brief in pids:
        os.waitpid(brief, 0)
