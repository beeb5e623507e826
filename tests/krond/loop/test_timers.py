"""Timers: done in their order, once, unless cancelled, and gone when there is no more need."""

from __future__ import annotations

from functools import partial

from kron.krond.loop.timers import Backoff, Timers
from kron.waking.clock import Clock


def test_what_is_due_is_done_in_its_order_and_once() -> None:
    timers, done = Timers(Clock()), list[int]()
    for due_ns in (3, 1, 2, 4):
        timers.at(due_ns, partial(done.append, due_ns))
    assert timers.next_ns() == 1
    timers.fire_due(3)
    timers.fire_due(3)
    assert (done, timers.next_ns()) == ([1, 2, 3], 4)


def test_what_a_timer_adds_for_now_is_left_for_the_next_time() -> None:
    timers, done = Timers(Clock()), list[str]()

    def add() -> None:
        timers.at(1, lambda: done.append("later"))

    timers.at(1, add)
    timers.fire_due(1)
    assert done == []
    timers.fire_due(1)
    assert done == ["later"]


def test_one_that_is_cancelled_by_another_that_is_due_too_does_nothing() -> None:
    timers, done = Timers(Clock()), list[int]()
    timers.at(1, timers.at(2, lambda: done.append(2)).cancel)
    last = timers.at(3, lambda: done.append(3))
    timers.fire_due(2)
    assert (done, len(timers), timers.next_ns()) == ([], 1, 3)
    last.cancel()
    last.cancel()
    assert (timers.next_ns(), len(timers)) == (None, 0)


def test_those_that_are_cancelled_are_never_the_most_of_them() -> None:
    timers, done = Timers(Clock()), list[int]()
    timers.at(1, lambda: done.append(1))
    week_ns = 7 * 86_400 * 1_000_000_000
    going_on = [timers.at(week_ns + number, partial(done.append, number)) for number in range(10)]
    for number in range(10_000):
        timers.at(week_ns * 2 + number, partial(done.append, -1)).cancel()
        assert len(timers) <= 23
    for timer in going_on[:5]:
        timer.cancel()
    timers.fire_due(week_ns * 4)
    assert (done, len(timers)) == ([1, *range(5, 10)], 0)


def test_a_back_off_doubles_up_to_the_longest_and_begins_again_after_a_success() -> None:
    backoff = Backoff(1, 6)
    assert [backoff.next_ns() for _ in range(5)] == [1, 2, 4, 6, 6]
    backoff.reset()
    assert backoff.next_ns() == 1
