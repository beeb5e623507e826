"""Sinks: where the collector puts what runs print. None of them raises, and none makes a run fail.

A sink gets the chance to take something from a pipe each time that the pipe has something. What it
cannot keep it drops and counts, and reports in the end.
"""

from __future__ import annotations

import fcntl
import os
from abc import ABC, abstractmethod

from kron.krond.output.capped_file import CHUNK, CappedFile
from kron.krond.output.directory import made_directory, open_for_writing
from kron.krond.output.wire import Closed, Delivery


class SinkBase(ABC):
    waits_on = -1
    """A descriptor that must be writable before the sink can take more; -1 if it can."""

    @abstractmethod
    def take(self, pipe: int) -> None:
        """Take some of what the pipe has; it has something."""

    @abstractmethod
    def finish(self) -> str:
        """Nothing more comes. Returns what was lost, for the log, or ''."""

    def go_on(self) -> None:
        """What it waits on is writable."""
        self.waits_on = -1


class RunFile(SinkBase):
    """The file of a run, made with its first byte: a run that prints nothing has none.

    Both streams of a run may share it.
    """

    def __init__(self, path: str, delivery: Delivery) -> None:
        self.users = 0
        """How many pipes lead to it."""
        self.flows = 0
        """How many pipes of its run there are, wherever they lead."""
        self._path = path
        self._delivery = delivery
        self._file: CappedFile | None = None
        self._error = ""
        self._dropped = 0
        self.closed = Closed(delivery.run_id, "")
        """What krond wants to know, after `finish`."""

    @property
    def is_made(self) -> bool:
        return self._file is not None

    def take(self, pipe: int) -> None:
        if self._file is None:
            try:
                self._file = self._opened()
            except OSError as error:  # there may be room for it next time
                self._error = error.strerror or str(error)
                self._dropped += len(os.read(pipe, CHUNK))
                return
        self._file.take(pipe)

    def finish(self) -> str:
        where = f"{self._path}/{self._delivery.directory}/{self._delivery.file}"
        if self._file is not None:
            total, tail = self._file.finish(self._delivery.tail)
            self.closed = self.closed.replace(path=where, total=total, tail=tail)
            if self._file.lost:
                self._dropped += self._file.lost
                self._error = os.strerror(self._file.error)
        if not self._dropped:
            return ""
        return f"{self._dropped} bytes of its output are not in {where}: {self._error}"

    def _opened(self) -> CappedFile:
        with made_directory(self._path, self._delivery.directory) as directory:
            descriptor = open_for_writing(self._delivery.file, directory)
        # Until it is closed, so that it is known that more may come.
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return CappedFile(descriptor, self._delivery.run_id, self._delivery.limit)


class Relay(SinkBase):
    """A file that is open already. The run only gets a pipe, so that it can only append."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._dropped = 0
        self._error = 0

    def take(self, pipe: int) -> None:
        data = os.read(pipe, CHUNK)
        try:
            while data:
                data = data[os.write(self._target, data) :]
        except OSError as error:
            self._dropped += len(data)
            self._error = error.errno or 0

    def finish(self) -> str:
        os.close(self._target)
        if not self._dropped:
            return ""
        return (
            f"{self._dropped} bytes of its output could not be written: {os.strerror(self._error)}"
        )


class Nowhere(SinkBase):
    """For the rest of an output whose sink has failed."""

    def take(self, pipe: int) -> None:
        os.read(pipe, CHUNK)

    def finish(self) -> str:
        return ""
