"""systemd is told what it asked to be told, by real datagrams, and never stops the daemon."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.krond.loop.notify import Notifier

HALF_A_SECOND_NS = 500_000_000


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.setblocking(False)
        yield listener


def notifier(listener: socket.socket) -> Notifier:
    return Notifier.from_environment({"NOTIFY_SOCKET": listener.getsockname()})


def test_each_message_is_what_systemd_reads(systemd: socket.socket) -> None:
    told = notifier(systemd)
    told.ready("12 jobs")
    told.stopping()
    told.watchdog()
    assert [systemd.recv(4096) for _ in range(3)] == [
        b"READY=1\nSTATUS=12 jobs",
        b"STOPPING=1",
        b"WATCHDOG=1",
    ]


def test_a_reload_carries_its_time(systemd: socket.socket) -> None:
    before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notifier(systemd).reloading()
    first, second = systemd.recv(4096).decode().split("\n")
    name, _, value = second.partition("=")
    assert (first, name) == ("RELOADING=1", "MONOTONIC_USEC")
    assert before_us <= int(value) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def test_a_name_in_a_status_cannot_say_anything_else(systemd: socket.socket) -> None:
    notifier(systemd).ready("job\nWATCHDOG=trigger\x1b[2J\ud800" + "x" * 10_000)
    received = systemd.recv(65_536).removeprefix(b"READY=1\n")
    assert received.startswith(rb"STATUS=job\x0aWATCHDOG=trigger\x1b[2J\ud800xxx")
    assert b"\n" not in received
    assert len(received) < 4096


def test_an_abstract_socket_is_reached() -> None:
    name = f"@kron-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name[1:])
        Notifier.from_environment({"NOTIFY_SOCKET": name}).stopping()
        listener.setblocking(False)
        assert listener.recv(100) == b"STOPPING=1"


def test_what_systemd_said_to_krond_is_not_passed_on_to_jobs(tmp_path: Path) -> None:
    environment = {
        "NOTIFY_SOCKET": str(tmp_path / "notify"),
        "WATCHDOG_USEC": "1000000",
        "WATCHDOG_PID": "1",
        "LISTEN_FDS": "1",
        "LISTEN_PID": "1",
        "LISTEN_FDNAMES": "x",
        "LISTEN_ADDRESS": "somebody else's",
        "PATH": "/bin",
    }
    Notifier.from_environment(environment)
    assert environment == {"LISTEN_ADDRESS": "somebody else's", "PATH": "/bin"}


@pytest.mark.parametrize(
    ("asked", "interval_ns"),
    [
        pytest.param({"WATCHDOG_USEC": "1000000"}, HALF_A_SECOND_NS, id="for-anybody"),
        pytest.param(
            {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "own"}, HALF_A_SECOND_NS, id="for-us"
        ),
        pytest.param({"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}, None, id="for-another"),
        pytest.param({}, None, id="not-asked"),
        pytest.param({"WATCHDOG_USEC": "0"}, None, id="nought"),
        pytest.param({"WATCHDOG_USEC": "-5"}, None, id="negative"),
        pytest.param({"WATCHDOG_USEC": "soon"}, None, id="no-number"),
        pytest.param({"WATCHDOG_USEC": "٣٠"}, None, id="digits-of-another-script"),
        pytest.param({"WATCHDOG_USEC": "9" * 5000}, None, id="endless"),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_demanded(
    asked: dict[str, str], interval_ns: int | None
) -> None:
    own = {name: str(os.getpid()) if value == "own" else value for name, value in asked.items()}
    assert Notifier.from_environment({"NOTIFY_SOCKET": "/x", **own}).interval_ns == interval_ns


def test_without_a_socket_there_is_no_watchdog_to_feed() -> None:
    told = Notifier.from_environment({"WATCHDOG_USEC": "1000000"})
    assert told.interval_ns is None


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("", id="none"),
        pytest.param("/nonexistent/notify", id="gone"),
        pytest.param("/" + "x" * 200, id="longer-than-an-address"),
        pytest.param("@" + "x" * 200, id="abstract-and-longer"),
        pytest.param("@", id="abstract-without-a-name"),
        pytest.param("vsock:2:1234", id="of-another-kind"),
        pytest.param("relative", id="relative"),
        pytest.param("/nul\0byte", id="nul"),
        pytest.param("/\udcff", id="undecodable"),
        pytest.param("/etc/passwd", id="a-file"),
    ],
)
def test_a_systemd_that_is_not_there_is_no_matter(address: str) -> None:
    told = Notifier.from_environment({"NOTIFY_SOCKET": address} if address else {})
    told.ready("")
    told.reloading()
    told.stopping()
    told.watchdog()


def test_a_systemd_that_does_not_read_holds_nobody_up(systemd: socket.socket) -> None:
    told = notifier(systemd)
    before_s = time.monotonic()
    for _ in range(1000):  # far more than its queue holds
        told.watchdog()
    assert time.monotonic() - before_s < 1
    sent = 0
    while True:
        try:
            systemd.recv(100)
        except BlockingIOError:
            break
        sent += 1
    assert 0 < sent < 1000


def test_no_descriptor_stays_open(systemd: socket.socket) -> None:
    told = notifier(systemd)
    before = set(Path("/proc/self/fd").iterdir())
    told.ready("")
    # Fewer may be there: what other tests have left to the garbage collector.
    assert set(Path("/proc/self/fd").iterdir()) <= before
