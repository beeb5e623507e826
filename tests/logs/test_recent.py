"""The map of what was met lately: bounded, and not forgetful before its time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kron.logs.recent import Recent
from tests.soak import examples

HALF = 4


@examples(200)
@given(puts=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 99)), max_size=40))
def test_the_last_few_keys_are_remembered_with_their_last_values(
    puts: list[tuple[int, int]],
) -> None:
    recent: Recent[int, int] = Recent(HALF)
    for place, (key, value) in enumerate(puts, 1):
        recent.put(key, value)
        assert recent.get(key) == value
        latest = dict(puts[max(0, place - HALF) : place])
        assert {known: recent.get(known) for known in latest} == latest


def test_what_has_not_been_met_for_long_is_forgotten() -> None:
    recent: Recent[int, int] = Recent(HALF)
    for key in range(102):
        recent.put(key, key)
    assert [key for key in range(102 - 2 * HALF) if recent.get(key) is not None] == []
    assert recent.get(101) == 101


def test_what_is_asked_for_is_met_again() -> None:
    recent: Recent[str, int] = Recent(HALF)
    recent.put("asked", 1)
    for key in range(100):
        recent.put(str(key), key)
        assert recent.get("asked") == 1


def test_many_at_once_are_remembered_together() -> None:
    recent: Recent[int, int] = Recent(HALF)
    recent.put_all({key: -key for key in range(1, 50)})
    recent.put_all({1: 7})
    assert recent.get(1) == 7
    assert recent.get(49) == -49
    recent.put_all(dict.fromkeys(range(50, 60), 0))
    assert recent.get(30) is None
