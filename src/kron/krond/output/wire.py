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

    def packed(self) -> bytes:
        streams = [[stream.sink, stream.is_error] for stream in self.streams]
        job = [self.namespace, self.job, self.run_id, self.period]
        return json.dumps([*job, self.directory, self.file, self.limit, streams]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Delivery:
        row = json.loads(data)
        row[-1] = tuple(Stream(Sink(sink), is_error) for sink, is_error in row[-1])
        return cls(*row)


class Report(Frozen):
    """What krond has to log about the output of a job, or, without a name, about all of them."""

    text: str
    namespace: str = ""
    name: str = ""
    period: str | None = None

    def packed(self) -> bytes:
        return json.dumps([self.text, self.namespace, self.name, self.period]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Report:
        return cls(*json.loads(data))
