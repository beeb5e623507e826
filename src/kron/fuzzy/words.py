"""The words of a fuzzy expression, taken one by one, and the problems met on the way.

Words are compared in small letters. The position of a word in the text is worked out only for a
message about it: nearly every expression is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kron.core.errors import Code
from kron.fuzzy.problem import FuzzyProblem

Place = tuple[int, int]

_WORD = re.compile(r"[^ \t]++")
_SMALL_LETTERS = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


class Words:
    __slots__ = ("_words", "next", "position", "problems", "text", "warnings")

    def __init__(self, text: str) -> None:
        self.text = text
        # Only ASCII has small letters here: the Kelvin sign is not a k.
        small = text.lower() if text.isascii() else text.translate(_SMALL_LETTERS)
        self._words: list[str] = [*_WORD.findall(small), ""]
        self.position = 0
        self.next = self._words[0]
        """The word ahead, '' at the end. An attribute: it is asked for all the time."""
        self.problems: list[FuzzyProblem] = []
        self.warnings: list[FuzzyProblem] = []

    def __str__(self) -> str:
        return " ".join(self._words[:-1])

    @property
    def after_next(self) -> str:
        return self._words[self.position + 1] if self.next else ""

    @property
    def last(self) -> int:
        """The number of the word that was taken last; -1 before the first."""
        return self.position - 1

    def take(self) -> str:
        word = self.next
        self.position += 1
        self.next = self._words[self.position]
        return word

    def take_if(self, word: str) -> bool:
        if self.next != word:
            return False
        self.take()
        return True

    def skip_to(self, *stops: str) -> None:
        """After a word that cannot be read, go on where the meaning is clear again."""
        while self.next and self.next not in stops:
            self.take()

    def report(self, code: Code, message: str, fix: str = "", at: Place | None = None) -> None:
        """A problem at a place; without one, with the word that was taken last."""
        self.problems.append(FuzzyProblem(code, message, *(at or self.place(self.last)), fix))

    def warn(self, code: Code, message: str, fix: str = "", at: Place | None = None) -> None:
        self.warnings.append(FuzzyProblem(code, message, *(at or self.place(self.last)), fix))

    def place(self, first: int, last: int | None = None) -> Place:
        """Where a word, or the words from one to another, start and end in the text."""
        if first < 0:
            return 0, len(self.text)
        spans = [match.span() for match in _WORD.finditer(self.text)]
        return spans[first][0], spans[first if last is None else last][1]

    def place_within(self, index: int, start: int, end: int) -> Place:
        first = self.place(index)[0]
        return first + start, first + end

    def original(self, first: int, last: int | None = None) -> str:
        start, end = self.place(first, last)
        return self.text[start:end]


def one_edit_away(word: str, choices: Iterable[str]) -> str:
    """The first of the choices that is one edit away from `word`, or ''.

    An edit is a letter too many, too few or wrong, or two neighbours that changed places.
    """
    return next((choice for choice in choices if _is_one_edit(word, choice)), "")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`did you mean "x"?`, or '' when no choice is one edit away."""
    near = one_edit_away(word, choices)
    return f'did you mean "{near}"?' if near else ""


def _is_one_edit(word: str, choice: str) -> bool:
    if abs(len(word) - len(choice)) > 1 or word == choice:
        return False
    shared = next((i for i, (a, b) in enumerate(zip(word, choice, strict=False)) if a != b), None)
    if shared is None:
        return True  # the longer one has a letter more at its end
    rest, wanted = word[shared:], choice[shared:]
    return (
        rest[1:] == wanted  # a letter too many
        or rest == wanted[1:]  # a letter too few
        or rest[1:] == wanted[1:]  # a wrong letter
        or (rest[1::-1] == wanted[:2] and rest[2:] == wanted[2:])  # two changed places
    )
