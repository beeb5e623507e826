"""Builds the launcher (src/kron/krond/process/launcher.c) into the wheel, if there is a C compiler.

Without one the wheel is pure Python, and krond forks where it would use the launcher. The program
is static and needs no C library, so it runs on any Linux of its architecture.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LAUNCHER = Path("src/kron/krond/process/launcher")
FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-ffreestanding", "-fno-builtin", "-nostdlib"),
    *("-static", "-no-pie", "-fno-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-Wl,-z,noexecstack", "-Wl,--build-id=none", "-s"),
)


class LauncherHook(BuildHookInterface[Any]):
    """Called by hatchling for a wheel, also for an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or not _compile(Path(self.root)):
            return
        machine = platform.machine()
        build_data["artifacts"].append(f"/{LAUNCHER}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"


def _compile(root: Path) -> bool:
    """Compile the launcher to where krond looks for it. A failure says why, and is no error."""
    (root / LAUNCHER).unlink(missing_ok=True)
    compiler = os.environ.get("CC", "cc")
    if sys.platform != "linux" or shutil.which(compiler.split()[0]) is None:
        return False
    source = (root / LAUNCHER).with_suffix(".c")
    command = [*compiler.split(), *FLAGS, "-o", str(root / LAUNCHER), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"Without its launcher, krond starts jobs of other users more slowly:\n{done.stderr}")
    return done.returncode == 0
