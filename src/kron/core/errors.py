"""The one tree of errors.

Every failure that an input can cause is a `KronError` with a stable code. A text that is wrong is
a `ParseError`: it lists every problem of the text, each with its position, so that a person fixes a
line once and not five times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Value = TypeVar("_Value")

SHOWN_PROBLEMS = 20
"""How many problems of one text are kept; a line of 60,000 typing errors has no 21st reader."""

_SHOWN_VALUE = 60
_SHOWN_LINE = 100
_LONGEST_GUESS = 40
_LOOKED_AT = 4_096
"""How many characters around a shown part are looked at for a URL that reaches into it."""
_URL = r"""(?xis)
(?P<head> (?P<quote>") (?: [a-z0-9+.-]*+ :// | https?[:/] )
  | ://
  | (?<![^ \t\n=]) https? (?!://)[:/] )
(?P<rest>
  (?(quote) (?: [^"\\]++ | \\.? )*+ "?+ )
  (?: [^ \t\n"]++ | " (?: (?=[^ \t\n"')]) (?: [^"\\]++ | \\.? )*+ "?+ )?+ )*+
)
"""
"""A URL, mistyped or not. Nothing in it is matched twice, so that no text takes long."""
_SITE = r"""(?x)
(?: \[[0-9A-Fa-f:.]++\] | [A-Za-z0-9_.-]++ ) (?: :[0-9]++ )?+ (?= [/?\#\s"] | $ ) /?
"""
_CLOSING = "\"')"


class Code(StrEnum):
    """What went wrong, in one stable word. Documented in docs/errors.md (a test compares)."""

    CRON_FIELD = "cron-field"
    CRON_FIELD_COUNT = "cron-field-count"
    CRON_NEVER = "cron-never"
    CRON_SHORTHAND = "cron-shorthand"
    MODIFIER_UNKNOWN = "modifier-unknown"
    MODIFIER_REPEATED = "modifier-repeated"
    MODIFIER_FORM = "modifier-form"
    KEY_UNKNOWN = "key-unknown"
    KEY_REPEATED = "key-repeated"
    VALUE_UNKNOWN = "value-unknown"
    NUMBER = "number"
    DURATION = "duration"
    ZONE_UNKNOWN = "zone-unknown"
    CONSTRAINT = "constraint"
    TEXT = "text"
    LIMIT = "limit"
    IDENTITY = "identity"
    INSTANT = "instant"
    LEDGER = "ledger"
    LEDGER_NEWER = "ledger-newer"
    FIELD_FORM = "field-form"
    FIELD_UNKNOWN = "field-unknown"
    FIELD_REPEATED = "field-repeated"
    FIELD_MISSING = "field-missing"
    FIELD_VALUE = "field-value"
    NAME_REPEATED = "name-repeated"
    SLOT = "slot"
    CGROUP = "cgroup"
    JOB_UNKNOWN = "job-unknown"
    FILE_MISSING = "file-missing"
    FILE_UNREADABLE = "file-unreadable"
    FILE_UNWRITABLE = "file-unwritable"
    FILE_KIND = "file-kind"
    FILE_SYMLINK = "file-symlink"
    FILE_WRITABLE = "file-writable"
    FILE_OWNER = "file-owner"
    STATE = "state"
    STATE_NEWER = "state-newer"
    STATE_UNWRITABLE = "state-unwritable"
    RUNNING = "running"
    NOT_RUNNING = "not-running"
    CONTROL = "control"
    CLUSTER = "cluster"
    API = "api"
    # Fuzzy schedules: the names of the specification, as it spells them. The last six are warnings.
    UNKNOWN_KEYWORD = "UNKNOWN_KEYWORD"
    HOUR_OUT_OF_RANGE = "HOUR_OUT_OF_RANGE"
    MINUTE_OUT_OF_RANGE = "MINUTE_OUT_OF_RANGE"
    MISSING_TIME_SPEC = "MISSING_TIME_SPEC"
    INCOMPLETE_RANGE = "INCOMPLETE_RANGE"
    ZERO_DURATION_RANGE = "ZERO_DURATION_RANGE"
    UNKNOWN_WEEKDAY = "UNKNOWN_WEEKDAY"
    UNKNOWN_UNIT = "UNKNOWN_UNIT"
    INTERVAL_TOO_SMALL = "INTERVAL_TOO_SMALL"
    NON_INTEGER_INTERVAL = "NON_INTEGER_INTERVAL"
    UNSUPPORTED_INTERVAL = "UNSUPPORTED_INTERVAL"
    INVALID_TIME = "INVALID_TIME"
    HOUR_12_OUT_OF_RANGE = "HOUR_12_OUT_OF_RANGE"
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    MALFORMED_OFFSET = "MALFORMED_OFFSET"
    MISSING_COMPONENT = "MISSING_COMPONENT"
    UNSUPPORTED_SYNTAX = "UNSUPPORTED_SYNTAX"
    INVALID_PLACEHOLDER = "INVALID_PLACEHOLDER"
    FUZZY_WITH_TZ = "FUZZY_WITH_TZ"
    FIXED_INTERVAL = "FIXED_INTERVAL"
    UNEVEN_STEP = "UNEVEN_STEP"
    AMBIGUOUS_ABBREVIATION = "AMBIGUOUS_ABBREVIATION"
    ONE_SIDED_OFFSET = "ONE_SIDED_OFFSET"
    BUSY_MINUTE = "BUSY_MINUTE"
    COLLISION = "COLLISION"


class KronError(Exception):
    """Any error that Kron raises on purpose. `code` is stable; `fix` says what to do, or is ''."""

    def __init__(self, code: Code, message: str, fix: str = "") -> None:
        super().__init__(code, message, fix)
        self.code = code
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} ({self.fix})" if self.fix else self.message


class Problem(Frozen):
    """One thing that is wrong with a text: what, where ([start, end) in characters), the fix."""

    code: Code
    message: str
    start: int
    end: int
    fix: str = ""

    @property
    def column(self) -> int:
        """The place as people count it, from 1."""
        return self.start + 1

    def shifted(self, by: int) -> Problem:
        """The same problem, seen from a text in which the piece begins `by` characters later."""
        return self.replace(start=self.start + by, end=self.end + by)

    def __str__(self) -> str:
        fix = f" ({self.fix})" if self.fix else ""
        return f"column {self.column}: {self.message}{fix}"


class ParseError(KronError):
    """A text that does not parse, with all of its problems in the order of their columns."""

    def __init__(self, text: str, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(first.code, first.message, fix=first.fix)
        self.args = (text, problems)
        self.text = text
        self.problems = tuple(problems)

    @classmethod
    def single(
        cls, text: str, code: Code, message: str, *, start: int = 0, end: int = -1, fix: str = ""
    ) -> ParseError:
        """An error with one problem; it covers the whole text unless a place is given."""
        return cls(text, [Problem(code, message, start, len(text) if end < 0 else end, fix)])

    def __str__(self) -> str:
        shown = (
            f"{problem}\n{excerpt(self.text, problem.start, problem.end)}"
            for problem in self.problems
        )
        return "\n".join(shown)


def attempt(
    problems: list[Problem], parse: Callable[[str], _Value], text: str, at: int = 0
) -> _Value | None:
    """What `parse` makes of a piece of text that begins at `at`; None if that is reported."""
    try:
        return parse(text)
    except ParseError as error:
        problems += [problem.shifted(at) for problem in error.problems]
        return None


def quoted(value: str) -> str:
    """`value` between double quotes, on one line, shortened, with nothing a terminal would obey."""
    shown = _part(value, 0, _SHOWN_VALUE)
    shown = shown if len(value) <= _SHOWN_VALUE else shown[:-1] + "…"
    return f'"{visible(shown)}"'


def visible(text: str) -> str:
    """`text` whole, with nothing a terminal would obey."""
    return text if text.isprintable() else "".join(map(_visible, text))


def is_showable(value: str) -> bool:
    """Whether a fix may repeat `value`: it is short, no secret, and no terminal would obey it."""
    return len(value) <= _SHOWN_VALUE and value.isprintable() and without_secrets(value) == value


def without_secrets(text: str) -> str:
    """`text` with a `*` for each character of a URL beyond its scheme, host and port.

    A URL that begins a quoted text reaches to the closing quote, any other one to the next space.
    One with an `@` does not even show its host: what is before the `@` may be a password. Nor does
    one that is mistyped, such as `https:/host/path`.
    """
    import re

    match_site = re.compile(_SITE).match

    def hidden(url: re.Match[str]) -> str:
        head, rest = url["head"], url["rest"].rstrip(_CLOSING)
        is_url = head.endswith("://") and "@" not in rest
        site = match_site(rest) if is_url else None
        shown = site[0] if site else ""
        return f"{head}{shown:*<{len(rest)}}{url['rest'][len(rest) :]}"

    return re.sub(_URL, hidden, text)


def _part(text: str, first: int, last: int) -> str:
    """`text[first:last]` without secrets, by a look at what is near it."""
    begin = max(0, first - _LOOKED_AT)
    near = text[begin : last + _LOOKED_AT]
    # A URL may reach beyond what is looked at, and may have its @ there: it counts as one that has.
    lead = "://@" if any(mark in text[:begin] for mark in ":/") else ""
    tail = "@" if begin + len(near) < len(text) else ""
    start = first - begin + len(lead)
    return without_secrets(lead + near + tail)[start : start + min(last, len(text)) - first]


def excerpt(text: str, start: int, end: int) -> str:
    """Two lines: the part of `text` around [start, end), and carets below it."""
    # One column for each character, so that the carets stay in place.
    first = max(0, start - _SHOWN_LINE // 2)
    last = min(len(text), first + _SHOWN_LINE)
    shown = _part(text, first, last).replace("\t", " ")
    lead, tail = ("…" if first else ""), ("…" if last < len(text) else "")
    at, past = start - first, min(end, last) - first
    before = lead + "".join(map(_visible, shown[:at]))
    marked = "".join(map(_visible, shown[at:past]))
    after = "".join(map(_visible, shown[past:])) + tail
    carets = "^" * max(1, columns(marked))
    return f"  {before}{marked}{after}\n  {' ' * columns(before)}{carets}"


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`did you mean "x"?` for the choice nearest to `word`, or '' when none is near."""
    if len(word) > _LONGEST_GUESS:
        return ""
    from difflib import get_close_matches

    by_lower = {choice.lower(): choice for choice in choices}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return f'did you mean "{visible(by_lower[near[0]])}"?' if near else ""


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    point = ord(character)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def columns(text: str) -> int:
    """How many terminal columns `text` takes: a wide character takes two, a combining one none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    shown = (character for character in text if category(character) not in ("Mn", "Me"))
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in shown)
