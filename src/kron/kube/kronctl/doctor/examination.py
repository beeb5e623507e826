"""The examination of a cluster: all checks, in the order in which one would go through them."""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
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
    USUAL_NAMESPACE,
    check_leader,
    find_leases,
    namespace_of,
    no_leader,
)
from kron.kube.kronctl.doctor.rights import check_operator_rights, check_own_rights
from kron.kube.kronctl.lookup import all_within
from kron.waking.clock import Clock

_MOST_AHEAD_S = 2.0
_HELP = "ask somebody who has the right to"


class Scope(Frozen):
    within: str | None
    """The namespace whose KronJobs are examined; None for all."""
    selector: str
    lease_namespace: str | None
    """Where the Lease is; None to look for it."""
    lease_name: str
    account: str
    """The operator's service account, in the namespace of its Lease."""


async def examine(client: Client, scope: Scope, clock: Clock, heard: ServerClock) -> list[Check]:
    """All checks. `heard` has the Dates of the client's answers."""

    def now_s() -> int:
        return int(clock.now_ns() / SECOND_NS - heard.ahead_s)

    checks = [await check_definition(client), await check_own_rights(client, scope.within)]
    places: list[str] = []
    try:
        leases = await find_leases(client, scope.lease_namespace, scope.lease_name)
    except ApiError as error:
        checks.append(Check(Subject.LEADER, Verdict.UNKNOWN, error.message, f"{_HELP} read leases"))
    else:
        for obj in leases:
            checks += await check_leader(client, Lease(obj), now_s)
            places.append(namespace_of(Lease(obj)))
        if not leases:
            checks.append(no_leader(scope.lease_name))
    checks += await _operator_rights(client, scope, places)
    checks.append(check_own_clock(heard))
    try:
        found = await all_within(client, KRONJOBS, scope.within, scope.selector)
    except ApiError as error:
        if not is_unknown(error):  # its definition is missing, which has been said
            fix = f"{_HELP} list kronjobs, or name another namespace with -n"
            checks.append(Check(Subject.KRONJOBS, Verdict.UNKNOWN, error.message, fix))
    else:
        checks += check_kronjobs(found, scope.within, now_s())
    return checks


async def _operator_rights(client: Client, scope: Scope, places: list[str]) -> list[Check]:
    """Of each operator, or only of those with all rights: each may look after namespaces of its
    own."""
    places = places or [scope.lease_namespace or USUAL_NAMESPACE]
    found = [
        await check_operator_rights(client, scope.within, scope.account, place, scope.lease_name)
        for place in places
    ]
    return [check for check in found if check.verdict is Verdict.OK] or found


def check_own_clock(heard: ServerClock) -> Check:
    ahead_s = heard.ahead_s
    if abs(ahead_s) <= _MOST_AHEAD_S:
        message = "the clock of this machine agrees with the API server's"
        return Check(Subject.OWN_CLOCK, Verdict.OK, message)
    way = "ahead of" if ahead_s > 0 else "behind"
    message = f"the clock of this machine is {abs(ahead_s):.0f} s {way} the API server's"
    fix = "synchronise one of them: what kronctl calls past or coming may be wrong"
    return Check(Subject.OWN_CLOCK, Verdict.PROBLEM, message, fix)
