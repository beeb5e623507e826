"""Command lines: argparse with examples and better errors, and the options that commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from kron.console.terminal import COLOUR_CHOICES
from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.core.instant import to_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Never

_WIDTH = 90
"""The width of help; fixed, so that it does not depend on the terminal or environment."""
_MEANT = {"-o": "--format", "--output": "--format"}
"""Options of kubectl, and what comes near them where a command does not have them."""


class UsageError(KronError):
    """A wrong command line, by argparse or in a way that argparse cannot know.

    The program exits with the code of a wrong command line, whatever the error's own code is.
    """


class Parser(argparse.ArgumentParser):
    def __init__(self, prog: str, summary: str, command: ModuleType) -> None:
        examples = [f"  {line}\n      {meaning}" for line, meaning in command.EXAMPLES]
        super().__init__(
            prog=prog,
            description=command.DESCRIPTION,
            epilog="\n".join(["examples:", *examples]),
            formatter_class=_HelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.intermixed = ""
        """The argument that takes several words, also after options, as kubectl does; '' if none
        does. argparse has only its first stretch."""
        self.summary = summary
        self.command = command
        command.add_arguments(self)
        general = self.add_argument_group("general options")
        general.add_argument(
            "--color",
            choices=COLOUR_CHOICES,
            default="auto",
            help="colour the output; auto: on a terminal, unless NO_COLOR is set",
        )
        general.add_argument("-h", "--help", action="help", help="show this help")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The arguments; an unknown one is reported with the option that was probably meant."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if self.intermixed and "--" not in (args or ()):
            count = next((at for at, word in enumerate(unknown) if _is_option(word)), len(unknown))
            words = [*getattr(arguments, self.intermixed), *unknown[:count]]
            setattr(arguments, self.intermixed, words)
            unknown = unknown[count:]
        if unknown:
            option = unknown[0].partition("=")[0]
            known = self._option_string_actions
            near = did_you_mean(_MEANT.get(option, option), known)
            shown = " ".join(map(quoted, unknown))
            self.error(f"unrecognized arguments: {shown}{near and f' ({near})'}")
        return arguments

    def error(self, message: str) -> Never:
        raise UsageError(Code.VALUE_UNKNOWN, message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            near = did_you_mean(str(value), choices)
            message = f"{quoted(str(value))} is not one of {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"{message}{near and f' ({near})'}")


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


class _NoColours:
    """The theme of help: every part of it has the colour ''."""

    def __getattr__(self, part: str) -> str:
        return ""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    # From Python 3.14 on argparse colours help, and each formatter, also one that only checks an
    # option, loads `dataclasses` and `inspect` for that: 24 ms of every start.
    _theme = _NoColours()

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=_WIDTH)

    def _set_color(self, color: bool, **_: object) -> None:
        """Called by argparse from Python 3.14 on."""

    def _decolor(self, text: str) -> str:
        return text


def moment(text: str) -> datetime:
    """`--at`: an instant with its offset, or a day, which is its midnight in UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        message = f"{quoted(text)} is not a moment; write it like 2026-03-01T02:30:00Z"
        raise argparse.ArgumentTypeError(message) from None
    if parsed.tzinfo is not None:
        return parsed
    if len(text) <= len("2026-03-01"):  # a day and nothing else
        return parsed.replace(tzinfo=UTC)
    message = f"{quoted(text)} does not say its offset; end it with Z for UTC, or with +01:00"
    raise argparse.ArgumentTypeError(message)


def past_moment(text: str) -> datetime:
    """`--since`: a moment as for `--at`, or how long ago it was, such as 24h."""
    if "-" in text or not text[:1].isdigit():
        return moment(text)
    since = timedelta(seconds=whole_seconds(text))
    try:
        return now() - since
    except OverflowError:
        message = f"{quoted(text)} ago is before the year 1"
        raise argparse.ArgumentTypeError(message) from None


def path(text: str) -> str:
    """A path. An empty one is an error: it would mean the current directory."""
    if text:
        return text
    raise argparse.ArgumentTypeError("the path is empty")


def number_up_to(most: int) -> Callable[[str], int]:

    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number from 1 to {most:,}")

    return number


def add_number(
    parser: argparse._ActionsContainer, name: str, what: str, *, most: int, default: int
) -> None:
    """An option that is a number from 1 to `most`; `what` begins its help."""
    shown = f"{what}; default: {default}"
    kind = number_up_to(most)
    parser.add_argument(name, type=kind, default=default, metavar="N", help=shown)


def whole_seconds(text: str) -> int:
    from kron.core.duration import SECOND_NS, parse_duration

    try:
        seconds, rest_ns = divmod(parse_duration(text), SECOND_NS)
    except KronError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if rest_ns:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number of whole seconds")
    return seconds


def add_log_options(parser: argparse._ActionsContainer) -> None:
    from kron.logs.event import Level
    from kron.logs.writer import Format

    parser.add_argument(
        "--log-format", choices=tuple(Format), default=Format.TEXT, help="default: text"
    )
    parser.add_argument(
        "--log-level",
        type=str.upper,
        choices=tuple(Level),
        default=Level.INFO,
        help="the lowest level to log; default: INFO",
    )
    parser.add_argument(
        "--explain", action="store_true", help="explain every decision in the log, in words"
    )


def add_format(parser: argparse._ActionsContainer, **others: str) -> None:
    """`--format`; `others` are additional formats of a command, with their meanings."""
    meanings = {"text": "for people (default)", "json": "for scripts"} | others
    parser.add_argument(
        "--format",
        choices=tuple(meanings),
        default="text",
        help=", ".join(f"{name}: {meaning}" for name, meaning in meanings.items()),
    )


def add_at(parser: argparse._ActionsContainer, what: str) -> None:
    parser.add_argument("--at", type=_covered, metavar="TIME", help=f"{what}; default: now")


def _covered(text: str) -> datetime:
    """A moment of the years that Kron covers."""
    found = moment(text)
    try:
        to_seconds(found)
    except KronError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return found


def moment_s(arguments: argparse.Namespace) -> int:
    """`--at`, or now, in whole seconds."""
    return to_seconds(now() if arguments.at is None else arguments.at)


def now() -> datetime:
    """The only place where krontab and kronctl read the wall clock."""
    return datetime.now(UTC)


def add_insecure_config(parser: argparse._ActionsContainer, note: str = "") -> None:
    """`--allow-insecure-config`; `note` is added to its help."""
    parser.add_argument(
        "--allow-insecure-config",
        action="store_true",
        help="also read files that other users can write, symbolic links, and files of "
        f"other owners{note and f'; {note}'}",
    )


def add_node_id(
    parser: argparse._ActionsContainer, what: str = "the host's part of identities"
) -> None:
    parser.add_argument("--node-id", metavar="ID", help=f"{what}: machine-id, hostname or any text")
