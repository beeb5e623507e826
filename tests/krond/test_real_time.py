"""A real krond, and time that is taken from it: stopped by a signal, or its clock set.

Nobody sets the clock of the machine. libfaketime shows krond another one, which a file moves while
it runs. It does not know of cancel-on-set (a timer keeps the instant at which it would have fired
before), so strace answers in the kernel's place that the clock was set, when krond next reads its
timer. In a kernel that comes at once; here there is a job that is due a moment later.
"""

from __future__ import annotations

import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.logs.event import Level
from tests.krond.host import MINUTE_S, Host
from tests.logbook import wait_for
from tests.moment import soon

HOUR_S = 3600
QUICK = "command=/bin/true"
FAR = f"0 0 29 2 * name=far {QUICK}"
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


def once_at(host: Host, name: str, at_s: int, *, deadline: str = "0s") -> str:
    """A schedule with which the job runs at this second, and not again before tomorrow."""
    nominal_s = at_s - at_s % MINUTE_S
    minute, hour = nominal_s // MINUTE_S % 60, hour_of(at_s)
    for number in range(100_000):
        text = f"{minute} {hour} * * * @win(after,1m) @seed(stable,salt=s{number})"
        schedule = kron.parse_schedule(text)
        if decide_at(schedule, f"{host.config}:{name}", nominal_s).chosen_s == at_s:
            return f"{text} @policy(deadline={deadline}) name={name}"
    raise AssertionError(f"no salt puts {name} at {at_s}")


def hour_of(instant_s: int) -> int:
    return instant_s // HOUR_S % 24


def wait_until(instant_s: float) -> None:
    wait_for(lambda: time.time() >= instant_s, f"it is {instant_s}")


def set_up(host: Host, *lines: str) -> None:
    """Give these jobs to a krond that is there already, however long it took to start."""
    host.write(FAR, *lines)
    host.ask("reload")


def lateness_s(host: Host, name: str) -> float:
    """How long after its chosen second the run of the job was started."""
    started = host.wait_for_event("started", name)
    return started.time_ns / SECOND_NS - from_text(started["chosen"])


# Stopped, as is a host that sleeps or is out of breath


def stop(host: Host, from_s: float, until_s: float) -> None:
    """Stop krond as it sleeps, and let it go on then. (While it works, it would be busy.)"""
    assert host.process is not None
    wait_until(from_s)
    host.process.send_signal(signal.SIGSTOP)
    wait_until(until_s)
    host.process.send_signal(signal.SIGCONT)


def test_a_krond_that_was_stopped_for_longer_than_its_slack_keeps_to_the_deadlines(
    tmp_path: Path,
) -> None:
    with Host(tmp_path) as host:
        host.write(FAR)
        host.start("--trigger-slack", "1s")
        due_s = soon(1)
        set_up(
            host,
            f"{once_at(host, 'strict', due_s)} {QUICK}",
            f"{once_at(host, 'patient', due_s, deadline='1m')} {QUICK}",
        )
        stop(host, due_s - 0.3, due_s + 2)
        assert lateness_s(host, "patient") >= 2
        assert host.wait_for_event("missed_deadline", "strict")["chosen"] == to_text(due_s)
        assert host.stop() == 0
        assert host.events("started", "strict") == []
        assert host.events("missed_deadline", "patient") == []
        host.check_log()


