"""The journal: the log of a program that runs jobs, and how it reports their periods.

A line that cannot be written is lost and counted, and the program goes on. The same holds when the
reader of a pipe, a socket or a terminal is slow or gone: that costs lines, and at most one second
of every minute.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from kron.core.decision import Decision
from kron.core.duration import format_duration
from kron.core.instant import optional_text, to_text
from kron.engine.actions import Outcome, Settle, SettleMany
from kron.engine.survey import due_s
from kron.logs.decisions import decision_records, explain_records
from kron.logs.event import Component, Event, Level
from kron.logs.record import Record, Value, record
from kron.logs.writer import Format, Writer
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.runtime.ports import LoggedJob

STANDARD_ERROR = 2
PATIENCE_S = 1.0
"""How long the journal waits for the reader of the log: a burst is more than a pipe holds."""
RECOVERY = PATIENCE_S / 60
"""How much of that patience comes back in a second."""


class Journal:
    """Writes events to a file, or to the standard error."""

    def __init__(
        self,
        clock: Clock,
        path: str = "",
        form: Format = Format.TEXT,
        level: Level = Level.INFO,
        *,
        explain: bool = False,
    ) -> None:
        self.path = path
        """'' for the standard error."""
        self.lost = 0
        """How many lines were lost since the last one that was written."""
        self._clock = clock
        self._level = level
        self._explain = explain
        self._patience_s = PATIENCE_S
        self._waited_s = 0.0
        """When `_patience_s` was last updated, on the monotonic clock."""
        self._descriptor, self._take = (
            (_opened(path), os.write) if path else _shared(STANDARD_ERROR)
        )
        self._writer = Writer(self, form, level)
        self._held: list[Callable[[], None]] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Delay making and writing lines until the end of the block; their order stays."""
        assert self._held is None, "the journal is held already"
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for write in held:
                write()

    def reopen(self) -> None:
        """Continue in a new file of the same name, after the old one was moved away."""
        if not self.path:
            return
        descriptor = _opened(self.path)  # an OSError leaves the old file in use
        old, self._descriptor = self._descriptor, descriptor
        os.close(old)

    def write(self, data: bytes, /) -> int:
        """Write for the `Writer`. `BlockingIOError`: the stream stays full."""
        try:
            return self._take(self._descriptor, data)
        except BlockingIOError:
            if self.lost:
                raise  # we have waited, and nothing was read since
        now_s = time.monotonic()
        patience_s = self._patience_s + (now_s - self._waited_s) * RECOVERY
        deadline_s = now_s + min(patience_s, PATIENCE_S)
        try:
            while (left_s := deadline_s - time.monotonic()) > 0:
                if _has_room(self._descriptor, left_s):
                    with suppress(BlockingIOError):  # another writer was quicker
                        return self._take(self._descriptor, data)
        finally:
            self._waited_s = time.monotonic()
            self._patience_s = max(deadline_s - self._waited_s, 0.0)
        raise BlockingIOError("nobody reads the log")

    def event(
        self,
        event: Event,
        level: Level | None = None,
        component: Component | None = None,
        /,
        at_ns: int | None = None,
        **values: Value,
    ) -> None:
        """Log that something happened, `at_ns` or now."""
        if self._writer.wants(level or event.level):
            time_ns = self._clock.now_ns() if at_ns is None else at_ns
            self._do(lambda: self._put(record(event, time_ns, level, component, **values)))

    def of_job(
        self,
        event: Event,
        entry: LoggedJob,
        level: Level | None = None,
        /,
        at_ns: int | None = None,
        **values: Value,
    ) -> None:
        self.event(event, level, at_ns=at_ns, namespace=entry.namespace, name=entry.name, **values)

    def trigger(self, entry: LoggedJob, nominal_s: int, chosen_s: int, now_s: int) -> None:
        """Log that a period came due and that a run or a skip follows."""
        period, chosen, now = to_text(nominal_s), to_text(chosen_s), to_text(now_s)
        self.of_job(Event.TRIGGER, entry, period=period, chosen=chosen, now=now)

    def settled(self, entry: LoggedJob, action: Settle, now_s: int, *, active_job: str) -> None:
        """Log that a period ended without a run."""
        decision = action.decision
        if action.outcome is Outcome.UNSCHEDULABLE:
            return  # `constraint_unsatisfiable` said so when it was decided
        period = decision.period_id
        if action.outcome is Outcome.SKIPPED:
            self.trigger(entry, decision.nominal_s, due_s(decision), now_s)
            self.skipped(entry, period, active_job=active_job)
        else:
            self.missed(entry, period, now_s, action.reason, chosen_s=decision.chosen_s)

    def settled_many(self, entry: LoggedJob, action: SettleMany, now_s: int) -> None:
        """Log that many periods were missed, in one line."""
        first, last = to_text(action.first_s), to_text(action.last_s)
        self.missed(entry, last, now_s, action.reason, count=action.count, first_period=first)

    def skipped(self, entry: LoggedJob, period: str, *, active_job: str) -> None:
        """Log that a period was skipped because another run is active."""
        policy = entry.schedule.policy.concurrency
        self.of_job(
            Event.SKIPPED_CONCURRENCY, entry, period=period, policy=policy, active_job=active_job
        )

    def missed(
        self,
        entry: LoggedJob,
        period: str,
        now_s: int,
        reason: str,
        *,
        chosen_s: int | None = None,
        count: int | None = None,
        first_period: str | None = None,
    ) -> None:
        """Log that a period was missed or, with a count, that all since `first_period` were."""
        self.of_job(
            Event.MISSED_DEADLINE,
            entry,
            period=period,
            chosen=optional_text(chosen_s),
            deadline=format_duration(entry.schedule.policy.deadline_ns),
            now=to_text(now_s),
            reason=reason,
            count=count,
            first_period=first_period,
        )

    def error(
        self,
        operation: str,
        error: str,
        entry: LoggedJob | None = None,
        *,
        period: str | None = None,
        level: Level = Level.ERROR,
        component: Component = Component.CONTROLLER,
    ) -> None:
        """Log that an operation failed; at WARN it will be tried again."""
        self.event(
            Event.ERROR,
            level,
            component,
            namespace=entry.namespace if entry else "",
            name=entry.name if entry else "",
            period=period,
            operation=operation,
            error=error,
        )

    def decisions(
        self, entry: LoggedJob, decisions: Iterable[Decision], *, schedule_text: str = ""
    ) -> None:
        """Log decisions and, with --explain, how they came about.

        `schedule_text` is what they were made from, if the job has been edited since.
        """
        text = schedule_text or entry.schedule_text
        for decision in decisions:
            self._do(partial(self._decision, entry, decision, text, self._clock.now_ns()))

    def _decision(self, entry: LoggedJob, decision: Decision, text: str, time_ns: int) -> None:
        for each in decision_records(
            decision,
            namespace=entry.namespace,
            name=entry.name,
            time_ns=time_ns,
            schedule_text=text,
            resource_uid=entry.uid,
            level=self._level,
        ):
            self._put(each)
        if self._explain:
            for each in explain_records(
                decision, namespace=entry.namespace, name=entry.name, time_ns=time_ns
            ):
                self._put(each)

    def _do(self, write: Callable[[], None]) -> None:
        if self._held is None:
            write()
        else:
            self._held.append(write)

    def _put(self, made: Record) -> None:
        try:
            if self.lost:
                text = f"{self.lost} lines could not be written"
                lost = record(
                    Event.ERROR, made.time_ns, namespace="", name="", operation="log", error=text
                )
                self._writer.write(lost)
                self.lost = 0
            self._writer.write(made)
        except OSError:
            self.lost += 1


