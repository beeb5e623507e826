"""After any failure at any moment, every state file is the old or the new one, complete."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.core.errors import Code
from kron.krond.state.errors import PersistenceError
from kron.krond.state.file_replacer import FEW
from kron.krond.state.lock import lock
from kron.krond.state.record import RunRecord
from kron.krond.state.store import StateStore
from tests.krond.state import mounts
from tests.krond.state.states import BOOT, number_of, state
from tests.krond.state.tracing import killed_at
from tests.soak import SOAK

ROOT = Path(__file__).parents[3]
DRIVER = (sys.executable, "-m", "tests.krond.state.driver")


def numbers(store: StateStore, count: int) -> list[int]:
    """The numbers of the states of `count` jobs. None is corrupt, none is missing."""
    loaded = store.load_all()
    assert loaded.corrupt == ()
    assert len(loaded.states) == count
    for value in loaded.states.values():
        assert value == state(value.identity.split(":")[1], number_of(value))
    return sorted(number_of(value) for value in loaded.states.values())


def temporaries(directory: Path) -> list[str]:
    return [name for name in os.listdir(directory) if name.startswith(".new")]  # noqa: PTH208


def rounds(count: int, number: int) -> list:  # type: ignore[type-arg]
    return [state(f"job-{job}", number) for job in range(count)]


@pytest.mark.parametrize(("count", "stride"), [(1, 1), (3, 1), (FEW + 1, 15)])
def test_killed_at_any_system_call_every_file_is_the_old_or_the_new_one(
    tmp_path: Path, count: int, stride: int
) -> None:
    """Stopped at each beginning and end of a call; of the many calls for many files at some."""
    directory = tmp_path / "state"
    store = StateStore.open(str(directory))
    outcomes = set()
    for step in itertools.count(0, 1 if SOAK > 1 else stride):
        store.commit(rounds(count, step))
        stops, ended = killed_at(step, lambda: store.commit(rounds(count, step + 1)))  # noqa: B023
        found = {number - step for number in numbers(store, count)}
        assert found <= ({1} if ended else {0, 1})
        outcomes.add(frozenset(found))
        if stops <= step:
            break  # it was not killed any more
    store.close()
    assert temporaries(directory) != []
    StateStore.open(str(directory)).close()
    assert temporaries(directory) == []
    assert {frozenset({0}), frozenset({1})} <= outcomes
    assert (frozenset({0, 1}) in outcomes) == (count > 1)


def test_killed_at_any_system_call_of_a_start_the_next_one_works(tmp_path: Path) -> None:
    for step in itertools.count(0, 1 if SOAK > 1 else 3):
        directory = tmp_path / f"state-{step}" / "below"
        stops, _ = killed_at(step, lambda: StateStore.open(str(directory)))  # noqa: B023
        store = StateStore.open(str(directory))
        store.commit(rounds(1, step))
        assert numbers(store, 1) == [step]
        store.close()
        if stops <= step:
            assert step > 50
            break


def test_killed_while_noting_a_run_the_proof_stays(tmp_path: Path) -> None:
    store = StateStore.open(str(tmp_path / "state"))
    run = RunRecord("run", None, None, None, 5, 7, BOOT)
    for step in itertools.count():
        Path(store.proof("run")).write_bytes(b"")
        stops, ended = killed_at(step, lambda: store.note_run(run))
        assert store.has_proof("run")
        assert store.noted_run("run") == run or (not ended and store.noted_run("run") is None)
        if stops <= step:
            assert step > 5
            break
    store.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    yield from mounts.tmpfs(tmp_path / "small", "size=256k,mode=0700")


@pytest.fixture
def few_inodes(tmp_path: Path) -> Iterator[Path]:
    yield from mounts.tmpfs(tmp_path / "few", "size=4m,nr_inodes=30,mode=0700")


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_on_a_full_disk_a_commit_fails_and_the_old_states_stay(small: Path, count: int) -> None:
    store = StateStore.open(str(small / "state"))
    store.commit(rounds(count, 1))
    for pages in range(count):
        fill(small / "ballast", pages * 4096)
        with pytest.raises(PersistenceError) as caught:
            store.commit(rounds(count, 2))
        assert caught.value.code is Code.STATE_UNWRITABLE
        assert caught.value.errno == errno.ENOSPC
        assert "df -i" in caught.value.fix
        assert temporaries(small / "state") == []
        assert numbers(store, count) == [1] * count
    fill(small / "ballast", count * 4096)
    store.commit(rounds(count, 2))
    assert numbers(store, count) == [2] * count
    store.close()


def fill(path: Path, but_bytes: int) -> None:
    """Fill the file system except for a few bytes."""
    path.unlink(missing_ok=True)
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - but_bytes))


def test_a_file_of_which_only_a_part_fits_is_never_put_in_place(small: Path) -> None:
    store = StateStore.open(str(small / "state"))
    store.commit([state(number=1)])
    with pytest.raises(PersistenceError, match="No space left"):
        store.commit([state(number=2, size=450_000)])
    assert store.load(state().identity) == state(number=1)
    assert temporaries(small / "state") == []
    store.close()


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_without_inodes_a_commit_fails_and_the_old_states_stay(
    few_inodes: Path, count: int
) -> None:
    store = StateStore.open(str(few_inodes / "state"))
    store.commit(rounds(count, 1))
    store.write_back()
    with pytest.raises(OSError, match="No space left"):  # noqa: PT012
        for number in range(30):
            (few_inodes / f"taken-{number}").touch()
    (few_inodes / "taken-0").unlink()
    with pytest.raises(PersistenceError, match="No space left"):
        store.commit(rounds(count, 2))
    assert numbers(store, count) == [1] * count
    assert temporaries(few_inodes / "state") == []
    store.commit(rounds(1, 3))
    assert numbers(store, count) == [*[1] * (count - 1), 3]
    store.close()


def test_a_full_disk_refuses_the_start_and_a_note_with_a_remedy(small: Path) -> None:
    store = StateStore.open(str(small / "state"))
    fill(small / "ballast", 0)
    with pytest.raises(PersistenceError, match=r"cannot be noted in .*No space left"):
        store.note_run(RunRecord("run", None, None, None, 5, 7, BOOT))
    assert store.noted_run("run") is None
    with pytest.raises(PersistenceError, match="cannot be locked: No space left"):
        lock(str(small / "krond.pid"))
    store.close()


def test_a_read_only_directory_refuses_the_start_with_a_remedy(small: Path) -> None:
    StateStore.open(str(small / "state")).close()
    mounts.run("mount", "-o", "remount,ro", str(small))
    for path in (small / "state", small / "new"):
        with pytest.raises(PersistenceError, match="Read-only file system") as caught:
            StateStore.open(str(path))
        assert caught.value.code is Code.STATE_UNWRITABLE
        assert "mount it read-write" in caught.value.fix


def driven(*prefix: str, directory: Path, count: int, hows: bytes, first: int) -> list[str]:
    """What the driver says when it is run with this command in front."""
    done = subprocess.run(
        [*prefix, *DRIVER, str(directory), str(count), str(first)],
        input=hows,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 2), done.stderr
    return done.stdout.decode().splitlines()


INJECTED = [
    pytest.param(3, "fsync", "EIO", 0, "committed", id="fsync-of-a-directory-above"),
    pytest.param(3, "fsync", "EIO", 1, "refused", id="fsync-at-the-start"),
    pytest.param(3, "fsync", "EIO", 3, "failed", id="fsync-of-a-file"),
    pytest.param(3, "fsync", "EIO", 5, "failed", id="fsync-of-the-directory"),
    pytest.param(3, "fsync", "ENOSPC", 4, "failed", id="fsync-no-space"),
    pytest.param(3, "renameat", "EIO", 2, "failed", id="rename"),
    pytest.param(FEW + 1, "syncfs", "EIO", 1, "failed", id="syncfs"),
    pytest.param(FEW + 1, "syncfs", "EINTR", 1, "committed", id="syncfs-interrupted"),
    pytest.param(FEW + 1, "renameat2", "EIO", FEW, "failed", id="rename-of-many"),
    pytest.param(3, "flock", "ENOLCK", 1, "refused", id="lock"),
]


@pytest.mark.parametrize(("count", "call", "error", "when", "told"), INJECTED)
def test_a_call_that_fails_is_told_and_no_file_is_torn(
    tmp_path: Path, count: int, call: str, error: str, when: int, told: str
) -> None:
    """One failure, injected with strace into a real program, whose next commit works again."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    directory = tmp_path / "state"
    store = StateStore.open(str(directory))
    store.commit(rounds(count, 0))
    store.close()
    trace = tmp_path / "trace"
    if call == "fsync":  # of each directory above, first of all
        when += len(directory.parents)
    inject = f"inject={call}:error={error}:when={when}"
    prefix = ("strace", "-o", str(trace), "-e", f"trace={call}", "-e", inject)
    said = driven(*prefix, directory=directory, count=count, hows=b"x", first=1)
    if not trace.exists() or "INJECTED" not in trace.read_text():
        pytest.skip("strace cannot inject here")
    store = StateStore.open(str(directory))
    found = numbers(store, count)
    store.close()
    assert temporaries(directory) == []
    assert said[0].split()[0] == told
    assert set(found) <= ({1} if told == "committed" else {0, 1})
    again = driven(directory=directory, count=count, hows=b"x", first=2)
    assert again == ["committed 2"]


