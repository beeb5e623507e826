"""The layout of an output file: all of the output, or its beginning and its end.

A file has one of three layouts:

    all of it               what the run has printed, if that is not more than its limit
    in turn                 the first half | the latest half, written in turn | RING, a line that
                            says where the latest half begins
    in order                the first half | LEFT_OUT, a line that says what is missing | the latest
                            half

A run that prints more than its limit has the second one until it ends, and then the third one. Both
lines have a fixed length. So the layout can be read from the file alone, by whoever finds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kron.core.frozen import Frozen

_LINE = 100
_LEFT_OUT = "\n[krond left out {} bytes of output here]"
_RING = "\n[krond left out {} bytes after byte {}: the rest begins at byte {} and ends before it]"
_IS_LEFT_OUT = re.compile(rb"\n\[krond left out ([0-9]+) bytes of output here\] *\n").fullmatch
_IS_RING = re.compile(
    rb"\n\[krond left out ([0-9]+) bytes after byte ([0-9]+): the rest begins at byte ([0-9]+) "
    rb"and ends before it\] *\n"
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


def read_layout(descriptor: int) -> Layout:
    size = os.fstat(descriptor).st_size
    if match := _IS_RING(_mark(descriptor, size - MARK_BYTES)):
        left_out, head, begin = map(int, match.groups())
        if 0 <= head <= begin < size - MARK_BYTES:
            return Layout(head, left_out, head, size - MARK_BYTES - head, begin - head)
    head = (size - MARK_BYTES) // 2
    if match := _IS_LEFT_OUT(_mark(descriptor, head)):
        at = head + MARK_BYTES
        return Layout(head, int(match[1]), at, size - at, is_final=True)
    return Layout(size, tail_at=size)


def left_out_mark(left_out: int) -> bytes:
    return _padded(_LEFT_OUT.format(left_out))


def ring_mark(left_out: int, head: int, begin: int) -> bytes:
    return _padded(_RING.format(left_out, head, begin))


def _padded(text: str) -> bytes:
    return text.ljust(_LINE).encode() + b"\n"


def _mark(descriptor: int, offset: int) -> bytes:
    return os.pread(descriptor, MARK_BYTES, offset) if offset >= 0 else b""
