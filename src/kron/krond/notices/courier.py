"""The courier: delivers notices, a few at a time, and never lets krond's loop wait.

The notices of a job are delivered one after the other, mails apart from the rest. One that fails
for a reason that may pass is tried again, later each time. Delivered means: the command ended with
0, the server answered with success, sendmail took the message.
"""

from __future__ import annotations

import os
import select
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kron.core.duration import SECOND_NS, format_duration
from kron.jobs.entry import Entry
from kron.jobs.hooks import MailOn, is_url, site_of
from kron.jobs.task import Task
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timer, Timers
from kron.krond.notices.facts import facts_of
from kron.krond.notices.mailer import mail_task, sendmail, user_name
from kron.krond.notices.message import message_of
from kron.krond.notices.notice import Channel, Notice
from kron.krond.notices.ping import ping_of
from kron.krond.notices.pings import Pings
from kron.krond.notices.wire import Verdict
from kron.krond.output.tails import HOOK_BYTES, Tail, Tails
from kron.krond.output.wire import UNKNOWN, Closed
from kron.krond.process.failure import NotStarted, StartError
from kron.krond.process.processes import Processes
from kron.krond.result import signal_name
from kron.krond.surroundings import Surroundings
from kron.waking.clock import Clock

MOST_ACTIVE = 8
"""How many commands, how many pings and how many mails are delivered at a time."""
MOST_OF_ONE = 6
"""How many of them for one user, or to one server: it may hang, and others must not wait."""
LIMIT_NS = 60 * SECOND_NS
"""How long a delivery may take."""
MOST_TRIES = 8
FIRST_RETRY_NS = SECOND_NS
LONGEST_RETRY_NS = 625 * SECOND_NS
"""After 1, 5, 25, 125 and 625 seconds: eight tries in 34 minutes."""
OUTPUT_PATIENCE_NS = 10 * SECOND_NS
"""How long a notice waits for the end of an output: something may hold it open for ever."""
GAP_NS = SECOND_NS
"""Longer than it takes until a collector has written what a run printed."""
NO_SENDMAIL = "there is no sendmail here: KRON_SENDMAIL, /usr/sbin/sendmail, /usr/lib/sendmail"
UNKNOWN_OUTPUT = "it is not known what the run printed: the file cannot be read"


class Parcel:
    """A notice on its way."""

    __slots__ = (
        *("deadline", "entry", "is_active", "is_sent", "is_surplus", "notice", "output"),
        *("patience", "pid", "retry", "tail", "tries", "unsafe", "waited_ns"),
    )

    def __init__(self, notice: Notice, entry: Entry) -> None:
        self.notice = notice
        self.entry = entry
        """The job as it is delivered for; nothing that a reload changes."""
        self.is_surplus = False
        """Whether it is lost because too many others wait."""
        self.unsafe = ""
        """Why the next krond would not find it; '' if it would."""
        self.tail: Tail | None = None
        """The end of the output that the collector will report; None: it reports none."""
        self.output: Closed | None = None
        """None: not known yet."""
        self.waited_ns: int | None = None
        """Since when, by the monotonic clock, it waits for its output."""
        self.patience: Timer | None = None
        """Set while it does."""
        self.is_active = False
        self.is_sent = False
        """Whether there was anything to deliver, and an attempt to do so."""
        self.tries = 0
        self.pid = 0
        """Of the process that is delivering it; 0 for none."""
        self.retry: Timer | None = None
        """Set while it waits for another try."""
        self.deadline: Timer | None = None

    @property
    def key(self) -> tuple[str, Channel]:
        """Those with the same key are delivered in order."""
        return self.notice.identity, self.notice.channel

    @property
    def hook(self) -> str:
        hooks = self.entry.task.hooks
        return hooks.of(self.notice.happening) if hooks else ""

    @property
    def share(self) -> tuple[str, str]:
        """What it competes for with others of the same user, or to the same server."""
        return self.means, self.target or self.entry.task.user

    @property
    def means(self) -> str:
        """How it is delivered, for logs."""
        if self.notice.channel is Channel.MAIL:
            return "mail"
        return "ping" if is_url(self.hook) else "command"

    @property
    def target(self) -> str | None:
        """Where it goes, as far as logs may have it."""
        return site_of(self.hook) if self.means == "ping" else None


