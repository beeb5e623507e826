"""Which of several replicas acts: the one that holds a Lease and renews it every few seconds.

Time is measured only on our own clock, which cannot be set and goes on while the host sleeps. We
may act until `deadline_s` after the last successful renewal, counted from before it was sent.
Another replica takes over when it has seen the lease unchanged for `duration_s`, which is longer.
So two act at once only if a clock is badly wrong. The times in a lease are for people, because the
clocks of other machines may be wrong. The identity must be unique to the process: a lease with our
identity counts as our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import ceil
from random import random

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.kube.api_object import Object, integer, member, text
from kron.kube.client.client import Client
from kron.kube.client.errors import CONFLICT, NOT_FOUND, ApiError
from kron.kube.client.resources import LEASES
from kron.waking.clock import Clock

_RELEASE_S = 2.0
_SHORTEST_REQUEST_S = 0.05
_LONGEST_FOREIGN_S = 60.0
"""The longest duration that is accepted from the lease of another."""
_MOST_COUNT = 2**31 - 1


class Lease(Frozen):
    """A lease as the API server has it. Values that make no sense count as missing."""

    obj: Object

    @property
    def spec(self) -> Object:
        return member(self.obj, "spec")

    @property
    def holder(self) -> str:
        """Who holds it, or ''."""
        return text(self.spec, "holderIdentity")

    def count(self, name: str) -> int:
        """A number in its spec, within the API's bounds; 0 if it is missing."""
        return min(max(0, integer(self.spec, name)), _MOST_COUNT)

    def held(self, identity: str, duration_s: float, now_ns: int) -> Object:
        """The object with which `identity` takes the lease, or renews its own."""
        now = _time(now_ns)
        is_ours = self.holder == identity
        return self._changed(
            holderIdentity=identity,
            leaseDurationSeconds=max(1, ceil(duration_s)),  # the server refuses 0
            acquireTime=(is_ours and text(self.spec, "acquireTime")) or now,
            renewTime=now,
            leaseTransitions=min(self.count("leaseTransitions") + (not is_ours), _MOST_COUNT),
        )

    def given_back(self, now_ns: int) -> Object:
        """The object with which its holder gives it up."""
        return self._changed(holderIdentity="", leaseDurationSeconds=1, renewTime=_time(now_ns))

    def _changed(self, **values: str | int) -> Object:
        return {**self.obj, "spec": {**self.spec, **values}}


def _time(now_ns: int) -> str:
    """With microseconds, as leases have them."""
    seconds, ns = divmod(now_ns, SECOND_NS)
    return to_text(seconds).removesuffix("Z") + f".{ns // 1000:06}Z"


