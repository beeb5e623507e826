"""A run outlives krond, and the next krond takes it up: that very process, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kron.core.instant import to_text
from kron.logs.record import Record
from tests.krond.children import (
    AT_ONCE_S,
    NEVER,
    Family,
    due_once,
    due_twice,
    is_alive,
    wait_until_gone,
)
from tests.krond.process.expected import needs_root
from tests.logbook import wait_for
from tests.moment import soon, wait_until

SECOND_NS = 1_000_000_000
UNSEEN = "krond was not its parent when it ended, so its result is unknown"
RAN = "it ran, and its result is unknown"
UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"
NOBODY = 54_321
"""A user that has nothing."""


def leave(host: Family) -> None:
    assert host.command("stop", "--leave").returncode == 0
    assert host.wait() == 0


def crash(host: Family) -> None:
    host.kill()


ways = pytest.mark.parametrize(
    "end", [pytest.param(crash, id="kill-9"), pytest.param(leave, id="stop-leave")]
)


@ways
def test_a_run_that_outlives_krond_is_adopted_and_still_forbids_another(
    tmp_path: Path, end: Callable[[Family], None]
) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        schedule, *_ = due_twice(host.config, "job", more="@policy(deadline=1m)")
        host.load(host.job("job", "echo $KRON_RUN_ID >> ran", UNTIL_GO, schedule=schedule))
        started = host.wait_for_event("started", "job")
        run_id, pid = str(started["run_id"]), int(started["pid"])
        end(host)
        assert is_alive(pid)
        host.start()
        adopted = host.wait_for_event("adopted", "job")
        assert (adopted["run_id"], adopted["pid"]) == (run_id, started["pid"])
        assert adopted["period"] == started["period"]
        (active,) = host.row("job")["active"]
        assert (active["run_id"], active["pid"], active["adopted"]) == (run_id, pid, True)
        skipped = host.wait_for_event("skipped_concurrency", "job")
        assert skipped["active_job"] == run_id
        assert skipped["period"] != started["period"]
        # By hand it is refused as well.
        refused = host.command("trigger", "job")
        assert refused.returncode != 0
        assert "concurrency is forbid" in refused.stderr
        host.path("go").touch()
        exited = host.wait_for_event("exited", "job")
        assert (exited["run_id"], exited["reason"]) == (run_id, UNSEEN)
        assert exited.level == "WARN"
        assert exited.get("exit_code") is exited.get("signal") is None
        last_run = host.row("job")["last_run"]
        assert (last_run["run_id"], last_run["outcome"]) == (run_id, "executed")
        assert (last_run["exit_code"], last_run["signal"]) == (None, None)
        assert last_run["reason"] == UNSEEN
        assert host.path("ran").read_text() == f"{run_id}\n"
        host.wait_until_stored("job", run_id)
        wait_for(lambda: not host.proof(run_id).exists(), "its proof is removed", AT_ONCE_S)
        host.check_log()


def test_a_run_of_a_forgotten_job_is_adopted_once(tmp_path: Path) -> None:
    """The ledger no longer knows its period, and finds it again with the run."""
    with Family(tmp_path) as host:
        host.start_empty()
        host.load(host.job("job", UNTIL_GO, schedule=host.soon("job")))
        run_id = str(host.wait_for_event("started", "job")["run_id"])
        wait_until(time.time() + 1)  # to forget is not to run the same second again
        assert host.command("forget", "job").returncode == 0
        host.kill()
        host.start()
        host.wait_for_event("adopted", "job")
        host.path("go").touch()
        assert host.wait_for_event("exited", "job")["run_id"] == run_id
        assert len(host.events("adopted")) == len(host.events("exited")) == 1
        assert host.stop() == 0
        host.check_log()


def test_an_adopted_run_is_replaced(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        lines = ["trap 'sleep 0.3; echo over >> order; exit' TERM", "echo new >> order", UNTIL_GO]
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=replace,deadline=1m)")
        host.load(host.job("job", *lines, schedule=schedule))
        old = host.wait_for_run("started", host.trigger("job"))
        host.kill()
        host.start()
        replaced = host.wait_for_event("replaced_job", "job")
        new = host.wait_for_event("started", "job", count=2)
        assert (replaced["old_job"], replaced["new_job"]) == (old["run_id"], new["run_id"])
        wait_until_gone(int(old["pid"]))
        wait_for(lambda: host.path("order").read_text() == "new\nover\nnew\n", "in this order")
        reason = f"replaced by run {new['run_id']}; {UNSEEN}"
        assert host.wait_for_run("exited", str(old["run_id"]))["reason"] == reason
        host.path("go").touch()
        assert host.wait_for_run("exited", str(new["run_id"]))["exit_code"] == "0"
        host.check_log()


def test_a_replacement_that_was_waiting_when_krond_was_killed_still_takes_place_once(
    tmp_path: Path,
) -> None:
    with Family(tmp_path) as host:
        lines = ["trap 'echo asked >> asked' TERM", "echo $KRON_RUN_ID >> ran"]
        lines.append("until [ -e go ]; do sleep 0.05 || :; done")
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=replace,deadline=1m)")
        host.load(host.job("job", *lines, fields="grace=1m", schedule=schedule))
        old = host.wait_for_run("started", host.trigger("job"))
        host.wait_for_file("ran")
        replaced = host.wait_for_event("replaced_job", "job")
        host.wait_for_file("asked")
        host.kill()
        assert is_alive(int(old["pid"]))
        host.start()
        assert host.wait_for_event("adopted", "job")["run_id"] == old["run_id"]
        again = host.wait_for_event("replaced_job", "job", count=2)
        assert (again["old_job"], again["new_job"]) == (replaced["old_job"], replaced["new_job"])
        host.path("go").touch()
        new = host.wait_for_event("started", "job", count=2)
        assert new["run_id"] == replaced["new_job"]
        assert host.wait_for_run("exited", str(new["run_id"]))["exit_code"] == "0"
        assert host.path("ran").read_text() == f"{old['run_id']}\n{new['run_id']}\n"
        assert host.stop() == 0


class TestTimeout:
    """An adopted run has no more time than any other."""

    def test_it_counts_from_the_real_start(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            host.write(host.job("job", "sleep 60", fields="timeout=3s"))
            host.start()
            run_id = host.trigger("job")
            started = host.wait_for_run("started", run_id)
            host.kill()
            host.start()
            adopted = host.wait_for_run("adopted", run_id)
            timeout = host.wait_for_run("timeout", run_id)
            after_s = (timeout.time_ns - started.time_ns) / SECOND_NS
            since_adopted_s = (timeout.time_ns - adopted.time_ns) / SECOND_NS
            assert 2.7 < after_s < 5  # the log was written a moment after the start
            assert since_adopted_s < 3
            assert timeout["signal"] == "SIGTERM"
            exited = host.wait_for_run("exited", run_id)
            assert exited["reason"] == f"timed out after 3s; {UNSEEN}"
            wait_until_gone(int(started["pid"]))

    def test_one_that_has_passed_stops_the_run_at_once_with_its_whole_group(
        self, tmp_path: Path
    ) -> None:
        with Family(tmp_path) as host:
            deaf = host.script("deaf", "trap '' TERM", "sleep 60")
            fields = "timeout=2s grace=300ms"
            host.write(host.job("job", f"{deaf} &", "echo $! > left", "sleep 60", fields=fields))
            host.start()
            run_id = host.trigger("job")
            host.wait_for_file("left")
            pid = host.pid_of(run_id)
            host.kill()
            time.sleep(2)
            host.start()
            assert host.wait_for_run("timeout", run_id, count=2)["signal"] == "SIGKILL"
            host.wait_for_run("exited", run_id)
            wait_until_gone(pid)


def set_in(record: dict[str, Any], **values: object) -> None:
    record.update(values)


LIES: dict[str, Callable[[dict[str, Any], int], None]] = {
    # The number now is another process's, which started at another moment.
    "pid": lambda record, other: set_in(record, pid=other),
    # The process of that number started at another moment.
    "ticks": lambda record, _: set_in(record, ticks=record["ticks"] + 1),
    # The process of that number, from that moment on: but of another boot.
    "boot": lambda record, _: set_in(record, boot_id="another"),
}


@ways
def test_a_process_that_only_has_the_number_of_a_run_is_neither_adopted_nor_killed(
    tmp_path: Path, end: Callable[[Family], None]
) -> None:
    with Family(tmp_path) as host, subprocess.Popen(["sleep", "60"], start_new_session=True) as cat:
        try:
            schedule = f"{NEVER} @policy(concurrency=replace)"
            lines = ["echo ran >> $KRON_JOB", "sleep 60"]
            host.write(*(host.job(name, *lines, schedule=schedule) for name in LIES))
            host.start()
            runs = {name: host.trigger(name) for name in LIES}
            pids = {name: host.pid_of(run_id) for name, run_id in runs.items()}
            for name in LIES:
                host.wait_for_file(name)
            end(host)
            for name, run_id in runs.items():
                lie_about(host, name, run_id, cat.pid)
            # Were one adopted it would be stopped at once, or replaced, or terminated.
            fields = "timeout=200ms grace=100ms"
            host.write(*(host.job(name, *lines, fields=fields, schedule=schedule) for name in LIES))
            host.start("--on-stop", "terminate")
            for name, run_id in runs.items():
                assert host.wait_for_run("exited", run_id)["reason"] == UNSEEN
                assert host.row(name)["active"] == []
                new = host.trigger(name)
                assert host.wait_for_run("exited", new)["signal"] == "SIGTERM"
            assert host.events("adopted") == host.events("replaced_job") == []
            assert host.stop() == 0
            assert cat.poll() is None
            for name, pid in pids.items():
                assert is_alive(pid), name
        finally:
            cat.kill()


def lie_about(host: Family, name: str, run_id: str, other: int) -> None:
    """Have the evidence of a run name a process that is not the run."""

    def change(state: dict[str, Any]) -> None:
        for record in state["active"]:
            if record["pid"] is not None:  # after a crash only the proof has it
                LIES[name](record, other)
        if name == "boot":
            state["boot_id"] = "another"

    host.rewrite(host.state_path(name), change)
    host.rewrite(host.proof(run_id), lambda record: LIES[name](record, other))


def unnoted_intent(host: Family, name: str = "job") -> Record:
    """A run of which krond noted no process, since it was killed in the moment of the start."""
    started = host.wait_for_event("started", name)
    host.kill()
    run_id = str(started["run_id"])
    host.proof(run_id).write_bytes(b"")
    assert [intent["run_id"] for intent in host.stored(name)["ledger"]["starting"]] == [run_id]
    return started


def test_a_run_that_was_never_noted_is_found_by_its_environment(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        host.load(host.job("job", "echo $$ > ran", UNTIL_GO, schedule=host.soon("job", 1)))
        started = unnoted_intent(host)
        host.start()
        adopted = host.wait_for_event("adopted", "job")
        assert (adopted["run_id"], adopted["pid"]) == (started["run_id"], started["pid"])
        assert host.path("ran").read_text() == f"{started['pid']}\n"


@needs_root
def test_a_process_of_another_user_cannot_pose_as_a_run(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=replace,deadline=1h)")
        host.load(host.job("job", "echo ran >> ran", "sleep 60", schedule=schedule))
        host.wait_for_file("ran")
        started = unnoted_intent(host)
        run_id = str(started["run_id"])
        os.killpg(int(started["pid"]), signal.SIGKILL)
        environment = {"KRON_RUN_ID": run_id, "KRON_TEST": str(tmp_path)}
        with subprocess.Popen(
            ["/bin/sleep", "60"], user=NOBODY, start_new_session=True, env=environment, cwd="/"
        ) as impostor:
            try:
                host.start("--on-stop", "terminate")
                exited = host.wait_for_run("exited", run_id)
                assert exited["reason"] == RAN
                assert host.row("job")["active"] == []
                assert host.row("job")["last_run"]["outcome"] == "executed"
                assert host.events("adopted") == []
                assert host.stop() == 0
                assert impostor.poll() is None
            finally:
                impostor.kill()
        assert host.path("ran").read_text() == "ran\n"


def test_after_a_reboot_an_intent_counts_as_executed_whatever_is_left_of_it(
    tmp_path: Path,
) -> None:
    """On the same boot, a run without a proof has not begun, and starts now."""
    with Family(tmp_path) as host:
        names = ("rebooted", "same-boot")
        lines = ["echo ran >> $KRON_JOB", "sleep 60"]
        more = "@policy(deadline=1h)"
        host.start_empty()
        at_s = soon(1)
        schedules = [due_once(host.config, name, at_s, more=more) for name in names]
        host.load(*(host.job(n, *lines, schedule=s) for n, s in zip(names, schedules, strict=True)))
        for name in names:
            host.wait_for_file(name)
            host.wait_for_event("started", name)
        rebooted, same_boot = (unnoted_intent(host, name) for name in names)
        for started in (rebooted, same_boot):
            os.killpg(int(started["pid"]), signal.SIGKILL)
            host.proof(str(started["run_id"])).unlink()
        host.rewrite(host.state_path("rebooted"), lambda state: state.update(boot_id="before"))
        host.start()
        again = host.wait_for_run("started", str(same_boot["run_id"]), count=2)
        assert again["period"] == same_boot["period"]
        wait_for(lambda: host.path("same-boot").read_text() == "ran\n" * 2, "it runs")
        run_id = str(rebooted["run_id"])
        assert host.wait_for_run("exited", run_id)["reason"] == RAN
        last = host.row("rebooted")["last"]
        assert (last["outcome"], last["reason"]) == ("executed", RAN)
        assert (last["run_id"], last["exit_code"]) == (run_id, None)
        assert host.stored("rebooted")["ledger"]["starting"] == []
        assert host.path("rebooted").read_text() == "ran\n"


def test_after_a_reboot_a_manual_run_is_not_said_to_have_never_begun(tmp_path: Path) -> None:
    """Nothing but the proof, which a reboot may lose, says in the moment after that it began."""
    with Family(tmp_path) as host:
        host.write(host.job("job", "sleep 60"))
        host.start()
        started = host.wait_for_run("started", host.trigger("job"))
        host.kill()
        os.killpg(int(started["pid"]), signal.SIGKILL)
        run_id = str(started["run_id"])
        host.proof(run_id).unlink()
        host.rewrite(host.state_path("job"), lambda state: state.update(boot_id="before"))
        host.start()
        assert host.wait_for_run("exited", run_id)["reason"] == UNSEEN
        assert host.row("job")["last"]["reason"] == UNSEEN


def test_a_run_that_ended_twice_under_one_id_does_not_stop_the_next_krond(tmp_path: Path) -> None:
    """A job that was forgotten may run a period again. krond was killed before it logged that."""
    with Family(tmp_path) as host:
        host.write(host.job("job", "true"))
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("exited", run_id)
        host.kill()
        host.rewrite(
            host.state_path("job"), lambda state: state.update(history=2 * state["history"])
        )
        host.proof(run_id).touch(0o600)
        host.start()
        wait_for(lambda: not host.proof(run_id).exists(), "its proof is dropped")
        assert host.stop() == 0


class TestTwoIntents:
    """A krond was killed when two periods of a job were to start: there is one run at a time."""

    EARLIER, LATER = os.urandom(10).hex(), os.urandom(10).hex()  # of no other test that runs now
    REPLACED = "a later run replaced it before it could start"

    def prepare(self, host: Family, concurrency: str) -> None:
        now_s = int(time.time())
        periods_s = [now_s // 60 * 60 - 180, now_s // 60 * 60 - 120]
        minutes = ",".join(str(at_s // 60 % 60) for at_s in periods_s)
        schedule = f"{minutes} * * * * @policy(concurrency={concurrency},deadline=1h)"
        host.write(host.job("job", UNTIL_GO, schedule=schedule))
        host.start()
        host.kill()
        intents = [
            {"period": to_text(at_s), "chosen": to_text(at_s), "run_id": run_id}
            for at_s, run_id in zip(periods_s, (self.EARLIER, self.LATER), strict=True)
        ]

        def be_about_to_start(state: dict[str, Any]) -> None:
            state["ledger"]["handled_through"] = to_text(periods_s[1])
            state["ledger"]["starting"] = intents

        host.rewrite(host.state_path("job"), be_about_to_start)

    def skipped(self, host: Family) -> tuple[Record, Any]:
        """What is told and remembered of the one that does not run; the other one ends."""
        event = host.wait_for_event("skipped_concurrency", "job")
        host.path("go").touch()
        host.wait_for_event("exited", "job")
        wait_for(lambda: host.ask("status")["active"] == 0, "it ends")
        rows = [row for row in host.stored("job")["history"] if row[2] == "skipped"]
        assert host.stored("job")["ledger"]["starting"] == []
        assert host.stop() == 0
        return event, rows

    def test_the_later_one_replaces_the_earlier(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            self.prepare(host, "replace")
            host.start()
            assert host.wait_for_event("started", "job")["run_id"] == self.LATER
            event, ((*_, reason, run_id, _, _, _, _),) = self.skipped(host)
            assert event["active_job"] == self.LATER
            assert (reason, run_id) == (self.REPLACED, self.EARLIER)
            assert len(host.events("started")) == 1
            host.check_log()

    def test_the_earlier_one_forbids_the_later(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            self.prepare(host, "forbid")
            host.start()
            assert host.wait_for_event("started", "job")["run_id"] == self.EARLIER
            event, ((*_, run_id, _, _, _, _),) = self.skipped(host)
            assert event["active_job"] == self.EARLIER
            assert run_id == self.LATER
            assert len(host.events("started")) == 1
            host.check_log()

    @pytest.mark.parametrize("concurrency", ["replace", "forbid"])
    def test_a_later_one_that_lives_goes_on_and_the_earlier_does_not_begin(
        self, tmp_path: Path, concurrency: str
    ) -> None:
        with Family(tmp_path) as host:
            self.prepare(host, concurrency)
            environment = {"KRON_RUN_ID": self.LATER, "KRON_TEST": str(tmp_path)}
            with subprocess.Popen(
                ["/bin/sh", str(host.path("job.sh"))], env=environment, start_new_session=True
            ) as run:
                try:
                    wait_for(lambda: in_own_session(run.pid), "it is there")
                    host.start()
                    assert host.wait_for_event("adopted", "job")["run_id"] == self.LATER
                    event, ((*_, run_id, _, _, _, _),) = self.skipped(host)
                finally:
                    host.path("go").touch()
            assert run.returncode == 0, "nobody has stopped it"
            assert event["active_job"] == self.LATER
            assert run_id == self.EARLIER
            assert host.events("started") == []
            host.check_log()


def in_own_session(pid: int) -> bool:
    return os.getsid(pid) == pid


def test_manual_runs_are_adopted_and_one_that_had_not_begun_is_not_run(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.write(
            host.job("job", UNTIL_GO, schedule=f"{NEVER} @policy(concurrency=allow)"),
            host.job("other", "echo ran > other", UNTIL_GO),
        )
        host.start("--max-running", "2")
        runs = [host.trigger("job") for _ in range(2)]
        waiting = host.trigger("other")
        host.kill()
        host.start("--max-running", "2")
        for run_id in runs:
            assert host.wait_for_run("adopted", run_id).get("period") is None
        # A reboot that loses their proofs must not make them runs that never began.
        wait_for(
            lambda: all(run["pid"] and run["started"] for run in host.stored("job")["active"]),
            "the runs that were adopted are stored with their processes",
        )
        exited = host.wait_for_run("exited", waiting)
        assert exited["reason"] == "krond ended before it was started"
        # The two that were adopted count as running.
        third = host.ask("trigger", job="other")
        assert "--max-running" in third["waits_for"]
        host.path("go").touch()
        for run_id in runs:
            assert host.wait_for_run("exited", run_id)["reason"] == UNSEEN
        assert host.wait_for_run("exited", third["run_id"])["exit_code"] == "0"
        assert {run["outcome"] for run in (host.row("job")["last"],)} == {"manual"}
