"""Generates manual pages in the man(7) macros from a program's parsers."""

from __future__ import annotations

from collections.abc import Iterator

import kron
from kron.console.program import Program
from tools.commands import Command, Option, commands, origin


def page(program: Program, name: str) -> str:
    """The page of a sub-command, or that of the program itself for an empty name."""
    known = list(commands(program))
    if not name:
        return "\n".join(_main_page(program, known)) + "\n"
    command = next(command for command in known if command.name == name)
    return "\n".join(_command_page(program, command)) + "\n"


def page_name(program: Program, name: str) -> str:
    """The name of a page: `krontab-fuzzy-parse` for `fuzzy parse`."""
    return "-".join([program.name, *name.split()])


def _main_page(program: Program, known: list[Command]) -> Iterator[str]:
    yield from _head(program, "", program.summary)
    yield ".SH SYNOPSIS"
    yield rf"\fB{man_text(program.name)}\fR \fIcommand\fR [\fIoptions\fR]"
    yield ".SH DESCRIPTION"
    yield man_text(program.introduction.replace("\n", " "))
    yield ".SH COMMANDS"
    for command in known:
        yield ".TP"
        yield rf"\fB{man_text(command.name)}\fR"
        yield man_text(command.summary)
    yield from _foot(program, [page_name(program, command.name) for command in known])


def _command_page(program: Program, command: Command) -> Iterator[str]:
    yield from _head(program, command.name, command.summary)
    yield ".SH SYNOPSIS"
    yield rf"\fB{man_text(' '.join(command.usage.split()))}\fR"
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(command.description.split("\n\n")):
        if number:
            yield ".PP"
        yield man_text(paragraph.replace("\n", " "))
    for group in command.groups:
        yield f".SH {man_text(group.title.upper())}"
        for option in group.options:
            yield ".TP"
            yield _flags(option)
            yield man_text(option.help)
    yield ".SH EXAMPLES"
    for example, meaning in command.examples:
        yield ".TP"
        yield rf"\fB{man_text(' '.join(example.replace(chr(92) + chr(10), ' ').split()))}\fR"
        yield man_text(meaning)
    yield from _foot(program, [program.name])


def _head(program: Program, name: str, summary: str) -> Iterator[str]:
    title = page_name(program, name)
    yield rf".\" made by: {origin(program, 'man', name)}"
    yield f'.TH "{title.upper()}" 1 "" "Kron {kron.__version__}" "Kron"'
    yield ".SH NAME"
    yield rf"{man_text(title)} \- {man_text(summary)}"


def _foot(program: Program, see_also: list[str]) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, meaning in program.exit_codes.items():
        yield ".TP"
        yield rf"\fB{code}\fR"
        yield man_text(meaning)
    yield ".SH SEE ALSO"
    yield ", ".join(rf"\fB{man_text(name)}\fR(1)" for name in see_also)


def _flags(option: Option) -> str:
    if not option.flags:
        return rf"\fI{man_text(option.value)}\fR"
    value = rf" \fI{man_text(option.value)}\fR" if option.takes_value else ""
    return ", ".join(rf"\fB{man_text(flag)}\fR{value}" for flag in option.flags)


def man_text(text: str) -> str:
    """Text that no macro reads: backslashes, hyphens and a leading dot or quote escaped."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "\\(ga")
    escaped = escaped.replace("'", r"\(aq").replace("~", r"\(ti").replace("^", r"\(ha")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped
