"""Who leads: the Leases of operators, and what they say of the process that holds them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import kron
from kron.answers.times import distance
from kron.core.errors import KronError, quoted, visible
from kron.core.frozen import Frozen
from kron.core.instant import from_text
from kron.kube.api_object import member, text
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError, is_gone
from kron.kube.client.lease import ALL, LABEL, Lease
from kron.kube.client.resources import LEASES, PODS
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict

USUAL_NAMESPACE = "kron-system"
"""Where deploy/kubernetes puts the operator."""
USUAL_ACCOUNT = "kron-operator"
_SELECTED = "=".join(LABEL)
_DEPLOY = (
    "if there is an operator, name its Lease: --lease-namespace, --lease-name (its log has both); "
    "otherwise install one: docs/operator.md"
)
_SKEW_S = 2
"""The time of a lease is compared to the second, and its writing takes a moment."""
_MOST_LOOKS = 6
"""How often a lease that looks abandoned is read again, once a second. A leader renews its lease
three times while it is good, or more often."""


class FoundLeases(Frozen):
    leases: tuple[Lease, ...]
    is_everywhere: bool
    """Whether it was looked for wherever one may be."""


async def find_leases(
    client: Client, namespace: str | None, within: str | None, name: str | None
) -> FoundLeases:
    """The Leases of operators, or those of that name: in `namespace` or (None) in all.

    If one may not look in all, in the usual one and in `within`.
    """
    try:
        return FoundLeases(await _leases(client, namespace, name), is_everywhere=True)
    except ApiError as error:
        if namespace is not None or not error.status:
            raise
    found = await _leases(client, USUAL_NAMESPACE, name)
    if within not in (None, USUAL_NAMESPACE):
        found += await _leases(client, within, name)
    return FoundLeases(found, is_everywhere=False)


async def _leases(client: Client, namespace: str | None, name: str | None) -> tuple[Lease, ...]:
    selector, fields = ("", f"metadata.name={name}") if name else (_SELECTED, "")
    pages = client.pages(LEASES, namespace, selector=selector, fields=fields)
    return tuple([Lease(item) async for items, _ in pages for item in items])


async def account_of(client: Client, lease: Lease) -> str:
    """The service account of the Pod that holds the Lease; the usual one if that cannot be read.

    '' if no such Pod exists: the operator runs elsewhere, or no more.
    """
    pod, _, _ = lease.holder.rpartition("_")
    if not pod:
        return USUAL_ACCOUNT
    try:
        obj = await client.get(PODS, namespace_of(lease), pod)
    except ApiError as error:
        return "" if is_gone(error) else USUAL_ACCOUNT
    return text(member(obj, "spec"), "serviceAccountName") or USUAL_ACCOUNT


async def check_leader(client: Client, lease: Lease, now_s: Callable[[], int]) -> list[Check]:
    """What the Lease of an operator says. `now_s` is the API server's time."""
    first, looks = lease, min(lease.count("leaseDurationSeconds") // 3 + 1, _MOST_LOOKS)
    for left in reversed(range(looks + 1)):
        if not _is_odd(lease, now_s()) or lease.renewed != first.renewed or not left:
            break
        await asyncio.sleep(1)
        metadata = member(lease.obj, "metadata")
        place = text(metadata, "namespace"), text(metadata, "name")
        lease = Lease(await client.get(LEASES, *place))
    return list(judge(lease, now_s(), is_renewed=lease.renewed != first.renewed))


def check_overlaps(leases: Sequence[Lease]) -> list[Check]:
    """Two operators of one namespace know nothing of each other: only the names of Jobs keep them
    apart, and each writes the statuses as it sees them."""
    checks = []
    for one, other in combinations(leases, 2):
        if shared := _shared(one.namespaces, other.namespaces):
            where = "all namespaces" if ALL in shared else ", ".join(sorted(shared))
            message = (
                f"the operators of the leases {_place(one)} and {_place(other)} both look after "
                f"{where}: their periods may run twice"
            )
            fix = "end one of the operators, or give each namespaces of its own (--namespace)"
            checks.append(Check(Subject.LEADER, Verdict.PROBLEM, message, fix))
    return checks


def _shared(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    if ALL in one:
        return other
    return one if ALL in other else one & other


def no_leader(name: str | None, *, is_certain: bool) -> Check:
    """`is_certain`: its Lease was looked for wherever it may be."""
    which = f"no Lease called {quoted(name)}" if name else "no Lease of an operator"
    if is_certain:
        message = f"no operator has led yet: there is {which}"
        return Check(Subject.LEADER, Verdict.PROBLEM, message, _DEPLOY)
    message = f"{which} was found, and you may not look for one in all namespaces"
    return Check(Subject.LEADER, Verdict.UNKNOWN, message, "name its namespace: --lease-namespace")


def judge(lease: Lease, now_s: int, *, is_renewed: bool) -> Iterator[Check]:
    """`is_renewed`: it was renewed while we looked, so that its holder is certainly alive."""
    namespace, place = namespace_of(lease), _place(lease)
    pods = f"-n {namespace} -l {_SELECTED}"
    logs = f"kubectl get pods {pods}; kubectl logs {pods} --prefix"
    age_s = age(lease, now_s)
    if not lease.holder:
        since = "" if age_s is None else f" for {distance(age_s)}"
        message = f"the lease {place} has had no holder{since}: no operator leads, nothing starts"
        yield Check(Subject.LEADER, Verdict.PROBLEM, message, logs)
        return
    holder = quoted(visible(lease.holder))
    if age_s is None:
        message = f"the lease {place} of {holder} does not say when it was renewed"
        yield Check(Subject.LEADER, Verdict.UNKNOWN, message, logs)
        return
    if _is_odd(lease, now_s) and not is_renewed:
        message = (
            f"{holder} holds the lease {place} and has not renewed it for {distance(age_s)}, "
            f"longer than the {distance(lease.count('leaseDurationSeconds'))} that it is good for"
            if age_s > 0
            else f"the lease {place} of {holder} was renewed {distance(-age_s)} in the future"
        )
        gone = f"if that operator was removed: kubectl delete lease -n {place.replace('/', ' ')}"
        yield Check(Subject.LEADER, Verdict.PROBLEM, message, f"{logs}; {gone}")
        return
    renewed = "just now" if is_renewed or age_s <= 0 else f"{distance(age_s)} ago"
    message = f"{holder} leads, by the lease {place}, renewed {renewed}"
    yield Check(Subject.LEADER, Verdict.OK, message)
    if _is_odd(lease, now_s) or age_s < -_SKEW_S:
        way = "behind" if age_s > 0 else "ahead of"
        message = f"the clock of {holder} is about {distance(abs(age_s))} {way} the API server's"
        fix = "synchronise the clock of its node: runs start by it"
        yield Check(Subject.OPERATOR_CLOCK, Verdict.PROBLEM, message, fix)
    yield _version(lease, holder)


def age(lease: Lease, now_s: int) -> int | None:
    """How long ago it was renewed, by the clock of its holder; None if it does not say."""
    try:
        return now_s - from_text(lease.renewed) if lease.renewed else None
    except KronError:
        return None


def namespace_of(lease: Lease) -> str:
    return text(member(lease.obj, "metadata"), "namespace")


def _place(lease: Lease) -> str:
    return f"{namespace_of(lease)}/{text(member(lease.obj, 'metadata'), 'name')}"


def _is_odd(lease: Lease, now_s: int) -> bool:
    """Whether it has run out, or comes from the future."""
    age_s = age(lease, now_s)
    if not lease.holder or age_s is None:
        return False
    return not -_SKEW_S <= age_s <= lease.count("leaseDurationSeconds")


def _version(lease: Lease, holder: str) -> Check:
    ours = kron.__version__
    theirs = visible(lease.version)
    if theirs == ours:
        message = f"{holder} and this kronctl are of version {ours}"
        return Check(Subject.OPERATOR_VERSION, Verdict.OK, message)
    if theirs:
        message = f"{holder} is of version {theirs}, and this kronctl of {ours}"
    else:
        message = f"{holder} does not say its version, so it is not the one of this kronctl, {ours}"
    fix = "install the kronctl of the operator's version, or update the operator"
    return Check(Subject.OPERATOR_VERSION, Verdict.PROBLEM, message, fix)
