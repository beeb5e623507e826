"""The collector, fed by a test: a fault of one output, or of krond, costs no other output."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from errno import EIO
from pathlib import Path

import pytest

from kron.krond.output.collector import Collector
from kron.krond.output.retention import Retention
from kron.krond.output.sinks import RunFile
from kron.krond.output.wire import (
    LONGEST,
    Closed,
    Delivery,
    Report,
    Sink,
    Stream,
    unpacked_report,
)


class Feeder:
    """krond's end of the connection, and a collector that serves when it is asked to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.control, self.its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def send(self, name: str, output: bytes, *, tail: int = 0, sink: Sink = Sink.FILE) -> None:
        """Send a run that has printed this, and has ended."""
        reading, writing = os.pipe()
        os.write(writing, output)
        os.close(writing)
        place = (name, f"{name}.log", 2**20)
        delivery = Delivery("", name, name, "", *place, (Stream(sink),), tail)
        relayed = [os.open(os.devnull, os.O_WRONLY)] if sink is Sink.RELAY else []
        socket.send_fds(self.control, [delivery.packed()], [reading, *relayed])
        for descriptor in (reading, *relayed):
            os.close(descriptor)

    def serve(self) -> None:
        Collector(self.its_end, str(self.directory), Retention(50, 86_400)).serve()

    def kept(self, name: str) -> bytes:
        return (self.directory / name / f"{name}.log").read_bytes()

    def reports(self) -> list[Report]:
        return [each for each in self.heard() if isinstance(each, Report)]

    def heard(self) -> list[Report | Closed]:
        self.control.setblocking(False)
        found = []
        while True:
            try:
                found.append(unpacked_report(self.control.recv(LONGEST)))
            except BlockingIOError:
                return found


@pytest.fixture
def feeder(tmp_path: Path) -> Iterator[Feeder]:
    made = Feeder(tmp_path / "outputs")
    yield made
    made.control.close()
    made.its_end.close()


def test_what_krond_sent_is_kept_if_it_dies_with_a_report_unread(feeder: Feeder) -> None:
    feeder.send("job", b"printed\n")
    feeder.its_end.send(b"unread")
    feeder.control.close()
    feeder.serve()
    assert feeder.kept("job") == b"printed\n"


def test_a_collector_that_gets_nothing_more_still_reports(feeder: Feeder) -> None:
    feeder.directory.mkdir()
    feeder.directory.joinpath("job").touch()
    feeder.send("job", b"printed\n")
    feeder.control.shutdown(socket.SHUT_WR)
    feeder.serve()
    (report,) = feeder.reports()
    assert "8 bytes of its output are not in" in report.text


@pytest.mark.parametrize("method", ["take", "finish"])
def test_an_output_that_fails_costs_no_other_one(
    feeder: Feeder, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    does = getattr(RunFile, method)

    def fail(self: RunFile, *pipe: int) -> object:
        if self._delivery.job == "broken":
            raise OSError(EIO, "Input/output error")
        return does(self, *pipe)

    monkeypatch.setattr(RunFile, method, fail)
    feeder.send("broken", b"1234567\n")
    feeder.send("job", b"printed\n")
    feeder.control.shutdown(socket.SHUT_WR)
    feeder.serve()
    assert feeder.kept("job") == b"printed\n"
    (report,) = feeder.reports()
    assert report.name == "broken"
    assert "Input/output error" in report.text


def test_a_bug_of_the_collector_is_reported_with_its_traceback(
    feeder: Feeder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(Delivery, "unpacked", fail)
    feeder.send("job", b"printed\n")
    with pytest.raises(ValueError, match="a bug"):
        feeder.serve()
    (report,) = feeder.reports()
    assert "in _receive" in report.text
    assert "ValueError: a bug" in report.text


def test_the_end_of_an_output_is_reported_once_it_is_complete(feeder: Feeder) -> None:
    feeder.send("job", b"first line\nlast line\n", tail=10)
    feeder.send("silent", b"", tail=10)
    feeder.send("unwanted", b"printed\n")
    feeder.send("elsewhere", b"printed\n", tail=10, sink=Sink.RELAY)
    feeder.control.shutdown(socket.SHUT_WR)
    feeder.serve()
    closed = {each.run_id: each for each in feeder.heard() if isinstance(each, Closed)}
    path = f"{feeder.directory}/job/job.log"
    assert closed == {
        "job": Closed("job", path, 21, b"last line\n"),
        "silent": Closed("silent", ""),
        "elsewhere": Closed("elsewhere", ""),
    }
