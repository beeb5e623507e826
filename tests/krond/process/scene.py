"""A place to start real processes, which report what they see of themselves."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kron.jobs.task import Task
from kron.krond.process.cgroup import Cgroup
from kron.krond.process.launch import Launch, launch

USER = 54_321
"""A user id without an account."""
GROUP = 54_322
OTHER = 54_323
STRANGER = 54_324

OF_TASK = {"cwd", "cwd_may_lack", "umask", "limits", "nice"}


class Scene:
    """A directory that everybody may look into, with the proofs of what was started."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.runs.mkdir(mode=0o700)
        self.proof = self.runs / "a-run"
        self.null = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        os.close(self.null)

    def launch_of(self, *argv: str, **changes: Any) -> Launch:
        """A launch of this command, with nothing special about it but these changes."""
        of_task = {key: changes.pop(key) for key in OF_TASK & changes.keys()}
        task = Task(" ".join(argv), argv, **of_task)
        env = {b"PATH": b"/usr/bin:/bin"}
        plain = Launch(task, env, str(self.proof), None, self.null, self.null, self.null)
        return plain.replace(**changes)

    def gate(self) -> Cgroup:
        """A cgroup to be entered by way of a pipe: a child waits there until it is read."""
        gate = Cgroup(str(self.path), "")
        os.mkfifo(gate.entrance)
        return gate

    def output(self, what: Launch, *, status: int = 0) -> bytes:
        """What it writes to its standard output. Checks its proof and removes it."""
        reading, writing = os.pipe()
        try:
            pid = launch(what.replace(stdout=writing))
        finally:
            os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status
        proof = self.proof.lstat()
        assert (proof.st_mode, proof.st_size, proof.st_uid) == (0o100600, 0, os.geteuid())
        self.proof.unlink()
        return text

    def sees(self, file: str, **changes: Any) -> bytes:
        """What a child reads in its own /proc/self/<file>."""
        return self.output(self.launch_of("/bin/cat", f"/proc/self/{file}", **changes))

    def status(self, **changes: Any) -> dict[str, str]:
        """The child's /proc/self/status."""
        lines = self.sees("status", **changes).decode().splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def limits(self, **changes: Any) -> dict[str, tuple[str, str]]:
        """The child's soft and hard limits."""
        lines = self.sees("limits", **changes).decode().splitlines()[1:]
        return {line[:25].strip(): (line[26:46].strip(), line[47:67].strip()) for line in lines}

    def stat(self, **changes: Any) -> list[int]:
        """What follows the state in the child's /proc/self/stat, its pid before it."""
        line = self.sees("stat", **changes).decode()
        return [int(line.split()[0]), *map(int, line[line.rindex(")") + 4 :].split())]


@contextlib.contextmanager
def scene() -> Iterator[Scene]:
    path = Path(tempfile.mkdtemp(prefix="kron-process-"))
    path.chmod(0o755)
    made = Scene(path)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(path)


def surroundings() -> Mapping[str, object]:
    """What a start must not change in the process that asks for it."""
    umask = os.umask(0o022)
    os.umask(umask)
    status = Path("/proc/self/status").read_text().splitlines()
    kept = ("Uid", "Gid", "Groups", "Cap", "SigB", "SigI", "SigC", "Umask")  # SigQ is the user's
    return {
        "descriptors": descriptors(),
        "directory": str(Path("/proc/self/cwd").readlink()),
        "umask": umask,
        "limits": Path("/proc/self/limits").read_text(),
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "status": [line for line in status if line.startswith(kept)],
    }


def descriptors() -> dict[str, str]:
    """The open descriptors of this process, and what they are."""
    found = {}
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found[path.name] = str(path.readlink())
    return found


def no_child_is_left() -> bool:
    """Whether this process has no child, not even a zombie."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
