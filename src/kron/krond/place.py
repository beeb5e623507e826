"""The place of a krond: its state directory, by which its commands find it."""

from __future__ import annotations

import os

from kron.console.parser import path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer

SYSTEM_DIRECTORY = "/var/lib/krond"
LOG_NAME = "krond.log"
OUTPUT_NAME = "krond.out"


def add_state_dir(parser: _ActionsContainer) -> None:
    """`--state-dir`."""
    parser.add_argument(
        "--state-dir",
        type=path,
        metavar="DIR",
        help="where the krond that is meant keeps its state; "
        f"default: {SYSTEM_DIRECTORY} for root, ~/.local/state/krond for others",
    )


def state_dir_of(arguments: Namespace) -> str:
    """The directory that `--state-dir` names, or the user's own."""
    return os.path.abspath(arguments.state_dir or _default())  # noqa: PTH100


def _default() -> str:
    if os.geteuid() == 0:
        return SYSTEM_DIRECTORY
    state_home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    return os.path.join(state_home, "krond")  # noqa: PTH118
