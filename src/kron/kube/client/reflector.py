"""Keeps a sink up to date with the API server: first a list, then every change.

The sink sees each object in the order of its versions, never an older one after a newer one,
although a list (`refresh`) and the watch may report it at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from random import random
from typing import Protocol

from kron.kube.api_object import Object, member, text
from kron.kube.client.client import Client
from kron.kube.client.errors import MALFORMED, SILENT, ApiError, malformed
from kron.kube.client.resources import Resource

Key = tuple[str, str]


class Sink(Protocol):
    """Takes the objects. An error that it raises is a bug and ends the reflector."""

    def put(self, obj: Object) -> None:
        """An object is new or has changed."""

    def drop(self, obj: Object) -> None:
        """An object was deleted; this is its last known version."""

    def keep(self, names: set[Key], namespace: str | None) -> None:
        """After a list of `namespace` (None: all): forget the objects that are not in it."""

    def restored(self) -> None:
        """The storage was restored: the following versions may be lower than earlier ones."""


_WATCH_S = 300
"""The shortest watch to ask for. The longest is twice as long, so that not all end at once."""

_LIVED_S = 1.0
"""A watch that ends sooner than this without an event did not work."""

_RESUMABLE = frozenset((0, 429, 500, 502, 503))
"""After these answers the version may still be good. After others a new list is needed."""

_MOST_RESUMPTIONS = 10
"""After more failures in a row than this, the version itself is suspected."""

_FIRST_S = 0.25
_LONGEST_S = 3.0
"""Short, because the operator sees no changes meanwhile, and a KronJob that it first sees late has
lost its earlier periods."""
_LONGEST_ASKED_S = 60.0
"""The longest Retry-After that is obeyed: an older cache does more harm than a request."""


class Backoff:
    """Waits of 0.25 s, doubling to 3 s, each with jitter: between a half and the whole of it."""

    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def reset(self) -> None:
        self._next_s = _FIRST_S

    def next_s(self, asked_s: float | None = None) -> float:
        """The next wait; at least `asked_s`, if the server asks for that."""
        wait_s = self._next_s * (0.5 + random() / 2)  # noqa: S311
        self._next_s = min(2 * self._next_s, _LONGEST_S)
        return max(wait_s, min(asked_s or 0.0, _LONGEST_ASKED_S))


class Reflector:
    """A list and a watch of one resource, in one namespace or (None) in all."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str | None,
        sink: Sink,
        *,
        selector: str = "",
        fields: str = "",
        silence_s: float = 120,
        observe_failure: Callable[[ApiError], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.synced = asyncio.Event()
        """Set once the sink has had a complete list."""
        self.trouble: ApiError | None = None
        """Why it does not keep the sink up to date at present."""
        self.resource = resource
        self.namespace = namespace
        self.newest = ""
        """The newest version of an object that the sink has seen, even if that was deleted."""
        self._client = client
        self._sink = sink
        self._selector = selector
        self._fields = fields
        self._silence_s = silence_s
        self._observe_failure = observe_failure
        """Not called when the API server ends a watch, as it does after some minutes."""
        self._backoff = backoff or Backoff()
        self._listing = asyncio.Lock()
        self._version = ""
        """Where the watch resumes; '' if it needs a list first."""
        self._versions: dict[Key, str] = {}
        """The versions that the sink has."""
        self._watched: dict[Key, str] = {}
        """What the watch has reported since the current list began, including deletions."""
        self._latest = ""
        """The last version that the server has reported."""
        self._floor = ""
        """The version of the last list. A watch that is behind it reports old news."""
        self._failures = 0

    def has_reached(self, version: str) -> bool:
        """Whether the sink has everything up to this version."""
        return bool(self._latest) and not is_newer(version, self._latest)

    async def run(self) -> None:
        """List, watch and resume, until it is cancelled."""
        while True:
            try:
                if not self._version:
                    self._version = await self._list(is_watched=False)
                wait_s = await self._watch()
            except ApiError as error:
                wait_s = self._after(error)
                self.trouble = error
                self._observe_failure(error)
            await asyncio.sleep(wait_s)

    async def refresh(self) -> None:
        """List now, beside the watch. Afterwards the sink has everything that existed at the call.

        If the server is unavailable, that is an ApiError, and the sink keeps what it had.
        """
        await self._list(is_watched=True)

    async def _list(self, *, is_watched: bool) -> str:
        """Bring the sink up to a consistent list; the version of that list."""
        async with self._listing:
            self._watched.clear()
            listed: set[Key] = set()
            version = ""
            pages = self._client.pages(
                self.resource, self.namespace, selector=self._selector, fields=self._fields
            )
            async with aclosing(pages):
                async for items, at_version in pages:
                    if not (is_watched or version) and is_older(at_version, self._latest):
                        self._sink.restored()
                    version = at_version
                    for obj in items:
                        key, at = self._identity(obj)
                        listed.add(key)
                        self._put_listed(key, at, obj, is_watched=is_watched)
            for key in self._versions.keys() - listed:
                if not is_newer(self._watched.get(key, version), version):
                    del self._versions[key]
            self._watched.clear()
            self._floor = version
            if not is_watched:  # beside a watch, the list does not prove that the storage is older
                self._latest = version
            self._sink.keep(set(self._versions), self.namespace)
            self.synced.set()
            return version

    def _put_listed(self, key: Key, version: str, obj: Object, *, is_watched: bool) -> None:
        """Put an object of a list, unless the sink has it or the watch has a newer one."""
        known = self._versions.get(key)
        if known == version:
            return
        if is_watched:
            latest = self._watched.get(key, known)
            if latest is not None and not is_newer(version, latest):
                return
        # Without a watch the list is right even if its versions are lower than the known ones: the
        # server's storage was restored from a backup.
        self._versions[key] = version
        self._shown(version)
        self._sink.put(obj)

    def _is_well(self) -> None:
        self.trouble = None

    def _shown(self, version: str) -> None:
        if not self.newest or is_newer(version, self.newest):
            self.newest = version

    async def _watch(self) -> float:
        """Follow one watch to its end; how long to wait before the next."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        has_events = False
        events = self._client.events(
            self.resource,
            self.namespace,
            self._version,
            selector=self._selector,
            fields=self._fields,
            timeout_s=int(_WATCH_S * (1 + random())),  # noqa: S311
            silence_s=self._silence_s,
            opened=self._is_well,
        )
        try:
            async with aclosing(events):
                async for kind, obj in events:
                    has_events = True
                    self._take(kind, obj)
        finally:
            has_worked = has_events or loop.time() - began_s >= _LIVED_S
            if has_worked:
                self._backoff.reset()
                self._failures = 0
        return 0.0 if has_worked else self._backoff.next_s()

    def _take(self, kind: str, obj: Object) -> None:
        if kind == "BOOKMARK":
            version = text(member(obj, "metadata"), "resourceVersion")
            if not version:
                raise self._malformed()
        else:
            key, version = self._identity(obj)
            if is_newer(version, self._floor):
                self._take_newer(kind, key, version, obj)
        self._version = self._latest = version

    def _take_newer(self, kind: str, key: Key, version: str, obj: Object) -> None:
        known = self._versions.get(key)
        if known is not None and not is_newer(version, known):
            return
        if self._listing.locked():
            self._watched[key] = version
        self._shown(version)
        if kind == "DELETED":
            self._versions.pop(key, None)
            self._sink.drop(obj)
        elif kind in ("ADDED", "MODIFIED"):
            self._versions[key] = version
            self._sink.put(obj)

    def _after(self, error: ApiError) -> float:
        """Decide how to continue after an error, and how long to wait."""
        self._failures += 1
        # If the server's storage was restored from a backup, a watch waits in silence for a version
        # that comes much later. So a silent watch is not resumed at its version.
        is_resumable = error.status in _RESUMABLE and error.reason not in (MALFORMED, SILENT)
        if not is_resumable or self._failures > _MOST_RESUMPTIONS:
            self._version = ""
            self._failures = 0
        return self._backoff.next_s(error.retry_after_s)

    def _identity(self, obj: Object) -> tuple[Key, str]:
        metadata = member(obj, "metadata")
        name, namespace = metadata.get("name"), metadata.get("namespace", "")
        version = metadata.get("resourceVersion")
        if isinstance(name, str) and isinstance(namespace, str) and isinstance(version, str):
            return (namespace, name), version
        raise self._malformed()

    def _malformed(self) -> ApiError:
        return malformed(f"watch {self.resource.plural}", "an object has no name or no version")


def is_newer(version: str, than: str) -> bool:
    """Whether one version of an object comes after another.

    Versions that are not numbers cannot be compared: then the one that arrives later is newer.
    """
    if version.isascii() and version.isdigit() and than.isascii() and than.isdigit():
        # Compare as numbers without converting: a hostile one may have a million digits.
        mine, other = version.lstrip("0"), than.lstrip("0")
        return (len(mine), mine) > (len(other), other)
    return version != than


def is_older(version: str, than: str) -> bool:
    """Whether one version of an object comes before another, as far as they can be compared."""
    return version != than and not is_newer(version, than)
