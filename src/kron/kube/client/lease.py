"""The Lease by which replicas agree on a leader, as the API server has it.

Besides what every Lease has, annotations say which process holds it, of which version it is and
where it can be reached, and what a leader left for the next one when it gave the lease back. Values
that make no sense count as missing: anybody may have written them.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from math import ceil

import kron
from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.kube.api_object import Object, integer, member, text
from kron.kube.client.errors import json_object

_MOST_COUNT = 2**31 - 1
_INSTANCE = "kron.io/instance"
_PEER = "kron.io/peer"
_HANDOVER = "kron.io/handover"
_VERSION = "kron.io/version"
_NAMESPACES = "kron.io/namespaces"
_OURS = frozenset({_INSTANCE, _PEER, _HANDOVER, _VERSION, _NAMESPACES})
ALL = "*"
"""In place of the name of a namespace: all of them."""
LABEL = "app.kubernetes.io/name", "kron-operator"
"""What the Lease of every operator has, whatever its name is."""


class Holder(Frozen):
    """Who wants to lead. A process that is started again keeps its identity, not its instance."""

    identity: str
    instance: str
    """Unique to the process."""
    peer: str = ""
    """Where the other replicas see whether the process is alive, HOST:PORT; '' for nowhere."""
    namespaces: tuple[str, ...] = ()
    """What it looks after; () for all of them."""


class Lease(Frozen):
    obj: Object

    @property
    def spec(self) -> Object:
        return member(self.obj, "spec")

    @property
    def holder(self) -> str:
        """The identity of its holder, or ''."""
        return text(self.spec, "holderIdentity")

    @property
    def instance(self) -> str:
        """The process that holds it, or ''.

        An operator that knows nothing of it may hold the lease, and have left it as it was.
        """
        holder, _, instance = text(self._annotations, _INSTANCE).rpartition("/")
        return instance if holder and holder == self.holder else ""

    @property
    def peer(self) -> str:
        """Where the process that holds it is reached, or ''."""
        return text(self._annotations, _PEER) if self.instance else ""

    @property
    def version(self) -> str:
        """The version of Kron that holds it, or ''."""
        return text(self._annotations, _VERSION) if self.instance else ""

    @property
    def namespaces(self) -> frozenset[str]:
        """What its holder looks after: names or `ALL`; none if nobody holds it or says so."""
        found = text(self._annotations, _NAMESPACES) if self.instance else ""
        return frozenset(filter(None, found.split(",")))

    @property
    def handover(self) -> Object | None:
        """What its last holder left, if it gave the lease back with all its work done."""
        written = text(self._annotations, _HANDOVER).encode(errors="replace")
        left = None if self.holder else json_object(written)
        # An operator that knows nothing of it may have led since, and left it as it was.
        return left if left and left.get("at") == text(self.spec, "renewTime") else None

    @property
    def renewed(self) -> str:
        """When its holder wrote it last, by that one's clock, to the second; or ''."""
        written = text(self.spec, "renewTime")
        return f"{written.partition('.')[0].removesuffix('Z')}Z" if written else ""

    def count(self, name: str) -> int:
        """A number in its spec, within the API's bounds; 0 if it is missing."""
        return min(max(0, integer(self.spec, name)), _MOST_COUNT)

    def held(self, by: Holder, duration_s: float, now_ns: int) -> Object:
        """The object with which a replica takes the lease, or renews its own."""
        now = _time(now_ns)
        is_ours = self.holder == by.identity
        spec: Object = {
            "holderIdentity": by.identity,
            "leaseDurationSeconds": max(1, ceil(duration_s)),  # the server refuses 0
            "acquireTime": (is_ours and text(self.spec, "acquireTime")) or now,
            "renewTime": now,
            "leaseTransitions": min(self.count("leaseTransitions") + (not is_ours), _MOST_COUNT),
        }
        instance = f"{by.identity}/{by.instance}"
        ours = {
            _INSTANCE: instance,
            _PEER: by.peer,
            _VERSION: kron.__version__,
            _NAMESPACES: ",".join(by.namespaces) or ALL,
        }
        return self._changed(spec, ours)

    def given_back(self, now_ns: int, handover: Mapping[str, object] | None) -> Object:
        """The object with which its holder gives it up."""
        now = _time(now_ns)
        spec: Object = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now}
        left = None if handover is None else {**handover, "at": now}
        written = "" if left is None else dumps(left, separators=(",", ":"))
        return self._changed(spec, {_HANDOVER: written})

    @property
    def _annotations(self) -> Object:
        return member(member(self.obj, "metadata"), "annotations")

    def _changed(self, spec: Object, ours: Mapping[str, str]) -> Object:
        known = {name: value for name, value in self._annotations.items() if name not in _OURS}
        before = member(self.obj, "metadata")
        metadata = {
            **before,
            "labels": {**member(before, "labels"), LABEL[0]: LABEL[1]},
            "annotations": known | {name: value for name, value in ours.items() if value},
        }
        return {**self.obj, "metadata": metadata, "spec": {**self.spec, **spec}}


def _time(now_ns: int) -> str:
    """With microseconds, as leases have them."""
    seconds, ns = divmod(now_ns, SECOND_NS)
    return to_text(seconds).removesuffix("Z") + f".{ns // 1000:06}Z"
