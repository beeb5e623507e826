"""Which of several replicas acts: the one that holds a Lease, renewed every few seconds.

Time is measured on our own clock only, one that cannot be set and goes on while the host sleeps.
We may act until `deadline_s` after the last renewal that succeeded, counted from before it was
sent; another takes over when it has seen the lease unchanged for `duration_s`, which is longer. So
two act at once only if a clock runs wild.
The identity must be unique to the process: a lease that bears it is taken for our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import random

from kron.core.duration import SECOND_NS
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.lease import Lease, given_back, held, new_lease, read_lease
from kron.kube.client.resources import LEASES
from kron.waking.clock import Clock

_RELEASE_S = 2.0
_SHORTEST_REQUEST_S = 0.05
_LONGEST_FOREIGN_S = 60.0
"""How long a lease may say that it holds without being renewed; more is not believed."""


class Election:
    """One candidate for one lease."""

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
        observe_trouble: Callable[[str], None] | None = None,
    ) -> None:
        assert identity, "a lease without a holder is nobody's"
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
        """Why the lease could not be read or written, while that is so."""
        self._held_until_ns: int | None = None
        self._lease: Lease | None = None
        """The lease as last written or read; None: read it first."""
        self._may_hold = False
        """Whether the lease may bear our name: it does, or a request to that end had no answer."""
        self._others: Lease | None = None
        """The lease as last read, while we do not hold it."""
        self._seen: object = None
        """What the lease said when it was last seen to change, and when that was."""
        self._seen_ns = 0

    def may_act(self) -> bool:
        """Whether the lease is ours right now. Ask before every write."""
        until_ns = self._held_until_ns
        return until_ns is not None and self._clock.boot_ns() < until_ns

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """For ever: wait for the lease, and run `lead` while we hold it.

        `lead` is cancelled when the lease is lost, and awaited. If it returns, the lease is given
        back and waited for again; an error of its own ends the election.
        """
        while True:
            try:
                await self._acquire()
                await self._lead(lead)
            finally:
                await self._give_back()
            await asyncio.sleep(self._retry_s)

    async def _acquire(self) -> None:
        while not await self._attempt(self._deadline_s / 2):
            # Jitter: two that wait for one lease should not ask at the same moment for ever.
            await asyncio.sleep(self._retry_s * (0.8 + 0.2 * random()))  # noqa: S311

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
                # A request that hangs leaves half of the time for another.
                is_ours = await self._attempt(max(left_s / 2, min(left_s, _SHORTEST_REQUEST_S)))
                if self._held_until_ns is None:
                    break  # another has it
                wait_s = self._renew_s if is_ours else min(self._renew_s, self._retry_s) / 2
        finally:
            await self._end(leading)
        if not leading.cancelled():
            leading.result()

    async def _end(self, leading: asyncio.Future[None]) -> None:
        """Cancel `lead` once, and await it, even if we are cancelled (again) meanwhile."""
        is_cancelled = False
        leading.cancel()  # a second time would cut short what it does at its end
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
            self._tell(str(error) or "no answer in time")
            return False
        self._trouble = ""
        return is_ours

    def _tell(self, trouble: str) -> None:
        """Say what is the matter, once: it is tried every second."""
        if trouble != self._trouble and self._observe_trouble is not None:
            self._observe_trouble(trouble)
        self._trouble = trouble

    async def _take(self, timeout_s: float) -> bool:
        lease = self._lease or await self._read(timeout_s)
        # One that was deleted is still held by whoever goes by it.
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
            is_changed = error.status == 409 or (error.status == 404 and lease is not None)
            if not is_changed:  # nor is there a namespace to make it in, if that is a 404
                self._may_hold = was_held or error.may_have_happened
                raise
            self._lease = None  # somebody else was faster, or merely touched it: look again
            self._may_hold = was_held
            return False
        self._lease = lease
        self._seen = self._others = None
        self._held_until_ns = began_ns + round(self._deadline_s * SECOND_NS)
        return True

    async def _read(self, timeout_s: float) -> Lease | None:
        """The lease as it is; None if there is none."""
        try:
            obj = await self._client.get(LEASES, self._namespace, self._name, timeout_s=timeout_s)
        except ApiError as error:
            if error.status != 404:
                raise
            return None
        lease = read_lease(obj)
        self._others = lease
        if self._seen != lease.spec:
            self._seen, self._seen_ns = lease.spec, self._clock.boot_ns()
        return lease

    def _is_free(self, lease: Lease) -> bool:
        """Whether we may take the lease: it is ours or nobody's, or we saw it run out."""
        if lease.holder in ("", self._identity):
            return True
        duration_s = min(lease.duration_s or self._duration_s, _LONGEST_FOREIGN_S)
        return self._clock.boot_ns() - self._seen_ns >= duration_s * SECOND_NS

    async def _write(self, lease: Lease | None, timeout_s: float) -> Lease:
        """Make the lease, or put our name into it as long as nobody else has changed it."""
        now_ns = self._clock.now_ns()
        if lease is None:
            body = new_lease(self._namespace, self._name, self._identity, self._duration_s, now_ns)
            obj = await self._client.create(LEASES, self._namespace, body, timeout_s=timeout_s)
        else:
            body = held(lease, self._identity, self._duration_s, now_ns)
            obj = await self._client.replace(
                LEASES, self._namespace, self._name, body, timeout_s=timeout_s
            )
        return read_lease(obj)

    async def _give_back(self) -> None:
        """Leave the lease to the next one, if it is ours. Whatever fails: it runs out anyway."""
        self._held_until_ns = None
        if not self._may_hold:
            return
        self._may_hold = False
        lease, self._lease = self._lease, None
        try:
            async with asyncio.timeout(_RELEASE_S):
                for _ in range(2):  # a renewal whose answer was lost has changed the version
                    lease = lease or await self._read(_RELEASE_S)
                    if lease is None or lease.holder != self._identity:
                        return
                    if await self._was_given_back(lease):
                        return
                    lease = None
        except (ApiError, TimeoutError):
            return

    async def _was_given_back(self, lease: Lease) -> bool:
        """Write that nobody holds the lease; False if it has changed meanwhile."""
        body = given_back(lease, self._clock.now_ns())
        try:
            await self._client.replace(
                LEASES, self._namespace, self._name, body, timeout_s=_RELEASE_S
            )
        except ApiError as error:
            if error.status == 409:
                return False
            raise
        return True

    def _left_s(self) -> float:
        """For how long we may still act."""
        if self._held_until_ns is None:
            return 0.0
        return (self._held_until_ns - self._clock.boot_ns()) / SECOND_NS
