"""The examination of a cluster: all checks, in the order in which one would go through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.kube.api_object import member, text
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

    found: list[Lease] = []
    checks = [await check_definition(client), await check_own_rights(client, scope.within)]
    checks += await _attempt(Subject.LEADER, _check_leaders(client, scope, now_s, found))
    used: list[str] = []
    kronjobs = _check_kronjobs(client, scope, now_s, used)
    about_kronjobs = await _attempt(Subject.KRONJOBS, kronjobs)
    accounts = await _accounts(client, scope, found)
    checks += await check_operator_rights(client, accounts, scope.within, used)
    return [*checks, check_own_clock(heard), *about_kronjobs]


async def _attempt(subject: Subject, checks: Awaitable[list[Check]]) -> list[Check]:
    """One that fails does not end the others."""
    try:
        return await checks
    except KronError as error:
        fix = error.fix or "ask somebody who may read these, or look elsewhere with -n"
        return [Check(subject, Verdict.UNKNOWN, error.message, fix)]


async def _check_leaders(
    client: Client, scope: Scope, now_s: Callable[[], int], leases: list[Lease]
) -> list[Check]:
    """All checks of Leases, which are added to `leases`."""
    found = await find_leases(client, scope.lease_namespace, scope.within, scope.lease_name)
    leases += found.leases
    if not leases:
        return [no_leader(scope.lease_name, is_certain=found.is_everywhere)]
    checks, alive = [], []
    for lease in leases:
        about = await check_leader(client, lease, now_s)
        if about[0].verdict is Verdict.OK:
            alive.append(lease)
        checks += about
    return checks + check_overlaps(alive)


async def _check_kronjobs(
    client: Client, scope: Scope, now_s: Callable[[], int], used: list[str]
) -> list[Check]:
    """All checks of KronJobs. The namespaces that have any are added to `used`."""
    try:
        found = await all_within(client, KRONJOBS, scope.within, scope.selector)
    except ApiError as error:
        if is_unknown(error):  # its definition is missing, which is a finding of its own
            return []
        raise
    used += sorted({text(member(each, "metadata"), "namespace") for each in found})
    return check_kronjobs(found, scope.within, now_s())


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
