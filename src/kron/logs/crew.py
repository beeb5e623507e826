"""Worker processes for a long log: each checks every so manieth piece, results come in order.

The workers are programs of their own that speak through their standard streams, not forks: a
fork of a process with threads may hang. They are in another process group, so that Ctrl-C reaches
only the one who asked; and they end when their input does, however that came about.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

from kron.core.errors import Problem
from kron.logs.check import Checked, Checker

Piece = tuple[int, bytes | Problem]

_PIPE_BYTES = 1024 * 1024  # what an ordinary user may ask for: a piece fits in
_PROGRAM = "import sys; sys.path[:] = {!r}; from kron.logs.crew import serve; serve()"


class Crew:
    """Some workers, which are starting up when this returns. Whoever has one must dismiss it."""

    __slots__ = ("_workers",)

    def __init__(self, size: int) -> None:
        self._workers: list[_Worker] = []
        try:
            for _ in range(size):
                self._workers.append(_Worker())
        except BaseException:
            self.dismiss()
            raise

    def checked(self, pieces: Iterator[Piece]) -> Iterator[Checked]:
        """What each piece holds, in order. `ChildProcessError` if a worker dies."""
        size = len(self._workers)
        turns = 0
        # A worker has one piece at a time: it is listening when it is sent another, so that
        # neither side ever waits for the other to read. The next piece is ready by then.
        for piece in pieces:
            worker = self._workers[turns % size]
            result = worker.result() if turns >= size else None
            worker.send(piece)
            turns += 1
            if result is not None:
                yield result
        for turn in range(max(0, turns - size), turns):
            yield self._workers[turn % size].result()

    def dismiss(self) -> None:
        """End the workers, whatever they are at."""
        for worker in self._workers:
            worker.dismiss()
        self._workers.clear()


class _Worker:
    """A process that answers each piece with what it holds."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (this very interpreter, no input)
            [sys.executable, "-c", _PROGRAM.format(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=_PIPE_BYTES,
            process_group=0,
        )

    def send(self, piece: Piece) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(piece, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise _died() from None

    def result(self) -> Checked:
        assert self._process.stdout is not None
        try:
            result = pickle.load(self._process.stdout)  # noqa: S301 (from a process of ours)
        except (EOFError, pickle.UnpicklingError):
            raise _died() from None
        assert isinstance(result, Checked)
        return result

    def dismiss(self) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # half a piece may still have been to be sent
                stream.close()
        self._process.wait()


def serve() -> None:
    """The program of a worker: it ends when there is nobody left to ask it or to hear it."""
    checker = Checker()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            piece = pickle.load(source)  # noqa: S301 (from the process that started this one)
            pickle.dump(checker.check(*piece), sink, pickle.HIGHEST_PROTOCOL)
            sink.flush()
        except (EOFError, pickle.UnpicklingError, BrokenPipeError):
            os._exit(0)  # without another attempt to flush what nobody reads


def _died() -> ChildProcessError:
    return ChildProcessError("a process that was checking a part of the log has died")
