"""The queue: always the earliest, wherever members are moved."""

from __future__ import annotations

import weakref

from hypothesis import given
from hypothesis import strategies as st

from kron.waking.queue import Queue
from tests.soak import examples

SIZE = 4
MOVES = st.one_of(
    st.tuples(st.just("put"), st.integers(0, SIZE - 1), st.none() | st.integers(0, 9)),
    st.tuples(st.just("due"), st.just(0), st.integers(0, 9)),
    st.tuples(st.just("keep"), st.integers(0, 2**SIZE - 1), st.none()),
)


class Sleeper:
    """All that the queue needs to know of a job."""

    wake_s: int | None = None


@given(st.lists(MOVES, min_size=30, max_size=60))
@examples(200)
def test_it_is_a_sorted_list_of_who_is_to_be_woken(
    moves: list[tuple[str, int, int | None]],
) -> None:
    queue: Queue[Sleeper] = Queue()
    members = [Sleeper() for _ in range(SIZE)]
    wakes: dict[Sleeper, int] = {}
    for move, number, instant_s in moves:
        if move == "put":
            queue.put(members[number], instant_s)
            wakes.pop(members[number], None)
            if instant_s is not None:
                wakes[members[number]] = instant_s
        elif move == "due":
            assert instant_s is not None
            due = queue.due(instant_s)
            assert [wakes[member] for member in due] == sorted(
                wake_s for wake_s in wakes.values() if wake_s <= instant_s
            )
            for member in due:
                del wakes[member]
        else:
            kept = [member for place, member in enumerate(members) if number >> place & 1]
            for member in set(members) - set(kept):
                queue.put(member, None)
                wakes.pop(member, None)
            queue.keep(kept)
        assert queue.next_s() == min(wakes.values(), default=None)
        assert {member: member.wake_s for member in members if member.wake_s is not None} == wakes


def test_to_move_a_member_away_and_back_wakes_it_once() -> None:
    queue: Queue[Sleeper] = Queue()
    member = Sleeper()
    for instant_s in (10, 20, 10):
        queue.put(member, instant_s)
    assert queue.due(30) == [member]
    assert queue.due(30) == []


def test_places_that_nobody_has_do_not_pile_up() -> None:
    queue: Queue[Sleeper] = Queue()
    members = [Sleeper() for _ in range(SIZE)]
    for instant_s in range(1000):
        for member in members:
            queue.put(member, instant_s)
    assert len(queue._heap) < 100
    queue.keep(members)
    assert len(queue._heap) == len(members)


def test_nothing_is_kept_of_those_who_are_gone() -> None:
    class Sleeper:
        wake_s: int | None = None

    queue: Queue[Sleeper] = Queue()
    stays = Sleeper()
    queue.put(stays, 10)
    seen: weakref.WeakSet[Sleeper] = weakref.WeakSet()
    for instant_s in range(1000, 2000):
        comes = Sleeper()
        seen.add(comes)
        queue.put(comes, instant_s)
        queue.put(comes, None)
    assert len(seen) < 100
    assert queue.due(10) == [stays]
