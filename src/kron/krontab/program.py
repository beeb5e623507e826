"""The program: from the words of a command line to a sub-command, and to an exit code.

Only the sub-command that is used is imported, and only its parser is built: `krontab next` has to
answer before a person notices that it is written in Python.
"""

from __future__ import annotations

import os
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
    "heatmap": "show when everything runs, as a week by hour",
    "fuzzy parse": "say what a fuzzy schedule, such as `daily around 14:00`, means",
    "fuzzy scatter": "turn a fuzzy schedule into the cron expression of an identifier",
    "fuzzy compile": "resolve the fuzzy schedules of workflow files to cron",
    "fuzzy conformance": "run the conformance tests of the fuzzy specification",
    "completion": "print the completion script of a shell",
    "man": "print a manual page",
}
"""Every sub-command and its summary, so that `krontab --help` imports none of them."""

GROUPS = {"fuzzy": "work with fuzzy schedules, such as `daily around 14:00`"}
"""The first words of commands that have two."""

SYSTEM_ERRORS = (Code.FILE_UNREADABLE, Code.FILE_UNWRITABLE)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line (by default the process's own) and return its exit code."""
    if words is None:
        _speak_utf8()
        words = sys.argv[1:]
    terminal = Terminal.standard()
    try:
        code = _run(words, terminal)
        terminal.output.flush()
    except KronError as error:
        _complain(terminal, error)
        code = _exit_code(error)
    except BrokenPipeError:
        # A reader that goes away, such as `head`, ends krontab as it ends any other command. Not
        # by the signal's default from the start: a dead worker of ours is no reason to vanish.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)
        code = FAILED
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        terminal.error(f"krontab: {what}{error.strerror or error}")
        code = FAILED
    except KeyboardInterrupt:
        code = INTERRUPTED
    terminal.let_go()
    return code


def _speak_utf8() -> None:
    """Start again in UTF-8 if the locale is another: paths and words are parts of identities."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        words = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, words, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606


def _exit_code(error: KronError) -> int:
    from kron.jobs.configuration import ConfigurationError
    from kron.krontab.usage import UsageError

    if isinstance(error, UsageError):
        return FAILED
    found = error.findings if isinstance(error, ConfigurationError) else (error,)
    return FAILED if any(each.code in SYSTEM_ERRORS for each in found) else INVALID


def _run(words: Sequence[str], terminal: Terminal) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        return _help(words, terminal)
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        terminal.print(f"krontab {version('krond')}")
        return OK
    name, rest = _command(words)
    if name not in COMMANDS:
        return _no_such_command(name, terminal)
    parser = command_parser(name)
    try:
        arguments = parser.parse_args(rest)
    except SystemExit as stop:  # --help, or a wrong command line that argparse has told about
        return stop.code if isinstance(stop.code, int) else FAILED
    terminal.use_colour(arguments.color)
    code: int = parser.command.run(arguments, terminal)
    return code


def _command(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command that the words begin with, and the words that are left."""
    count = 2 if words[0] in GROUPS else 1
    return " ".join(words[:count]), words[count:]


def _no_such_command(name: str, terminal: Terminal) -> int:
    first, _, second = name.partition(" ")
    if first in GROUPS and second in ("", "-h", "--help"):
        terminal.print(_group_help(first))
        return OK if second else FAILED
    what = "option" if name.startswith("-") else "command"
    near = did_you_mean(name, COMMANDS)
    known = [command for command in COMMANDS if command.startswith(f"{first} ")] or COMMANDS
    terminal.error(f"krontab: there is no {what} {quoted(name)}{near and f' ({near})'}")
    terminal.error(f"The commands are {', '.join(known)}; krontab --help says more.")
    return FAILED


def _group_help(first: str) -> str:
    members = {name: summary for name, summary in COMMANDS.items() if name.startswith(f"{first} ")}
    lines = [f"usage: krontab {first} <command> [options]", "", "commands:", *_listed(members)]
    return "\n".join(lines)


def _listed(members: dict[str, str]) -> list[str]:
    width = max(map(len, members))
    return [f"  {name:{width}}  {summary}" for name, summary in members.items()]


def command_parser(name: str) -> Parser:
    """The parser of one sub-command."""
    from importlib import import_module

    from kron.krontab.parser import Parser

    module = import_module(f"kron.krontab.commands.{module_name(name)}")
    return Parser(f"krontab {name}", COMMANDS[name], module)


def module_name(name: str) -> str:
    """The module of a sub-command. `import` is a word of Python's own."""
    return "import_" if name == "import" else name.replace(" ", "_")


def _help(words: Sequence[str], terminal: Terminal) -> int:
    name = " ".join(words[1:])
    if name in COMMANDS:
        terminal.print(command_parser(name).format_help().rstrip("\n"))
        return OK
    if name in GROUPS:
        terminal.print(_group_help(name))
        return OK
    if name:
        return _no_such_command(name, terminal)
    terminal.print(overview())
    return OK if words else FAILED


def overview() -> str:
    """What `krontab --help` prints."""
    commands = "\n".join(_listed(COMMANDS))
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
