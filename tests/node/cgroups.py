"""The cgroups of nodes: the only thing of a node that does not go away with its processes.

A name has the process that uses it in it, so that whoever starts a node next can remove what one
left that was killed. They are made in hierarchies of version 1; containerd makes one of the same
name in the unified hierarchy beside these.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

from tests.logbook import wait_for

ROOT = Path("/sys/fs/cgroup")
_NAME = re.compile(r"kron-node-(\d+)-[0-9a-f]+")
_INHERITED = ("cpuset.cpus", "cpuset.mems")
"""Empty in a new cgroup, and then no process can be in it."""
_EMPTIED_S = 10.0


def hierarchies() -> list[Path]:
    """The hierarchies of version 1; [] where there are none."""
    return sorted(path.parent for path in ROOT.glob("*/tasks"))


def make() -> str:
    """A new cgroup in every hierarchy, of this process: its name."""
    name = f"kron-node-{os.getpid()}-{token_hex(3)}"
    for hierarchy in hierarchies():
        made = hierarchy / name
        made.mkdir()
        for file in _INHERITED:
            if (made / file).exists():
                (made / file).write_text((hierarchy / file).read_text())
    return name


def remove(name: str) -> None:
    """Remove it and all that is in it, as soon as its last process has ended."""
    for top in ROOT.glob(f"*/{name}"):
        wait_for(partial(_is_removed, top), f"{top} is empty", _EMPTIED_S)


def remove_left_behind() -> None:
    """Remove those of processes that are gone."""
    for name in {path.name for path in ROOT.glob("*/kron-node-*")}:
        owner = _NAME.fullmatch(name)
        if owner is not None and not Path("/proc", owner[1]).exists():
            remove(name)


def _is_removed(top: Path) -> bool:
    for directory, _, _ in os.walk(top, topdown=False):
        with suppress(FileNotFoundError, OSError):  # gone meanwhile, or a process is left in it
            Path(directory).rmdir()
    return not top.exists()
