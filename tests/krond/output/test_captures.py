"""Captures with a real collector, and with a clock and a loop that only the test moves."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from errno import EAGAIN, ENOBUFS
from pathlib import Path

import pytest

from kron.krond.output.captures import FIRST_RETRY_NS, LONGEST_RETRY_NS, Capture, Captures
from kron.krond.output.wire import Delivery, Sink, Stream
from kron.krond.poller import Poller
from kron.krond.process.processes import Processes
from kron.krond.settings import OutputSettings
from kron.krond.state.record import Ended
from kron.krond.timers import Timers
from kron.logs.journal import Journal
from kron.testing.clock import FakeClock
from tests.krond.children import children_of
from tests.logbook import Logbook, wait_for


class Loop(Logbook):
    def __init__(self, directory: Path) -> None:
        self.log = directory / "krond.log"
        self.outputs = directory / "outputs"
        self.clock = FakeClock("2026-03-01T02:00:00Z")
        self.timers = Timers()
        self.poller = Poller()
        journal = Journal(self.clock, str(self.log))
        rest = (journal, self.clock, self.timers, self.poller, Processes())
        self.before = children_of(os.getpid())
        self.added: list[str] = []
        self.captures = Captures(OutputSettings(str(self.outputs)), *rest)

    def add(self, name: str) -> None:
        """Have the output of a run collected that has printed its name, and has ended."""
        reading, writing = os.pipe()
        os.write(writing, name.encode())
        os.close(writing)
        delivery = Delivery("", name, name, "", name, f"{name}.log", 2**20, (Stream(Sink.FILE),))
        self.added.append(name)
        self.captures.add(Capture(delivery, [reading]))

    def turn(self) -> None:
        for callback, events in self.poller.wait(0):
            callback(events)
        self.timers.fire_due(self.clock.monotonic_ns())

    def delay_ns(self) -> int:
        """How long until the next try."""
        due_ns = self.timers.next_ns()
        assert due_ns is not None
        return due_ns - self.clock.monotonic_ns()

    def collectors(self) -> list[int]:
        return [pid for pid in children_of(os.getpid()) if pid not in self.before]

    def end(self) -> None:
        for name in self.added:
            self.captures.run_ended(Ended(None, None, "executed", "", run_id=name))
        for pid in self.collectors():
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.turn()
        self.poller.close()

    def wait_until_kept(self, *names: str) -> None:
        def is_kept() -> bool:
            self.clock.advance(0.01)
            self.turn()
            paths = [self.outputs / name / f"{name}.log" for name in names]
            return all(path.exists() and path.read_text() for path in paths)

        wait_for(is_kept, f"{names} are kept")


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    made = Loop(tmp_path)
    yield made
    made.end()


def test_a_packet_that_was_sent_ends_the_back_off(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.add("first")
    loop.wait_until_kept("first")
    loop.clock.advance(LONGEST_RETRY_NS / 1e9)
    names = ["second", "third", "fourth"]
    for name in names:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "send_fds", failing(ENOBUFS))
            loop.add(name)
            assert loop.delay_ns() == FIRST_RETRY_NS
        loop.clock.advance(FIRST_RETRY_NS / 1e9)
        loop.turn()
        assert loop.timers.next_ns() is None, "it is sent"
    loop.wait_until_kept(*names)


def test_a_collector_that_dies_with_packets_unread_costs_no_output(loop: Loop) -> None:
    loop.add("first")
    loop.wait_until_kept("first")
    (collector,) = loop.collectors()
    (loop.outputs / "lost").touch()
    loop.add("lost")
    wait_for(lambda: loop.poller.wait(0), "the report of its loss")
    os.kill(collector, signal.SIGSTOP)
    loop.add("unread")
    os.kill(collector, signal.SIGKILL)
    os.waitid(os.P_PID, collector, os.WEXITED | os.WNOWAIT)
    loop.add("vain")
    loop.wait_until_kept("unread", "vain")
    lost, killed = loop.events("error")
    assert "run lost: 4 bytes" in str(lost["error"])
    assert "was killed or is broken; it had 3 active runs" in str(killed["error"])


def test_krond_sleeps_until_the_next_try_although_the_collector_has_room(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.add("first")
    loop.wait_until_kept("first")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "send_fds", failing(EAGAIN))
        loop.add("later")
        patch.setattr(socket, "send_fds", failing(ENOBUFS))
        assert loop.poller.wait(0), "there is room"
        loop.turn()
        assert loop.poller.wait(0) == []
    loop.wait_until_kept("later")


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
