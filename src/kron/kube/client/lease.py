"""A Lease, read without trust and written by the convention. Pure: what it means is in `election`.

Times in a lease are written for people. Whether one has run out is never judged by them: clocks
of other machines are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_COUNT = 2**31 - 1


class Lease(Frozen):
    """Who holds the lease, for how long without renewing it, and the object it was read from."""

    holder: str
    """'' for nobody."""
    duration_s: float | None
    """None: it does not say, or not in a way that makes sense."""
    transitions: int
    acquired: str
    spec: Mapping[str, Any]
    obj: Mapping[str, Any]


def read_lease(obj: Mapping[str, Any]) -> Lease:
    """Whatever `obj` says, in the bounds of sense."""
    found = obj.get("spec")
    spec: Mapping[str, Any] = found if isinstance(found, dict) else {}
    holder, acquired = spec.get("holderIdentity"), spec.get("acquireTime")
    return Lease(
        holder if isinstance(holder, str) else "",
        _count(spec.get("leaseDurationSeconds")) or None,
        _count(spec.get("leaseTransitions")),
        acquired if isinstance(acquired, str) else "",
        spec,
        obj,
    )


def new_lease(namespace: str, name: str, identity: str, duration_s: float, now_ns: int) -> Any:
    """A lease that nobody has had before."""
    now = _time(now_ns)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "holderIdentity": identity,
            "leaseDurationSeconds": _whole(duration_s),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        },
    }


def held(lease: Lease, identity: str, duration_s: float, now_ns: int) -> Any:
    """The object with which `identity` takes the lease, or renews it if it has it."""
    now = _time(now_ns)
    is_ours = lease.holder == identity
    spec = {
        **lease.spec,
        "holderIdentity": identity,
        "leaseDurationSeconds": _whole(duration_s),
        "acquireTime": lease.acquired if is_ours and lease.acquired else now,
        "renewTime": now,
        "leaseTransitions": lease.transitions if is_ours else _after(lease.transitions),
    }
    return {**lease.obj, "spec": spec}


def given_back(lease: Lease, now_ns: int) -> Any:
    """The object that leaves the lease to whoever asks next."""
    spec = {
        **lease.spec,
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": _time(now_ns),
    }
    return {**lease.obj, "spec": spec}


def _count(value: object) -> int:
    """A number that the API knows, or 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(0, value), _MOST_COUNT)


def _after(transitions: int) -> int:
    return min(transitions + 1, _MOST_COUNT)


def _whole(duration_s: float) -> int:
    """Rounded up: a lease is written in whole seconds, and one of none is refused."""
    return max(1, -int(-duration_s // 1))


def _time(now_ns: int) -> str:
    """With microseconds, as leases are written."""
    moment = _EPOCH + timedelta(microseconds=now_ns // 1000)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
