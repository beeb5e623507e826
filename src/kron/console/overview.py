"""The overview of a program, which `--help` prints, and that of a group of its sub-commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kron.console.program import Program

_EXAMPLE_WIDTH = 34
"""At least, so that what an example means begins at the same place in every program."""


def overview(program: Program) -> str:
    """What a program is and does, on a screen or two."""
    return "\n".join(_lines(program))


def group_overview(program: Program, first: str) -> str:
    """The sub-commands that begin with this word."""
    prefix = f"{first} "
    members = {name: text for name, text in program.commands.items() if name.startswith(prefix)}
    lines = [f"usage: {program.name} {first} <command> [options]", "", "commands:"]
    return "\n".join([*lines, *_listed(members)])


def _lines(program: Program) -> Iterator[str]:
    name = program.name
    yield f"usage: {name} <command> [options]"
    yield ""
    yield program.introduction
    yield ""
    yield "commands:"
    yield from _listed(program.commands)
    yield ""
    yield "options:"
    yield f"  -h, --help     show this help; {name} <command> --help says more"
    yield "  -V, --version  show the version"
    yield ""
    if program.note:
        yield program.note
        yield ""
    yield "examples:"
    yield from _listed(dict(program.examples), _EXAMPLE_WIDTH)
    yield ""
    yield "exit codes:"
    yield from _listed({str(code): meaning for code, meaning in program.exit_codes.items()})


def _listed(members: Mapping[str, str], least: int = 0) -> Iterator[str]:
    width = max(least, *map(len, members))
    for name, text in members.items():
        yield f"  {name:{width}}  {text}"
