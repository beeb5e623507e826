"""Worker processes: the same findings in the same order, and nothing is left behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import kron.logs.replay
from kron.core.instant import to_text
from kron.logs import Event, record
from kron.logs.crew import Crew
from kron.logs.replay import Replay
from tests.logs.records import BACKUP, decided, log, with_field

START = "2026-03-01T00:00:00Z"


def a_log(days: int) -> bytes:
    """Decisions and triggers of a few jobs; some are wrong, and some lines are junk."""
    lines = []
    before = None
    for day in range(days):
        nominal = to_text(86_400 * day)
        (made,) = decided(BACKUP, nominal=nominal, name=f"job-{day % 7}")
        wrong = day % 501 == 5
        lines.append(log([with_field(made, "attempts", "7") if wrong else made]))
        if before is not None:
            chosen = START if day % 701 == 3 else before["chosen"]
            fired = {key: before[key] for key in ("namespace", "name", "period")}
            lines.append(log([record(Event.TRIGGER, 0, **fired, chosen=chosen, now=chosen)]))
        if day % 997 == 9:
            lines.append(b"junk\n")
        before = made
    return b"".join(lines)


@pytest.fixture(scope="module")
def long_log() -> bytes:
    return a_log(6_000)


@pytest.fixture(autouse=True)
def _help_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kron.logs.replay, "HIRE_BYTES", 1)
    monkeypatch.setattr(kron.logs.replay, "ALONE_BYTES", 1)


def children() -> set[int]:
    """The processes that this one has started and not yet waited for."""
    mine = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            mine.add(int(status.parent.name))
    return mine


def test_the_findings_do_not_depend_on_the_workers(long_log: bytes) -> None:
    alone = Replay(io.BytesIO(long_log), workers=1)
    expected = list(alone)
    assert len(expected) == 12 + 9 + 7
    assert alone.counts.chosen_checked == 5_999
    for workers in (2, 3):
        before = children()
        together = Replay(io.BytesIO(long_log), workers=workers)
        assert list(together) == expected
        assert together.counts == alone.counts
        assert children() == before


def test_workers_end_when_nobody_wants_the_rest(long_log: bytes) -> None:
    before = children()
    findings = iter(Replay(io.BytesIO(long_log * 3), workers=2))
    next(findings)
    assert len(list(islice(findings, 12))) == 12
    assert len(children() - before) == 2
    findings.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_worker_that_dies_is_an_error(long_log: bytes) -> None:
    before = children()
    crew = Crew(2)
    results = crew.checked(iter([(1, long_log)] * 9))
    next(results)
    for worker in children() - before:
        os.kill(worker, signal.SIGKILL)
    with pytest.raises(ChildProcessError, match="has died"):
        list(results)
    crew.dismiss()
    assert children() == before


def test_workers_that_died_before_they_were_asked_are_an_error(long_log: bytes) -> None:
    before = children()
    crew = Crew(2)
    for worker in children() - before:
        os.kill(worker, signal.SIGKILL)
        os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ChildProcessError, match="has died"):
        list(crew.checked(iter([(1, long_log)])))
    crew.dismiss()


def test_where_no_process_can_be_started_one_does_it_alone(
    long_log: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    expected = list(Replay(io.BytesIO(long_log), workers=1))
    real = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def second_fails(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(real(*args, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", second_fails)
    assert list(Replay(io.BytesIO(long_log), workers=2)) == expected
    assert len(started) == 1
    assert children() == before


def test_an_error_of_the_source_ends_the_workers(long_log: bytes) -> None:
    class Breaking(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > len(long_log) // 2:
                raise OSError(5, "I/O error")
            return super().read(size)

    before = children()
    with pytest.raises(OSError, match="I/O error"):
        list(Replay(Breaking(long_log), workers=2))
    assert children() == before


PROGRAM = """
import sys, kron.logs.replay as replay
replay.HIRE_BYTES = replay.ALONE_BYTES = 1
for finding in replay.Replay(sys.stdin.buffer, workers=2):
    print(finding, flush=True)
"""


def start() -> subprocess.Popen[bytes]:
    """Replay in a session of its own, fed through a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def session(leader: int) -> set[int]:
    """The live processes of a session."""
    members = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            members.add(int(status.parent.name))
    return members


def wait_for(leader: int, count: int) -> None:
    """Wait until a session has so many processes: they come and go when they can."""
    deadline = time.monotonic() + 20
    while len(session(leader)) != count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(session(leader)) == count


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(signal.SIGINT, id="ctrl-c"),
        pytest.param(signal.SIGTERM, id="terminated"),
        pytest.param(signal.SIGKILL, id="killed"),
    ],
)
def test_a_signal_leaves_no_process_behind(long_log: bytes, stop: signal.Signals) -> None:
    process = start()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(long_log)
    wait_for(process.pid, 3)  # the workers are there, and the input may go on
    os.killpg(process.pid, stop)  # as a terminal does: to the group in the foreground
    _, errors = process.communicate()
    wait_for(process.pid, 0)
    assert process.returncode == -stop
    if stop is signal.SIGINT:
        assert (
            errors.count(b"Traceback") == 1
        )  # of the program, which does not catch it; no worker's
        assert errors.rstrip().endswith(b"KeyboardInterrupt")
    else:
        assert errors == b""


def test_a_reader_that_has_gone_ends_everything(long_log: bytes) -> None:
    process = start()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(long_log)
    assert process.stdout.readline()
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.write(long_log)
    process.stdin.close()
    assert process.wait(20) != 0
    assert process.stderr is not None
    assert b"BrokenPipeError" in process.stderr.read()
    process.stderr.close()
    wait_for(process.pid, 0)
