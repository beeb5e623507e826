"""The workshop: a directory on the disk of this tree, or in a place that was given, and C programs.

What takes long to get (the peers) stays in `build/bench`; what a bench writes goes with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from time import perf_counter, sleep

CACHE = Path(__file__).parents[2] / "build" / "bench"
_place = CACHE
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": str(Path.home()),
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
"""The same for everybody. Short: it is copied at every start."""
WITHOUT_JOURNAL = " without a journal"
_NOT_A_DISK = frozenset({"tmpfs", "ramfs", "overlay", "nfs", "nfs4", "9p", "virtiofs", "fuse"})
_FILES = 50
_FORGOTTEN_S = 40.0
"""After which an ext4 without a journal uses the place of a deleted file again."""


class SkippedError(Exception):
    """Something cannot be had here; its text says why."""


def use(place: Path) -> None:
    """Have benches write below this directory, not below the tree."""
    global _place  # noqa: PLW0603
    _place = place.absolute()


def scratch() -> Path:
    """A new directory for what a bench writes, in the place that was given.

    It is as it comes: everybody may pass through it, and nobody looks for a quick one. All are
    removed when the benches have ended.
    """
    place = Path(mkdtemp(dir=_scratches().name))
    place.chmod(0o711)
    return place


@cache
def _scratches() -> TemporaryDirectory[str]:
    _place.mkdir(parents=True, exist_ok=True)
    every = TemporaryDirectory(dir=_place, prefix="run-", ignore_cleanup_errors=True)
    Path(every.name).chmod(0o711)
    return every


def seconds_to_make_a_file(directory: Path) -> float:
    """What it takes to make a small file there, not synced.

    The files stay: deleting them would make the next ones slower.
    """
    place = Path(mkdtemp(dir=directory, prefix="probe-"))
    began_s = perf_counter()
    for number in range(_FILES):
        (place / str(number)).write_bytes(bytes(500))
    return (perf_counter() - began_s) / _FILES


def settle() -> None:
    """Let the disk forget the files that the round before this one has deleted.

    Without a journal, an ext4 looks at each of them before it makes another nearby: that would
    measure the round before.
    """
    if disk().endswith(WITHOUT_JOURNAL):
        sleep(_FORGOTTEN_S)


@cache
def disk() -> str:
    """The file system below, with a warning if syncing it may cost nothing."""
    _place.mkdir(parents=True, exist_ok=True)
    device = _place.stat().st_dev
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        words = line.split()
        if words[2] == f"{os.major(device)}:{os.minor(device)}":
            kind, source = words[words.index("-") + 1 :][:2]
            if kind in _NOT_A_DISK:
                return f"{kind}, which is no disk of its own"
            return f"{kind}{WITHOUT_JOURNAL}" if _lacks_journal(kind, source) else kind
    return "an unknown file system"


def _lacks_journal(kind: str, source: str) -> bool:
    journals = Path("/proc/fs/jbd2")
    name = Path(source).name
    return kind == "ext4" and not any(journals.glob(f"{name}-*"))


@cache
def program(name: str) -> str:
    """One of the C programs here, compiled: `SkippedError` where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SkippedError("there is no C compiler (cc), and what jobs do is a C program")
    CACHE.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name(f"{name}.c")
    made = CACHE / name
    command = [compiler, "-O2", "-Wall", "-o", str(made), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SkippedError(f"{source.name} does not compile: {done.stderr.strip()[:200]}")
    return str(made)
