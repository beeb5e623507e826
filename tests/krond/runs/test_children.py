"""Whatever a child does, krond sees it end, says how, and leaves neither a zombie nor a group."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kron.krond.control.client import ControlError
from kron.krond.history.database import DATABASE
from kron.krond.runs.starter import ROOM
from tests.krond.children import (
    AT_ONCE_S,
    NEVER,
    Family,
    children_of,
    descriptors_of,
    due_once,
    group_is_gone,
    is_alive,
    wait_until_gone,
    zombies_of,
)
from tests.krond.process.expected import needs, needs_root
from tests.logbook import wait_for
from tests.moment import soon, wait_until
from tests.soak import SOAK

TIMEOUT_S = 1.0
GRACE_S = 0.8
SHORT = "timeout=1s grace=800ms"
SECOND_NS = 1_000_000_000

# What a run does, the signals that it is sent, and how it ends: an exit code or a signal.
STUBBORN = {
    "dies-of-term": (["sleep 60"], ["SIGTERM"], "SIGTERM"),
    "ignores-term": (["trap '' TERM", "sleep 60"], ["SIGTERM", "SIGKILL"], "SIGKILL"),
    "exits-while-asked-to": (
        # The shell runs the trap once its child has ended, which is sent TERM as well.
        ["trap 'sleep 0.2; exit 7' TERM", "sleep 60"],
        ["SIGTERM"],
        7,
    ),
    "ends-well-when-asked-to": (["trap 'exit 0' TERM", "sleep 60"], ["SIGTERM"], 0),
    "is-stopped": (["trap 'exit 8' TERM", "kill -STOP $$"], ["SIGTERM"], 8),
    "is-stopped-and-ignores-term": (
        ["trap '' TERM", "kill -STOP $$", "sleep 60"],
        ["SIGTERM", "SIGKILL"],
        "SIGKILL",
    ),
    "has-closed-its-descriptors": (["exec <&- >&- 2>&-", "sleep 60"], ["SIGTERM"], "SIGTERM"),
    "has-ended-before": (["exit 9"], [], 9),
}


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Family, dict[str, str]]]:
    """A krond under which all of them ran, at the same time, to their ends."""
    with Family(tmp_path_factory.mktemp("stubborn")) as host:
        host.write(*(host.job(name, *row[0], fields=SHORT) for name, row in STUBBORN.items()))
        host.start()
        runs = {name: host.trigger(name) for name in STUBBORN}
        for run_id in runs.values():
            host.wait_for_run("exited", run_id)
        yield host, runs
        assert host.stop() == 0
        host.check_log()


@pytest.mark.parametrize("name", STUBBORN)
def test_a_run_that_takes_too_long_is_told_to_end_and_made_to(
    stubborn: tuple[Family, dict[str, str]], name: str
) -> None:
    host, runs = stubborn
    _, signals, end = STUBBORN[name]
    run_id = runs[name]
    started = host.wait_for_run("started", run_id)
    exited = host.wait_for_run("exited", run_id)
    timeouts = host.of_run("timeout", run_id)
    assert [event["signal"] for event in timeouts] == signals
    assert {event["timeout"] for event in timeouts} <= {"1s"}
    assert (exited.get("exit_code"), exited.get("signal")) == (
        (str(end), None) if isinstance(end, int) else (None, end)
    )
    # Neither is early (but the log was written a moment after the start).
    for event, wait_s in zip(timeouts, (TIMEOUT_S, TIMEOUT_S + GRACE_S), strict=False):
        assert event.time_ns - started.time_ns > (wait_s - 0.3) * SECOND_NS
    if len(timeouts) == 2:
        assert timeouts[1].time_ns - timeouts[0].time_ns > (GRACE_S - 0.01) * SECOND_NS
    wait_until_gone(int(started["pid"]))


def test_how_a_run_ended_is_in_the_status_and_in_the_state(
    stubborn: tuple[Family, dict[str, str]],
) -> None:
    host, runs = stubborn
    for name, (_, _, end) in STUBBORN.items():
        code, number = (end, None) if isinstance(end, int) else (None, signal.Signals[str(end)])
        row = host.row(name)
        assert row["active"] == []
        assert row["last_run"] == row["last"]
        assert row["last_run"]["run_id"] == runs[name]
        assert row["last_run"]["exit_code"] == code
        assert row["last_run"]["signal"] == (None if number is None else number.name)
        stored = host.wait_until_stored(name, runs[name])
        assert stored["active"] == []
        assert stored["last_run"][-2:] == [code, number]
        assert stored["history"] == [stored["last_run"]]


def test_krond_is_left_with_no_zombie_and_no_descriptor(
    stubborn: tuple[Family, dict[str, str]],
) -> None:
    host, _ = stubborn
    host.has_no_zombie()
    wait_for(lambda: children_of(host.pid) == [], "krond has no children", AT_ONCE_S)
    assert not any("pidfd" in open_file for open_file in descriptors_of(host.pid))
    wait_for(lambda: not list((host.state / "runs").iterdir()), "no proof is left", AT_ONCE_S)


# How a run ends, and what is said of it.
ENDS = {
    "success": ("exit 0", 0, None),
    "failure": ("exit 3", 3, None),
    "the-highest-code": ("exit 255", 255, None),
    "crash": ("kill -SEGV $$", None, "SIGSEGV"),
    "killed": ("kill -KILL $$", None, "SIGKILL"),
    "a-signal-without-a-name": ("kill -40 $$", None, "40"),
}


def test_how_a_run_ended_is_logged_and_outlives_krond(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.write(*(host.job(name, row[0], fields="limit_core=0") for name, row in ENDS.items()))
        host.start()
        runs = {name: host.trigger(name) for name in ENDS}
        for name, (_, code, number) in ENDS.items():
            exited = host.wait_for_run("exited", runs[name])
            assert exited.get("exit_code") == (None if code is None else str(code))
            assert exited.get("signal") == number
            assert exited.level == ("INFO" if code == 0 else "WARN")
            host.wait_until_stored(name, runs[name])
        host.kill()
        host.start()
        for name, (_, code, number) in ENDS.items():
            last_run = host.row(name)["last_run"]
            assert last_run["run_id"] == runs[name]
            assert (last_run["exit_code"], last_run["signal"]) == (code, number)


class TestGroups:
    """A run is stopped as the group that it is."""

    def test_grandchildren_have_the_rest_of_the_grace_when_the_leader_dies_at_once(
        self, tmp_path: Path
    ) -> None:
        with Family(tmp_path) as host:
            until_go = "until [ -e go ]; do sleep 0.05; done"
            trap = f"trap '{until_go}; echo done >> done; exit' TERM"
            # Not one long sleep: forked in the moment of TERM, it would miss it.
            long = "while :; do sleep 0.1; done"
            slow = host.script("slow", trap, "echo ready >> ready", long)
            host.write(host.job("job", f"{slow} & {slow} &", "sleep 60", fields="grace=1m"))
            host.start()
            run_id = host.trigger("job")
            pid = host.pid_of(run_id)
            wait_for(lambda: host.wait_for_file("ready") == "ready\n" * 2, "both are there")
            host.ask("stop", how="terminate")
            wait_for(lambda: zombies_of(host.pid), "the leader has died")
            active = host.row("job")["active"]
            assert [(run["pid"], run["stopping"]) for run in active] == [(pid, True)]
            assert not group_is_gone(pid)
            assert host.of_run("exited", run_id) == []
            host.path("go").touch()
            assert host.wait() == 0
            assert host.wait_for_run("exited", run_id)["signal"] == "SIGTERM"
            assert host.path("done").read_text() == "done\n" * 2  # nobody was killed
            wait_until_gone(pid)

    def test_grandchildren_that_do_not_end_are_killed(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            deaf = host.script("deaf", "trap '' TERM", "sleep 60")
            lines = [f"{deaf} & {deaf} & {deaf} &", "sleep 60"]
            host.write(host.job("job", *lines, fields=SHORT))
            host.start()
            run_id = host.trigger("job")
            exited = host.wait_for_run("exited", run_id)
            assert exited["signal"] == "SIGTERM"  # of the leader
            assert [e["signal"] for e in host.of_run("timeout", run_id)] == ["SIGTERM", "SIGKILL"]
            wait_until_gone(host.pid_of(run_id))
            host.has_no_zombie()

    @needs("setsid")
    def test_who_has_left_the_group_is_left_alone(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            away = host.script("away", "echo $$ > away", "exec sleep 60")
            lines = [f"setsid sh -c '{away} & exit' &", "sleep 60"]
            host.write(host.job("job", *lines, fields="timeout=700ms"))
            host.start()
            run_id = host.trigger("job")
            away_pid = int(host.wait_for_file("away"))
            assert host.wait_for_run("exited", run_id)["signal"] == "SIGTERM"
            assert host.stop() == 0
            assert is_alive(away_pid)

    def test_a_run_ends_with_its_leader_and_what_it_leaves_behind_is_left_alone(
        self, tmp_path: Path
    ) -> None:
        with Family(tmp_path) as host:
            host.write(host.job("job", "sleep 60 &", "echo $! > left", fields="timeout=500ms"))
            host.start()
            exited = host.wait_for_run("exited", host.trigger("job"))
            assert exited["exit_code"] == "0"
            second = host.trigger("job")  # it is over, and forbids nothing
            host.wait_for_run("exited", second)
            assert is_alive(int(host.wait_for_file("left")))
            assert host.stop() == 0
            assert is_alive(int(host.wait_for_file("left")))
            assert host.events("timeout") == []


def test_runs_that_do_not_end_are_killed_when_krond_is_to_terminate_them(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        deaf = ["trap '' TERM", "echo $$ > pid", "sleep 60"]
        host.write(host.job("job", *deaf, fields="grace=300ms"))
        host.start("--on-stop", "terminate")
        run_id = host.trigger("job")
        pid = int(host.wait_for_file("pid"))
        assert host.stop() == 0
        assert host.wait_for_run("exited", run_id)["signal"] == "SIGKILL"
        assert host.of_run("timeout", run_id) == []  # it is no timeout
        wait_until_gone(pid)
        assert host.stored("job")["last_run"][-1] == signal.SIGKILL


def test_a_timeout_counts_for_each_run_from_its_own_start(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        schedule = f"{NEVER} @policy(concurrency=allow)"
        host.write(host.job("job", "sleep 60", fields="timeout=900ms", schedule=schedule))
        host.start()
        runs = []
        for _ in range(3):
            runs.append(host.trigger("job"))
            host.wait_for_run("started", runs[-1])
        for run_id in runs:
            host.wait_for_run("exited", run_id)
        for run_id in runs:
            (event,) = host.of_run("timeout", run_id)
            took_s = (event.time_ns - host.wait_for_run("started", run_id).time_ns) / SECOND_NS
            assert 0.6 < took_s < 3
        ended = [host.wait_for_run("timeout", run_id).time_ns for run_id in runs]
        assert all(one < other for one, other in pairwise(ended))


def test_a_timeout_or_a_grace_of_many_weeks_is_one(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        lines = ["trap 'echo asked > asked' TERM", "while :; do sleep 0.1; done"]
        host.write(host.job("job", *lines, fields="timeout=5000h grace=5000h"))
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        host.ask("status")
        assert host.ask("status")["active"] == 1, "it has slept meanwhile"
        host.kill()
        host.start("--on-stop", "terminate")
        assert host.ask("status")["active"] == 1
        assert host.process is not None
        host.process.send_signal(signal.SIGTERM)
        host.wait_for_file("asked")
        assert host.ask("status")["stopping"]
        assert host.of_run("exited", run_id) == []


def test_an_edit_does_not_change_the_runs_that_are_going_on(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        lines = ["trap '' TERM", "sleep 60"]
        host.write(host.job("job", *lines, fields="timeout=1500ms grace=400ms"))
        host.start()
        run_id = host.trigger("job")
        host.write(host.job("job", *lines, fields="timeout=1ms grace=1h"))
        assert host.ask("reload")["total"] == 1
        exited = host.wait_for_run("exited", run_id)
        started = host.wait_for_run("started", run_id)
        timeouts = host.of_run("timeout", run_id)
        assert [event["signal"] for event in timeouts] == ["SIGTERM", "SIGKILL"]
        assert {event["timeout"] for event in timeouts} == {"1.5s"}
        assert timeouts[0].time_ns - started.time_ns > 1.2 * SECOND_NS
        assert exited["signal"] == "SIGKILL"


def test_a_run_that_ends_at_the_moment_of_its_timeout_ends_once(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        policy = f"{NEVER} @policy(concurrency=allow)"
        names = [f"job-{number}" for number in range(12)]
        host.write(
            *(
                # From a little before the timeout to a little after it.
                f'{policy} name={name} command="/bin/sleep {0.38 + 0.003 * number:.3f}" '
                "timeout=400ms grace=1m"
                for number, name in enumerate(names)
            )
        )
        host.start()
        runs = [host.trigger(name) for name in names for _ in range(2 * SOAK)]
        for run_id in runs:
            host.wait_for_run("exited", run_id)
        for run_id in runs:
            (exited,) = host.of_run("exited", run_id)
            end = exited.get("signal") or exited["exit_code"]
            timeouts = host.of_run("timeout", run_id)
            assert end in ("0", "SIGTERM")
            assert len(timeouts) == 1 if end == "SIGTERM" else len(timeouts) <= 1
        host.has_no_zombie()
        assert host.stop() == 0


def test_a_flood_of_output_does_not_wake_krond(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        flood = ["head -c 50000000 /dev/zero", "echo over > $KRON_JOB"]
        flood.append("until [ -e go ]; do sleep 0.05; done")
        host.write(
            host.job("to-file", *flood, fields=f"stdout=file:{tmp_path}/flood"),
            host.job("to-nowhere", *flood, fields="stdout=discard"),
            host.job("to-krond-s-own", *flood),
        )
        host.start()
        runs = []
        for name in ("to-file", "to-nowhere", "to-krond-s-own"):
            runs.append(host.trigger(name))
            host.wait_for_run("started", runs[-1])
        before = _wakes(host.pid)
        for name in ("to-file", "to-nowhere", "to-krond-s-own"):
            host.wait_for_file(name)
        assert _wakes(host.pid) - before <= 2  # the answer to the last trigger
        assert host.path("flood").stat().st_size == 50_000_000
        host.path("go").touch()
        for run_id in runs:
            assert host.wait_for_run("exited", run_id)["exit_code"] == "0"


def _wakes(pid: int) -> int:
    """How often a process has gone to sleep so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (count,) = (line for line in lines if line.startswith("voluntary_ctxt_switches"))
    return int(count.split()[1])


