"""The reader: from a stream of bytes, plain or gzip, to records and problems.

Lines in text and in JSON may be mixed. A line that does not read is reported with its number, and
reading continues. At most a few MiB of the stream are held at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.core.errors import Code, KronError, ParseError, Problem
from kron.logs.record import Record
from kron.logs.text import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class ByteSource(Protocol):
        """A file opened as `open(path, "rb")`, or a pipe."""

        def read(self, size: int, /) -> bytes | None:
            """As `io.BufferedIOBase.read`: at most `size` bytes, b"" at the end."""


ProgressCallback = Callable[[int], None]
"""Called with the number of bytes read so far."""

LINE_BYTES = 1024 * 1024
"""The longest line that is read."""

_TOO_LONG = Problem(Code.LIMIT, f"the line is longer than {LINE_BYTES:,} bytes", 0, LINE_BYTES)
_BLOCK_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_OTHER_COMPRESSION = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}


def read(source: ByteSource) -> Iterator[tuple[int, Record | Problem]]:
    """Each line with its number: its record, or the first problem of the line."""
    for number, line in lines(source):
        if not isinstance(line, str):
            yield number, line
        elif line and not line.isspace():
            yield number, read_line(line)


def read_line(line: str) -> Record | Problem:
    """The record of a line in either format, without its line break; or its problem."""
    if 4 * len(line) > LINE_BYTES and len(line.encode(errors="surrogatepass")) > LINE_BYTES:
        return _TOO_LONG
    try:
        if not line.startswith("{"):
            return read_text(line)
        from kron.logs.json_lines import read_json

        return read_json(line)
    except ParseError as error:
        return error.problems[0]


def lines(
    source: ByteSource, progress: ProgressCallback | None = None
) -> Iterator[tuple[int, str | Problem]]:
    """Each line with its number and without its line break, or a problem in its place."""
    number = 1
    rest = b""  # the beginning of a line whose end has not been read yet
    too_long = False  # whether that beginning was dropped because it is too long
    damage: Problem | None = None
    try:
        for block in _plain_blocks(source, progress):
            whole, line_break, last = block.rpartition(b"\n")
            if line_break:
                found = _decoded(rest + whole)
                if too_long:
                    found[0] = _TOO_LONG
                yield from enumerate(found, number)
                number += len(found)
                rest, too_long = last, False
            elif not too_long:
                rest += block
            if len(rest) > LINE_BYTES:
                rest, too_long = b"", True
    except KronError as error:
        damage = Problem(error.code, error.message, 0, 0, error.fix)
    if too_long:
        yield number, _TOO_LONG
    elif rest and not rest.isspace():
        yield number, _last_line(rest)
    if damage is not None:
        yield number, damage


def _decoded(whole: bytes) -> list[str | Problem]:
    """Whole lines, which end with `\\n` or `\\r\\n`."""
    if b"\r" in whole:  # one byte is found much sooner than two
        whole = whole.replace(b"\r\n", b"\n").removesuffix(b"\r")
    try:
        return [*whole.decode().split("\n")]
    except UnicodeDecodeError:
        return [_decoded_line(line) for line in whole.split(b"\n")]


def _decoded_line(line: bytes) -> str | Problem:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        place = len(line[: error.start].decode(errors="replace"))
        message = f"the line is not UTF-8: it has the byte 0x{line[error.start]:02x}"
        return Problem(Code.TEXT, message, place, place + 1)


def _last_line(line: bytes) -> str | Problem:
    """A line without a line break: JSON shows whether it is whole, text does not."""
    if line.startswith(b"{") and line.rstrip().endswith(b"}"):
        return _decoded_line(line)
    message = "the last line does not end with a line break, so it may be cut off"
    fix = "add the line break if the line is whole"
    return Problem(Code.TEXT, message, 0, len(line), fix)


def _plain_blocks(source: ByteSource, progress: ProgressCallback | None) -> Iterator[bytes]:
    """The source in blocks, decompressed if it begins like gzip; a `KronError` on damage."""
    blocks = _blocks(source, progress)
    first = next(blocks, b"")
    while 0 < len(first) < 6 and (more := next(blocks, b"")):  # a pipe may bring a byte at a time
        first += more
    for magic, name in _OTHER_COMPRESSION.items():
        if first.startswith(magic):
            fix = f"decompress it first: {name} -dc FILE"
            raise KronError(Code.TEXT, f"the log is compressed with {name}", fix=fix)
    if first.startswith(_GZIP):
        yield from _decompressed(first, blocks)
    else:
        yield first
        yield from blocks


def _blocks(source: ByteSource, progress: ProgressCallback | None) -> Iterator[bytes]:
    total = 0
    while block := source.read(_BLOCK_BYTES):
        total += len(block)
        yield block
        if progress is not None:
            progress(total)


def _decompressed(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The members of a gzip file in turn, at most a block at a time."""
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
            raise KronError(Code.TEXT, "the gzip data is incomplete: the file is cut off")
