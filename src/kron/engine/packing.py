"""Many instants in few bytes: the gaps between them, compressed, as text.

A window that is longer than the gap between periods leaves many periods handled above the
watermark. Their nominal instants come from a cron expression, so the gaps between them, counted in
a unit that all of them share, are small and much alike. What is read may come from anywhere: its
size is bounded before it is unpacked, and so is everything that it unpacks to.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import gcd

from kron.core.frozen import Frozen
from kron.core.instant import FIRST_S, LAST_S

_MORE = 0x80
"""The bit of a byte that says that the number goes on in the next byte; seven bits are its own."""
_LONGEST_NUMBER = 5
"""Bytes: enough for all the seconds of all the years that Kron covers."""


class PackedInstants(Frozen):
    count: int
    first_s: int
    unit_s: int
    """Gaps are multiples of it."""
    gaps: str
    """Base64 of a zlib stream of the `count - 1` gaps: seven bits a byte, low ones first."""


def most_characters(most: int) -> int:
    """How long the text of at most this many instants can be, whatever they are.

    Incompressible data grows by 5 bytes for each stored block of zlib, the least of which has some
    16,000 bytes, and by 6 for the stream.
    """
    data = most * _LONGEST_NUMBER
    return (data + data // 1_000 + 64) * 4 // 3 + 4


def pack(instants_s: Iterable[int]) -> PackedInstants:
    """Pack different instants; there has to be one at least."""
    ordered_s = sorted(instants_s)
    gaps_s = [later_s - earlier_s for earlier_s, later_s in pairwise(ordered_s)]
    unit_s = gcd(*gaps_s) or 1
    data = zlib.compress(_to_bytes([gap_s // unit_s for gap_s in gaps_s]))
    text = binascii.b2a_base64(data, newline=False).decode("ascii")
    return PackedInstants(len(ordered_s), ordered_s[0], unit_s, text)


def unpack(packed: PackedInstants, most: int) -> frozenset[int]:
    """The inverse of `pack`; `ValueError` if it is no such thing, or more than `most` instants."""
    if not 1 <= packed.count <= most:
        raise ValueError(f"the count is not from 1 to {most}")
    span_s = LAST_S - FIRST_S
    if not 1 <= packed.unit_s <= span_s:
        raise ValueError(f"the unit is not from 1 to {span_s} seconds")
    if len(packed.gaps) > most_characters(most):
        raise ValueError("the gaps are too long")
    gaps = _from_bytes(_inflated(packed.gaps, (packed.count - 1) * _LONGEST_NUMBER))
    if len(gaps) != packed.count - 1 or not all(gaps):
        raise ValueError(f"there are not {packed.count - 1} gaps")
    unit_s = packed.unit_s
    instants_s = list(accumulate([gap * unit_s for gap in gaps], initial=packed.first_s))
    if instants_s[-1] > LAST_S:
        raise ValueError("the last instant is too late")
    return frozenset(instants_s)


def _to_bytes(numbers: Sequence[int]) -> bytes:
    if max(numbers, default=0) < _MORE:
        return bytes(numbers)  # as nearly always, and many times as fast
    data = bytearray()
    for number in numbers:
        left = number
        while left >= _MORE:
            data.append(left & (_MORE - 1) | _MORE)
            left >>= 7
        data.append(left)
    return bytes(data)


def _from_bytes(data: bytes) -> Sequence[int]:
    if data.isascii():
        return data  # each byte is a number
    numbers = []
    number = shift = 0
    for byte in data:
        number |= (byte & (_MORE - 1)) << shift
        if byte & _MORE:
            shift += 7
            if shift >= 7 * _LONGEST_NUMBER:
                raise ValueError("a gap is too long")
        else:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("the last gap is cut off")
    return numbers


def _inflated(text: str, most: int) -> bytes:
    """The bytes of a compressed text, of which there may be `most`."""
    stream = zlib.decompressobj()
    try:
        # One byte more than allowed, because 0 would mean without a limit.
        data = stream.decompress(binascii.a2b_base64(text, strict_mode=True), most + 1)
    except (ValueError, zlib.error) as error:  # a text that is not ASCII is a ValueError
        raise ValueError(f"the gaps do not unpack: {error}") from None
    if len(data) > most or not stream.eof or stream.unused_data:
        raise ValueError("the gaps do not unpack: they are too long, or cut off")
    return data
