"""Notices: what krond's parts have to know of them. Somebody hears at least once, or the log says
that it is lost.

A notice is safe on disk before the end that it is about is, and is sent after that. After a crash
the next krond takes it up, and may deliver it a second time. Where no job has a hook, nothing here
does anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from kron.console.report import many
from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.jobs.entry import Entry
from kron.jobs.hooks import MailOn
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timers
from kron.krond.notices.courier import LIMIT_NS, Courier, Parcel
from kron.krond.notices.notice import Channel, Notice, notices_of_end, notices_of_start
from kron.krond.notices.spool import Spool
from kron.krond.output.captures import Captures
from kron.krond.process.processes import Processes
from kron.krond.state.directory import Directory
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.record import Ended, RunRecord
from kron.krond.surroundings import Surroundings
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

MOST_WAITING = 1_000
"""How many wait at most for one user, or for one server."""
MANY_WAITING = 100
LATELY_NS = 3_600 * SECOND_NS
OPERATION = "keep a notice"
LAST_PATIENCE_NS = 10 * SECOND_NS
"""How long krond waits for deliveries when it is stopped."""
TOO_MANY = f"{MOST_WAITING:,} others wait to be delivered"
NO_JOB = "its job is no longer configured"


class Notices:
    def __init__(
        self,
        state: Directory,
        journal: Journal,
        clock: Clock,
        timers: Timers,
        poller: Poller,
        processes: Processes,
        surroundings: Surroundings,
        captures: Captures,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._timers = timers
        self._spool = Spool(state)
        self._outputs = captures.settings
        self._tails = captures.tails
        self._losses: deque[int] = deque(maxlen=MOST_WAITING)
        """When those of the last hour were lost, by the monotonic clock."""
        self._left: dict[str, Notice] = {}
        """What an earlier krond has left and is not delivered yet, by the name of its file."""
        self._courier = Courier(
            *(clock, timers, poller, processes, surroundings, captures.tails),
            on_end=self._ended,
            on_retry=self._retried,
        )

    @property
    def pids(self) -> set[int]:
        """The processes that deliver notices and are not reaped by others."""
        return self._courier.pids

    def trouble(self) -> str:
        """For people, if some were lost lately, or many wait; else ''."""
        since_ns = self._clock.monotonic_ns() - LATELY_NS
        while self._losses and self._losses[0] < since_ns:
            self._losses.popleft()
        parts = []
        if lost := len(self._losses):
            parts.append(f"{many(lost, 'notice')} lost in the last hour")
        if (waiting := len(self._courier)) > MANY_WAITING:
            parts.append(f"{waiting:,} wait to be delivered")
        return ", ".join(parts)

    @property
    def unsafe(self) -> int:
        """How many the next program would not find, because they could not be written."""
        return self._courier.unsafe

    def find_left(self) -> None:
        """Look what an earlier krond has left."""
        try:
            for each in self._spool.left():
                if isinstance(each, StateCorrupt):
                    self._journal.event(
                        Event.STATE_CORRUPT,
                        file=each.file,
                        set_aside=each.set_aside,
                        error=each.error,
                    )
                else:
                    self._left[each.file] = each
        except (KronError, OSError) as error:
            self._journal.error("read the notices", str(error))

    def send_left(self, entry_of: Callable[[str], Entry | None]) -> None:
        """Deliver what an earlier krond has left. `entry_of` finds a job by its identity."""
        parcels = []
        for notice in sorted(self._left.values(), key=_moment):
            entry = entry_of(notice.identity)
            if entry is None:
                self._log_loss(notice, *_names(notice.identity), NO_JOB)
                self._remove(notice)
            else:
                parcels.append(Parcel(notice, entry))
        if parcels:
            self._courier.take(parcels)

    def started(self, runs: Iterable[tuple[Entry, RunRecord]]) -> None:
        """These runs have started."""
        due = [(entry, each) for entry, run in runs for each in notices_of_start(entry, run)]
        if due:
            self.send(self._kept(due))

    def keep(self, ends: Sequence[tuple[Entry, Ended, int]]) -> list[Parcel]:
        """Make safe what is to be said about these ends, which are not stored yet.

        `send` or `drop` follows.
        """
        due = [
            (entry, each)
            for entry, ended, count in ends
            for each in notices_of_end(entry, ended, count)
            if not self._is_pointless(each, entry)
        ]
        wanted = {notice.printed_by for _, notice in due}
        for _, ended, _ in ends:
            if ended.run_id not in wanted:
                self._tails.forget(ended.run_id)
        return self._kept(due) if due else []

    def send(self, parcels: Sequence[Parcel]) -> None:
        """What they are about is stored."""
        for parcel in parcels:
            entry, notice = parcel.entry, parcel.notice
            if parcel.is_surplus:
                self._log_loss(notice, entry.namespace, entry.name, TOO_MANY, parcel)
                self._tails.forget(notice.printed_by)
            elif parcel.unsafe:
                text = f"it is lost if krond ends before it is delivered: {parcel.unsafe}"
                self._journal.error(OPERATION, text, entry, period=notice.period)
        self._courier.take([parcel for parcel in parcels if not parcel.is_surplus])

    def drop(self, parcels: Sequence[Parcel]) -> None:
        """What they are about is not stored, perhaps for want of the room that they take."""
        for parcel in parcels:
            self._spool.remove(parcel.notice)
            parcel.unsafe = "the disk has no room for it beside the state"

    def finish(self, turn: Callable[[], None], *, is_stopping: bool) -> None:
        """Deliver what can be delivered, for a while, where `turn` is krond's loop. The rest is for
        the next krond."""
        patience_ns = LAST_PATIENCE_NS if is_stopping else LIMIT_NS
        end = self._timers.after(patience_ns, lambda: None)
        while self._courier.is_busy and end.action is not None:
            turn()
        end.cancel()

    def hold(self) -> bool:
        """Begin no delivery until `release`. True: no process is delivering anything any more."""
        self._courier.hold()
        return not self.pids

    def release(self) -> None:
        self._courier.release()

    def close(self) -> None:
        self._courier.close()
        self._spool.close()

    def _is_pointless(self, notice: Notice, entry: Entry) -> bool:
        """Whether this is a mail that nobody asked for where none can be sent, or an empty one."""
        mail = entry.task.hooks and entry.task.hooks.mail
        if notice.channel is not Channel.MAIL or not mail or mail.on is not MailOn.OUTPUT:
            return False
        is_silent = self._tails.is_silent(notice.printed_by)
        return is_silent or not self._outputs.mails_output(entry.task)

    def _kept(self, due: Sequence[tuple[Entry, Notice]]) -> list[Parcel]:
        # One that was left is about the same, and its krond saw what happened.
        new = [(entry, notice) for entry, notice in due if notice.file not in self._left]
        shares = self._courier.shares()
        parcels = [Parcel(notice, entry) for entry, notice in new]
        for parcel in parcels:
            shares[parcel.share] += 1
            parcel.is_surplus = shares[parcel.share] > MOST_WAITING
        if safe := [parcel for parcel in parcels if not parcel.is_surplus]:
            self._write(safe)
        return parcels

    def _write(self, parcels: Sequence[Parcel]) -> None:
        try:
            self._spool.write([parcel.notice for parcel in parcels])
        except (KronError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            for parcel in parcels:
                parcel.unsafe = why or str(error)

    def _ended(self, parcel: Parcel, why: str) -> None:
        """It is delivered or, if `why` says something, lost."""
        self._remove(parcel.notice)  # its file may exist even if it is not safe
        entry, notice = parcel.entry, parcel.notice
        if why:
            self._log_loss(notice, entry.namespace, entry.name, why, parcel)
        elif parcel.is_sent:
            self._journal.of_job(
                Event.NOTICE_SENT,
                entry,
                period=notice.period,
                run_id=notice.ended.run_id or None,
                about=notice.happening,
                means=parcel.means,
                target=parcel.target,
            )

    def _remove(self, notice: Notice) -> None:
        self._spool.remove(notice)
        self._left.pop(notice.file, None)

    def _retried(self, parcel: Parcel, why: str) -> None:
        """It could not be delivered, and is tried again."""
        if parcel.tries == 1:
            where = f" to {parcel.target}" if parcel.target else ""
            text = f"the {parcel.means} about the {parcel.notice.happening}{where}: {why}"
            period = parcel.notice.period
            self._journal.error(
                *("notify", text, parcel.entry),
                period=period,
                level=Level.WARN,
                component=Component.EXECUTOR,
            )

    def _log_loss(
        self, notice: Notice, namespace: str, name: str, why: str, parcel: Parcel | None = None
    ) -> None:
        self._losses.append(self._clock.monotonic_ns())
        self._journal.event(
            Event.NOTICE_LOST,
            namespace=namespace,
            name=name,
            period=notice.period,
            run_id=notice.ended.run_id or None,
            about=notice.happening,
            means=parcel.means if parcel else notice.channel,
            target=parcel.target if parcel else None,
            reason=why,
        )


def _moment(notice: Notice) -> int:
    return notice.ended.ended_ns or notice.ended.started_ns or 0


def _names(identity: str) -> tuple[str, str]:
    """The namespace and the name of a job that is not configured, as its identity has them."""
    namespace, _, name = identity.rpartition(":")
    return namespace, name
