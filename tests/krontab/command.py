"""Running krontab: as a process of its own and, for tables of cases, within this one.

Whatever a test runs, the answer is held to what every answer must be: a documented exit code, no
traceback, and JSON that its published schema allows.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from kron.console.program import INTERRUPTED
from kron.krontab.program import EXIT_CODES, KRONTAB
from tests.krontab.schemas import validate

PROGRAM = (sys.executable, "-m", "kron.krontab")
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
TIME_LIMIT_S = 60
AT = "2026-03-01T00:00:00Z"
"""The moment at which most tests ask."""


class Ran(NamedTuple):
    """What came of a command line."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it is; it is valid already."""
        return json.loads(self.out)

    def fine(self) -> Ran:
        """This, if it went well and nobody complained."""
        assert (self.code, self.err) == (0, ""), self
        return self


class Krontab:
    """The command in a directory of its own, which is also where its home lies."""

    program = KRONTAB
    module = "kron.krontab"

    def __init__(self, directory: Path) -> None:
        self.directory = make_directory(directory / "here")
        self.home = make_directory(directory / "home")
        self.environment = {**ENVIRONMENT, "HOME": str(self.home)}

    def path(self, name: str) -> str:
        """Where a file of this directory lies."""
        return str(self.directory / name)

    def write(self, name: str, text: str | bytes, *, mode: int = 0o644) -> str:
        """Make a file that krond would trust, unless its mode says otherwise; its path."""
        path = self.directory / name
        if not path.parent.exists():
            make_directory(path.parent)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return str(path)

    def read(self, name: str) -> str:
        """What a file holds."""
        return (self.directory / name).read_bytes().decode()

    def process(
        self,
        *words: str | bytes,
        given: str | bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run it as a shell would, in a pipe. `environment` is added to a clean one."""
        ran = subprocess.run(
            [sys.executable, "-m", self.module, *words],
            input=as_bytes(given),
            capture_output=True,
            cwd=self.directory,
            env={**self.environment, **(environment or {})},
            timeout=TIME_LIMIT_S,
            check=False,
        )
        return _checked(Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode()), words)

    def __call__(
        self,
        *words: str,
        given: str | bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run it within this process: the same, and a hundred times as fast."""
        whole = {**self.environment, **(environment or {})}
        with self._place(whole), _streams(as_bytes(given)) as (out, err):
            code = self.program.main(words)
            out.flush()
            err.flush()
            ran = Ran(code, _text(out), _text(err))
        return _checked(ran, words)

    @contextmanager
    def _place(self, environment: Mapping[str, str]) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.directory)
        try:
            with mock.patch.dict(os.environ, environment, clear=True):
                yield
        finally:
            os.chdir(before)


def make_directory(path: Path) -> Path:
    """A directory that krond would trust, whatever the umask."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o755)
    return path


def as_bytes(given: str | bytes) -> bytes:
    """What goes to standard input."""
    return given.encode() if isinstance(given, str) else given


def _checked(ran: Ran, words: tuple[str | bytes, ...]) -> Ran:
    assert ran.code in (*EXIT_CODES, INTERRUPTED), ran
    assert "Traceback" not in ran.err, ran.err
    if ran.out and ("--format", "json") in pairwise(words):
        validate(ran.json)
    return ran


@contextmanager
def _streams(given: bytes) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    stdin = io.TextIOWrapper(io.BytesIO(given))
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    with (
        mock.patch.object(sys, "stdin", stdin),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
    ):
        yield out, err


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
