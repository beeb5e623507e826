"""A file that takes what a pipe has, and never takes more than its limit (and one line) on disk.

Bytes go from the pipe to the file within the kernel, so that none is lost if the process that asks
for it is killed in between. What does not fit on the disk is counted and dropped: the run that
prints it must neither wait nor fail. `layout` says what is where in the file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from errno import EINVAL

from kron.krond.output.layout import MARK_BYTES, left_out_mark, read_layout, read_tail, ring_mark

CHUNK = 2**16
"""As much as a pipe holds."""
_LOST = "\n[krond lost {} bytes of output here: {}]\n"


class CappedFile:
    """Goes on where another has stopped, if the file has something in it."""

    def __init__(self, descriptor: int, run_id: str, limit: int) -> None:
        self.lost = 0
        """How many bytes were dropped and are not mentioned in the file."""
        self.error = 0
        """Why, as the kernel's error number."""
        self._descriptor = descriptor
        self._run_id = run_id
        layout = read_layout(descriptor, run_id)
        self._total = layout.total
        self._is_final = layout.is_final
        if layout.tail:  # the limit of the job may have changed since
            limit = layout.head + layout.tail
        self._limit = limit
        self._head = limit // 2
        self._tail = limit - self._head

    def take(self, pipe: int) -> None:
        """Take some of what the pipe has; it must have something."""
        if self._is_final or (self.lost and not self._mention_loss()):
            self.lost += len(os.read(pipe, CHUNK))
            return
        place, room = self._place()
        try:
            taken = os.splice(
                pipe, self._descriptor, room, offset_dst=place, flags=os.SPLICE_F_NONBLOCK
            )
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno == EINVAL:  # the file system cannot do that
                self._copy(pipe)
            else:
                self._lose(len(os.read(pipe, CHUNK)), error)
            return
        self._advance(taken)

    def finish(self, wanted: int = 0) -> tuple[int, bytes]:
        """Put the file into its last form and close it. Returns how much was printed, and the
        `wanted` last bytes of that."""
        tail = b""
        try:
            if self.lost and not self._is_final:
                self._mention_loss()
            if self._total > self._limit and not self._is_final:
                self._put_in_order()
            elif not self._is_final:
                os.ftruncate(self._descriptor, self._total)  # half of a line that did not fit
            tail = read_tail(self._descriptor, self._run_id, wanted)[1] if wanted else b""
        except OSError as error:
            self.error = error.errno or 0
        finally:
            os.close(self._descriptor)
        return self._total, tail

    def _copy(self, pipe: int) -> None:
        data = os.read(pipe, CHUNK)
        try:
            self._write(data)
        except OSError as error:
            self._lose(len(data), error)

    def _lose(self, count: int, error: OSError) -> None:
        self.lost += count
        self.error = error.errno or 0

    def _mention_loss(self) -> bool:
        try:
            self._write(_LOST.format(self.lost, os.strerror(self.error)).encode())
        except OSError:
            return False
        self.lost = 0
        return True

    def _write(self, data: bytes) -> None:
        """Write all of it, or it is as if nothing was written."""
        total = self._total
        try:
            while data:
                place, room = self._place()
                written = os.pwrite(self._descriptor, data[:room], place)
                self._advance(written)
                data = data[written:]
        except OSError:
            self._total = total
            raise

    def _place(self) -> tuple[int, int]:
        """Where the next byte goes, and how many may follow it there."""
        place = self._total
        if place >= self._limit:
            place = self._head + (self._total - self._head) % self._tail
        return place, self._limit - place

    def _advance(self, count: int) -> None:
        self._total += count
        if self._total > self._limit:
            left_out, begin = self._total - self._limit, self._place()[0]
            mark = ring_mark(self._run_id, left_out, self._head, begin)
            with suppress(OSError):  # it only serves readers before the end
                os.pwrite(self._descriptor, mark, self._limit)

    def _put_in_order(self) -> None:
        begin, length = self._place()
        tail = os.pread(self._descriptor, length, begin)
        tail += os.pread(self._descriptor, begin - self._head, self._head)
        left_out = self._total - self._limit
        if os.fstat(self._descriptor).st_size < self._limit + MARK_BYTES:
            # The disk had no room for the line, so that it takes the room of the oldest bytes.
            tail, left_out = tail[MARK_BYTES:], left_out + MARK_BYTES
        data = left_out_mark(self._run_id, left_out) + tail
        place = self._head
        while data:
            written = os.pwrite(self._descriptor, data, place)
            data, place = data[written:], place + written
        os.ftruncate(self._descriptor, place)
