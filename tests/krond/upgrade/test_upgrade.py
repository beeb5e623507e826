"""krond goes on as another program: nothing of its runs is lost, nothing is late, nobody slips in.

The program is a file of the test's, which the test replaces as an upgrade of the package would.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import to_text
from kron.krond.control.client import ControlError, LastWord
from kron.krond.upgrade.upgrade import GIVEN_UP
from kron.logs.record import Record
from tests.krond.children import (
    AT_ONCE_S,
    NEVER,
    Family,
    children_of,
    descriptors_of,
    due_once,
    wait_until_gone,
    zombies_of,
)
from tests.krond.commands import PROGRAM
from tests.krond.disk import fill, tmpfs
from tests.krond.host import MINUTE_S
from tests.krond.process.expected import needs, needs_root
from tests.krond.test_systemd import systemd
from tests.logbook import PATIENCE_S, wait_for
from tests.moment import soon
from tests.soak import SOAK

SCRIPT = """#!{python}
import os, sys, time
import kron
kron.__version__ = "{version}"
is_trial = any(word.startswith("--check-upgrade") for word in sys.argv)
is_upgraded = "KROND_HANDOVER" in os.environ
{lines}
from kron.krond.program import main
sys.exit(main())
"""
SECRET = "9b2e-secret"
UNTIL_GO = "until [ -e go ]; do sleep 0.01; done"


class Upgradable(Family):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.program = directory / "krond"
        self.install("1.0.0")

    def __enter__(self) -> Upgradable:
        return self

    def install(self, version: str, *lines: str) -> None:
        """Put another program in the place of the one that runs. It begins with these lines."""
        new = self.program.with_suffix(".new")
        text = "\n".join(lines)
        new.write_text(SCRIPT.format(python=sys.executable, version=version, lines=text))
        new.chmod(0o755)
        new.rename(self.program)

    def words(self, *options: str) -> list[str]:
        words = super().words(*options)
        return [str(self.program), *words[3:], "--output-dir", str(self.outputs)]

    def upgraded(self, version: str = "2.0.0", *lines: str) -> subprocess.CompletedProcess[str]:
        """`krond upgrade` to this version, which works."""
        self.install(version, *lines)
        ended = self.command("upgrade")
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def open_files(self) -> list[str]:
        """What krond has open, but for its history: the kinds of what has no name."""
        kinds = [each.partition(":[")[0] for each in descriptors_of(self.pid)]
        return [kind for kind in kinds if "history" not in kind]

    def end_of(self, run_id: str) -> Record:
        return self.wait_for_run("exited", run_id)


def test_a_run_spans_an_upgrade_with_its_output_its_exit_code_and_whoever_waits_for_it(
    tmp_path: Path,
) -> None:
    with Upgradable(tmp_path) as host:
        host.write(
            host.job("job", "echo before", UNTIL_GO, "echo after", "exit 7", fields="stdout=keep")
        )
        host.start()
        pid, files = host.pid, host.open_files()
        words = [*PROGRAM, "trigger", "job", "--wait", "--state-dir", str(host.state)]
        waiting = subprocess.Popen(words)
        try:
            run_id = str(host.wait_for_event("started", "job")["run_id"])
            # Else the next krond starts another collector for it, which stays on.
            wait_for(lambda: host.command("output", "job").stdout, "the first line is collected")
            assert host.upgraded().stdout == "upgraded from 1.0.0 to 2.0.0: 1 job\n"
            much = "if is_trial: print('a warning\\n' * 99_999)"
            assert host.upgraded("3.0.0", much).stdout == "upgraded from 2.0.0 to 3.0.0: 1 job\n"
            status = host.ask("status")
            assert (status["pid"], status["version"]) == (pid, "3.0.0")
            (active,) = status["jobs"][0]["active"]
            assert active["adopted"] is False
            host.path("go").touch()
            assert waiting.wait(AT_ONCE_S) == 7
        finally:
            waiting.kill()
            waiting.wait()
        assert host.end_of(run_id)["exit_code"] == "7"
        assert [each.get("upgraded_from") for each in host.events("ready")] == [
            *(None, "1.0.0", "2.0.0"),
        ]
        assert not host.events("adopted")
        output = host.command("output", "job")
        assert output.stdout == "before\nafter\n"
        (row,) = json.loads(host.command("history", "job", "--format", "json").stdout)["rows"]
        assert row["exit_code"] == 7
        wait_for(lambda: not children_of(pid), "the collectors have ended")
        wait_for(lambda: host.open_files() == files, "nothing is left open", AT_ONCE_S)
        host.check_log()


def test_who_has_asked_how_krond_ends_hears_it_from_the_new_program(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", "true"))
        host.start()
        last_word = LastWord(str(host.state))
        host.upgraded()
        host.ask("stop")
        assert last_word.wait() == (0, "")
        assert host.wait() == 0


def test_what_ends_and_what_comes_due_while_the_new_program_begins_is_neither_lost_nor_late(
    tmp_path: Path,
) -> None:
    """It takes a second or more to begin. In that time one run ends, and another one is due."""
    with Upgradable(tmp_path) as host:
        host.write(host.job("ends", UNTIL_GO, "exit 3"))
        host.start()
        ends = host.trigger("ends")
        at_s = soon(1)
        schedule = due_once(host.config, "due", at_s)
        host.load(host.job("ends", UNTIL_GO, "exit 3"), host.job("due", schedule=schedule))
        until = f"while is_upgraded and time.time() < {at_s + 1.1}: time.sleep(0.01)"
        host.install("2.0.0", until)
        asked = threading.Thread(target=lambda: host.command("upgrade"))
        asked.start()
        assert host.wait_for_event("upgrade")["result"] == "executing"
        host.path("go").touch()
        asked.join()
        assert host.end_of(ends)["exit_code"] == "3"
        assert host.wait_for_event("started", "due")["chosen"] == to_text(at_s)
        assert not host.events("missed_deadline")


def test_a_run_that_takes_too_long_is_stopped_after_an_upgrade_too(tmp_path: Path) -> None:
    """One is upgraded before its timeout, the other one between TERM and KILL."""
    with Upgradable(tmp_path) as host:
        lines = ("trap '' TERM", "while :; do sleep 0.01; done")
        host.write(
            host.job("slow", *lines, fields="timeout=2s grace=0s"),
            host.job("deaf", *lines, fields="timeout=1s grace=1s"),
        )
        host.start()
        began_s = time.monotonic()
        runs = [host.trigger("slow"), host.trigger("deaf")]
        host.wait_for_event("timeout", "deaf")
        host.upgraded()
        for end in map(host.end_of, runs):
            assert end["signal"] == "SIGKILL"
            assert str(end["reason"]).startswith("timed out after")
        assert time.monotonic() - began_s >= 2
        sent = [each["signal"] for each in host.events("timeout", "deaf")]
        assert sent == ["SIGTERM", "SIGKILL"], "it is not asked twice"


def test_an_attempt_that_waits_starts_in_its_time_after_an_upgrade(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.start_empty()
        fields = "retries=1 retry_delay=2s"
        host.load(host.job("job", "exit 5", fields=fields, schedule=host.soon("job", 1)))
        host.wait_for_event("waiting", "job")
        host.upgraded()
        first, second = host.wait_for_events("exited", "job", count=2)
        assert second["run_id"] == f"{first['run_id']}.2"
        assert (first["exit_code"], second["exit_code"]) == ("5", "5")
        begun_ns, again_ns = (each.time_ns for each in host.events("started"))
        assert begun_ns + 2 * 10**9 <= again_ns
        host.check_log()


def broken_configuration(host: Upgradable) -> None:
    host.write(f"0 25 * * * name=wrong command=/bin/true on_failure=https://host/{SECRET}")


def newer_state(host: Upgradable) -> None:
    host.rewrite(host.state_path("job"), lambda found: found.update(schema=99))


def damaged_state(host: Upgradable) -> None:
    host.state_path("job").write_text("{")


def broken_program(host: Upgradable) -> None:
    host.install("2.0.0", "sys.exit('no module named kron')")


def another_program(host: Upgradable) -> None:
    host.install("2.0.0", "sys.exit(0)")


def endless_program(host: Upgradable) -> None:
    host.install("2.0.0", "while True: print('on and on')")


def other_format(host: Upgradable) -> None:
    host.install("2.0.0", "import kron.krond.handover as handover", "handover.FORMAT = 99")


def open_proofs(host: Upgradable) -> None:
    (host.state / "runs").chmod(0o777)


def no_socket(host: Upgradable) -> None:
    (host.state / "control.sock").unlink()
    (host.state / "control.sock").touch()


def no_log(host: Upgradable) -> None:
    host.log.rename(host.log.with_suffix(".old"))
    host.log.mkdir()


PLACES: dict[Callable[[Upgradable], None], str] = {
    open_proofs: "other users can write",
    no_socket: "is not a socket",
    no_log: "log file",
}


@pytest.mark.parametrize("spoil", PLACES)
def test_an_upgrade_is_refused_where_a_start_would_be(
    tmp_path: Path, spoil: Callable[[Upgradable], None]
) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", UNTIL_GO, "exit 5"))
        host.start()
        run_id = host.trigger("job")
        log = host.log.with_suffix(".old" if spoil is no_log else ".log")
        spoil(host)
        host.install("2.0.0")
        host.send(signal.SIGUSR2)
        host.path("go").touch()

        def is_refused() -> bool:
            return PLACES[spoil] in log.read_text() and "result=refused" in log.read_text()

        wait_for(is_refused, "it is refused")
        wait_for(lambda: f"run_id={run_id} exit_code=5" in log.read_text(), "its end is seen")
        assert host.process is not None
        assert host.process.poll() is None


def test_on_a_full_disk_an_upgrade_is_refused(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", "3m") as disk, Upgradable(tmp_path) as host:
        host.state = disk / "state"
        host.write(host.job("job", "exit 5"))
        host.start()
        host.write(host.job("job", "exit 5"), host.job("new"))
        filling = fill(disk)
        host.install("2.0.0")
        with pytest.raises(ControlError, match="nothing is upgraded: the state cannot be written"):
            host.ask("upgrade")
        filling.unlink()
        wait_for(lambda: host.events("resumed"), "krond goes on")
        assert host.end_of(host.trigger("job"))["exit_code"] == "5"


def test_stopping_ends_a_trial_and_answers_who_has_asked(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.start_empty()
        host.install("2.0.0", "time.sleep(60)")
        words = [*PROGRAM, "upgrade", "--state-dir", str(host.state)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as upgrade:
            (trial,) = wait_for(lambda: children_of(host.pid), "the trial")
            assert host.stop() == 0
            assert "krond is about to end" in upgrade.communicate(timeout=PATIENCE_S)[1]
        wait_until_gone(trial)


def vanishing_program(host: Upgradable) -> None:
    """It is gone once it was tried."""
    host.install("2.0.0", "os.unlink(sys.argv[0])")


REFUSALS = {
    broken_configuration: "25",
    newer_state: "has schema 99",
    damaged_state: "does not read",
    broken_program: "no module named kron",
    another_program: "is not krond",
    endless_program: "on and on",
    other_format: "format 1",
    vanishing_program: "No such file",
}


def test_an_upgrade_that_cannot_work_is_refused_and_krond_goes_on(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        line = host.job("job", UNTIL_GO, "exit 5")
        host.write(line)
        host.start()
        run_id = host.trigger("job")
        wait_for(lambda: host.stored("job")["active"][0]["pid"], "the run is stored")
        stored = host.state_path("job").read_bytes()
        files, opened = sorted(host.state.rglob("*")), host.open_files()
        host.outputs.rmdir()
        said = ""
        for spoil, why in REFUSALS.items():
            host.write(line)
            host.state_path("job").write_bytes(stored)
            host.install("2.0.0")
            spoil(host)
            with pytest.raises(ControlError, match=f"(?s)nothing is upgraded: .*{why}") as refused:
                host.ask("upgrade")
            said += str(refused.value)
            event = host.events("upgrade")[-1]
            assert why in str(event["error"])
            assert (event["result"], event.level) == ("refused", "ERROR")
            assert sorted(host.state.rglob("*")) == files
            assert not host.outputs.exists()
            assert host.ask("status")["version"] == "1.0.0"
            assert children_of(host.pid) == [host.pid_of(run_id)]
            wait_for(lambda: host.open_files() == opened, "nothing is left open", AT_ONCE_S)
        assert "on_failure=https://host/***" in said, "the line that is wrong is quoted"
        assert SECRET not in said + host.log.read_text()
        host.path("go").touch()
        assert host.end_of(run_id)["exit_code"] == "5"


def test_a_program_that_is_older_than_the_record_of_the_boot_is_refused(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job"))
        host.start()
        (host.state / "boot").write_text('{"schema": 99}')
        (host.state / "boot").chmod(0o600)
        with pytest.raises(ControlError, match="boot has schema 99"):
            host.ask("upgrade")


def test_a_manual_run_that_waits_is_given_up_for_an_upgrade_and_says_so(tmp_path: Path) -> None:
    """Whether the new program is executed in the end or not."""
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", UNTIL_GO), host.job("waits"))
        host.start("--max-running", "1")
        host.trigger("job")
        run_id = host.trigger("waits")
        vanishing_program(host)
        with pytest.raises(ControlError, match="cannot be executed"):
            host.ask("upgrade")
        assert host.end_of(run_id)["reason"] == GIVEN_UP
        run_id = host.trigger("waits")
        host.upgraded()
        assert host.end_of(run_id)["reason"] == GIVEN_UP


def test_the_exit_code_of_a_run_is_known_though_its_job_is_gone(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", UNTIL_GO, "exit 5"))
        host.start()
        run_id = host.trigger("job")
        wait_for(lambda: host.stored("job")["active"][0]["pid"], "the run is stored")
        host.write(f"{NEVER} name=another command=/bin/true")
        host.install("2.0.0")
        host.ask("upgrade")
        host.path("go").touch()
        assert host.end_of(run_id)["exit_code"] == "5"


def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        limit = ("import kron.krond.upgrade.upgrade as upgrade", "upgrade.PATIENCE_NS = 10**9")
        host.install("1.0.0", *limit)
        host.write(host.job("job", "exit 5"))
        host.start()
        host.install("2.0.0", "time.sleep(60)")
        upgrade = subprocess.Popen([*PROGRAM, "upgrade", "--state-dir", str(host.state)])
        try:
            assert host.end_of(host.trigger("job"))["exit_code"] == "5", "it does not block"
        finally:
            assert upgrade.wait(PATIENCE_S) == 1
        assert "did not say within 1s" in str(host.events("upgrade")[-1]["error"])
        assert children_of(host.pid) == []


def test_one_that_ends_anyway_is_not_upgraded(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", UNTIL_GO))
        host.start()
        host.trigger("job")
        host.ask("stop", how="wait")
        host.send(signal.SIGUSR2)
        assert host.wait_for_event("upgrade")["error"] == "krond is about to end"
        host.path("go").touch()
        assert host.wait() == 0


@contextmanager
def others_try(host: Upgradable) -> Iterator[Counter[str]]:
    """Meanwhile others try to take the locks, to ask, and to send signals."""
    seen = Counter[str]()
    is_over = threading.Event()
    paths = [host.state, host.state / "krond.pid", host.directory / "pid"]

    def try_locks() -> None:
        descriptors = [os.open(path, os.O_RDONLY) for path in paths]
        while not is_over.is_set():
            for descriptor in descriptors:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    seen["locked"] += 1
                else:
                    seen["free"] += 1
            time.sleep(0.0005)
        for descriptor in descriptors:
            os.close(descriptor)

    def ask() -> None:
        while not is_over.is_set():
            seen[f"pid {host.ask('status')['pid']}"] += 1
            host.send(random.choice((signal.SIGHUP, signal.SIGUSR1)))
            time.sleep(0.002)

    threads = [threading.Thread(target=each) for each in (try_locks, ask)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_during_upgrades_no_lock_is_free_and_no_request_or_signal_goes_astray(
    tmp_path: Path,
) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", "exit 0"))
        host.start("--pid-file", str(tmp_path / "pid"))
        pid = host.pid
        with others_try(host) as seen:
            for number in range(2, 5):
                host.upgraded(f"{number}.0.0")
            another = subprocess.run(host.words(), capture_output=True, check=False)
            assert another.returncode == 3
        assert seen.keys() == {"locked", f"pid {pid}"}
        assert host.stop() == 0
        assert not host.path("pid").exists()


@pytest.mark.parametrize("at", ["the last moment of the old one", "the first of the new one"])
def test_a_signal_that_comes_with_the_upgrade_is_not_lost(tmp_path: Path, at: str) -> None:
    kill = "os.kill(os.getpid(), 15)"
    with Upgradable(tmp_path) as host:
        if "old" in at:
            host.install(
                *("1.0.0", "from kron.krond.daemon import Daemon", "put_down = Daemon.put_down"),
                f"Daemon.put_down = lambda *given: {kill} or put_down(*given)",
            )
        host.write(host.job("job", "exit 0"))
        host.start()
        host.install("2.0.0", f"if is_upgraded: {kill}")
        host.command("upgrade")
        assert host.wait() == 0
        assert host.events("stopping")[-1]["reason"] == "SIGTERM"
        assert len(host.events("ready")) == (1 if "old" in at else 2)


def test_in_the_background_a_signal_upgrades_and_paths_stay_what_they_were(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host, systemd(str(tmp_path / "notify")) as service:
        host.write(host.job("job", UNTIL_GO, "ulimit -n", "env", "pwd", "exit 6"))
        words = ["./krond", "start", "--config", "jobs.kron"]
        words += ["--state-dir", "state", "--output-dir", "outputs"]
        environment = {"NOTIFY_SOCKET": service.name, "KRON_TEST": str(tmp_path)}
        subprocess.run(
            ["/bin/sh", "-c", 'ulimit -Sn 300; exec "$@"', "sh", *words],
            env={**os.environ, **environment},
            cwd=tmp_path,
            check=True,
            timeout=30,
        )
        host.log = host.state / "krond.log"
        assert service.next()["READY"] == "1"
        pid = host.ask("status")["pid"]
        run_id = host.trigger("job")
        for number in (2, 3):
            host.install(f"{number}.0.0")
            os.kill(pid, signal.SIGUSR2)
            assert service.next().keys() == {"RELOADING", "MONOTONIC_USEC"}
            assert service.next() == {"READY": "1", "STATUS": "1 job"}
        assert host.ask("status")["pid"] == pid
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
        host.path("go").touch()
        assert host.end_of(run_id)["exit_code"] == "6"
        again = host.trigger("job")
        assert host.end_of(again)["exit_code"] == "6"
        last = f"{tmp_path}\n"

        def output() -> list[str] | None:
            text = host.command("output", "job").stdout
            return text.splitlines() if text.endswith(last) else None

        printed = wait_for(output, "all of the output")
        assert printed[0] == "300"
        assert not [line for line in printed if line.startswith(("KROND_", "NOTIFY_"))]
        assert not (host.state / "krond.out").read_text()
        assert host.command("stop").returncode == 0


def test_a_collector_that_is_killed_after_an_upgrade_costs_no_output(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        lines = ("echo before", UNTIL_GO, "echo after")
        host.write(host.job("job", *lines, fields="stdout=keep"))
        host.start()
        run_id = host.trigger("job")
        wait_for(lambda: host.command("output", "job").stdout, "the first line is collected")
        run = int(str(host.events("started")[0]["pid"]))
        (collector,) = set(children_of(host.pid)) - {run}
        host.upgraded()
        # krond learns of both at once, first of the end of the run.
        for pid in (host.pid, collector):
            os.kill(pid, signal.SIGSTOP)
        host.path("go").touch()
        wait_for(lambda: len(zombies_of(host.pid)) == 1, "the end of the run")
        os.kill(collector, signal.SIGKILL)
        wait_for(lambda: len(zombies_of(host.pid)) == 2, "the end of the collector")
        os.kill(host.pid, signal.SIGCONT)
        host.end_of(run_id)
        wait_for(lambda: host.command("output", "job").stdout == "before\nafter\n", "all of it")
        host.has_no_zombie()


def test_a_collector_that_has_all_is_not_replaced(tmp_path: Path) -> None:
    """It ends with its last run, and krond may see its end first."""
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", "echo before", UNTIL_GO, "echo after", fields="stdout=keep"))
        host.start()
        pipes = host.open_files().count("pipe")
        run_id = host.trigger("job")
        wait_for(lambda: host.command("output", "job").stdout, "the first line is collected")
        host.upgraded()
        os.kill(host.pid, signal.SIGSTOP)
        host.path("go").touch()
        wait_for(lambda: len(zombies_of(host.pid)) == 2, "the run and its collector have ended")
        os.kill(host.pid, signal.SIGCONT)
        host.end_of(run_id)
        host.ask("status")  # what it does next is done
        assert host.open_files().count("pipe") == pipes  # those of the run are closed
        assert host.command("output", "job").stdout == "before\nafter\n"


def test_a_hook_that_is_running_is_waited_for_and_does_not_run_twice(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        hook = host.script("hook", "echo $KRON_JOB $$ >> heard", UNTIL_GO)
        fields = f"on_success={hook}"
        host.write(host.job("first", fields=fields), host.job("later", fields=fields))
        host.start()
        host.trigger("first")
        running = int(host.wait_for_file("heard").split()[1])
        host.install("2.0.0", f"if is_trial: open('{host.path('tried')}', 'w')")
        host.send(signal.SIGUSR2)
        wait_for(lambda: host.path("tried").exists(), "the trial has begun")
        wait_for(lambda: children_of(host.pid) == [running], "the trial is over")
        host.trigger("later")
        host.wait_for_event("exited", "later")
        host.path("go").touch()
        host.wait_for_event("ready", count=2)
        host.wait_for_event("notice_sent", "later")
        heard = [line.split()[0] for line in host.path("heard").read_text().splitlines()]
        assert heard == ["first", "later"]
        events = [each.event for each in host.records()]
        first_sent, executing = events.index("notice_sent"), events.index("upgrade")
        assert first_sent < executing < events.index("notice_sent", first_sent + 1)


def test_a_notice_that_is_not_on_disk_is_not_lost_by_an_upgrade(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        host.write(host.job("job", fields=f"on_success={host.script('hook', UNTIL_GO)}"))
        host.start()
        (host.state / "notices").write_text("not a directory")
        host.trigger("job")
        host.wait_for_event("error", "job")
        with pytest.raises(ControlError, match=r"1 notice .* would be lost"):
            host.ask("upgrade")
        host.path("go").touch()
        host.wait_for_event("notice_sent", "job")
        host.upgraded()


def test_helpers_of_the_program_before_are_reaped(tmp_path: Path) -> None:
    with Upgradable(tmp_path) as host:
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "logger").write_text(f"#!/bin/sh\nexec cat >> {tmp_path}/logged\n")
        (programs / "logger").chmod(0o755)
        host.write(host.job("job", UNTIL_GO, "echo logged", fields="stdout=syslog"))
        host.start(env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
        run_id = host.trigger("job")
        host.wait_for_event("started", "job")
        host.upgraded()
        host.path("go").touch()
        host.end_of(run_id)
        wait_for(lambda: host.path("logged").exists(), "what the logger got")
        wait_for(lambda: not children_of(host.pid), "the logger has ended")


@needs_root
@needs("unshare")
def test_as_process_1_krond_does_not_take_the_trial_for_an_orphan(tmp_path: Path) -> None:
    """It is so slow that orphans and the trial end between two looks, orphans first."""
    with Upgradable(tmp_path) as host:
        slow = "Poller.wait = lambda self, timeout_s: time.sleep(0.1) or wait(self, timeout_s)"
        host.install(
            *("1.0.0", "from kron.krond.loop.poller import Poller", "wait = Poller.wait", slow)
        )
        host.write(
            host.job("job", "until [ -e go ]; do (sleep 0.01 &); sleep 0.01; done", "exit 7")
        )
        host.start(wrapper=["unshare", "-pf", "--mount-proc"])
        (pid,) = children_of(host.pid)
        run_id = host.trigger("job")
        host.upgraded()
        assert children_of(host.pid) == [pid]
        host.path("go").touch()
        assert host.end_of(run_id)["exit_code"] == "7"
        wait_for(lambda: children_of(pid) == [], "nobody is left", AT_ONCE_S)
        assert host.command("stop").returncode == 0


SCHEDULE = "* * * * * @win(after,1m) @policy(concurrency=allow,deadline=20s)"
JOBS = 420
"""Each has a second of its own in every minute: about seven are due in every second."""


class Load(Upgradable):
    """Jobs that are due all the time, each with an exit code of its own."""

    def __enter__(self) -> Load:
        return self

    def begin(self) -> None:
        ran = f"echo $KRON_JOB $KRON_PERIOD >> {self.directory}/ran"
        self.write(
            *(
                f"{SCHEDULE} name=job-{number} shell=true "
                f'command="{ran}; sleep 0.2; exit {number % 100}"'
                for number in range(JOBS)
            )
        )
        self.start()
        self.began_s = int(time.time()) + 1

    def due(self, until_s: int) -> list[tuple[str, str]]:
        """What was due since then: jobs and their periods."""
        schedule = kron.parse_schedule(SCHEDULE)
        first_s = self.began_s - self.began_s % MINUTE_S
        return [
            (f"job-{number}", to_text(nominal_s))
            for number in range(JOBS)
            for nominal_s in range(first_s - MINUTE_S, until_s, MINUTE_S)
            if self.began_s
            <= (decide_at(schedule, f"{self.config}:job-{number}", nominal_s).chosen_s or 0)
            < until_s
        ]

    def executed(self) -> int:
        """How many new programs were executed."""
        return self.log.read_bytes().count(b"event=upgrade result=executing")

    def wait_until_executed(self, count: int) -> None:
        wait_for(lambda: self.executed() >= count, "a new program is executed")

    def ran(self) -> Counter[tuple[str, str]]:
        lines = self.path("ran").read_text().splitlines() if self.path("ran").exists() else []
        return Counter((job, period) for job, period in map(str.split, lines))

    def check_runs(self) -> list[tuple[str, str]]:
        """Everything that was due ran, and nothing ran twice."""
        due = self.due(int(time.time()))
        wait_for(lambda: not set(due) - set(self.ran()), "what was due has run")
        assert set(self.ran().values()) == {1}
        return due


def test_through_upgrades_under_load_each_period_runs_once_and_each_exit_code_is_known(
    tmp_path: Path,
) -> None:
    with Load(tmp_path) as host:
        host.begin()
        upgrades = 0
        while upgrades < 3 or len(host.due(int(time.time()))) < 15:
            upgrades += 1
            host.upgraded(f"{upgrades}.0.0")
        due = host.check_runs()
        wait_for(lambda: len(host.events("exited")) >= len(due), "the ends are logged")
        for end in host.events("exited"):
            number = int(str(end["name"]).removeprefix("job-"))
            assert end.get("exit_code") == str(number % 100), end
        assert not host.events("adopted")
        assert not host.events("missed_deadline")
        host.check_log()


def test_killed_at_any_moment_of_an_upgrade_krond_neither_loses_nor_repeats_a_period(
    tmp_path: Path,
) -> None:
    random.seed(29)
    with Load(tmp_path) as host:
        host.begin()
        for number in range(4 * SOAK):
            host.install(f"{number}.0.0")
            begun = host.executed()
            host.send(signal.SIGUSR2)
            if number % 2:  # so that it meets the new program too, however busy the machine is
                host.wait_until_executed(begun + 1)
            time.sleep(random.uniform(0.0, 0.4))
            host.kill()
            host.start()
        host.check_runs()
        assert not host.events("missed_deadline")
