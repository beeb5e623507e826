"""A krond whose jobs run when a test says so, and what can be seen of their processes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kron
from kron.core.decision import decide_at
from kron.logs.record import Record
from tests.krond.host import MINUTE_S, Host
from tests.logbook import wait_for
from tests.moment import soon

NEVER = "0 0 1 1 *"
"""A schedule that is not due while a test runs; such a job is triggered."""
AT_ONCE_S = 10.0
"""How long that may take which takes milliseconds, on a busy machine."""


class Family(Host):
    """A host whose jobs are scripts, which are triggered."""

    def __enter__(self) -> Family:
        return self

    def soon(self, name: str, seconds: float = 2.0, *, more: str = "") -> str:
        """A schedule with which the job is due in about so many seconds, once."""
        return due_once(self.config, name, soon(seconds), more=more)

    def load(self, *lines: str) -> None:
        """Have a krond that runs take these jobs.

        What is due in a second is due after krond has seen it, however long krond took to start.
        """
        self.write(*lines)
        self.ask("reload")

    def start_empty(self, *options: str, **popen: Any) -> None:
        """Start krond, with no job yet."""
        self.write("# no job yet")
        self.start(*options, **popen)

    def start_in_background(self, *options: str, **popen: Any) -> int:
        """Start krond in the background: its pid. At the end it is killed, as its runs are."""
        where = ("--output-dir", str(self.outputs))
        words = [word for word in self.words(*where, *options) if word != "--foreground"]
        environment = {**os.environ, "KRON_TEST": str(self.directory)}
        ended = subprocess.run(
            words, env=environment, capture_output=True, timeout=30, check=False, **popen
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        pid: int = self.ask("status")["pid"]
        return pid

    def script(self, name: str, *lines: str) -> Path:
        """An executable file of the shell's; it begins in the directory of the test.

        It is made in one step: a shell that is only now starting may be about to read it.
        """
        path = self.directory / f"{name.replace('/', '-')}.sh"
        new = path.with_suffix(".new")
        new.write_text("\n".join(["#!/bin/sh", f"cd {self.directory}", *lines, ""]))
        new.chmod(0o755)
        return new.rename(path)

    def job(self, name: str, *lines: str, fields: str = "", schedule: str = NEVER) -> str:
        """The line of a job that runs these lines."""
        return f"{schedule} name={name} command={self.script(name, *lines)} {fields}".rstrip()

    def path(self, name: str) -> Path:
        """A file in the directory of the test."""
        return self.directory / name

    def wait_for_file(self, name: str) -> str:
        """Wait until the file is there with a whole line in it: its text."""
        path = self.path(name)

        def look() -> str | None:
            text = path.read_text() if path.exists() else ""
            return text if text.endswith("\n") else None

        return wait_for(look, f"{name} is written")

    def trigger(self, name: str) -> str:
        """Start a run by hand: its id."""
        run_id: str = self.ask("trigger", job=name)["run_id"]
        return run_id

    @property
    def pid(self) -> int:
        """Of the krond in the foreground."""
        assert self.process is not None
        return self.process.pid

    def of_run(self, event: str, run_id: str) -> list[Record]:
        """The events of this kind that name the run."""
        return [record for record in self.events(event) if record.get("run_id") == run_id]

    def wait_for_run(self, event: str, run_id: str, count: int = 1) -> Record:
        """Wait until there are so many events of this kind that name the run: the last of them."""

        def look() -> list[Record] | None:
            found = self.of_run(event, run_id)
            return found if len(found) >= count else None

        return wait_for(look, f"{count} x {event} of run {run_id}")[count - 1]

    def pid_of(self, run_id: str) -> int:
        """The process of a run that has started."""
        return int(self.wait_for_run("started", run_id)["pid"])

    def state_path(self, name: str) -> Path:
        """The state file of a job."""
        identity = f"{self.config}:{name}"
        return self.state / f"{hashlib.sha256(identity.encode()).hexdigest()}.json"

    def stored(self, name: str) -> dict[str, Any]:
        """What the state file of a job says."""
        found: dict[str, Any] = json.loads(self.state_path(name).read_bytes())
        return found

    def wait_until_stored(self, name: str, run_id: str) -> dict[str, Any]:
        """Wait until the end of this run is in the state file."""

        def look() -> dict[str, Any] | None:
            found = self.stored(name)
            last_run = found["last_run"]
            return found if last_run and run_id in last_run else None

        return wait_for(look, f"the end of {run_id} is stored")

    def rewrite(self, path: Path, change: Callable[[dict[str, Any]], object]) -> None:
        """Change what a state file, or the proof of a run, says."""
        found = json.loads(path.read_bytes())
        change(found)
        path.write_text(json.dumps(found, separators=(",", ":")) + "\n")

    def proof(self, run_id: str) -> Path:
        """The proof that a run has begun."""
        return self.state / "runs" / run_id

    def has_no_zombie(self, pid: int | None = None) -> None:
        """Wait until no child of krond (or of `pid`) is a zombie: none stays one."""
        parent = self.pid if pid is None else pid
        wait_for(lambda: not zombies_of(parent), f"{parent} has no zombies", AT_ONCE_S)


def processes() -> Iterator[tuple[int, str, list[str]]]:
    """Every process: its pid, its name, and what follows that in /proc/<pid>/stat."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue  # it has gone
            name = line[line.index("(") + 1 : line.rindex(")")]
            yield int(entry.name), name, line[line.rindex(")") + 2 :].split()


