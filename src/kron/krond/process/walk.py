"""Opens a file by walking its path one name at a time, past nobody's links but trusted ones.

A path may lead through directories whose owner can replace them with links at any moment. A link is
followed only if its owner is trusted, and the link that was checked is the one that is followed.
"""

from __future__ import annotations

import os
import stat
from errno import ELOOP, ENOTDIR

MOST_LINKS = 40

_ITSELF = os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | _ITSELF
_ENTRY = os.O_PATH | _ITSELF
# Non-blocking, so that neither a pipe without a partner nor a lease can block krond.
_ALWAYS = os.O_NOCTTY | os.O_NONBLOCK | _ITSELF
_MODE = 0o666


def open_by_steps(path: bytes, flags: int, trusted: frozenset[int], whose: str) -> int:
    """A descriptor of the file at an absolute path, or an `OSError`.

    `trusted` are the owners whose links are followed; `whose` names them in the error.
    """
    names = path.split(b"/")[::-1]
    links = 0
    directory = os.open(b"/", _DIRECTORY)
    try:
        while True:
            name = names.pop() or b"."
            is_last = not names
            try:
                opened = os.open(
                    name, flags | _ALWAYS if is_last else _DIRECTORY, _MODE, dir_fd=directory
                )
            except OSError as error:
                if error.errno not in (ENOTDIR, ELOOP):
                    raise
                target = _target(name, directory, trusted, whose)
                links += 1
                if links > MOST_LINKS:
                    text = f"more than {MOST_LINKS} symbolic links lead to it"
                    raise OSError(ELOOP, text) from None
                names += target.split(b"/")[::-1]
                if not target.startswith(b"/"):
                    continue
                opened = os.open(b"/", _DIRECTORY)
            else:
                if is_last:
                    return opened
            os.close(directory)
            directory = opened
    finally:
        os.close(directory)


def _target(name: bytes, directory: int, trusted: frozenset[int], whose: str) -> bytes:
    """The target of a link, read from the same link whose owner was checked."""
    entry = os.open(name, _ENTRY, dir_fd=directory)
    try:
        status = os.fstat(entry)
        if not stat.S_ISLNK(status.st_mode):
            raise OSError(ENOTDIR, os.strerror(ENOTDIR))
        if status.st_uid not in trusted:
            text = f"a symbolic link in its path belongs to user {status.st_uid}"
            raise OSError(ELOOP, f"{text}, not to {whose}")
        return os.readlink(b"", dir_fd=entry)
    finally:
        os.close(entry)
