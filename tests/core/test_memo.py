"""A memo recognises a value by its identity, keeps it alive, and empties when it is full."""

from __future__ import annotations

from collections.abc import Callable

import kron
from kron.core.memo import MOST, remembered


def test_the_same_value_is_made_something_of_once() -> None:
    made: list[kron.Schedule] = []

    def make(schedule: kron.Schedule) -> str:
        made.append(schedule)
        return str(schedule)

    memo = remembered(make)
    first, equal = kron.parse_schedule("0 2 * * *"), kron.parse_schedule("0 2 * * *")
    assert [memo(first), memo(first), memo(equal)] == ["0 2 * * *"] * 3
    assert made == [first, equal], "an equal value is another one"


def test_what_was_made_never_goes_to_another_value_in_the_same_place_in_memory() -> None:
    memo: Callable[[list[int]], int] = remembered(lambda values: values[0])
    # Nobody else holds these: without the memo's hold the next would take the place of the last.
    assert [memo([number]) for number in range(100)] == list(range(100))


def test_a_full_memo_empties_and_still_answers() -> None:
    made: list[int] = []

    def make(values: list[int]) -> int:
        made.append(values[0])
        return values[0]

    memo = remembered(make)
    kept = [[number] for number in range(MOST + 1)]
    for values in kept:
        assert memo(values) == values[0]
    assert memo(kept[0]) == 0
    assert made.count(0) == 2, "the first was forgotten when the memo was full"
