"""`krond trigger`: start a run of a job now, outside any period."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krond.control.client import ask
from kron.krond.directories import add_state_dir, state_dir_of

DESCRIPTION = """\
Start a run of a job now. It belongs to no period: the job's next run stays as planned. The job's
concurrency policy applies: with forbid the run is refused while another one is active, with replace
that one is stopped first. An attempt that waits to try a period again gives way to it, unless
concurrency is allow. A suspended job can be triggered too.

With --wait, the exit code is that of the run, or 128 plus the signal that ended it."""
EXAMPLES = (
    ("krond trigger backup", "start it and print its run id"),
    ("krond trigger backup --wait && echo done", "wait for its end"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", help="a name, or <absolute path of its file>:<name>")
    parser.add_argument("--wait", action="store_true", help="wait until the run has ended")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    import signal

    request = {"command": "trigger", "job": arguments.job, "wait": arguments.wait}
    answer = ask(state_dir_of(arguments), request, None if arguments.wait else 30)
    instead = answer.get("instead_of")  # a krond of the version before does not say
    if not arguments.wait:
        waits = answer["waits_for"]
        run = f"run {answer['run_id']}{f' instead of {instead}' if instead else ''}"
        terminal.print(f"{run}{f' waits for {waits}' if waits else ''}")
        return 0
    ended = answer["ended"]
    if instead:
        terminal.print(f"run {ended['run_id']} instead of {instead}")
    if ended["reason"]:  # it never began, or krond stopped it
        terminal.error(f"krond: {ended['reason']}")
    code, name = ended["exit_code"], ended["signal"]
    if code is not None:
        return int(code)
    if name is None:
        return 1
    return 128 + int(name if name.isdigit() else getattr(signal, name, 0))
