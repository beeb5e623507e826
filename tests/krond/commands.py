"""What tests of krond's commands share: a krond in the background, command lines, other users."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
from kron.krond.state.store import file_name
from tests.krond.host import Host
from tests.logbook import PATIENCE_S, wait_for

PROGRAM = (sys.executable, "-m", "kron.krond")
HOLDS = 'shell=true command="until [ -e {gate} ]; do sleep 0.01; done"'
"""A command that runs until a file is there."""
NEVER = "0 0 29 2 *"
"""A schedule of which no period comes due while a test runs."""
NOBODY = 65_534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")

# Everything is imported before: another user may not even be able to read Python's own modules.
_AS_NOBODY = f"""
import json, os, signal, socket, sys
import kron.jobs.configuration
from kron.krond.program import COMMANDS, KROND, main
for name in COMMANDS:
    KROND.parser(name)
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
sys.exit(main(sys.argv[1:]))
"""

Completed = subprocess.CompletedProcess[str]


def krond(
    *words: str | Path,
    wrapper: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    **options: Any,
) -> Completed:
    """`krond <words>`, to its end. `env` is added to the environment."""
    ran = subprocess.run(
        [*wrapper, *PROGRAM, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        timeout=PATIENCE_S,
        check=False,
        **options,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


class BackgroundHost(Host):
    """A host whose krond goes into the background, as people start it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.log = self.state / "krond.log"
        self.output = self.state / "krond.out"

    def start_background(self, *options: str, **more: Any) -> Completed:
        """`krond start`, which ends when the daemon is ready or has failed."""
        place = ("--config", self.config, "--state-dir", self.state, "--output-dir", self.outputs)
        env = {"KRON_TEST": str(self.directory)}
        return krond("start", *place, *options, env=env, **more)

    def pid(self) -> int:
        """The daemon's process id."""
        pid: int = self.ask("status")["pid"]
        return pid

    def __enter__(self) -> BackgroundHost:
        return self


@contextmanager
def public_directory() -> Iterator[Path]:
    """A directory that every user can reach; pytest's own are closed to others."""
    directory = Path(tempfile.mkdtemp(prefix="krond-"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def krond_as_nobody(*words: str | Path) -> Completed:
    """`krond <words>` as a user who is neither root nor krond's."""
    ran = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


def on_a_terminal(*words: str | Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """`krond <words>` with a terminal for its output: its exit code and all that it wrote."""
    reader, terminal = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", **(env or {})},
    ) as process:
        os.close(terminal)
        written = b""
        try:
            while chunk := os.read(reader, 65_536):
                written += chunk
        except OSError:
            pass  # nobody has the terminal open any more
        finally:
            os.close(reader)
    return process.returncode, written.decode()


def state_file(host: Host, name: str) -> Path:
    """Where the state of a job is."""
    return host.state / file_name(f"{host.config}:{name}")


def stored(host: Host, name: str) -> dict[str, Any]:
    """The state of a job, as it is on disk."""
    state: dict[str, Any] = json.loads(state_file(host, name).read_text())
    return state


def backdate(host: Host, name: str, seconds: int) -> None:
    """Let a job have been seen first so much earlier than it was, and owe all since then.

    A minute may have begun meanwhile, and the job have run.
    """
    state = stored(host, name)
    ledger = state["ledger"]
    ledger |= {"handled_through": None, "handled": []}
    ledger["since"] = to_text(from_text(ledger["since"]) - seconds)
    state_file(host, name).write_text(json.dumps(state) + "\n")


class OnePeriod:
    """Schedules that have one period a day, a few minutes ago, and run within ten minutes of it."""

    def __init__(self, host: Host, name: str) -> None:
        self._identity = f"{host.config}:{name}"
        self.nominal_s = int(time.time()) // 60 * 60 - 120
        when = time.gmtime(self.nominal_s)
        self._cron = f"{when.tm_min} {when.tm_hour} * * *"

    def chosen_at(self, at_s: int, more: str = "") -> str:
        """The one that runs at this second."""
        for number in range(100_000):
            text = f"{self._cron} @win(after,10m) @seed(stable,salt=s{number}) {more}".strip()
            schedule = kron.parse_schedule(text)
            if decide_at(schedule, self._identity, self.nominal_s).chosen_s == at_s:
                return text
        raise AssertionError(f"no salt puts it at {at_s}")


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and not only what is left of it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is nobody's child here."""
    wait_for(lambda: not is_alive(pid), f"the end of {pid}")
