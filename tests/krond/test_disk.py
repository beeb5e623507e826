"""krond on a disk that fails: full, read-only, broken, or without power.

After a failed write of the state it starts nothing until everything is written. With the disk
repaired it goes on by itself, or the next krond does, and nothing runs twice.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.instant import to_text
from kron.engine.recovery import UNKNOWN_RESULT
from kron.krond.program import PERSISTENCE, STATE
from kron.krond.runs.starter import DISK
from kron.logs.event import Level
from tests.krond import load
from tests.krond.disk import Ext4, ext4, fill, tmpfs
from tests.krond.fault import DUE_S, FaultyHost, Ran, Server
from tests.krond.host import Host, in_boot
from tests.krond.tampering import needs_strace, tampered
from tests.logbook import wait_for
from tests.soak import SOAK

DUE = to_text(DUE_S)
MANY = 20
"""So many that their states are synced together."""

LOAD = 600
"""Jobs, of which one comes due every 0.2 seconds."""


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Iterator[FaultyHost]:
    with FaultyHost(tmp_path, server) as host:
        yield host


@pytest.fixture
def small(tmp_path: Path, server: Server) -> Iterator[FaultyHost]:
    """A host whose state directory is small, and nearly nothing else is on its file system."""
    with (
        tmpfs(tmp_path / "disk", "512k") as disk,
        FaultyHost(tmp_path, server, state=disk / "state") as host,
    ):
        yield host


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Ext4]:
    with ext4(tmp_path) as disk:
        yield disk


@pytest.fixture
def on_disk(tmp_path: Path, server: Server, disk: Ext4) -> Iterator[FaultyHost]:
    """A host whose state directory is on the disk."""
    with FaultyHost(tmp_path, server, state=disk.at / "state") as host:
        yield host


def jobs(host: FaultyHost, count: int, then: str = "") -> list[Ran]:
    """Configure so many jobs, and let krond see them: what will be due."""
    names = [f"job-{number}" for number in range(count)]
    host.write(*(host.job(name, then=then) for name in names))
    host.be_seen()
    return [(name, DUE) for name in names]


def start_before(host: FaultyHost) -> None:
    """Start a krond that waits at its gate: the jobs are due when it is opened."""
    host.launch(begin_s=DUE_S - 1, due_s=DUE_S, gated=True)
    host.wait_until_ready()


def check_paused(host: FaultyHost, *, started: int = 0) -> None:
    """It says why it pauses, and has started no more runs than these."""
    paused = host.wait_for_event("paused")
    assert (paused["cause"], paused.level) == ("state", Level.ERROR)
    assert "cannot be" in paused["reason"]
    assert len(host.events("started")) == started
    host.states()  # every one of them reads


def check_goes_on(host: FaultyHost, due: list[Ran]) -> None:
    """The same krond does by itself what is left to do, once."""
    wait_for(lambda: host.is_over(due), "what was due is done")
    paused = len(host.events("paused"))
    wait_for(lambda: len(host.events("resumed")) == paused, "it has resumed")
    assert host.ask("status")["troubles"] == []
    host.check(due)
    assert host.stop() == 0


def go_on(host: FaultyHost, due: list[Ran]) -> None:
    """The next krond does what is left to do, once."""
    host.recover(lambda: host.is_over(due), begin_s=DUE_S + 2)
    host.check(due)
    host.wait_until_ready()
    assert host.stop() == 0


def failing(host: FaultyHost, call: str, error: str, when: str) -> AbstractContextManager[None]:
    """Have a system call of krond's fail, the first, the second or whichever from now on."""
    assert host.process is not None
    return tampered(host.process.pid, call, f"error={error}:when={when}")