def zombies_of(parent: int) -> list[tuple[int, str]]:
    """The children of a process that have ended, and that it has not reaped."""
    return [
        (pid, name)
        for pid, name, fields in processes()
        if fields[0] == "Z" and int(fields[1]) == parent
    ]


def children_of(parent: int) -> list[int]:
    """The children of a process."""
    return [pid for pid, _, fields in processes() if int(fields[1]) == parent]


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    return any(pid == each and fields[0] != "Z" for each, _, fields in processes())


def group_is_gone(group: int) -> bool:
    """Whether no process of this group runs."""
    return not any(int(fields[2]) == group and fields[0] != "Z" for _, _, fields in processes())


def wait_until_gone(group: int) -> None:
    """Until a group that was killed is gone, which takes its time where the machine is busy."""
    wait_for(lambda: group_is_gone(group), f"the end of the group {group}", 5.0)


def due_once(path: Path, name: str, at_s: int, *, more: str = "") -> str:
    """As `due_at`, and no other period is due a little before or for a while after."""
    nominal_s = at_s - at_s % MINUTE_S
    for number in range(100_000):
        text = f"* * * * * @win(after,1m) @seed(stable,salt=s{number}) {more}".strip()
        schedule = kron.parse_schedule(text)
        before_s, chosen_s, after_s = (
            decide_at(schedule, f"{path}:{name}", nominal_s + minute * MINUTE_S).chosen_s or 0
            for minute in (-1, 0, 1)
        )
        if chosen_s == at_s and before_s < at_s - 5 and after_s > at_s + 30:
            return text
    raise AssertionError(f"no salt puts {name} at {at_s} alone")


def due_twice(path: Path, name: str, *, more: str) -> tuple[str, int, int]:
    """A schedule by which two periods of a job are due in a moment, one soon after the other.

    Their windows overlap. There are two seconds or more between them, and nothing else is due for
    a while after.
    """
    first_s = soon(1)
    base_s = first_s - first_s % MINUTE_S
    for number in range(100_000):
        if time.time() > first_s - 0.5:
            return due_twice(path, name, more=more)  # the search took too long
        text = f"* * * * * @win(after,3m) @seed(stable,salt=s{number}) {more}"
        schedule = kron.parse_schedule(text)
        chosen_s = sorted(
            at_s
            for minute in range(-3, 2)
            if (at_s := decide_at(schedule, f"{path}:{name}", base_s + minute * MINUTE_S).chosen_s)
            and first_s - 3 <= at_s <= first_s + 30
        )
        if len(chosen_s) == 2 and chosen_s[0] in (first_s, first_s + 1):
            between_s = chosen_s[1] - chosen_s[0]
            if between_s in (2, 3):
                return text, chosen_s[0], chosen_s[1]
    raise AssertionError(f"no salt makes {name} due twice")


@contextmanager
def open_directory(owner: int | None = None) -> Iterator[Path]:
    """A new directory that everybody may enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="kron-children-"))
    path.chmod(0o755)
    if owner is not None:
        os.chown(path, owner, owner)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def in_private_mounts(*commands: str) -> list[str]:
    """Words before a command line: these shell commands first, with mounts that nobody else sees.

    `$@` is the command line.
    """
    text = " && ".join([*commands, 'exec "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", text, "sh"]


def descriptors_of(pid: int) -> Sequence[str]:
    """What a process has open."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except OSError:
            continue
    return sorted(found)


def mode_of(path: Path) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)
