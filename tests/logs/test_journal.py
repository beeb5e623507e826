"""The journal: how it delays lines, and what happens to lines that cannot be written."""

from __future__ import annotations

import gc
import os
import socket
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text
from kron.logs import journal as journal_module
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.logs.writer import Format
from kron.testing.clock import FakeClock

NOON = "2026-03-01T12:00:00Z"
TEXTS = ("0 12 * * * @win(after,1h)", "0 12 * * * @only(hours=1)")
"""One that has a chosen time, and one that has none."""


def jobs(count: int) -> list[Any]:
    return [
        SimpleNamespace(
            namespace="/etc/jobs.kron",
            name=f"job-{number}",
            uid="",
            schedule=kron.parse_schedule(TEXTS[number % 2]),
            schedule_text=TEXTS[number % 2],
        )
        for number in range(count)
    ]


def tell(journal: Journal, clock: FakeClock, entries: list[Any]) -> None:
    """Something of everything, in an order that the kinds of lines do not have by themselves."""
    for entry in entries:
        decision = decide_at(entry.schedule, entry.name, from_text(NOON))
        clock.advance(0.25)
        journal.of_job(Event.SUSPENDED, entry, suspend=True)
        journal.decisions(entry, [decision])
        clock.advance(0.25)
        journal.of_job(Event.CLOCK_CHANGED, entry, at_ns=clock.now_ns() - 1, now=NOON)
        journal.error("start", "there is no program", entry, level=Level.WARN)


@pytest.mark.parametrize("count", [1, 16, 40])
@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("explain", [False, True], ids=["plain", "explained"])
def test_what_was_held_back_is_what_would_have_been_written(
    tmp_path: Path, form: Format, count: int, explain: bool
) -> None:
    written: list[bytes] = []
    for is_held in (False, True):
        clock = FakeClock(NOON)
        path = tmp_path / f"log-{is_held}"
        journal = Journal(clock, str(path), form, explain=explain)
        if is_held:
            with journal.held():
                tell(journal, clock, jobs(count))
                assert path.read_bytes() == b""
        else:
            tell(journal, clock, jobs(count))
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert written[0].count(b"\n") >= 4 * count


def test_what_was_held_back_is_written_even_if_the_work_fails(tmp_path: Path) -> None:
    clock = FakeClock(NOON)
    journal = Journal(clock, str(tmp_path / "log"))

    def work() -> None:
        with journal.held():
            tell(journal, clock, jobs(2))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert (tmp_path / "log").read_text().count("\n") == 8
    journal.event(Event.CLOCK_CHANGED, now=NOON)
    assert (tmp_path / "log").read_text().count("\n") == 9, "it holds nothing back any more"


def test_lines_that_cannot_be_written_are_counted_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock(NOON)
    path = tmp_path / "log"
    journal = Journal(clock, str(path))
    full = Journal(clock, "/dev/full")
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_descriptor", full._descriptor)
        with journal.held():
            tell(journal, clock, jobs(4))
    assert (journal.lost, path.read_text()) == (16, "")
    journal.decisions(jobs(1)[0], [decide_at(jobs(1)[0].schedule, "job", from_text(NOON))])
    reported, line = path.read_text().splitlines()
    assert 'error="16 lines could not be written"' in reported
    assert " event=decision " in line
    assert journal.lost == 0


# A log that nobody reads

MANY = 2_000
"""Lines that are more than a pipe or a socket holds."""


