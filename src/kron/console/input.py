"""Standard input, as far as a file may be long."""

from __future__ import annotations

import sys

from kron.core.errors import Code, KronError
from kron.core.limits import DEFAULT_LIMITS


def standard_input() -> bytes:
    """All of it; longer than a file may be, or closed, it is an error."""
    if sys.stdin is None:
        raise KronError(Code.FILE_UNREADABLE, "standard input is closed")
    data = sys.stdin.buffer.read(DEFAULT_LIMITS.file_bytes + 1)
    if len(data) > DEFAULT_LIMITS.file_bytes:
        message = f"standard input is longer than {DEFAULT_LIMITS.file_bytes} bytes"
        raise KronError(Code.LIMIT, message)
    return data
