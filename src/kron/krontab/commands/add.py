"""`krontab add`: put a job into a file, from options or from lines on standard input."""

from __future__ import annotations

import sys
from shlex import join as join_shell_words

from kron.console.input import standard_input
from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, KronError, quoted
from kron.jobs.configuration import ConfigurationError
from kron.jobs.document import read_document
from kron.jobs.entry import read_schedule
from kron.jobs.fields import FIELDS, REPEATABLE
from kron.jobs.line import compose
from kron.jobs.quoting import join_words
from kron.krontab.target import add_target, change_file, report_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Add a job at the end of a file, which is made if it is not there. The job comes from options, or as
krontab lines on standard input. It is checked before anything is written, a name that is taken is
refused, and the rest of the file stays as it is, byte for byte. krond notices at its next reload.

The command is either --command TEXT, written as in a krontab file, or the words behind --."""
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
    """The arguments of the command."""
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
        "words", metavar="WORD", nargs="*", help="the command and its arguments, behind --"
    )
    add_format(parser)
    add_target(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    data = (
        _line(arguments).encode(errors="surrogateescape") if _has_options(arguments) else _input()
    )
    new = read_document(data, "<new job>")
    if new.findings:
        raise ConfigurationError(new.findings, new.unshown)
    if not new.entries:
        raise KronError(Code.FIELD_MISSING, "standard input has no job")
    lines = new.text.removesuffix("\n")
    change = change_file(arguments, lambda document: document.with_lines(lines))
    names = [entry.name for entry in new.entries]
    report_change(change, "add", names, arguments, terminal)
    return 0


def _has_options(arguments: Namespace) -> bool:
    fields = (getattr(arguments, f"field_{key}") for key in FIELDS)
    return bool(arguments.schedule is not None or arguments.words or any(fields))


def _line(arguments: Namespace) -> str:
    if arguments.schedule is None:
        raise KronError(Code.FIELD_MISSING, "the job has no schedule", fix="add --schedule TEXT")
    read_schedule(arguments.schedule, "-")  # by itself: a line could hold more than a schedule
    fields: list[tuple[str, str]] = []
    for key in FIELDS:
        values: list[str] = getattr(arguments, f"field_{key}") or []
        if len(values) > 1 and key not in REPEATABLE:
            raise UsageError(Code.FIELD_REPEATED, f"--{key.replace('_', '-')} is given twice")
        fields += [(key, value) for value in values]
    if arguments.words:
        if arguments.field_command:
            message = "the command is given twice, by --command and behind --"
            raise UsageError(Code.FIELD_REPEATED, message)
        join = join_shell_words if arguments.field_shell else join_words
        fields.append(("command", join(arguments.words)))
    for key, value in fields:
        if "\n" in value:
            message = f"the value of {key} has a line break: {quoted(value)}"
            raise KronError(Code.TEXT, message, fix="a job is one line")
    return compose(arguments.schedule, fields)


def _input() -> bytes:
    if sys.stdin is not None and sys.stdin.isatty():
        message = "there is no job: neither options nor lines on standard input"
        raise KronError(Code.FIELD_MISSING, message, fix="krontab add --help has examples")
    return standard_input()
