"""File systems of our own, small and made to fail: for root only, where mounting is allowed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def run(*command: str) -> None:
    """Run a command, or skip the test if it cannot be had or is not allowed here."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command[:4])} ...: {done.stderr.strip()[:200]}")


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[Path]:
    """`mount ARGUMENTS PLACE`, undone at the end."""
    place.mkdir(exist_ok=True)
    run("mount", *arguments, str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def tmpfs(place: Path, options: str) -> Iterator[Path]:
    """A file system in memory."""
    with mounted(place, "-t", "tmpfs", "-o", options, "tmpfs") as path:
        yield path
