"""What a conformance test is made of: an implementation, a check of it, and common checks.

A check is given the implementation that it judges, so that a test can hand it a broken one: a
check that no implementation fails would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kron.core.errors import Code, ParseError
from kron.core.frozen import Frozen
from kron.fuzzy.expression import Expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Implementation(Frozen):
    """The three functions that seed 004 describes."""

    parse: Callable[[str], Expression]
    scatter: Callable[[str, str], str]
    hash: Callable[[bytes], int]


Check = Callable[[Implementation], Iterator[str]]
"""Yields what is wrong; nothing if the implementation conforms."""


class Test(Frozen):
    """One test of the seed's section 10: the level from which it is required, and its check."""

    id: str
    level: int
    title: str
    check: Check


def parses(expected: dict[str, str]) -> Check:
    """Each expression has this placeholder."""

    def check(implementation: Implementation) -> Iterator[str]:
        for text, placeholder in expected.items():
            found = implementation.parse(text).placeholder
            if found != placeholder:
                yield f"{text}: {found}, not {placeholder}"

    return check


def rejects(expected: dict[str, Code]) -> Check:
    """Each expression is refused with this code."""

    def check(implementation: Implementation) -> Iterator[str]:
        for text, code in expected.items():
            try:
                found = implementation.parse(text).placeholder
            except ParseError as error:
                if error.code is not code:
                    yield f"{text}: {error.code}, not {code}"
            else:
                yield f"{text}: accepted as {found}"

    return check


def holds(message: str, wrong: Iterable[Any]) -> Iterator[str]:
    """The first of what is wrong, with a message about it."""
    for example in wrong:
        yield f"{message}: {example}"
        return
