"""The handover: what a krond that executes a new program of itself leaves to it.

The process stays, and with it its children and its open files: the locks, the control socket and
its clients, the pipes of captured outputs. What the state on disk does not say about them is
written to a file in memory, whose number is in the environment.

Another version reads this. `FORMAT` changes with the meaning of a field; the new program is asked
beforehand whether it knows the format (`krond start --check-upgrade`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, MutableMapping, Sequence

from kron.core.frozen import Frozen

FORMAT = 1
CHECK = "--check-upgrade"
"""The option with which `krond start` only says whether it could go on. It is not in the help."""
VARIABLE = "KROND_HANDOVER"
"""Its value: the descriptor of the file, and the process that it is meant for."""


class HeldCapture(Frozen):
    """The output of a run: what `wire` sends to a collector, and the descriptors."""

    packet: str
    descriptors: Sequence[int]
    is_over: bool
    """The run has ended."""


class HeldCollector(Frozen):
    pid: int
    ends: Sequence[int]
    """Both ends of its connection: krond's and its own."""
    captures: Sequence[HeldCapture]


class HeldRun(Frozen):
    pid: int
    began_ns: int
    """By the monotonic clock, which an exec does not change."""
    stopped_for: str
    """Why krond asked it to end; '' if it did not."""


class Handover(Frozen):
    version: str
    """Of the krond before."""
    awake_s: int
    """Until when that one has dealt with what was due, by the wall clock."""
    since_ns: int
    """The same by the monotonic clock."""
    open_files: tuple[int, int]
    """The limit for runs: krond has raised its own."""
    state_dir: int
    """The descriptor of the state directory, which is locked."""
    state_lock: int
    pid_file: int
    """That of `--pid-file`; -1 without one."""
    control: int
    clients: Sequence[tuple[int, str]]
    """Connections, each with what its client waits for; '' for nothing."""
    runs: dict[str, HeldRun]
    """By run id."""
    collectors: Sequence[HeldCollector]
    unsent: Sequence[HeldCapture]
    """The outputs that no collector has yet."""
    helpers: Sequence[int]
    """The other children, which only have to be reaped when they end."""

    def descriptors(self) -> Iterator[int]:
        """All that the new program needs."""
        yield from (self.state_dir, self.state_lock, self.control)
        if self.pid_file >= 0:
            yield self.pid_file
        for descriptor, _ in self.clients:
            yield descriptor
        held = list(self.unsent)
        for collector in self.collectors:
            yield from collector.ends
            held += collector.captures
        for capture in held:
            yield from capture.descriptors

    def packed(self) -> bytes:
        fields = dict(zip(self._fields, self._values(), strict=True))
        return json.dumps(fields, default=_row).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Handover:
        found = json.loads(data)
        found["open_files"] = tuple(found["open_files"])
        found["runs"] = {run_id: HeldRun(*run) for run_id, run in found["runs"].items()}
        found["collectors"] = [
            HeldCollector(pid, ends, [HeldCapture(*each) for each in captures])
            for pid, ends, captures in found["collectors"]
        ]
        found["unsent"] = [HeldCapture(*each) for each in found["unsent"]]
        return cls(**found)

    def put(self) -> tuple[str, int]:
        """Write it to a file in memory: the value of `VARIABLE`, and the descriptor to close."""
        descriptor = os.memfd_create("krond-handover", os.MFD_CLOEXEC)
        with open(os.dup(descriptor), "wb") as file:  # noqa: PTH123
            file.write(self.packed())
        return f"{descriptor} {os.getpid()}", descriptor

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> Handover | None:
        """What this process has left to itself; None at an ordinary start.

        From then on no child inherits any of it.
        """
        words = environment.pop(VARIABLE, "").split()
        if len(words) != 2 or words[1] != str(os.getpid()):
            return None  # a shell may have exported that of another krond
        with open(int(words[0]), "rb") as file:  # noqa: PTH123
            file.seek(0)
            handover = cls.unpacked(file.read())
        for descriptor in handover.descriptors():
            os.set_inheritable(descriptor, False)
        return handover


def _row(value: Frozen) -> list[object]:
    return list(value._values())