def test_a_krond_that_was_stopped_for_less_than_its_slack_misses_nothing(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(FAR)
        host.start("--trigger-slack", "20s")
        due_s = soon(1)
        set_up(host, f"{once_at(host, 'strict', due_s)} {QUICK}")
        stop(host, due_s - 0.3, due_s + 1.5)
        assert lateness_s(host, "strict") >= 1.5
        assert host.stop() == 0
        assert host.events("missed_deadline") == []
        host.check_log()


def test_no_run_is_early_and_a_machine_at_rest_starts_it_within_the_second(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(FAR)
        host.start()
        first_s = soon(1)
        due_s = {f"job-{number}": first_s + number // 3 for number in range(9)}
        set_up(
            host,
            *(
                f"{once_at(host, name, at_s, deadline='1m')} "
                f'command="/bin/date +%s.%N" stdout=file:{tmp_path}/{name}'
                for name, at_s in due_s.items()
            ),
        )
        for name in due_s:
            host.wait_for_event("exited", name)
        assert host.stop() == 0
        late_s = [float((tmp_path / name).read_text()) - at_s for name, at_s in due_s.items()]
        assert min(late_s) >= 0
        assert statistics.median(late_s) < 1
        host.check_log()


# A clock that is set


class FakedHost(Host):
    """A host whose clock is the machine's and a shift, which is in a file."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.shift_file = directory / "shift"
        self.shift(0)

    def __enter__(self) -> FakedHost:
        return self

    def shift(self, seconds: int) -> None:
        """Set the clock: so many seconds before or after the machine's."""
        new = self.shift_file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self.shift_file)

    def start_traced(self, reading: int) -> None:
        """Start krond. By this reading of its timer it is told that the clock was set."""
        strace = tracer()
        if not FAKETIME:
            pytest.skip("libfaketime is not installed, and nothing else may set the clock")
        faked = {
            "LD_PRELOAD": FAKETIME[0],
            "FAKETIME_TIMESTAMP_FILE": self.shift_file,
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        wrapper = [strace, "-D", "-o", str(self.directory / "trace"), "-P", "anon_inode:[timerfd]"]
        wrapper += ["-e", f"inject=read:error=ECANCELED:when={reading}"]
        for name, value in faked.items():
            wrapper += ["-E", f"{name}={value}"]
        self.write(FAR)
        self.start("--clock-hold", "0s", wrapper=wrapper)


def tracer() -> str:
    """The strace here, if it may trace."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed, and nothing else says that the clock was set")
    tried = subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"strace may not trace here: {tried.stderr.decode().strip()}")
    return strace


def test_after_a_clock_set_forward_the_latest_is_caught_up_with_and_time_goes_on(
    tmp_path: Path,
) -> None:
    shift_s = 4 * HOUR_S
    with FakedHost(tmp_path) as host:
        host.start_traced(1)
        due_s = soon(1)
        then = hour_of(due_s + 2 * HOUR_S)
        set_up(
            host,
            f"{once_at(host, 'strict', due_s)} {QUICK}",
            f"* {then} * * * name=every-minute {QUICK}",
            f"0,30 {then} * * * @policy(deadline=3h) name=patient {QUICK}",
            f"{once_at(host, 'next', due_s + shift_s + 2)} {QUICK}",
        )
        host.shift(shift_s)
        changed = host.wait_for_event("clock_changed")
        assert changed.level is Level.WARN
        assert float(changed["shift_s"]) == pytest.approx(shift_s, abs=0.5)
        assert 0 <= lateness_s(host, "next") < HOUR_S
        assert host.stop() == 0
        assert sorted(record["name"] for record in host.events("started")) == ["next", "patient"]
        (caught_up,) = host.events("trigger", "patient")
        assert caught_up["period"].endswith(f"T{then:02d}:30:00Z")
        missed = host.events("missed_deadline")
        assert sorted((record["name"], record.get("count")) for record in missed) == [
            ("every-minute", "60"),
            ("patient", None),
            ("strict", None),
        ]
        host.check_log()


def test_after_a_clock_set_back_nothing_runs_again(tmp_path: Path) -> None:
    back_s = 3
    with FakedHost(tmp_path) as host:
        host.start_traced(2)
        due_s = soon(1)
        set_up(
            host,
            f"{once_at(host, 'before', due_s, deadline='1m')} {QUICK}",
            f"{once_at(host, 'after', due_s + 2, deadline='1m')} {QUICK}",
        )
        host.wait_for_event("exited", "before")
        host.shift(-back_s)
        changed = host.wait_for_event("clock_changed")
        assert changed.level is Level.WARN
        assert float(changed["shift_s"]) == pytest.approx(-back_s, abs=0.5)
        assert lateness_s(host, "after") >= 0
        assert time.time() >= due_s + 2 + back_s
        host.write()
        host.ask("reload")
        assert host.ask("status")["total"] == 0  # and the timer is set to never, by this clock too
        assert host.stop() == 0
        assert len(host.events("started", "before")) == 1
        assert host.events("missed_deadline") == []
        host.check_log()
