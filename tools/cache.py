"""Where the tools keep what takes long to make: a directory outside the tree, with locks."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UnavailableError(Exception):
    """Something cannot be found or made; the text says why and what to do."""


def cache() -> Path:
    """The directory of all that the tools of this project have made for this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kron"


@contextmanager
def alone(directory: Path, otherwise: str) -> Iterator[None]:
    """Hold the lock of a directory, which is made; says `otherwise` if it has to wait for that."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{otherwise}; waiting ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def elapsed(began_s: float) -> str:
    """The time since then, by the monotonic clock, for people."""
    minutes, seconds = divmod(round(time.monotonic() - began_s), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"
