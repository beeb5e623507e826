"""Reading kept outputs: which ones a job has, and the bytes of one, in order, as they come."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from kron.core.frozen import Frozen
from kron.krond.output.directory import open_for_reading, opened_directory, outputs_in
from kron.krond.output.layout import left_out_mark, read_layout
from kron.krond.output.names import (
    OutputName,
    directory_name,
    hash_in,
    is_identity_of,
    may_be_directory_of,
)
from kron.krond.state.identities import stored_identities

_CHUNK = 2**16
POLL_S = 0.1
GAP_S = 1.0
"""Longer than it takes until another collector has the file of one that was killed."""


class KeptOutput(Frozen):
    """An output, by its file."""

    path: str
    name: OutputName


def directories_of(path: str, job: str, state_dir: str) -> list[str]:
    """The names of the directories that a job (a name, or <file>:<name>) has or, if the state
    directory does not know it, may have.

    `OSError`: the directory of outputs cannot be read.
    """
    with opened_directory(path) as root:
        names = sorted(name for name in os.listdir(root) if may_be_directory_of(name, job))  # noqa: PTH208
    identities = stored_identities(state_dir, {hash_in(name) for name in names})
    known = {name: identities[hash_in(name)] for name in names if hash_in(name) in identities}
    if exact := [name for name, identity in known.items() if is_identity_of(identity, job)]:
        return exact
    file, _, only = job.rpartition(":")
    return [
        name
        for name in names
        if name not in known and (not file or name == directory_name(job, only))
    ]


def kept_outputs(path: str, directory: str) -> list[KeptOutput]:
    """The outputs in a job's directory, the oldest first; none if it does not exist."""
    found = []
    with (
        suppress(FileNotFoundError),
        opened_directory(path) as root,
        opened_directory(directory, root) as inner,
    ):
        for name in outputs_in(inner):
            if read := OutputName.read(name):
                found.append(KeptOutput(f"{path}/{directory}/{name}", read))
    return found


class KeptOutputs:
    """The outputs of many runs. Each job's directory is read once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._paths: dict[str, dict[str, str]] = {}

    def path_of(self, identity: str, job: str, run_id: str) -> str | None:
        """None: none of this run is kept, or none may be seen."""
        directory = directory_name(identity, job)
        if directory not in self._paths:
            try:
                outputs = kept_outputs(self._path, directory)
            except OSError:
                outputs = []
            self._paths[directory] = {output.name.run_id: output.path for output in outputs}
        return self._paths[directory].get(run_id)


def pieces(output: KeptOutput, is_active: Callable[[], bool] | None = None) -> Iterator[bytes]:
    """The bytes of an output in order and, if `is_active` is given, all that comes until the end.

    `is_active`: whether the run goes on, as far as that can be known.
    """
    with opened_directory(os.path.dirname(output.path)) as directory:  # noqa: PTH120
        descriptor = open_for_reading(os.path.basename(output.path), directory)  # noqa: PTH119
    try:
        reading = _Reading(descriptor, output.name.run_id)
        while is_active is not None and not _is_complete(descriptor, is_active):
            yield from reading.new()
            time.sleep(POLL_S)
        yield from reading.new()
    finally:
        os.close(descriptor)


class _Reading:
    """An open output, and how far it was read."""

    def __init__(self, descriptor: int, run_id: str) -> None:
        self._descriptor = descriptor
        self._run_id = run_id
        self._read = 0

    def new(self) -> Iterator[bytes]:
        """What was not read yet, with a line in the place of what is gone."""
        layout = read_layout(self._descriptor, self._run_id)
        rest = layout.head + layout.left_out
        for offset, length in layout.places(self._read):
            if layout.head <= self._read < rest:
                yield left_out_mark(self._run_id, rest - self._read)
                self._read = rest
            yield from self._range(offset, offset + length)

    def _range(self, start: int, end: int) -> Iterator[bytes]:
        while piece := os.pread(self._descriptor, min(end - start, _CHUNK), start):
            start += len(piece)
            self._read += len(piece)
            yield piece


def _is_complete(descriptor: int, is_active: Callable[[], bool]) -> bool:
    """Whether no collector has the file open, and none will."""
    if is_open(descriptor):
        return False
    goes_on = is_active()
    time.sleep(GAP_S)
    return not goes_on and not is_open(descriptor)


def is_open(descriptor: int) -> bool:
    """Whether a collector has the file open. After one was killed, the next opens it late: with
    the next byte that the run prints."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
