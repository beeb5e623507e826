"""Builds the launcher (src/kron/krond/process/launcher.c) into the wheel, if there is a C compiler.

Without one the wheel is pure Python, and krond forks where it would use the launcher. The program
is static and needs no C library, so it runs on any Linux of its architecture.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LAUNCHER = Path("src/kron/krond/process/launcher")
FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-ffreestanding", "-fno-builtin", "-nostdlib"),
    *("-static", "-no-pie", "-fno-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-Wl,-z,noexecstack", "-Wl,--build-id=none", "-s"),
)
MACHINES = {62: "x86_64", 183: "aarch64"}
"""The names of machines in the tags of wheels, by their numbers in programs."""


class LauncherHook(BuildHookInterface[Any]):
    """Called by hatchling for a wheel, also for an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        launcher = Path(self.root) / LAUNCHER
        why = _compile(launcher)
        if why:
            launcher.unlink(missing_ok=True)
            self.app.display_warning(f"krond has no launcher and forks for other users: {why}")
            return
        # A compiler may make programs for another machine than this one.
        machine = MACHINES[int.from_bytes(launcher.read_bytes()[18:20], "little")]
        build_data["artifacts"].append(f"/{LAUNCHER}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"


def _compile(launcher: Path) -> str:
    """Compile it to where krond looks for it. Why that failed, or ''."""
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    command = [*compiler, *FLAGS, "-o", str(launcher), str(launcher.with_suffix(".c"))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{compiler[0]}: {error.strerror}"
    return f"{compiler[0]} failed: {done.stderr}" if done.returncode else ""
