"""A reload: what it keeps, when an edit takes effect, and that nothing runs for a time gone by."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from kron.core.instant import from_text, to_text
from tests.krond.commands import NEVER, OnePeriod, is_alive, stored
from tests.krond.host import Host
from tests.logbook import wait_for
from tests.moment import soon
from tests.soak import SOAK

HOLDS = 'shell=true command="until [ -e {gate} ]; do sleep 0.01; done"'


def holding(host: Host, name: str = "held", schedule: str = NEVER) -> str:
    """The line of a job whose runs end when the gate is there."""
    return f"{schedule} name={name} {HOLDS.format(gate=host.directory / 'gate')}"


def hold(host: Host, name: str = "held") -> int:
    """Start a run of such a job: its pid."""
    host.ask("trigger", job=name)
    pid: int = host.row(name)["active"][-1]["pid"]
    return pid


def release(host: Host) -> None:
    (host.directory / "gate").touch()


def test_runs_that_are_going_on_stay_whatever_becomes_of_their_jobs(host: Host) -> None:
    host.write(
        holding(host, "same"),
        holding(host, "edited"),
        holding(host, "rescheduled"),
        holding(host, "removed"),
    )
    host.start()
    pids = {name: hold(host, name) for name in ("same", "edited", "rescheduled", "removed")}
    host.write(
        f"{NEVER} name=new command=/bin/true",
        holding(host, "rescheduled", "0 1 29 2 * @win(after,1h)"),
        holding(host, "same"),
        f"{NEVER} name=edited command=/bin/false timeout=1h",
    )
    ended = host.command("reload")
    assert (ended.returncode, ended.stdout) == (0, "reloaded: 4 jobs\n")
    applied = host.events("reload")[-1]
    counts = {key: applied[key] for key in ("result", "jobs", "added", "changed", "removed")}
    assert counts == {
        "result": "applied",
        "jobs": "4",
        "added": "1",
        "changed": "2",
        "removed": "1",
    }
    assert all(map(is_alive, pids.values()))
    assert host.ask("status")["active"] == 4
    for name in ("same", "edited", "rescheduled"):
        assert [run["pid"] for run in host.row(name)["active"]] == [pids[name]]
    release(host)
    for name in pids:
        assert host.wait_for_event("exited", name)["exit_code"] == "0"
    assert host.command("trigger", "edited", "--wait").returncode == 1, "from the next run on"
    assert host.stop() == 0
    assert stored(host, "removed")["last_run"][7] == 0
    host.check_log()


def test_an_edit_takes_effect_from_now_on_and_nothing_runs_for_a_time_gone_by(host: Host) -> None:
    one = OnePeriod(host, "job")
    done = host.directory / "done"
    now_s = int(time.time())

    def edit(at_s: int) -> None:
        schedule = one.chosen_at(at_s, "@policy(deadline=1h)")
        host.write(f'{schedule} name=job shell=true command="echo $KRON_CHOSEN >>{done}"')

    edit(now_s + 300)
    host.start()
    edit(now_s - 30)
    assert host.ask("reload")["ok"]
    (lapsed,) = [
        event
        for event in host.events("reschedule", "job")
        if event["period"] == to_text(one.nominal_s)
    ]
    assert lapsed["previous_chosen"] == to_text(now_s + 300)
    assert lapsed["new_chosen"] == to_text(now_s - 30)
    assert "already passed" in str(lapsed["reason"])
    assert host.row("job")["next"]["period"] == to_text(one.nominal_s + 86_400)
    host.kill()
    host.start()  # the next krond owes it no more than this one did
    assert host.row("job")["next"]["period"] == to_text(one.nominal_s + 86_400)
    at_s = soon(1.5)
    edit(at_s)
    host.ask("reload")
    host.wait_for_event("exited", "job")
    edit(again_s := soon(1.5))
    host.ask("reload")
    wait_for(lambda: time.time() > again_s + 1, "the chosen time of a period that has ended")
    host.ask("status")
    assert done.read_text() == f"{to_text(at_s)}\n"
    assert host.row("job")["next"]["period"] == to_text(one.nominal_s + 86_400)
    assert host.events("missed_deadline") == []
    assert host.stop() == 0
    host.check_log()


def test_a_job_that_is_added_owes_nothing_from_before(host: Host) -> None:
    one, two = OnePeriod(host, "new"), OnePeriod(host, "back")
    other = f"{NEVER} name=other command=/bin/true"
    host.write(other)
    host.start()
    at_s = soon(2)
    passed = one.chosen_at(at_s - 60, "@policy(deadline=1h)")
    to_come = two.chosen_at(at_s, "@policy(deadline=1h)")
    host.write(other, f"{to_come} name=back command=/bin/true")
    host.ask("reload")
    assert host.row("back")["next"]["chosen"] == to_text(at_s)
    host.write(other)
    host.ask("reload")
    wait_for(lambda: time.time() > at_s + 1, "the chosen time, while it is gone")
    host.write(
        other, f"{passed} name=new command=/bin/true", f"{to_come} name=back command=/bin/true"
    )
    assert host.ask("reload")["total"] == 3
    for name in ("new", "back"):
        assert host.row(name)["next"]["period"] == to_text(one.nominal_s + 86_400)
    assert host.events("started") == host.events("missed_deadline") == []


def test_a_job_removed_while_it_runs_and_added_again_is_the_same_job(host: Host) -> None:
    held, other = holding(host), f"{NEVER} name=other command=/bin/true"
    host.write(held, other)
    host.start()
    pid = hold(host)
    host.write(other)
    host.ask("reload")
    assert "held" not in host.command("status", "--format", "names").stdout.split()
    assert host.command("trigger", "held").returncode == 1
    host.write(held, other)
    host.ask("reload")
    assert [run["pid"] for run in host.row("held")["active"]] == [pid]
    refused = host.command("trigger", "held")
    assert (refused.returncode, "is going on" in refused.stderr) == (1, True)
    assert host.events("adopted") == [], "it never went away"
    # The same if the krond that comes next does not know the job at first.
    host.write(other)
    host.ask("reload")
    host.kill()
    host.start()
    assert is_alive(pid)
    host.write(held, other)
    host.ask("reload")
    assert host.events("adopted", "held")[-1]["pid"] == str(pid)
    assert host.command("trigger", "held").returncode == 1
    release(host)
    host.wait_for_event("exited", "held")
    assert host.command("trigger", "held", "--wait").returncode == 0
    assert host.stop() == 0
    assert len(host.events("started", "held")) == 2
    host.check_log()


@pytest.mark.parametrize("how", ["removed", "suspended"])
def test_a_run_that_waits_is_given_up_with_its_job(host: Host, how: str) -> None:
    host.write(holding(host))
    host.start("--max-running", "1")
    hold(host)
    at_s = soon(1.5)
    due = OnePeriod(host, "due").chosen_at(at_s, "@policy(deadline=1h)")
    asked = f"{NEVER} name=asked command=/bin/true"
    host.write(holding(host), f"{due} name=due command=/bin/true", asked)
    host.ask("reload")
    host.wait_for_event("waiting", "due")
    host.ask("trigger", job="asked")
    assert host.ask("status")["waiting"] == 2
    stays = {
        "removed": [],
        "suspended": [
            f"{due[:-1]},suspend=true) name=due command=/bin/true",
            f"{NEVER} @policy(suspend=true) name=asked command=/bin/true",
        ],
    }[how]
    host.write(holding(host), *stays)
    host.ask("reload")
    missed = host.wait_for_event("missed_deadline", "due")
    assert missed["chosen"] == to_text(at_s)
    assert {"removed": "no longer configured", "suspended": "suspended"}[how] in str(
        missed["reason"]
    )
    # One that somebody asked for runs although its job is suspended.
    assert host.ask("status")["waiting"] == (1 if how == "suspended" else 0)
    release(host)
    host.wait_for_event("exited", "held")
    host.write(f"{due} name=due command=/bin/true", asked)
    host.ask("reload")
    host.ask("status")
    assert host.events("started", "due") == [], "and it owes nothing when it is back"
    assert len(host.events("started", "asked")) == (1 if how == "suspended" else 0)
    host.check_log()


def test_what_comes_due_while_suspended_waits_for_the_deadline_to_decide(host: Host) -> None:
    host.write()
    host.start()
    at_s = soon(2)
    patient = OnePeriod(host, "patient").chosen_at(at_s, "@policy(deadline=1h)")
    strict = OnePeriod(host, "strict").chosen_at(at_s)

    def write(suspend: str) -> None:
        host.write(
            f"{patient[:-1]}{suspend and ',suspend=true'}) name=patient command=/bin/true",
            f"{strict} {suspend and '@policy(suspend=true)'} name=strict command=/bin/true",
        )

    write("")
    host.ask("reload")
    write("suspended")
    host.ask("reload")
    assert [event["suspend"] for event in host.events("suspended")] == ["true", "true"]
    assert host.row("patient")["next"] is None
    wait_for(lambda: time.time() > at_s + 1, "the chosen time")
    assert host.ask("reload")["ok"]
    assert host.events("trigger") == host.events("missed_deadline") == []
    assert stored(host, "patient")["ledger"]["handled"] == []
    write("")
    host.ask("reload")
    assert [event["suspend"] for event in host.events("suspended")[2:]] == ["false", "false"]
    started = host.wait_for_event("started", "patient")
    assert started["chosen"] == to_text(at_s)
    assert host.events("missed_deadline", "strict")[0]["chosen"] == to_text(at_s)
    assert host.events("started", "strict") == []
    host.check_log()


def test_lines_that_move_and_the_same_in_other_words_are_no_change(host: Host) -> None:
    lines = [f"0 {hour} 29 2 * @win(after,30m) name=job-{hour} command=true" for hour in range(20)]
    host.write(*lines)
    host.start()
    before = {row["name"]: row["next"] for row in host.ask("status")["jobs"]}
    decisions = len(host.events("decision"))
    changed = {path: path.stat().st_mtime_ns for path in host.state.glob("*.json")}
    moved = [line.replace("@win(after,30m)", "@win(after,1800s)") for line in reversed(lines)]
    host.write("# a comment", "", *moved)
    host.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
    applied = host.wait_for_event("reload")
    assert [applied[key] for key in ("added", "changed", "removed")] == ["0", "0", "0"]
    assert {row["name"]: row["next"] for row in host.ask("status")["jobs"]} == before
    assert len(host.events("decision")) == decisions
    assert {path: path.stat().st_mtime_ns for path in host.state.glob("*.json")} == changed


def test_many_reloads_of_two_thousand_jobs_lose_and_repeat_no_run(host: Host) -> None:
    # Two of a job's periods may be a second apart: where it is busy, the first still runs then.
    schedule = "* * * * * @win(after,1m) @policy(concurrency=allow)"
    lines = [f"{schedule} name=job-{n} command=/bin/true" for n in range(2_000)]
    bad = "0 25 * * * name=bad command=/bin/true"
    host.write(*lines)
    host.start("--trigger-slack", "60s")
    begun_s = int(time.time()) + 1
    rounds = 0
    while time.time() < begun_s + 3 * min(SOAK, 5) or rounds < 6:
        rounds += 1
        if rounds % 3 == 0:
            host.write(*lines, bad)
            assert host.command("reload").returncode == 1
        else:
            edited = [f"{line} description=round-{rounds}" for line in reversed(lines)]
            host.write(*edited)
            assert host.command("reload").returncode == 0
    ended_s = int(time.time())
    assert host.stop() == 0
    assert host.events("missed_deadline") == host.events("error") == []
    due = {
        (event["name"], event["period"])
        for event in host.events("decision")
        if begun_s <= from_text(str(event["chosen"])) < ended_s
    }
    started = Counter((event["name"], event["period"]) for event in host.events("started"))
    assert len(due) > 50
    assert not due - started.keys()
    assert set(started.values()) == {1}
    host.check_log()


def test_reloads_leave_no_descriptor_open(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    assert host.process is not None
    descriptors = Path(f"/proc/{host.process.pid}/fd")

    def shuffle() -> int:
        for line in ("0 25 * * * name=bad command=/bin/true", f"{NEVER} name=job command=true"):
            host.write(line)
            count = len(host.events("reload")) + 1
            host.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
            host.wait_for_event("reload", count=count)
        return len(list(descriptors.iterdir()))

    first = shuffle()
    assert [shuffle() for _ in range(5)] == [first] * 5
