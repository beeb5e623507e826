"""Running krontab on a pseudo-terminal, where a person would sit."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import NamedTuple

from tests.krontab.command import PROGRAM, TIME_LIMIT_S, Krontab

PROGRESS_AT_ONCE = """\
import sys
import kron.console.progress as progress
from kron.krontab.program import main
progress._QUIET_S = progress._EVERY_S = 0
sys.exit(main())
"""
"""krontab, with progress that shows itself from the first line on: a test must not be slow."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Seen(NamedTuple):
    """What each stream showed; the one that was a terminal with its line ends undone."""

    code: int
    out: str
    err: str


def on_a_terminal(
    krontab: Krontab,
    *words: str,
    stream: str = "stdout",
    environment: Mapping[str, str] | None = None,
    program: str | None = None,
) -> Seen:
    """Run it with one of its output streams on a terminal and the other in a file."""
    ours, theirs = pty.openpty()
    command = PROGRAM if program is None else (sys.executable, "-c", program)
    with TemporaryFile() as other:
        is_out = stream == "stdout"
        with subprocess.Popen(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs if is_out else other,
            stderr=other if is_out else theirs,
            cwd=krontab.directory,
            env={**krontab.environment, "TERM": "xterm", **(environment or {})},
        ) as process:
            os.close(theirs)
            shown = _all(ours).decode().replace("\r\n", "\n")
            os.close(ours)
            process.wait(TIME_LIMIT_S)
        other.seek(0)
        filed = other.read().decode()
    return Seen(process.returncode, *((shown, filed) if is_out else (filed, shown)))


def without_styles(text: str) -> str:
    """The text as it would be without colour."""
    return _STYLE.sub("", text)


def _all(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:  # the other side is closed
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