def _opened(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
    # O_NONBLOCK does nothing to a regular file. A named pipe without a reader is an OSError with
    # it; without it, open would wait for a reader.
    return os.open(path, flags | os.O_NONBLOCK, 0o640)


def _shared(descriptor: int) -> tuple[int, Callable[[int, bytes], int]]:
    """The descriptor and the function to write with, so that a slow reader never blocks us.

    Runs inherit `descriptor` and expect it to block, so its flags must not change.
    """
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return descriptor, os.write  # it is closed: the first line fails and is counted
    if stat.S_ISSOCK(mode):
        return descriptor, _sender(descriptor)
    if not stat.S_ISFIFO(mode) and not os.isatty(descriptor):
        return descriptor, os.write
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:  # open the same pipe or terminal again, with flags of our own
        return os.open(f"/proc/self/fd/{descriptor}", flags), os.write
    except OSError:  # it belongs to another user
        return descriptor, _write_if_room


def _sender(descriptor: int) -> Callable[[int, bytes], int]:
    import socket

    channel = socket.socket(fileno=os.dup(descriptor))

    def send(_: int, data: bytes) -> int:
        return channel.send(data, socket.MSG_DONTWAIT)

    return send


def _write_if_room(descriptor: int, data: bytes) -> int:
    """Write as much as the pipe takes at once, if it has room."""
    from select import PIPE_BUF

    if not _has_room(descriptor, 0):
        raise BlockingIOError("the pipe is full")
    return os.write(descriptor, data[:PIPE_BUF])


def _has_room(descriptor: int, timeout_s: float) -> bool:
    """Wait until a write would not block; False if that takes longer than `timeout_s`."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(timeout_s * 1000))
