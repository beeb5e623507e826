"""Who leads: the Leases of operators, and what they say of the process that holds them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import kron
from kron.answers.times import distance
from kron.core.errors import KronError, quoted, visible
from kron.core.instant import from_text
from kron.kube.api_object import Object, member, text
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.lease import Lease
from kron.kube.client.resources import LEASES
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict

USUAL_NAMESPACE = "kron-system"
"""Where deploy/kubernetes puts the operator."""
_DEPLOY = "deploy kron-operator: kubectl apply -k deploy/kubernetes"
_SKEW_S = 2
"""The time of a lease is compared to the second, and its writing takes a moment."""
_MOST_LOOKS = 6
"""How often a lease that looks abandoned is read again, once a second. A leader renews its lease
three times while it is good, or more often."""


async def find_leases(client: Client, namespace: str | None, name: str) -> list[Object]:
    """The Leases of that name: of one namespace, or of all if one may look there."""
    try:
        pages = client.pages(LEASES, namespace, fields=f"metadata.name={name}")
        return [item async for items, _ in pages for item in items]
    except ApiError:
        if namespace is not None:
            raise
    return await find_leases(client, USUAL_NAMESPACE, name)


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


def no_leader(name: str) -> Check:
    message = f"no Lease is called {quoted(name)}: no operator has led yet"
    return Check(Subject.LEADER, Verdict.PROBLEM, message, _DEPLOY)


def judge(lease: Lease, now_s: int, *, is_renewed: bool) -> Iterator[Check]:
    """`is_renewed`: it was renewed while we looked, so that its holder is certainly alive."""
    metadata = member(lease.obj, "metadata")
    namespace, place = (
        text(metadata, "namespace"),
        f"{namespace_of(lease)}/{text(metadata, 'name')}",
    )
    logs = f"kubectl get pods -n {namespace}, kubectl logs -n {namespace} deploy/kron-operator"
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
        yield Check(Subject.LEADER, Verdict.PROBLEM, message, logs)
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
