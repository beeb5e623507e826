"""A cgroup for each run, where a subtree is delegated to krond: real cgroups, real escapees.

The limits need controllers of version 2, which a host may have bound to version 1: then those tests
are skipped. `tools/uml.sh` runs this module in a user-mode Linux that has them.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kron.krond.control.client import ControlError
from tests.krond.children import Family, is_alive
from tests.krond.subtree import Subtree, delegated
from tests.logbook import wait_for

ESCAPE = "(setsid sh -c '{} echo $$ > escaped; exec sleep 600' > /dev/null 2>&1 &)"
"""Two forks and a session of its own: neither the group nor the parent knows it any more."""
UNTIL_ESCAPED = "until [ -s escaped ]; do sleep 0.02; done"
FORKED = "nice=1"
"""With it a run needs the launcher; without it is spawned."""


@pytest.fixture
def subtree() -> Iterator[Subtree]:
    with delegated() as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, subtree: Subtree) -> Iterator[Family]:
    """A krond in the subtree, as systemd starts it with DelegateSubgroup=krond."""
    with Family(tmp_path) as made:
        made.start_empty(wrapper=subtree.wrapper)
        yield made


def escaped(host: Family) -> int:
    return int(host.wait_for_file("escaped"))


def history(host: Family) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(host.command("history", "--format", "json").stdout)[
        "rows"
    ]
    return rows


def wait_until_ended(pid: int) -> None:
    wait_for(lambda: not is_alive(pid), f"the end of {pid}")


@pytest.mark.parametrize("fields", ["", FORKED])
def test_a_timeout_ends_what_has_left_the_group(
    host: Family, subtree: Subtree, fields: str
) -> None:
    script = (ESCAPE.format('trap "" TERM;').replace("exec sleep", "sleep"), "exec sleep 600")
    host.load(host.job("job", *script, fields=f"timeout=1s grace=200ms {fields}".strip()))
    run_id = host.trigger("job")
    pid, first = escaped(host), host.pid_of(run_id)
    assert os.getpgid(pid) != first
    assert {pid, first} <= subtree.processes(run_id)
    exited = host.wait_for_event("exited", "job")
    assert exited["reason"] == "timed out after 1s"
    assert [each["signal"] for each in host.events("timeout")] == ["SIGTERM", "SIGKILL"]
    wait_until_ended(pid)
    wait_for(lambda: not subtree.runs(), "its cgroup is removed")
    host.check_log()


def test_what_has_left_the_group_has_the_grace_too(host: Family, subtree: Subtree) -> None:
    farewell = 'trap "sleep 0.3; echo bye > farewell; exit" TERM;'
    escape = ESCAPE.format(farewell).replace("exec sleep 600", "while :; do sleep 0.05; done")
    host.load(host.job("job", escape, "exec sleep 600", fields="timeout=1s grace=30s"))
    host.trigger("job")
    exited = host.wait_for_event("exited", "job")
    assert host.path("farewell").read_text() == "bye\n"
    assert exited["signal"] == "SIGTERM"
    assert exited.get("left") is None
    assert not is_alive(escaped(host))
    assert subtree.runs() == []


def test_a_run_may_have_cgroups_below_its_own(host: Family, subtree: Subtree) -> None:
    """As one that starts containers."""
    below = f"below=$(echo {subtree.base}/run-$KRON_RUN_ID.*)/below; mkdir $below"
    escape = ESCAPE.format("echo $$ > $0/cgroup.procs;").replace("' >", "' $below >")
    host.load(host.job("job", below, escape, "exec sleep 600", fields="timeout=1s"))
    host.trigger("job")
    pid = escaped(host)
    assert host.wait_for_event("exited", "job")["reason"] == "timed out after 1s"
    assert [each["signal"] for each in host.events("timeout")] == ["SIGTERM"]
    assert not is_alive(pid)
    assert subtree.runs() == []


def test_what_a_failed_attempt_has_left_behind_is_ended_before_the_next(
    host: Family, subtree: Subtree
) -> None:
    """It would do the same work at the same time."""
    done = "test $KRON_ATTEMPT = 2 && exit 0"
    due = host.soon("job")
    lines = (done, ESCAPE.format(""), UNTIL_ESCAPED, "exit 1")
    host.load(host.job("job", *lines, fields="retries=1 retry_delay=0s", schedule=due))
    first, second = host.wait_for_events("exited", count=2)
    assert (first["exit_code"], first["left"], second["exit_code"]) == ("1", "1", "0")
    (replaced,) = host.events("replaced_job")
    assert (replaced["old_job"], replaced["new_job"]) == (first["run_id"], second["run_id"])
    assert not is_alive(escaped(host))
    assert subtree.runs() == []


def test_after_a_crash_too_an_attempt_ends_what_the_one_before_has_left(
    host: Family, subtree: Subtree
) -> None:
    done = "test $KRON_ATTEMPT = 2 && exit 0"
    due = host.soon("job")
    lines = (done, ESCAPE.format(""), UNTIL_ESCAPED, "exit 1")
    host.load(host.job("job", *lines, fields="retries=1 retry_delay=30m", schedule=due))
    wait_for(lambda: host.row("job")["waiting"], "attempt 2 waits")
    host.kill()
    host.write(host.job("job", *lines, fields="retries=1 retry_delay=0s", schedule=due))
    host.start(wrapper=subtree.wrapper)
    first, second = host.wait_for_events("exited", count=2)
    (replaced,) = host.events("replaced_job")
    assert (replaced["old_job"], replaced["new_job"]) == (first["run_id"], second["run_id"])
    assert not is_alive(escaped(host))
    wait_for(lambda: not subtree.runs(), "its cgroup is removed")
    host.check_log()


def test_forbid_counts_what_a_run_has_left_behind_also_after_a_crash(
    host: Family, subtree: Subtree
) -> None:
    policy = "0 0 1 1 * @policy(concurrency=forbid)"
    host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED, schedule=policy))
    run_id = host.trigger("job")
    exited = host.wait_for_event("exited", "job")
    assert (exited["exit_code"], exited["left"]) == ("0", "1")
    pid = escaped(host)
    assert subtree.processes(run_id) == {pid}
    for crashed in (False, True):
        if crashed:
            host.kill()
            (subtree.base / "run-0123.0123456789abcdef").mkdir()  # krond was about to start it
            host.start(wrapper=subtree.wrapper)
        assert host.row("job")["active"] == []
        left = {"run_id": run_id, "processes": 1, "pids": [pid]}
        assert host.row("job")["left_behind"] == [left]
        with pytest.raises(ControlError, match="left processes behind, and concurrency is forbid"):
            host.trigger("job")
    assert f"left behind 1 process (pid {pid})" in host.command("status").stdout
    assert len(subtree.runs()) == 1
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not subtree.runs(), "its cgroup is removed")
    assert host.row("job")["left_behind"] == []
    host.path("escaped").unlink()
    host.trigger("job")
    host.wait_for_event("exited", "job", count=2)
    host.check_log()


def test_a_period_is_skipped_for_what_a_run_has_left_behind(host: Family) -> None:
    schedule = host.soon("job", 2, more="@policy(concurrency=forbid)")
    host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED, schedule=schedule))
    run_id = host.trigger("job")
    assert host.wait_for_event("skipped_concurrency", "job")["active_job"] == run_id
    assert len(host.events("exited")) == 1
    host.check_log()


def test_replace_ends_what_a_run_has_left_behind(host: Family, subtree: Subtree) -> None:
    policy = "0 0 1 1 * @policy(concurrency=replace)"
    host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED, schedule=policy))
    first = host.trigger("job")
    host.wait_for_run("exited", first)
    pid = escaped(host)
    host.load(host.job("job", "true", schedule=policy))
    second = host.trigger("job")
    host.wait_for_run("exited", second)
    assert not is_alive(pid)
    replaced = host.wait_for_event("replaced_job", "job")
    assert (replaced["old_job"], replaced["new_job"]) == (first, second)
    assert subtree.runs() == []


def test_a_stop_leaves_alone_what_runs_have_left_behind(host: Family, subtree: Subtree) -> None:
    host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED))
    host.trigger("job")
    host.wait_for_event("exited", "job")
    assert host.stop() == 0
    assert is_alive(escaped(host))
    host.write("# the job is gone")
    host.start(wrapper=subtree.wrapper)
    assert is_alive(escaped(host))


def test_a_run_that_goes_on_after_a_crash_still_has_its_cgroup(
    host: Family, subtree: Subtree
) -> None:
    host.load(host.job("job", ESCAPE.format(""), "exec sleep 600", fields="grace=0s"))
    run_id = host.trigger("job")
    pid = escaped(host)
    host.kill()
    host.start(wrapper=subtree.wrapper)
    assert host.wait_for_event("adopted", "job")["run_id"] == run_id
    host.ask("stop", how="terminate")
    assert host.wait() == 0
    wait_until_ended(pid)


def test_the_history_has_the_cpu_time_of_all_processes(host: Family) -> None:
    burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    host.load(host.job("busy", f"({burn}) & wait", burn), host.job("idle", "true"))
    for name in ("busy", "idle"):
        host.trigger(name)
    busy = host.wait_for_event("exited", "busy")
    host.wait_for_event("exited", "idle")
    rows = wait_for(lambda: rows if len(rows := history(host)) == 2 else None, "two rows")
    by_name = {row["name"]: row for row in rows}
    assert by_name["busy"]["cpu_seconds"] == float(str(busy["cpu_seconds"])) > 0.05
    assert by_name["idle"]["cpu_seconds"] < by_name["busy"]["cpu_seconds"]
    assert "CPU" in host.command("history").stdout


def test_a_start_that_fails_leaves_no_cgroup(host: Family, subtree: Subtree) -> None:
    for fields in ("", FORKED):
        host.load(f"0 0 1 1 * name=job command=/does/not/exist {fields}")
        with pytest.raises(ControlError, match="does not exist"):
            host.trigger("job")
        assert subtree.runs() == []
    assert str(host.pid) in (subtree.leaf / "cgroup.procs").read_text().split()


def test_with_delegation_alone_krond_stays_where_systemd_started_it(
    tmp_path: Path, subtree: Subtree
) -> None:
    with Family(tmp_path) as host:
        host.start_empty(wrapper=subtree.enter(subtree.base))
        host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED))
        run_id = host.trigger("job")
        assert host.wait_for_event("exited", "job")["left"] == "1"
        assert subtree.processes(run_id) == {escaped(host)}
        assert str(host.pid) in (subtree.base / "cgroup.procs").read_text().split()
        assert (subtree.base / "cgroup.subtree_control").read_text().strip() == ""


def test_a_subgroup_of_a_unit_is_delegated_without_a_mark(tmp_path: Path, subtree: Subtree) -> None:
    """A user's systemd marks nothing."""
    unit = Subtree(subtree.base / "krond.service")
    unit.leaf.mkdir(parents=True)
    with Family(tmp_path) as host:
        host.start_empty(wrapper=unit.wrapper)
        host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED))
        run_id = host.trigger("job")
        assert host.wait_for_event("exited", "job")["left"] == "1"
        assert unit.processes(run_id) == {escaped(host)}


