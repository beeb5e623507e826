"""What the API server's audit log says: when each Job was there, and who asked for how much.

The API server is the judge because it belongs to no contender: what one says of itself counts for
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from bench.krond.marks import Lateness
from bench.krond.workshop import SkippedError
from tests.cluster.audit import Request

OPERATOR = "kron-operator/"
"""The operator's requests are those whose user agent begins so."""
_CREATED = 201
_READS = frozenset({"get", "list", "watch"})


def instant_s(text: str) -> float:
    """A time of the audit log, in seconds since 1970; it has microseconds."""
    return datetime.fromisoformat(text).timestamp()


def lateness(requests: Iterable[Request], namespace: str, due_s: Mapping[str, int]) -> Lateness:
    """How long after their owners were due the Jobs of a namespace were there.

    `due_s`: by the name of the owner. A Job counts from when the API server had stored it and
    answered.
    """
    late_ns = {
        request.name: round((instant_s(request.answered_at) - due_s[owner]) * 1e9)
        for request in requests
        if (request.verb, request.resource, request.subresource) == ("create", "jobs", "")
        and request.namespace == namespace
        and request.code == _CREATED
        for owner in (_owner(request),)
        if owner in due_s
    }
    if not late_ns:
        raise SkippedError(f"no Job at all was made in {namespace}")
    return Lateness(list(late_ns.values()))


def tally(requests: Iterable[Request], from_s: float, to_s: float = float("inf")) -> Counter[str]:
    """What the operator asked for in that time: `patch kronjobs/status` and so on, how often."""
    return Counter(
        f"{request.verb} {'/'.join(filter(None, (request.resource, request.subresource)))}"
        for request in requests
        if request.agent.startswith(OPERATOR) and from_s <= instant_s(request.at) < to_s
    )


def besides(counted: Mapping[str, int], *resources: str) -> int:
    """How many of these requests were for something else."""
    return sum(n for words, n in counted.items() if words.split(" ")[1] not in resources)


def for_runs(counted: Mapping[str, int]) -> int:
    """How many of these requests were for single runs: watches report all of them."""
    single = {words: n for words, n in counted.items() if words.split(" ")[0] != "watch"}
    return besides(single, "leases", "events")


def writes(counted: Mapping[str, int]) -> int:
    """How many of these requests asked for a change, the lease and Events aside."""
    changing = {words: n for words, n in counted.items() if words.split(" ")[0] not in _READS}
    return besides(changing, "leases", "events")


def _owner(request: Request) -> str:
    return request.owners[0].split("/")[1] if request.owners else ""