class Courier:
    """`on_end` is called with each parcel that is delivered ('') or lost, and why it is."""

    def __init__(
        self,
        clock: Clock,
        timers: Timers,
        poller: Poller,
        processes: Processes,
        surroundings: Surroundings,
        tails: Tails,
        *,
        on_end: Callable[[Parcel, str], None],
        on_retry: Callable[[Parcel, str], None],
    ) -> None:
        self._clock = clock
        self._timers = timers
        self._poller = poller
        self._processes = processes
        self._surroundings = surroundings
        self._tails = tails
        self._on_end = on_end
        self._on_retry = on_retry
        self._pings = Pings(clock, timers, poller, processes)
        self._parcels: dict[Parcel, None] = {}
        """In the order in which they came."""
        self._is_closed = False
        self._is_held = False

    def __len__(self) -> int:
        return len(self._parcels)

    def shares(self) -> Counter[tuple[str, str]]:
        return Counter(parcel.share for parcel in self._parcels)

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way, and does not only wait for another try."""
        return any(not parcel.tries or parcel.is_active for parcel in self._parcels)

    @property
    def unsafe(self) -> int:
        """How many are in memory only."""
        return sum(bool(parcel.unsafe) for parcel in self._parcels)

    @property
    def pids(self) -> set[int]:
        """The processes that it reaps itself."""
        return {parcel.pid for parcel in self._parcels if parcel.pid}

    def take(self, parcels: Iterable[Parcel]) -> None:
        """Deliver these, but not at once: runs that are due start first."""
        tails: dict[str, Tail | None] = {}
        for parcel in parcels:
            self._parcels[parcel] = None
            if run_id := parcel.notice.printed_by:
                if run_id not in tails:
                    tails[run_id] = self._tails.awaited(run_id)
                parcel.tail = tails[run_id]
                if parcel.tail is not None:
                    parcel.tail.on_closed = self._go
        self._go_soon()

    def hold(self) -> None:
        """Begin no delivery until `release`."""
        self._is_held = True

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._go_soon()

    def close(self) -> None:
        """End what is going on. The next krond delivers what was not delivered."""
        self._is_closed = True
        for parcel in self._parcels:
            if parcel.pid:
                self._processes.signal_group(parcel.pid, signal.SIGKILL)
        self._pings.close()

    def _go_soon(self) -> None:
        """Go on in the next turn of krond's loop."""
        self._timers.after(0, self._go)

    def _go(self) -> None:
        if self._is_closed or self._is_held:
            return
        for parcel in list(self._next()):
            if not self._poller.has_room():
                parcel.retry = self._timers.after(FIRST_RETRY_NS, partial(self._again, parcel))
                return
            parcel.is_active = True
            self._deliver(parcel)

    def _next(self) -> Iterator[Parcel]:
        """The first parcel of each job, if it may be delivered now, as many as there is room."""
        active = [parcel for parcel in self._parcels if parcel.is_active]
        of_means = Counter(parcel.means for parcel in active)
        of_share = Counter(parcel.share for parcel in active)
        keys: set[tuple[str, Channel]] = set()
        for parcel in self._parcels:
            is_first = parcel.key not in keys
            keys.add(parcel.key)
            if not is_first or parcel.is_active or parcel.retry is not None:
                continue
            has_room = of_means[parcel.means] < MOST_ACTIVE and of_share[parcel.share] < MOST_OF_ONE
            if has_room and self._is_ready(parcel):
                of_means[parcel.means] += 1
                of_share[parcel.share] += 1
                yield parcel

    # Its output

    def _is_ready(self, parcel: Parcel) -> bool:
        """Whether the end of its output is known, or is what it is now: time is up."""
        notice, task = parcel.notice, parcel.entry.task
        if parcel.output is not None:
            return True
        run_id = notice.printed_by
        if not run_id or (parcel.tail is None and not self._tails.are_kept(task)):
            parcel.output = Closed(run_id, "")
            return True
        now_ns = self._clock.monotonic_ns()
        if parcel.waited_ns is None:
            parcel.waited_ns = now_ns
        waited_ns = now_ns - parcel.waited_ns
        is_time_up = waited_ns >= OUTPUT_PATIENCE_NS
        if parcel.tail is not None:
            parcel.output = parcel.tail.closed
        # A collector that reports nothing here may not even have made the file until then.
        may_read = is_time_up if parcel.tail is not None else waited_ns >= GAP_NS
        if parcel.output is None and may_read:
            of_job = (notice.identity, parcel.entry.name, run_id, task)
            parcel.output = self._tails.in_file(*of_job, as_it_is=is_time_up)
        if is_time_up:
            self._tails.forget(run_id)
        if parcel.output is None and (parcel.patience is None or parcel.patience.action is None):
            again_ns = GAP_NS if parcel.tail is None else OUTPUT_PATIENCE_NS
            parcel.patience = self._timers.after(again_ns, self._go)
        return parcel.output is not None

    # One delivery

    def _deliver(self, parcel: Parcel) -> None:
        output = parcel.output
        assert output is not None  # it is ready
        try:
            if parcel.notice.channel is Channel.MAIL:
                self._mail(parcel, output)
            elif not parcel.hook:
                self._end(parcel, Verdict.LOST, "the job no longer has this hook")
            elif is_url(parcel.hook):
                ping = ping_of(parcel.notice, parcel.entry.name, parcel.hook, output)
                number = self._pings.send(ping, partial(self._end, parcel))
                parcel.is_sent = True
                overdue = partial(self._overdue, parcel, number)
                parcel.deadline = self._timers.after(LIMIT_NS, overdue)
            else:
                facts = facts_of(parcel.notice, parcel.entry.name, output)
                task = parcel.entry.task.of_hook(parcel.hook)
                self._start(parcel, task, facts, output.tail[-HOOK_BYTES:])
        except StartError as error:
            verdict = Verdict.LOST if error.for_good else Verdict.AGAIN
            self._end(parcel, verdict, error.reason)
        except (NotStarted, OSError) as error:
            self._end(parcel, Verdict.AGAIN, f"no process can be started for it: {error}")
        except Exception as error:  # whatever is wrong with a notice, it must not stop krond
            why = f"krond cannot make it: {type(error).__name__}: {error}"
            self._end(parcel, Verdict.LOST, why)

    def _mail(self, parcel: Parcel, output: Closed) -> None:
        hooks = parcel.entry.task.hooks
        program = sendmail()
        if hooks is None or hooks.mail is None:
            self._end(parcel, Verdict.LOST, "the job no longer has a mail=")
        elif hooks.mail.on is MailOn.OUTPUT and not output.total:
            self._end(parcel, Verdict.DONE, "")
        elif hooks.mail.on is MailOn.OUTPUT and output.total == UNKNOWN:
            self._end(parcel, Verdict.LOST, UNKNOWN_OUTPUT)
        elif not program:
            verdict = Verdict.DONE if hooks.mail.is_implied else Verdict.LOST
            self._end(parcel, verdict, NO_SENDMAIL)
        else:
            user = user_name(parcel.entry.task.user)
            message = message_of(parcel.notice, parcel.entry, hooks.mail, user, output)
            self._start(parcel, mail_task(program, parcel.entry.task), {}, message)

    def _start(self, parcel: Parcel, task: Task, facts: dict[str, str], text: bytes) -> None:
        now_s = self._clock.now_ns() // SECOND_NS
        try:
            pid = self._surroundings.start_beside(task, facts, text, now_s)
        except StartError as error:
            if not error.for_good:
                raise
            # What keeps a run from starting must not keep anybody from hearing of it.
            bare = task.replace(cwd="/", env_file=None)
            pid = self._surroundings.start_beside(bare, facts, text, now_s)
        parcel.pid = pid
        parcel.is_sent = True
        try:
            watched = self._processes.watch(pid)
        except OSError:
            self._processes.signal_group(pid, signal.SIGKILL)
            self._processes.reap(pid)
            raise

        def ended(_: int) -> None:
            self._poller.remove(watched)
            os.close(watched)
            self._ended(parcel, *self._processes.reap(pid))

        self._poller.add(watched, select.EPOLLIN, ended)
        parcel.deadline = self._timers.after(
            LIMIT_NS, lambda: self._processes.signal_group(pid, signal.SIGKILL)
        )

    def _ended(self, parcel: Parcel, exit_code: int | None, number: int | None) -> None:
        has_hung = parcel.deadline is not None and parcel.deadline.action is None
        why = f"exit code {exit_code}" if number is None else signal_name(number)
        if has_hung:
            why = f"it took longer than {format_duration(LIMIT_NS)} and was killed"
        if exit_code == 0:
            self._end(parcel, Verdict.DONE, "")
        else:
            # A command may have done its work before it failed, and knows itself what to try again.
            is_mail = parcel.notice.channel is Channel.MAIL
            self._end(parcel, Verdict.AGAIN if is_mail else Verdict.LOST, why)

    def _overdue(self, parcel: Parcel, number: int) -> None:
        self._pings.give_up(number)
        self._end(parcel, Verdict.AGAIN, "the server does not come to an end")

    def _end(self, parcel: Parcel, verdict: Verdict, why: str) -> None:
        for timer in (parcel.deadline, parcel.patience):
            if timer is not None:
                timer.cancel()
        parcel.deadline = parcel.patience = None
        parcel.is_active, parcel.pid = False, 0
        parcel.tries += 1
        if self._is_closed:
            return
        if verdict is Verdict.AGAIN and parcel.tries < MOST_TRIES:
            delay_ns = min(FIRST_RETRY_NS * 5 ** (parcel.tries - 1), LONGEST_RETRY_NS)
            parcel.retry = self._timers.after(delay_ns, partial(self._again, parcel))
            self._on_retry(parcel, why)
        else:
            del self._parcels[parcel]
            self._on_end(parcel, "" if verdict is Verdict.DONE else why)
        self._go_soon()  # not from within a delivery

    def _again(self, parcel: Parcel) -> None:
        parcel.retry = None
        self._go()
