"""`krontab replay`: recompute every decision of a log from its own lines."""

from __future__ import annotations

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from kron.console.parser import Parser, add_format, number_up_to
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, visible
from kron.jobs.source import STANDARD_INPUT
from kron.logs.replay import Counts, Replay, ReplayFinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

DESCRIPTION = """\
Recompute every decision of a log from its own line and compare: the window, the seed and its hash,
the chosen time and everything that follows from them. The log may be text or JSON, plain or gzip.
Lines that are not events and decisions that cannot be recomputed are reported.

Exit code 1 means that a decision differs, or could not be checked."""
EXAMPLES = (
    ("krontab replay /var/log/krond.log", "check a log"),
    ("krontab replay krond.log.1.gz --format json", "for a script"),
    ("journalctl -u krond -o cat | krontab replay -", "check the journal of systemd"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("log", metavar="LOG", help="a log file, or - for standard input")
    parser.add_argument(
        "--most",
        type=number_up_to(1_000_000),
        default=100,
        metavar="N",
        help="how many findings to print; default: 100 (all are counted)",
    )
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    with _opened(arguments.log) as log, Progress(terminal, "replaying", _size(log)) as progress:
        replay = Replay(log, progress=progress.reach)
        found = iter(replay)
        findings = list(islice(found, arguments.most))
        total = len(findings) + sum(1 for _ in found)
    counts = replay.counts
    if arguments.format == "json":
        terminal.print_json(_document(arguments.log, counts, findings, total))
    else:
        for finding in findings:
            terminal.print(f"{visible(arguments.log)}: {finding}")
        if total > len(findings):
            terminal.print(f"... and {total - len(findings):,} more (--most prints more)")
        terminal.print(terminal.styled(_summary(counts), "red" if total else "green"))
    return int(total > 0)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD_INPUT and sys.stdin is None:
        raise KronError(Code.FILE_UNREADABLE, "standard input is closed")
    try:
        with sys.stdin.buffer if path == STANDARD_INPUT else open(path, "rb", 0) as log:  # noqa: PTH123
            yield log
    except FileNotFoundError:
        raise KronError(Code.FILE_MISSING, f"there is no {visible(path)}") from None
    except OSError as error:
        message = f"{visible(path)} cannot be read: {error.strerror or error}"
        raise KronError(Code.FILE_UNREADABLE, message) from None


def _size(log: BinaryIO) -> int:
    """The size of the file; 0 for a pipe."""
    status = os.fstat(log.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _summary(counts: Counts) -> str:
    parts = [
        f"{counts.decisions:,} decisions in {counts.lines:,} lines: {counts.agreed:,} agree",
        f"{counts.mismatched:,} do not",
        f"{counts.unchecked:,} cannot be recomputed",
    ]
    if counts.chosen_mismatched:
        parts.append(f"{counts.chosen_mismatched:,} later lines name another chosen time")
    if counts.unreadable:
        parts.append(f"{counts.unreadable:,} lines are not events")
    return ", ".join(parts)


def _document(
    path: str, counts: Counts, findings: list[ReplayFinding], total: int
) -> dict[str, object]:
    return {
        "schema": "krontab.replay/1",
        "log": path,
        "ok": total == 0,
        "counts": {name: getattr(counts, name) for name in counts._fields},
        "findings": [
            {name: getattr(finding, name) for name in finding._fields} for finding in findings
        ],
        "findings_total": total,
    }
