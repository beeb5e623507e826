"""A krond that kills itself: at a line of its own that is named by its number.

Not for import: tests/krond/fault.py runs this file as a server, which has krond imported already
and forks for every request. krond has no fault points in it. The lines are counted by a trace
function, and the clock is shifted from outside, so that a run is due when the loop begins.

A request is a line of JSON, and so is its answer: see `serve`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import kron.engine
import kron.krond.background
import kron.krond.commands.start
import kron.krond.service
from kron.krond.daemon import Daemon
from kron.krond.process import launched, processes
from kron.krond.program import KROND
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

TRACED = tuple(str(Path(module.__file__ or "").parent) for module in (kron.krond, kron.engine))

LEAD_NS = 2_000_000
EFFECTS = {
    *("open", "write", "pwrite", "ftruncate", "fsync", "rename", "unlink", "mkdir", "close"),
    *("posix_spawn", "fork", "setsid", "dup2", "waitid", "waitpid", "kill", "killpg"),
    *("flock", "bind"),
}
"""Calls after which something outside of krond's own memory is another than before."""

ACTIONS = ("watch", "reap", "reap_if_ended", "signal_group")
"""What krond does to processes, besides looking at them."""


class Fault:
    """Counts lines, from the beginning or from when the timer fires, and strikes at number `at`.

    `side`: whose lines are counted, krond's or those of its child between fork and exec; for those
    krond forks even where it has a launcher.
    `victim`: who is killed then: `self`, the `parent` (krond, by its child) or `both`.
    """

    def __init__(self, at: int, since: str, side: str, victim: str, report: str) -> None:
        self._at = at
        self._since = since
        self._victim = victim
        self._report = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._is_counted_here = side == "krond"
        self._count = 0
        self._has_begun = False
        self._effects = ["begin"]
        self._traced: dict[CodeType, bool] = {}

    def install(self) -> None:
        """Count when it is time to, in this process and in those that it forks."""
        if not self._is_counted_here:
            launched.is_there = lambda: False  # type: ignore[assignment]
        os.register_at_fork(after_in_child=self._forked)
        if self._since == "beginning":
            self._begin()
            return
        read, wake = WallTimer.read, Daemon._wake

        def first_read(timer: WallTimer) -> bool:
            self._begin_once()
            return read(timer)

        def first_wake(daemon: Daemon) -> None:
            # The loop may turn for another reason, and find what is due before the timer fires.
            if daemon._is_due(daemon._clock.now_ns()):
                self._begin_once()
            wake(daemon)

        WallTimer.read = first_read  # type: ignore[method-assign,assignment]
        Daemon._wake = first_wake  # type: ignore[method-assign,assignment]

    def _begin_once(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._begin()

    def _begin(self) -> None:
        """Count from now on, also what is left of the functions that we are in."""
        if not self._at:
            sys.setprofile(self._profile)
        sys.settrace(self._trace)
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            frame.f_trace = self._trace(frame, "call", None)
            frame = frame.f_back

    def _forked(self) -> None:
        self._is_counted_here = not self._is_counted_here
        self._count = 0

    def _is_traced(self, code: CodeType) -> bool:
        if code not in self._traced:
            file = code.co_filename
            # That module looks at /proc, for thousands of lines that change nothing.
            looks = file == processes.__file__ and code.co_name not in ACTIONS
            self._traced[code] = file.startswith(TRACED) and not looks
        return self._traced[code]

    def _trace(self, frame: FrameType, _event: str, _: object) -> Callable[..., Any] | None:
        return self._line if self._is_traced(frame.f_code) else None

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        if event == "line" and self._is_counted_here:
            self._count += 1
            if not self._at:
                self._tell(frame)
            elif self._count == self._at:
                self._tell(frame)
                self._strike()
        return self._line

    def _profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ in EFFECTS and self._is_traced(frame.f_code):
            self._effects.append(called.__name__)

    def _tell(self, frame: FrameType) -> None:
        code = frame.f_code
        where = f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname}"
        line = f"{self._count}\t{where}\t{' '.join(self._effects)}\n"
        self._effects.clear()
        os.write(self._report, line.encode())

    def _strike(self) -> None:
        if self._victim in ("parent", "both"):
            os.kill(os.getppid(), signal.SIGKILL)
        if self._victim in ("self", "both"):
            os.kill(os.getpid(), signal.SIGKILL)


def shift_clock(begin_ns: int, due_ns: int, gate: str) -> None:
    """Let it be `begin_ns` now and, if `due_ns` is given, just before that as the loop begins.

    The loop does not begin while the file `gate` is there.
    """
    shift_ns = begin_ns - time.time_ns()
    is_to_jump = due_ns > 0
    arm = WallTimer.arm

    def now_ns(_: Clock) -> int:
        return time.time_ns() + shift_ns

    def arm_shifted(timer: WallTimer, instant_ns: int | None) -> None:
        nonlocal shift_ns, is_to_jump
        if is_to_jump:
            while gate and os.access(gate, os.F_OK):
                time.sleep(0.005)
            shift_ns = due_ns - LEAD_NS - time.time_ns()
            is_to_jump = False
        arm(timer, None if instant_ns is None else instant_ns - shift_ns)

    Clock.now_ns = now_ns  # type: ignore[method-assign,assignment]
    WallTimer.arm = arm_shifted  # type: ignore[method-assign,assignment]


def become_krond(request: dict[str, Any]) -> None:
    """In a process of its own: be the krond that was asked for, to its end."""
    code = 70
    try:
        output = os.open(request["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, 64)
        if request["begin_ns"]:
            shift_clock(request["begin_ns"], request["due_ns"], request["gate"])
        if request["boot_id"]:
            processes._boot_id = lambda: request["boot_id"]  # type: ignore[assignment]
        if request["fault"]:
            Fault(**request["fault"]).install()
        code = KROND.main(request["words"])
        sys.settrace(None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Answer requests until there are no more: start a krond, or say whether one has ended."""
    importlib.metadata.version("krond")
    gc.freeze()  # what is here now is shared with all that are forked
    answer: dict[str, int | None]
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            pid, status = os.waitpid(request["wait"], os.WNOHANG)
            answer = {"code": os.waitstatus_to_exitcode(status) if pid else None}
        else:
            pid = os.fork()
            if pid == 0:
                become_krond(request)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
