"""`krond trigger`: start a run of a job now, outside any period."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krond.client import ask
from kron.krond.place import add_state_dir, state_dir_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Start a run of a job now. It belongs to no period: the job's next run stays where it was. The job's
concurrency holds: with forbid it is refused while another run is going on, with replace it stops
that one first. A suspended job can be triggered, too.

With --wait, the exit code is the run's own, or 128 and the signal that ended it."""
EXAMPLES = (
    ("krond trigger backup", "start it, and say its run id"),
    ("krond trigger backup --wait && echo done", "wait for its end"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", help="a name, or <absolute path of its file>:<name>")
    parser.add_argument("--wait", action="store_true", help="wait until the run has ended")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    import signal

    request = {"command": "trigger", "job": arguments.job, "wait": arguments.wait}
    answer = ask(state_dir_of(arguments), request, None if arguments.wait else 30)
    if not arguments.wait:
        waits = answer["waits_for"]
        terminal.print(f"run {answer['run_id']}{f' waits for {waits}' if waits else ''}")
        return 0
    ended = answer["ended"]
    code = ended["exit_code"]
    if code is not None:
        return int(code)
    name = ended["signal"]
    if name is None:
        terminal.error(f"krond: {ended['reason']}")
        return 1
    return 128 + int(name if name.isdigit() else getattr(signal, name, 0))