@needs_strace
@pytest.mark.parametrize(
    ("count", "call", "error", "when"),
    [
        pytest.param(1, "write", "EIO", "1", id="writing"),
        pytest.param(1, "fsync", "EIO", "1", id="syncing-the-file"),
        pytest.param(1, "renameat", "EIO", "1", id="renaming"),
        pytest.param(1, "fsync", "EIO", "2", id="syncing-the-directory"),
        pytest.param(3, "fsync", "EDQUOT", "2", id="syncing-one-of-several"),
        pytest.param(3, "renameat", "EIO", "2", id="renaming-one-of-several"),
        pytest.param(MANY, "write", "ENOSPC", "1", id="writing-many"),
        pytest.param(MANY, "fsync", "EIO", "1", id="syncing-many"),
        pytest.param(MANY, "renameat", "EIO", "1", id="renaming-many"),
        pytest.param(MANY, "fsync", "EIO", "2", id="syncing-the-directory-of-many"),
    ],
)
def test_no_run_starts_whose_intent_is_not_safe(
    host: FaultyHost, count: int, call: str, error: str, when: str
) -> None:
    due = jobs(host, count)
    start_before(host)
    with failing(host, call, error, when):
        host.open_gate()
        check_paused(host)
    check_goes_on(host, due)


@needs_strace
@pytest.mark.parametrize(
    ("count", "call"),
    [(1, "write"), (1, "fsync"), (1, "renameat"), (MANY, "write"), (MANY, "fsync")],
)
def test_killed_in_a_pause_krond_leaves_nothing_that_runs_twice(
    host: FaultyHost, count: int, call: str
) -> None:
    due = jobs(host, count)
    start_before(host)
    with failing(host, call, "EIO", "1+"):
        host.open_gate()
        wait_for(lambda: host.ask("status")["troubles"], "krond pauses")  # its log fails as well
        assert not host.runs()
        host.kill()
    go_on(host, due)


@needs_strace
@pytest.mark.parametrize(
    ("call", "when"),
    [
        pytest.param("syncfs", "1+", id="syncing-them"),
        pytest.param("renameat2", "2+", id="renaming-one-of-them"),
        pytest.param("unlinkat", "1+", id="removing-the-bundle"),
    ],
)
def test_many_whose_states_cannot_be_put_into_their_places_are_not_repeated(
    host: FaultyHost, call: str, when: str
) -> None:
    """Their intents are safe, in the bundle, and so they have started."""
    due = jobs(host, MANY)
    start_before(host)
    with failing(host, call, "EIO", when):
        host.open_gate()
        check_paused(host, started=MANY)
        assert (host.state / "bundle").exists()
    check_goes_on(host, due)


@needs_strace
@pytest.mark.parametrize(
    ("call", "when"),
    [
        pytest.param("fsync", "3", id="syncing-the-file"),
        pytest.param("renameat", "2", id="renaming"),
        pytest.param("fsync", "4", id="syncing-the-directory"),
        pytest.param("unlinkat", "1", id="removing-the-proof"),
    ],
)
def test_a_run_whose_end_cannot_be_stored_is_not_repeated(
    host: FaultyHost, call: str, when: str
) -> None:
    due = jobs(host, 1)
    start_before(host)
    with failing(host, call, "EIO", when):
        host.open_gate()
        check_paused(host, started=1)
    check_goes_on(host, due)


@needs_strace
def test_a_run_that_cannot_be_noted_is_found_by_its_environment(host: FaultyHost) -> None:
    (due,) = jobs(host, 1, then="exec sleep 600")
    start_before(host)
    with failing(host, "pwrite64", "ENOSPC", "1+"):
        host.open_gate()
        host.wait_for_event("error")
        wait_for(host.runs, "the run")
        assert host.ask("status")["active"] == 1
        host.kill()
    assert [proof.stat().st_size for proof in (host.state / "runs").iterdir()] == [0]
    host.start(begin_s=DUE_S + 2)
    ((_, _, run_id, pid),) = host.runs()
    (adopted,) = host.events("adopted")
    assert (adopted["run_id"], adopted["pid"]) == (run_id, pid)
    os.kill(int(pid), signal.SIGTERM)
    wait_for(lambda: host.is_over([due]), "the end of the run")
    host.check([due])


