"""The text format: a timestamp, then `key=value` with a space before each.

A value is quoted where necessary, and characters that would break the line or control a terminal
are escaped: one event is one line. `read_text` is the exact inverse of `write_text`.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, KronError, ParseError, quoted
from kron.logs.record import KEY, FieldError, Record, from_values, joined, repeated
from kron.logs.timestamp import TIMESTAMP, read_timestamp, timestamp_text

VALUE = r'(?:"(?:[^"\\\x00-\x1f\x7f]|\\.)*+"|[^"\\\x00-\x20\x7f]*+)'
"""The pattern of a value as it is written."""

# Characters that a bare value may not hold. Spaces, quotes and backslashes because of the format;
# `=` because many readers of key=value want it quoted; then those that are always escaped: control
# characters, line separators, marks that change the direction of the text, and surrogates.
_ESCAPED = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_NOT_BARE = re.compile(rf'[ "\\={_ESCAPED}]|\A\Z')
_SURELY_BARE = re.compile(r"[!#-<>-\[\]-~]++").fullmatch  # nearly every value: twice as fast
_TO_ESCAPE = re.compile(rf'["\\{_ESCAPED}]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

# The last group takes the rest of a line that continues in any other way, so that the matches
# always cover the whole line.
_FIELD = re.compile(
    rf' ({KEY})=(?:"((?:[^"\\\x00-\x1f\x7f]|\\.)*+)"|([^"\\\x00-\x20\x7f]*+))(?![^ ])|(.++)',
    re.DOTALL,
)
_ESCAPE = re.compile(
    r'\\(?:(["\\ntr])|x([0-7][0-9a-fA-F])|u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})'
    r"|(.?))",
    re.DOTALL,
)
_PLAIN = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_ESCAPES = r"\", \\, \n, \t, \r, \x1b, \u2028 and \U000e0001"
_LOOKED_THROUGH = 1000


def write_text(record: Record) -> str:
    """The record as one line, without the line break."""
    fields = "".join([text_pair(key, value) for key, value in record.fields])
    return (
        f"{timestamp_text(record.time_ns)} level={record.level} component={record.component}"
        f"{text_pair('event', record.event)}{fields}"
    )


def text_pair(key: str, value: str) -> str:
    """A field as written on a line, with the space before it."""
    if _SURELY_BARE(value) or not _NOT_BARE.search(value):
        return f" {key}={value}"
    return f' {key}="{_TO_ESCAPE.sub(_escape, value)}"'


def read_text(line: str) -> Record:
    """The record of a line (without its line break); a `ParseError` if the line has none."""
    start = TIMESTAMP.match(line)
    if start is None:
        raise _no_timestamp(line)
    found = _FIELD.findall(line, start.end())
    try:
        if "\\" in line:
            values = {key: _unescaped(key, inside) or bare for key, inside, bare, _ in found}
        else:
            values = {key: inside or bare for key, inside, bare, _ in found}
        if "" in values:  # the rest of the line, which has no key
            raise _malformed(line, len(line) - len(found[-1][3]))
        if len(values) != len(found) or "timestamp" in values:
            raise repeated(["timestamp", *(key for key, *_ in found)])
        time_ns = read_timestamp(start[0])
        return from_values(time_ns, values)
    except FieldError as error:
        place = re.search(rf" {re.escape(error.key)}={VALUE}", line)
        first, last = place.span() if place else (start.end(), len(line))
        raise _refused(line, error, first + 1, last) from None
    except ParseError:
        raise
    except KronError as error:
        raise _refused(line, error, 0, start.end()) from None


def _escape(match: re.Match[str]) -> str:
    if short := _SHORT.get(match[0]):
        return short
    point = ord(match[0])
    # \x only below 0x80: above that, other languages read it as a byte, not as a character.
    return f"\\x{point:02x}" if point < 0x80 else f"\\u{point:04x}"


def _unescaped(key: str, inside: str) -> str:
    if "\\" not in inside:
        return inside
    unknown = next((found for found in _ESCAPE.finditer(inside) if found[5] is not None), None)
    if unknown is not None:
        message = f"{quoted(unknown[0])} is not an escape: the escapes are {_ESCAPES}"
        raise FieldError(Code.TEXT, key, message)
    return joined(_ESCAPE.sub(_meant, inside))


def _meant(match: re.Match[str]) -> str:
    short, byte, four, eight, _ = match.groups()
    return _PLAIN[short] if short else chr(int(byte or four or eight, 16))


def _refused(line: str, error: KronError, start: int, end: int) -> ParseError:
    return ParseError.single(line, error.code, error.message, start=start, end=end, fix=error.fix)


def _no_timestamp(line: str) -> ParseError:
    elsewhere = TIMESTAMP.search(line, 0, _LOOKED_THROUGH)
    if elsewhere is not None:
        return _prefixed(line, elsewhere.start())
    message = f"{quoted(line)} does not begin with a timestamp in UTC, as a line of a log does"
    fix = "2026-03-01T00:00:00.000000000Z level=..."
    return ParseError.single(line, Code.TEXT, message, fix=fix)


def _prefixed(line: str, end: int) -> ParseError:
    """Another program has put text before the line. Where that text ends is not guessed."""
    message = f"the line begins only at column {end + 1}, after {quoted(line[:end])}"
    fix = "read the log without the prefix of journald, syslog or a container: journalctl -o cat"
    return ParseError.single(line, Code.TEXT, message, end=end, fix=fix)


def _malformed(line: str, place: int) -> ParseError:
    """The problem at the place where a line stops being fields."""
    again = TIMESTAMP.search(line, place, place + _LOOKED_THROUGH)
    if again is not None and re.match(rf" (?!{KEY}=)", line[place:]):
        return _prefixed(line, again.start())
    field = re.compile(rf' ({KEY})=("?)').match(line, place)
    end = len(line)
    if field is None:
        message = f"{quoted(line[place:])} is not a field: a space and key=value"
        fix = "put a value with spaces between double quotes"
    elif control := re.compile(r"[\x00-\x1f\x7f]").search(line, field.end()):
        message = f"{quoted(field[1])} has a control character that is not escaped"
        fix = 'write it as an escape, such as "\\x1b"'
        place, end = control.span()
    elif field[2]:
        message = f"the quote in {quoted(field[1])} is not closed, or not followed by a space"
        fix = 'a quote inside a value is written as \\"'
    else:
        message = f"{quoted(field[1])} has a quote or a backslash, but is not quoted"
        fix = 'put the value between double quotes, with \\" and \\\\ inside'
    return ParseError.single(line, Code.TEXT, message, start=place, end=end, fix=fix)
