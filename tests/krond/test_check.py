"""`krond check` on a real krond: every state with its exit code, and what ends it."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kron.krond.control.client import ControlError
from kron.krond.state.past import HISTORY
from tests.krond.commands import (
    NEVER,
    backdate,
    krond,
    krond_as_nobody,
    needs_root,
    public_directory,
)
from tests.krond.disk import fill, tmpfs
from tests.krond.host import Host
from tests.krontab.schemas import validate
from tests.logbook import wait_for

OK, WARNING, CRITICAL, UNKNOWN = range(4)


def check(host: Host, *words: str) -> tuple[int, str]:
    """The exit code and the one line of `krond check`."""
    ended = host.command("check", *words)
    assert ended.stderr == ""
    assert ended.stdout.count("\n") == 1
    return ended.returncode, ended.stdout.rstrip("\n")


def document(host: Host, *words: str) -> dict[str, Any]:
    ended = host.command("check", "--format", "json", *words)
    found: dict[str, Any] = json.loads(ended.stdout)
    validate(found)
    assert ended.returncode == ["ok", "warning", "critical", "unknown"].index(found["status"])
    return found


def test_a_run_of_a_removed_job_is_running(host: Host) -> None:
    job = f"{NEVER} name=job command=/bin/true"
    host.write(job, f'{NEVER} name=removed command="/bin/sleep 600"')
    host.start()
    host.ask("trigger", job="removed")
    host.write(job)
    host.ask("reload")
    assert host.ask("status")["active"] == 1
    assert check(host)[1].startswith("KROND OK - 1 job, 1 running |")
    assert check(host, "job")[1].startswith("KROND OK - 1 job, 0 running |")
    host.command("stop", "--terminate")


def test_a_failure_is_critical_until_a_run_succeeds(host: Host) -> None:
    works = host.directory / "works"
    host.write(
        f'{NEVER} name=backup command="/usr/bin/test -e {works}"',
        f"{NEVER} name=fine command=/bin/true",
    )
    host.start()
    numbers = "failed={} missed=0 overdue=0 stale=0"
    well = f"KROND OK - 2 jobs, 0 running | jobs=2 running=0 {numbers.format(0)}"
    assert check(host) == (OK, well)
    host.ask("trigger", job="backup", wait=True)
    ill = f"KROND CRITICAL - 1 failed: backup (exit code 1) | jobs=2 running=0 {numbers.format(1)}"
    assert check(host) == (CRITICAL, ill)
    (problem,) = document(host)["problems"]
    assert (problem["kind"], problem["job"], problem["text"]) == ("failed", "backup", "exit code 1")
    assert problem["since"] == host.row("backup")["last"]["ended"]
    assert check(host, "fine")[0] == check(host, "--ignore", "backup")[0] == OK
    assert host.stop() == 0
    host.start()
    assert check(host) == (CRITICAL, ill), "it is remembered"
    works.touch()
    host.ask("trigger", job="backup", wait=True)
    assert check(host) == (OK, well)
    assert document(host)["problems"] == []


def test_a_missed_period_is_critical_until_a_run_succeeds(host: Host) -> None:
    host.write("0 * * * * name=hourly command=/bin/true", f"{NEVER} name=b command=/bin/true")
    host.start()
    assert host.stop() == 0
    backdate(host, "hourly", 3_600)
    host.start()
    missed = host.wait_for_event("missed_deadline", "hourly")
    code, line = check(host)
    assert code == CRITICAL
    assert f" - 1 missed: hourly ({missed['period']}: {missed['reason']}) | " in line
    host.ask("trigger", job="hourly", wait=True)
    assert check(host)[0] == OK


def test_a_run_that_cannot_start_is_critical_and_says_why(host: Host) -> None:
    program = host.directory / "late"
    host.write(
        f"{host.soon('due')} name=due command=/no/such", f"{NEVER} name=asked command={program}"
    )
    host.start()
    host.wait_for_event("missed_deadline", "due")
    with pytest.raises(ControlError, match="does not exist"):
        host.ask("trigger", job="asked", wait=True)
    code, line = check(host)
    assert code == CRITICAL
    assert re.search(r'1 failed: asked \(not started: the program ".*" does not exist\)', line)
    assert 'Z: the program "/no/such" does not exist)' in line
    assert 'missed: the program "/no/such" does not exist' in host.command("status", "due").stdout
    program.symlink_to("/bin/true")
    host.ask("trigger", job="asked", wait=True)
    assert "failed=0 missed=1" in check(host)[1]


def test_a_success_that_is_too_old_or_unknown_is_critical(host: Host) -> None:
    works = host.directory / "works"
    works.touch()
    host.write(
        f'{NEVER} name=backup command="/usr/bin/test -e {works}"',
        f"{NEVER} name=never command=/bin/true",
    )
    host.start()
    host.ask("trigger", job="backup", wait=True)
    succeeded_s = time.time()
    assert check(host, "--max-age-of-success", "backup=1h")[0] == OK
    works.unlink()
    for _ in range(HISTORY + 1):  # so many that only the history knows the success
        host.ask("trigger", job="backup", wait=True)
    assert host.row("backup")["last_success"] is None
    (problem,) = document(host, "--max-age-of-success", "backup=1h")["problems"]
    assert problem["kind"] == "failed"
    time.sleep(max(0.0, succeeded_s + 2.1 - time.time()))
    code, line = check(host, "--max-age-of-success", "backup=1s")
    assert code == CRITICAL
    assert "1 without a recent success: backup (last success" in line
    code, line = check(host, "never", "--max-age-of-success", "never=1h")
    assert (code, "never (no success on record)" in line) == (CRITICAL, True)
    code, line = check(host, "--max-age-of-success", "nevr=1h")
    assert (code, "1 absent: nevr (not configured)" in line) == (CRITICAL, True)


def test_no_krond_and_one_that_hangs_are_critical(host: Host) -> None:
    code, line = check(host)
    assert code == CRITICAL
    assert line.startswith("KROND CRITICAL - no krond is running with the state directory ")
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    assert host.process is not None
    host.process.send_signal(signal.SIGSTOP)
    code, line = check(host, "--timeout", "1s")
    assert code == CRITICAL
    assert line.startswith("KROND CRITICAL - krond did not answer within 1 seconds | ")
    host.process.send_signal(signal.SIGCONT)
    assert check(host)[0] == OK
    host.kill()
    assert document(host)["problems"][0]["kind"] == "krond"


def test_a_krond_that_is_stopping_is_critical(host: Host) -> None:
    gate = host.directory / "gate"
    hold = f'shell=true command="until [ -e {gate} ]; do sleep 0.01; done"'
    host.write(f"{NEVER} name=held {hold}")
    host.start()
    host.ask("trigger", job="held")
    assert check(host)[0] == OK
    host.ask("stop")
    assert check(host)[0] == CRITICAL
    gate.touch()
    assert host.wait() == 0


def test_a_krond_that_cannot_write_its_state_is_critical_until_it_can(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", "4m") as disk, Host(tmp_path, state=disk / "state") as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        filler = fill(disk)
        with pytest.raises(ControlError, match="No space left on device"):
            host.ask("trigger", job="job", wait=True)
        found = document(host)
        (problem,) = found["problems"]  # the run was refused, and is no failure of the job
        assert (problem["kind"], problem["status"]) == ("state", "critical")
        assert "No space left on device" in found["text"]
        filler.unlink()
        wait_for(lambda: not host.ask("status")["troubles"], "krond goes on")
        host.ask("trigger", job="job", wait=True)
        assert check(host)[0] == OK


def test_a_krond_without_jobs_is_a_warning(host: Host) -> None:
    host.write("# nothing yet")
    host.start()
    code, line = check(host)
    assert (code, line.startswith("KROND WARNING - krond has no jobs | ")) == (WARNING, True)


@needs_root
def test_what_may_not_be_asked_is_unknown() -> None:
    with public_directory() as directory, Host(directory) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        host.state.chmod(0o711)
        (host.state / "control.sock").chmod(0o666)
        refused = krond_as_nobody("check", "--state-dir", host.state)
        assert refused.returncode == UNKNOWN
        assert refused.stdout.startswith("KROND UNKNOWN - user 65534 may not control this krond")


@pytest.mark.parametrize("reply", [b'{"ok": true}\n', b'{"ok": true, "jobs": 7}\n', b"HTTP/1.1\n"])
def test_an_answer_that_is_not_kronds_is_unknown(tmp_path: Path, reply: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "control.sock"))
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        ended = krond("check", "--state-dir", tmp_path)
        thread.join()
    assert ended.returncode == UNKNOWN
    assert ended.stdout.startswith("KROND UNKNOWN - the answer")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--max-age-of-success backup", '"backup" is not a job and an age'),
        ("--max-age-of-success =1h", '"=1h" is not a job and an age'),
        ("--max-age-of-success backup=0s", '"backup=0s" is not a job and an age'),
        ("--max-age-of-success backup=1d", '"1d"'),
        ("--max-age-of-success backup=", '""'),
        ("--timeout 0s", "krond needs some time to answer"),
        ("--ignore a --max-age-of-success a=1h", '"a" has an age in --max-age-of-success, and is'),
        ("--no-such-option", '"--no-such-option"'),
    ],
)
def test_a_wrong_command_line_is_unknown_in_one_line(words: str, why: str) -> None:
    ended = krond("check", *words.split())
    assert ended.returncode == UNKNOWN
    (line,) = ended.stdout.splitlines()
    assert line.startswith("KROND UNKNOWN - ")
    assert why in line
    assert "Try: krond check --help" in ended.stderr
