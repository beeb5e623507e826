"""The program: from the words of a command line to a sub-command, and to an exit code.

Only the sub-command that is used is imported, and only its parser is built: `krontab next` has to
answer before a person notices that it is written in Python.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.krontab.terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krontab.parser import Parser

OK = 0
INVALID = 1
FAILED = 2
INTERRUPTED = 130
EXIT_CODES = {
    OK: "done, and nothing is wrong",
    INVALID: "something is invalid or was not found: a line, a job, a file, a decision",
    FAILED: "the command line is wrong, or the system refused",
}

COMMANDS = {
    "lint": "check krontab files: errors and warnings",
    "explain": "say why a job runs when it runs",
    "next": "show the coming runs of a job",
    "list": "list all jobs with their next run",
    "add": "add a job to a file",
    "remove": "remove a job from a file",
    "import": "turn a crontab into krontab lines",
    "diff": "show what changes between two configurations",
    "replay": "recompute every decision of a log",
    "fuzzy": "work with fuzzy schedules, such as `daily around 14:00`",
    "completion": "print the completion script of a shell",
    "man": "print a manual page",
}
"""Every sub-command and its summary, so that `krontab --help` imports none of them."""

_SYSTEM_ERRORS = (Code.FILE_UNREADABLE, Code.FILE_UNWRITABLE)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line (by default the process's own) and return its exit code."""
    # A reader that goes away, such as `head`, ends krontab as it ends any other command.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = sys.argv[1:] if words is None else words
    terminal = Terminal.standard()
    try:
        code = _run(words, terminal)
        terminal.output.flush()
    except KronError as error:
        _complain(terminal, error)
        return FAILED if error.code in _SYSTEM_ERRORS else INVALID
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        terminal.error(f"krontab: {what}{error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(words: Sequence[str], terminal: Terminal) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        return _help(words, terminal)
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        terminal.print(f"krontab {version('krond')}")
        return OK
    name = words[0]
    if name not in COMMANDS:
        what = "option" if name.startswith("-") else "command"
        near = did_you_mean(name, COMMANDS)
        terminal.error(f"krontab: there is no {what} {quoted(name)}{near and f' ({near})'}")
        terminal.error(f"The commands are {', '.join(COMMANDS)}; krontab --help says more.")
        return FAILED
    parser = command_parser(name)
    try:
        arguments = parser.parse_args(words[1:])
    except SystemExit as stop:  # --help, or a wrong command line that argparse has told about
        return stop.code if isinstance(stop.code, int) else FAILED
    code: int = parser.command.run(arguments, Terminal.standard(arguments.color))
    return code


def command_parser(name: str) -> Parser:
    """The parser of one sub-command."""
    from importlib import import_module

    from kron.krontab.parser import Parser

    module = import_module(f"kron.krontab.commands.{MODULES.get(name, name)}")
    return Parser(f"krontab {name}", COMMANDS[name], module)


MODULES = {"import": "import_"}
"""Modules that cannot be called what their command is."""


def _help(words: Sequence[str], terminal: Terminal) -> int:
    if len(words) > 1 and words[1] in COMMANDS:
        terminal.print(command_parser(words[1]).format_help().rstrip("\n"))
        return OK
    terminal.print(overview())
    return OK if words else FAILED


def overview() -> str:
    """What `krontab --help` prints."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items())
    codes = "\n".join(f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"""\
usage: krontab <command> [options]

Kron runs scheduled work at a time that is chosen, not fixed: cron says when work is due, a window
and a distribution say where around that moment it may run, and a seed makes the choice the same
on every machine. krontab reads and edits the files that say so, and explains every choice.

commands:
{commands}

options:
  -h, --help     show this help; krontab <command> --help says more
  -V, --version  show the version

Without --file, krontab reads /etc/krond.d/*.kron and ~/.config/krond/*.kron.

examples:
  krontab next backup                 when does the job `backup` run?
  krontab explain backup              why then?
  krontab lint --file jobs.kron       is this file right?
  krontab import /etc/crontab         what would my crontab look like?

exit codes:
{codes}"""


def _complain(terminal: Terminal, error: KronError) -> None:
    from kron.jobs.configuration import ConfigurationError

    if isinstance(error, ConfigurationError):
        from kron.krontab.report import print_findings

        print_findings(error, terminal)
        return
    terminal.error(f"{terminal.styled_error('krontab:', 'bold', 'red')} {error}")
