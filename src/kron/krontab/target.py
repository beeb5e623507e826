"""The file that add and remove edit: finds it, changes it and reports the change."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from kron.console.parser import UsageError
from kron.console.parser import path as path_argument
from kron.console.report import difference_line
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, visible
from kron.jobs.configuration import SYSTEM_DIRECTORY, USER_DIRECTORY, Configuration
from kron.jobs.document import Document, read_document
from kron.jobs.editing import current_bytes, edit_file
from kron.jobs.source import own_access

DEFAULT_NAME = "krontab.kron"
Change = Callable[[Document], str]


def add_target(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--file",
        type=path_argument,
        action="append",
        default=[],
        metavar="PATH",
        help=f"the file to edit; default: {SYSTEM_DIRECTORY}/{DEFAULT_NAME} for root, "
        f"{USER_DIRECTORY}/{DEFAULT_NAME} for others",
    )
    group.add_argument(
        "--allow-insecure-config",
        action="store_true",
        help="also edit a file that krond would refuse because other users can write it",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show the difference and write nothing"
    )


def change_file(
    action: str, names: list[str], change: Change, arguments: Namespace, terminal: Terminal
) -> int:
    """Add or remove jobs by `change`, and report that; returns the exit code.

    A dry run only shows the difference. A missing file counts as empty, and only `add` creates it.
    The new text is read before it is written, so that an edit never adds an error to a file.
    """
    path = _path(arguments)
    access = own_access(insecure=arguments.allow_insecure_config)
    texts: list[str] = []

    def checked(data: bytes) -> str:
        before = read_document(data, path)
        Configuration((before,), is_whole=False).checked()
        after = change(before)
        edited = read_document(after.encode(), path)
        Configuration((edited,), is_whole=False).checked()
        texts.extend((before.text, after))
        return after

    directory = os.path.dirname(path)  # noqa: PTH120
    if arguments.file and not os.path.isdir(directory):  # noqa: PTH112
        shown = visible(directory)
        message = f"there is no directory {shown}"
        raise KronError(Code.FILE_MISSING, message, fix=f"mkdir -p {shown}")
    if arguments.dry_run or not (action == "add" or os.path.exists(path)):  # noqa: PTH110
        checked(current_bytes(path, access))
    else:
        os.makedirs(directory, mode=0o755, exist_ok=True)  # noqa: PTH103
        edit_file(path, access, checked)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.edit/1",
                "action": action,
                "jobs": names,
                "path": path,
                "written": not arguments.dry_run,
                "diff": _difference(path, *texts),
            }
        )
    elif arguments.dry_run:
        difference = _difference(path, *texts)
        terminal.print(*(difference_line(line, terminal.styled) for line in difference))
    else:
        done = "added {} to {}" if action == "add" else "removed {} from {}"
        terminal.print(done.format(", ".join(names), path))
    return 0


def _difference(path: str, before: str, after: str) -> list[str]:
    from difflib import unified_diff

    shown = unified_diff(_lines(before), _lines(after), path, path, lineterm="")
    return [line for each in shown for line in each.split("\n")]


def _lines(text: str) -> list[str]:
    """The lines of a file, with a note after a last line that has no line break."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _path(arguments: Namespace) -> str:
    files: list[str] = arguments.file
    if len(files) > 1:
        raise UsageError(Code.FIELD_REPEATED, "--file is given twice")
    if files:
        return os.path.abspath(files[0])  # noqa: PTH100
    directory = SYSTEM_DIRECTORY if os.geteuid() == 0 else os.path.expanduser(USER_DIRECTORY)  # noqa: PTH111
    return os.path.join(directory, DEFAULT_NAME)  # noqa: PTH118
