"""The reader: from a stream of bytes, plain or gzip, to records and to what is wrong with it.

Lines in text and in JSON may be mixed. A line that does not read is reported with its number and
reading goes on; whatever arrives, at most a few MiB of it are held at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.core.errors import Code, KronError, ParseError, Problem
from kron.logs.record import Record
from kron.logs.text import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Source(Protocol):
        """Where the bytes come from: a file opened as `open(path, "rb")`, or a pipe."""

        def read(self, size: int, /) -> bytes | None:
            """As `io.BufferedIOBase.read`: at most `size` bytes, b"" at the end."""


Progress = Callable[[int], None]
"""Told how many bytes of the source have been read so far."""

LINE_BYTES = 1024 * 1024
"""The longest line that is read."""

_BLOCK_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_OTHER_COMPRESSION = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}


def read(
    source: Source, progress: Progress | None = None
) -> Iterator[tuple[int, Record | Problem]]:
    """Each line with its number: its record, or the first thing that is wrong with it."""
    for number, piece in pieces(source, progress):
        if isinstance(piece, Problem):
            yield number, piece
            continue
        for offset, line in enumerate(lines_of(piece)):
            if not isinstance(line, str):
                yield number + offset, line
            elif line and not line.isspace():
                yield number + offset, read_line(line)


def read_line(line: str) -> Record | Problem:
    """The record of a line in either format, without its line break; or what is wrong with it."""
    if 4 * len(line) > LINE_BYTES and len(line.encode(errors="surrogatepass")) > LINE_BYTES:
        return _too_long()
    try:
        if not line.startswith("{"):
            return read_text(line)
        from kron.logs.json_lines import read_json

        return read_json(line)
    except ParseError as error:
        return error.problems[0]


def lines_of(piece: bytes) -> list[str] | list[str | Problem]:
    """The lines of a piece without their line breaks, `\\n` or `\\r\\n`."""
    if b"\r" in piece:  # one byte is found much sooner than two
        piece = piece.replace(b"\r\n", b"\n")
    piece = piece.removesuffix(b"\n")
    try:
        return piece.decode().split("\n")
    except UnicodeDecodeError:
        return [_decoded(line) for line in piece.split(b"\n")]


def pieces(
    source: Source, progress: Progress | None = None
) -> Iterator[tuple[int, bytes | Problem]]:
    """Some whole lines at a time with the number of the first, or what is wrong at a line."""
    number = 1
    rest = b""  # the beginning of a line whose end has not come yet
    too_long = False  # whether that beginning was dropped, being longer than a line may be
    blocks = _plain_blocks(source, progress)
    damage: Problem | None = None
    while True:
        try:
            block = next(blocks, b"")
        except KronError as error:
            damage = Problem(error.code, error.message, 0, 0, error.fix)
            break
        if not block:
            break
        end = block.rfind(b"\n") + 1
        if end:
            whole, rest = rest + block[:end], block[end:]
            if too_long:
                yield number, _too_long()
                number += 1
                whole = whole[whole.find(b"\n") + 1 :]
                too_long = False
            if whole:
                yield number, whole
                number += whole.count(b"\n")
        elif not too_long:
            rest += block
        if len(rest) > LINE_BYTES:
            rest, too_long = b"", True
    if too_long:
        yield number, _too_long()
    elif rest and not rest.isspace():
        yield number, _last_line(rest)
    if damage is not None:
        yield number, damage


def _decoded(line: bytes) -> str | Problem:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        place = len(line[: error.start].decode(errors="replace"))
        message = f"the line is not UTF-8: there is the byte 0x{line[error.start]:02x}"
        return Problem(Code.TEXT, message, place, place + 1)


def _too_long() -> Problem:
    return Problem(Code.LIMIT, f"the line is longer than {LINE_BYTES:,} bytes", 0, LINE_BYTES)


def _last_line(line: bytes) -> bytes | Problem:
    """A line that nothing ends: JSON shows by itself whether it is whole, text does not."""
    if line.startswith(b"{") and line.rstrip().endswith(b"}"):
        return line
    message = "the last line does not end with a line break, so it may be cut off"
    fix = "add the line break if the line is whole"
    return Problem(Code.TEXT, message, 0, len(line), fix)


def _plain_blocks(source: Source, progress: Progress | None) -> Iterator[bytes]:
    """The source in pieces, decompressed if it begins as gzip does; a `KronError` on damage."""
    blocks = _blocks(source, progress)
    first = next(blocks, b"")
    while 0 < len(first) < 6 and (more := next(blocks, b"")):  # a pipe may bring a byte at a time
        first += more
    for magic, name in _OTHER_COMPRESSION.items():
        if first.startswith(magic):
            fix = f"{name} -dc FILE, and read what that prints"
            raise KronError(Code.TEXT, f"the log is compressed with {name}", fix=fix)
    if first.startswith(_GZIP):
        yield from _decompressed(first, blocks)
    else:
        yield first
        yield from blocks


def _blocks(source: Source, progress: Progress | None) -> Iterator[bytes]:
    total = 0
    while block := source.read(_BLOCK_BYTES):
        total += len(block)
        yield block
        if progress is not None:
            progress(total)


def _decompressed(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The members of a gzip file, one after the other, never more than a block at a time."""
    import zlib

    member = zlib.decompressobj(wbits=31)
    waiting = first
    while True:
        try:
            block = member.decompress(waiting, _BLOCK_BYTES)
        except zlib.error as error:
            raise KronError(Code.TEXT, f"the gzip data is damaged here ({error})") from None
        if block:
            yield block
        waiting = member.unused_data if member.eof else member.unconsumed_tail
        if member.eof:
            waiting = waiting.lstrip(b"\0")  # padding
            while not waiting and (more := next(blocks, b"")):
                waiting = more.lstrip(b"\0")
            if not waiting:
                return
            member = zlib.decompressobj(wbits=31)
        elif not waiting and not (waiting := next(blocks, b"")) and not block:
            raise KronError(Code.TEXT, "the gzip data ends before its end: the file is cut off")
