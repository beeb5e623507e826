"""System calls of a running process that are held up or fail, by the hand of strace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.logbook import wait_for

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


@contextmanager
def tampered(pid: int, call: str, how: str, *options: str) -> Iterator[None]:
    """Do to this system call, from now on, what `how` says in the words of strace's `inject=`.

    At the end strace lets go of the process, and a signal that arrives meanwhile is lost: before
    that, wait for what a signal does. SIGKILL is not lost.
    """
    words = ["strace", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:{how}"]
    with subprocess.Popen([*words, *options, "-p", str(pid)]) as strace:
        try:
            status = Path(f"/proc/{pid}/status")
            wait_for(lambda: "TracerPid:\t0\n" not in status.read_text(), "strace is there")
            yield
        finally:
            strace.terminate()
