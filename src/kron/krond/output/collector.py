"""The collector: the one process that puts the outputs of all runs where they belong.

krond sends it the reading ends of pipes and never looks at a byte of output itself. It has a
session of its own, and ends when krond sends nothing more and the last of its pipes is closed: so a
krond that is killed, or stopped with its runs left alone, costs no output. Nor does anything that
goes wrong with the output of another run. It sleeps while no run prints.
"""

from __future__ import annotations

import os
import resource
import select
import socket
from contextlib import suppress

from kron.core.frozen import Frozen
from kron.krond.output.journald import JournalSink
from kron.krond.output.retention import Retention, Sweeper
from kron.krond.output.sinks import Nowhere, Relay, RunFile, SinkBase
from kron.krond.output.wire import LONGEST, MOST_DESCRIPTORS, Closed, Delivery, Report, Sink
from kron.krond.process.sidecar import begin_sidecar

_SPARE = 32
"""Descriptors for the interpreter, directories and whatever else is open for a moment."""
_MASK = 0o022


class _Flow(Frozen):
    """A pipe, and the sink that it leads to."""

    pipe: int
    sink: SinkBase
    delivery: Delivery
    file: RunFile
    """Of the run, whether this pipe leads to it or not."""


class Collector:
    def __init__(self, control: socket.socket, path: str, retention: Retention) -> None:
        self._control = control
        self._is_fed = True
        """Whether krond may send more: it has neither ended nor retired this collector."""
        self._path = path
        self._sweeper = Sweeper(path, retention)
        self._epoll = select.epoll()
        self._epoll.register(control, select.EPOLLIN)
        self._is_listening = True
        self._flows: dict[int, _Flow] = {}
        self._waiting: dict[int, _Flow] = {}
        """By the descriptor that they wait on."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = max(1, (most - _SPARE) // 3)
        """How many flows it can serve: each has up to three descriptors."""

    def serve(self) -> None:
        try:
            while self._is_fed or self._flows:
                self._turn()
        except Exception as error:
            self._report(Report(f"the collector of outputs has a bug: {_traceback(error)}"))
            raise

    def _turn(self) -> None:
        for descriptor, events in self._epoll.poll():
            if descriptor == self._control.fileno():
                self._receive()
            elif flow := self._waiting.pop(descriptor, None) or self._flows.get(descriptor):
                try:
                    self._serve(flow, descriptor, events)
                except Exception as error:  # it concerns one run of many
                    self._give_up(flow, descriptor, error)
        self._listen_if_room()

    def _serve(self, flow: _Flow, descriptor: int, events: int) -> None:
        if descriptor != flow.pipe:
            self._go_on(descriptor, flow)
        elif events & select.EPOLLIN:
            flow.sink.take(flow.pipe)
            if flow.sink.waits_on >= 0:
                self._wait(flow)
        else:  # closed by its last writer, and empty
            self._end(flow)

    def _wait(self, flow: _Flow) -> None:
        self._epoll.unregister(flow.pipe)
        self._epoll.register(flow.sink.waits_on, select.EPOLLOUT)
        self._waiting[flow.sink.waits_on] = flow

    def _go_on(self, descriptor: int, flow: _Flow) -> None:
        flow.sink.go_on()
        if flow.sink.waits_on >= 0:
            self._waiting[descriptor] = flow
            return
        self._epoll.unregister(descriptor)
        self._epoll.register(flow.pipe, select.EPOLLIN)

    def _end(self, flow: _Flow) -> None:
        del self._flows[flow.pipe]
        self._epoll.unregister(flow.pipe)
        os.close(flow.pipe)
        flow.file.flows -= 1
        self._finish(flow)
        if flow.delivery.tail and not flow.file.flows:
            self._report(flow.file.closed)

    def _finish(self, flow: _Flow) -> None:
        sink = flow.sink
        if isinstance(sink, RunFile):
            sink.users -= 1
            if sink.users:
                return
        if lost := sink.finish():
            self._report_loss(flow.delivery, lost)
        if isinstance(sink, RunFile) and sink.is_made:
            self._sweeper.sweep(flow.delivery.directory)

    def _give_up(self, flow: _Flow, descriptor: int, error: Exception) -> None:
        """Drop the rest of an output that cannot be served: its run must neither wait nor fail."""
        self._report_loss(flow.delivery, f"the rest of its output is lost: {error}")
        with suppress(OSError):
            self._epoll.unregister(descriptor)
        if flow.pipe in self._flows:
            self._flows[flow.pipe] = flow.replace(sink=Nowhere())
            self._epoll.register(flow.pipe, select.EPOLLIN)

    def _receive(self) -> None:
        try:
            data, descriptors, flags, _ = socket.recv_fds(self._control, LONGEST, MOST_DESCRIPTORS)
        except ConnectionResetError:
            return  # krond has ended without reading all reports: what it has sent comes next
        if not data:
            self._epoll.unregister(self._control)
            self._is_fed = False
            return
        delivery = Delivery.unpacked(data)
        if flags & socket.MSG_CTRUNC:
            self._report_loss(delivery, "its output is lost: the system has no more open files")
            for descriptor in descriptors:
                os.close(descriptor)
            return
        file = RunFile(self._path, delivery)
        for stream in delivery.streams:
            pipe = descriptors.pop(0)
            sink: SinkBase = file
            if stream.sink is Sink.RELAY:
                sink = Relay(descriptors.pop(0))
            elif stream.sink is Sink.JOURNAL:
                try:
                    sink = JournalSink(delivery, is_error=stream.is_error)
                except OSError as error:
                    why = error.strerror or str(error)
                    text = f"there is no journal here ({why}), so output is kept in {self._path}"
                    self._report(Report(text))
            if sink is file:
                file.users += 1
            file.flows += 1
            self._flows[pipe] = _Flow(pipe, sink, delivery, file)
            self._epoll.register(pipe, select.EPOLLIN)

    def _listen_if_room(self) -> None:
        """Leave packets to another collector while this one has no descriptors for them."""
        has_room = len(self._flows) < self._most
        if self._is_fed and has_room is not self._is_listening:
            self._is_listening = has_room
            self._epoll.modify(self._control, select.EPOLLIN if has_room else 0)

    def _report_loss(self, delivery: Delivery, text: str) -> None:
        text = f"run {delivery.run_id}: {text}"
        self._report(Report(text, delivery.namespace, delivery.job, delivery.period or None))

    def _report(self, report: Report | Closed) -> None:
        with suppress(OSError):  # krond is busy or gone
            self._control.send(report.packed(), socket.MSG_DONTWAIT)


def main(path: str, most: str, age_s: str) -> None:
    control = begin_sidecar()
    os.umask(_MASK)
    Collector(control, path, Retention(int(most), int(age_s))).serve()


def _traceback(error: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(error))
