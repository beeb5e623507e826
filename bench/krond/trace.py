"""The system calls of a process, as strace sees them."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

from bench.krond.workshop import SkippedError

_LINE = re.compile(r"(?:[0-9]+ +)?(?P<at>[0-9]+\.[0-9]+) (?P<name>[a-z_0-9]+)\((?P<rest>.*)")


class Call(NamedTuple):
    """One system call: when it began, its name, and its arguments as strace shows them."""

    at_s: float
    name: str
    rest: str


class Trace:
    """A context manager: strace is attached to the process inside; it sets `calls`."""

    def __init__(self, pid: int, file: Path, *names: str) -> None:
        self._file = file
        self._pid = pid
        self._names = names
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Trace:
        strace = shutil.which("strace")
        if strace is None:
            raise SkippedError("there is no strace")
        chosen = ["-e", f"trace={','.join(self._names)}"] if self._names else []
        self._process = subprocess.Popen(
            [strace, "-ttt", "-y", *chosen, "-o", str(self._file), "-p", str(self._pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        if "attached" not in (said := self._process.stderr.readline()):
            self._process.wait()
            raise SkippedError(f"strace cannot attach: {said.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.communicate()

    def calls(self) -> list[Call]:
        """What was called, in order. To be asked after the end."""
        matches = map(_LINE.match, self._file.read_text(errors="replace").splitlines())
        return [Call(float(m["at"]), m["name"], m["rest"]) for m in matches if m is not None]
