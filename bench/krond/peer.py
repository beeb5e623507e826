"""What a peer is: another scheduler that is given the same jobs."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.krond.workshop import ENVIRONMENT, SkippedError

_STOPPING_S = 20


class Job(NamedTuple):
    """A command and the whole second at which it is due, UTC."""

    due_s: int
    argv: tuple[str, ...]


class Peer(ABC):
    """Where it comes from, and how it gets its jobs."""

    name: str
    lead_s: float
    """How long before the first job is due it has to be started, with a thousand of them."""
    needs_whole_minute = True
    idle_jobs: int
    """With how many jobs it is looked at while nothing is due."""

    @abstractmethod
    def obtain(self) -> str:
        """Have it here: its version. `SkippedError` says why that cannot be."""

    @abstractmethod
    def command(self, place: Path, jobs: Sequence[Job]) -> list[str]:
        """Write its configuration into `place`, and give the command that runs it."""

    @contextmanager
    def running(self, place: Path, jobs: Sequence[Job]) -> Iterator[int]:
        """Run it with these jobs: its pid."""
        place.mkdir(parents=True, exist_ok=True)
        with (place / "output.txt").open("ab") as output:
            process = subprocess.Popen(
                self.command(place, jobs),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=place,
                env=ENVIRONMENT,
            )
        try:
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(_STOPPING_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def done(command: Sequence[str], what: str, **more: str) -> str:
    """Run a command that gets something: its output. `SkippedError` if it fails."""
    environment = {**os.environ, **more}  # the caller's proxies and mirrors
    try:
        made = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SkippedError(f"{what}: {error}") from None
    if made.returncode:
        lines = (made.stderr.strip() or made.stdout.strip() or "it failed").splitlines()
        raise SkippedError(f"{what}: {lines[-1][:200]}")
    return made.stdout.strip()
