"""Tails: the ends of the outputs of runs, for notices.

The collector reports them, so krond does not wait for a file. It reads the file of a run that it
did not start itself, whose collector serves another krond, and of one whose end is not reported in
time.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kron.jobs.task import Destination, Task
from kron.krond.configuration.settings import OutputSettings
from kron.krond.output.directory import open_for_reading, opened_directory
from kron.krond.output.layout import read_tail
from kron.krond.output.names import directory_name
from kron.krond.output.reader import is_open, kept_outputs
from kron.krond.output.wire import UNKNOWN, Closed

HOOK_BYTES = 10_000
MAIL_BYTES = 32_000


def wanted_tail(task: Task) -> int:
    """How much of the end of its outputs a job's notices need."""
    if task.hooks is None or not task.hooks.wants_output:
        return 0
    return MAIL_BYTES if task.hooks.mail else HOOK_BYTES


class Tail:
    """The end of an output that krond has asked the collector for."""

    __slots__ = ("closed", "on_closed")

    def __init__(self) -> None:
        self.closed: Closed | None = None
        """None: the output is not complete."""
        self.on_closed: Callable[[], None] | None = None


class Tails:
    def __init__(self, settings: OutputSettings) -> None:
        self._settings = settings
        self._awaited: dict[str, Tail] = {}
        """By run id, until the end of the run and that of its output are known."""

    def expect(self, run_id: str) -> None:
        """A run has started, and the collector will report the end of its output."""
        self._awaited[run_id] = Tail()

    def closed(self, report: Closed) -> None:
        tail = self._awaited.get(report.run_id)
        if tail is not None:
            tail.closed = report
            if tail.on_closed is not None:
                del self._awaited[report.run_id]
                tail.on_closed()

    def awaited(self, run_id: str) -> Tail | None:
        """That of a run which has ended; None if the collector reports nothing of it."""
        tail = self._awaited.get(run_id)
        if tail is not None and tail.closed is not None:
            del self._awaited[run_id]
        return tail

    def is_silent(self, run_id: str) -> bool:
        """Whether a run is known to have printed nothing."""
        tail = self._awaited.get(run_id)
        return tail is not None and tail.closed is not None and not tail.closed.total

    def forget(self, run_id: str) -> None:
        """Nobody wants to know any more."""
        self._awaited.pop(run_id, None)

    def are_kept(self, task: Task) -> bool:
        """Whether the output of a run of this task is kept, or a part of it."""
        resolved = [self._settings.resolved(each, task) for each in (task.stdout, task.stderr)]
        return any(each.destination is Destination.KEEP for each in resolved)

    def in_file(
        self, identity: str, job: str, run_id: str, task: Task, *, as_it_is: bool
    ) -> Closed | None:
        """That of a run of which the collector reports nothing here; None: not complete yet.

        `as_it_is`: then what is there of it.
        """
        try:
            outputs = kept_outputs(self._settings.directory, directory_name(identity, job))
            for output in outputs:
                if output.name.run_id == run_id:
                    return _read(output.path, run_id, wanted_tail(task), as_it_is=as_it_is)
        except OSError:
            return Closed(run_id, "", UNKNOWN)
        return Closed(run_id, "")


def _read(path: str, run_id: str, wanted: int, *, as_it_is: bool) -> Closed | None:
    with opened_directory(os.path.dirname(path)) as directory:  # noqa: PTH120
        descriptor = open_for_reading(os.path.basename(path), directory)  # noqa: PTH119
    try:
        is_complete = not is_open(descriptor)
        if not is_complete and not as_it_is:
            return None
        return Closed(run_id, path, *read_tail(descriptor, run_id, wanted), is_complete)
    finally:
        os.close(descriptor)
