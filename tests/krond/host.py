"""A real krond in a directory of its own: started, asked, killed, and its log read.

A chosen time is a second somewhere in a window of a minute or more, and tests have no minutes to
wait. `due_at` finds a salt with which the choice falls on the second that a test wants.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import kron
from kron.core.decision import decide_at
from kron.krond.control.client import ask
from tests.logbook import PATIENCE_S, Logbook, wait_for
from tests.moment import soon

MINUTE_S = 60


def due_at(path: Path, name: str, at_s: int, *, window: str = "1m", more: str = "") -> str:
    """A schedule, modifiers included, with which job `name` of the file at `path` runs at `at_s`.

    That is the period of the minute that `at_s` lies in. `more` are further modifiers.
    """
    nominal_s = at_s - at_s % MINUTE_S
    for number in range(100_000):
        text = f"* * * * * @win(after,{window}) @seed(stable,salt=s{number}) {more}".strip()
        schedule = kron.parse_schedule(text)
        if decide_at(schedule, f"{path}:{name}", nominal_s).chosen_s == at_s:
            return text
    raise AssertionError(f"no salt puts {name} at {at_s}")


def in_boot(directory: Path, number: int) -> list[str]:
    """Words before a command line, with which it reads this number as the id of the boot."""
    boot_id = directory / f"boot-{number}"
    boot_id.write_text(f"00000000-0000-4000-8000-{number:012}\n")
    script = f'mount --bind {boot_id} /proc/sys/kernel/random/boot_id && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


class Host(Logbook):
    """A directory with a krontab file, a state directory and a log, and the krond that uses them.

    It is a context manager: whatever still runs at the end is killed.
    """

    def __init__(self, directory: Path, *, state: Path | None = None) -> None:
        self.directory = directory
        self.config = directory / "jobs.kron"
        self.state = state or directory / "state"
        self.log = directory / "krond.log"
        self.output = directory / "output.txt"
        self.outputs = directory / "outputs"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pid in self.runs_alive():
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(pid, signal.SIGKILL)

    def write(self, *lines: str) -> None:
        """Make the krontab file anew, in one step."""
        new = self.config.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.chmod(0o600)
        new.rename(self.config)

    def soon(self, name: str, seconds: float = 2.0, *, more: str = "") -> str:
        """A schedule with which the job is due in about so many seconds."""
        return due_at(self.config, name, soon(seconds), more=more)

    def words(self, *options: str) -> list[str]:
        """The command line of a krond in the foreground."""
        return [
            *(sys.executable, "-m", "kron.krond", "start", "--foreground"),
            *("--config", str(self.config), "--state-dir", str(self.state)),
            *("--log-file", str(self.log), *options),
        ]

    def start(
        self,
        *options: str,
        wrapper: Sequence[str] = (),
        env: dict[str, str] | None = None,
        **popen: Any,
    ) -> None:
        """Start krond and wait until it is ready. `wrapper` are words before its command line."""
        self.launch(*options, wrapper=wrapper, env=env, **popen)
        self.wait_until_ready()

    def launch(
        self,
        *options: str,
        wrapper: Sequence[str] = (),
        env: dict[str, str] | None = None,
        **popen: Any,
    ) -> None:
        """Start krond, whatever becomes of it."""
        assert self.process is None, "one krond at a time"
        self._seen = len(self.events("ready"))
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [*wrapper, *self.words(*options)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**(os.environ if env is None else env), "KRON_TEST": str(self.directory)},
                **popen,
            )

    def wait_until_ready(self) -> None:
        """Wait for the `ready` of the krond that was launched last."""
        process = self.process
        assert process is not None

        def is_ready() -> bool:
            if process.poll() is not None:
                raise AssertionError(f"krond ended ({process.returncode}): {self.said()}")
            return len(self.events("ready")) > self._seen

        wait_for(is_ready, "krond is ready")

    def kill(self) -> None:
        """SIGKILL to krond itself, if it is there."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self, number: int = signal.SIGTERM, patience_s: float = PATIENCE_S) -> int:
        """Stop krond by a signal: its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.wait(patience_s)

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for krond to end by itself: its exit code."""
        assert self.process is not None
        code = self.process.wait(patience_s)
        self.process = None
        return code

    def command(
        self, *words: str, timeout_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """`krond <words> --state-dir ...`, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "kron.krond", *words, "--state-dir", str(self.state)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def ask(self, command: str, **request: Any) -> dict[str, Any]:
        """A request on the control socket."""
        return ask(str(self.state), {"command": command, **request}, PATIENCE_S)

    def row(self, name: str) -> dict[str, Any]:
        """The status of a job."""
        rows: list[dict[str, Any]] = self.ask("status", job=name)["jobs"]
        return rows[0]

    def said(self) -> str:
        """What krond, and runs that inherit its output, wrote."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def runs_alive(self) -> list[int]:
        """The processes that krond started here, and krond itself, by their environment."""
        alive = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                environment = (process / "environ").read_bytes()
            except OSError:
                continue
            if f"KRON_TEST={self.directory}".encode() in environment.split(b"\0"):
                alive.append(int(process.name))
        return alive
