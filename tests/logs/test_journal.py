"""The journal: what it holds back for a while, and what becomes of lines that cannot be written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text
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
    told, line = path.read_text().splitlines()
    assert 'error="16 lines could not be written"' in told
    assert " event=decision " in line
    assert journal.lost == 0
