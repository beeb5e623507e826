"""Pings: krond's side of its pinger, which it starts when it needs it and ends when it is idle."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

from kron.core.duration import SECOND_NS
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timers
from kron.krond.notices.ping import Ping
from kron.krond.notices.wire import LONGEST, Answer, Request, Verdict
from kron.krond.process.failure import NotStarted
from kron.krond.process.processes import Processes
from kron.krond.process.sidecar import spawn_sidecar
from kron.waking.clock import Clock

IDLE_NS = 10 * SECOND_NS
_PINGER = "kron.krond.notices.pinger"
_PROXIES = (b"https_proxy", b"no_proxy")
"""Not http_proxy: what is not encrypted stays on this host."""
_FOR_PINGER = (
    *(b"SSL_CERT_FILE", b"SSL_CERT_DIR", *_PROXIES),
    *(name.upper() for name in _PROXIES),
)

Done = Callable[[Verdict, str], None]


class Pings:
    def __init__(self, clock: Clock, timers: Timers, poller: Poller, processes: Processes) -> None:
        self._clock = clock
        self._timers = timers
        self._poller = poller
        self._processes = processes
        self._asked: dict[int, Done] = {}
        self._number = 0
        self._control: socket.socket | None = None
        self._pid = 0
        self._idle_since_ns = 0

    def send(self, ping: Ping, done: Done) -> int:
        """Send a ping. `done` is called with what came of it, later. Returns its number.

        `OSError` or `NotStarted`: it cannot be sent now.
        """
        control = self._control or self._start()
        self._number += 1
        control.send(Request(self._number, ping.url, ping.body).packed())
        self._asked[self._number] = done
        return self._number

    def give_up(self, number: int) -> None:
        """Wait no longer for this one. The server keeps the pinger busy for ever, so end it: the
        others that it has are tried again."""
        del self._asked[number]
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """krond ends, and waits on nothing any more: the pinger ends with the connection."""
        if self._control is not None:
            self._control.close()

    def _let_go(self) -> None:
        """Let the pinger end. The next ping starts another."""
        if self._control is not None:
            self._poller.remove(self._control.fileno())
            self._control.close()
            self._control = None

    def _start(self) -> socket.socket:
        control, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            control.setblocking(False)
            env = {name: os.environb[name] for name in _FOR_PINGER if name in os.environb}
            self._pid = spawn_sidecar("krond-pinger", _PINGER, control=its_end.fileno(), env=env)
            watched = self._processes.watch(self._pid)
        except (NotStarted, OSError):
            control.close()  # so it ends
            raise
        finally:
            its_end.close()
        pid = self._pid

        def ended(_: int) -> None:
            self._poller.remove(watched)
            os.close(watched)
            self._processes.reap_if_ended(pid)
            if self._control is control:
                self._hear()
                self._let_go()
                asked, self._asked = self._asked, {}
                for done in asked.values():
                    done(Verdict.AGAIN, "krond's pinger was killed or is broken")

        self._poller.add(watched, select.EPOLLIN, ended)
        self._poller.add(control.fileno(), select.EPOLLIN, lambda _: self._hear())
        self._control = control
        return control

    def _hear(self) -> None:
        with suppress(BlockingIOError, ConnectionResetError):
            while self._control is not None and (data := self._control.recv(LONGEST)):
                answer = Answer.unpacked(data)
                if done := self._asked.pop(answer.number, None):
                    if not self._asked:
                        self._idle_since_ns = self._clock.monotonic_ns()
                        self._timers.after(IDLE_NS, self._rest)
                    done(answer.verdict, answer.text)

    def _rest(self) -> None:
        is_idle = self._clock.monotonic_ns() - self._idle_since_ns >= IDLE_NS
        if is_idle and not self._asked:
            self._let_go()
