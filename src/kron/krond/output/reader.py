"""Reading kept outputs: which ones a job has, and the bytes of one, in order, as they come."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress

from kron.core.frozen import Frozen
from kron.krond.output.directory import open_for_reading, opened_directory, outputs_in
from kron.krond.output.layout import left_out_mark, read_layout
from kron.krond.output.names import OutputName, directory_name, is_directory_of

_CHUNK = 2**16
POLL_S = 0.1


class KeptOutput(Frozen):
    """An output, by its file."""

    path: str
    name: OutputName


def directories_of(path: str, job: str) -> list[str]:
    """The names of the directories that a job (a name, or <file>:<name>) may have.

    `OSError`: the directory of outputs cannot be read.
    """
    with opened_directory(path) as root:
        return sorted(name for name in os.listdir(root) if is_directory_of(name, job))  # noqa: PTH208


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


def pieces(output: KeptOutput, *, follow: bool = False) -> Iterator[bytes]:
    """The bytes of an output in order, and with `follow` all that comes, until it is complete."""
    with opened_directory(os.path.dirname(output.path)) as directory:  # noqa: PTH120
        descriptor = open_for_reading(os.path.basename(output.path), directory)  # noqa: PTH119
    try:
        reading = _Reading(descriptor, output.name.run_id)
        while follow and not _is_complete(descriptor):
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


def _is_complete(descriptor: int) -> bool:
    """Whether no collector has the file open any more."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
