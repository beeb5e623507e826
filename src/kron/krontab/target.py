"""The one file that an edit is about: which it is, what it holds, and what it will hold."""

from __future__ import annotations

import os

from kron.console.parser import OnlyOnce
from kron.console.parser import path as path_argument
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.jobs.configuration import SYSTEM_DIRECTORY, USER_DIRECTORY, ConfigurationError
from kron.jobs.document import Document, read_document
from kron.jobs.editing import current_bytes, edit_file
from kron.jobs.source import own_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

DEFAULT_NAME = "krontab.kron"
_DIFFERENCE_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def add_target(parser: ArgumentParser) -> None:
    """The options about the file that is edited."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--file",
        type=path_argument,
        action=OnlyOnce,
        metavar="PATH",
        help=f"the file to edit; default: {SYSTEM_DIRECTORY}/{DEFAULT_NAME} for root, "
        f"{USER_DIRECTORY}/{DEFAULT_NAME} for others",
    )
    group.add_argument(
        "--allow-insecure-config",
        action="store_true",
        help="also edit a file that krond would refuse because others could write it",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show the difference and write nothing"
    )


class Change(Frozen):
    """What an edit did to a file, or would do."""

    path: str
    before: str
    after: str
    is_written: bool

    def difference(self) -> list[str]:
        """The lines of a unified diff."""
        from difflib import unified_diff

        before, after = _lines(self.before), _lines(self.after)
        shown = list(unified_diff(before, after, self.path, self.path, lineterm=""))
        return [line for each in shown for line in each.split("\n")]


def change_file(
    arguments: Namespace, change: Callable[[Document], str], *, creates: bool = True
) -> Change:
    """Apply `change` to the file, unless this is a dry run.

    A file that is not there counts as an empty one; `creates` says whether it may be made.
    What is written has been read back first: a file that had no errors never gets one.
    """
    path = _path(arguments)
    access = own_access(insecure=arguments.allow_insecure_config)
    texts: list[str] = []

    def checked(data: bytes) -> str:
        before = _without_errors(read_document(data, path))
        after = change(before)
        _without_errors(read_document(after.encode(), path))
        texts.extend((before.text, after))
        return after

    if arguments.file is not None:
        _check_directory(path)
    if arguments.dry_run or not (creates or os.path.exists(path)):  # noqa: PTH110
        checked(current_bytes(path, access))
    else:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)  # noqa: PTH103, PTH120
        edit_file(path, access, checked)
    before, after = texts
    return Change(path, before, after, is_written=not arguments.dry_run)


def report_change(
    change: Change, action: str, names: list[str], arguments: Namespace, terminal: Terminal
) -> None:
    """Say what was done; in a dry run, show the difference."""
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.edit/1",
                "action": action,
                "jobs": names,
                "path": change.path,
                "written": change.is_written,
                "diff": change.difference(),
            }
        )
        return
    if change.is_written:
        done = {"add": "added", "remove": "removed"}[action]
        where = "to" if action == "add" else "from"
        terminal.print(f"{done} {', '.join(names)} {where} {change.path}")
        return
    for line in change.difference():
        style = _DIFFERENCE_STYLES.get(line[:1])
        terminal.print(terminal.styled(line, style) if style else line)


def _lines(text: str) -> list[str]:
    """The lines of a file; the last one has a note below it if it is not ended."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _path(arguments: Namespace) -> str:
    file: str | None = arguments.file
    if file is not None:
        return os.path.abspath(file)  # noqa: PTH100
    directory = SYSTEM_DIRECTORY if os.geteuid() == 0 else os.path.expanduser(USER_DIRECTORY)  # noqa: PTH111
    return os.path.join(directory, DEFAULT_NAME)  # noqa: PTH118


def _check_directory(path: str) -> None:
    directory = os.path.dirname(path)  # noqa: PTH120
    if not os.path.isdir(directory):  # noqa: PTH112
        message = f"there is no directory {directory}"
        raise KronError(Code.FILE_MISSING, message, fix=f"mkdir -p {directory}")


def _without_errors(document: Document) -> Document:
    if document.findings:
        raise ConfigurationError(document.findings, document.unshown)
    return document
