"""Descriptors: what a child is to have of krond's, which is 0, 1 and 2, and nothing else.

Nothing is closed here. Everything else is marked close-on-exec, so that a child holds krond's lock
on the state directory up to the moment in which its program begins, and not beyond it.
"""

from __future__ import annotations

import fcntl
import os

from kron.krond.process.failure import NotStarted, Stage
from kron.krond.process.kernel import mark_close_on_exec

_FIRST = 3


class _Sealing:
    """Whether what krond was started with has been marked one by one, on an old kernel."""

    done = False


def seal() -> None:
    """Mark every descriptor but 0, 1 and 2 close-on-exec, whoever opened it."""
    if mark_close_on_exec(_FIRST) or _Sealing.done:
        return
    # What Python opens is marked from the start; what krond was started with need not be.
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        if descriptor >= _FIRST:
            try:
                os.set_inheritable(descriptor, False)
            except OSError:
                continue  # the listing's own, closed by now
    _Sealing.done = True


class Sources:
    """The descriptors that become 0, 1 and 2, as copies above those three where need be.

    So none is overwritten before it is copied, whatever the order: stdout may be 2 and stderr 1.
    As it is stays what is in its place already and is not marked close-on-exec: krond's own output.
    """

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self.of: tuple[int, ...] = (stdin, stdout, stderr)
        self._copies: list[int] = []
        try:
            # A closed one fails before its number is reused.
            stay = [os.get_inheritable(descriptor) for descriptor in self.of]
            stay[0] = False  # there the proof is made
            if any(
                source < _FIRST and not (source == target and stay[target])
                for target, source in enumerate(self.of)
            ):
                self.of = tuple(map(self._lifted, self.of))
        except OSError as error:
            self.close()
            raise NotStarted(Stage.DESCRIPTORS, error.errno or 0) from None

    def _lifted(self, descriptor: int) -> int:
        if descriptor >= _FIRST:
            return descriptor
        copy = lifted(descriptor)
        self._copies.append(copy)
        return copy

    def close(self) -> None:
        """Close the copies."""
        for copy in self._copies:
            os.close(copy)
        self._copies.clear()


def lifted(descriptor: int) -> int:
    """A copy of a descriptor above 0, 1 and 2, close-on-exec."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST)
