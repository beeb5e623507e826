"""Doubts: periods for whose Job somebody has asked without an answer, so that it may yet be made.

A network or a proxy may hold such a request back and deliver it later, when a second try has made
the Job long ago. A Job that exists refuses it, because its name is taken. So the Job of a doubtful
period must not be deleted before the request is certainly dead. The status names these periods, for
the next leader. What a leader asked for that died without a word is doubtful, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.engine.step import latest_start_s
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.settings import OperatorSettings
from kron.waking.clock import Clock

_CLOCKS_DIFFER_S = 60


class Doubts:
    def __init__(
        self, settings: OperatorSettings, clock: Clock, over: Callable[[ClusterMember], None]
    ) -> None:
        self._clock = clock
        self._slack_s = settings.slack_s
        self._over = over
        """Called when a doubt about a member is over: a Job that it kept may be deleted."""
        self._dead_s = settings.dead_s
        self._dead_at_s = 0.0
        """When, by the loop's clock, no request of an earlier leader can arrive any more."""
        self._is_handed_over = False
        self._timers: set[asyncio.TimerHandle] = set()

    def begin(self, *, is_handed_over: bool) -> None:
        """This replica leads from now on. `is_handed_over`: the last leader had all its answers,
        but for those that the statuses name."""
        self._dead_at_s = asyncio.get_running_loop().time() + self._dead_s
        self._is_handed_over = is_handed_over

    @property
    def are_stored(self) -> bool:
        """Whether every doubt is about a period that a status names, and none about others."""
        return self._is_handed_over or asyncio.get_running_loop().time() >= self._dead_at_s

    def end(self) -> None:
        """This replica no longer leads. The next one inherits the doubts that are stored."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def unanswered(self, member: ClusterMember, nominal_s: int) -> None:
        """A try of ours got no answer."""
        self._add(member, nominal_s, asyncio.get_running_loop().time() + self._dead_s)

    def taken_up(self, member: ClusterMember) -> None:
        """This leader looks after the member from now on, and goes by its stored status.

        Nobody asks for a Job after its deadline, so not every takeover prolongs a doubt. The leader
        that wrote the status may have gone by another deadline than ours.
        """
        job, now_s = member.job, self._clock.now_ns() // SECOND_NS
        their_deadline_s = (member.stored.deadline_ns or 0) // SECOND_NS
        for nominal_s in member.stored.unanswered_s if job is not None else ():
            assert job is not None
            chosen_s = decide_at(job.schedule, job.identity, nominal_s).chosen_s or nominal_s
            asked_until_s = max(
                latest_start_s(job.schedule, chosen_s, self._slack_s), chosen_s + their_deadline_s
            )
            if now_s <= asked_until_s + self._dead_s + _CLOCKS_DIFFER_S:
                self._add(member, nominal_s, self._dead_at_s)

    def executed(self, member: ClusterMember, nominal_s: int) -> None:
        """The Job of a period exists. A leader that died may have asked for it as well, whatever
        its clock showed."""
        if not self._is_handed_over:
            self._add(member, nominal_s, self._dead_at_s)

    def _add(self, member: ClusterMember, nominal_s: int, until_s: float) -> None:
        loop = asyncio.get_running_loop()
        if until_s <= max(loop.time(), member.doubts.get(nominal_s, 0.0)):
            return
        member.doubts[nominal_s] = until_s

        def end() -> None:
            self._timers.discard(timer)
            if member.doubts.get(nominal_s) == until_s:
                del member.doubts[nominal_s]
                self._over(member)

        timer = loop.call_at(until_s, end)
        self._timers.add(timer)
