"""A krond in the background that keeps outputs, and what is seen of them and of its collector."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.krond.children import Family, children_of, is_alive
from tests.logbook import wait_for


class Keeper(Family):
    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for pid in self.collectors():
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(pid, signal.SIGKILL)

    def begin(self, *options: str) -> int:
        """Start krond in the background: its pid."""
        return self.start_in_background("--on-stop", "leave", *options)

    def kill_krond(self) -> None:
        pid = self.ask("status")["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid), "krond is gone")

    def files(self, name: str) -> list[Path]:
        """The outputs of a job, the oldest first."""
        found: list[Path] = []
        for directory in self.outputs.glob(f"{name}.*"):
            found += sorted(directory.iterdir())
        return found

    def file_of(self, run_id: str) -> Path:
        """The output of a run, once it has one."""
        return wait_for(
            lambda: next(self.outputs.glob(f"*/*-{run_id}.log"), None), f"an output of {run_id}"
        )

    def wait_until_complete(self, path: Path) -> bytes:
        """Until no collector has the file open."""
        wait_for(lambda: not openers_of(path), f"{path} is complete")
        return path.read_bytes()

    def run(self, name: str) -> bytes:
        """Run a job to its end: its whole output."""
        run_id = self.trigger(name)
        self.wait_for_run("exited", run_id)
        return self.wait_until_complete(self.file_of(run_id))

    def collectors(self) -> list[int]:
        """Of this krond and of those before it."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if b"krond-output" in words and os.fsencode(self.outputs) in words:
                        found.append(int(entry.name))
        return found

    def collector(self) -> int:
        """The one that this krond has."""
        pid = self.ask("status")["pid"]
        return wait_for(
            lambda: next((each for each in self.collectors() if each in children_of(pid)), None),
            "a collector",
        )


def openers_of(path: Path) -> list[int]:
    """The processes that have a file open."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if any(each.readlink() == path for each in (entry / "fd").iterdir()):
                    found.append(int(entry.name))
    return found