def test_in_a_container_krond_makes_a_cgroup_of_its_own(tmp_path: Path, subtree: Subtree) -> None:
    subtree.leaf.rmdir()
    inside = 'mount -t cgroup2 cgroup2 "$0" && exec "$@"'
    place = tmp_path / "cgroup"
    place.mkdir()
    container = ["unshare", "--cgroup", "--mount", "/bin/sh", "-c", inside, str(place)]
    with Family(tmp_path) as host:
        host.start_empty(wrapper=[*subtree.enter(subtree.base), *container])
        host.load(host.job("job", ESCAPE.format(""), UNTIL_ESCAPED))
        run_id = host.trigger("job")
        assert host.wait_for_event("exited", "job")["left"] == "1"
        assert subtree.processes(run_id) == {escaped(host)}
        assert str(host.pid) in (subtree.leaf / "cgroup.procs").read_text().split()
        taken = set((subtree.base / "cgroup.subtree_control").read_text().split())
        assert taken == {"cpu", "memory", "pids"} & subtree.controllers


def test_a_second_krond_in_the_same_subtree_goes_without(host: Family, subtree: Subtree) -> None:
    directory = host.path("second")
    directory.mkdir()
    with Family(directory) as second:
        second.start_empty(wrapper=subtree.wrapper)
        second.load(second.job("job", "true"))
        second.trigger("job")
        assert second.wait_for_event("exited", "job").get("cpu_seconds") is None
        second.write("0 0 1 1 * name=job command=/bin/true pids_max=10")
        refused = second.command("reload")
        assert refused.returncode == 1
        assert "another krond has taken the cgroup that is delegated here" in refused.stderr


