"""The state of a job that is no longer configured is kept for 30 days, and can be forgotten."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kron.core.instant import DAY_S, from_text, to_text
from kron.krond.state.errors import PersistenceError
from kron.logs.event import Level
from tests.krond.children import Family
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.krond.commands import HOLDS, NEVER, state_file, stored
from tests.krond.host import Host
from tests.krontab.schemas import validate
from tests.logbook import wait_for

BEGIN = "2026-03-01T05:00:00Z"
JOB, OTHER = f"0 10 * * * name=job {QUICK}", f"0 0 29 2 * name=other {QUICK}"


def later(days: float) -> str:
    return to_text(from_text(BEGIN) + int(days * DAY_S))


def remove_job(host: Clockwork) -> Path:
    """Let the job run once and then remove it, on the day after `BEGIN`: its state file."""
    host.begin(JOB, OTHER)
    host.until(later(1))
    host.reload(OTHER)
    path = state_file(host, "job")
    written_at(path, host.now)
    return path


def written_at(path: Path, instant: str) -> None:
    """The kernel writes the host's time, and not that of the test."""
    os.utime(path, (from_text(instant), from_text(instant)))


def test_the_state_of_a_removed_job_is_removed_after_its_time_and_that_is_logged(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        host.until(later(30.9))
        assert path.exists()
        host.until(later(33))
        assert not path.exists()
        (event,) = host.events("state_removed")
        assert (event["namespace"], event["name"]) == (str(host.config), "job")
        assert state_file(host, "other").exists()
        assert host.daemon._host.timers.next_ns() is None, "there is nothing left to look for"


def test_one_that_was_removed_while_krond_was_down_is_removed_too(tmp_path: Path) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        host.begin(JOB, OTHER)
        host.until(later(1))
        host.cease()
        host.begin(OTHER)
        path = state_file(host, "job")
        written_at(path, host.now)
        host.until(later(33))
        assert not path.exists()


def test_a_clock_that_is_wrong_for_a_while_removes_nothing(tmp_path: Path) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        ahead_s = 40 * DAY_S
        host.until(later(1.9))
        host.clock.set(to_text(from_text(host.now) + ahead_s))  # a moment before the first look
        host.until(to_text(from_text(host.now) + DAY_S // 2))
        assert path.exists()
        host.clock.set(to_text(from_text(host.now) - ahead_s))
        host.until(later(20))
        assert path.exists()
        assert host.events("state_removed") == []


def test_a_file_from_when_the_clock_was_behind_counts_from_the_last_period(tmp_path: Path) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        written_at(path, "1970-01-01T00:00:10Z")
        host.until(later(29))
        assert path.exists()
        host.until(later(33))
        assert not path.exists()


def starting(state: dict[str, Any]) -> None:
    state["ledger"]["starting"] = [
        {"period": later(0), "chosen": later(0), "run_id": "abc", "schedule": "0 10 * * *"}
    ]
    state["ledger"]["schema"] = 2


def going_on(state: dict[str, Any]) -> None:
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    state["active"] = [
        {
            "run_id": "abc",
            "period": None,
            "chosen": None,
            "started": None,
            "pid": os.getpid(),
            "ticks": int(stat[19]),
            "boot_id": state["boot_id"],
        }
    ]


@pytest.mark.parametrize("change", [starting, going_on])
def test_a_state_with_a_run_that_goes_on_or_is_about_to_start_is_kept(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        Family.rewrite(host, path, change)  # type: ignore[arg-type]
        written_at(path, later(1))
        host.until(later(35))
        assert path.exists()
        assert host.events("state_removed") == []


def failing(number: int, where: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but it fails for the directory itself and for state files."""

    def call(path: Any, *how: Any, **more: Any) -> Any:
        if isinstance(path, int) or str(path).endswith(".json"):
            raise OSError(number, os.strerror(number))
        return where(path, *how, **more)

    return call


@pytest.mark.parametrize(("number", "name"), [(errno.EIO, "stat"), (errno.EMFILE, "listdir")])
def test_a_look_that_fails_is_logged_and_a_later_one_removes_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str
) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        host.until(later(30.5))
        with monkeypatch.context() as faults:
            faults.setattr(os, name, failing(number, getattr(os, name)))
            host.until(later(31.5))
        (error,) = host.events("error")
        assert (error.level, error["operation"]) == (Level.WARN, "look for old states")
        assert os.strerror(number) in str(error["error"])
        assert path.exists()
        host.until(later(32.5))
        assert not path.exists()


def test_nothing_is_removed_or_forgotten_while_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Clockwork(tmp_path, BEGIN) as host:
        path = remove_job(host)
        host.reload(OTHER, f"30 4 1 4 * name=lasting {LASTING}")  # before the look of day 31
        host.until(later(31 - 1 / 96))
        with monkeypatch.context() as faults:
            faults.setattr("kron.krond.state.file_replacer._write", full)
            host.end(host.run("lasting"))
            host.until(later(31 + 1 / 96))
            (error,) = host.events("error")  # the end is not stored, so files may be old
            assert error["operation"] == "look for old states"
            with pytest.raises(PersistenceError, match="No space left on device"):
                host.daemon.orders.forget("job")
        assert path.exists()
        host.until(later(32.5))
        assert not path.exists()


@pytest.mark.heavy
def test_forget_discards_the_state_of_a_removed_job(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        other = host.job("other", "exit 0")
        host.write(host.job("job", "until [ -e go ]; do sleep 0.05; done"), other)
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        host.load(other)
        for _ in "this krond", "the next one":
            refused = host.command("forget", "job")
            assert (refused.returncode, "is going on" in refused.stderr) == (1, True)
            assert stored(host, "job")["active"]
            host.kill()
            host.start()
        host.path("go").touch()
        wait_for(lambda: host.command("forget", "job").returncode == 0, "it is forgotten")
        assert not state_file(host, "job").exists()
        again = host.command("forget", f"{host.config}:job")
        assert (again.returncode, "there is no job" in again.stderr) == (1, True)
        assert host.command("forget", "other").returncode == 0
        assert state_file(host, "other").exists()


def test_a_run_that_waited_when_its_job_was_removed_is_missed(tmp_path: Path) -> None:
    """krond was killed while it waited, and the job is gone when the next one starts."""
    with Clockwork(tmp_path, BEGIN) as host:
        waits = f"0 10 * * * @policy(deadline=3h) name=job slots=disk {QUICK}"
        host.begin("slots: disk=1", f"0 9 * * * name=other slots=disk {LASTING}", waits)
        host.until("2026-03-01T10:30:00Z")
        assert [record["name"] for record in host.events("waiting")] == ["job"]
        host.cease()
        host.write(f"slots: disk=1\n0 9 * * * name=other slots=disk {LASTING}")
        host.begin()
        (missed,) = host.events("missed_deadline")
        assert (missed["name"], missed["period"]) == ("job", "2026-03-01T10:00:00Z")
        assert missed["reason"] == "the job is no longer configured"
        state = stored(host, "job")
        assert state["ledger"]["starting"] == []
        assert state["history"][-1][2] == "missed"
        host.cease()
        host.begin()
        assert len(host.events("missed_deadline")) == 1
        host.check_log()


def test_the_end_of_a_run_is_seen_though_its_job_was_removed_meanwhile(tmp_path: Path) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        host.begin(f"0 10 * * * name=job {LASTING}", OTHER)
        host.until("2026-03-01T10:00:01Z")
        run = host.run("job")
        host.cease()
        host.write(OTHER)
        host.begin()
        (adopted,) = host.events("adopted")
        assert (adopted["name"], adopted["pid"]) == ("job", str(run.pid))
        assert len(host.daemon.roster) == 1
        os.kill(run.pid, signal.SIGKILL)
        os.waitpid(run.pid, 0)
        os.close(run.watched)
        host.end_of(next(iter(host.daemon.supervisor.runs.values())))
        (exited,) = host.events("exited")
        assert exited["period"] == "2026-03-01T10:00:00Z"
        assert stored(host, "job")["active"] == []


@pytest.mark.heavy
def test_status_names_the_runs_of_removed_jobs_that_go_on(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job {HOLDS.format(gate=tmp_path / 'gate')}", OTHER)
        host.start()
        host.ask("trigger", job="job")
        (run,) = host.row("job")["active"]
        host.write(OTHER)
        host.ask("reload")
        shown = json.loads(host.command("status", "--format", "json").stdout)
        validate(shown)
        assert [row["name"] for row in shown["jobs"]] == ["other"]
        (removed,) = shown["removed"]
        assert (removed["name"], removed["file"]) == ("job", str(host.config))
        assert (removed["active"], removed["left_behind"]) == ([run], [])
        what = f"{host.config}:job was removed, and goes on: running (pid {run['pid']})\n"
        assert what in host.command("status").stdout
        assert what not in host.command("status", "other").stdout
        (tmp_path / "gate").touch()
        wait_for(lambda: not host.ask("status")["removed"], "its end")


def test_the_run_of_a_removed_job_is_watched_by_the_next_krond_too(tmp_path: Path) -> None:
    with Clockwork(tmp_path, BEGIN) as host:
        host.begin(f"0 10 * * * name=job {LASTING}", OTHER)
        host.until("2026-03-01T10:00:01Z")
        run = host.run("job")
        host.reload(OTHER)
        host.cease()
        host.begin()
        assert [record["run_id"] for record in host.events("adopted")] == [run.run_id]
        os.kill(run.pid, signal.SIGKILL)
        os.waitpid(run.pid, 0)
        os.close(run.watched)
        host.end_of(next(iter(host.daemon.supervisor.runs.values())))
        assert stored(host, "job")["active"] == []
