"""After a power failure, every commit is there and no file is torn.

A real ext4 in a file. A copy of that file, taken while the file system is in use, is what a disk
would hold if the power failed now: what was not synced is not in it. It is mounted, which replays
the journal, and looked at.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.krond.state.errors import PersistenceError
from kron.krond.state.file_replacer import FEW
from kron.krond.state.store import StateStore
from tests.krond.state import mounts
from tests.krond.state.test_faults import DRIVER, ROOT, numbers, rounds
from tests.soak import SOAK

DIRECTORY = Path("lib/krond/state")


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """The file that a mounted ext4 is in; it is mounted beside it at `disk`."""
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(24 << 20)
    # Written out only when it has to be, or after an hour: nothing gets there by itself.
    mounts.run("mkfs.ext4", "-q", "-O", "has_journal", str(path))
    with mounts.mounted(tmp_path / "disk", "-o", "loop,commit=3600", str(path)):
        yield path


def after_power_failure(image: Path, place: Path) -> Iterator[Path]:
    """The file system as it would be if the power failed now and came back."""
    copy = image.with_name(f"{place.name}.image")
    subprocess.run(["cp", "--sparse=always", str(image), str(copy)], check=True)
    with mounts.mounted(place, "-o", "loop", str(copy)) as path:
        yield path
    copy.unlink()


def test_the_test_can_fail(image: Path, tmp_path: Path) -> None:
    """A file that is written and not synced is not in the copy."""
    (tmp_path / "disk" / "synced").write_bytes(b"x")
    descriptor = os.open(tmp_path / "disk" / "synced", os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    (tmp_path / "disk" / "unsynced").write_bytes(b"x")
    for disk in after_power_failure(image, tmp_path / "after"):
        assert (disk / "synced").exists()
        assert not (disk / "unsynced").exists()


@pytest.mark.parametrize(
    ("count", "quickly"), [(1, False), (3, False), (FEW + 1, False), (FEW + 1, True)]
)
def test_what_was_committed_survives(
    image: Path, tmp_path: Path, count: int, quickly: bool
) -> None:
    """The directory too, and its parents, which the same start has made."""
    store = StateStore.open(str(tmp_path / "disk" / DIRECTORY))
    for number in range(3):
        store.commit(rounds(count, number), quickly=quickly)
        for disk in after_power_failure(image, tmp_path / f"after-{number}"):
            found = StateStore.open(str(disk / DIRECTORY))
            assert numbers(found, count) == [number] * count
            found.close()
        if number:
            store.write_back()
    store.close()


@pytest.mark.parametrize(("count", "how"), [(2, b"x"), (FEW + 1, b"x"), (FEW + 1, b"q")])
def test_at_whatever_moment_no_file_is_torn(
    image: Path, tmp_path: Path, count: int, how: bytes
) -> None:
    """A program that commits without pause is stopped where it happens to be."""
    driver = subprocess.Popen(
        [*DRIVER, str(tmp_path / "disk" / DIRECTORY), str(count), "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    with driver:
        committed = -1
        for moment in range(4 * SOAK):
            driver.stdin.write(how * 40)
            driver.stdin.flush()
            for _ in range(20):  # the other twenty are under way
                committed = int(driver.stdout.readline().split()[1])
            os.kill(driver.pid, signal.SIGSTOP)
            for disk in after_power_failure(image, tmp_path / f"after-{moment}"):
                found = StateStore.open(str(disk / DIRECTORY))
                seen = numbers(found, count)
                found.close()
                assert committed <= seen[0]
                assert seen[-1] <= seen[0] + 1
            os.kill(driver.pid, signal.SIGCONT)
            for _ in range(20):
                committed = int(driver.stdout.readline().split()[1])
        driver.stdin.close()
        assert driver.wait() == 0


@pytest.mark.parametrize("count", [1, FEW + 1])
def test_a_disk_that_fails_is_told_and_the_old_states_stay(
    image: Path, tmp_path: Path, count: int
) -> None:
    """ext4 that has given up, as it does after an error of the disk."""
    store = StateStore.open(str(tmp_path / "disk" / DIRECTORY))
    store.commit(rounds(count, 1))
    mounts.run("mount", "-o", "remount,abort", str(tmp_path / "disk"))
    with pytest.raises(PersistenceError):
        store.commit(rounds(count, 2))
    assert numbers(store, count) == [1] * count
    store.close()
    for disk in after_power_failure(image, tmp_path / "after"):
        found = StateStore.open(str(disk / DIRECTORY))
        assert numbers(found, count) == [1] * count
        found.close()
