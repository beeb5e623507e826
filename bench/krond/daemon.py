"""A krond to be measured: started in a directory of its own, reloaded, stopped.

It reports that it is ready as it would to systemd, so the benchmark does not poll.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from time import perf_counter

from bench.krond.usage import Usage, usage
from bench.krond.workshop import ENVIRONMENT

PATIENCE_S = 300.0
FILE_JOBS = 10_000
"""How many jobs go into one file: a file has at most 8 MiB."""
_numbers = count()


class Krond:
    """A context manager: what still runs at the end is stopped."""

    def __init__(self, place: Path) -> None:
        self.config = place / "krond.d"
        self.state = place / "state"
        self.log = place / "krond.log"
        self.outputs = place / "outputs"
        self._output = place / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: subprocess.Popen[bytes] | None = None
        """Its output goes through a pipe to a file, as that of a service goes to the journal."""
        self._address = f"kron-bench-{os.getpid()}-{next(_numbers)}"
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._told.bind(f"\0{self._address}")
        self._told.settimeout(PATIENCE_S)
        self.config.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Krond:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._told.close()

    @property
    def file(self) -> Path:
        """The first of its files, or the only one."""
        return self.config / "0.kron"

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def write(self, lines: Iterable[str]) -> None:
        """Write its krontab files, each line a job."""
        every = list(lines)
        for number, start in enumerate(range(0, max(len(every), 1), FILE_JOBS)):
            file = self.config / f"{number}.kron"
            file.write_text("".join(f"{line}\n" for line in every[start : start + FILE_JOBS]))
            file.chmod(0o600)

    def run(self, job: str) -> None:
        """Have a job run to its end."""
        words = ("trigger", job, "--wait", "--state-dir", str(self.state))
        subprocess.run([sys.executable, "-m", "kron.krond", *words], check=True)

    def start(self) -> float:
        """Start it: the seconds until it is ready."""
        command = [
            *(sys.executable, "-m", "kron.krond", "start", "--foreground"),
            *("--config", str(self.config), "--state-dir", str(self.state)),
            *("--log-file", str(self.log), "--output-dir", str(self.outputs)),
        ]
        with self._output.open("ab") as output:
            self._reader = subprocess.Popen(("cat",), stdin=subprocess.PIPE, stdout=output)
        began_s = perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._reader.stdin,
            stderr=self._reader.stdin,
            env={**ENVIRONMENT, "NOTIFY_SOCKET": f"@{self._address}"},
        )
        self._wait("READY=1")
        return perf_counter() - began_s

    def reload(self) -> float:
        """Have it read its configuration again: the seconds until that is done."""
        began_s = perf_counter()
        os.kill(self.pid, signal.SIGHUP)
        self._wait("READY=1")
        took_s = perf_counter() - began_s
        assert "result=refused" not in self.log.read_text(), f"see {self.log}"
        return took_s

    def usage(self) -> Usage:
        """What it uses now."""
        return usage(self.pid)

    def stop(self) -> None:
        """Stop it and wait for its end."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
            self._process = None
            assert self._reader is not None
            self._reader.communicate()

    def _wait(self, word: str) -> None:
        assert self._process is not None
        deadline_s = perf_counter() + PATIENCE_S
        self._told.settimeout(1)
        while perf_counter() < deadline_s:
            try:
                if word in self._told.recv(4096).decode().split("\n"):
                    return
            except TimeoutError:
                if (code := self._process.poll()) is not None:
                    said = self._output.read_text()[-2_000:]
                    raise RuntimeError(f"krond ended ({code}): {said}") from None
        raise RuntimeError(f"krond did not say {word} within {PATIENCE_S:g} s")
