"""JSON without what is nested too deeply for Python's reader, which recurses.

An API server takes ten thousand levels wherever fields are not declared, also from somebody who may
write nothing but a KronJob.
"""

from __future__ import annotations

import re

DEEPEST = 200
"""How many levels are kept. A KronJob has some twenty."""
CUT = b'"(nested too deeply)"'
"""What stands for what is cut off."""
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def is_shallow(data: bytes) -> bool:
    """Whether no value of this text is below the deepest level, and none was cut off."""
    most = data.count(b"[") + data.count(b"{")
    return CUT not in data and (most <= DEEPEST or shallow(data) == data)


def shallow(data: bytes) -> bytes:
    """The same text, with `CUT` for each value at a level below the deepest."""
    kept: list[bytes] = []
    depth = begin = 0
    for found in _TOKENS.finditer(data):
        token = found[0]
        if token in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept += data[begin : found.start()], CUT
        elif token in b"]}":
            if depth == DEEPEST + 1:
                begin = found.end()
            depth -= 1
    if depth > DEEPEST:  # it does not end, which is for its reader to report
        return b"".join(kept)
    return b"".join((*kept, data[begin:]))
