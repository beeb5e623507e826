"""Signals arrive as numbers on a descriptor, and everything is put back afterwards."""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.krond.loop.signals import Signals

SOON_S = 5.0  # only a failing test waits as long
HEARD = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT)


@pytest.fixture
def signals() -> Iterator[Signals]:
    made = Signals(HEARD)
    yield made
    made.restore()


def in_a_child(body: Callable[[], None]) -> int:
    """Run `body` in a fork: the wait status, 0 if it returned."""
    pid = os.fork()
    if pid == 0:
        try:
            body()
            os._exit(0)
        finally:
            os._exit(99)
    return os.waitpid(pid, 0)[1]


def test_a_signal_wakes_whoever_waits(signals: Signals) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    assert select.select([signals], [], [], SOON_S)[0] == [signals]
    assert signals.read() == [signal.SIGTERM]


def test_they_come_in_their_order_each_once(signals: Signals) -> None:
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
        os.kill(os.getpid(), number)
    assert signals.read() == [signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM]
    os.kill(os.getpid(), signal.SIGTERM)
    assert signals.read() == [signal.SIGTERM]


def test_nothing_to_read_is_an_empty_list(signals: Signals) -> None:
    assert signals.read() == []
    assert select.select([signals], [], [], 0)[0] == []


def test_an_interrupt_interrupts_nothing(signals: Signals) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    assert signals.read() == [signal.SIGINT]


def test_epoll_is_woken_although_python_tries_again(signals: Signals) -> None:
    # epoll_wait is interrupted, the handler does nothing, Python waits anew: the descriptor
    # must end that wait.
    with select.epoll() as poller:
        poller.register(signals.fileno(), select.EPOLLIN)
        child = os.fork()
        if child == 0:
            os.kill(os.getppid(), signal.SIGUSR1)
            os._exit(0)
        assert poller.poll(SOON_S) == [(signals.fileno(), select.EPOLLIN)]
        os.waitpid(child, 0)
    assert signals.read() == [signal.SIGUSR1]


def test_a_signal_that_somebody_else_handles_is_not_ours(signals: Signals) -> None:
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        os.kill(os.getpid(), signal.SIGUSR2)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert signals.read() == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_flood_neither_blocks_nor_warns(signals: Signals) -> None:
    holds = fcntl.fcntl(signals.fileno(), fcntl.F_SETPIPE_SZ, os.sysconf("SC_PAGE_SIZE"))
    for _ in range(2 * holds):
        signal.raise_signal(signal.SIGUSR1)
    assert signals.read() == [signal.SIGUSR1]
    assert signals.read() == []
    os.kill(os.getpid(), signal.SIGTERM)
    assert signals.read() == [signal.SIGTERM]


def test_everything_is_put_back() -> None:
    def state() -> tuple[object, ...]:
        descriptor = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(descriptor)
        handlers = [signal.getsignal(number) for number in (*HEARD, signal.SIGCHLD)]
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return descriptor, handlers, mask, sorted(Path("/proc/self/fd").iterdir())

    before = state()
    signals = Signals(HEARD)
    assert state() != before
    signals.restore()
    assert state() == before


def test_after_restoring_a_signal_does_what_it_did() -> None:
    def body() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signals = Signals(HEARD)
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.read() == [signal.SIGTERM]
        signals.restore()
        os.kill(os.getpid(), signal.SIGTERM)

    assert os.WTERMSIG(in_a_child(body)) == signal.SIGTERM


def test_signals_that_the_starter_blocked_are_heard() -> None:
    def body() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        os.kill(os.getpid(), signal.SIGHUP)
        signals = Signals(HEARD)
        assert signals.read() == [signal.SIGHUP]
        signals.restore()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) >= set(HEARD)

    assert in_a_child(body) == 0


def test_a_starter_that_ignores_sigchld_does_not_take_exit_codes_away() -> None:
    def body() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signals = Signals(HEARD)
        child = os.fork()
        if child == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        signals.restore()
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN

    assert in_a_child(body) == 0


def test_its_descriptors_are_not_inherited(signals: Signals) -> None:
    assert not os.get_inheritable(signals.fileno())
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    assert not os.get_inheritable(descriptor)
