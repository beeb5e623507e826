"""What systemd hears of krond, on a real socket, and what a run does not inherit of it."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kron.krond.control.client import ControlError
from tests.krond.commands import NEVER
from tests.krond.disk import fill, tmpfs
from tests.krond.host import Host

PATIENCE_S = 20.0
PASSED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID")


class Systemd:
    """The socket that a service is told of, and what it has sent."""

    def __init__(self, address: str) -> None:
        self.name = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.settimeout(PATIENCE_S)
        self.heard: list[dict[str, str]] = []

    def next(self) -> dict[str, str]:
        """The next message, other than that it is alive."""
        while "WATCHDOG" in (message := self.any()):
            pass
        return message

    def any(self) -> dict[str, str]:
        """The next message, whatever it is."""
        lines = self._socket.recv(4096).decode().split("\n")
        message = dict(line.split("=", 1) for line in lines)
        self.heard.append(message)
        return message

    def close(self) -> None:
        self._socket.close()


@contextmanager
def systemd(address: str) -> Iterator[Systemd]:
    made = Systemd(address)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_hears_of_start_reload_and_stop(tmp_path: Path, kind: str) -> None:
    address = f"@krond-{os.getpid()}" if kind == "abstract" else str(tmp_path / "notify")
    with systemd(address) as service, Host(tmp_path) as host:
        host.write(f"{NEVER} name=one command=/bin/true", f"{NEVER} name=two command=/bin/true")
        host.launch(env={**os.environ, "NOTIFY_SOCKET": service.name})
        assert service.next() == {"READY": "1", "STATUS": "2 jobs"}
        assert host.ask("status")["total"] == 2, "it answers once it has said so"
        host.write(f"{NEVER} name=one command=/bin/true")
        before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert host.process is not None
        host.process.send_signal(signal.SIGHUP)
        reloading = service.next()
        assert reloading.pop("RELOADING") == "1"
        # systemd takes a reload for done only if this is later than its own request.
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert before_us <= int(reloading.pop("MONOTONIC_USEC")) <= now_us
        assert reloading == {}
        assert service.next() == {"READY": "1", "STATUS": "1 job"}
        host.write("wrong")
        assert host.command("reload").returncode == 1
        assert "RELOADING" in service.next()
        assert service.next() == {"READY": "1", "STATUS": "1 job"}, "refused is done, too"
        assert host.stop() == 0
        assert service.next() == {"STOPPING": "1"}


def test_systemd_hears_why_krond_pauses_and_that_it_goes_on(tmp_path: Path) -> None:
    with (
        systemd(str(tmp_path / "notify")) as service,
        tmpfs(tmp_path / "disk", "4m") as disk,
        Host(tmp_path, state=disk / "state") as host,
    ):
        host.write(f"{NEVER} name=job command=/bin/true")
        host.launch(env={**os.environ, "NOTIFY_SOCKET": service.name})
        assert service.next() == {"READY": "1", "STATUS": "1 job"}
        filler = fill(disk)
        with pytest.raises(ControlError, match="No space left on device"):
            host.ask("trigger", job="job", wait=True)
        (status,) = service.next().values()
        assert "No space left on device" in status
        filler.unlink()
        assert service.next() == {"STATUS": "1 job"}


def test_the_watchdog_is_kept_quiet_while_runs_go_on_and_krond_waits_for_them(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    with systemd(str(tmp_path / "notify")) as service, Host(tmp_path) as host:
        host.write(
            f'{NEVER} name=held shell=true command="until [ -e {gate} ]; do sleep 0.01; done"'
        )
        usec = 600_000
        env = {"NOTIFY_SOCKET": service.name, "WATCHDOG_USEC": str(usec)}
        host.launch(env={**os.environ, **env})
        service.next()
        host.ask("trigger", job="held")

        def beats(count: int) -> list[float]:
            times: list[float] = []
            while len(times) < count:
                if "WATCHDOG" in service.any():
                    times.append(time.monotonic())
            return times

        running = beats(4)
        assert host.process is not None
        host.process.terminate()
        assert service.next() == {"STOPPING": "1"}
        stopping = beats(4)
        gate.touch()
        assert host.wait() == 0
        for times in (running, stopping):
            assert (times[-1] - times[0]) / 3 < usec / 1e6, "sooner than systemd demands"
            assert (times[-1] - times[0]) / 3 > usec / 1e6 / 4, "and no sooner than need be"


def test_a_watchdog_of_another_process_is_none_of_ours(tmp_path: Path) -> None:
    with systemd(str(tmp_path / "notify")) as service, Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        env = {"NOTIFY_SOCKET": service.name, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}
        host.launch(env={**os.environ, **env})
        service.next()
        assert host.command("trigger", "job", "--wait").returncode == 0
        assert host.stop() == 0
        service.next()
        assert [message.keys() for message in service.heard] == [{"READY", "STATUS"}, {"STOPPING"}]


def test_runs_are_not_told_of_systemd(tmp_path: Path) -> None:
    with systemd(str(tmp_path / "notify")) as service, Host(tmp_path) as host:
        host.write(
            f"{NEVER} name=spawned command=env stdout=file:{tmp_path}/spawned.txt",
            f"{NEVER} name=launched command=env nice=1 stdout=file:{tmp_path}/launched.txt",
        )
        env = {**os.environ, "KEPT": "1", **dict.fromkeys(PASSED, "7")}
        env["NOTIFY_SOCKET"] = service.name
        env["LISTEN_FDNAMES"] = "x"
        host.start(env=env)
        for name in ("spawned", "launched"):
            assert host.command("trigger", name, "--wait").returncode == 0
            lines = (tmp_path / f"{name}.txt").read_text().splitlines()
            assert "KEPT=1" in lines
            names = {line.partition("=")[0] for line in lines}
            assert not names & {*PASSED, "LISTEN_FDNAMES"}


def test_a_systemd_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        env = {"NOTIFY_SOCKET": str(tmp_path / "nobody"), "WATCHDOG_USEC": "20000"}
        host.start(env={**os.environ, **env})
        assert host.command("reload").returncode == 0
        assert host.command("trigger", "job", "--wait").returncode == 0
        assert host.stop() == 0


def test_a_start_that_fails_is_never_ready(tmp_path: Path) -> None:
    with systemd(str(tmp_path / "notify")) as service, Host(tmp_path) as host:
        host.write("0 25 * * * name=wrong command=/bin/true")
        env = {**os.environ, "NOTIFY_SOCKET": service.name}
        host.launch(env=env)
        assert host.wait() == 1
        service._socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            service.any()
