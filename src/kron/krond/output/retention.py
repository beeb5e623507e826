"""Retention: which outputs go, by their number and by their age.

An output that is still written stays. So does everything that does not look like an output.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import deque
from contextlib import suppress

from kron.core.frozen import Frozen
from kron.krond.output.directory import is_output, open_for_reading, opened_directory, outputs_in
from kron.krond.output.names import is_directory_name


class Retention(Frozen):
    most: int
    """How many outputs of a job are kept."""
    age_s: int


class Sweeper:
    """Removes outputs, in one or two directories at a time, so that no output waits for it."""

    def __init__(self, path: str, retention: Retention) -> None:
        self._path = path
        self._retention = retention
        self._others: deque[str] = deque()

    def sweep(self, job: str) -> None:
        """Sweep the directory of a job, and one of another: its job may never run again."""
        with suppress(OSError), opened_directory(self._path) as root:
            self._sweep(root, job)
            if not self._others:
                names = os.listdir(root)  # noqa: PTH208
                self._others.extend(sorted(filter(is_directory_name, names)))
            if self._others:
                self._sweep(root, self._others.popleft())

    def _sweep(self, root: int, job: str) -> None:
        with suppress(OSError), opened_directory(job, root) as directory:
            names = outputs_in(directory)
            too_many = len(names) - self._retention.most
            oldest_s = time.time() - self._retention.age_s
            for place, name in enumerate(names):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if is_output(status) and (place < too_many or status.st_mtime < oldest_s):
                    _remove(name, directory)
        with suppress(OSError):
            os.rmdir(job, dir_fd=root)  # only if it is empty


def _remove(name: str, directory: int) -> None:
    descriptor = open_for_reading(name, directory)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=directory)
    finally:
        os.close(descriptor)
