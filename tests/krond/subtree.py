"""A real cgroup v2 subtree for a krond under test, marked as systemd marks what it delegates."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.logbook import wait_for


class Subtree:
    """A cgroup with a `krond` below it, as DelegateSubgroup=krond makes it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.leaf = base / "krond"

    def enter(self, place: Path) -> list[str]:
        """Words before a command line, which then runs in this cgroup."""
        return ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(place / "cgroup.procs")]

    @property
    def wrapper(self) -> list[str]:
        return self.enter(self.leaf)

    @property
    def controllers(self) -> set[str]:
        """Those that version 2 has here."""
        return set((self.base / "cgroup.controllers").read_text().split())

    def runs(self) -> list[Path]:
        """The cgroups of runs."""
        return sorted(path for path in self.base.iterdir() if path.name.startswith("run-"))

    def processes(self, run_id: str) -> set[int]:
        """The processes in the cgroup of a run."""
        (found,) = (path for path in self.runs() if path.name.startswith(f"run-{run_id}."))
        return set(map(int, (found / "cgroup.procs").read_text().split()))

    def needs(self, *controllers: str) -> None:
        """Skip the test where this kernel's version 2 does not have them."""
        if lacking := [each for each in controllers if each not in self.controllers]:
            pytest.skip(f"the cgroups here have no {', '.join(lacking)} (bound to version 1?)")


@contextmanager
def delegated() -> Iterator[Subtree]:
    """Skips the test where nobody may make a cgroup of version 2."""
    base = _hierarchy() / f"kron-test-{secrets.token_hex(6)}"
    try:
        base.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    try:
        try:
            os.setxattr(base, "user.delegate", b"1")
        except OSError as error:
            pytest.skip(f"no cgroup can be marked as delegated: {error}")
        subtree = Subtree(base)
        subtree.leaf.mkdir()
        yield subtree
    finally:
        _remove(base)


def _hierarchy() -> Path:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] == "cgroup2":
            return Path(before.split()[4])
    pytest.skip("no cgroup hierarchy of version 2 is mounted")


def _remove(base: Path) -> None:
    with suppress(OSError):
        (base / "cgroup.kill").write_text("1")
    wait_for(lambda: "populated 0" in (base / "cgroup.events").read_text(), "it is empty")
    for directory, _, _ in os.walk(base, topdown=False):
        os.rmdir(directory)  # noqa: PTH106