@needs_strace
@pytest.mark.parametrize("command", ["trigger", "forget", "reload"])
def test_a_request_whose_outcome_cannot_be_stored_is_refused_and_not_done_in_a_pause(
    host: FaultyHost, command: str
) -> None:
    (due,) = jobs(host, 1)
    host.start(begin_s=DUE_S - 20)
    words = {} if command == "reload" else {"job": due[0]}
    with failing(host, "fsync", "EIO", "1+"):
        with pytest.raises(KronError, match="cannot be saved"):
            host.ask("forget", job=due[0])
        check_paused(host)
        with pytest.raises(KronError, match="cannot be saved"):
            host.ask(command, **words)
    host.wait_for_event("resumed")
    assert not host.runs()
    host.ask(command, **words)


@needs_strace
def test_an_edit_that_was_noticed_as_the_disk_failed_is_read_after_the_pause(
    host: FaultyHost,
) -> None:
    (due,) = jobs(host, 1)
    host.start(begin_s=DUE_S - 20)
    host.ask("forget", job=due[0])
    host.write(host.job(due[0]), host.job("another"))
    with failing(host, "fsync", "EIO", "1+"):
        host.ask("reload")  # it takes effect, and is stored later
        check_paused(host)
        host.write(host.job(due[0]), host.job("another"), host.job("a-third"))
        with pytest.raises(KronError, match="when it goes on"):
            host.ask("reload")
        host.log.rename(host.log.with_suffix(".old"))
        with pytest.raises(KronError, match="when it goes on"):
            host.ask("reload")
        wait_for(host.log.exists, "the log was opened again")
    wait_for(lambda: len(host.ask("status")["jobs"]) == 3, "it was read")


@needs_strace
def test_a_reload_that_was_asked_for_in_a_pause_is_done_after_it(host: FaultyHost) -> None:
    (due,) = jobs(host, 1)
    host.start(begin_s=DUE_S - 20)
    with failing(host, "fsync", "EIO", "1+"):
        with pytest.raises(KronError):
            host.ask("forget", job=due[0])
        check_paused(host)
        host.write(host.job(due[0]), host.job("another"))
        host.log.rename(host.log.with_suffix(".old"))
        assert host.process is not None
        host.process.send_signal(signal.SIGHUP)
        # See `tampered`.
        wait_for(host.log.exists, "the log was opened again")
    host.wait_for_event("resumed")
    host.wait_for_event("reload")
    assert host.row("another")


def test_on_a_full_disk_nothing_starts_until_there_is_room(small: FaultyHost) -> None:
    host = small
    due = jobs(host, MANY)
    start_before(host)
    full = fill(host.state.parent)
    host.open_gate()
    check_paused(host)
    (trouble,) = host.ask("status")["troubles"]
    assert trouble["kind"] == "state"
    assert "free some space" in trouble["text"]
    shown = host.command("status")
    assert shown.returncode == 0
    assert "paused: " in shown.stdout
    assert not host.runs()
    full.unlink()
    check_goes_on(host, due)


def test_on_a_disk_that_stays_full_krond_pauses_once(small: FaultyHost) -> None:
    host = small
    due = jobs(host, MANY)
    start_before(host)
    full = fill(host.state.parent, leave=8192)
    host.open_gate()
    check_paused(host)
    wait_for(lambda: host.ask("status")["troubles"][0]["text"], "it says why")
    time.sleep(3.5)  # by then it has tried twice
    assert len(host.events("paused")) == 1
    assert host.events("resumed") == []
    full.unlink()
    check_goes_on(host, due)


def test_an_edit_on_a_full_disk_owes_its_periods_from_then_on(small: FaultyHost) -> None:
    host = small
    edited = host.job("job", schedule="11 10 15 1 * @win(after,20s)")
    host.write(host.job("job", schedule="11 10 15 1 *"))
    host.start(begin_s=DUE_S + 20)
    full = fill(host.state.parent)
    host.write(edited)
    host.ask("reload")
    check_paused(host)
    full.unlink()
    host.wait_for_event("resumed")
    (paused,) = host.events("paused")
    assert host.states()["job"].ledger.since_s <= paused.time_ns // SECOND_NS


