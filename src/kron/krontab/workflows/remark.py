"""The remark behind a cron expression: `# fuzzy: daily around 14:00`, what it was compiled from.

One remark serves a line. Where a line holds several cron expressions, it names what each of them
was compiled from, with `;` between and `-` for one that was cron from the start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import Source
from kron.krontab.workflows.tree import Tree

PLAIN = "-"
_FUZZY = re.compile(r"#[ \t]*+fuzzy:([^#]*+)")


class Said(Frozen):
    """A piece of a remark and where it begins."""

    text: str
    start: int


class Remark(Frozen):
    """The end of a line: where its comment begins, or would begin, and what it says."""

    place: int
    """Behind the last thing on the line that is no comment."""
    comment: int | None = None
    """Where the comment begins, if there is one."""
    start: int = 0
    end: int = 0
    said: tuple[Said, ...] | None = None
    """What stands behind `# fuzzy:`, [start, end); None if the comment is another one."""

    def edit(self, text: str, expressions: Sequence[str]) -> tuple[int, int, str]:
        """What makes it say these expressions: [start, end) and what to put there."""
        joined = "; ".join(expression or PLAIN for expression in expressions)
        if self.said is not None:
            before = "" if text[self.start - 1] in " \t" else " "
            after = " " if text[self.end : self.end + 1] == "#" else ""
            return self.start, self.end, f"{before}{joined}{after}"
        if self.comment is not None:
            before = "" if text[self.comment - 1] in " \t" else " "
            return self.comment, self.comment, f"{before}# fuzzy: {joined} "
        return self.place, self.place, f" # fuzzy: {joined}"


def remark_behind(source: Source, tree: Tree, slot: Slot) -> Remark | None:
    """The remark of the line on which a slot ends; None where no comment can stand there."""
    text = source.text
    end = source.line_end(slot.end)
    place = slot.end
    if not slot.is_block:
        for order in range(slot.order + 1, len(tree.spans)):
            start, stop = tree.spans[order]
            if start >= end:
                break
            if stop > end:
                return None  # a scalar that goes on in the next line
            place = max(place, stop)
    comment = text.find("#", place, end)
    if comment < 0:
        return Remark(place + len(text[place:end].rstrip()))
    place += len(text[place:comment].rstrip())
    fuzzy = _FUZZY.match(text, comment, end)
    if fuzzy is None:
        return Remark(place, comment)
    words = fuzzy[1].strip(" \t")
    start = fuzzy.start(1) + len(fuzzy[1]) - len(fuzzy[1].lstrip(" \t"))
    return Remark(place, comment, start, start + len(words), _said(words, start))


def _said(words: str, start: int) -> tuple[Said, ...]:
    said = []
    for piece in words.split(";"):
        said.append(Said(piece.strip(" \t"), start + len(piece) - len(piece.lstrip(" \t"))))
        start += len(piece) + 1
    return tuple(said)
