"""Running work in a process that is killed at its n-th step: each step is one system call's
beginning or end, as ptrace shows them. The kill is a real SIGKILL of a real process.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

import pytest

_TRACE_ME = 0
_SYSCALL = 24


def killed_at(step: int, work: Callable[[], object]) -> tuple[int, bool]:
    """Do `work` in a child and kill it at its `step`-th stop; how many it made, and if it ended.

    `work` is not counted as ended if the process was killed after it but before it could say so.
    """
    library = ctypes.CDLL(None, use_errno=True)
    ended, say_ended = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ended)
            if library.ptrace(_TRACE_ME, 0, None, None) != 0:
                os._exit(77)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            os.write(say_ended, b"x")
        finally:
            os._exit(0)
    os.close(say_ended)
    stops = 0
    _, status = os.waitpid(child, 0)
    while os.WIFSTOPPED(status):
        if stops == step:
            os.kill(child, signal.SIGKILL)
        else:
            passed_on = os.WSTOPSIG(status)
            passed_on = 0 if passed_on in (signal.SIGTRAP, signal.SIGSTOP) else passed_on
            library.ptrace(_SYSCALL, child, None, ctypes.c_long(passed_on))
        stops += 1
        _, status = os.waitpid(child, 0)
    has_ended = os.read(ended, 1) == b"x"
    os.close(ended)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
        pytest.skip("ptrace is not allowed here")
    return stops, has_ended
