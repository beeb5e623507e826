"""The journal: the log of a program that runs jobs, and what it says of their periods.

A line that cannot be written is counted, and nothing stops for it. That is also so where nobody
reads the log, or slowly: a pipe, a socket or a terminal that is full costs lines, and a second of
every minute at the most.
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
from kron.core.instant import to_text
from kron.core.schedule import Schedule
from kron.engine.actions import Outcome, Reschedule, Settle, SettleMany
from kron.engine.survey import due_s
from kron.logs.decisions import decision_records, decision_text
from kron.logs.event import Component, Event, Level
from kron.logs.explanation import explain_records
from kron.logs.record import Record, Value, record
from kron.logs.writer import Format, Writer
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Entry(Protocol):
        """A job as its log lines name it."""

        @property
        def namespace(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def uid(self) -> str: ...
        @property
        def schedule(self) -> Schedule: ...
        @property
        def schedule_text(self) -> str: ...


STANDARD_ERROR = 2
PATIENCE_S = 1.0
"""How long lines wait for whoever reads the log: a burst is more than a pipe holds."""
RECOVERY = PATIENCE_S / 60
"""How much of that comes back in a second."""
EDITED = "the schedule was edited"
LAPSED = "the schedule was edited, and the new time has already passed"


class Journal:
    """Writes events to a file, which `reopen` opens anew, or to the standard error."""

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
        """How many lines could not be written since the last that could."""
        self._clock = clock
        self._level = level
        self._form = form
        self._explain = explain
        self._descriptor = STANDARD_ERROR
        self._take: Callable[[int, bytes], int] = os.write
        self._patience_s = PATIENCE_S
        self._waited_s = 0.0
        """When that was last known, on the monotonic clock."""
        if path:
            self._descriptor = _opened(path)
        else:
            self._descriptor, self._take = _shared(STANDARD_ERROR)
        self._writer = Writer(self, form, level)
        self._held: list[Callable[[], None]] | None = None
        self._writes_quickly = form is Format.TEXT and level is Level.INFO and not explain

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make and write what is logged meanwhile only afterwards, in its order."""
        assert self._held is None, "it is held already"
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for write in held:
                write()

    def reopen(self) -> None:
        """Go on in a new file of the same name, after the old one has been moved away."""
        if not self.path:
            return
        descriptor = _opened(self.path)  # an OSError leaves the old file in use
        old, self._descriptor = self._descriptor, descriptor
        os.close(old)

    def write(self, data: bytes, /) -> int:
        """The stream that the writer writes to. `BlockingIOError`: it stays full."""
        try:
            return self._take(self._descriptor, data)
        except BlockingIOError:
            if self.lost:
                raise  # it was waited for, and has taken nothing since
        now_s = time.monotonic()
        patience_s = self._patience_s + (now_s - self._waited_s) * RECOVERY
        deadline_s = now_s + min(patience_s, PATIENCE_S)
        try:
            while (left_s := deadline_s - time.monotonic()) > 0:
                if _has_room(self._descriptor, left_s):
                    with suppress(BlockingIOError):  # others that write there were quicker
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
            self._do(lambda: self._put(time_ns, record(event, time_ns, level, component, **values)))

    def of_job(
        self,
        event: Event,
        entry: Entry,
        level: Level | None = None,
        /,
        at_ns: int | None = None,
        **values: Value,
    ) -> None:
        """Log that something happened to a job."""
        self.event(event, level, at_ns=at_ns, namespace=entry.namespace, name=entry.name, **values)

    def trigger(self, entry: Entry, decision: Decision, now_s: int) -> None:
        """Log that a period came due and something is tried for it."""
        self.of_job(
            Event.TRIGGER,
            entry,
            period=decision.period_id,
            chosen=to_text(due_s(decision)),
            now=to_text(now_s),
        )

    def settled(self, entry: Entry, action: Settle, now_s: int, *, active_job: str) -> None:
        """Log that a period ended without a run."""
        decision = action.decision
        if action.outcome is Outcome.UNSCHEDULABLE:
            return  # `constraint_unsatisfiable` said so when it was decided
        if action.outcome is Outcome.SKIPPED:
            self.trigger(entry, decision, now_s)
            self.skipped(entry, decision.period_id, active_job=active_job)
            return
        self.missed(entry, decision.period_id, now_s, action.reason, chosen_s=decision.chosen_s)

    def settled_many(self, entry: Entry, action: SettleMany, now_s: int) -> None:
        """Log that so many periods were missed."""
        self.missed(
            entry,
            to_text(action.last_s),
            now_s,
            action.reason,
            count=action.count,
            first_period=to_text(action.first_s),
        )

    def skipped(self, entry: Entry, period: str, *, active_job: str) -> None:
        """Log that a period was skipped because of a run that is still going on."""
        self.of_job(
            Event.SKIPPED_CONCURRENCY,
            entry,
            period=period,
            policy=entry.schedule.policy.concurrency,
            active_job=active_job,
        )

    def moved(self, entry: Entry, action: Reschedule) -> None:
        """Log that an edit moved a period."""
        chosen_s, previous_s = action.decision.chosen_s, action.previous_chosen_s
        self.of_job(
            Event.RESCHEDULE,
            entry,
            period=action.decision.period_id,
            previous_chosen="" if previous_s is None else to_text(previous_s),
            new_chosen="" if chosen_s is None else to_text(chosen_s),
            reason=LAPSED if action.lapsed else EDITED,
        )

    def missed(
        self,
        entry: Entry,
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
            chosen="" if chosen_s is None else to_text(chosen_s),
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
        entry: Entry | None = None,
        *,
        period: str | None = None,
        level: Level = Level.ERROR,
        component: Component = Component.CONTROLLER,
    ) -> None:
        """Log that an operation failed; at WARN it is going to be tried again."""
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

    def decisions(self, entry: Entry, decisions: Iterable[Decision]) -> None:
        """Log decisions and, where that is asked for, how they came about."""
        for decision in decisions:
            self._do(partial(self._decision, entry, decision, self._clock.now_ns()))

    def _decision(self, entry: Entry, decision: Decision, time_ns: int) -> None:
        if self._writes_quickly and decision.chosen_s is not None:
            text = decision_text(
                decision,
                namespace=entry.namespace,
                name=entry.name,
                time_ns=time_ns,
                schedule_text=entry.schedule_text,
            )
            self._put(time_ns, text)
            return
        for each in self._of_decision(entry, decision, time_ns):
            self._put(time_ns, each)

    def _of_decision(self, entry: Entry, decision: Decision, time_ns: int) -> Iterator[Record]:
        yield from decision_records(
            decision,
            namespace=entry.namespace,
            name=entry.name,
            time_ns=time_ns,
            schedule_text=entry.schedule_text,
            resource_uid=entry.uid,
            level=self._level,
        )
        if self._explain:
            yield from explain_records(
                decision, namespace=entry.namespace, name=entry.name, time_ns=time_ns
            )

    def _do(self, write: Callable[[], None]) -> None:
        if self._held is None:
            write()
        else:
            self._held.append(write)

    def _put(self, time_ns: int, line: Record | str) -> None:
        """Write a record, or the line of one."""
        try:
            if self.lost:
                lost = f"{self.lost} lines could not be written"
                told = record(
                    Event.ERROR,
                    time_ns,
                    Level.ERROR,
                    namespace="",
                    name="",
                    operation="log",
                    error=lost,
                )
                self._writer.write(told)
                self.lost = 0
            if isinstance(line, str):
                self._writer.write_line(line)
            else:
                self._writer.write(line)
        except OSError:
            self.lost += 1


