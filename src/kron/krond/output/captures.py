"""Captures: krond's side of the outputs that it keeps. It starts the collector and feeds it.

krond keeps the reading end of a pipe while its run goes on. So if the collector is killed, the run
gets no broken pipe: it waits at most until another collector has the pipe. That holds for as many
pipes as an eighth of the files that krond may open; the runs beyond that get SIGPIPE when they
print. A collector that does not take packets for a while is retired, and another one gets those
that it has not taken and those that come. krond itself never waits for one.
"""

from __future__ import annotations

import os
import resource
import select
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from errno import EAGAIN, EMFILE, ENOBUFS, ENOMEM, ETOOMANYREFS
from functools import partial

from kron.console.report import many
from kron.core.duration import SECOND_NS
from kron.krond.configuration.settings import OutputSettings
from kron.krond.handover import HeldCapture, HeldCollector
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Backoff, Timer, Timers
from kron.krond.output.collector_process import CollectorProcess
from kron.krond.output.tails import Tails
from kron.krond.output.wire import LONGEST, Closed, Delivery, Report, unpacked_report
from kron.krond.process.failure import NotStarted
from kron.krond.process.processes import Processes
from kron.krond.state.record import Ended
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

PATIENCE_NS = 10 * SECOND_NS
"""How long a collector may leave packets where they are before there is another one."""
MOST_COLLECTORS = 8
"""More than all runs that krond can have at once need. A disk that answers none stops no more."""
LAST_PATIENCE_S = 5.0
"""How long krond waits for a collector to take the rest when it ends."""
OPERATION = "keep the output"
FIRST_RETRY_NS = SECOND_NS // 10
LONGEST_RETRY_NS = 60 * SECOND_NS
_TRY_AGAIN = (EAGAIN, ENOBUFS, ENOMEM, ETOOMANYREFS)


class Capture:
    """The output of a run that is going on."""

    __slots__ = ("collector", "delivery", "descriptors", "is_over")

    def __init__(self, delivery: Delivery, descriptors: Sequence[int]) -> None:
        self.delivery = delivery
        self.descriptors = descriptors
        """As `wire` has them. They belong to the capture."""
        self.collector: CollectorProcess | None = None
        """The one that has it."""
        self.is_over = False
        """The run has ended, so that it only has to be sent."""

    def hold(self) -> HeldCapture:
        return HeldCapture(self.delivery.packed().decode(), self.descriptors, self.is_over)

    @classmethod
    def held(cls, capture: HeldCapture) -> Capture:
        """One that the program before this one has left."""
        held = cls(Delivery.unpacked(capture.packet.encode()), capture.descriptors)
        held.is_over = capture.is_over
        return held

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


