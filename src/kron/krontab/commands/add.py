"""`krontab add`: add a job to a file, from options or from lines on standard input."""

from __future__ import annotations

import sys
from argparse import Namespace
from shlex import join as join_shell_words

from kron.console.parser import Parser, UsageError, add_format
from kron.console.terminal import Terminal, standard_input
from kron.core.errors import Code, KronError, quoted
from kron.jobs.configuration import Configuration
from kron.jobs.document import read_document
from kron.jobs.entry import read_schedule
from kron.jobs.fields import FIELDS, REPEATABLE
from kron.jobs.line import compose
from kron.jobs.quoting import join_words
from kron.krontab.target import add_target, change_file

DESCRIPTION = """\
Add a job at the end of a file, which is created if it does not exist. The job comes from options,
or from krontab lines on standard input. It is checked before anything is written, a name that is
taken is refused, and the rest of the file does not change by a byte. krond reads it at its next
reload.

The command is either --command TEXT, written as in a krontab file, or the words after --."""
EXAMPLES = (
    (
        "krontab add --name backup --schedule '0 2 * * * @win(after,3h)' -- /usr/bin/backup --all",
        "a job from options, its command as words",
    ),
    (
        "krontab add --name tidy --schedule 'daily' --shell true --command 'rm -f /tmp/x.*'",
        "a command for a shell",
    ),
    ("krontab import old.crontab | krontab add --file jobs.kron", "lines on standard input"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("--schedule", metavar="TEXT", help="the schedule with its modifiers")
    for field in FIELDS.values():
        parser.add_argument(
            f"--{field.key.replace('_', '-')}",
            dest=f"field_{field.key}",
            metavar="NAME=VALUE" if field.key == "env" else field.key.upper(),
            action="append",
            help=f"{field.meaning}; for example {field.example}".replace("%", "%%"),
        )
    parser.add_argument(
        "words", metavar="WORD", nargs="*", help="the command and its arguments, after --"
    )
    add_format(parser)
    add_target(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    new = read_document(_line(arguments) if _has_options(arguments) else _input(), "<new job>")
    Configuration((new,), is_whole=False).checked()
    if not new.entries:
        raise KronError(Code.FIELD_MISSING, "standard input has no job")
    lines = new.text.removesuffix("\n")
    names = [entry.name for entry in new.entries]
    return change_file("add", names, lambda file: file.with_lines(lines), arguments, terminal)


def _has_options(arguments: Namespace) -> bool:
    fields = (getattr(arguments, f"field_{key}") for key in FIELDS)
    return bool(arguments.schedule is not None or arguments.words or any(fields))


def _line(arguments: Namespace) -> bytes:
    if arguments.schedule is None:
        raise KronError(Code.FIELD_MISSING, "the job has no schedule", fix="add --schedule TEXT")
    read_schedule(arguments.schedule, "-")  # alone: a line could hold more than a schedule
    fields: list[tuple[str, str]] = []
    for key in FIELDS:
        values: list[str] = getattr(arguments, f"field_{key}") or []
        if len(values) > 1 and key not in REPEATABLE:
            raise UsageError(Code.FIELD_REPEATED, f"--{key.replace('_', '-')} is given twice")
        fields += [(key, value) for value in values]
    if arguments.words:
        if arguments.field_command:
            message = "the command is given twice, by --command and after --"
            raise UsageError(Code.FIELD_REPEATED, message)
        join = join_shell_words if arguments.field_shell else join_words
        fields.append(("command", join(arguments.words)))
    for key, value in fields:
        if "\n" in value:
            message = f"the value of {key} has a line break: {quoted(value)}"
            raise KronError(Code.TEXT, message, fix="a job is one line")
    return compose(arguments.schedule, fields).encode(errors="surrogateescape")


def _input() -> bytes:
    if sys.stdin is not None and sys.stdin.isatty():
        message = "no job is given, neither by options nor on standard input"
        raise KronError(Code.FIELD_MISSING, message, fix="krontab add --help has examples")
    return standard_input()
