"""What both ways of starting give a child: its proof, its directory, its signals."""

from __future__ import annotations

import os
import signal
from errno import EACCES, ENOENT, ENOTDIR

from kron.krond.process.failure import NotStarted, Stage, error_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.process.launch import Launch

PROOF_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
PROOF_MODE = 0o600

# SIGKILL and SIGSTOP have no disposition. The two that the C library keeps for its threads cannot
# be named from Python; glibc has every spawned program begin with them ignored.
SIGNALS = tuple(sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})))

_MISSING_OR_CLOSED = frozenset({ENOENT, ENOTDIR, EACCES})


def as_bytes(text: str) -> bytes:
    """Text of a configuration file as the bytes that it was, whatever krond's own locale."""
    return text.encode("utf-8", "surrogateescape")


def enter_directory(what: Launch) -> None:
    """Go to the directory of a run."""
    try:
        os.chdir(as_bytes(what.cwd))
    except (OSError, ValueError) as error:
        number = error_number(error)
        if not what.cwd_may_lack or number not in _MISSING_OR_CLOSED:
            raise NotStarted(Stage.DIRECTORY, number) from None
        os.chdir("/")
