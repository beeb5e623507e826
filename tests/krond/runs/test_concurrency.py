"""Runs of one job beside each other: allowed, forbidden, replaced; and how many of all at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kron.krond.control.client import ControlError
from tests.krond.children import Family, due_once, due_twice, is_alive, wait_until_gone
from tests.logbook import wait_for
from tests.moment import soon

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"
SECOND_NS = 1_000_000_000
REPLACED = "a later run replaced it before it could start"
SLOT = "a slot: as many runs as --max-running allows are going on"
TOO_LATE = f"it could not start before its deadline, waiting for {SLOT}"


def test_allowed_runs_go_on_beside_each_other(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=allow)")
        host.load(host.job("job", UNTIL_GO, schedule=schedule))
        manual = [host.trigger("job") for _ in range(2)]
        host.wait_for_event("started", "job", count=3)
        active = host.row("job")["active"]
        assert len({run["pid"] for run in active}) == len({run["run_id"] for run in active}) == 3
        assert {run["run_id"] for run in active if run["period"] is None} == set(manual)
        host.path("go").touch()
        host.wait_for_event("exited", "job", count=3)
        assert host.events("skipped_concurrency") == host.events("replaced_job") == []
        host.check_log()


def test_a_forbidden_period_is_skipped_and_names_the_run_that_is_active(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        schedule, *_ = due_twice(host.config, "job", more="@policy(concurrency=forbid)")
        host.load(host.job("job", "echo $KRON_PERIOD >> ran", UNTIL_GO, schedule=schedule))
        started = host.wait_for_event("started", "job")
        with pytest.raises(ControlError, match="concurrency is forbid"):
            host.trigger("job")
        skipped = host.wait_for_event("skipped_concurrency", "job")
        assert (skipped["policy"], skipped["active_job"]) == ("forbid", started["run_id"])
        last = host.row("job")["last"]
        assert (last["outcome"], last["period"]) == ("skipped", skipped["period"])
        assert is_alive(int(started["pid"]))
        host.path("go").touch()
        assert host.wait_for_event("exited", "job")["exit_code"] == "0"
        assert host.path("ran").read_text() == f"{started['period']}\n"
        assert host.stop() == 0
        host.check_log()


def test_a_manual_run_forbids_a_period_and_so_does_one_that_waits(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty("--max-running", "2")
        at_s = soon(1)
        policy = "@policy(concurrency=forbid,deadline=1m)"
        host.load(
            host.job("other", UNTIL_GO),
            *(
                host.job(name, "sleep 60", schedule=due_once(host.config, name, at_s, more=policy))
                for name in ("runs", "waits")
            ),
        )
        host.trigger("other")
        runs, waits = host.trigger("runs"), host.trigger("waits")
        for name, run_id in (("runs", runs), ("waits", waits)):
            assert host.wait_for_event("skipped_concurrency", name)["active_job"] == run_id
        host.path("go").touch()
        host.wait_for_run("started", waits)
        for name, run_id in (("runs", runs), ("waits", waits)):
            assert [run["run_id"] for run in host.row(name)["active"]] == [run_id]
            assert len(host.events("started", name)) == 1


def test_a_replaced_run_has_ended_before_the_new_one_starts(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        lines = [
            "trap 'sleep 0.4; echo end $KRON_RUN_ID >> order; exit 6' TERM",
            "echo begin $KRON_RUN_ID >> order",
            "while :; do sleep 0.1; done",
        ]
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=replace)")
        host.load(host.job("job", *lines, fields="grace=1m", schedule=schedule))
        by_hand = host.trigger("job")
        wait_for(lambda: by_hand in host.wait_for_file("order"), "the first is there")
        of_period = str(host.wait_for_event("replaced_job", "job")["new_job"])
        waiting = host.row("job")["waiting"]
        assert [run["run_id"] for run in waiting] == [of_period]
        assert waiting[0]["reason"] == "the end of the run that it replaces"
        wait_for(lambda: of_period in host.wait_for_file("order"), "the period replaces it")
        last = host.ask("trigger", job="job")
        assert last["waits_for"] == "the end of the run that it replaces"
        wait_for(lambda: last["run_id"] in host.wait_for_file("order"), "and is replaced by hand")
        runs = [by_hand, of_period, last["run_id"]]
        order = [f"end {one}\nbegin {other}\n" for one, other in pairwise(runs)]
        assert host.path("order").read_text() == f"begin {by_hand}\n{''.join(order)}"
        for old, new in pairwise(runs):
            (event,) = (e for e in host.events("replaced_job") if e["old_job"] == old)
            exited = host.wait_for_run("exited", old)
            assert event["new_job"] == new
            assert exited["exit_code"] == "6"
            assert event.time_ns < exited.time_ns < host.wait_for_run("started", new).time_ns
        assert host.of_run("timeout", by_hand) == []
        host.check_log()


def test_of_two_that_would_replace_a_run_the_later_one_does(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        deaf = ["trap '' TERM", "echo $KRON_RUN_ID >> ran", UNTIL_GO]
        host.start_empty()
        schedule = host.soon("job", 1, more="@policy(concurrency=replace)")
        host.load(host.job("job", *deaf, fields="grace=9s", schedule=schedule))
        old = host.trigger("job")
        host.wait_for_file("ran")
        first = host.trigger("job")
        asked = host.wait_for_event("replaced_job", "job")
        second = str(host.wait_for_event("replaced_job", "job", count=2)["new_job"])
        assert [run["run_id"] for run in host.row("job")["waiting"]] == [second]
        third = host.trigger("job")
        skipped = host.wait_for_event("skipped_concurrency", "job")
        assert (skipped["policy"], skipped["active_job"]) == ("replace", third)
        assert host.wait_for_run("exited", first)["reason"] == REPLACED
        third_started = host.wait_for_run("started", third)
        exited = host.wait_for_run("exited", old)
        assert exited["signal"] == "SIGKILL"
        # The grace is counted from the first time that it was asked to end.
        took_s = (exited.time_ns - asked.time_ns) / SECOND_NS
        assert 8.7 < took_s < 12
        assert third_started.time_ns > exited.time_ns
        host.path("go").touch()
        host.wait_for_run("exited", third)
        assert host.path("ran").read_text() == f"{old}\n{third}\n"
        history = {row[4]: row for row in host.wait_until_stored("job", third)["history"]}
        for run_id, outcome in ((first, "manual"), (second, "skipped")):
            assert history[run_id][2:4] == [outcome, REPLACED]
            assert host.of_run("started", run_id) == []
        assert host.stop() == 0
        host.check_log()


class TestMostRunning:
    """--max-running, across jobs."""

    def test_whoever_waits_for_a_slot_says_so_and_starts_in_turn(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            names = ["first", "second", "third", "fourth"]
            host.write(*(host.job(n, "echo $KRON_JOB >> ran", UNTIL_GO) for n in names))
            host.start("--max-running", "1")
            answers = [host.ask("trigger", job=name) for name in names]
            assert [answer["waits_for"] for answer in answers] == ["", SLOT, SLOT, SLOT]
            assert [event["name"] for event in host.events("waiting")] == names[1:]
            for name in names[1:]:
                assert [run["reason"] for run in host.row(name)["waiting"]] == [SLOT]
            status = host.ask("status")
            assert (status["active"], status["waiting"], status["max_running"]) == (1, 3, 1)
            host.path("go").touch()
            for answer in answers:
                host.wait_for_run("exited", answer["run_id"])
            assert host.path("ran").read_text().split() == names
            assert [event["name"] for event in host.events("started")] == names
            exits = [host.wait_for_run("exited", a["run_id"]).time_ns for a in answers]
            starts = [host.wait_for_run("started", a["run_id"]).time_ns for a in answers]
            assert all(end < start for end, start in zip(exits, starts[1:], strict=False))

    def test_the_deadline_of_each_that_waits_counts(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            host.start_empty("--max-running", "1", "--trigger-slack", "0s")
            at_s = soon(1)
            names = ["one", "two", "three"]
            policy = "@policy(deadline=2s)"
            host.load(
                host.job("long", "sleep 60"),
                *(
                    host.job(
                        name,
                        "echo ran >> ran",
                        schedule=due_once(host.config, name, at_s + number // 2, more=policy),
                    )
                    for number, name in enumerate(names)
                ),
            )
            host.trigger("long")
            for number, name in enumerate(names):
                missed = host.wait_for_event("missed_deadline", name)
                assert missed["reason"] == TOO_LATE
                assert missed.time_ns >= (at_s + number // 2 + 2) * SECOND_NS
                last = host.row(name)["last"]
                assert (last["outcome"], last["reason"]) == ("missed", TOO_LATE)
            assert host.ask("status")["waiting"] == 0
            assert not host.path("ran").exists()
            host.check_log()

    def test_one_that_has_replaced_another_waits_for_a_slot_as_all_do(self, tmp_path: Path) -> None:
        """Whoever waited before it has taken the slot of the run that it replaced."""
        with Family(tmp_path) as host:
            lines = ["trap 'exit' TERM", "while :; do sleep 0.1; done"]
            policy = "@policy(concurrency=replace,deadline=2s)"
            host.start_empty("--max-running", "1", "--trigger-slack", "0s")
            schedule = host.soon("replaced", 1, more=policy)
            host.load(
                host.job("replaced", *lines, schedule=schedule), host.job("before", "sleep 60")
            )
            host.trigger("replaced")
            before = host.trigger("before")
            host.wait_for_run("started", before)
            new = str(host.wait_for_event("replaced_job", "replaced")["new_job"])
            assert host.wait_for_run("waiting", new, count=2)["reason"] == SLOT
            assert [run["reason"] for run in host.row("replaced")["waiting"]] == [SLOT]
            assert host.wait_for_event("missed_deadline", "replaced")["reason"] == TOO_LATE
            assert host.of_run("started", new) == []

    def test_an_adopted_run_takes_a_slot(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host:
            host.write(host.job("long", UNTIL_GO), host.job("other", "exit 0"))
            host.start()
            long = host.trigger("long")
            pid = host.pid_of(long)
            host.kill()
            host.start("--max-running", "1")
            host.wait_for_run("adopted", long)
            other = host.ask("trigger", job="other")
            assert other["waits_for"] == SLOT
            host.path("go").touch()
            started = host.wait_for_run("started", other["run_id"])
            assert host.wait_for_run("exited", long).time_ns < started.time_ns
            wait_until_gone(pid)
