"""The state directory of a krond, by which the commands find it."""

from __future__ import annotations

import os
from argparse import Namespace, _ActionsContainer

from kron.console.parser import path

SYSTEM_DIRECTORY = "/var/lib/krond"
LOG_NAME = "krond.log"
OUTPUT_NAME = "krond.out"


def add_state_dir(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--state-dir",
        type=path,
        metavar="DIR",
        help="the state directory of the krond; "
        f"default: {SYSTEM_DIRECTORY} for root, ~/.local/state/krond for others",
    )


def state_dir_of(arguments: Namespace) -> str:
    return os.path.abspath(arguments.state_dir or _default())  # noqa: PTH100


def _default() -> str:
    if os.geteuid() == 0:
        return SYSTEM_DIRECTORY
    state_home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    return os.path.join(state_home, "krond")  # noqa: PTH118
