"""`krond logs`: show the daemon's log."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from functools import partial

from kron.console.parser import Parser, number_up_to
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.krond.control.client import NotRunning, Unreachable, ask
from kron.krond.directories import add_state_dir, state_dir_of
from kron.krond.state.names import LOG_NAME
from kron.logs.reader import read_line
from kron.logs.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import BinaryIO

DESCRIPTION = """\
Show the end of the daemon's log. With --follow, continue with new lines, also after a rotation. A
krond that logs to standard error, as under systemd, has no log file: use journalctl -u krond."""
EXAMPLES = (
    ("krond logs", "the last 20 lines"),
    ("krond logs backup -n 100", "the last 100 lines about `backup`"),
    ("krond logs --follow", "the last 20 lines and all new ones"),
)
_POLL_S = 0.2


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "job", metavar="JOB", nargs="?", default="", help="only lines about this job"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="continue with new lines")
    parser.add_argument(
        "-n",
        "--lines",
        type=number_up_to(1_000_000),
        default=20,
        metavar="N",
        help="how many lines; default: 20",
    )
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    path = _log_file(state_dir_of(arguments))
    try:
        log = open(path, "rb")  # noqa: PTH123, SIM115 (closed when it was rotated away)
    except FileNotFoundError:
        fix = "krond start --log-file may have named another file"
        raise KronError(Code.FILE_MISSING, f"the log {path} does not exist", fix=fix) from None
    file, _, name = arguments.job.rpartition(":")
    wanted = partial(_is_about, file, name, os.fsencode(name)) if name else None
    for line in deque(filter(wanted, log), arguments.lines):
        terminal.print(_shown(line))
    if arguments.follow:
        terminal.output.flush()
        for line in filter(wanted, _coming(log, path)):
            terminal.print(_shown(line))
            terminal.output.flush()
    log.close()
    return 0


def _log_file(state_dir: str) -> str:
    try:
        path: str = ask(state_dir, {"command": "status", "job": ""}, 30)["log_file"]
    except (NotRunning, Unreachable):
        return os.path.join(state_dir, LOG_NAME)  # noqa: PTH118
    if path:
        return path
    fix = "see where its standard error goes; under systemd: journalctl -u krond"
    raise KronError(Code.FILE_MISSING, "this krond logs to its standard error", fix=fix)


def _is_about(file: str, name: str, name_bytes: bytes, line: bytes) -> bool:
    """Whether a line, text or JSON, is about the job of this name, and file if it is not ''."""
    if name_bytes not in line:  # most lines: no need to parse them
        return False
    record = read_line(_shown(line))
    if not isinstance(record, Record) or record.get("name") != name:
        return False
    return file in ("", record.get("namespace"))


def _coming(log: BinaryIO, path: str) -> Iterator[bytes]:
    """The complete new lines, also of the file that replaces this one."""
    begun = b""
    while True:
        if line := log.readline():
            begun += line
            if line.endswith(b"\n"):
                yield begun
                begun = b""
        elif (newer := _newer(log, path)) is not None:
            begun += log.read()  # the rest, from before krond switched to the new file
            yield from begun.splitlines(keepends=True)
            begun = b""
            log.close()
            log = newer
        else:
            time.sleep(_POLL_S)


def _newer(log: BinaryIO, path: str) -> BinaryIO | None:
    try:
        now = os.stat(path)  # noqa: PTH116
        here = os.fstat(log.fileno())
        if os.path.samestat(now, here):
            if now.st_size < log.tell():  # it was truncated (copytruncate)
                log.seek(0)
            return None
        # An empty one was created for krond, which still writes to the old one.
        return open(path, "rb") if now.st_size else None  # noqa: PTH123
    except FileNotFoundError:
        return None  # the old one is gone, and the new one does not exist yet


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").rstrip("\n")
