"""The journal of systemd as a sink: each line of a run is an entry with the fields of the run.

The native protocol: a datagram for each entry, one field a line. A journal that does not keep up
makes the run wait, as it does with every service.
"""

from __future__ import annotations

import os
import socket

from kron.jobs.task import JOURNAL_SOCKET
from kron.krond.output.capped_file import CHUNK
from kron.krond.output.sinks import SinkBase
from kron.krond.output.wire import Delivery

LONGEST_LINE = 48 * 2**10
"""What journald itself keeps in one piece of the output of a service."""
LAST_PATIENCE_S = 0.1
_INFO, _ERROR = 6, 3


class JournalSink(SinkBase):
    """`OSError`: there is no journal."""

    def __init__(self, delivery: Delivery, *, is_error: bool) -> None:
        fields = {
            "PRIORITY": str(_ERROR if is_error else _INFO),
            "SYSLOG_IDENTIFIER": delivery.job,
            "KRON_JOB": delivery.job,
            "KRON_PERIOD": delivery.period,
            "KRON_RUN_ID": delivery.run_id,
        }
        self._fields = "".join(f"{key}={value}\n" for key, value in fields.items() if value)
        self._rest = b""
        self._dropped = 0
        self._error = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.connect(JOURNAL_SOCKET)
        except OSError:
            self._socket.close()
            raise

    def take(self, pipe: int) -> None:
        self._rest += os.read(pipe, CHUNK)
        self._send_lines()

    def go_on(self) -> None:
        self._send_lines()

    def finish(self) -> str:
        self._socket.settimeout(LAST_PATIENCE_S)
        if self._rest:  # a line without an end
            self._send(self._rest)
        self._socket.close()
        if not self._dropped:
            return ""
        return f"{self._dropped} bytes of its output did not get to the journal: {self._error}"

    def _send_lines(self) -> None:
        self.waits_on = -1
        start = 0
        while True:
            end = self._rest.find(b"\n", start, start + LONGEST_LINE)
            if end < 0 and len(self._rest) - start < LONGEST_LINE:
                break
            line = self._rest[start:end] if end >= 0 else self._rest[start : start + LONGEST_LINE]
            if not self._send(line):
                self.waits_on = self._socket.fileno()
                break
            start += len(line) + (end >= 0)
        self._rest = self._rest[start:]

    def _send(self, line: bytes) -> bool:
        """False: the journal has no room now."""
        if not line:
            return True  # as journald does with empty lines
        try:
            self._socket.send(b"%bMESSAGE=%b\n" % (self._fields.encode(), line))
        except BlockingIOError:
            return False
        except OSError as error:
            self._dropped += len(line)
            self._error = error.strerror or str(error)
        return True
