"""What systemd is told: ready, reloading, stopping, still alive.

The protocol of sd_notify: datagrams of NAME=value lines to the socket that NOTIFY_SOCKET names.
Where that is not set nothing is sent, and a systemd that is gone or busy never stops the daemon.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping

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
"""What systemd says to this process; a job that inherited it would answer in krond's name."""

_STATUS_CHARACTERS = 300  # systemd reads at most 4096 bytes, and a person one line
_PATIENCE_S = 1.0  # for what must not get lost: its queue holds ten messages only


class Notifier:
    """Tells systemd, if there is one that wants to know."""

    def __init__(self, address: bytes = b"", interval_ns: int | None = None) -> None:
        self._address = address
        self.interval_ns = interval_ns
        """How often to call `watchdog`, half of what systemd demands; None: not at all."""

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Notifier:
        """What `environment` asks for. The names that ask are removed from it."""
        asked = {name: environment.pop(name, "") for name in NAMES}
        address = _address(asked["NOTIFY_SOCKET"])
        is_ours = asked["WATCHDOG_PID"] in ("", str(os.getpid()))
        is_wanted = bool(address) and is_ours
        return cls(address, _half_ns(asked["WATCHDOG_USEC"]) if is_wanted else None)

    def ready(self, status: str) -> None:
        """Start-up or reload is done."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}", _PATIENCE_S)

    def reloading(self) -> None:
        """Reload begins; it ends with `ready`."""
        # systemd compares this time with that of its own request (Type=notify-reload).
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now_us}", _PATIENCE_S)

    def stopping(self) -> None:
        """Shutdown begins."""
        self._send("STOPPING=1", _PATIENCE_S)

    def watchdog(self) -> None:
        """Still alive."""
        self._send("WATCHDOG=1", 0)

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={_one_line(text)}", 0)

    def _send(self, message: str, patience_s: float) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.settimeout(patience_s)
                channel.sendto(message.encode(), self._address)
        except OSError:
            pass  # gone, full, or out of descriptors: no reason not to run jobs


def _address(text: str) -> bytes:
    """A path, or an abstract name that is written with an @; another kind is none of ours."""
    if text.startswith("@"):
        return b"\0" + os.fsencode(text[1:])
    return os.fsencode(text) if text.startswith("/") else b""


def _half_ns(microseconds: str) -> int | None:
    is_number = microseconds.isascii() and microseconds.isdigit() and len(microseconds) <= 20
    return int(microseconds) * 1000 // 2 or None if is_number else None


def _one_line(text: str) -> str:
    """Escaped: a line break would begin an assignment of its own."""
    return visible(text[:_STATUS_CHARACTERS])
