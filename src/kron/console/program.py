"""A program: from the words of a command line to a sub-command and its exit code.

Only the sub-command that runs is imported, and only its parser is built, so that `krontab next`
answers in less than 100 ms. Each package of a command has a `Program` with its name, its commands
and its exit codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import UnsupportedOperation
from keyword import iskeyword

from kron.console.terminal import Terminal
from kron.core.errors import KronError, did_you_mean, quoted
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.console.parser import Parser

OK = 0
_EXAMPLE_WIDTH = 34
"""The least width, so that the meanings of examples begin in the same column."""
RESTARTED = "KRON_RESTARTED"
"""The variable in which a restarted program finds the earlier value of PYTHONUTF8."""
INTERRUPTED = 130
"""The exit code that shells use for a command ended by ^C."""
UNREAD = 141
"""The exit code that shells report for a command ended by SIGPIPE."""


class Program(Frozen):
    """A command with sub-commands, and the texts of its help, manual and completion scripts."""

    name: str
    summary: str
    """One line, for the manual's list of pages."""
    introduction: str
    """A paragraph, its lines broken as help shows them."""
    package: str
    """The package of the sub-commands. Each module has DESCRIPTION and EXAMPLES for its help,
    `add_arguments(parser)`, and `run(arguments, terminal)`, which returns the exit code; it may
    have `refuse(error, terminal)`, which answers a wrong command line with another one, and
    FAILURE, the exit code of all its errors instead of the program's own codes for them."""
    commands: Mapping[str, str]
    """Every sub-command and its summary, so that `--help` imports none of them."""
    groups: Mapping[str, str]
    """The first words of sub-commands that have two, each with a summary."""
    examples: Sequence[tuple[str, str]]
    """Command lines and what they are for."""
    exit_codes: Mapping[int, str]
    wrong_usage: int
    """The exit code of a wrong command line."""
    system_refused: int
    """The exit code for an OSError that no sub-command handled."""
    exit_code: Callable[[KronError], int]
    """The exit code of an error, unless it is a UsageError."""
    note: str = ""
    """A paragraph for the overview, such as the default files."""
    job_names: str = ""
    """A command line that prints the names of jobs, for completion."""
    completer: str = ""
    """A program that proposes the last of the words that it gets, for completion: for what only a
    cluster knows. It ends with a line that begins with `:`."""

    def main(self, words: Sequence[str] | None = None) -> int:
        """Run a command line (by default the process's own) and return its exit code."""
        if words is None:
            _speak_utf8()
            words = sys.argv[1:]
        terminal = Terminal.standard()
        try:
            code = self._run(words, terminal)
            terminal.output.flush()
        except KronError as error:
            code = self._fail(error, terminal)
        except BrokenPipeError:
            # A reader that ends early, such as `head`, ends this program like any other, by
            # SIGPIPE. The default is not set from the start, because a socket whose other end is
            # gone must not end krond or kron-operator.
            import signal

            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)
            code = self.system_refused
        except UnsupportedOperation:  # an OSError, too
            terminal.error(f"{self.name}: standard output is closed")
            code = self.system_refused
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            terminal.error(f"{self.name}: {what}{error.strerror or error}")
            code = self.system_refused
        except KeyboardInterrupt:
            code = INTERRUPTED
        terminal.let_go()
        return code

    def parser(self, name: str) -> Parser:
        from importlib import import_module

        from kron.console.parser import Parser

        module = import_module(f"{self.package}.{module_name(name)}")
        return Parser(f"{self.name} {name}", self.commands[name], module)

    def _run(self, words: Sequence[str], terminal: Terminal) -> int:
        if not words or words[0] in ("-h", "--help", "help"):
            return self._help(words, terminal)
        if words[0] in ("-V", "--version"):
            import kron

            terminal.print(f"{self.name} {kron.__version__}")
            return OK
        count = 2 if words[0] in self.groups else 1
        name = " ".join(words[:count])
        if name not in self.commands:
            return self._no_such_command(name, terminal)
        from kron.console.parser import UsageError

        parser = self.parser(name)
        try:
            arguments = parser.parse_args(words[count:])
            terminal.use_colour(arguments.color)
            code: int = parser.command.run(arguments, terminal)
        except SystemExit:  # --help
            return OK
        except UsageError as error:
            prefix = terminal.styled_error(f"{parser.prog}:", "bold", "red")
            terminal.error(f"{prefix} {error}", f"Try: {parser.prog} --help")
            refuse = getattr(parser.command, "refuse", None)
            return self.wrong_usage if refuse is None else refuse(error, terminal)
        except KronError as error:
            own = self._fail(error, terminal)
            return getattr(parser.command, "FAILURE", own)
        return code

    def _help(self, words: Sequence[str], terminal: Terminal) -> int:
        name = " ".join(words[1:])
        if name in self.commands:
            terminal.print(self.parser(name).format_help().rstrip("\n"))
            return OK
        if name in self.groups:
            terminal.print(*_group_overview(self, name))
            return OK
        if name:
            return self._no_such_command(name, terminal)
        terminal.print(*overview(self))
        return OK if words else self.wrong_usage

    def _no_such_command(self, name: str, terminal: Terminal) -> int:
        first, _, second = name.partition(" ")
        if first in self.groups and second in ("", "-h", "--help"):
            terminal.print(*_group_overview(self, first))
            return OK if second else self.wrong_usage
        what = "option" if name.startswith("-") else "command"
        near = did_you_mean(name, self.commands)
        known = [each for each in self.commands if each.startswith(f"{first} ")] or self.commands
        terminal.error(f"{self.name}: unknown {what} {quoted(name)}{near and f' ({near})'}")
        terminal.error(f"The commands are {', '.join(known)}. Try: {self.name} --help")
        return self.wrong_usage

    def _fail(self, error: KronError, terminal: Terminal) -> int:
        from kron.jobs.configuration import ConfigurationError

        if isinstance(error, ConfigurationError):
            from kron.console.report import finding_lines

            for finding in error.findings:
                terminal.error(*finding_lines(finding, terminal.styled_error))
            if error.unshown:
                terminal.error(f"... and {error.unshown:,} more errors")
        else:
            terminal.error(f"{terminal.styled_error(f'{self.name}:', 'bold', 'red')} {error}")
        return self.exit_code(error)


