"""`krond stop`: stop the daemon and wait until it has ended."""

from __future__ import annotations

import time

from kron.console.parser import Parser
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.krond.configuration.settings import OnStop
from kron.krond.control.client import ControlError, LastWord, ask
from kron.krond.directories import add_state_dir, state_dir_of
from kron.krond.program import exit_code
from kron.krond.state.owner import running_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Stop the daemon and wait until it has ended. By default, --on-stop of `krond start` decides what
happens to active runs. Periods that come due while the daemon is down are caught up at the next
start, as far as their deadlines allow. The exit code is that of the daemon: 4 if something could
not be stored."""
EXAMPLES = (
    ("krond stop", "as set by krond start --on-stop; by default after all runs have ended"),
    ("krond stop --terminate", "stop the runs: TERM, their grace, KILL"),
    ("krond stop --leave", "stop at once; the runs go on, and the next krond takes them over"),
)
_POLL_S = 0.05
_MOST_NAMES = 10


def add_arguments(parser: Parser) -> None:
    how = parser.add_mutually_exclusive_group()
    for option, mode, meaning in (
        ("--graceful", OnStop.WAIT, "wait for the active runs to end"),
        ("--terminate", OnStop.TERMINATE, "stop the active runs: TERM, grace, KILL"),
        ("--leave", OnStop.LEAVE, "let the active runs go on without krond"),
    ):
        how.add_argument(
            option, dest="how", action="store_const", const=mode, default=None, help=meaning
        )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until krond has ended")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    state_dir = state_dir_of(arguments)
    pid = running_pid(state_dir)  # before it is asked: another krond may soon be in its place
    last_word = None if arguments.no_wait else LastWord(state_dir)
    answer = ask(state_dir, {"command": "stop", "how": arguments.how or ""}, 30)
    if last_word is None:
        return 0
    runs, how = answer.get("runs"), answer.get("how", "")  # an earlier krond does not name them
    if runs and how != OnStop.LEAVE:
        terminal.error(_waits_for(runs, how))
        terminal.errors.flush()
    code, error = _end(last_word)
    while pid is not None and running_pid(state_dir) == pid:
        time.sleep(_POLL_S)
    if error:
        terminal.error(f"krond: {error}")
    return code


def _end(last_word: LastWord) -> tuple[int, str]:
    """The exit code of krond, and why it failed."""
    try:
        return last_word.wait()
    except ControlError as error:
        return exit_code(error), str(error)


def _waits_for(runs: list[dict[str, Any]], how: str) -> str:
    named = ", ".join(f"{run['name']} (pid {run['pid']})" for run in runs[:_MOST_NAMES])
    if len(runs) > _MOST_NAMES:
        named += f" and {len(runs) - _MOST_NAMES} more"
    if how == OnStop.TERMINATE:
        return f"stopping {many(len(runs), 'run')}: {named}"
    return f"waiting for {many(len(runs), 'run')}: {named}; krond stop --help shows other ways"