class Standard:
    """A standard error of the kind that is named, and who should read from it."""

    def __init__(self, kind: str) -> None:
        self.reader, self.writer = os.pipe()
        if kind == "socket":
            os.close(self.reader)
            os.close(self.writer)
            pair = socket.socketpair()
            self.reader, self.writer = (end.detach() for end in pair)

    def read(self) -> bytes:
        """What is there."""
        os.set_blocking(self.reader, False)
        found = b""
        while True:
            try:
                found += os.read(self.reader, 65_536)
            except BlockingIOError:
                return found

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture(params=["pipe", "pipe-of-another", "socket"])
def standard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standard]:
    made = Standard(request.param)
    monkeypatch.setattr(journal_module, "STANDARD_ERROR", made.writer)
    if request.param == "pipe-of-another":

        def refused(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refused)
    yield made
    made.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a journal is never closed
        gc.collect()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the log was going to be waited for, each time, of a fifth of a second."""
    asked: list[float] = []
    has_room = journal_module._has_room

    def noted(descriptor: int, timeout_s: float) -> bool:
        asked.append(timeout_s)
        return has_room(descriptor, timeout_s)

    monkeypatch.setattr(journal_module, "_has_room", noted)
    monkeypatch.setattr(journal_module, "PATIENCE_S", 0.2)
    return asked


def test_a_log_that_nobody_reads_is_waited_for_once(standard: Standard, waits: list[float]) -> None:
    journal = Journal(FakeClock(NOON))
    for _ in range(MANY):
        journal.event(Event.CLOCK_CHANGED, now=NOON)
    lost = journal.lost
    assert 0 < lost < MANY
    assert sum(wait_s > 0 for wait_s in waits) == 1
    assert os.get_blocking(standard.writer), "processes that share it rely on that"
    assert standard.read().count(b"\n") == MANY - lost
    journal.event(Event.CLOCK_CHANGED, now=NOON)
    *_, reported, line = standard.read().splitlines()
    assert f'error="{lost} lines could not be written"'.encode() in reported
    assert b"event=clock_changed" in line
    assert journal.lost == 0


def test_a_terminal_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.openpty()
    monkeypatch.setattr(journal_module, "STANDARD_ERROR", writer)
    monkeypatch.setattr(journal_module, "PATIENCE_S", 0.05)
    journal = Journal(FakeClock(NOON))
    for _ in range(MANY):
        journal.event(Event.CLOCK_CHANGED, now=NOON)
    assert journal.lost
    assert os.get_blocking(writer), "processes that share it rely on that"
    os.close(reader)
    os.close(writer)


@pytest.mark.heavy
def test_a_log_that_is_read_slowly_costs_lines_and_hardly_any_time(
    standard: Standard, waits: list[float]
) -> None:
    journal = Journal(FakeClock(NOON))
    for _ in range(8):
        for _ in range(MANY):
            journal.event(Event.CLOCK_CHANGED, now=NOON)
        assert journal.lost
        standard.read()  # so that some lines go through, and none is lost for a while
    assert sum(wait_s > 0.1 for wait_s in waits) == 1


def test_a_named_pipe_that_nobody_reads_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    with pytest.raises(OSError, match="No such device"):
        Journal(FakeClock(NOON), path=str(tmp_path / "log"))


def test_a_log_that_is_read_as_fast_as_can_be_loses_nothing(
    standard: Standard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PATIENCE_S", 60.0)  # however busy the machine is
    journal = Journal(FakeClock(NOON))
    found = bytearray()

    def read() -> None:
        while b"event=stopping" not in found:
            found.extend(os.read(standard.reader, 65_536))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(MANY):
        journal.event(Event.CLOCK_CHANGED, now=NOON)
    journal.error("start", "a line longer than a pipe holds " * 4_000)
    journal.event(Event.STOPPING, reason="over", active=0)
    reader.join()
    assert journal.lost == 0
    assert found.count(b"\n") == MANY + 2


def test_a_line_that_was_torn_does_not_spoil_the_next(
    standard: Standard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PATIENCE_S", 0.01)
    journal = Journal(FakeClock(NOON))
    journal.error("start", "a line longer than a pipe or a socket holds " * 20_000)
    assert journal.lost == 1
    assert b"\n" not in standard.read()
    journal.event(Event.CLOCK_CHANGED, now=NOON)
    torn, reported, line = standard.read().split(b"\n")[:3]
    assert torn == b""
    assert b"1 lines could not be written" in reported
    assert b"event=clock_changed" in line
