"""The examination of a cluster: all checks, in the order in which one would go through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.kube.api_object import Object, member, text
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.lease import Lease
from kron.kube.client.resources import KRONJOBS
from kron.kube.client.server_clock import ServerClock
from kron.kube.kronctl.cluster import is_unknown
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict
from kron.kube.kronctl.doctor.definition import check_definition
from kron.kube.kronctl.doctor.kronjob_health import check_kronjobs
from kron.kube.kronctl.doctor.leader import (
    USUAL_ACCOUNT,
    USUAL_NAMESPACE,
    account_of,
    check_leader,
    check_overlaps,
    find_leases,
    namespace_of,
    no_leader,
)
from kron.kube.kronctl.doctor.rights import Account, check_operator_rights, check_own_rights
from kron.kube.kronctl.lookup import all_within
from kron.kube.operator.settings import DEFAULT_LEASE_NAME
from kron.waking.clock import Clock

T = TypeVar("T")
_MOST_AHEAD_S = 2.0


class Scope(Frozen):
    within: str | None
    """The namespace whose KronJobs are examined; None for all."""
    selector: str
    lease_namespace: str | None
    """Where the Lease is; None to look for it."""
    lease_name: str | None
    """None for that of any operator."""
    account: str | None
    """The operator's service account, in the namespace of its Lease; None for that of its Pod."""


async def examine(client: Client, scope: Scope, clock: Clock, heard: ServerClock) -> list[Check]:
    """All checks. `heard` has the Dates of the client's answers."""

    def now_s() -> int:
        return int(clock.now_ns() / SECOND_NS - heard.ahead_s)

    checks = [await check_definition(client), await check_own_rights(client, scope.within)]
    place = scope.lease_namespace, scope.within
    found, failed = await _attempt(Subject.LEADER, find_leases(client, *place, scope.lease_name))
    leases = found.leases if found else ()
    if found:
        missing = no_leader(scope.lease_name, is_certain=found.is_everywhere)
        judged, failed = await _attempt(Subject.LEADER, _check_leaders(client, leases, now_s))
        checks += judged or ([] if failed else [missing])
    checks += failed
    contents, failed = await _attempt(Subject.KRONJOBS, _kronjobs(client, scope))
    used = sorted({text(member(each, "metadata"), "namespace") for each in contents or ()})
    accounts = await _accounts(client, scope, leases)
    checks += await check_operator_rights(client, accounts, scope.within, used)
    checks += [check_own_clock(heard), *failed]
    return checks if contents is None else checks + check_kronjobs(contents, scope.within, now_s())


async def _attempt(subject: Subject, look: Awaitable[T]) -> tuple[T | None, list[Check]]:
    """What was found. One look that fails does not end the others: then why, as a check."""
    try:
        return await look, []
    except KronError as error:
        fix = error.fix or "ask somebody who may read these, or look elsewhere with -n"
        return None, [Check(subject, Verdict.UNKNOWN, error.message, fix)]


async def _check_leaders(
    client: Client, leases: Sequence[Lease], now_s: Callable[[], int]
) -> list[Check]:
    checks, alive = [], []
    for lease in leases:
        about = await check_leader(client, lease, now_s)
        if about[0].verdict is Verdict.OK:
            alive.append(lease)
        checks += about
    return checks + check_overlaps(alive)


async def _kronjobs(client: Client, scope: Scope) -> list[Object] | None:
    """Those that are examined; None if their definition is missing, a finding of its own."""
    try:
        return await all_within(client, KRONJOBS, scope.within, scope.selector)
    except ApiError as error:
        if is_unknown(error):
            return None
        raise


async def _accounts(client: Client, scope: Scope, leases: Sequence[Lease]) -> list[Account]:
    """Those of the operators that lead or have led, but for those without a Pod; without any
    operator, the usual one."""
    if not leases:
        place = scope.lease_namespace or USUAL_NAMESPACE
        name = scope.lease_name or DEFAULT_LEASE_NAME
        return [Account(place, scope.account or USUAL_ACCOUNT, name)]
    names = [scope.account or await account_of(client, lease) for lease in leases]
    return [
        Account(namespace_of(lease), name, text(member(lease.obj, "metadata"), "name"))
        for lease, name in zip(leases, names, strict=True)
        if name
    ]


def check_own_clock(heard: ServerClock) -> Check:
    ahead_s = heard.ahead_s
    if abs(ahead_s) <= _MOST_AHEAD_S:
        message = "the clock of this machine agrees with the API server's"
        return Check(Subject.OWN_CLOCK, Verdict.OK, message)
    way = "ahead of" if ahead_s > 0 else "behind"
    message = f"the clock of this machine is {abs(ahead_s):.0f} s {way} the API server's"
    fix = "synchronise one of them: what kronctl calls past or coming may be wrong"
    return Check(Subject.OWN_CLOCK, Verdict.PROBLEM, message, fix)
