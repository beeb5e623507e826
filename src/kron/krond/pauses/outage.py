"""An outage of the disk: the state cannot be written, so nothing may start.

From the first write that failed until everything is written, krond tries again ever less often.
"""

from __future__ import annotations

import errno

from kron.core.duration import SECOND_NS
from kron.krond.host import Host
from kron.krond.loop.timers import Backoff
from kron.krond.pauses.pause import Pause
from kron.krond.state.writeback import WriteBack

FIRST_RETRY_NS = SECOND_NS
LONGEST_RETRY_NS = 60 * SECOND_NS
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Outage:
    def __init__(self, host: Host, writeback: WriteBack, pause: Pause) -> None:
        self.pause = pause
        self._host = host
        self._writeback = writeback
        self._backoff = Backoff(FIRST_RETRY_NS, LONGEST_RETRY_NS)
        self._resumed_ns = -LONGEST_RETRY_NS

    def look(self) -> None:
        """Begin to retry, if a write has failed since the last look."""
        failure = self._writeback.failure
        if failure is None or self.pause.is_on:
            return
        if failure.errno in _NO_ROOM:
            self._save_with_ballast()
        self.pause.begin(str(failure))
        if self._host.clock.monotonic_ns() - self._resumed_ns > LONGEST_RETRY_NS:
            self._backoff.reset()
        self._host.timers.after(self._backoff.next_ns(), self._retry)

    def _retry(self) -> None:
        """Go on if everything can be written beside the ballast: then there is room again."""
        ballast, writeback = self._host.store.ballast, self._writeback
        if ballast.take() and writeback.write_all() and writeback.rehearse():
            self._resumed_ns = self._host.clock.monotonic_ns()
            writeback.resume()
            self.pause.end()
        else:
            self._save_with_ballast()
            self._host.timers.after(self._backoff.next_ns(), self._retry)

    def _save_with_ballast(self) -> None:
        """What has ended until now may fit into the room that the ballast gives."""
        if self._host.store.ballast.drop():
            self._writeback.write_all()
