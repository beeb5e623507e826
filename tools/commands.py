"""What the commands of a program are and take, read from their parsers.

Completion scripts, manual pages and the pages in docs/ are made from this, so they cannot say
anything else than `--help` does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from kron.console.program import Program
from kron.core.frozen import Frozen


class Option(Frozen):
    """An option, or an argument without one (`flags` is empty)."""

    flags: tuple[str, ...]
    metavar: str
    choices: tuple[str, ...]
    help: str
    is_repeatable: bool

    @property
    def takes_value(self) -> bool:
        """Whether a word belongs to it."""
        return bool(self.metavar or self.choices)

    @property
    def value(self) -> str:
        """How that word is written in help; '' if it has none."""
        return self.metavar or "|".join(self.choices)


class Group(Frozen):
    """Options that belong together."""

    title: str
    options: tuple[Option, ...]


class Command(Frozen):
    """A sub-command with everything that its help says."""

    name: str
    summary: str
    description: str
    usage: str
    groups: tuple[Group, ...]
    examples: tuple[tuple[str, str], ...]

    @property
    def options(self) -> list[Option]:
        """All options, group by group."""
        return [option for group in self.groups for option in group.options if option.flags]

    @property
    def arguments(self) -> list[Option]:
        """What stands without an option, in order."""
        return [option for group in self.groups for option in group.options if not option.flags]


def commands(program: Program) -> Iterator[Command]:
    """Every sub-command."""
    for name, summary in program.commands.items():
        parser = program.parser(name)
        yield Command(
            name,
            summary,
            parser.command.DESCRIPTION,
            parser.format_usage().removeprefix("usage: ").strip(),
            tuple(_groups(parser)),
            tuple(parser.command.EXAMPLES),
        )


def origin(program: Program, command: str, argument: str) -> str:
    """What prints or generates a text: the program's own command, if it has one."""
    if command in program.commands:
        return f"{program.name} {command} {argument}".rstrip()
    return "make reference"


def _groups(parser: argparse.ArgumentParser) -> Iterator[Group]:
    for group in parser._action_groups:
        options = tuple(
            _option(action, parser.prog)
            for action in group._group_actions
            if action.help != argparse.SUPPRESS
        )
        if options:
            title = {"positional arguments": "arguments"}.get(group.title or "", group.title)
            yield Group(title or "options", options)


def _option(action: argparse.Action, prog: str) -> Option:
    takes_value = action.nargs != 0
    choices = tuple(map(str, action.choices or ())) if takes_value else ()
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if takes_value and not metavar and not choices:
        metavar = action.dest.upper()
    expanded = (action.help or "") % {"default": action.default, "prog": prog}
    return Option(
        tuple(action.option_strings),
        metavar if takes_value else "",
        choices,
        expanded,
        isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+"),
    )
