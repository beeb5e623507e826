"""The directory in which a krond keeps the outputs of runs."""

from __future__ import annotations

import os
from argparse import Namespace, _ActionsContainer

from kron.console.parser import UsageError, path
from kron.core.errors import Code

SYSTEM_DIRECTORY = "/var/log/krond"


def add_output_dir(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--output-dir",
        type=path,
        metavar="DIR",
        help="the directory with the outputs of runs; "
        f"default: {SYSTEM_DIRECTORY} for root, ~/.local/state/log/krond for others",
    )


def output_dir_of(arguments: Namespace) -> str:
    return os.path.abspath(arguments.output_dir or _default())  # noqa: PTH100


def check_apart(output_dir: str, state_dir: str) -> None:
    """Outputs that fill the file system must not be where nothing but the state may be."""
    inner, outer = os.path.realpath(output_dir), os.path.realpath(state_dir)
    if os.path.commonpath((inner, outer)) == outer:
        message = f"the output directory {output_dir} is in the state directory {state_dir}"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="name another one with --output-dir")


def _default() -> str:
    if os.geteuid() == 0:
        return SYSTEM_DIRECTORY
    state_home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    return os.path.join(state_home, "log", "krond")  # noqa: PTH118
