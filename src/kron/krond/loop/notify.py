"""Messages to systemd: ready, reloading, stopping, still alive.

The protocol of sd_notify: datagrams of NAME=value lines to the socket that NOTIFY_SOCKET names.
If it is not set, nothing is sent. A systemd that is gone or busy never blocks the daemon.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress

from kron.core.errors import visible

NAMES = (
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LISTEN_FDNAMES",
)
"""Variables meant for this process: a job that inherited them would answer in krond's name."""

_STATUS_CHARACTERS = 300  # systemd reads at most 4096 bytes, and people read one line
_PATIENCE_S = 1.0  # for messages that must not be lost: its queue holds only ten


class Notifier:
    def __init__(self, address: bytes = b"", interval_ns: int | None = None) -> None:
        self._address = address
        self.interval_ns = interval_ns
        """How often to call `watchdog`: half of systemd's interval; None: never."""

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Notifier:
        """The notifier that `environment` asks for. Removes its variables from `environment`."""
        asked = {name: environment.pop(name, "") for name in NAMES}
        address = _address(asked["NOTIFY_SOCKET"])
        is_ours = asked["WATCHDOG_PID"] in ("", str(os.getpid()))
        return cls(address, _half_ns(asked["WATCHDOG_USEC"]) if address and is_ours else None)

    def ready(self, status: str) -> None:
        # On one line: a line break would begin another assignment.
        self._send(f"READY=1\nSTATUS={visible(status[:_STATUS_CHARACTERS])}", _PATIENCE_S)

    def status(self, status: str) -> None:
        self._send(f"STATUS={visible(status[:_STATUS_CHARACTERS])}", _PATIENCE_S)

    def reloading(self) -> None:
        """Reload begins; it ends with `ready`."""
        # systemd compares this time with that of its own request (Type=notify-reload).
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now_us}", _PATIENCE_S)

    def stopping(self) -> None:
        self._send("STOPPING=1", _PATIENCE_S)

    def watchdog(self) -> None:
        self._send("WATCHDOG=1", 0)

    def _send(self, message: str, patience_s: float) -> None:
        if not self._address:
            return
        # It may be gone or full, or we have no descriptors: jobs must run all the same.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(patience_s)
            channel.sendto(message.encode(), self._address)


def _address(text: str) -> bytes:
    """A path, or an abstract name written with an @; b"" for any other kind."""
    if text.startswith("@"):
        return b"\0" + os.fsencode(text[1:])
    return os.fsencode(text) if text.startswith("/") else b""


def _half_ns(microseconds: str) -> int | None:
    is_number = microseconds.isascii() and microseconds.isdigit() and len(microseconds) <= 20
    return int(microseconds) * 1000 // 2 or None if is_number else None
