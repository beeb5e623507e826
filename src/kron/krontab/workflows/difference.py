"""A unified diff, written from the edits themselves: they say where the text changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.core.frozen import Frozen
from kron.krontab.workflows.splice import Edit, spliced

_CONTEXT = 3
_UNENDED = "\\ No newline at end of file"


class _Block(Frozen):
    """[start, end) of the old text, which are whole lines, and the edits in it."""

    start: int
    end: int
    edits: tuple[Edit, ...]

    def after(self, text: str) -> str:
        """What the lines become."""
        moved = [
            each.replace(start=each.start - self.start, end=each.end - self.start)
            for each in self.edits
        ]
        return spliced(text[self.start : self.end], moved)


def difference(path: str, text: str, edits: Sequence[Edit]) -> list[str]:
    """The lines of the diff, without their line breaks; none if there are no edits."""
    if not edits:
        return []
    shown = [f"--- {path}", f"+++ {path}"]
    counted = line = moved = 0
    for hunk in _hunks(text, _blocks(text, edits)):
        start, end = _context(text, hunk[0].start, hunk[-1].end)
        line += text.count("\n", counted, start)
        counted = start
        body = list(_body(text, hunk, start, end))
        old = sum(each[0] in " -" for each in body)
        new = sum(each[0] in " +" for each in body)
        shown.append(f"@@ -{line + 1},{old} +{line + moved + 1},{new} @@")
        shown += body
        moved += new - old
    return shown


def _blocks(text: str, edits: Sequence[Edit]) -> list[_Block]:
    """The changed lines, edits of the same or of touching lines together."""
    groups: list[list[Edit]] = []
    bounds: list[tuple[int, int]] = []
    for edit in edits:
        last_start, last_end = bounds[-1] if bounds else (-1, -1)
        start = last_start if edit.start < last_end else text.rfind("\n", 0, edit.start) + 1
        end = last_end if edit.end < last_end else _line_after(text, edit.end)
        if start <= last_end:
            groups[-1].append(edit)
            bounds[-1] = (last_start, end)
        else:
            groups.append([edit])
            bounds.append((start, end))
    return [
        _Block(start, end, tuple(together))
        for (start, end), together in zip(bounds, groups, strict=True)
    ]


def _hunks(text: str, blocks: list[_Block]) -> Iterator[list[_Block]]:
    """The blocks, those together whose contexts touch."""
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and text.count("\n", hunk[-1].end, block.start) > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    yield hunk


def _context(text: str, start: int, end: int) -> tuple[int, int]:
    """[start, end) with some lines before and behind it."""
    for _ in range(_CONTEXT):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _line_after(text, end) if end < len(text) else end
    return start, end


def _body(text: str, hunk: list[_Block], start: int, end: int) -> Iterator[str]:
    position = start
    for block in hunk:
        yield from _marked(" ", text[position : block.start])
        yield from _marked("-", text[block.start : block.end])
        yield from _marked("+", block.after(text))
        position = block.end
    yield from _marked(" ", text[position:end])


def _marked(mark: str, text: str) -> Iterator[str]:
    """The lines of a text. Only a line feed ends one."""
    if not text:
        return
    for line in text.removesuffix("\n").split("\n"):
        yield mark + line
    if not text.endswith("\n"):
        yield _UNENDED


def _line_after(text: str, offset: int) -> int:
    """Where the line behind that of the offset begins, or the end of the text."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1
