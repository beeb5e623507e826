"""Captures with a real collector, and with a clock and a loop that only the test moves."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from errno import EAGAIN, ENOBUFS
from pathlib import Path

import pytest

from kron.core.duration import SECOND_NS
from kron.krond.configuration.settings import OutputSettings
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timers
from kron.krond.output import captures
from kron.krond.output.captures import (
    FIRST_RETRY_NS,
    LONGEST_RETRY_NS,
    PATIENCE_NS,
    Capture,
    Captures,
)
from kron.krond.output.wire import Delivery, Sink, Stream
from kron.krond.process.processes import Processes
from kron.krond.state.record import Ended
from kron.logs.journal import Journal
from kron.testing.clock import FakeClock
from tests.krond.children import children_of
from tests.logbook import Logbook, wait_for

PATIENCE_S = PATIENCE_NS / SECOND_NS


class Loop(Logbook):
    def __init__(self, directory: Path) -> None:
        self.log = directory / "krond.log"
        self.outputs = directory / "outputs"
        self.clock = FakeClock("2026-03-01T02:00:00Z")
        self.timers = Timers(self.clock)
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
        """How long until something is due."""
        due_ns = self.timers.next_ns()
        return sys.maxsize if due_ns is None else due_ns - self.clock.monotonic_ns()

    def go_on(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.turn()

    def stop_collector(self) -> int:
        """Stop the newest one: its pid."""
        newest = max(self.collectors())
        os.kill(newest, signal.SIGSTOP)
        return newest

    def collectors(self) -> list[int]:
        return [pid for pid in children_of(os.getpid()) if pid not in self.before]

    def end(self) -> None:
        for name in self.added:
            self.end_run(name)
        for pid in self.collectors():
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.turn()
        self.poller.close()

    def end_run(self, name: str) -> None:
        self.captures.run_ended(Ended(None, None, "executed", "", run_id=name))

    def wait_until_gone(self, pid: int) -> None:
        def is_gone() -> bool:
            self.turn()
            return pid not in self.collectors()

        wait_for(is_gone, f"{pid} is gone")

    def wait_until_kept(self, *names: str) -> None:
        def is_kept() -> bool:
            self.clock.advance(0.01)
            self.turn()
            paths = [self.outputs / name / f"{name}.log" for name in names]
            return all(path.exists() and path.read_text() == path.stem for path in paths)

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
    loop.go_on(LONGEST_RETRY_NS / SECOND_NS)
    names = ["second", "third", "fourth"]
    for name in names:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "send_fds", failing(ENOBUFS))
            loop.add(name)
            assert loop.delay_ns() == FIRST_RETRY_NS
        loop.go_on(FIRST_RETRY_NS / SECOND_NS)
        assert loop.delay_ns() > SECOND_NS, "it is sent, and no try is due"
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
    assert "was killed or is broken; it had 4 active runs" in str(killed["error"])


def test_a_packet_that_is_not_taken_for_ten_seconds_goes_to_another_collector(loop: Loop) -> None:
    loop.add("first")
    loop.wait_until_kept("first")
    loop.go_on(PATIENCE_S)
    assert loop.timers.next_ns() is None, "all is taken, so nothing is due"
    stopped = loop.stop_collector()
    names = ["waits", "over"]
    for name in names:
        loop.add(name)
    loop.end_run("over")
    loop.go_on(PATIENCE_S - 0.1)
    assert loop.collectors() == [stopped]
    loop.go_on(0.1)
    loop.wait_until_kept(*names)
    os.kill(stopped, signal.SIGCONT)
    loop.end_run("first")
    loop.wait_until_gone(stopped)
    loop.wait_until_kept(*names)
    (error,) = loop.events("error")
    assert "does not answer" in str(error["error"])


def test_a_full_socket_costs_no_output_and_keeps_none_twice(loop: Loop) -> None:
    names = [f"job{number}" for number in range(400)]
    loop.add("first")
    loop.wait_until_kept("first")
    stopped = loop.stop_collector()
    for name in names:
        loop.add(name)
        loop.end_run(name)
    loop.go_on(PATIENCE_S)
    assert len(loop.collectors()) == 2
    os.kill(stopped, signal.SIGCONT)
    loop.wait_until_kept(*names)


def test_a_disk_that_answers_no_collector_costs_only_a_few(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "MOST_COLLECTORS", 2)
    loop.add("first")
    loop.wait_until_kept("first")
    stopped = [loop.stop_collector()]
    loop.add("second")
    loop.go_on(PATIENCE_S)
    loop.wait_until_kept("second")
    stopped.append(loop.stop_collector())
    loop.add("third")
    for _ in range(3):
        loop.go_on(PATIENCE_S)
    assert sorted(loop.collectors()) == sorted(stopped)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    loop.wait_until_kept("third")


def test_what_an_ended_run_has_printed_outlives_a_collector_that_has_not_taken_it(
    loop: Loop,
) -> None:
    loop.add("first")
    loop.wait_until_kept("first")
    stopped = loop.stop_collector()
    loop.add("over")
    loop.end_run("over")
    os.kill(stopped, signal.SIGKILL)
    loop.wait_until_kept("over")
    (killed,) = loop.events("error")
    assert "it had 1 active run" in str(killed["error"])
    assert "active runs" not in str(killed["error"])


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
