"""The successor: the program that is installed now where krond was started from.

It is tried out as a child, and executed in krond's place. Its command line is krond's own, in the
directory that krond was started in.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kron.krond.handover import CHECK, FORMAT, VARIABLE, Handover
from kron.krond.process.child import Sources, seal, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, NoReturn

_MOST_SAID = 1 << 20
"""How many bytes a trial may say."""


class Successor:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        """Where krond was started; '' if that is unknown."""
        script = os.path.join(directory, sys.argv[0])  # noqa: PTH118
        self._is_executable = os.access(script, os.X_OK)

    @property
    def program(self) -> str:
        """The file that is executed."""
        return self._command_line()[0]

    def start_trial(self, controllers: frozenset[str] | None) -> tuple[int, BinaryIO, BinaryIO]:
        """Have it say whether it could go on: its pid, its output and its errors (`said_in`).

        `controllers` are those of cgroups that krond has; None: its runs have no cgroups.
        """
        has = FORMAT if controllers is None else f"{FORMAT}:{','.join(sorted(controllers))}"
        with ExitStack() as stack:
            nowhere = stack.enter_context(open(os.devnull, "rb"))  # noqa: PTH123
            output, errors = _limited_file(), _limited_file()
            seal()
            streams = (nowhere.fileno(), output.fileno(), errors.fileno())
            stack.enter_context(self._in_its_directory())
            descriptors = stack.enter_context(Sources(*streams))
            words = list(map(os.fsencode, self._command_line(f"{CHECK}={has}")))
            return spawn(words[0], words, initial_environment(), descriptors), output, errors

    def execute(self, handover: Handover) -> NoReturn:
        """Go on as the new program. `OSError`: it cannot be executed, and nothing has changed."""
        value, file = handover.put()
        left = (file, *handover.descriptors())
        try:
            for descriptor in left:
                os.set_inheritable(descriptor, True)
            environment = {**initial_environment(), VARIABLE.encode(): value.encode()}
            with self._in_its_directory():
                words = self._command_line()
                os.execve(words[0], words, environment)  # noqa: S606
        finally:
            for descriptor in left:
                os.set_inheritable(descriptor, False)
            os.close(file)

    def _command_line(self, *options: str) -> list[str]:
        """That of this process, with more options for `krond start`.

        A script has its own interpreter, which need not be the one that runs: another environment
        may be at its place.
        """
        place = len(sys.orig_argv) - len(sys.argv) + 2  # after the interpreter's words and `start`
        words = [sys.executable, *sys.orig_argv[1:place], *options, *sys.orig_argv[place:]]
        is_script = words[place - 2] == sys.argv[0]  # and not `python -m kron.krond`
        return words[place - 2 :] if is_script and self._is_executable else words

    @contextmanager
    def _in_its_directory(self) -> Iterator[None]:
        home = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.chdir(self._directory or ".")
            yield
        finally:
            os.fchdir(home)
            os.close(home)


def _limited_file() -> BinaryIO:
    """A file in memory, closed with its last reference.

    Unlike with a pipe, who writes it never waits for who reads it.
    """
    descriptor = os.memfd_create("krond-trial", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    file = os.fdopen(descriptor, "rb")
    os.ftruncate(descriptor, _MOST_SAID)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    return file


def said_in(file: BinaryIO) -> bytes:
    """What a trial said there. Closes the file."""
    with file:
        end = os.lseek(file.fileno(), 0, os.SEEK_CUR)  # which the trial shares
        return os.pread(file.fileno(), min(end, _MOST_SAID), 0)


def end_trial(pid: int) -> None:
    """Kill a trial that takes too long, and what it has started."""
    os.killpg(pid, signal.SIGKILL)  # not reaped yet, so the group is its own


def initial_environment() -> dict[bytes, bytes]:
    """The environment that krond was started with, byte for byte, without a handover.

    So not `os.environ`: Python adds LC_CTYPE where the locale is C.
    """
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        variables = dict(
            variable.split(b"=", 1) for variable in file.read().split(b"\0") if b"=" in variable
        )
    variables.pop(VARIABLE.encode(), None)
    return variables
