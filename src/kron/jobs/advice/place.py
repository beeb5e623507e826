"""Places: where the parts of a line stand in its text.

The line is one that has been read without an error, so nothing is checked here. A part that is not
there (a fuzzy schedule has no cron fields, a crontab no fields) is placed at what stands for it.
"""

from __future__ import annotations

from kron.core.cron import KINDS
from kron.core.tokens import is_fuzzy
from kron.jobs.advice.remark import Part, PartKind
from kron.jobs.line import FIELD, TOKEN
from kron.jobs.quoting import as_string

_CRON_FIELD_NAMES = tuple(kind.name for kind in KINDS)

Place = tuple[int, int]
"""The columns of something, [start, end)."""


class Places:
    """The tokens of one line, by what they are."""

    __slots__ = ("_fields", "_fields_start", "_modifiers", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._words: list[Place] = []
        self._modifiers: dict[str, Place] = {}
        self._fields: dict[str, Place] | None = None
        self._fields_start = len(text)
        for match in TOKEN.finditer(text):
            if match[1] is not None:
                self._modifiers.setdefault(match[1], match.span())
            elif "=" in match[0]:
                self._fields_start = match.start()
                break
            else:
                self._words.append(match.span())

    def of(self, part: Part) -> Place:
        """The columns of a part."""
        start, end = self._token(part)
        if part.within:
            for piece in (part.within, as_string(part.within)[1:-1]):
                found = self.text.find(piece, start, end)
                if found >= 0:
                    return found, found + len(piece)
        return start, end

    def _token(self, part: Part) -> Place:
        if part.kind is PartKind.FIELD:
            return self._field(part.name)
        if part.kind is PartKind.MODIFIER and part.name in self._modifiers:
            return self._modifiers[part.name]
        has_cron_fields = len(self._words) == len(KINDS) and not is_fuzzy(self.text)
        if part.kind is PartKind.CRON_FIELD and has_cron_fields:
            return self._words[_CRON_FIELD_NAMES.index(part.name)]
        if not self._words:
            return 0, len(self.text)
        return self._words[0][0], self._words[-1][1]

    def _field(self, key: str) -> Place:
        if self._fields is None:
            self._fields = {}
            for match in FIELD.finditer(self.text, self._fields_start):
                self._fields.setdefault(match[1], match.span())
        return self._fields.get(key, (0, len(self.text)))
