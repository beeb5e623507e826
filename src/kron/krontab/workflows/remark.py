"""The remark after a cron expression, `# fuzzy: daily around 14:00`: what it was compiled from.

A line has one remark. If the line has several cron expressions, the remark names the source of
each, separated by `;`, with `-` for one that was not compiled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import Tree, WorkflowSource

_PLAIN = "-"
_FUZZY = re.compile(r"#[ \t]*+fuzzy:([^#]*+)")


class FuzzyWords(Frozen):
    """The words of a fuzzy schedule and their position: [start, end)."""

    text: str
    start: int
    end: int
    in_remark: bool = False
    """Whether they stand in the remark after a cron expression, not in its place."""
    is_verbatim: bool = True
    """Whether the file has the text in exactly this form, so that columns are known."""

    @property
    def expression(self) -> str:
        return " ".join(self.text.split())


class FuzzyRemark(Frozen):
    """The end of a line: where its comment begins, or would begin, and what it says."""

    place: int
    """The end of the line without its comment."""
    comment: int | None = None
    """Where the comment begins, if the line has one."""
    start: int = 0
    end: int = 0
    said: tuple[FuzzyWords | None, ...] | None = None
    """The text after `# fuzzy:`, [start, end), for each expression, with None for plain cron; None
    if the comment is a different one."""

    def names(self, expressions: Sequence[str]) -> bool:
        """Whether it names these expressions, where '' is plain cron."""
        if self.said is None:
            return False
        return [each.expression if each else "" for each in self.said] == list(expressions)

    def edit(self, text: str, expressions: Sequence[str]) -> tuple[int, int, str]:
        """The edit that makes it name these expressions: [start, end) and the new text."""
        joined = "; ".join(expression or _PLAIN for expression in expressions)
        if self.said is not None:
            before = "" if text[self.start - 1] in " \t" else " "
            after = " " if text[self.end : self.end + 1] == "#" else ""
            return self.start, self.end, f"{before}{joined}{after}"
        if self.comment is not None:
            before = "" if text[self.comment - 1] in " \t" else " "
            return self.comment, self.comment, f"{before}# fuzzy: {joined} "
        return self.place, self.place, f" # fuzzy: {joined}"


def remark_behind(source: WorkflowSource, tree: Tree, slot: Slot) -> FuzzyRemark | None:
    """The remark of the line on which a slot ends; None if no comment can follow there."""
    text = source.text
    end = source.line_end(slot.end)
    place = slot.end
    if not slot.is_block:
        for order in range(slot.node.order + 1, len(tree.spans)):
            start, stop = tree.spans[order]
            if start >= end:
                break
            if stop > end:
                return None  # a scalar that continues in the next line
            place = max(place, stop)
    comment = text.find("#", place, end)
    if comment < 0:
        return FuzzyRemark(place + len(text[place:end].rstrip()))
    place += len(text[place:comment].rstrip())
    fuzzy = _FUZZY.match(text, comment, end)
    if fuzzy is None:
        return FuzzyRemark(place, comment)
    words = fuzzy[1].strip(" \t")
    start = fuzzy.start(1) + len(fuzzy[1]) - len(fuzzy[1].lstrip(" \t"))
    return FuzzyRemark(place, comment, start, start + len(words), _said(words, start))


def _said(words: str, start: int) -> tuple[FuzzyWords | None, ...]:
    said: list[FuzzyWords | None] = []
    for piece in words.split(";"):
        text = piece.strip(" \t")
        first = start + piece.index(text)
        plain = text == _PLAIN
        said.append(None if plain else FuzzyWords(text, first, first + len(text), in_remark=True))
        start += len(piece) + 1
    return tuple(said)