@needs("logger")
class TestLoggers:
    """The processes that pass output on to syslog are krond's children as well."""

    def test_a_logger_is_reaped_when_the_run_has_closed_its_output_and_goes_on(
        self, tmp_path: Path
    ) -> None:
        with Family(tmp_path) as host:
            lines = ["exec >&- 2>&-", "sleep 60"]
            host.write(host.job("job", *lines, fields="stdout=syslog stderr=syslog"))
            host.start()
            pid = host.pid_of(host.trigger("job"))
            wait_for(lambda: children_of(host.pid) == [pid], "only the run is left", AT_ONCE_S)

    def test_a_logger_of_a_run_that_cannot_start_is_reaped(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            host.write(
                f"{NEVER} name=no-program command=/no/such stdout=syslog stderr=syslog",
                f"{NEVER} name=no-file command=/bin/true stdout=syslog stderr=file:/no/such/file",
                f"{NEVER} name=no-directory command=/bin/true cwd=/no/such nice=1 stdout=syslog",
            )
            host.start()
            for name in ("no-program", "no-file", "no-directory"):
                with pytest.raises(ControlError, match="could not start"):
                    host.trigger(name)
            wait_for(lambda: children_of(host.pid) == [], "krond has no children", AT_ONCE_S)

    def test_many_runs_leave_nothing(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            fields = "command=/bin/true stdout=syslog stderr=syslog"
            host.write(f"{NEVER} @policy(concurrency=allow) name=job {fields}")
            host.start()
            history = host.state / DATABASE
            host.wait_for_run("exited", host.trigger("job"))
            wait_for(history.exists, "krond has opened its history", AT_ONCE_S)
            host.ask("status")  # the turn in which it did is over
            wait_for(lambda: children_of(host.pid) == [], "krond has no children", AT_ONCE_S)
            before = set(descriptors_of(host.pid))
            runs = [host.trigger("job") for _ in range(20 * SOAK)]
            for run_id in runs:
                host.wait_for_run("exited", run_id)
            wait_for(lambda: children_of(host.pid) == [], "krond has no children", AT_ONCE_S)
            # Less than before is right: the connection of the command above was open then.
            wait_for(lambda: before >= set(descriptors_of(host.pid)), "all is closed", AT_ONCE_S)


def test_exit_codes_are_seen_though_whoever_started_krond_ignores_its_children(
    tmp_path: Path,
) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        at_s = soon(1)
        schedule = due_once(host.config, "job", at_s, more="@policy(deadline=10m)")
        host.load(host.job("job", "exit 5", schedule=schedule))
        host.kill()
        wait_until(at_s + 1)
        # Such a krond starts the run before it is ready.
        host.start(preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        assert host.wait_for_event("exited", "job")["exit_code"] == "5"
        assert host.stop() == 0


def test_no_run_starts_that_could_not_be_watched(tmp_path: Path) -> None:
    """Each takes a descriptor. When they run out, runs wait, and krond does not end."""
    with Family(tmp_path) as host:
        schedule = f"{NEVER} @policy(concurrency=allow)"
        fields = "stdout=discard stderr=discard"
        lines = ["until [ -e go ]; do sleep 0.1; done"]
        host.write(host.job("job", *lines, fields=fields, schedule=schedule))
        host.start("--limit-nofile", "64")
        answers = [host.ask("trigger", job="job") for _ in range(30)]
        reasons = [answer["waits_for"] for answer in answers if answer["waits_for"]]
        assert 0 < len(reasons) < 30
        assert set(reasons) == {ROOM}
        host.path("go").touch()
        for answer in answers:
            assert host.wait_for_run("exited", answer["run_id"])["exit_code"] == "0"
        assert host.stop() == 0


@needs("logger")
def test_a_burst_of_runs_with_helpers_leaves_krond_the_files_that_it_needs(tmp_path: Path) -> None:
    """Each takes three descriptors: one for itself, and one for each of its loggers."""
    with Family(tmp_path) as host:
        host.start_empty("--limit-nofile", "64")
        at_s = soon(2)
        names = [f"job-{number}" for number in range(24)]
        host.write(
            *(
                f"{due_once(host.config, name, at_s, more='@policy(deadline=10m)')} name={name} "
                "command=/bin/true stdout=syslog stderr=syslog"
                for name in names
            )
        )
        host.ask("reload")
        for name in names:
            assert host.wait_for_event("exited", name)["exit_code"] == "0"
        assert host.stop() == 0


@needs_root
@needs("unshare")
def test_as_process_1_krond_reaps_orphans_and_mixes_nobody_up(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        schedule = f"{NEVER} @policy(concurrency=allow)"
        orphans = ["sh -c 'sleep 0.1 & sleep 0.2 & sleep 0.3 &' &", "wait", "exit 4"]
        host.write(
            *(host.job(f"job-{number}", *orphans, schedule=schedule) for number in range(10)),
            host.job("stopped", "sh -c 'sleep 60 &'", "sleep 60", fields="timeout=300ms"),
        )
        before_krond = 'sleep 0.01 & exec "$@"'
        host.start(
            wrapper=["unshare", "-pf", "--mount-proc", "/bin/sh", "-c", before_krond, "sh"],
        )
        (pid,) = children_of(host.pid)
        assert host.ask("status")["pid"] == 1
        host.has_no_zombie(pid)  # of what ended before krond was krond
        runs = [host.trigger(f"job-{number}") for number in range(10) for _ in range(SOAK)]
        stopped = host.trigger("stopped")
        for run_id in runs:
            assert host.wait_for_run("exited", run_id)["exit_code"] == "4"
        assert host.wait_for_run("exited", stopped)["signal"] == "SIGTERM"
        wait_for(lambda: children_of(pid) == [], "nobody is left", AT_ONCE_S)
        assert host.command("stop").returncode == 0
        assert host.wait() == 0
