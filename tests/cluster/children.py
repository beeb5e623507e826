"""Processes that never outlive the thread that started them, whatever ends it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def start(words: Sequence[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process; its output is added to `log`. A Ctrl-C at the terminal is not for it."""
    parent = os.getpid()

    def die_with_parent() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    with log.open("ab") as output:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 (tests have no threads at that moment)
        )


def stop(process: subprocess.Popen[bytes], patience_s: float = 0.0) -> int:
    """SIGTERM and, when patience is over, SIGKILL: its exit code. Without patience, SIGKILL."""
    if patience_s:
        process.terminate()
        try:
            return process.wait(patience_s)
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    return process.wait()