class Captures:
    def __init__(
        self,
        settings: OutputSettings,
        journal: Journal,
        clock: Clock,
        timers: Timers,
        poller: Poller,
        processes: Processes,
    ) -> None:
        self.settings = settings
        self._journal = journal
        self._clock = clock
        self.now_ns = clock.now_ns
        self.tails = Tails(settings)
        self._timers = timers
        self._poller = poller
        self._processes = processes
        self._held: dict[str, Capture] = {}
        self._unsent: deque[Capture] = deque()
        self._current: CollectorProcess | None = None
        self._collectors: list[CollectorProcess] = []
        """All that there are, with those that are retired."""
        self._backoff = Backoff(FIRST_RETRY_NS, LONGEST_RETRY_NS)
        self._retry: Timer | None = None
        self._patience: Timer | None = None
        self._is_closing = False
        self._said: set[str] = set()
        """The reports that concern all runs, each logged once."""

    def add(self, capture: Capture) -> None:
        """Have the output of a run collected, whatever it takes."""
        if capture.delivery.tail:
            self.tails.expect(capture.delivery.run_id)
        self._hold(capture)
        self._unsent.append(capture)
        self._send()

    def run_ended(self, ended: Ended) -> None:
        capture = self._held.get(ended.run_id)
        if capture is None:
            return
        capture.is_over = True
        if capture.collector is not None and not capture.collector.has_ended():
            self._let_go(capture)

    def hold(self) -> tuple[list[HeldCollector], list[HeldCapture]]:
        """What another program of this process can go on with: the collectors with their outputs,
        and the outputs that none has yet."""
        unsent = [capture.hold() for capture in self._unsent]
        return [process.hold() for process in self._collectors], unsent

    def take(self, collectors: Iterable[HeldCollector], unsent: Iterable[HeldCapture]) -> None:
        """Go on with them. Each collector serves what it has; another one gets the rest."""
        for held in collectors:
            process = CollectorProcess.held(held, self._clock.monotonic_ns())
            for each in held.captures:
                capture = Capture.held(each)
                self._hold(capture)
                capture.collector = process
                process.captures[capture.delivery.run_id] = capture
            process.retire()
            self._watch(process)
            self._take_back(process)
        for each in unsent:
            capture = Capture.held(each)
            self._hold(capture)
            self._unsent.append(capture)
        if self._unsent:
            self._send()

    def close(self) -> None:
        """Hand over what was not sent yet: runs may go on without krond."""
        self._is_closing = True
        deadline_s = self._clock.monotonic_ns() / SECOND_NS + LAST_PATIENCE_S
        waiting = select.poll()
        while self._unsent:
            process = self._current or self._start()
            left_s = deadline_s - self._clock.monotonic_ns() / SECOND_NS
            if process is None or left_s <= 0:
                break
            waiting.register(process.control, select.POLLOUT)
            if not waiting.poll(left_s * 1000) or not self._send_to(process):
                break
            waiting.unregister(process.control)

    def _send(self) -> None:
        if self._retry is not None:
            return
        process = self._current or self._start()
        if process is None:
            self._again()
            return
        while self._unsent:
            if not self._send_to(process):
                return
        self._wait_for(process, 0)

    def _send_to(self, process: CollectorProcess) -> bool:
        """Send the first of those that wait. False: not now."""
        capture = self._unsent[0]
        try:
            socket.send_fds(process.control, [capture.delivery.packed()], capture.descriptors)
        except OSError as error:
            if error.errno == EAGAIN:
                self._wait_for(process, select.EPOLLOUT)
                return False
            if error.errno in _TRY_AGAIN:
                self._again()
                return False
            self._log_loss(capture.delivery, error.strerror or str(error))
            capture.is_over = True
        else:
            self._reset_backoff(process)
            if not self._is_closing and process.first_unread() == capture.delivery.run_id:
                self._expect(process, capture.delivery.run_id)
        self._unsent.popleft()
        capture.collector = process
        process.captures[capture.delivery.run_id] = capture
        if capture.is_over or self._poller.others > _most_held():
            self._let_go(capture)
        return True

    def _hold(self, capture: Capture) -> None:
        self._held[capture.delivery.run_id] = capture
        self._poller.others += len(capture.descriptors)

    def _let_go(self, capture: Capture) -> None:
        run_id = capture.delivery.run_id
        del self._held[run_id]
        if capture.collector is not None:
            capture.collector.captures.pop(run_id, None)
        self._poller.others -= len(capture.descriptors)
        capture.close()

    def _wait_for(self, process: CollectorProcess, events: int) -> None:
        if not self._is_closing:
            self._poller.change(process.control.fileno(), select.EPOLLIN | events)

    def _expect(self, process: CollectorProcess, run_id: str) -> None:
        """Look after a while whether this packet was taken."""
        self._stop_looking()
        self._patience = self._timers.after(PATIENCE_NS, lambda: self._look(process, run_id))

    def _look(self, process: CollectorProcess, run_id: str) -> None:
        self._patience = None
        first = process.first_unread()
        if first == run_id and len(self._collectors) < MOST_COLLECTORS:
            self._replace(process)
        elif first:
            self._expect(process, first)

    def _stop_looking(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _replace(self, process: CollectorProcess) -> None:
        """Retire a collector that does not answer, so that it ends with the last of its pipes."""
        self._log(Report("the collector of outputs does not answer; krond starts another"))
        process.retire()
        self._wait_for(process, 0)
        self._take_back(process)
        self._current = None
        self._send()

    def _take_back(self, process: CollectorProcess) -> None:
        """Have another one get what this one has not taken, as far as krond may hold it."""
        while self._poller.others <= _most_held() and (packet := process.withdrawn()):
            delivery, descriptors, is_whole = packet
            capture = process.captures.pop(delivery.run_id, None)
            withdrawn = Capture(delivery, descriptors)
            if capture is not None:
                withdrawn.close()
                capture.collector = None
            elif is_whole:
                capture = withdrawn
                capture.is_over = True
                self._hold(capture)
            else:
                withdrawn.close()
                self._log_loss(delivery, os.strerror(EMFILE))
                continue
            self._unsent.append(capture)

    def _again(self) -> None:
        """Try again after a while, which gets longer."""
        if self._current is not None:
            self._wait_for(self._current, 0)  # it may have room, and that is not what is missing
        self._retry = self._timers.after(self._backoff.next_ns(), self._retried)

    def _reset_backoff(self, process: CollectorProcess) -> None:
        """A collector has worked, and for long: one that is broken may end with every packet."""
        if self._clock.monotonic_ns() - process.began_ns >= LONGEST_RETRY_NS:
            self._backoff.reset()

    def _retried(self) -> None:
        self._retry = None
        if self._unsent:
            self._send()

    def _start(self) -> CollectorProcess | None:
        try:
            process = CollectorProcess.start(self.settings, self._clock.monotonic_ns())
            if not self._is_closing:
                self._watch(process)
        except (NotStarted, OSError) as error:
            self._log(Report(f"the collector of outputs cannot be started: {error}"))
            return None
        self._current = process
        return process

    def _watch(self, process: CollectorProcess) -> None:
        try:
            process.watched = self._processes.watch(process.pid)
        except OSError:
            process.close()  # so it ends
            raise
        self._collectors.append(process)
        self._poller.add(process.watched, select.EPOLLIN, lambda _: self._ended(process))
        self._poller.add(process.control.fileno(), select.EPOLLIN, partial(self._hear, process))

    def _hear(self, process: CollectorProcess, events: int) -> None:
        if events & select.EPOLLIN:
            self._take_reports(process)
        if events & select.EPOLLOUT and process is self._current:
            self._send()

    def _take_reports(self, process: CollectorProcess) -> None:
        """Log what a collector says."""
        with suppress(BlockingIOError):
            while data := process.control.recv(LONGEST):
                report = unpacked_report(data)
                if isinstance(report, Closed):
                    self.tails.closed(report)
                    continue
                if report.name or report.text not in self._said:
                    self._log(report)
                if not report.name:
                    self._said.add(report.text)

    def _ended(self, process: CollectorProcess) -> None:
        """A collector was killed, or is broken: another one goes on with what it had.

        Or it was retired, and has nothing more to do.
        """
        self._take_reports(process)
        self._poller.remove(process.control.fileno())
        self._poller.remove(process.watched)
        os.close(process.watched)
        ended_well = self._processes.reap_if_ended(process.pid)
        self._collectors.remove(process)
        if not process.is_retired or (process.captures and not ended_well):
            had = many(len(process.captures), "active run")
            self._log(Report(f"the collector of outputs was killed or is broken; it had {had}"))
        self._take_back(process)
        process.close()
        if ended_well:  # with the last of its pipes
            for capture in list(process.captures.values()):
                self._let_go(capture)
        for capture in process.captures.values():
            capture.collector = None
        self._unsent.extendleft(reversed(process.captures.values()))
        if self._current is process:
            self._current = None
            self._stop_looking()
        self._reset_backoff(process)
        if self._unsent and self._retry is None:
            self._again()

    def _log_loss(self, of: Delivery, why: str) -> None:
        text = f"run {of.run_id}: its output is lost: {why}"
        self._log(Report(text, of.namespace, of.job, of.period or None))

    def _log(self, report: Report) -> None:
        self._journal.event(
            Event.ERROR,
            Level.WARN,
            Component.EXECUTOR,
            namespace=report.namespace,
            name=report.name,
            period=report.period,
            operation=OPERATION,
            error=report.text,
        )


def _most_held() -> int:
    """How many descriptors krond may keep for the case that a collector is killed."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8
