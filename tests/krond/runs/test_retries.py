"""A run of a period that failed is tried again: `retries=`, `retry_delay=`, `retry_within=`.

On a fake clock, with real runs; at the end a real krond that is killed at every step.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from kron.core.errors import KronError
from kron.engine.actions import REPLACED
from kron.krond.control.requests import job_status
from kron.krond.enrolment.enrolment import REMOVED
from kron.krond.history.reader import Selection, open_history
from kron.krond.process.failure import StartError
from kron.krond.roster.attempts import TAKEN
from kron.krond.runs.starter import MANUAL
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import Ended, attempt_of
from kron.krond.state.store import StateStore
from tests.krond.clockwork import FAILING, LASTING, QUICK, Clockwork, shown
from tests.krond.commands import krond
from tests.krond.fault import FaultyHost, Server
from tests.krond.host import Host
from tests.krontab.schemas import validate
from tests.logbook import wait_for

DAWN = "2026-03-01T05:30:00Z"
PERIOD = "2026-03-01T10:00:00Z"


def job(*fields: str, at: str = "0 10", policy: str = "", command: str = FAILING) -> str:
    return " ".join((at, "* * *", policy, "name=a", command, *fields))


def attempts(host: Clockwork) -> list[tuple[int, str]]:
    """Which attempts have started, and when."""
    return [(attempt_of(each["run_id"])[1], shown(each)[11:19]) for each in host.events("started")]


def ends(host: Clockwork) -> list[Ended]:
    return list(host.member("a").past.history)


def outcomes(host: Clockwork) -> list[tuple[int, str]]:
    return [(attempt_of(ended.run_id)[1], ended.outcome) for ended in ends(host)]


def end(host: Clockwork) -> None:
    """Turn until the end of a run that krond has stopped is seen."""

    def is_seen() -> bool:
        host.turn()
        return bool(host.events("exited"))

    wait_for(is_seen, "the run has ended")


def reasons(host: Clockwork) -> list[str]:
    return [record["reason"] for record in host.events("not_retried")]


def test_a_run_that_failed_is_tried_again_after_twice_the_time_each_time(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3 retry_delay=1m"))
        host.until("2026-03-01T11:00:00Z")
        expected = [(1, "10:00:00"), (2, "10:01:00"), (3, "10:03:00"), (4, "10:07:00")]
        assert attempts(host) == expected
        assert outcomes(host) == [(1, "retried"), (2, "retried"), (3, "retried"), (4, "executed")]
        first = host.events("started")[0]["run_id"]
        assert [each["reason"] for each in host.events("waiting")] == [
            "attempt 2 of 4, at 2026-03-01T10:01:00Z",
            "attempt 3 of 4, at 2026-03-01T10:03:00Z",
            "attempt 4 of 4, at 2026-03-01T10:07:00Z",
        ]
        assert {each["period"] for each in host.events("started")} == {PERIOD}
        assert host.events("exited")[3]["run_id"] == f"{first}.4"
        assert not host.member("a").pending
        host.check_log()


def test_nothing_is_tried_again_unless_the_job_says_so(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retry_delay=1s"))
        host.until("2026-03-01T11:00:00Z")
        assert outcomes(host) == [(1, "executed")]


def test_an_attempt_that_succeeds_is_the_outcome_of_its_period(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3"))
        host.until("2026-03-01T10:00:10Z")
        status = job_status(host.member("a"))
        assert isinstance(status["last"], dict)
        assert status["last"]["outcome"] == "retried"
        assert status["failed"] is None, "nobody is to be woken while it may still succeed"
        assert status["last_run"] is None
        host.reload(job("retries=3", command=QUICK))
        host.until("2026-03-01T11:00:00Z")
        assert attempts(host) == [(1, "10:00:00"), (2, "10:00:30")]
        assert outcomes(host) == [(1, "retried"), (2, "executed")]
        assert host.member("a").past.standing.failed is None
        assert host.member("a").past.standing.success == ends(host)[1]


def test_the_delay_stops_doubling_at_an_hour(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=4 retry_delay=25m"))
        host.until("2026-03-01T20:00:00Z")
        times = [time for _, time in attempts(host)]
        assert times == ["10:00:00", "10:25:00", "11:15:00", "12:15:00", "13:15:00"]


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ("retry_within=3m", ""),
        ("", "@policy(deadline=3m)"),
        ("retry_within=3m", "@policy(deadline=30m)"),
    ],
)
def test_no_attempt_starts_after_the_limit(tmp_path: Path, fields: str, policy: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=9 retry_delay=1m", fields, policy=policy))
        host.until("2026-03-01T11:00:00Z")
        assert attempts(host) == [(1, "10:00:00"), (2, "10:01:00"), (3, "10:03:00")]
        late = "attempt 4 of 10 did not start: it would be later than 2026-03-01T10:03:00Z"
        assert reasons(host) == [late]
        last = ends(host)[-1]
        assert (last.outcome, last.reason, last.exit_code) == ("executed", late, 1)
        assert last.succeeded is False


def test_a_run_that_timed_out_is_tried_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=1 retry_delay=1m timeout=5s", command=LASTING))
        host.until("2026-03-01T10:00:05Z")
        end(host)
        host.until("2026-03-01T10:01:05Z")
        assert attempts(host) == [(1, "10:00:00"), (2, "10:01:05")]


def test_a_run_that_krond_stopped_is_not_tried_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=5", at="*/10 10", policy="@policy(concurrency=replace)",
                       command=LASTING))  # fmt: skip
        host.until("2026-03-01T10:10:00Z")
        end(host)
        host.turn()
        assert [ended.outcome for ended in ends(host)] == ["executed"]
        assert [attempt for attempt, _ in attempts(host)] == [1, 1]


def test_a_waiting_attempt_counts_as_running_for_forbid(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=1 retry_delay=15m", at="*/10 10"))
        host.until("2026-03-01T10:16:00Z")
        (skipped,) = host.events("skipped_concurrency")
        assert skipped["active_job"].endswith(".2")
        assert outcomes(host)[:3] == [(1, "retried"), (1, "skipped"), (2, "executed")]


def test_the_next_period_replaces_a_waiting_attempt(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        policy = "@policy(concurrency=replace)"
        host.begin(job("retries=1 retry_delay=15m", at="*/10 10", policy=policy))
        host.until("2026-03-01T10:10:30Z")
        assert reasons(host) == [f"attempt 2 of 2 did not start: {REPLACED}"]
        assert outcomes(host) == [(1, "retried"), (2, "executed"), (1, "retried")]


def test_a_manual_run_is_tried_once(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3"))
        host.daemon.orders.trigger("a", lambda _: None)
        host.until("2026-03-01T06:00:00Z")
        assert len(host.events("started")) == 1


@pytest.mark.parametrize("policy", ["", "@policy(concurrency=replace)"])
def test_a_manual_run_takes_the_place_of_an_attempt_that_waits(tmp_path: Path, policy: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3 retry_delay=1h", policy=policy))
        host.until("2026-03-01T10:00:10Z")
        manual = host.daemon.orders.trigger("a", lambda _: None)
        assert manual.instead_of == "attempt 2 of 4"
        host.until("2026-03-01T12:00:00Z")
        assert reasons(host) == [f"attempt 2 of 4 did not start: {TAKEN}"]
        assert outcomes(host) == [(1, "retried"), (2, "executed"), (1, "manual")]
        assert [each["run_id"] for each in host.events("started")][1:] == [manual.run_id]
        host.check_log()


@pytest.mark.parametrize("policy", ["", "@policy(concurrency=replace)"])
def test_a_manual_run_that_is_refused_leaves_the_attempt_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PersistenceError("the state cannot be saved", OSError(28, "No space left"))

    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=1 retry_delay=1h", policy=policy))
        host.until("2026-03-01T10:00:10Z")
        with monkeypatch.context() as patched:
            patched.setattr(StateStore, "commit", refuse)
            with pytest.raises(KronError, match="cannot be saved"):
                host.daemon.orders.trigger("a", lambda _: None)
        assert not host.events("manual_run")
        host.until("2026-03-01T12:00:00Z")
        assert outcomes(host) == [(1, "retried"), (2, "executed")]
        assert len(attempts(host)) == 2


def begin_with_slot(host: Clockwork, delay: str) -> None:
    """`a` has failed at 10:00 and is to be tried again; from 10:02 on another holds its slot."""
    other = f"2 10 * * * name=other slots=database {LASTING}"
    host.begin(job(f"slots=database retries=1 retry_delay={delay}"), other, "slots: database=1")
    host.until("2026-03-01T10:02:10Z")


def free_slot(host: Clockwork) -> None:
    (run,) = host.daemon.supervisor.runs.values()
    host.daemon.supervisor.stop(run, "the test")
    end_number = len(host.events("exited")) + 1

    def is_seen() -> bool:
        host.turn()
        return len(host.events("exited")) >= end_number

    wait_for(is_seen, "the slot is free")
    host.turn()


@pytest.mark.parametrize("delay", ["1h", "3m", "2m5s"])
def test_an_attempt_gives_way_when_the_manual_run_starts(tmp_path: Path, delay: str) -> None:
    """Also if its own turn comes while both wait for the slot, or if it waits for that first."""
    with Clockwork(tmp_path, DAWN) as host:
        begin_with_slot(host, delay)
        manual = host.daemon.orders.trigger("a", lambda _: None)
        assert manual.waits_for.startswith("slot database")
        host.until("2026-03-01T10:04:00Z")
        assert not reasons(host)
        free_slot(host)
        assert host.events("started")[-1]["run_id"] == manual.run_id
        assert (host.events("waiting")[-1]["reason"] == MANUAL) is (delay != "1h")
        assert reasons(host) == [f"attempt 2 of 2 did not start: {TAKEN}"]
        host.until("2026-03-01T12:00:00Z")
        assert outcomes(host) == [(1, "retried"), (2, "executed"), (1, "manual")]
        assert not host.daemon.starter.waiting
        host.check_log()


def test_a_manual_run_that_waits_and_its_attempt_are_not_both_lost(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        begin_with_slot(host, "1h")
        host.daemon.orders.trigger("a", lambda _: None)
        host.turn()
        (run,) = host.daemon.supervisor.runs.values()
        os.killpg(run.pid, signal.SIGKILL)
        os.waitpid(run.pid, 0)
        host.cease()
        host.begin()
        host.until("2026-03-01T12:00:00Z")
        assert attempts(host)[-1] == (2, "11:00:00")
        assert not reasons(host)


def test_an_attempt_starts_if_the_manual_run_cannot(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        begin_with_slot(host, "3m")
        host.daemon.orders.trigger("a", lambda _: None)
        host.until("2026-03-01T10:04:00Z")
        host.launcher.failures.append(StartError("no such program", for_good=True))
        free_slot(host)
        host.turn()
        assert attempts(host)[-1][0] == 2
        assert not reasons(host)


def test_killed_as_the_manual_run_starts_krond_knows_whose_place_it_took(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=1 retry_delay=1h"))
        host.until("2026-03-01T10:00:10Z")
        manual = host.daemon.orders.trigger("a", lambda _: None)
        assert not reasons(host), "it is not stored yet"
        host.cease()
        host.begin()
        host.until("2026-03-01T12:00:00Z")
        assert [each["run_id"] for each in host.events("started")][1:] == [manual.run_id]
        assert reasons(host) == [f"attempt 2 of 2 did not start: {TAKEN}"]


@pytest.mark.heavy
def test_the_command_says_whose_place_the_run_took(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        schedule = host.soon("a", more="@policy(concurrency=replace)")
        host.write(f"{schedule} name=a retries=2 retry_delay=1h {FAILING}")
        host.start()
        host.wait_for_event("waiting")
        ended = host.command("trigger", "a", "--wait")
        run_id = host.wait_for_event("manual_run")["run_id"]
        assert (ended.returncode, ended.stderr) == (1, "")
        assert ended.stdout == f"run {run_id} instead of attempt 2 of 3\n"


def test_a_manual_run_is_refused_beside_an_attempt_that_goes_on(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=1 retry_delay=1m"))
        host.until("2026-03-01T10:00:10Z")
        host.reload(job("retries=1 retry_delay=1m", command=LASTING))
        host.until("2026-03-01T10:01:10Z")
        with pytest.raises(KronError, match='a run of "a" is going on'):
            host.daemon.orders.trigger("a", lambda _: None)
        assert len(host.events("started")) == 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda host: host.reload("# none"), REMOVED),
        (lambda host: host.reload(job("retries=3", policy="@policy(suspend=true)")), "suspended"),
        (lambda host: host.daemon.orders.forget("a"), "forgotten"),
    ],
)
def test_an_attempt_that_nobody_wants_any_more_is_not_started(
    tmp_path: Path, change: object, why: str
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3"))
        host.until("2026-03-01T10:00:10Z")
        assert callable(change)
        change(host)
        host.until("2026-03-01T11:00:00Z")
        (reason,) = reasons(host)
        assert reason.startswith("attempt 2 of 4 did not start: ")
        assert why in reason
        assert len(host.events("started")) == 1


def test_an_attempt_that_cannot_start_ends_its_period(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=3"))
        host.until("2026-03-01T10:00:10Z")
        host.launcher.failures.append(StartError("no such program", for_good=True))
        host.until("2026-03-01T11:00:00Z")
        assert reasons(host) == ["attempt 2 of 4 did not start: no such program"]


def test_a_waiting_attempt_survives_krond_and_starts_when_it_would_have(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=2 retry_delay=10m"))
        host.until("2026-03-01T10:01:00Z")
        host.cease()
        host.clock.advance(120)
        host.begin()
        host.until("2026-03-01T10:20:00Z")
        host.cease()
        host.clock.advance(3600)
        host.begin()
        host.until("2026-03-01T11:40:00Z")
        assert attempts(host) == [(1, "10:00:00"), (2, "10:10:00"), (3, "11:20:00")]
        assert outcomes(host) == [(1, "retried"), (2, "retried"), (3, "executed")]
        host.check_log()


def test_after_downtime_the_limit_still_counts(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=2 retry_delay=10m retry_within=30m"))
        host.until("2026-03-01T10:01:00Z")
        host.cease()
        host.clock.advance(3600)
        host.begin()
        assert outcomes(host) == [(1, "retried"), (2, "executed")]
        assert reasons(host) == [
            "attempt 2 of 3 did not start: it would be later than 2026-03-01T10:30:00Z"
        ]


def test_retries_that_were_taken_away_while_krond_was_down_are_gone(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=2"))
        host.until("2026-03-01T10:00:10Z")
        host.cease()
        host.write(job())
        host.begin()
        assert reasons(host) == ["attempt 2 did not start: the job has no retries left"]


def test_an_attempt_of_a_job_that_was_removed_while_krond_was_down_is_not_started(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("retries=2"))
        host.until("2026-03-01T10:00:10Z")
        host.cease()
        host.write(f"0 0 29 2 * name=other {QUICK}")
        host.begin()
        assert reasons(host) == [f"attempt 2 did not start: {REMOVED}"]
        host.until("2026-03-01T11:00:00Z")
        assert len(host.events("started")) == 1


@pytest.mark.heavy
def test_attempts_show_in_the_environment_the_outputs_and_the_history(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        command = 'shell=true command="echo try $KRON_ATTEMPT; test $KRON_ATTEMPT = 3"'
        host.write(f"{host.soon('a')} name=a stdout=keep retries=5 retry_delay=0s {command}")
        host.start("--output-dir", str(host.outputs))
        wait_for(lambda: len(host.events("exited")) == 3, "three attempts")
        place = ("--state-dir", str(host.state), "--output-dir", str(host.outputs))
        wait_for(lambda: "try 3" in krond("output", "a", *place).stdout, "its output")
        with open_history(str(host.state)) as history:
            assert history is not None
            rows = list(history.rows(Selection()))
            failed = list(history.rows(Selection(outcome="failed")))
            retried = list(history.rows(Selection(outcome="retried")))
        assert [row["outcome"] for row in rows] == ["retried", "retried", "executed"]
        assert [row["succeeded"] for row in rows] == [None, None, True]
        assert (failed, retried) == ([], rows[:2])
        validate(json.loads(krond("history", "--format", "json", *place).stdout))
        shown = krond("history", *place).stdout.splitlines()
        assert [line.split()[6:9] for line in shown[1:3]] == [["exit", "code", "1,"]] * 2
        assert "retried" in shown[1]


@pytest.mark.heavy
def test_killed_at_any_step_krond_starts_no_attempt_twice(tmp_path: Path, server: Server) -> None:
    """An attempt whose end nobody saw is the last one; else the third succeeds."""
    with FaultyHost(tmp_path, server) as host:

        def is_over() -> bool:
            ends = [ended for each in host.ends().values() for ended in each]
            return host.is_settled() and any(ended.outcome != "retried" for ended in ends)

        def check() -> None:
            ran = Counter(run_id for _, _, run_id, _ in host.runs())
            assert set(ran.values()) == {1}, ran
            (all_ends,) = host.ends().values()
            *before, last = all_ends
            assert {ended.outcome for ended in before} <= {"retried"}
            assert last.outcome == "executed"
            assert [attempt_of(each.run_id)[1] for each in all_ends] == [
                number + 1 for number in range(len(all_ends))
            ]
            assert last.succeeded is not False
            host.check_accounts()

        host.write(host.job("a", "retries=4 retry_delay=0s", then="test $KRON_ATTEMPT = 3"))
        host.be_seen()
        host.kill_at_each_step(is_over, check, every=2)
