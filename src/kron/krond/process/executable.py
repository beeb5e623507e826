"""The executable file of a command: where it is, and why the kernel would not have it.

The search is PATH's, done by whoever asks: after its privileges have dropped, for a run of another
user. No shell has a part in it, not even for a script that lacks its first line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from errno import EACCES, EISDIR, ELIBACC, ENOENT

from kron.jobs.task import DEFAULT_PATH

_DEFAULT_PATH = DEFAULT_PATH.encode()


def search_path(env: Mapping[bytes, bytes]) -> bytes:
    """The directories in which a child with this environment finds its programs."""
    return env.get(b"PATH", _DEFAULT_PATH)


def find_program(name: bytes, path: bytes) -> bytes:
    """The file that `name` means: itself if it has a slash, else the first one in `path`.

    An OSError says that there is none (ENOENT) or that none may be executed (EACCES). An empty
    directory in `path` is the current one, as everywhere.
    """
    if b"/" in name:
        return name
    error = ENOENT
    for directory in path.split(b":"):
        file = b"%b/%b" % (directory or b".", name)
        try:
            is_file = stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        if is_file and os.access(file, os.X_OK):
            return file
        error = EACCES
    raise OSError(error, os.strerror(error))


def cause(file: bytes, error: int) -> int:
    """The error that tells most about a failed execve: its ENOENT and EACCES mean many things."""
    try:
        if error == ENOENT:
            os.stat(file)  # noqa: PTH116
            return ELIBACC
        if error == EACCES and stat.S_ISDIR(os.stat(file).st_mode):  # noqa: PTH116
            return EISDIR
    except (OSError, ValueError):
        pass
    return error