class Election:
    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        clock: Clock,
        duration_s: float = 15,
        deadline_s: float = 10,
        retry_s: float = 1,
        renew_s: float = 2,
        observe: Callable[[bool], None],
        observe_trouble: Callable[[str], None],
    ) -> None:
        assert identity, "a lease without an identity has no holder"
        assert renew_s < deadline_s < duration_s, "renew, then stop acting, then others take over"
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._duration_s = duration_s
        self._deadline_s = deadline_s
        self._retry_s = retry_s
        self._renew_s = renew_s
        self._observe = observe
        self._observe_trouble = observe_trouble
        self._trouble = ""
        """Why the lease cannot be read or written at present, or ''."""
        self._held_until_ns: int | None = None
        self._lease: Lease | None = None
        """The lease as last written or read; None: read it first."""
        self._may_hold = False
        """Whether the lease may name us: it does, or a request to write it had no answer."""
        self._others: Lease | None = None
        """The lease as last read, while we do not hold it."""
        self._seen: object = None
        """The spec of the lease when it last changed, and when we saw that."""
        self._seen_ns = 0

    def may_act(self) -> bool:
        """Whether the lease is ours now. Ask before every write."""
        return self._left_s() > 0

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease and run `lead` while we hold it, again and again.

        When the lease is lost, `lead` is cancelled and awaited. If `lead` returns, the lease is
        given back and waited for again. If it raises an error, the election ends.
        """
        while True:
            try:
                while not await self._attempt(self._deadline_s / 2):
                    # Jitter: two that wait for one lease should not always ask at the same moment.
                    await asyncio.sleep(self._retry_s * (0.8 + 0.2 * random()))  # noqa: S311
                await self._lead(lead)
            finally:
                await self._give_back()
            await asyncio.sleep(self._retry_s)

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` and renew the lease until one of them ends."""
        leading = asyncio.ensure_future(lead())
        self._observe(True)
        try:
            wait_s = self._renew_s
            while not leading.done() and (left_s := self._left_s()) > 0:
                await asyncio.wait([leading], timeout=min(wait_s, left_s))
                left_s = self._left_s()
                if leading.done() or left_s <= 0:
                    break
                # If a request hangs, half of the time is left for another.
                is_ours = await self._attempt(max(left_s / 2, min(left_s, _SHORTEST_REQUEST_S)))
                if self._held_until_ns is None:
                    break  # another replica has it
                wait_s = self._renew_s if is_ours else min(self._renew_s, self._retry_s) / 2
        finally:
            await self._end(leading)
        if not leading.cancelled():
            leading.result()

    async def _end(self, leading: asyncio.Future[None]) -> None:
        """Cancel `lead` once and await it, even if we are cancelled (again) meanwhile."""
        is_cancelled = False
        leading.cancel()  # a second time would interrupt its clean-up
        try:
            while not leading.done():
                try:
                    await asyncio.wait([leading])
                except asyncio.CancelledError:
                    is_cancelled = True
        finally:
            self._observe(False)
        if is_cancelled:
            raise asyncio.CancelledError

    async def _attempt(self, timeout_s: float) -> bool:
        """Try to take or renew the lease, within `timeout_s`; whether it is ours now."""
        try:
            async with asyncio.timeout(timeout_s):
                is_ours = await self._take(timeout_s)
        except (ApiError, TimeoutError) as error:
            self._lease = None
            before, self._trouble = self._trouble, str(error) or "no answer in time"
            if self._trouble != before:  # once, although the lease is tried every second
                self._observe_trouble(self._trouble)
            return False
        self._trouble = ""
        return is_ours

    async def _take(self, timeout_s: float) -> bool:
        lease = self._lease or await self._read(timeout_s)
        # The holder of a lease that was deleted still acts.
        known = lease or self._others
        if known is not None and not self._is_free(known):
            self._held_until_ns = None
            self._may_hold = False
            return False
        began_ns = self._clock.boot_ns()
        was_held, self._may_hold = self._may_hold, True
        try:
            lease = await self._write(lease, timeout_s)
        except ApiError as error:
            is_changed = error.status == CONFLICT or (
                error.status == NOT_FOUND and lease is not None
            )
            if not is_changed:  # a 404 without a lease means that the namespace does not exist
                self._may_hold = was_held or error.may_have_happened
                raise
            self._lease = None  # another client has changed it: read it again
            self._may_hold = was_held
            return False
        self._lease = lease
        self._seen = self._others = None
        self._held_until_ns = began_ns + round(self._deadline_s * SECOND_NS)
        return True

    async def _read(self, timeout_s: float) -> Lease | None:
        """The lease as it is now; None if it does not exist."""
        try:
            obj = await self._client.get(LEASES, self._namespace, self._name, timeout_s=timeout_s)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return None
        lease = self._others = Lease(obj)
        if self._seen != lease.spec:
            self._seen, self._seen_ns = lease.spec, self._clock.boot_ns()
        return lease

    def _is_free(self, lease: Lease) -> bool:
        """Whether we may take the lease: it is ours, has no holder, or we saw it run out."""
        if lease.holder in ("", self._identity):
            return True
        duration_s = lease.count("leaseDurationSeconds") or self._duration_s
        duration_s = min(duration_s, _LONGEST_FOREIGN_S)
        return self._clock.boot_ns() - self._seen_ns >= duration_s * SECOND_NS

    async def _write(self, lease: Lease | None, timeout_s: float) -> Lease:
        """Create the lease, or write our name into it unless another client has changed it."""
        now_ns = self._clock.now_ns()
        if lease is not None:
            body = lease.held(self._identity, self._duration_s, now_ns)
            return Lease(await self._replace(body, timeout_s))
        new: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": {"holderIdentity": self._identity},  # so that its first holder is no transition
        }
        body = Lease(new).held(self._identity, self._duration_s, now_ns)
        return Lease(await self._client.create(LEASES, self._namespace, body, timeout_s=timeout_s))

    async def _replace(self, body: Object, timeout_s: float) -> Object:
        return await self._client.replace(
            LEASES, self._namespace, self._name, body, timeout_s=timeout_s
        )

    async def _give_back(self) -> None:
        """Give up the lease if it is ours. A failure does not matter: the lease runs out."""
        self._held_until_ns = None
        if not self._may_hold:
            return
        self._may_hold = False
        lease, self._lease = self._lease, None
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(_RELEASE_S):
                for _ in range(2):  # a renewal whose answer was lost may have changed the version
                    lease = lease or await self._read(_RELEASE_S)
                    if lease is None or lease.holder != self._identity:
                        return
                    try:
                        await self._replace(lease.given_back(self._clock.now_ns()), _RELEASE_S)
                        return
                    except ApiError as error:
                        if error.status != CONFLICT:
                            return
                        lease = None

    def _left_s(self) -> float:
        """How long we may still act."""
        if self._held_until_ns is None:
            return 0.0
        return (self._held_until_ns - self._clock.boot_ns()) / SECOND_NS
