"""A program: from the words of a command line to a sub-command, and to an exit code.

Only the sub-command that is used is imported, and only its parser is built: `krontab next` has to
answer before a person notices that it is written in Python. What a program is called, does and
answers is its own, in a `Program` of its package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword

from kron.console.terminal import Terminal
from kron.core.errors import KronError, did_you_mean, quoted
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.console.parser import Parser

OK = 0
RESTARTED = "KRON_RESTARTED"
"""In the environment of a program that started itself again: what PYTHONUTF8 was before."""
INTERRUPTED = 130
"""What a shell says of a command that ^C ended."""


class Program(Frozen):
    """A command with sub-commands, and all that its help, manual and completions say of it."""

    name: str
    summary: str
    """One line, for the manual's list of pages."""
    introduction: str
    """A paragraph, its lines broken as help shows them."""
    package: str
    """Where the modules of the sub-commands are. Each has DESCRIPTION and EXAMPLES for its help,
    `add_arguments(parser)`, and `run(arguments, terminal)`, which returns the exit code."""
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
    """The exit code of an OSError that no sub-command made a KronError of."""
    exit_code: Callable[[KronError], int]
    """The exit code of an error, unless it is a UsageError."""
    note: str = ""
    """A paragraph for the overview, such as where files are looked for."""
    job_names: str = ""
    """A command line that prints the names of jobs, for completion."""

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
            self._complain(terminal, error)
            code = self._code_of(error)
        except BrokenPipeError:
            # A reader that goes away, such as `head`, ends us as it ends any other command. Not
            # by the signal's default from the start: a dead worker of ours is no reason to vanish.
            import signal

            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)
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
        """The parser of one sub-command."""
        from importlib import import_module

        from kron.console.parser import Parser

        module = import_module(f"{self.package}.{module_name(name)}")
        return Parser(f"{self.name} {name}", self.commands[name], module, self.wrong_usage)

    def _run(self, words: Sequence[str], terminal: Terminal) -> int:
        if not words or words[0] in ("-h", "--help", "help"):
            return self._help(words, terminal)
        if words[0] in ("-V", "--version"):
            import kron

            terminal.print(f"{self.name} {kron.__version__}")
            return OK
        name, rest = self._command(words)
        if name not in self.commands:
            return self._no_such_command(name, terminal)
        parser = self.parser(name)
        try:
            arguments = parser.parse_args(rest)
        except SystemExit as stop:  # --help, or a wrong command line that argparse has told about
            return stop.code if isinstance(stop.code, int) else self.wrong_usage
        terminal.use_colour(arguments.color)
        code: int = parser.command.run(arguments, terminal)
        return code

    def _command(self, words: Sequence[str]) -> tuple[str, Sequence[str]]:
        """The sub-command that the words begin with, and the words that are left."""
        count = 2 if words[0] in self.groups else 1
        return " ".join(words[:count]), words[count:]

    def _help(self, words: Sequence[str], terminal: Terminal) -> int:
        from kron.console.overview import group_overview, overview

        name = " ".join(words[1:])
        if name in self.commands:
            terminal.print(self.parser(name).format_help().rstrip("\n"))
            return OK
        if name in self.groups:
            terminal.print(group_overview(self, name))
            return OK
        if name:
            return self._no_such_command(name, terminal)
        terminal.print(overview(self))
        return OK if words else self.wrong_usage

    def _no_such_command(self, name: str, terminal: Terminal) -> int:
        first, _, second = name.partition(" ")
        if first in self.groups and second in ("", "-h", "--help"):
            from kron.console.overview import group_overview

            terminal.print(group_overview(self, first))
            return OK if second else self.wrong_usage
        what = "option" if name.startswith("-") else "command"
        near = did_you_mean(name, self.commands)
        known = [each for each in self.commands if each.startswith(f"{first} ")] or self.commands
        terminal.error(f"{self.name}: there is no {what} {quoted(name)}{near and f' ({near})'}")
        terminal.error(f"The commands are {', '.join(known)}; {self.name} --help says more.")
        return self.wrong_usage

    def _code_of(self, error: KronError) -> int:
        from kron.console.usage import UsageError

        return self.wrong_usage if isinstance(error, UsageError) else self.exit_code(error)

    def _complain(self, terminal: Terminal, error: KronError) -> None:
        from kron.jobs.configuration import ConfigurationError

        if isinstance(error, ConfigurationError):
            from kron.console.report import print_findings

            print_findings(error, terminal)
            return
        terminal.error(f"{terminal.styled_error(f'{self.name}:', 'bold', 'red')} {error}")


def module_name(name: str) -> str:
    """The module of a sub-command. `import` is a word of Python's own."""
    return f"{name}_" if iskeyword(name) else name.replace(" ", "_")


def _speak_utf8() -> None:
    """Start again in UTF-8 if the locale is another: paths and words are parts of identities."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        words = [sys.executable, *sys.orig_argv[1:]]
        before = os.environ.get("PYTHONUTF8", "")
        environment = {**os.environ, "PYTHONUTF8": "1", RESTARTED: before}
        os.execve(sys.executable, words, environment)  # noqa: S606
