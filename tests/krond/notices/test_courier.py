"""Deliveries in a loop of the test's own: what would take a minute, or a thousand notices."""

from __future__ import annotations

import fcntl
import gc
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from kron.jobs.entry import Entry
from kron.jobs.line import LineReader
from kron.krond.configuration.settings import OutputSettings
from kron.krond.history.writer import History
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timers
from kron.krond.notices import courier
from kron.krond.notices import notices as notices_module
from kron.krond.notices.message import STILL_OPEN
from kron.krond.notices.notices import Notices
from kron.krond.output.captures import Captures
from kron.krond.output.names import OutputName, directory_name
from kron.krond.output.wire import Closed
from kron.krond.process.processes import Processes
from kron.krond.state.directory import Directory
from kron.krond.state.errors import PersistenceError
from kron.krond.state.file_replacer import FileReplacer
from kron.krond.state.record import RETRIED, Ended, JobState, RunRecord
from kron.krond.state.writeback import WriteBack
from kron.krond.surroundings import Surroundings
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from tests.logbook import PATIENCE_S, Logbook, wait_for

SECOND_NS = 10**9


class Office(Logbook):
    """Notices, with everything that they need, and a loop."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.spool = directory / "state" / "notices"
        self._poller, clock = Poller(), Clock()
        self._timers = Timers(clock)
        self._clock = clock
        self.state = Directory.make(str(directory / "state"))
        journal = Journal(clock, str(self.log))
        waits = (clock, self._timers, self._poller, Processes())
        settings = OutputSettings(str(directory / "outputs"), is_default=True)
        self.captures = Captures(settings, journal, *waits)
        of_krond = {b"PATH": b"/usr/bin:/bin", b"SECRET": b"of krond"}
        surroundings = Surroundings(of_krond, None, self.captures)
        self.notices = Notices(self.state, journal, *waits, surroundings, self.captures)
        self.history = History(self.state, journal, clock, self._timers)

    def close(self) -> None:
        """Leave no descriptor to the garbage collector: other tests here count theirs."""
        self.notices.close()
        self.state.close()
        self._poller.close()
        del self.notices, self.history, self.captures, self._timers
        gc.collect()

    def job(self, fields: str, name: str = "job") -> Entry:
        line = f"0 0 * * * name={name} command=/bin/true shell=true {fields}"
        return LineReader().read(line, path="/jobs", line=1, scope="/jobs:")

    def end(self, entry: Entry, run_id: str, *, exit_code: int = 1) -> None:
        ended = RunRecord(run_id, None, None, started_ns=1).ended("", exit_code=exit_code)
        self.notices.send(self.notices.keep([(entry, ended, 1)]))

    def print(self, entry: Entry, run_id: str, text: str) -> Path:
        """Keep this as the output of a run: its file."""
        where = self.directory / "outputs" / directory_name(entry.identity, entry.name)
        where.mkdir(parents=True, exist_ok=True)
        file = where / str(OutputName.of(1, run_id))
        file.write_text(text)
        return file

    def sendmail(self, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Have a sendmail that writes its environment and the message to a file."""
        program, mail = self.directory / "sendmail", self.directory / "mail"
        program.write_text(f"#!/bin/sh\n(env; cat) > {mail}\n")
        program.chmod(0o755)
        monkeypatch.setenv("KRON_SENDMAIL", str(program))
        return mail

    def turn_until(self, is_so: Callable[[], object], what: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline_s, what
            for callback, events in self._poller.wait(0.01):
                callback(events)
            self._timers.fire_due(self._clock.monotonic_ns())

    def reasons(self) -> list[str]:
        return [str(each["reason"]) for each in self.events("notice_lost")]


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr(courier, "GAP_NS", SECOND_NS // 50)
    processes = Processes()
    before = processes.children()
    made = Office(tmp_path)
    yield made
    made.close()

    def are_reaped() -> bool:
        left = [pid for pid in processes.children() if pid not in before]
        for pid in left:
            processes.reap_if_ended(pid)
        return not left

    wait_for(are_reaped, "its processes are gone: other tests here count theirs")


def test_a_hook_that_takes_too_long_is_killed_with_all_that_it_has_started(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "LIMIT_NS", SECOND_NS // 5)
    office.end(office.job(f'on_failure="sleep 1000 & echo $! > {office.directory}/pid; wait"'), "a")
    office.turn_until(office.reasons, "it is killed")
    assert office.reasons() == ["it took longer than 200ms and was killed"]
    pid = (office.directory / "pid").read_text().strip()
    office.turn_until(lambda: not Path(f"/proc/{pid}/stat").exists() or _is_zombie(pid), "gone")


def _is_zombie(pid: str) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_no_hook_starts_while_runs_may_wait_for_the_same_commit(office: Office) -> None:
    office.captures.tails.expect("a")
    office.captures.tails.closed(Closed("a", ""))  # so there is nothing to wait for
    office.end(office.job("on_failure=true"), "a")
    assert office.notices.pids == set()
    office.turn_until(lambda: office.events("notice_sent"), "it is delivered")


def test_what_is_too_much_is_logged_as_lost(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices_module, "MOST_WAITING", 3)
    entry = office.job('on_failure="sleep 1000"')
    for number in range(5):
        office.end(entry, f"run-{number}")
    assert len(office.reasons()) == 2
    assert [each["run_id"] for each in office.events("notice_lost")] == ["run-3", "run-4"]
    assert len(list(office.spool.iterdir())) == 3
    assert office.notices.trouble() == "2 notices lost in the last hour"
    monkeypatch.setattr(notices_module, "MANY_WAITING", 2)
    assert office.notices.trouble() == "2 notices lost in the last hour, 3 wait to be delivered"
    monkeypatch.setattr(notices_module, "LATELY_NS", 0)
    assert office.notices.trouble() == "3 wait to be delivered"


def test_what_hangs_holds_up_neither_other_users_nor_other_means(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that does not answer must not silence the pager."""
    monkeypatch.setattr(notices_module, "MOST_WAITING", 20)
    silent = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
    for number in range(25):
        office.end(office.job(f"on_failure={url}", name=f"ping-{number}"), f"ping-{number}")
        office.end(office.job('on_failure="sleep 1000"', name=f"hang-{number}"), f"hang-{number}")
    others = office.job(f'user={os.getuid()} on_failure="touch {office.directory}/heard"')
    office.end(others, "pager")
    office.turn_until((office.directory / "heard").exists, "the pager hears of it")
    lost = Counter(each["means"] for each in office.events("notice_lost"))
    assert lost == {"ping": 5, "command": 5}
    silent.close()


def test_a_hook_does_without_the_directory_that_its_run_lacked(office: Office) -> None:
    lacking = "cwd=/nonexistent env_file=/nonexistent/env"
    office.end(office.job(f'{lacking} on_failure="pwd > {office.directory}/heard"'), "a")
    office.turn_until(lambda: office.events("notice_sent"), "it is delivered")
    assert (office.directory / "heard").read_text() == "/\n"
    assert office.reasons() == []


def test_a_notice_that_cannot_be_made_is_lost_and_nothing_else_is(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise TypeError("no")

    monkeypatch.setattr(courier, "facts_of", broken)
    office.end(office.job("on_failure=/bin/true"), "a")
    office.turn_until(office.reasons, "it is lost")
    assert office.reasons() == ["krond cannot make it: TypeError: no"]


MAILED = "mail=root mail_on=output"


def test_an_output_that_never_ends_is_mailed_as_far_as_it_is_there(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "OUTPUT_PATIENCE_NS", SECOND_NS // 5)
    mail = office.sendmail(monkeypatch)
    entry = office.job(f'on_failure="cat > {office.directory}/in" {MAILED}')
    file = office.print(entry, "a", "so far\n")
    held = os.open(file, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)  # as a collector does
    office.captures.tails.expect("a")
    office.end(entry, "a")
    office.turn_until(lambda: len(office.events("notice_sent")) == 2, "both are delivered")
    assert (office.directory / "in").read_bytes() == b"so far\n"
    assert f"\n{STILL_OPEN}\n\nso far\n" in mail.read_text()
    os.close(held)
    office.captures.tails.expect("b")
    office.end(entry, "b")
    office.captures.tails.closed(Closed("b", "/o", 5, b"late\n"))
    office.turn_until(lambda: len(office.events("notice_sent")) >= 4, "these have their output")
    assert (office.directory / "in").read_bytes() == b"late\n"
    assert STILL_OPEN not in mail.read_text()


def test_an_output_whose_end_was_not_reported_is_read_from_its_file(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "OUTPUT_PATIENCE_NS", SECOND_NS // 5)
    mail = office.sendmail(monkeypatch)
    entry = office.job(MAILED)
    office.print(entry, "a", "all of it\n")
    office.captures.tails.expect("a")  # krond was busy: the collector's socket was full
    office.end(entry, "a")
    office.turn_until(lambda: office.events("notice_sent"), "it is mailed")
    assert mail.read_text().endswith("all of it\n")
    assert STILL_OPEN not in mail.read_text()


def test_an_output_that_cannot_be_read_is_a_mail_lost(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.sendmail(monkeypatch)
    entry = office.job(MAILED)
    file = office.print(entry, "a", "")
    file.unlink()
    file.mkdir()
    office.end(entry, "a")
    office.turn_until(office.reasons, "it is lost")
    assert office.reasons() == [courier.UNKNOWN_OUTPUT]


def test_sendmail_has_nothing_of_the_environment_of_krond(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = office.sendmail(monkeypatch)
    office.end(office.job("mail=root"), "a")
    office.turn_until(lambda: office.events("notice_sent"), "it is mailed")
    assert "SECRET" not in mail.read_text()
    assert "LOGNAME=" in mail.read_text()


@pytest.mark.parametrize("earlier", ["a", "a.2"])
@pytest.mark.parametrize("is_known_at_once", [True, False])
def test_an_attempt_that_did_not_start_has_the_output_of_the_one_before(
    office: Office, monkeypatch: pytest.MonkeyPatch, earlier: str, *, is_known_at_once: bool
) -> None:
    mail = office.sendmail(monkeypatch)
    entry = office.job(f'on_failure="cat > {office.directory}/in" {MAILED}')
    run = RunRecord(earlier, 0, 0, started_ns=1)
    failed = (entry, run.ended("", outcome=RETRIED, ended_ns=2, exit_code=1), 1)
    never = (entry, run.next_attempt().ended("too late", ended_ns=3, exit_code=1), 1)
    office.captures.tails.expect(earlier)
    if is_known_at_once:
        parcels = office.notices.keep([failed, never])
    else:
        assert office.notices.keep([failed]) == []
        office.print(entry, earlier, "why\n")
        parcels = office.notices.keep([never])
    office.notices.send(parcels)
    office.captures.tails.closed(Closed(earlier, "/o", 4, b"why\n"))
    office.turn_until(lambda: len(office.events("notice_sent")) == 2, "both are delivered")
    assert (office.directory / "in").read_text() == "why\n"
    assert mail.read_text().endswith("why\n")


def test_a_run_that_printed_nothing_is_not_even_written_down_for_a_mail(office: Office) -> None:
    entry = office.job("mail=root mail_on=output")
    office.captures.tails.expect("a")
    office.captures.tails.closed(Closed("a", ""))
    office.end(entry, "a")
    assert not office.spool.exists()


class _Store:
    """A disk that refuses the first commits."""

    def __init__(self, refusals: int, spool: Path) -> None:
        self.refusals = refusals
        self.spool = spool
        self.seen: list[int] = []
        """How many notices were on disk at each commit."""

    def commit(self, _: list[JobState], *, quickly: bool = False) -> None:
        assert not quickly
        self.seen.append(len(list(self.spool.iterdir())) if self.spool.exists() else 0)
        if len(self.seen) <= self.refusals:
            raise PersistenceError("no room", OSError(28, "No space left on device"))

    def check_not_lost(self) -> None:
        pass


class _Member:
    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def state(self, _: str) -> None:
        pass


def test_what_is_too_much_is_logged_once_however_often_the_disk_refuses(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices_module, "MOST_WAITING", 0)
    member = _Member(office.job("on_failure=true"))
    writeback = WriteBack(_Store(4, office.spool), "boot", office.history, office.notices)  # type: ignore[arg-type]
    writeback.ended(member, Ended(0, 0, "executed", "", "a", 1, 2, 1))  # type: ignore[arg-type]
    while not writeback.commit([member]):  # type: ignore[list-item]
        assert office.reasons() == []
        writeback.resume()
    assert office.reasons() == [notices_module.TOO_MANY]


def test_a_write_that_fails_leaves_no_notice_to_be_delivered_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = office.job("on_failure=true")
    office.end(entry, "a")
    with monkeypatch.context() as patch:

        def replace(replacer: FileReplacer, files: Iterable[tuple[str, bytes]], count: int) -> None:
            replacer._replace(files, count)
            raise OSError(5, "Input/output error")  # as the last sync

        patch.setattr(FileReplacer, "replace", replace)
        office.end(entry, "b")
    assert len(list(office.spool.iterdir())) == 2
    office.turn_until(lambda: len(office.events("notice_sent")) == 2, "both are delivered")
    assert list(office.spool.iterdir()) == []


@pytest.mark.parametrize(("refusals", "seen"), [(0, [1]), (1, [1, 0]), (2, [1, 0])])
def test_a_notice_is_on_disk_before_the_end_and_makes_room_for_it(
    office: Office, refusals: int, seen: list[int]
) -> None:
    done = office.directory / "done"
    member = _Member(office.job(f'on_failure="echo >> {done}"'))
    store = _Store(refusals, office.spool)
    writeback = WriteBack(store, "boot", office.history, office.notices)  # type: ignore[arg-type]
    ended = Ended(0, 0, "executed", "", "a", 1, 2, 1)
    writeback.ended(member, ended)  # type: ignore[arg-type]
    assert writeback.commit([member]) is (refusals < 2)  # type: ignore[list-item]
    assert store.seen == seen
    if refusals < 2:
        office.turn_until(lambda: office.events("notice_sent"), "it is delivered")
    else:
        writeback.resume()
        assert writeback.commit([member])  # type: ignore[list-item]
        office.turn_until(lambda: office.events("notice_sent"), "it is delivered in the end")
    said = [each["error"] for each in office.events("error")]
    assert len(said) == (1 if refusals == 1 else 0), said
    assert done.read_text() == "\n"
    assert list(office.spool.iterdir()) == []


def test_while_deliveries_are_held_none_begins(office: Office) -> None:
    entry = office.job(f'on_failure="sleep 0.1; echo $KRON_RUN_ID >> {office.directory}/heard"')
    heard = office.directory / "heard"
    office.end(entry, "a")
    office.turn_until(lambda: office.notices.pids, "the first one begins")
    assert not office.notices.hold(), "it is going on"
    office.end(entry, "b")
    office.turn_until(office.notices.hold, "the first one has ended")
    assert heard.read_text() == "a\n"
    office.notices.release()
    office.turn_until(lambda: heard.read_text() == "a\nb\n", "the second one is delivered")
