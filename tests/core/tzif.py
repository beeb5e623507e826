"""The IANA database read straight from its TZif files (RFC 8536), without zoneinfo or kron.

Only what the tests need: where the offset of a zone changes, as far as the file lists it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from importlib import resources
from pathlib import Path
from zoneinfo import TZPATH, available_timezones

_HEADER = struct.Struct(">4sc15x6l")
HOST_DEPENDENT = {"localtime", "posixrules", "Factory"}
ZONES = tuple(sorted(available_timezones() - HOST_DEPENDENT))


@lru_cache(maxsize=1024)
def offset_changes(key: str) -> tuple[tuple[int, int], ...]:
    """(first second, offset in seconds) wherever the offset differs from the one before."""
    transitions, indices, offsets = _blocks(_content(key))
    changes = []
    current = offsets[0]
    for instant_s, index in zip(transitions, indices, strict=True):
        if offsets[index] != current:
            current = offsets[index]
            changes.append((instant_s, current))
    return tuple(changes)


def first_offset(key: str) -> int:
    """The offset before the first change."""
    return _blocks(_content(key))[2][0]


def _content(key: str) -> bytes:
    for directory in TZPATH:
        file = Path(directory) / key
        if file.is_file():
            return file.read_bytes()
    return resources.files("tzdata.zoneinfo").joinpath(*key.split("/")).read_bytes()


def _blocks(content: bytes) -> tuple[tuple[int, ...], bytes, list[int]]:
    """Transitions, their types and the offset of each type, from the 64-bit block."""
    magic, version, *counts = _HEADER.unpack_from(content)
    assert magic == b"TZif"
    assert version >= b"2", "a file without 64-bit data"
    utc_count, standard_count, leap_count, time_count, type_count, name_size = counts
    first_block = (
        time_count * 5 + type_count * 6 + name_size + leap_count * 8 + standard_count + utc_count
    )
    start = _HEADER.size + first_block
    _, _, _, _, _, time_count, type_count, _ = _HEADER.unpack_from(content, start)
    start += _HEADER.size
    transitions = struct.unpack_from(f">{time_count}q", content, start)
    start += time_count * 8
    indices = content[start : start + time_count]
    start += time_count
    offsets = [
        struct.unpack_from(">l", content, start + 6 * number)[0] for number in range(type_count)
    ]
    return transitions, indices, offsets
