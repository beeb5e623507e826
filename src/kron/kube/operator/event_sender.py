"""The event sender: creates the Events that people see in `kubectl describe`.

A task of its own sends them at a limited rate and drops them when too many wait: no Job waits for
an Event. The log has everything.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.resources import EVENTS
from kron.kube.operator.allowance import Allowance
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.resource.kronjob import API_VERSION, KIND
from kron.waking.clock import Clock

COMPONENT = "kron-operator"
A_SECOND = 10
BURST = 50
MOST_WAITING = 1_000
REPEATED_AFTER_S = 600
"""How long the same Event of a KronJob is not sent again."""
_LONGEST_MESSAGE = 1_000
_MOST_REMEMBERED = 10_000


class EventSender:
    def __init__(
        self,
        client: Client,
        metrics: Metrics,
        clock: Clock,
        may_act: Callable[[], bool],
        is_idle: asyncio.Event,
        *,
        identity: str,
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._may_act = may_act
        self._is_idle = is_idle
        self._identity = identity
        self._waiting: deque[tuple[str, Object]] = deque()
        self._arrived = asyncio.Event()
        self._said: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._sequence = 0

    def say(
        self, member: ClusterMember, kind: str, reason: str, message: str, *, repeated: bool = False
    ) -> None:
        """Send an Event soon, unless the same one was sent lately and `repeated` is False.

        Only a leader sends Events.
        """
        if not self._may_act():
            return
        message = message[:_LONGEST_MESSAGE]
        now_s = self._clock.now_ns() // SECOND_NS
        said = (member.metadata.uid, reason, message)
        if not repeated and now_s - self._said.get(said, -REPEATED_AFTER_S) < REPEATED_AFTER_S:
            return
        self._said[said] = now_s
        self._said.move_to_end(said)
        if len(self._said) > _MOST_REMEMBERED:
            self._said.popitem(last=False)
        if len(self._waiting) >= MOST_WAITING:
            self._metrics.events_dropped += 1
            return
        event = self._event(member, kind, reason, message, to_text(now_s))
        self._waiting.append((member.metadata.namespace, event))
        self._arrived.set()

    async def run(self) -> None:
        allowance = Allowance(a_second=A_SECOND, burst=BURST)
        while True:
            await self._arrived.wait()
            while self._waiting:
                await allowance.wait()
                await self._is_idle.wait()
                allowance.take()
                await self._send(*self._waiting.popleft())
            self._arrived.clear()

    async def _send(self, namespace: str, event: Object) -> None:
        if not self._may_act():
            return
        try:
            await self._client.create(EVENTS, namespace, event, is_brief=True)
        except ApiError:
            self._metrics.events_dropped += 1  # the log has it; an Event is not worth a second try

    def _event(
        self, member: ClusterMember, kind: str, reason: str, message: str, time: str
    ) -> Object:
        self._sequence += 1
        metadata = member.metadata
        number = f"{self._clock.now_ns():x}{self._sequence & 0xFFFF:04x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata.name}.{number}", "namespace": metadata.namespace},
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._identity,
        }
