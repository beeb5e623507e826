"""A sidecar: a program of krond's own that works beside it, so that krond's loop never waits.

It has a session of its own, a socket to krond as its standard input, and no other output than
krond's standard error. It must end by itself when krond closes the socket.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping

import kron
from kron.krond.process.child import Sources, seal, search_path, spawn

_CONTROL = 0
"""The descriptor of a sidecar's connection to krond."""
_NOWHERE = 1
"""Its standard output, which krond opens on /dev/null."""
_FOR_KROND = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGQUIT),
    *(signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
)
# Isolated and without site-packages: only this very kron, and a start in half the time.
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[2]); from {} import main; main(*sys.argv[3:])"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(kron.__file__)))  # noqa: PTH100, PTH120


def spawn_sidecar(
    title: str, module: str, *arguments: str, control: int, env: Mapping[bytes, bytes] | None = None
) -> int:
    """The pid of a sidecar whose `main` is in `module`; `title` shows what it is in a list of
    processes. `NotStarted` or `OSError`: it cannot be started."""
    seal()
    program = _PROGRAM.format(module)
    words = (sys.executable, "-I", "-S", "-c", program, title, _ROOT, *arguments)
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        with Sources(control, nowhere, 2) as descriptors:
            variables = {b"PATH": search_path(os.environb), **(env or {})}
            argv = list(map(os.fsencode, words))
            return spawn(argv[0], argv, variables, descriptors)
    finally:
        os.close(nowhere)


def begin_sidecar() -> socket.socket:
    """What each sidecar does first, in its own process: its connection to krond."""
    for number in _FOR_KROND:
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.dup2(_NOWHERE, 2)  # krond's own, in a directory that must not stay busy when krond is gone
    return socket.socket(fileno=_CONTROL)
