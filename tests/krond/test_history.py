"""`krond history` on a real krond: what it shows, across restarts, kills and broken disks."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from kron.krond.control.client import ControlError
from kron.krond.history.database import DATABASE
from kron.krond.runs.supervisor import UNSEEN
from tests.krond.commands import (
    HOLDS,
    NEVER,
    backdate,
    is_alive,
    krond,
    krond_as_nobody,
    needs_root,
    on_a_terminal,
    public_directory,
    wait_until_gone,
)
from tests.krond.disk import fill, tmpfs
from tests.krond.history.written import Written, entry, executed, missed
from tests.krond.host import Host
from tests.krontab.schemas import validate
from tests.logbook import wait_for


def history(host: Host, *words: str) -> list[dict[str, Any]]:
    """What `krond history --format json` prints, which its schema allows."""
    ended = host.command("history", "--format", "json", *words)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    document = json.loads(ended.stdout)
    validate(document)
    rows: list[dict[str, Any]] = document["rows"]
    return rows


def wait_for_rows(host: Host, count: int) -> list[dict[str, Any]]:
    """Wait until so many ends are in the history, and see that there are no more."""
    database = host.state / DATABASE

    def look() -> bool:
        if not database.exists():
            return False
        with closing(sqlite3.connect(database, timeout=5)) as connection:
            try:
                found = connection.execute("SELECT count(*) FROM ended").fetchone()
            except sqlite3.OperationalError:
                return False  # its tables are being made
        return bool(found[0] >= count)

    wait_for(look, f"{count} rows")
    rows = history(host)
    assert len(rows) == count
    return rows


def trigger(host: Host, *names: str) -> None:
    """Let these jobs run, one after the other, to their ends."""
    for name in names:
        with suppress(ControlError):  # of a program that does not exist
            host.ask("trigger", job=name, wait=True)


# What it shows


def test_it_shows_how_every_kind_of_run_ended_to_people_and_to_scripts(host: Host) -> None:
    host.write(
        f"{host.soon('due')} name=due command=/bin/true",
        f'{NEVER} name=failed command="exit 3" shell=true',
        f'{NEVER} name=killed command="kill -9 $$" shell=true',
        f"{NEVER} name=absent command=/no/such",
    )
    host.start()
    assert history(host) == []
    for words in ((), ("--outcome", "failed")):
        nothing = host.command("history", *words)
        assert (nothing.returncode, nothing.stdout) == (0, "")
        assert nothing.stderr == "nothing has ended yet\n"
    trigger(host, "failed", "killed", "absent")
    host.wait_for_event("exited", "due")
    rows = {row["name"]: row for row in wait_for_rows(host, 4)}
    due = rows["due"]
    assert (due["outcome"], due["exit_code"], due["succeeded"]) == ("executed", 0, True)
    assert due["run_id"] == host.events("started", "due")[0]["run_id"]
    assert due["chosen"] == host.events("started", "due")[0]["chosen"]
    assert 0 <= due["late_seconds"] < 30
    assert due["started"] < due["ended"]
    assert (rows["failed"]["exit_code"], rows["failed"]["period"]) == (3, None)
    assert (rows["killed"]["signal"], rows["killed"]["succeeded"]) == ("SIGKILL", False)
    assert rows["absent"]["reason"] == 'the program "/no/such" does not exist'

    shown = host.command("history")
    assert (shown.returncode, shown.stderr) == (0, "")
    head, *lines = shown.stdout.splitlines()
    assert "\x1b" not in shown.stdout
    by_name = {line.split()[0]: line for line in lines}
    assert due["period"] == by_name["due"][head.index("PERIOD") :].split()[0]
    result = head.index("RESULT")
    assert {name: line[result:].split("  ")[0] for name, line in by_name.items()} == {
        "due": "ok",
        "failed": "exit code 3",
        "killed": "SIGKILL",
        "absent": "not started",
    }
    code, coloured = on_a_terminal("history", "--state-dir", host.state)
    assert code == 0
    assert "\x1b[31mexit code 3\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == shown.stdout.split()

    failed = history(host, "--outcome", "failed")
    assert [row["name"] for row in failed] == ["failed", "killed", "absent"]
    assert {row["succeeded"] for row in failed} == {False}
    assert history(host, "--since", "1h") == history(host)
    assert history(host, "--until", "1h") == history(host, "--since", "2099-01-01") == []
    assert [row["name"] for row in history(host, "failed", "due", "--limit", "9")] == [
        row["name"] for row in history(host) if row["name"] in ("failed", "due")
    ]
    nothing = host.command("history", "due", "--outcome", "failed")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "nothing that matches\n"
    unknown = host.command("history", "faild")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert 'did you mean "failed"?' in unknown.stderr


def test_periods_that_were_missed_while_krond_was_down_are_in_it(host: Host) -> None:
    host.write("* * * * * name=often command=/bin/true", f"{NEVER} name=other command=/bin/true")
    host.start()
    assert host.stop() == 0
    backdate(host, "often", 2 * 3_600)
    host.start()
    host.wait_for_event("missed_deadline", "often")
    wait_for((host.state / DATABASE).exists, "the history")
    row = wait_for(lambda: history(host, "--outcome", "missed"), "the row")[0]
    assert 118 <= row["count"] <= 121
    assert row["period"] == host.events("missed_deadline", "often")[0]["period"]
    assert f"missed x{row['count']}" in host.command("history").stdout


def test_a_hostile_name_or_reason_is_shown_escaped(tmp_path: Path) -> None:
    written = Written(tmp_path)
    hostile = entry("backup").replace(name="a\x1b[2Jb\nc|d")
    written.history.add(hostile, executed(reason="\x1b]0;owned\x07"))
    written.history.add(entry("plain"), missed(1), 1_000)
    written.turn()
    written.close()
    shown = krond("history", "--state-dir", written.path)
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout
    head, first, second = shown.stdout.splitlines()
    assert first.startswith("a\\x1b[2Jb\\x0ac|d  2026-03-01T02:00:00Z")
    assert "\\x1b]0;owned\\x07" in first
    assert second.index("missed x1000") == head.index("RESULT")


def test_the_columns_are_straight_whatever_the_result_is(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.add(
        executed(0, reason="why"),
        executed(1, exit_code=None, reason="why"),
        missed(2).replace(outcome="unschedulable", reason="why"),
        missed(3).replace(outcome="manual", reason="why"),
    )
    written.close()
    head, *lines = krond("history", "--state-dir", written.path).stdout.splitlines()
    results = {line[head.index("RESULT") : head.index("OUTPUT")].rstrip() for line in lines}
    assert results == {"exit code 0", "ended, result unknown", "unschedulable", "not started"}
    assert {line.index("why") for line in lines} == {head.index("REASON")}


def test_a_reader_that_ends_early_ends_it_and_a_million_rows_need_no_memory(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.add(executed(0))
    written.close()
    with closing(sqlite3.connect(written.path / DATABASE, isolation_level=None)) as shell:
        shell.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
            "INSERT INTO ended (job, outcome, reason, run_id, ended_ns, count) "
            "SELECT 1, 'manual', '', 'm' || i, 1000000000, 1 FROM n"
        )
    words = [sys.executable, "-m", "kron.krond", "history", "--since", "1970-01-01"]
    with subprocess.Popen(
        [*words, "--state-dir", str(written.path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"NAME")
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    assert int(peak[1]) < 60_000


@needs_root
def test_it_is_for_kronds_own_user_and_root() -> None:
    with public_directory() as directory, Host(directory) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        trigger(host, "job")
        wait_for_rows(host, 1)
        refused = krond_as_nobody("history", "--state-dir", host.state)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "as its user or as root" in refused.stderr


def test_a_state_directory_of_no_krond_is_exit_code_2(tmp_path: Path) -> None:
    ended = krond("history", "--state-dir", tmp_path / "none")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--state-dir" in ended.stderr


# Restarts, kills


def test_it_is_kept_across_restarts_and_read_without_a_krond(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    for count in (1, 2):
        host.start()
        trigger(host, "job")
        assert host.stop() == 0
        assert len(history(host)) == count
    host.start()
    host.ask("forget", job="job")
    assert len(history(host)) == 2, "what has happened has happened"


def test_a_run_has_one_row_whenever_krond_is_killed(host: Host) -> None:
    gate = host.directory / "gate"
    host.write(
        f"{host.soon('due')} name=due {HOLDS.format(gate=gate)}",
        f"{NEVER} name=quick command=/bin/true",
    )
    host.start()
    pid = int(str(host.wait_for_event("started", "due")["pid"]))
    trigger(host, "quick")
    wait_for_rows(host, 1)
    host.kill()
    host.start()
    host.wait_for_event("adopted", "due")
    host.kill()
    gate.touch()
    wait_until_gone(pid)
    host.start()
    wait_for_rows(host, 2)
    host.kill()
    host.start()
    quick, due = wait_for_rows(host, 2)
    assert (quick["name"], quick["succeeded"]) == ("quick", True)
    assert (due["name"], due["reason"], due["succeeded"]) == ("due", UNSEEN, None)
    assert due["recorded"] is not None


def test_ends_that_were_stored_are_in_it_even_if_krond_was_killed_before_it_wrote_them(
    host: Host,
) -> None:
    """The state knows the ends, each with its result."""
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    trigger(host, "job")
    wait_for_rows(host, 1)
    with closing(sqlite3.connect(host.state / DATABASE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        trigger(host, "job", "job")
        host.ask("status")  # the turn in which the last one ended is over
        host.kill()
    assert len(history(host)) == 1
    host.start()
    rows = wait_for_rows(host, 3)
    assert [row["run_id"] for row in rows] == [end["run_id"] for end in host.events("exited")]
    assert [row["succeeded"] for row in rows] == [True, True, True]
    host.kill()
    host.start()
    trigger(host, "job")
    wait_for_rows(host, 4)


# What is in the way of it


def test_a_locked_history_holds_nobody_up_and_catches_up(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    trigger(host, "job")
    wait_for_rows(host, 1)
    with closing(sqlite3.connect(host.state / DATABASE, isolation_level=None)) as shell:
        shell.execute("BEGIN EXCLUSIVE")
        trigger(host, "job", "job")
        assert host.row("job")["last"]["exit_code"] == 0
    wait_for_rows(host, 3)
    assert host.events("error") == []
    assert host.stop() == 0


def test_a_damaged_history_is_set_aside_and_krond_goes_on(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.state.mkdir(0o700)
    (host.state / DATABASE).write_bytes(os.urandom(5_000))
    host.start()
    trigger(host, "job")
    host.wait_for_event("state_corrupt")
    wait_for_rows(host, 1)
    assert len(list(host.state.glob(f"{DATABASE}.corrupt.*"))) == 1
    assert host.stop() == 0


def test_a_full_disk_stops_the_history_and_not_krond(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", "1m") as disk, Host(tmp_path, state=disk / "state") as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        ballast = fill(disk, leave=40_960)
        trigger(host, "job", "job", "job")
        error = host.wait_for_event("error")
        assert "history" in str(error["operation"])
        assert host.row("job")["last"]["exit_code"] == 0
        ballast.unlink()
        wait_for_rows(host, 3)
        assert len(host.events("error")) == 1
        assert host.stop() == 0


def test_no_run_has_the_history_open(host: Host) -> None:
    seen = host.directory / "seen"
    command = f'command="ls -l /proc/self/fd > {seen}"'
    host.write(
        f"{NEVER} name=spawned shell=true {command}",
        f"{NEVER} name=launched shell=true umask=022 {command}",
    )
    host.start()
    trigger(host, "spawned")
    wait_for_rows(host, 1)
    assert host.process is not None
    open_files = [file.readlink() for file in Path(f"/proc/{host.process.pid}/fd").iterdir()]
    assert DATABASE in {path.name for path in open_files}
    for name in ("spawned", "launched"):
        trigger(host, name)
        assert DATABASE not in seen.read_text()
    assert is_alive(host.process.pid)
