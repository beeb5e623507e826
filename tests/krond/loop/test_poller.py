"""Waiting: what is ready is told with its callback, and what was removed is never called."""

from __future__ import annotations

import gc
import os
import select
import weakref
from collections.abc import Iterator

import pytest

from kron.krond.loop.poller import Poller

AT_ONCE = 0.0
SOON_S = 5.0  # only a failing test waits as long


@pytest.fixture
def poller() -> Iterator[Poller]:
    made = Poller()
    yield made
    made.close()


class Pipe:
    """A pipe whose callback writes down what it was called with."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.events: list[int] = []

    def watched_by(self, poller: Poller) -> Pipe:
        poller.add(self.reader, select.EPOLLIN, self.events.append)
        return self

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def pipes() -> Iterator[list[Pipe]]:
    made = [Pipe(), Pipe()]
    yield made
    for pipe in made:
        pipe.close()


def call_all(poller: Poller, timeout_s: float | None = AT_ONCE) -> None:
    for callback, events in poller.wait(timeout_s):
        callback(events)


def test_only_what_is_ready_is_called_with_its_events(poller: Poller, pipes: list[Pipe]) -> None:
    quiet, busy = (pipe.watched_by(poller) for pipe in pipes)
    os.write(busy.writer, b"x")
    call_all(poller, None)
    assert (quiet.events, busy.events) == ([], [select.EPOLLIN])


def test_nothing_ready_is_an_empty_list(poller: Poller, pipes: list[Pipe]) -> None:
    pipes[0].watched_by(poller)
    assert poller.wait(AT_ONCE) == []
    assert poller.wait(0.001) == []


def test_a_wait_may_be_longer_than_epoll_can_count(poller: Poller, pipes: list[Pipe]) -> None:
    pipe = pipes[0].watched_by(poller)
    os.write(pipe.writer, b"x")
    call_all(poller, 1e12)
    assert pipe.events == [select.EPOLLIN]


def test_what_is_not_read_is_told_again(poller: Poller, pipes: list[Pipe]) -> None:
    pipe = pipes[0].watched_by(poller)
    os.write(pipe.writer, b"x")
    call_all(poller)
    call_all(poller)
    assert pipe.events == [select.EPOLLIN] * 2


def test_a_callback_may_remove_and_close_one_that_is_ready_too(
    poller: Poller, pipes: list[Pipe]
) -> None:
    called: list[int] = []

    def remove_both(events: int) -> None:
        called.append(events)
        for pipe in pipes:
            poller.remove(pipe.reader)

    for pipe in pipes:
        poller.add(pipe.reader, select.EPOLLIN, remove_both)
        os.write(pipe.writer, b"x")
    ready = poller.wait(SOON_S)
    assert len(ready) == 2
    for callback, events in ready:
        callback(events)
    assert called == [select.EPOLLIN]
    assert len(poller) == 0


def test_a_number_that_is_used_again_gets_no_events_of_the_one_before(
    poller: Poller, pipes: list[Pipe]
) -> None:
    first = pipes[0].watched_by(poller)
    os.write(first.writer, b"x")
    ready = poller.wait(SOON_S)
    poller.remove(first.reader)
    second: list[int] = []
    poller.add(first.reader, select.EPOLLIN, second.append)
    for callback, events in ready:
        callback(events)
    assert (first.events, second) == ([], [])
    call_all(poller)
    assert second == [select.EPOLLIN]


def test_a_mask_can_be_changed_and_a_hang_up_is_told_whatever_it_is(poller: Poller) -> None:
    pipe = Pipe().watched_by(poller)
    os.write(pipe.writer, b"x")
    poller.change(pipe.reader, 0)
    assert poller.wait(AT_ONCE) == []
    os.close(pipe.writer)
    call_all(poller, SOON_S)
    assert pipe.events == [select.EPOLLHUP]
    poller.remove(pipe.reader)
    os.close(pipe.reader)


def test_more_than_one_list_holds_is_told_in_the_next(poller: Poller) -> None:
    ready, writer = os.pipe()
    os.write(writer, b"x")
    copies = [os.dup(ready) for _ in range(1500)]
    seen: set[int] = set()

    def saw(descriptor: int) -> None:
        seen.add(descriptor)
        poller.change(descriptor, 0)

    for copy in copies:
        poller.add(copy, select.EPOLLIN, lambda _, copy=copy: saw(copy))  # type: ignore[misc]
    while pairs := poller.wait(AT_ONCE):
        for callback, events in pairs:
            callback(events)
    assert seen == set(copies)
    for copy in copies:
        poller.remove(copy)
        os.close(copy)
    os.close(ready)
    os.close(writer)


def test_the_same_descriptor_twice_is_refused(poller: Poller, pipes: list[Pipe]) -> None:
    pipe = pipes[0].watched_by(poller)
    with pytest.raises(FileExistsError):
        poller.add(pipe.reader, select.EPOLLIN, print)
    os.write(pipe.writer, b"x")
    call_all(poller)
    assert pipe.events == [select.EPOLLIN]


def test_one_that_was_never_added_cannot_be_removed(poller: Poller) -> None:
    with pytest.raises(KeyError):
        poller.remove(0)


def test_once_closed_nothing_is_called(poller: Poller, pipes: list[Pipe]) -> None:
    pipe = pipes[0].watched_by(poller)
    os.write(pipe.writer, b"x")
    ready = poller.wait(SOON_S)
    poller.close()
    for callback, events in ready:
        callback(events)
    assert pipe.events == []


def test_a_removed_callback_is_free_at_once(poller: Poller, pipes: list[Pipe]) -> None:
    """One is added and removed for every run: they must not wait for the garbage collector."""

    class Callback:
        def __call__(self, events: int) -> None: ...

    callback = Callback()
    gone = weakref.ref(callback)
    gc.disable()
    try:
        poller.add(pipes[0].reader, select.EPOLLIN, callback)
        poller.remove(pipes[0].reader)
        del callback
        assert gone() is None
    finally:
        gc.enable()
