"""Jobs with `@reboot`: once in each boot, whatever becomes of krond and of the clock in it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.engine.recovery import UNKNOWN_RESULT
from kron.krond.control.requests import job_status
from kron.krond.enrolment.boot import FILE
from kron.krond.process.processes import Processes
from kron.krond.runs.starter import ProcessStarter
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.krond.host import Host, in_boot
from tests.krond.process.expected import needs_root

NOON = "2026-03-01T12:00:00Z"
JOB = f"@reboot name=job {QUICK}"
OTHER = f"@reboot name=other {QUICK}"
DAILY = f"0 3 * * * name=job {QUICK}"


class BootedHost(Clockwork):
    """A host that can be booted again."""

    boots = 1

    def __enter__(self) -> BootedHost:
        return self

    def again(self, *lines: str, after_s: int = 60) -> None:
        """The krond is killed, and later another one starts in the same boot."""
        self.cease()
        self.clock.advance(after_s)
        self.begin(*lines)

    def reboot(self, *lines: str, at: str) -> None:
        self.cease()
        self.boots += 1
        self.clock.set(at)
        self.begin(*lines)

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.state / FILE).read_text())
        return record

    def periods(self, name: str = "job") -> list[str]:
        """The periods of a job that were executed, by its past."""
        ends = self.member(name).past.history
        return [to_text(end.nominal_s or 0) for end in ends if end.outcome == "executed"]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BootedHost]:
    with BootedHost(tmp_path, NOON) as host:
        monkeypatch.setattr(Processes, "boot_id", lambda _: f"boot-{host.boots}")
        yield host


def test_a_job_runs_when_krond_first_starts_in_a_boot_and_at_no_other_start(
    host: BootedHost,
) -> None:
    host.begin(JOB)
    assert host.started() == [NOON]
    for _ in range(3):
        host.again()
    host.reload(JOB, OTHER)
    assert host.started() == [NOON]
    host.reboot(at="2026-03-02T08:00:00Z")
    assert host.started("job") == [NOON, "2026-03-02T08:00:00Z"] == host.periods()
    assert host.started("other") == ["2026-03-02T08:00:00Z"]
    host.check_log()


def test_between_boots_it_is_due_at_no_time(host: BootedHost) -> None:
    host.begin(JOB)
    assert host.daemon._next_ns() is None
    assert job_status(host.member("job"))["next"] is None
    host.until("2026-06-01T00:00:00Z")
    assert host.started() == [NOON]


@pytest.mark.parametrize(
    "later", ["1970-01-01T00:00:30Z", "2026-02-01T00:00:00Z", NOON], ids=["1970", "behind", "same"]
)
def test_a_clock_that_is_behind_the_last_boot_keeps_no_job_from_running(
    host: BootedHost, later: str
) -> None:
    host.begin(JOB)
    for _ in range(2):
        host.reboot(at=later)
        assert not host.member("job").is_behind
        host.again(after_s=1)
    assert host.started() == [NOON, later, later]
    runs = [record["run_id"] for record in host.events("started")]
    assert len(set(runs)) == len(set(host.periods())) == 3
    assert host.daemon.troubles() == []


def test_a_clock_that_is_set_back_after_the_boot_was_taken_up_delays_nothing(
    host: BootedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """krond is killed between the intent and the start."""
    with monkeypatch.context() as context:
        context.setattr(ProcessStarter, "go", lambda _: None)
        host.begin(JOB)
        host.cease()
    assert not host.started()
    host.clock.set("1970-01-01T00:01:00Z")
    host.begin()
    assert host.started() == ["1970-01-01T00:01:00Z"]
    assert host.periods() == [NOON]
    host.again()
    assert len(host.started()) == 1


def test_it_is_not_late_when_the_clock_is_set_forward_by_decades(host: BootedHost) -> None:
    host.clock.set("1970-01-01T00:00:30Z")
    host.begin(
        "slots: disk=1",
        f"@reboot name=first slots=disk {LASTING}",
        f"@reboot name=job slots=disk {QUICK}",
        clock_hold_s=0,
    )
    host.clock.set(NOON)
    host.turn()
    (pending,) = host.member("job").pending
    assert pending.latest_s is None
    host.end(host.run("first"))
    host.settle()
    assert host.started("job") == [NOON]


def test_a_deadline_that_is_set_counts_from_the_first_start_in_the_boot(
    host: BootedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(ProcessStarter, "go", lambda _: None)
        host.begin(f"@reboot @policy(deadline=1h) name=job {QUICK}")
    host.again(after_s=3601)
    assert host.missed() == [(NOON, "2026-03-01T13:00:01Z")]
    assert not host.started()


def test_a_job_that_is_added_in_the_middle_of_a_boot_waits_for_the_next(host: BootedHost) -> None:
    host.begin(OTHER)
    host.reload(OTHER, JOB)
    host.again(OTHER, JOB, f"@reboot name=third {QUICK}")
    host.again()
    host.clock.set("2026-01-01T00:00:00Z")  # before the boot
    host.again(OTHER, JOB)
    assert host.events("started", "job") == host.events("started", "third") == []
    host.reboot(at=NOON)
    assert len(host.started("job")) == 1


def test_a_schedule_that_becomes_reboot_in_the_middle_of_a_boot_waits_too(
    host: BootedHost,
) -> None:
    host.begin(DAILY, clock_hold_s=0)
    host.clock.set("2026-01-01T00:00:00Z")  # before the boot
    host.reload(JOB)
    host.again()
    host.reload(DAILY)
    host.again(JOB)
    assert not host.started()
    host.reboot(at=NOON)
    assert host.started() == [NOON]


def test_a_job_that_is_removed_and_comes_back_does_not_run_again(host: BootedHost) -> None:
    host.begin(JOB, OTHER)
    host.reload(OTHER)
    host.reload(OTHER, JOB)
    host.again(OTHER)
    host.again(OTHER, JOB)
    assert host.started("job") == [NOON]
    host.reload(OTHER)
    host.reboot(OTHER, at="2026-03-02T08:00:00Z")
    host.reload(OTHER, JOB)  # its state is of a boot before
    assert host.started("job") == [NOON]


def test_a_job_that_is_forgotten_does_not_run_again_in_this_boot(host: BootedHost) -> None:
    host.begin(JOB)
    host.clock.set("2026-01-01T00:00:00Z")
    host.daemon.orders.forget("job")
    host.turn()
    host.again()
    assert len(host.started()) == 1
    host.reboot(at="2026-03-02T08:00:00Z")
    assert len(host.started()) == 2


def test_a_job_that_is_suspended_at_boot_runs_when_it_is_resumed(host: BootedHost) -> None:
    suspended = f"@reboot @policy(suspend=true) name=job {QUICK}"
    host.begin(suspended)
    host.again()
    assert not host.started()
    host.reload(JOB)
    assert host.started() == ["2026-03-01T12:01:00Z"]
    host.reload(suspended)
    host.reload(JOB)
    host.again()
    assert len(host.started()) == 1


def test_a_run_that_a_boot_cut_short_does_not_keep_the_next_from_running(
    host: BootedHost,
) -> None:
    host.begin(f"@reboot name=job {LASTING}")
    pid = host.run("job").pid
    host.reboot(JOB, at="2026-03-02T08:00:00Z")
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert host.started() == [NOON, "2026-03-02T08:00:00Z"]
    assert [end.reason for end in host.member("job").past.history] == [UNKNOWN_RESULT, ""]


def test_a_boot_that_was_not_served_to_the_end_is_looked_at_again(
    host: BootedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """krond is killed when its file is written, and nothing else."""
    host.begin(OTHER)
    host.cease()
    host.boots += 1
    host.clock.advance(3600)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as context:
        context.setattr("kron.krond.enrolment.enrolment.HostEnrolment._enrol", killed)
        with pytest.raises(Killed):
            host.begin(OTHER, JOB)
    assert host.record()["served"] is False
    host.again()
    assert (len(host.started("other")), host.started("job")) == (2, ["2026-03-01T13:01:00Z"])
    period = "2026-03-01T13:00:00Z"
    assert host.periods() == [period]
    assert host.record() == {"schema": 1, "boot_id": "boot-2", "period": period, "served": True}


@pytest.mark.parametrize("data", [b"", b"{", b'{"schema":0}', b"\xff", b"[]"])
def test_a_file_that_does_not_read_counts_as_that_of_a_served_boot(
    host: BootedHost, data: bytes
) -> None:
    host.begin(JOB)
    host.cease()
    (host.state / FILE).write_bytes(data)
    host.begin(JOB, OTHER)
    assert host.started() == [NOON]
    (corrupt,) = host.events("state_corrupt")
    assert Path(corrupt["set_aside"]).read_bytes() == data
    host.reboot(at="2026-03-02T08:00:00Z")
    assert len(host.started("job")) == 2


def test_a_file_of_a_newer_version_is_refused_and_stays(tmp_path: Path) -> None:
    newer = b'{"schema": 2, "boot_id": "x", "more": true}'
    with Host(tmp_path) as host:
        host.write(JOB)
        host.state.mkdir(mode=0o700)
        (host.state / FILE).write_bytes(newer)
        (host.state / FILE).chmod(0o600)
        host.launch()
        assert host.wait() == 2
        assert f"{host.state / FILE} has schema 2, and this version of Kron knows 1" in host.said()
        assert "jobs with @reboot then wait for the next one" in host.said()
        assert (host.state / FILE).read_bytes() == newer
        assert not host.events("started")


@pytest.mark.parametrize("boots", [0, 1])
def test_in_a_boot_that_was_served_without_such_a_job_there_is_no_file_and_a_new_one_waits(
    host: BootedHost, boots: int
) -> None:
    """Nor does the file of a boot before count."""
    host.begin(JOB if boots else DAILY)
    host.cease()
    host.boots += boots
    host.begin(DAILY)
    host.cease()
    assert (host.state / FILE).exists() == bool(boots)
    before = host.started()
    host.begin(DAILY, OTHER)
    assert host.started() == before
    host.reboot(at="2026-03-02T08:00:00Z")
    assert len(host.started("other")) == 1


def test_a_state_that_does_not_read_counts_as_run(host: BootedHost) -> None:
    host.begin(JOB)
    host.cease()
    (state,) = host.state.glob("*.json")
    state.write_text("{")
    host.begin()
    assert host.started() == [NOON]


def test_triggered_by_hand_it_runs_outside_of_any_boot(host: BootedHost) -> None:
    host.begin(JOB)
    host.daemon.orders.trigger("job", lambda _: None)
    host.settle()
    assert len(host.started()) == 2
    assert host.periods()[0] == NOON
    host.again()
    assert len(host.started()) == 2


@needs_root
@pytest.mark.heavy
def test_a_real_krond_in_real_processes_runs_it_once_in_each_boot(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f'@reboot name=job shell=true command="echo $KRON_PERIOD >> {tmp_path}/ran"')
        for boot in (1, 2):
            for _ in range(2):
                host.start(wrapper=in_boot(tmp_path, boot))
                host.wait_for_event("exited", count=boot)
                host.kill()
        periods = (tmp_path / "ran").read_text().split()
        assert periods == [record["period"] for record in host.events("exited")]
        assert len(set(periods)) == 2
        assert from_text(periods[0]) * SECOND_NS <= host.records()[-1].time_ns
        host.check_log()
