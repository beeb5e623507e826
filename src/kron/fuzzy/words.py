"""The words of a fuzzy expression, taken one by one, and the problems met on the way.

Words are compared in small letters. Where each stands in the text is worked out only when
something has to be said about it: nearly every expression is right.
"""

from __future__ import annotations

import re

from kron.core.errors import Code
from kron.fuzzy.problem import FuzzyProblem

_WORD = re.compile(r"[^ \t]++")
_ASCII_LETTERS = re.compile(r"[A-Z]++")

TYPE_CHECKING = False
if TYPE_CHECKING:
    Place = tuple[int, int]


class Words:
    """A cursor over the words of a text."""

    __slots__ = ("_words", "next", "position", "problems", "text", "warnings")

    def __init__(self, text: str) -> None:
        self.text = text
        # Only ASCII has small letters here: the Kelvin sign is no k.
        small = text.lower() if text.isascii() else _ASCII_LETTERS.sub(_lowered, text)
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
        """The word after the one ahead."""
        return self._words[self.position + 1] if self.next else ""

    @property
    def last(self) -> int:
        """The number of the word that was taken last; -1 before the first."""
        return self.position - 1

    def take(self) -> str:
        """The word ahead, which is then behind."""
        word = self.next
        self.position += 1
        self.next = self._words[self.position]
        return word

    def take_if(self, word: str) -> bool:
        """Take the word ahead if it is this one."""
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
        """A warning, placed in the same way."""
        self.warnings.append(FuzzyProblem(code, message, *(at or self.place(self.last)), fix))

    def place(self, first: int, last: int | None = None) -> Place:
        """Where a word, or the words from one to another, start and end in the text."""
        if first < 0:
            return 0, len(self.text)
        spans = [match.span() for match in _WORD.finditer(self.text)]
        return spans[first][0], spans[first if last is None else last][1]

    def place_within(self, index: int, start: int, end: int) -> Place:
        """Where a part of a word stands in the text."""
        first = self.place(index)[0]
        return first + start, first + end

    def original(self, first: int, last: int | None = None) -> str:
        """A word, or several, as they were typed."""
        start, end = self.place(first, last)
        return self.text[start:end]


def _lowered(letters: re.Match[str]) -> str:
    return letters[0].lower()