def _opened(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
    # Nobody shares it, and to a regular file it means nothing. A named pipe that nobody reads is
    # an OSError with it, and would be waited for without.
    return os.open(path, flags | os.O_NONBLOCK, 0o640)


def _shared(descriptor: int) -> tuple[int, Callable[[int, bytes], int]]:
    """How to write, and where to, without ever being held up by who reads from `descriptor`.

    Runs inherit it and expect it to block, so it must stay as it is.
    """
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return descriptor, os.write  # it is closed: that is told with the first line
    if stat.S_ISSOCK(mode):
        return descriptor, _sender(descriptor)
    if not stat.S_ISFIFO(mode) and not os.isatty(descriptor):
        return descriptor, os.write
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:  # the same pipe or terminal, opened once more, for ourselves
        return os.open(f"/proc/self/fd/{descriptor}", flags), os.write
    except OSError:  # it is another user's
        return descriptor, _write_if_room


def _sender(descriptor: int) -> Callable[[int, bytes], int]:
    import socket

    channel = socket.socket(fileno=os.dup(descriptor))

    def send(_: int, data: bytes) -> int:
        return channel.send(data, socket.MSG_DONTWAIT)

    return send


def _write_if_room(descriptor: int, data: bytes) -> int:
    """Write what a pipe takes at once if it takes anything, and if nobody else is quicker."""
    from select import PIPE_BUF

    if not _has_room(descriptor, 0):
        raise BlockingIOError("it is full")
    return os.write(descriptor, data[:PIPE_BUF])


def _has_room(descriptor: int, timeout_s: float) -> bool:
    """Wait until something can be written, or that fails at once; False: not within that time."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(timeout_s * 1000))