@pytest.mark.parametrize(
    ("call", "when", "told"),
    [
        pytest.param("fsync", 3, ["failed 1", "committed 2"], id="syncing-the-bundle"),
        pytest.param("renameat", 1, ["failed 1", "committed 2"], id="renaming-it"),
        pytest.param("fsync", 4, ["failed 1", "committed 2"], id="syncing-the-directory"),
        pytest.param("syncfs", 1, ["committed 1", "unsettled 1", "committed 2"], id="the-files"),
        pytest.param("unlinkat", 1, ["committed 1", "unsettled 1", "committed 2"], id="removing"),
    ],
)
def test_a_bundle_that_fails_is_never_taken_for_the_latest(
    tmp_path: Path, call: str, when: int, told: list[str]
) -> None:
    """The next commit is one, and nothing of what failed comes back after it."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    directory = tmp_path / "state"
    count = FEW + 1
    store = StateStore.open(str(directory))
    store.commit(rounds(count, 0))
    store.close()
    if call == "fsync":
        when += len(directory.parents) - 1
    inject = f"inject={call}:error=EIO:when={when}"
    prefix = ("strace", "-o", str(tmp_path / "trace"), "-e", f"trace={call}", "-e", inject)
    said = driven(*prefix, directory=directory, count=count, hows=b"qx", first=1)
    if "INJECTED" not in (tmp_path / "trace").read_text():
        pytest.skip("strace cannot inject here")
    assert [" ".join(line.split()[:2]) for line in said] == told
    store = StateStore.open(str(directory))
    assert numbers(store, count) == [2] * count
    store.close()
