"""krond's log over its life: in order, replayable, rotated, full, unread; and without secrets."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kron.logs.replay import Replay
from tests.krond.commands import NEVER, PROGRAM, BackgroundHost, needs_root
from tests.krond.host import Host
from tests.krontab.command import Krontab
from tests.logbook import PATIENCE_S, wait_for
from tests.soak import SOAK

RUNS = 120 * min(SOAK, 5)
KINDS = (
    "@win(after,1m)",
    "@win(around,1m)",
    "@win(after,1m) @dist(skewEarly,shape=3)",
    "@win(after,1m) @dist(skewLate)",
    "@win(around,1m) @dist(normal,sigma=20s)",
    "@win(after,1m) @dist(normal,mu=end)",
    "@win(after,1m) @dist(exponential,lambda=2)",
    "@win(after,1m) @dist(exponential,dir=late,lambda=0.5)",
    "@win(after,3m) @avoid(between={avoided})",
    "@win(after,5m) @only(between={wanted}) @seed(daily,salt=x)",
    "@win(after,1m) @only(dow=MON-SAT,SUN;between=00:00-23:59) @tz(Asia/Kathmandu)",
    "@win(after,1m) @policy(concurrency=allow,deadline=1m) @seed(weekly)",
    "@policy(deadline=10s)",
)
NEVER_IN_TIME = "@win(after,1m) @only(hours={hour})"


def of_the_minute(offset_min: int) -> str:
    """That time of day, counted in minutes from now."""
    return time.strftime("%H:%M", time.gmtime(time.time() + 60 * offset_min))


def busy_lines() -> Iterator[str]:
    """Jobs of every kind, many of which are due at any moment."""
    words = {
        "avoided": f"{of_the_minute(1)}-{of_the_minute(1)}",
        "wanted": f"{of_the_minute(-1)}-{of_the_minute(60)}",
        "hour": time.gmtime(time.time() + 12 * 3600).tm_hour,
    }
    for number in range(1_000):
        kind = KINDS[number % len(KINDS)].format(**words)
        yield f"* * * * * {kind} name=job-{number} command=/bin/true"
    for number in range(5):
        kind = NEVER_IN_TIME.format(**words)
        yield f"* * * * * {kind} name=never-{number} command=/bin/true"
    yield "daily between 9:00 and 17:00 name=fuzzy command=/bin/true"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_long_log_is_in_order_and_every_decision_replays(tmp_path: Path, form: str) -> None:
    with Host(tmp_path) as host:
        host.write(*busy_lines())
        host.start("--log-format", form, "--log-level", "debug", "--trigger-slack", "60s")
        started = re.compile(rb'event"?[=:]"?started')
        wait_for(lambda: len(started.findall(host.log.read_bytes())) >= RUNS, f"{RUNS} runs")
        assert host.stop() == 0
        host.check_log()
        with host.log.open("rb") as log:
            replay = Replay(log)
            assert list(replay) == []
        counts = replay.counts
        assert counts.agreed == counts.decisions >= 1_000
        assert counts.chosen_checked >= 2 * RUNS, "of each run its trigger and its start"
        records = host.records()
        times = [record.time_ns for record in records]
        assert times == sorted(times)
        of_runs: dict[str, list[str]] = defaultdict(list)
        for record in records:
            if run_id := record.get("run_id"):
                of_runs[run_id].append(record.event)
        assert {tuple(events) for events in of_runs.values()} == {("started", "exited")}
        seen = {record.event for record in records}
        assert {"constraint_reject", "constraint_unsatisfiable", "seed_computed", "sample"} <= seen
        unsatisfiable = {event["name"] for event in host.events("constraint_unsatisfiable")}
        assert unsatisfiable == {f"never-{number}" for number in range(5)}
        drawn = {event["distribution"] for event in host.events("sample")}
        assert drawn == {"uniform", "skewEarly", "skewLate", "normal", "exponential"}
        # As whoever has to explain it would do it.
        krontab = Krontab(tmp_path)
        assert krontab("replay", str(host.log)).code == 0


# Rotation


@pytest.mark.parametrize("how", ["SIGUSR1", "reload"])
def test_a_log_that_was_moved_away_goes_on_in_a_new_file_without_a_gap(
    tmp_path: Path, how: str
) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f'{NEVER} name=job command="echo said"')
        assert host.start_background().returncode == 0
        pid = host.pid()
        ids = []
        for number in range(4):
            ids.append(host.ask("trigger", job="job", wait=True)["ended"]["run_id"])
            for path in (host.log, host.output):
                path.rename(f"{path}.{number}")
            # What happens before krond knows is in the old file.
            ids.append(host.ask("trigger", job="job", wait=True)["ended"]["run_id"])
            if how == "reload":
                assert host.command("reload").returncode == 0
            else:
                os.kill(pid, signal.SIGUSR1)
            wait_for(lambda: host.log.exists() and host.output.exists(), "the new files")
        ids.append(host.ask("trigger", job="job", wait=True)["ended"]["run_id"])
        assert host.command("stop").returncode == 0
        old = [Path(f"{host.log}.{number}") for number in range(4)]
        texts = [path.read_text() for path in [*old, host.log]]
        assert all(text.endswith("\n") for text in texts)
        started = re.findall(r"event=started .* run_id=(\w+)", "".join(texts))
        assert started == ids
        assert [text.count("event=started") for text in texts] == [2, 2, 2, 2, 1]
        outputs = [Path(f"{host.output}.{number}") for number in range(4)]
        assert {path.read_text() for path in [*outputs, host.output]} == {""}, "none of a run's"
        assert host.log.stat().st_mode & 0o777 == 0o640


def test_a_log_that_cannot_be_opened_anew_goes_on_in_the_old_file(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        directory = tmp_path / "logs"
        directory.mkdir()
        host.log = directory / "krond.log"
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        moved = directory.rename(tmp_path / "moved")
        assert host.process is not None
        host.process.send_signal(signal.SIGUSR1)
        host.log = moved / "krond.log"
        told = host.wait_for_event("error")
        assert told["operation"] == "reopen"
        assert "No such file or directory" in str(told["error"])
        assert host.command("trigger", "job", "--wait").returncode == 0
        assert host.events("exited", "job")
        moved.rename(directory)
        host.log = directory / "krond.log"
        host.process.send_signal(signal.SIGUSR1)
        host.ask("status")
        assert host.stop() == 0
        assert len(host.events("error")) == 1


# A disk that is full, and readers that are gone


@contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """A file system with room for very little."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(directory)]
    if (ran := subprocess.run(mount, capture_output=True, check=False)).returncode:
        pytest.skip(f"this machine allows no mounts: {ran.stderr!r}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room at all."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return ballast


@needs_root
def test_a_full_disk_costs_lines_of_the_log_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, Host(tmp_path) as host:
        host.log = disk / "krond.log"
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        whole = host.log.read_bytes()
        ballast = fill(disk)
        runs = 20
        for _ in range(runs):
            assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        lost = host.ask("status")["lost_log_lines"]
        assert lost > 0
        assert f"{lost} lines of its log were lost" in host.command("status").stdout
        ballast.unlink()
        assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        assert host.ask("status")["lost_log_lines"] == 0
        assert host.stop() == 0
        lines = host.log.read_bytes().removeprefix(whole).splitlines()
        (told,) = [number for number, line in enumerate(lines) if b"operation=log" in line]
        assert f'error="{lost} lines could not be written"'.encode() in lines[told]
        *after, stopping = lines[told + 1 :]
        assert b"event=stopping" in stopping
        assert [re.search(rb"event=(\w+)", line)[1] for line in after] == [  # type: ignore[index]
            b"manual_run",
            b"started",
            b"exited",
        ]
        # Three lines a run: each was written or counted, and one that was torn is both.
        assert told + lost - 3 * runs in (0, 1)


def test_a_reader_that_goes_away_and_comes_back_is_told_how_many_lines_it_lost(
    tmp_path: Path,
) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        os.mkfifo(host.log)
        reader = os.open(host.log, os.O_RDONLY | os.O_NONBLOCK)
        with host.output.open("wb") as output:
            host.process = subprocess.Popen(host.words(), stdout=output, stderr=output)
        wait_for((host.state / "control.sock").exists, "it is ready")
        assert host.ask("status")["lost_log_lines"] == 0
        assert b"event=ready" in os.read(reader, 65_536)
        os.close(reader)
        for _ in range(3):
            assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        assert host.ask("status")["lost_log_lines"] == 9
        reader = os.open(host.log, os.O_RDONLY | os.O_NONBLOCK)
        assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        assert host.ask("status")["lost_log_lines"] == 0
        first, *rest = os.read(reader, 65_536).splitlines()
        os.close(reader)
        assert b'level=ERROR component=controller event=error namespace="" name=""' in first
        assert b'operation=log error="9 lines could not be written"' in first
        assert len(rest) == 3
        host.process.terminate()
        assert host.process.wait(PATIENCE_S) == 0
        host.process = None


def test_the_reader_of_its_standard_error_may_go_away(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        words = ["start", "--foreground", "--config", str(host.config)]
        host.process = subprocess.Popen(
            [*PROGRAM, *words, "--state-dir", str(host.state)], stderr=subprocess.PIPE
        )
        assert host.process.stderr is not None
        assert any(b"event=ready" in line for line in host.process.stderr)
        host.process.stderr.close()
        assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        assert host.ask("status")["lost_log_lines"] == 3
        assert host.stop() == 0


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_standard_error_that_is_full_and_not_read_holds_nobody_up(
    tmp_path: Path, kind: str
) -> None:
    if kind == "pipe":
        reader, writer = os.pipe()
    else:
        reader, writer = (end.detach() for end in socket.socketpair())
    with Host(tmp_path) as host:
        host.write(
            f'{NEVER} name=flood command="/usr/bin/yes it says too much"',
            f"{NEVER} name=job command=/bin/true stdout=discard stderr=discard",
        )
        words = ["start", "--foreground", "--config", str(host.config), "--on-stop", "terminate"]
        host.process = subprocess.Popen(
            [*PROGRAM, *words, "--state-dir", str(host.state)],
            stdout=writer,
            stderr=writer,
            env={**os.environ, "KRON_TEST": str(tmp_path)},
        )
        os.close(writer)
        wait_for((host.state / "control.sock").exists, "it is ready")
        host.ask("trigger", job="flood")

        def has_lost_lines() -> bool:
            assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
            return bool(host.ask("status")["lost_log_lines"])

        wait_for(has_lost_lines, "it is full")
        assert host.ask("trigger", job="job", wait=True)["ended"]["exit_code"] == 0
        assert host.ask("stop", how="terminate")["ok"]
        assert host.wait() == 0
    os.close(reader)


# Secrets


def test_neither_command_lines_nor_environments_are_logged(tmp_path: Path) -> None:
    secret = "hunter2"
    with Host(tmp_path) as host:
        good = [
            f'{NEVER} @win(after,1h) name=good command="/bin/true -p{secret}" env=TOKEN={secret}',
            f'{NEVER} name=shell shell=true command="echo {secret} >/dev/null; exit 1"',
        ]
        failing = [
            f'{NEVER} name=absent command="/no/such --password={secret}" env=TOKEN={secret}',
            f'{NEVER} name=nowhere command="/bin/true {secret}" cwd=/no/such env=TOKEN={secret}',
            f'{NEVER} name=closed command="/bin/true {secret}" stdout=file:/no/such/file',
            f'{NEVER} name=late timeout=10ms grace=10ms command="sleep 10" env=TOKEN={secret}',
            f'{NEVER} name=stranger command="/bin/true {secret}" user=nobody-here',
        ]
        host.write(*good, *failing)
        host.start("--log-level", "debug", "--explain", env={**os.environ, "MINE": secret})
        for row in host.ask("status")["jobs"]:
            host.command("trigger", row["name"], "--wait")
        host.write(*good, f'0 25 * * * name=bad command="/bin/true {secret}" env=TOKEN={secret}')
        refused = host.command("reload")
        assert refused.returncode == 1
        assert secret in refused.stderr, "whoever may reload may see the line"
        host.write(*good)
        assert host.command("reload").returncode == 0
        assert host.stop() == 0
        log = host.log.read_text()
        for event in ("started", "exited", "timeout", "error", "reload", "explain_step", "sample"):
            assert f"event={event} " in log, event
        assert f"{host.config}:3:3: error: hour:" in log
        assert secret not in log
        assert secret not in "".join(path.read_text() for path in host.state.glob("*.json"))