def test_on_a_full_disk_krond_does_not_start(small: FaultyHost) -> None:
    host = small
    due = jobs(host, MANY)
    full = fill(host.state.parent)
    host.launch(begin_s=DUE_S + 1)
    assert host.wait() == STATE
    assert "free some space" in host.said()
    assert not host.runs()
    full.unlink()
    go_on(host, due)


def test_of_a_group_that_does_not_fit_on_the_disk_nobody_starts(small: FaultyHost) -> None:
    host = small
    due = jobs(host, MANY)
    start_before(host)
    full = fill(host.state.parent, leave=4096)
    host.open_gate()
    check_paused(host)
    assert not host.runs()
    full.unlink()
    check_goes_on(host, due)


def test_a_run_that_ends_on_a_full_disk_is_not_repeated(small: FaultyHost) -> None:
    host = small
    (due,) = jobs(host, 1, then=f"while test ! -e {host.directory}/end; do sleep 0.01; done")
    start_before(host)
    host.open_gate()
    wait_for(host.runs, "the run")
    host.ask("status")  # so it has let go of the file that it has replaced, and of its room
    full = fill(host.state.parent)
    (host.directory / "end").touch()
    check_paused(host, started=1)
    full.unlink()
    check_goes_on(host, [due])


@pytest.mark.parametrize(("has_room", "code"), [(False, PERSISTENCE), (True, 0)])
def test_stopped_in_a_pause_krond_says_whether_its_state_is_saved(
    small: FaultyHost, has_room: bool, code: int
) -> None:
    host = small
    (due,) = jobs(host, 1, then=f"while test ! -e {host.directory}/end; do sleep 0.01; done")
    start_before(host)
    host.open_gate()
    wait_for(host.runs, "the run")
    host.ask("status")
    full = fill(host.state.parent)
    (host.directory / "end").touch()
    check_paused(host, started=1)
    if has_room:
        full.unlink()
    stopped = host.command("stop")
    assert (stopped.returncode, host.wait()) == (code, code)
    assert ("No space left on device" in stopped.stderr) == (code != 0)
    full.unlink(missing_ok=True)
    go_on(host, [due])


def test_the_ballast_lets_krond_store_an_end_on_a_disk_that_is_full(
    tmp_path: Path, server: Server
) -> None:
    with (
        tmpfs(tmp_path / "disk", "2m") as disk,
        FaultyHost(tmp_path, server, state=disk / "state") as host,
    ):
        host.log = disk / "krond.log"
        (due,) = jobs(host, 1, then=f"while test ! -e {host.directory}/end; do sleep 0.01; done")
        start_before(host)
        host.open_gate()
        wait_for(host.runs, "the run")
        host.ask("status")
        full = fill(disk)
        assert (host.state / "ballast").stat().st_blocks * 512 == 1 << 20
        (host.directory / "end").touch()
        check_paused(host, started=1)
        wait_for(lambda: host.is_over([due]), "the end is stored")
        assert not (host.state / "ballast").exists()
        assert len(host.ask("status")["troubles"]) == 1, "it goes on only when there is room"
        full.unlink()
        host.wait_for_event("resumed")
        assert (host.state / "ballast").exists()
        host.check([due])
        assert host.stop() == 0


@pytest.mark.parametrize("how", ["gone", "replaced", "moved", "without its runs"])
def test_without_its_directory_krond_ends(host: FaultyHost, how: str) -> None:
    """Another krond could use the one that is there now, and start the same runs."""
    jobs(host, 1)
    start_before(host)
    if how == "moved":
        host.state.rename(host.directory / "elsewhere")
    else:
        shutil.rmtree(host.state / "runs" if how == "without its runs" else host.state)
    if how in ("replaced", "moved"):
        host.state.mkdir(0o700)
    host.open_gate()
    assert host.wait() == PERSISTENCE
    (error,) = host.events("error")
    assert "is lost" in error["error"]
    assert not host.runs()


