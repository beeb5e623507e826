"""The directories of a krond, as its commands name and find them: of its state, and of outputs."""

from __future__ import annotations

import os
from argparse import Namespace, _ActionsContainer
from contextlib import suppress

from kron.console.parser import UsageError, path
from kron.core.errors import Code

STATE_DIR = "/var/lib/krond"
OUTPUT_DIR = "/var/log/krond"
NOTE = "output-dir"
"""The file in a state directory that names the output directory of its krond, as a line."""
_LONGEST = 4_096
_ITSELF = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def add_state_dir(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--state-dir",
        type=path,
        metavar="DIR",
        help="the state directory of the krond; "
        f"default: {STATE_DIR} for root, ~/.local/state/krond for others",
    )


def state_dir_of(arguments: Namespace) -> str:
    return os.path.abspath(arguments.state_dir or _default(STATE_DIR, "krond"))  # noqa: PTH100


def add_output_dir(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--output-dir",
        type=path,
        metavar="DIR",
        help="the directory with the outputs of runs; "
        f"default: {OUTPUT_DIR} for root, ~/.local/state/log/krond for others",
    )


def output_dir_of(arguments: Namespace) -> str:
    named = arguments.output_dir or _default(OUTPUT_DIR, "log/krond")
    return _resolved(os.path.abspath(named))  # noqa: PTH100


def used_output_dir_of(arguments: Namespace, state_dir: str) -> str:
    """The output directory that the arguments name or, if none, the last krond has used."""
    return (not arguments.output_dir and _noted(state_dir)) or output_dir_of(arguments)


def note_output_dir(output_dir: str, state_dir: int) -> None:
    """Note the directory for commands that do not reach krond."""
    data = os.fsencode(f"{output_dir}\n")
    with suppress(OSError):  # nothing depends on it but what these find
        descriptor = os.open(NOTE, os.O_WRONLY | os.O_CREAT | _ITSELF, 0o600, dir_fd=state_dir)
        try:
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)


def check_apart(output_dir: str, state_dir: str) -> None:
    """Outputs that fill the file system must not be where nothing but the state may be."""
    inner, outer = os.path.realpath(output_dir), os.path.realpath(state_dir)
    if os.path.commonpath((inner, outer)) == outer:
        message = f"the output directory {output_dir} is in the state directory {state_dir}"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="name another one with --output-dir")


def _noted(state_dir: str) -> str:
    """The directory that a krond has noted; '' if there is no such note."""
    try:
        descriptor = os.open(f"{state_dir}/{NOTE}", os.O_RDONLY | _ITSELF)
        with open(descriptor, "rb") as file:  # noqa: PTH123
            path, end, _ = file.read(_LONGEST).partition(b"\n")
    except OSError:
        return ""
    return os.fsdecode(path) if end else ""


def _resolved(path: str) -> str:
    """The target of a link that root or our own user has made; any other path as it is.

    Outputs are only kept in a directory itself: a user who can replace a link on the way could
    read or fake them.
    """
    try:
        is_trusted = os.lstat(path).st_uid in (0, os.geteuid())
    except OSError:
        return path
    return os.path.realpath(path) if is_trusted and os.path.islink(path) else path  # noqa: PTH114


def _default(of_root: str, name: str) -> str:
    if os.geteuid() == 0:
        return of_root
    state_home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    return os.path.join(state_home, name)  # noqa: PTH118
