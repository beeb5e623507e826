"""Where the output of runs goes, and that it is their own problem when it does not fit there."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.krond.children import (
    AT_ONCE_S,
    NEVER,
    Family,
    children_of,
    descriptors_of,
    in_private_mounts,
    mode_of,
    open_directory,
)
from tests.krond.process.expected import needs, needs_root
from tests.logbook import wait_for

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"


def test_each_destination_gets_what_is_meant_for_it(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        speak = ["echo out of $KRON_JOB", "echo error of $KRON_JOB >&2"]
        rows = {
            "inherits": "",
            "inherits-errors": "stdout=discard",
            "discards": "stdout=discard stderr=discard",
            "writes": f"stdout=file:{tmp_path}/out stderr=file:{tmp_path}/errors",
        }
        host.write(*(host.job(name, *speak, fields=fields) for name, fields in rows.items()))
        host.start()
        for name in rows:
            host.wait_for_run("exited", host.trigger(name))
        assert host.said().splitlines() == [
            "out of inherits",
            "error of inherits",
            "error of inherits-errors",
        ]
        assert host.path("out").read_text() == "out of writes\n"
        assert host.path("errors").read_text() == "error of writes\n"


@needs_root
def test_a_run_of_another_user_cannot_reach_the_file_that_krond_writes_to() -> None:
    """It could truncate it, or write over what is there: root's output, or even the log."""
    with open_directory() as directory, Family(directory) as host:
        speak = ["readlink /proc/self/fd/1", "readlink /proc/self/fd/2 >&2", "echo over"]
        host.write(
            host.job("own", *speak),
            host.job("other", *speak, fields="user=nobody"),
            host.job("apart", *speak, fields="user=nobody stdout=discard"),
        )
        output = host.output
        host.start()
        host.wait_for_run("exited", host.trigger("own"))
        assert output.read_text().splitlines() == [str(output), str(output), "over"]
        host.wait_for_run("exited", host.trigger("other"))
        wait_for(lambda: output.read_text().count("over\n") == 2, "it is passed on")
        first, second, last = output.read_text().splitlines()[3:]
        assert first.startswith("pipe:")
        assert (second, last) == (first, "over"), "one pipe for both keeps their order"
        host.wait_for_run("exited", host.trigger("apart"))
        wait_for(lambda: output.read_text().count("pipe:") == 3, "it is passed on, too")
        host.has_no_zombie(host.ask("status")["pid"])


