"""Did you mean: exactly the words that are one edit away."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.fuzzy.expression import KEYWORDS
from kron.fuzzy.words import did_you_mean, one_edit_away
from tests.fuzzy.expressions import WEEKDAYS
from tests.soak import examples

WORDS = (*WEEKDAYS, *KEYWORDS)


def edits(word: str) -> set[str]:
    """Every word that one edit makes of this one."""
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    letters = string.ascii_lowercase + "-"
    return (
        {head + tail[1:] for head, tail in splits if tail}
        | {head + letter + tail for head, tail in splits for letter in letters}
        | {head + letter + tail[1:] for head, tail in splits if tail for letter in letters}
        | {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    ) - {word}


@pytest.mark.parametrize("word", WORDS)
def test_every_single_edit_is_recognised(word: str) -> None:
    for typed in edits(word):
        assert one_edit_away(typed, [word]) == word


@examples(500)
@given(
    word=st.sampled_from(WORDS),
    places=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abdenuy-")), max_size=3),
)
def test_nothing_else_is(word: str, places: list[tuple[int, str]]) -> None:
    typed = word
    for place, letter in places:
        typed = typed[:place] + letter + typed[place + 1 :]
    assert (one_edit_away(typed, [word]) == word) == (typed in edits(word))


def test_the_question_is_asked_only_if_there_is_an_answer() -> None:
    assert did_you_mean("mondey", WEEKDAYS) == 'did you mean "monday"?'
    assert did_you_mean("mandey", WEEKDAYS) == ""
    assert did_you_mean("monday", WEEKDAYS) == ""
