"""Doubts: periods for whose Job somebody has asked without an answer, so that it may yet be made.

A network or a proxy may hold such a request back and deliver it later, when a second try has made
the Job long ago. A Job that exists refuses it, because its name is taken. So the Job of a doubtful
period must not be deleted before the request is certainly dead. The status names these periods, for
the next leader. What a leader asked for that died without a word is doubtful, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.settings import OperatorSettings
from kron.waking.clock import Clock


class Doubts:
    def __init__(
        self, settings: OperatorSettings, clock: Clock, over: Callable[[ClusterMember], None]
    ) -> None:
        self._clock = clock
        self._over = over
        """Called when a doubt about a member is over: a Job that it kept may be deleted."""
        self._dead_s = settings.dead_s
        self._max_skew_s = settings.max_skew_s
        self._inherited_until_s = 0.0
        """Until when, by the loop's clock, the requests of another leader may arrive."""
        self._asked_before_s = 0
        """Another leader may have asked for the Jobs of periods that were chosen before this."""
        self._timers: set[asyncio.TimerHandle] = set()

    def begin(self, *, is_handed_over: bool) -> None:
        """This replica leads from now on. `is_handed_over`: the last leader had all its answers."""
        loop = asyncio.get_running_loop()
        self._inherited_until_s = loop.time() + self._dead_s
        now_s = self._clock.now_ns() // SECOND_NS
        # The clock of the last leader may have been ahead of ours.
        self._asked_before_s = 0 if is_handed_over else now_s + self._max_skew_s + 1

    def end(self) -> None:
        """This replica no longer leads. The next one inherits the doubts that are stored."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def unanswered(self, member: ClusterMember, nominal_s: int) -> None:
        """A try of ours got no answer."""
        self._add(member, nominal_s, asyncio.get_running_loop().time() + self._dead_s)

    def taken_up(self, member: ClusterMember) -> None:
        """This leader looks after the member from now on, and goes by its stored status."""
        for nominal_s in member.stored.unanswered_s:
            self._add(member, nominal_s, self._inherited_until_s)

    def executed(self, member: ClusterMember, nominal_s: int, chosen_s: int | None) -> None:
        """The Job of a period exists. Another leader may have asked for it as well."""
        if chosen_s is None or chosen_s < self._asked_before_s:
            self._add(member, nominal_s, self._inherited_until_s)

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