@pytest.mark.parametrize("is_marked", [False, True])
def test_without_delegation_all_is_as_before(
    tmp_path: Path, subtree: Subtree, is_marked: bool
) -> None:
    """A cgroup is another's unless it is marked, and so is a threaded one."""
    if is_marked:
        subtree.leaf.rmdir()
        subtree.leaf.mkdir()
        (subtree.leaf / "cgroup.type").write_text("threaded")
    else:
        os.removexattr(subtree.base, "user.delegate")
    with Family(tmp_path) as host:
        host.start_empty(wrapper=subtree.wrapper)
        host.load(
            host.job("job", ESCAPE.format(""), "exec sleep 600", fields="timeout=1s grace=0s")
        )
        host.trigger("job")
        exited = host.wait_for_event("exited", "job")
        assert exited["reason"] == "timed out after 1s"
        assert {exited.get(key) for key in ("cpu_seconds", "peak_memory", "left")} == {None}
        assert is_alive(escaped(host))
        assert subtree.runs() == []


# Limits


def test_limits_that_krond_cannot_set_are_refused(tmp_path: Path, subtree: Subtree) -> None:
    with Family(tmp_path) as host:
        host.write("0 0 1 1 * name=job command=/bin/true memory_max=1G cpu_weight=50 pids_max=10")
        # With Delegate= alone no controller can be taken.
        host.launch(wrapper=subtree.enter(subtree.base))
        assert host.wait() == 1
        for column, field in ((38, "memory_max"), (52, "cpu_weight"), (66, "pids_max")):
            error = f"{field} of job: the cgroup controller {field.partition('_')[0]} is not"
            assert f"jobs.kron:1:{column}: error: {error}" in host.said()
        assert "DelegateSubgroup=krond" in host.said()
        # Without delegation neither; and a reload that is refused changes nothing.
        host.start_empty()
        host.write("defaults: pids_max=10", *(f"0 0 1 1 * name={n} command=/a" for n in "ab"))
        answer = host.command("reload")
        assert answer.returncode == 1
        assert answer.stderr.count("jobs.kron:1:11: error: pids_max of ") == 1
        assert "no cgroup is delegated to krond" in answer.stderr
        assert host.ask("status")["total"] == 0


