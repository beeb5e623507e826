"""Near misses: which word was meant, if exactly one edit leads to it."""

from __future__ import annotations

from collections.abc import Iterable


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