def overview(program: Program) -> Iterator[str]:
    yield f"usage: {program.name} <command> [options]"
    yield from ("", program.introduction, "", "commands:")
    yield from _listed(program.commands)
    yield from ("", "options:")
    yield f"  -h, --help     show this help; {program.name} <command> --help says more"
    yield from ("  -V, --version  show the version", "")
    if program.note:
        yield from (program.note, "")
    yield "examples:"
    yield from _listed(dict(program.examples), _EXAMPLE_WIDTH)
    yield from ("", "exit codes:")
    yield from _listed({str(code): meaning for code, meaning in program.exit_codes.items()})


def _group_overview(program: Program, first: str) -> Iterator[str]:
    yield from (f"usage: {program.name} {first} <command> [options]", "", "commands:")
    prefix = f"{first} "
    members = {name: text for name, text in program.commands.items() if name.startswith(prefix)}
    yield from _listed(members)


def _listed(members: Mapping[str, str], least: int = 0) -> Iterator[str]:
    width = max(least, *map(len, members))
    for name, text in members.items():
        yield f"  {name:{width}}  {text}"


def module_name(name: str) -> str:
    """The module of a sub-command. `import` is a keyword of Python."""
    return f"{name}_" if iskeyword(name) else name.replace(" ", "_")


def _speak_utf8() -> None:
    """Restart in UTF-8 if the locale differs: paths and words become parts of identities."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        words = [sys.executable, *sys.orig_argv[1:]]
        before = os.environ.get("PYTHONUTF8", "")
        environment = {**os.environ, "PYTHONUTF8": "1", RESTARTED: before}
        os.execve(sys.executable, words, environment)  # noqa: S606
