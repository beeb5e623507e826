"""A capped file: the beginning and the end of what came through a pipe, and never more on disk."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.krond.output.capped_file import CappedFile
from kron.krond.output.layout import MARK_BYTES, left_out_mark, read_layout, ring_mark
from kron.krond.output.names import OutputName
from kron.krond.output.reader import KeptOutput, pieces

LIMIT = 2_000
HEAD, TAIL = LIMIT // 2, LIMIT - LIMIT // 2
RUN = "9f0c2d4e6a8b1c3d5e7f"
NAME = f"20260302T020731.004217Z-{RUN}.log"


class Written:
    """A capped file and the pipe that feeds it."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        self.limit = limit
        self._reading, self._writing = os.pipe()
        self._file = self._opened()

    def _opened(self) -> CappedFile:
        return CappedFile(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), RUN, self.limit)

    def feed(self, data: bytes) -> None:
        for start in range(0, len(data), 30_000):
            piece = data[start : start + 30_000]
            os.write(self._writing, piece)
            self._take(len(piece))

    def _take(self, count: int) -> None:
        import fcntl
        import termios

        waiting = bytearray(4)
        for _ in range(2 * count + 2):
            fcntl.ioctl(self._reading, termios.FIONREAD, waiting)
            if not int.from_bytes(waiting, "little"):
                return
            self._file.take(self._reading)
        raise AssertionError("it does not take what the pipe has")

    def go_on_elsewhere(self) -> None:
        """As another process does after the one that wrote was killed."""
        os.close(self._file._descriptor)
        self._file = self._opened()

    def finish(self) -> CappedFile:
        self._file.finish()
        os.close(self._reading)
        os.close(self._writing)
        return self._file

    def shown(self) -> bytes:
        name = OutputName.read(NAME)
        assert name is not None
        return b"".join(pieces(KeptOutput(str(self.path), name)))