def test_a_run_whose_proof_cannot_be_made_is_not_given_up(host: FaultyHost) -> None:
    due = jobs(host, 2)
    (host.state / "runs").rmdir()
    with tmpfs(host.state / "runs", "64k", "nr_inodes=8") as runs:
        start_before(host)
        with without_room(runs):
            host.open_gate()
            check_paused(host)
            assert [row["reason"] for row in host.row("job-0")["waiting"]] == [DISK]
            assert not host.events("missed_deadline")
        check_goes_on(host, due)


@contextmanager
def without_room(directory: Path) -> Iterator[None]:
    """Have no room for any file in a directory that is a file system."""
    made: list[Path] = []
    try:
        with suppress(OSError):
            for number in count():
                made.append(directory / f".full-{number}")
                made[-1].touch()
        yield
    finally:
        for path in made:
            path.unlink(missing_ok=True)


def test_on_a_disk_that_is_read_only_krond_does_not_start(small: FaultyHost) -> None:
    host = small
    due = jobs(host, 1)
    subprocess.run(["mount", "-o", "remount,ro", host.state.parent], check=True)
    host.launch(begin_s=DUE_S + 1)
    assert host.wait() == STATE
    assert "Read-only file system" in host.said()
    assert "mount it read-write" in host.said()
    assert not host.runs()
    subprocess.run(["mount", "-o", "remount,rw", host.state.parent], check=True)
    go_on(host, due)


@pytest.mark.parametrize("how", ["becomes read-only", "breaks"])
def test_when_its_disk_fails_krond_pauses_before_it_starts_anything(
    on_disk: FaultyHost, disk: Ext4, how: str
) -> None:
    host = on_disk
    due = jobs(host, 3)
    start_before(host)
    if how == "breaks":
        disk.lose_power()
    else:
        disk.become_read_only()
    host.open_gate()
    paused = host.wait_for_event("paused")
    assert "cannot be saved" in paused["reason"]
    assert not host.events("started")
    host.kill()
    host.launch(begin_s=DUE_S + 1)
    assert host.wait() == STATE
    assert not host.runs()
    disk.unmount()
    disk.mount()
    go_on(host, due)


def test_after_a_power_failure_nothing_runs_again(on_disk: FaultyHost, disk: Ext4) -> None:
    """Under load, by the host's clock. What was not synced is gone, every run, and the boot."""
    host = on_disk
    host.write(*load.lines(host, LOAD, then="sleep 0.5"))
    host.start()
    for boot in range(1, 2 * SOAK + 1):
        enough = len(host.runs()) + 8
        wait_for(lambda: len(host.runs()) >= enough, "some runs")  # noqa: B023
        host.kill()
        disk.lose_power()
        host.end_runs()
        disk.unmount()
        disk.mount()
        assert len(host.states()) == LOAD  # every one of them reads
        start_in_boot(host, boot)
    due = load.owed(host, int(time.time()))
    wait_for(lambda: due <= {*host.ran(), *concluded(host)}, "all that was due has ended")
    assert set(host.ran().values()) == {1}
    assert set(host.ran()) <= load.owed(host, int(time.time()))
    assert concluded(host)
    assert host.stop() == 0
    host.check_accounts()


def concluded(host: FaultyHost) -> set[Ran]:
    """The periods that are taken to have run, since nobody can know."""
    return {
        ran
        for ran, ends in host.ends().items()
        for ended in ends
        if (ended.outcome, ended.reason) == ("executed", UNKNOWN_RESULT)
    }


def start_in_boot(host: FaultyHost, number: int) -> None:
    """Start a krond that reads this number as the id of the boot."""
    Host.launch(host, wrapper=in_boot(host.directory, number))
    host.wait_until_ready()