def test_limits_hold_from_the_first_process_on(host: Family, subtree: Subtree) -> None:
    subtree.needs("memory", "pids", "cpu")
    look = "cd /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); cat memory.max pids.max"
    fields = "memory_max=512M cpu_weight=50 pids_max=20"
    host.load(host.job("job", f"({look} cpu.weight) > {host.path('limits')}", fields=fields))
    host.trigger("job")
    exited = host.wait_for_event("exited", "job")
    assert host.path("limits").read_text().split() == [str(512 << 20), "20", "50"]
    assert 0 < int(exited["peak_memory"]) < 512 << 20
    (row,) = wait_for(lambda: history(host), "the row")
    assert row["peak_memory"] == int(exited["peak_memory"])
    assert "MEMORY" in host.command("history").stdout
    assert host.command("history").returncode == 0


def test_a_run_that_reaches_its_memory_max_says_so(host: Family, subtree: Subtree) -> None:
    subtree.needs("memory")
    host.load(host.job("job", "exec tail /dev/zero", fields="memory_max=32M"))
    host.trigger("job")
    exited = host.wait_for_event("exited", "job")
    assert (exited["signal"], exited["reason"]) == ("SIGKILL", "it reached its memory_max")


def test_a_run_that_has_its_pids_max_cannot_fork(host: Family, subtree: Subtree) -> None:
    subtree.needs("pids")
    host.load(host.job("job", "/bin/true || exit 3", fields="pids_max=1"))
    host.trigger("job")
    assert host.wait_for_event("exited", "job")["exit_code"] != "0"
