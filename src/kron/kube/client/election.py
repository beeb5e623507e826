"""Which of several replicas acts: the one that holds a Lease and renews it every few seconds.

Time is measured only on our own clock, which cannot be set and goes on while the host sleeps. We
may act until `deadline_s` after the last successful renewal, counted from before it was sent.
Another replica takes over when it has seen the lease unchanged for `duration_s`, which is longer,
or when it is certain that the process of the holder is dead (`vigil`). So two act at once only if a
clock is badly wrong or a living process looks dead, and then until the first one renews. The times
in a lease decide nothing of that, because the clocks of other machines may be wrong. A lease with
our identity counts as our own once, for a process that was started again: of two processes that
have the same identity at a time, the later one leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from random import random

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import from_text
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.errors import CONFLICT, NOT_FOUND, ApiError
from kron.kube.client.lease import Holder, Lease
from kron.kube.client.reflector import Key, Reflector
from kron.kube.client.resources import LEASES
from kron.waking.clock import Clock

_RELEASE_S = 2.0
_SHORTEST_REQUEST_S = 0.05
_LONGEST_FOREIGN_S = 60.0
"""The longest duration that is accepted from the lease of another."""
_WATCHED = 5
"""How many times as long we wait for the lease while a watch shows its changes."""


class Predecessor(Frozen):
    """The leader before: another replica, or this one in an earlier term."""

    last_word_s: int
    """When it was last heard of, by the clock of the two that was behind."""
    silent_s: int
    """How long ago that was, as far as we have seen it ourselves."""
    handover: Object | None
    """What it left for the next one; None if it did not end well."""


Lead = Callable[[Predecessor | None], Awaitable[None]]
Vigil = Callable[[str, str], Awaitable[None]]
"""Returns when the process with that address and instance is certainly dead."""


class Election:
    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        holder: Holder,
        *,
        clock: Clock,
        duration_s: float = 15,
        deadline_s: float = 10,
        retry_s: float = 1,
        renew_s: float = 2,
        observe: Callable[[bool], None],
        observe_trouble: Callable[[str], None],
        why_not: Callable[[], str] = lambda: "",
        handover: Callable[[], Mapping[str, object] | None] = lambda: None,
        vigil: Vigil | None = None,
    ) -> None:
        assert holder.identity, "a lease without an identity has no holder"
        assert renew_s < deadline_s < duration_s, "renew, then stop acting, then others take over"
        self._client = client
        self._namespace = namespace
        self._name = name
        self._holder = holder
        self._clock = clock
        self._duration_s = duration_s
        self._deadline_s = deadline_s
        self._retry_s = retry_s
        self._renew_s = renew_s
        self._observe = observe
        self._observe_trouble = observe_trouble
        self._why_not = why_not
        """Returns why this replica must not lead; '' if it may."""
        self._handover = handover
        """What is left for the next leader, once `lead` has ended."""
        self._vigil = vigil
        self._trouble = ""
        """Why the lease cannot be read or written at present, or ''."""
        self._trouble_since_ns = 0
        self._is_reached = False
        """Whether the lease could ever be read, or was known to be missing."""
        self._has_held = False
        """Whether this process has held the lease."""
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
        self._dead = ""
        """The instance of a holder that is dead."""
        self._predecessor: Predecessor | None = None
        self._woken = asyncio.Event()
        """Set when there may be a chance to get the lease."""
        self._watching: asyncio.Future[None] | None = None
        self._reflector = Reflector(
            client,
            LEASES,
            namespace,
            _Watched(self),
            fields=f"metadata.name={name}",
            observe_failure=lambda _: None,  # then the lease is read every second
        )

    def may_act(self) -> bool:
        """Whether the lease is ours now. Ask before every write."""
        return self._left_s() > 0

    @property
    def trouble(self) -> str:
        """Why this replica could not lead for as long as a lease lasts; '' if it could.

        A replica that has never reached the lease could not: a rollout waits for it.
        """
        if not self._is_reached:
            return self._trouble or "the lease has not been read yet"
        lasts_s = (self._clock.boot_ns() - self._trouble_since_ns) / SECOND_NS
        return self._trouble if lasts_s >= self._duration_s and not self.may_act() else ""

    async def run(self, lead: Lead) -> None:
        """Wait for the lease and run `lead` while we hold it, again and again.

        When the lease is lost, `lead` is cancelled and awaited. If `lead` returns, the lease is
        given back and waited for again. If it raises an error, the election ends.
        """
        self._watching = asyncio.ensure_future(self._reflector.run())
        try:
            while True:
                try:
                    await self._win()
                    await self._lead(lead)
                finally:
                    await self._give_back()
                await asyncio.sleep(self._retry_s)
        finally:
            self._watching.cancel()

    def saw(self, lease: Lease) -> None:
        """The API server has this lease."""
        if self._held_until_ns is not None:
            return  # our own, or we hear of it when we renew it
        before, self._others = self._others, lease
        if self._seen != lease.spec:
            self._seen, self._seen_ns = lease.spec, self._clock.boot_ns()
        if not lease.holder or before is None or before.instance != lease.instance:
            self._woken.set()

    async def _win(self) -> None:
        """Try until the lease is ours."""
        vigil: asyncio.Future[None] | None = None
        watched_over = ("", "")
        try:
            while not await self._attempt(self._deadline_s / 2):
                known = self._others
                holder = (known.peer, known.instance) if known and known.holder else ("", "")
                if holder != watched_over:
                    if vigil is not None:
                        vigil.cancel()
                    self._dead = ""
                    vigil, watched_over = self._keep_vigil(*holder), holder
                await self._wait()
        finally:
            if vigil is not None:
                vigil.cancel()

    def _keep_vigil(self, peer: str, instance: str) -> asyncio.Future[None] | None:
        if self._vigil is None or not peer or not instance:
            return None

        async def watch_over(vigil: Vigil) -> None:
            await vigil(peer, instance)
            self._dead = instance
            self._woken.set()

        return asyncio.ensure_future(watch_over(self._vigil))

    async def _wait(self) -> None:
        """Wait until there may be a chance, or it is time to look."""
        # Jitter: two that wait for one lease should not always ask at the same moment.
        wait_s = self._retry_s * (0.8 + 0.2 * random())  # noqa: S311
        known = self._others
        if self._reflector.synced.is_set() and known is not None and known.holder:
            wait_s = min(wait_s * _WATCHED, max(wait_s, self._runs_out_s(known)))
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._woken.wait()
        self._woken.clear()
        if self._watching is not None and self._watching.done():
            self._watching.result()  # it ends by a bug only

    async def _lead(self, lead: Lead) -> None:
        """Run `lead` and renew the lease until one of them ends."""
        leading = asyncio.ensure_future(lead(self._predecessor))
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
                    break  # another replica has it, or should
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
        trouble = self._why_not()
        is_ours = False
        try:
            async with asyncio.timeout(timeout_s):
                if trouble:
                    self._held_until_ns = None
                    await self._read(timeout_s)  # its answer may show that the trouble is over
                else:
                    is_ours = await self._take(timeout_s)
            self._is_reached = True
        except (ApiError, TimeoutError) as error:
            self._lease = None
            trouble = str(error) or "no answer in time"
        before, self._trouble = self._trouble, trouble
        if trouble and not before:
            self._trouble_since_ns = self._clock.boot_ns()
        if trouble and trouble != before:  # once, although the lease is tried every second
            self._observe_trouble(trouble)
        return is_ours

    async def _take(self, timeout_s: float) -> bool:
        lease = self._lease or await self._read(timeout_s)
        # The holder of a lease that was deleted still acts.
        known = lease or self._others
        is_lost = self._held_until_ns is not None and known is not None and not self._is_own(known)
        if is_lost and known is not None and known.holder == self._holder.identity:
            self._observe_trouble(
                f"another process has the identity {self._holder.identity}, and leads: "
                "give each replica an identity of its own (--identity)"
            )
        if is_lost or (known is not None and not self._is_free(known)):
            self._held_until_ns = None
            self._may_hold = False
            return False
        began_ns = self._clock.boot_ns()
        was_held, self._may_hold = self._may_hold, True
        try:
            written = await self._write(lease, timeout_s)
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
        if self._held_until_ns is None:
            self._predecessor = None if known is None else self._predecessor_of(known)
        self._lease = written
        self._seen = self._others = None
        self._dead = ""
        self._has_held = True
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

    def _is_own(self, lease: Lease) -> bool:
        """Whether this process holds it, or did before it was started again."""
        if lease.holder != self._holder.identity:
            return False
        return lease.instance == self._holder.instance or not (self._has_held and lease.instance)

    def _is_free(self, lease: Lease) -> bool:
        """Whether we may take the lease: it is ours, has no living holder, or we saw it run out."""
        if not lease.holder or self._is_own(lease):
            return True
        is_dead = bool(self._dead) and lease.instance == self._dead
        return is_dead or self._runs_out_s(lease) <= 0

    def _runs_out_s(self, lease: Lease) -> float:
        """How long we must see the lease of another unchanged before we may take it."""
        duration_s = lease.count("leaseDurationSeconds") or self._duration_s
        seen_s = (self._clock.boot_ns() - self._seen_ns) / SECOND_NS
        return min(duration_s, _LONGEST_FOREIGN_S) - seen_s

    def _predecessor_of(self, lease: Lease) -> Predecessor:
        now_s = self._clock.now_ns() // SECOND_NS
        silent_s = (self._clock.boot_ns() - self._seen_ns) // SECOND_NS if self._seen else 0
        last_word_s = now_s - silent_s
        with suppress(KronError):
            last_word_s = min(last_word_s, from_text(lease.renewed))
        return Predecessor(last_word_s, silent_s, lease.handover)

    async def _write(self, lease: Lease | None, timeout_s: float) -> Lease:
        """Create the lease, or write our name into it unless another client has changed it."""
        now_ns = self._clock.now_ns()
        if lease is not None:
            body = lease.held(self._holder, self._duration_s, now_ns)
            return Lease(await self._replace(body, timeout_s))
        new: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._namespace, "name": self._name},
            # So that its first holder is no transition.
            "spec": {"holderIdentity": self._holder.identity},
        }
        body = Lease(new).held(self._holder, self._duration_s, now_ns)
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
                    if lease is None or not self._is_own(lease):
                        return
                    body = lease.given_back(self._clock.now_ns(), self._handover())
                    try:
                        await self._replace(body, _RELEASE_S)
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


class _Watched:
    """Where the watch on the lease leads to."""

    def __init__(self, election: Election) -> None:
        self._election = election

    def put(self, obj: Object) -> None:
        self._election.saw(Lease(obj))

    def drop(self, obj: Object) -> None:
        """Its holder still acts, and is known."""

    def keep(self, names: set[Key], namespace: str | None) -> None:
        """The lease is read again before anything is done."""

    def restored(self) -> None:
        """The lease is read again before anything is done."""
