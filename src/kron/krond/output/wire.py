"""What krond and its collector say to each other: one packet for each run, and reports back.

A packet has the descriptors of its streams with it: of each the pipe to read from, and for a relay
the file to write to as well.
"""

from __future__ import annotations

import json
from enum import StrEnum

from kron.core.frozen import Frozen

LONGEST = 2**16
MOST_DESCRIPTORS = 4
UNKNOWN = -1
"""Instead of a number of bytes."""


class Sink(StrEnum):
    FILE = "file"
    """The file of the run."""
    JOURNAL = "journal"
    RELAY = "relay"
    """A file that krond has open, to append to."""


class Stream(Frozen):
    sink: Sink
    is_error: bool = False
    """For the priority in the journal."""


class Delivery(Frozen):
    """The output of a run: what it is of, and where it goes."""

    namespace: str
    job: str
    """The name of the job, in its namespace as logs have it."""
    run_id: str
    period: str
    """'' for a manual run."""
    directory: str
    """The name of the directory for its job."""
    file: str
    limit: int
    streams: tuple[Stream, ...]
    tail: int = 0
    """How much of its end krond wants to have when it is complete; 0: krond need not know."""

    def packed(self) -> bytes:
        streams = [[stream.sink, stream.is_error] for stream in self.streams]
        job = [self.namespace, self.job, self.run_id, self.period]
        place = [self.directory, self.file, self.limit]
        return json.dumps([*job, *place, streams, self.tail]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Delivery:
        row = json.loads(data)
        row[-2] = tuple(Stream(Sink(sink), is_error) for sink, is_error in row[-2])
        return cls(*row)


class Report(Frozen):
    """What krond has to log about the output of a job, or, without a name, about all of them."""

    text: str
    namespace: str = ""
    name: str = ""
    period: str | None = None

    def packed(self) -> bytes:
        return json.dumps([self.text, self.namespace, self.name, self.period]).encode()


class Closed(Frozen):
    """The file of a run is complete, or krond waits no longer for that."""

    run_id: str
    path: str
    """'' if the run printed nothing, so that it has no file."""
    total: int = 0
    """How much it has printed, or `UNKNOWN`."""
    tail: bytes = b""
    """The end of it."""
    is_complete: bool = True
    """As the collector's reports always are."""

    def packed(self) -> bytes:
        return json.dumps([self.run_id, self.path, self.total]).encode() + b"\n" + self.tail


def unpacked_report(data: bytes) -> Report | Closed:
    head, is_closed, tail = data.partition(b"\n")
    if not is_closed:
        return Report(*json.loads(head))
    run_id, path, total = json.loads(head)
    return Closed(run_id, path, total, tail)