def test_a_file_for_both_keeps_their_order_and_is_appended_to(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.path("log").write_text("before\n")
        # Without a common end, one would write over the other.
        speak = ["for n in 1 2 3; do echo out $n; echo error $n >&2; done"]
        fields = f"stdout=file:{tmp_path}/log stderr=file:{tmp_path}/log"
        host.write(host.job("job", *speak, fields=fields))
        host.start()
        for _ in range(2):
            host.wait_for_run("exited", host.trigger("job"))
        once = "".join(f"out {number}\nerror {number}\n" for number in (1, 2, 3))
        assert host.path("log").read_text() == f"before\n{once}{once}"
        assert not any(each.endswith("/log") for each in descriptors_of(host.pid))


def test_the_tokens_of_a_path_are_those_of_the_start_in_utc(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        token = f"stdout=file:{tmp_path}/%Y-%m-%dT%H:%M:%S,{{name}},{{period}},100%%"
        host.start_empty(env={"PATH": "/usr/bin:/bin", "TZ": "Asia/Kathmandu"})
        schedule = host.soon("some/job", 1)
        host.load(
            f"{schedule} name=some/job command=/bin/true {token}",
            f"{NEVER} name=by-hand command=/bin/true {token}",
        )
        by_hand = host.trigger("by-hand")
        host.wait_for_event("exited", "some/job")
        started = host.wait_for_event("started", "some/job")
        manual = host.wait_for_run("started", by_hand)
        files = sorted(each.name for each in tmp_path.iterdir() if "," in each.name)
        found = {name: (moment, rest) for moment, name, *rest in (f.split(",") for f in files)}
        assert found.keys() == {"some-job", "by-hand"}
        for name, event, period in (
            ("some-job", started, started["period"]),
            ("by-hand", manual, f"manual-{by_hand}"),
        ):
            moment, rest = found[name]
            logged = datetime.fromtimestamp(event.time_ns // 10**9, UTC)
            written = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
            assert 0 <= (logged - written).total_seconds() <= 1
            assert rest == [period, "100%"]


def test_a_directory_is_not_made(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        fields = f"stdout=file:{tmp_path}/missing/log"
        host.start_empty()
        schedule = host.soon("job", 1)
        host.load(host.job("job", "echo ran > ran", fields=fields, schedule=schedule))
        missed = host.wait_for_event("missed_deadline", "job")
        (error,) = host.events("error", "job")
        assert missed["reason"] == error["error"]
        assert str(error["error"]).endswith("its directory does not exist")
        assert f"{tmp_path}/missing/log" in str(error["error"])
        assert host.row("job")["last"]["outcome"] == "missed"
        assert not host.path("missing").exists()
        assert not host.path("ran").exists()
        assert host.events("started") == []


@contextmanager
def small_disk(path: Path, options: str) -> Iterator[Path]:
    """A file system of its own, which is full soon."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@needs_root
@needs("mount", "umount")
class TestFullDisk:
    """It is not krond's own."""

    def test_a_run_whose_output_does_not_fit_goes_on(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", "size=64k") as disk, Family(tmp_path) as host:
            lines = [
                "head -c 1000000 /dev/zero || echo full > full",
                "echo went on > went-on",
                "exit 3",
            ]
            host.write(host.job("job", *lines, fields=f"stdout=file:{disk}/log stderr=discard"))
            host.start()
            exited = host.wait_for_run("exited", host.trigger("job"))
            assert exited["exit_code"] == "3"
            assert host.path("went-on").exists()
            assert host.path("full").exists()
            assert (disk / "log").stat().st_size <= 65_536
            assert host.events("error") == []
            host.wait_for_run("exited", host.trigger("job"))
            assert host.stop() == 0

    def test_a_file_that_cannot_be_made_for_now_is_waited_for(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", "nr_inodes=2") as disk, Family(tmp_path) as host:
            (disk / "only-one").touch()
            fields = f"stdout=file:{disk}/log"
            host.start_empty()
            schedule = host.soon("job", 1, more="@policy(deadline=1m)")
            host.load(host.job("job", "echo ran", fields=fields, schedule=schedule))
            waiting = host.wait_for_event("waiting", "job")
            assert "No space left" in str(waiting["reason"])
            assert [each["run_id"] for each in host.row("job")["waiting"]] == [waiting["run_id"]]
            (disk / "only-one").unlink()
            assert host.wait_for_event("started", "job")["run_id"] == waiting["run_id"]
            host.wait_for_event("exited", "job")
            assert (disk / "log").read_text() == "ran\n"


@contextmanager
def syslog(host: Family) -> Iterator[tuple[socket.socket, list[str]]]:
    """A socket that takes what is sent to /dev/log, and words before krond's for which it is that.

    Only they and what they start see it there.
    """
    devices = host.path("dev")
    devices.mkdir()
    nodes = ("null", "zero", "urandom")
    wrapper = in_private_mounts(
        f"mount -t tmpfs none {devices}",
        *(f"touch {devices}/{name} && mount --bind /dev/{name} {devices}/{name}" for name in nodes),
        f"ln -s {host.path('log')} {devices}/log",
        f"mount --move {devices} /dev",
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(host.path("log")))
        listening.settimeout(AT_ONCE_S)
        yield listening, wrapper


@needs_root
@needs("unshare", "mount", "logger")
class TestSyslog:
    """What reaches /dev/log, by way of the host's own logger."""

    def test_lines_come_with_the_name_of_the_job_and_a_priority(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host, syslog(host) as (listening, wrapper):
            lines = ["echo well; echo badly >&2"]
            host.write(host.job("some/job", *lines, fields="stdout=syslog stderr=syslog"))
            host.start(wrapper=wrapper)
            host.wait_for_run("exited", host.trigger("some/job"))
            received = sorted(listening.recv(4096).decode().strip() for _ in range(2))
            expected = [r"<75>.* some/job(\[\d+\])?: badly", r"<78>.* some/job(\[\d+\])?: well"]
            for text, pattern in zip(received, expected, strict=True):
                assert re.fullmatch(pattern, text)
            wait_for(lambda: children_of(host.pid) == [], "the loggers are reaped", AT_ONCE_S)

    def test_a_flood_is_taken_as_syslog_takes_it_and_krond_sleeps(self, tmp_path: Path) -> None:
        with Family(tmp_path) as host, syslog(host) as (listening, wrapper):
            count = 5_000
            flood = [f"seq 1 {count}", "echo over > over", "read line < go"]
            os.mkfifo(host.path("go"))
            host.write(
                host.job("job", *flood, fields="stdout=syslog stderr=discard"),
            )
            host.start(wrapper=wrapper)
            run_id = host.trigger("job")
            host.wait_for_run("started", run_id)
            before = cpu_ticks(host.pid)
            received = [listening.recv(4096).decode().split(": ")[-1] for _ in range(count)]
            assert [int(text) for text in received] == list(range(1, count + 1))
            host.wait_for_file("over")
            assert cpu_ticks(host.pid) - before <= 1
            host.path("go").write_text("\n")
            assert host.wait_for_run("exited", run_id)["exit_code"] == "0"


def cpu_ticks(pid: int) -> int:
    """The time that a process has spent so far, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class TestBackground:
    """A krond in the background has a file for its own words, which no run gets."""

    @pytest.mark.parametrize(
        "how", [pytest.param("USR1", id="SIGUSR1"), pytest.param("reload", id="reload")]
    )
    def test_its_file_can_be_moved_away(self, tmp_path: Path, how: str) -> None:
        with Family(tmp_path) as host:
            host.write(host.job("job", "echo out", "echo error >&2"))
            pid = host.start_in_background()
            output, moved = host.state / "krond.out", host.state / "krond.out.1"
            host.wait_for_run("exited", host.trigger("job"))
            assert (mode_of(output), output.stat().st_size) == (0o600, 0)
            output.rename(moved)
            if how == "USR1":
                os.kill(pid, signal.SIGUSR1)
            else:
                assert host.command("reload").returncode == 0
            wait_for(output.exists, "it is opened again", AT_ONCE_S)
            wait_for(
                lambda: str(moved) not in descriptors_of(pid), "the old one is closed", AT_ONCE_S
            )
            assert mode_of(output) == 0o600
            host.wait_for_run("exited", host.trigger("job"))
            assert (output.stat().st_size, moved.stat().st_size) == (0, 0)
            assert host.command("stop").returncode == 0
