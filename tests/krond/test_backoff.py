"""The back-off: it doubles, has an end, and begins again."""

from __future__ import annotations

from kron.krond.backoff import Backoff


def test_it_doubles_up_to_the_longest_and_begins_again_after_a_success() -> None:
    backoff = Backoff(1, 6)
    assert [backoff.next_ns() for _ in range(5)] == [1, 2, 4, 6, 6]
    backoff.reset()
    assert backoff.next_ns() == 1
