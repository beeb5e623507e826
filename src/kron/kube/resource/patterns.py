"""The shapes of a spec's texts as regular expressions that Python and the API server both read.

They are a sieve, not the grammar: they may let pass what the engine refuses, never the other way
round. Only what both dialects share is used (RE2 has no lookaround and no possessive quantifiers),
and no text can be taken in two ways, since Python would try them all: `0*[0-5]?[0-9]` in a list of
zeros takes it years.
"""

from __future__ import annotations

_BLANK = r"[ \t]"
_STRING = r'"(?:[^"\\]|\\.)*"'
_ARGUMENTS = rf'(?:[^ \t"()]|{_STRING})*'
_NAMES = "tz|win|dist|seed|policy|only|avoid"
_MODIFIER = rf"@(?:{_NAMES})\({_ARGUMENTS}\)"
_WORD = r'[^@ \t"][^ \t"]*'
_TOKEN = rf"(?:{_WORD}|{_MODIFIER})"
_OUTSIDE_STRINGS = rf'(?:[^"]|{_STRING})*'

FUZZY = rf"{_BLANK}*[A-Za-z][A-Za-z](?s:.*)"
"""A schedule that begins with a word, as fuzzy ones do."""

MODIFIERS_WELL_FORMED = rf"{_BLANK}*(?:{_TOKEN}(?:{_BLANK}+{_TOKEN})*{_BLANK}*)?"
"""Words, and modifiers that Kron has."""


_THEN_MODIFIERS = rf"(?:{_BLANK}+@(?s:.*)|{_BLANK}*)"

FIVE_FIELDS = rf"{_BLANK}*{_WORD}(?:{_BLANK}+{_WORD}){{4}}{_THEN_MODIFIERS}"

INTERLEAVED = rf"(?s:.*)\){_BLANK}+[^@ \t](?s:.*)"
"""A field after a modifier: allowed, and so rare that the fields are left to the engine then."""


def _field(value: str) -> str:
    step = "(?:/0*[1-9][0-9]*)?"
    item = rf"(?:\*{step}|(?:{value})(?:-(?:{value}){step})?)"
    return rf"{item}(?:,{item})*"


_FIELDS = (
    _field("0*(?:[1-5][0-9]|[1-9]|0)"),
    _field("0*(?:1[0-9]|2[0-3]|[1-9]|0)"),
    _field("0*(?:[12][0-9]|3[01]|[1-9])"),
    _field("0*(?:1[0-2]|[1-9])|(?i:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"),
    _field("0*(?:[1-7]|0)|(?i:SUN|MON|TUE|WED|THU|FRI|SAT)"),
)
CRON = rf"{_BLANK}*{f'{_BLANK}+'.join(_FIELDS)}{_THEN_MODIFIERS}"

NO_CONTROL_CHARACTERS = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*"

ZONE = r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*"

_DURATION_NUMBER = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
DURATION = rf"0|(?:{_DURATION_NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+"

_VALUES = "[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?"
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
CLAUSE = (
    rf"(?:hours|dow|dom|months)={_VALUES}(?:,{_VALUES})*|between={_TIME}-{_TIME}"
    rf"|date={_DAY}|dates={_DAY}\.\.{_DAY}"
)

INSTANT = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"


def says(modifier: str) -> str:
    """A schedule's text that has this modifier, other than inside a quoted salt."""
    return rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@{modifier}\((?s:.*)"


def says_policy(key: str) -> str:
    """A schedule's text whose `@policy` has this key."""
    return rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@policy\((?:{_ARGUMENTS},)?{key}=(?s:.*)"


def for_server(pattern: str) -> str:
    """The pattern in the server's dialect, anchored: Python is asked for a full match instead."""
    return rf"^(?:{pattern})$".replace(r"\u2028\u2029", r"\x{2028}\x{2029}")
