"""The wall timer: it fires at its instant, and tells of a clock that is set.

Nothing here sets the clock of the machine: strace makes the kernel's answer instead.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.waking.timer import WallTimer

MS = 1_000_000
HOUR_NS = 3_600 * 10**9
SOON_S = 5.0  # only a failing test waits as long


@pytest.fixture
def timer() -> Iterator[WallTimer]:
    made = WallTimer()
    yield made
    made.close()


def is_ready(timer: WallTimer, within_s: float = 0.0) -> bool:
    return bool(select.select([timer], [], [], within_s)[0])


def test_it_is_silent_until_it_is_armed(timer: WallTimer) -> None:
    assert not is_ready(timer)


def test_it_fires_at_its_instant_and_not_before(timer: WallTimer) -> None:
    instant_ns = time.time_ns() + 5 * MS
    timer.arm(instant_ns)
    assert is_ready(timer, SOON_S)
    assert time.time_ns() >= instant_ns
    assert timer.read()


def test_it_fires_once(timer: WallTimer) -> None:
    timer.arm(time.time_ns() + MS)
    assert is_ready(timer, SOON_S)
    timer.read()
    assert not is_ready(timer, 0.003)


@pytest.mark.parametrize(
    "instant_ns",
    [
        pytest.param(1_000_000_000, id="1970"),
        pytest.param(0, id="the-epoch-which-would-disarm-it"),
        pytest.param(-1, id="before-the-epoch"),
        pytest.param(-(10**30), id="before-everything"),
    ],
)
def test_what_is_past_fires_at_once(timer: WallTimer, instant_ns: int) -> None:
    timer.arm(instant_ns)
    assert is_ready(timer, SOON_S)
    assert timer.read()


def test_an_instant_just_past_fires_at_once(timer: WallTimer) -> None:
    timer.arm(time.time_ns() - 1)
    assert is_ready(timer, SOON_S)


@pytest.mark.parametrize(
    "instant_ns",
    [
        pytest.param(None, id="none"),
        pytest.param(32_503_679_999 * 10**9, id="the-last-second-of-2999"),
        pytest.param(10**40, id="beyond-what-the-kernel-counts"),
    ],
)
def test_what_is_far_away_does_not_fire(timer: WallTimer, instant_ns: int | None) -> None:
    timer.arm(instant_ns)
    assert not is_ready(timer, 0.003)


def test_arming_again_replaces_the_instant(timer: WallTimer) -> None:
    timer.arm(time.time_ns() + HOUR_NS)
    timer.arm(time.time_ns() + MS)
    assert is_ready(timer, SOON_S)
    timer.arm(time.time_ns() + HOUR_NS)
    assert not is_ready(timer)
    timer.arm(0)
    timer.arm(None)
    assert not is_ready(timer)


def test_a_reading_that_finds_nothing_is_no_change_of_the_clock(timer: WallTimer) -> None:
    timer.arm(HOUR_NS + time.time_ns())
    assert timer.read()


def test_its_descriptor_is_not_inherited(timer: WallTimer) -> None:
    assert not os.get_inheritable(timer.fileno())


def test_closing_twice_closes_once() -> None:
    timer = WallTimer()
    number = timer.fileno()
    timer.close()
    taken = os.open(os.devnull, os.O_RDONLY)
    assert taken == number
    timer.close()
    os.close(taken)


def test_a_failure_of_the_kernel_is_an_os_error() -> None:
    timer = WallTimer()
    os.close(timer.fileno())
    with pytest.raises(OSError, match=r"timerfd_settime: Bad file descriptor"):
        timer.arm(0)


DRIVER = """
import select
from kron.waking.timer import WallTimer
timer = WallTimer()
def look():
    ready = bool(select.select([timer], [], [], 1 if {patient} else 0)[0])
    print("ready" if ready else "silent")
def read():
    print("fired" if timer.read() else "set")
{steps}
"""


def under_strace(tmp_path: Path, inject: str, steps: str, *, patient: bool) -> list[str]:
    """What the steps print while strace answers for the kernel."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed, and nothing else may set the clock")
    where = ["-P", "anon_inode:[timerfd]"] if inject.startswith("read") else []
    traced = [sys.executable, "-c", DRIVER.format(steps=steps, patient=patient)]
    ran = subprocess.run(
        [strace, "-o", str(tmp_path / "trace"), *where, "-e", f"inject={inject}", *traced],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "ptrace" in ran.stderr:
        pytest.skip(f"strace may not trace here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_a_clock_that_is_set_is_told(tmp_path: Path) -> None:
    said = under_strace(
        tmp_path,
        "read:error=ECANCELED:when=1",
        "timer.arm(0); look(); read(); timer.arm(0); look(); read()",
        patient=True,
    )
    assert said == ["ready", "set", "ready", "fired"]


def test_a_clock_set_between_two_armings_is_told_too(tmp_path: Path) -> None:
    # The kernel says it in the answer to the second arming, and never again.
    said = under_strace(
        tmp_path,
        "timerfd_settime:error=ECANCELED:when=2",
        "timer.arm(None); look(); timer.arm(None); look(); timer.arm(None); look(); read()\n"
        "timer.arm(None); look(); read()",
        patient=False,
    )
    assert said == ["silent", "ready", "ready", "set", "silent", "fired"]


def test_another_error_of_the_kernel_is_raised(tmp_path: Path) -> None:
    said = under_strace(
        tmp_path,
        "read:error=EIO:when=1",
        "timer.arm(0)\ntry:\n    timer.read()\nexcept OSError as error:\n    print(error.errno)",
        patient=True,
    )
    assert said == ["5"]
