"""The layout of an output file: all of the output, or its beginning and its end.

A file has one of three layouts:

    all of it               what the run has printed, if that is not more than its limit
    in turn                 the first half | the latest half, written in turn | RING, a line that
                            says where the latest half begins
    in order                the first half | LEFT_OUT, a line that says what is missing | the latest
                            half

A run that prints more than its limit has the second one until it ends, and then the third one. Both
lines have a fixed length, and the id of the run, so that what a run prints is not taken for one by
chance. So any reader can tell the layout from the file alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kron.core.frozen import Frozen

_LINE = 127
"""Room for numbers of up to 16 digits."""
_RUN_ID = 20
"""How much of a run id is in a line."""
_LEFT_OUT = "\n[krond left out {} bytes of run {} here]"
_RING = "\n[krond left out {} bytes of run {} at {}: the rest begins at {}]"
_IS_LEFT_OUT = re.compile(r"\n\[krond left out ([0-9]+) bytes of run (.+) here\] *\n").fullmatch
_IS_RING = re.compile(
    r"\n\[krond left out ([0-9]+) bytes of run (.+) at ([0-9]+): the rest begins at ([0-9]+)\] *\n"
).fullmatch
MARK_BYTES = _LINE + 1


class Layout(Frozen):
    """Where the parts of an output are in its file."""

    head: int
    """How many bytes of the beginning there are."""
    left_out: int = 0
    tail_at: int = 0
    """Where the bytes of the end are in the file."""
    tail: int = 0
    """How many there are."""
    turn: int = 0
    """How many of them, at the begin of their place, came after all others."""
    is_final: bool = False
    """Whether it says what was left out, so that nothing can be added."""

    @property
    def total(self) -> int:
        """How much the run has printed."""
        return self.head + self.left_out + self.tail

    def places(self, start: int) -> Iterator[tuple[int, int]]:
        """Where the kept bytes of the output from number `start` on are: offsets and lengths."""
        if start < self.head:
            yield start, self.head - start
        skip = max(0, start - self.head - self.left_out)
        for offset, length in ((self.turn, self.tail - self.turn), (0, self.turn)):
            if skip < length:
                yield self.tail_at + offset + skip, length - skip
            skip = max(0, skip - length)


def read_layout(descriptor: int, run_id: str) -> Layout:
    size = os.fstat(descriptor).st_size
    match = _IS_RING(_mark(descriptor, size - MARK_BYTES))
    if match and match[2] == run_id[:_RUN_ID]:
        left_out, head, begin = map(int, match.group(1, 3, 4))
        if 0 <= head <= begin < size - MARK_BYTES:
            return Layout(head, left_out, head, size - MARK_BYTES - head, begin - head)
    head = (size - MARK_BYTES) // 2
    match = _IS_LEFT_OUT(_mark(descriptor, head))
    if match and match[2] == run_id[:_RUN_ID]:
        at = head + MARK_BYTES
        return Layout(head, int(match[1]), at, size - at, is_final=True)
    return Layout(size, tail_at=size)


def read_tail(descriptor: int, run_id: str, wanted: int) -> tuple[int, bytes]:
    """How much the run has printed, and the `wanted` last bytes of that, as far as kept."""
    layout = read_layout(descriptor, run_id)
    places = layout.places(max(layout.total - wanted, 0))
    return layout.total, b"".join(os.pread(descriptor, length, at) for at, length in places)


def left_out_mark(run_id: str, left_out: int) -> bytes:
    return _padded(_LEFT_OUT.format(left_out, run_id[:_RUN_ID]))


def ring_mark(run_id: str, left_out: int, head: int, begin: int) -> bytes:
    return _padded(_RING.format(left_out, run_id[:_RUN_ID], head, begin))


def _padded(text: str) -> bytes:
    return text.ljust(_LINE).encode() + b"\n"


def _mark(descriptor: int, offset: int) -> str:
    return os.pread(descriptor, MARK_BYTES, offset).decode("latin-1") if offset >= 0 else ""