def numbered(count: int) -> bytes:
    """Bytes that differ by their place."""
    return b"".join(b"%07d\n" % number for number in range(count // 8 + 1))[:count]


def expected(data: bytes, limit: int = LIMIT) -> bytes:
    if len(data) <= limit:
        return data
    head = limit // 2
    mark = left_out_mark(RUN, len(data) - limit)
    return data[:head] + mark + data[len(data) - (limit - head) :]


@pytest.mark.parametrize(
    "count", [0, 1, HEAD, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + TAIL, LIMIT + TAIL + 1, 100_000]
)
def test_the_beginning_and_the_end_are_kept(tmp_path: Path, count: int) -> None:
    written = Written(tmp_path / NAME)
    written.feed(numbered(count))
    assert written.shown() == expected(numbered(count)), "while it is written"
    assert written.path.stat().st_size <= LIMIT + MARK_BYTES
    assert written.finish().lost == 0
    assert written.path.read_bytes() == expected(numbered(count)), "as anybody finds it"
    assert written.shown() == expected(numbered(count))


@given(steps=st.lists(st.one_of(st.integers(1, 5_000), st.none()), max_size=8))
def test_it_goes_on_where_another_process_has_stopped(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int | None]
) -> None:
    written = Written(tmp_path_factory.mktemp("output") / NAME)
    data = numbered(sum(step or 0 for step in steps))
    fed = 0
    for step in steps:
        if step is None:
            written.go_on_elsewhere()
        else:
            written.feed(data[fed : fed + step])
            fed += step
            assert written.shown() == expected(data[:fed])
    written.finish()
    assert written.path.read_bytes() == expected(data)


def test_one_that_is_finished_is_not_changed_by_another_process(tmp_path: Path) -> None:
    written = Written(tmp_path / NAME)
    written.feed(numbered(10_000))
    written.finish()
    again = Written(tmp_path / NAME)
    again.feed(b"late")
    assert again.finish().lost == 4
    assert written.path.read_bytes() == expected(numbered(10_000))


def test_a_run_cannot_lead_the_reader_out_of_its_own_bytes(tmp_path: Path) -> None:
    """It knows its id, so that it can print our own lines."""
    for begin, head in ((5, 10), (10**9, 5), (10, 10**9)):
        written = Written(tmp_path / f"{begin}")
        written.feed(b"x" * 50 + ring_mark(RUN, 9, head, begin))
        assert set(written.shown()) <= set(written.path.read_bytes() + b"0123456789 \n")
        written.go_on_elsewhere()
        written.feed(numbered(10_000))
        assert written.finish().error == 0
        assert written.path.stat().st_size <= LIMIT + MARK_BYTES


@pytest.mark.parametrize("of", ["0" * 20, "f" * 20])
def test_lines_of_another_run_are_bytes_like_any_others(tmp_path: Path, of: str) -> None:
    """A run may print the output of another, as `krond output` shows it or as it is on disk."""
    for place, text in enumerate(
        (
            b"x" * 300 + ring_mark(of, 5, 100, 200),
            b"x" * 100 + left_out_mark(of, 5) + b"y" * 100,
        )
    ):
        written = Written(tmp_path / f"{place}")
        written.feed(text)
        assert written.shown() == text
        written.go_on_elsewhere()
        written.feed(b"more")
        written.finish()
        assert written.path.read_bytes() == text + b"more"


def test_our_lines_have_room_for_any_numbers() -> None:
    for number in (0, 10**8, 10**15):
        assert len(ring_mark(RUN * 5, number, number, number)) == MARK_BYTES
        assert len(left_out_mark(RUN * 5, number)) == MARK_BYTES


@contextmanager
def no_room_beyond(size: int) -> Iterator[None]:
    """Files of this process cannot grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


class TestNoRoom:
    def test_what_does_not_fit_is_dropped_and_mentioned_once_there_is_room(
        self, tmp_path: Path
    ) -> None:
        written = Written(tmp_path / NAME)
        written.feed(b"before\n")
        with no_room_beyond(7):
            written.feed(b"dropped\n")
            written.feed(b"dropped, too\n")
        written.feed(b"after\n")
        assert written.finish().lost == 0
        lost = b"\n[krond lost 21 bytes of output here: File too large]\n"
        assert written.path.read_bytes() == b"before\n" + lost + b"after\n"

    def test_it_is_mentioned_at_the_end_if_nothing_more_comes(self, tmp_path: Path) -> None:
        written = Written(tmp_path / NAME)
        with no_room_beyond(0):
            written.feed(b"dropped\n")
        written.finish()
        assert b"[krond lost 8 bytes" in written.path.read_bytes()

    def test_if_there_never_is_room_the_loss_can_be_reported(self, tmp_path: Path) -> None:
        written = Written(tmp_path / NAME)
        with no_room_beyond(20):
            written.feed(b"0123456789")
            written.feed(b"0123456789")
            written.feed(b"dropped\n")
            assert written.finish().lost == 8
        assert written.path.read_bytes() == b"01234567890123456789"

    def test_the_end_is_kept_where_only_our_own_line_does_not_fit(self, tmp_path: Path) -> None:
        written = Written(tmp_path / NAME)
        data = numbered(10_000)
        with no_room_beyond(LIMIT):
            written.feed(data)
            assert written.finish().lost == 0
        kept = written.path.read_bytes()
        assert len(kept) == LIMIT
        assert kept[:HEAD] == data[:HEAD]
        assert (
            kept[HEAD:]
            == left_out_mark(RUN, 10_000 - LIMIT + MARK_BYTES) + data[MARK_BYTES - TAIL :]
        )


def test_a_file_system_without_splice_keeps_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "splice", refuse)
    written = Written(tmp_path / NAME)
    written.feed(numbered(50_000))
    written.finish()
    assert written.path.read_bytes() == expected(numbered(50_000))


def test_the_layout_says_how_much_was_printed(tmp_path: Path) -> None:
    written = Written(tmp_path / NAME)
    for count in (500, 3_000, 5_000):
        written.feed(numbered(count))
    with written.path.open("rb") as file:
        assert read_layout(file.fileno(), RUN).total == 8_500
    written.finish()
    with written.path.open("rb") as file:
        assert read_layout(file.fileno(), RUN).total == 8_500
