"""`krond stop`: stop the daemon, and wait until it has ended."""

from __future__ import annotations

import os
import time

from kron.console.parser import Parser
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.krond.client import ask
from kron.krond.place import add_state_dir, state_dir_of
from kron.krond.settings import OnStop
from kron.krond.state.lock import PID_FILE, running_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Stop the daemon, and wait until it has ended. What becomes of runs that are going on was said when
it was started (--on-stop), unless it is said here. Periods that come due while it is down are
caught up with as their deadlines allow."""
EXAMPLES = (
    ("krond stop", "as krond start --on-stop says; by default once all runs have ended"),
    ("krond stop --terminate", "stop the runs: TERM, their grace, KILL"),
    ("krond stop --leave", "end at once; the runs go on, and the next krond takes them up"),
)
_POLL_S = 0.05


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    how = parser.add_mutually_exclusive_group()
    for option, mode, meaning in (
        ("--graceful", OnStop.WAIT, "let the runs that are going on end first"),
        ("--terminate", OnStop.TERMINATE, "stop them: TERM, grace, KILL"),
        ("--leave", OnStop.LEAVE, "let them go on without krond"),
    ):
        how.add_argument(
            option, dest="how", action="store_const", const=mode, default=None, help=meaning
        )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until krond has ended")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    state_dir = state_dir_of(arguments)
    answer = ask(state_dir, {"command": "stop", "how": arguments.how or ""}, 30)
    if arguments.no_wait:
        return 0
    active = answer.get("active")
    if active and arguments.how is not OnStop.LEAVE and terminal.shows_progress:
        terminal.error(f"waiting for {many(active, 'run')}; krond stop --help says how not to")
    lock = os.path.join(state_dir, PID_FILE)  # noqa: PTH118
    pid = running_pid(lock)
    while pid is not None and running_pid(lock) == pid:
        time.sleep(_POLL_S)
    return 0
