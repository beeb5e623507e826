"""The hash of an identifier: FNV-1a, 32 bits, over its UTF-8 bytes.

The scattered times of everybody's schedules hang on this function. It never changes.
"""

from __future__ import annotations

from kron.core.errors import Code, KronError, quoted
from kron.core.limits import DEFAULT_LIMITS

_OFFSET_BASIS = 2_166_136_261
_PRIME = 16_777_619
_MASK = 2**32 - 1


def fnv1a_32(data: bytes) -> int:
    """FNV-1a over bytes, from 0 to 2^32 - 1."""
    value = _OFFSET_BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value


def identifier_hash(identifier: str) -> int:
    """The hash of an identifier such as `owner/repo/path.md`; it is never empty by default."""
    if not identifier or identifier.isspace() or "\n" in identifier:
        raise KronError(
            Code.IDENTITY,
            f"{quoted(identifier)} is not an identifier: it is empty or holds a line break, and "
            "without one there is nothing to scatter by",
            fix="give one that is unique, for example owner/repo/.github/workflows/report.md",
        )
    if len(identifier) > DEFAULT_LIMITS.line_bytes:
        message = f"the identifier is longer than {DEFAULT_LIMITS.line_bytes} characters"
        raise KronError(Code.LIMIT, message)
    try:
        return fnv1a_32(identifier.encode())
    except UnicodeEncodeError:
        raise KronError(Code.IDENTITY, f"{quoted(identifier)} is not valid Unicode") from None
