"""System calls that Python 3.11 does not offer: close_range, capget, setfsuid and setfsgid.

And execve: Python's own needs memory at the last moment.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLOSE_RANGE = 436  # the same on every architecture that Python 3.11 supports
_CLOSE_RANGE_CLOEXEC = 4
_LAST_DESCRIPTOR = 2**32 - 1
_CAPABILITY_VERSION_3 = 0x20080522

_syscall = _LIBC.syscall
_syscall.argtypes = [ctypes.c_long, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint]
_syscall.restype = ctypes.c_long
_execve = _LIBC.execve
_setfsuid, _setfsgid = _LIBC.setfsuid, _LIBC.setfsgid
_setfsuid.argtypes = _setfsgid.argtypes = [ctypes.c_uint32]
_setfsuid.restype = _setfsgid.restype = ctypes.c_uint32
_NOBODY = 2**32 - 1  # an invalid number: returns the current one and changes nothing
_capability_header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
_capability_data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, and again above


def prepared_execve(argv: Sequence[bytes], env: Mapping[bytes, bytes]) -> Callable[[bytes], None]:
    """A prepared execve for any file: calling it needs no memory, even for a large `env`."""
    variables = []
    for name, value in env.items():
        if not name or b"=" in name:
            raise ValueError("a variable has no name, or an = in its name")
        variables.append(b"%b=%b" % (name, value))
    if any(b"\0" in text for text in (*argv, *variables)):
        raise ValueError("embedded null byte")
    words = (ctypes.c_char_p * (len(argv) + 1))(*argv)
    settings = (ctypes.c_char_p * (len(variables) + 1))(*variables)

    def execute(file: bytes) -> None:
        _execve(file, words, settings)
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))

    return execute


def mark_close_on_exec(first: int) -> bool:
    """Mark every open descriptor from `first` up. False: the kernel is older than 5.11."""
    done: int = _syscall(_CLOSE_RANGE, first, _LAST_DESCRIPTOR, _CLOSE_RANGE_CLOEXEC)
    return done == 0


def permitted_capabilities() -> int:
    """The permitted set of this process. If it is empty, so are the effective and ambient ones."""
    if _LIBC.capget(_capability_header, _capability_data):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(_capability_data[1]) | int(_capability_data[4]) << 32


def become_for_files(uid: int, gid: int) -> bool:
    """Use this user and group for files. Returns whether it worked: the calls do not report it."""
    _setfsgid(gid)
    _setfsuid(uid)
    return (int(_setfsuid(_NOBODY)), int(_setfsgid(_NOBODY))) == (uid, gid)
