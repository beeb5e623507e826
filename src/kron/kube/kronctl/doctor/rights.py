"""What one may do oneself, and whether the operator may do what it must.

The API server itself is asked, with access reviews: roles and bindings say only half of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from kron.console.report import many
from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.kube.api_object import Object, member
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.resources import Resource
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict

_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews")
_SELF_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")


class Right(Frozen):
    group: str
    resource: str
    verb: str
    subresource: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}{below}"


def operator_rights() -> tuple[Right, ...]:
    """What kron-operator does in the namespaces of KronJobs; deploy/kubernetes grants the same."""
    return (
        *_rights("kron.io", "kronjobs", "get", "list", "watch"),
        Right("kron.io", "kronjobs", "patch", "status"),
        *_rights("batch", "jobs", "create", "delete", "get", "list", "patch", "watch"),
        Right("", "events", "create"),
    )


def lease_rights(name: str) -> tuple[Right, ...]:
    """What it does in the namespace of its Lease."""
    group, leases = "coordination.k8s.io", "leases"
    named = (Right(group, leases, verb, name=name) for verb in ("get", "list", "update", "watch"))
    return (Right(group, leases, "create"), *named)


_USES = {
    "list": Right("kron.io", "kronjobs", "list"),
    "list --watch": Right("kron.io", "kronjobs", "watch"),
    "next and explain": Right("kron.io", "kronjobs", "get"),
    "suspend and resume": Right("kron.io", "kronjobs", "patch"),
    "trigger": Right("batch", "jobs", "create"),
    "trigger --wait": Right("batch", "jobs", "get"),
}
"""What the commands of kronctl need."""


_MOST_NAMESPACES = 50
"""How many namespaces are asked about, ten questions each."""
_ALL = "has all rights of an operator"
_GRANT = (
    "grant them there (`namespaces` of the chart, deploy/kubernetes/namespaced), or everywhere "
    "(deploy/kubernetes/rbac.yaml); another service account: --service-account"
)


async def check_own_rights(client: Client, within: str | None) -> Check:
    where = _where(within)
    try:
        answers = await asyncio.gather(
            *(_is_allowed(client, each, within, user="") for each in _USES.values())
        )
    except ApiError as error:
        return Check(Subject.OWN_RIGHTS, Verdict.UNKNOWN, error.message, "ask for help with RBAC")
    lacking = [use for use, is_allowed in zip(_USES, answers, strict=True) if not is_allowed]
    if not lacking:
        return Check(Subject.OWN_RIGHTS, Verdict.OK, f"you may use all of kronctl {where}")
    missing = ", ".join(f"{use} ({_USES[use].text})" for use in lacking)
    message = f"{where}, you have no right to: {missing}"
    fix = "if you need them, ask for these rights, such as with the role edit"
    return Check(Subject.OWN_RIGHTS, Verdict.NOTE, message, fix)


class Account(Frozen):
    """The service account of an operator, and the Lease that it leads by."""

    namespace: str
    name: str
    lease: str

    @property
    def text(self) -> str:
        return f"the service account {quoted(f'{self.namespace}/{self.name}')}"

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


async def check_operator_rights(
    client: Client, accounts: Sequence[Account], within: str | None, used: Sequence[str]
) -> list[Check]:
    """Whether some operator has all its rights wherever there are KronJobs.

    `within`: the namespace that is examined; None for all, of which `used` have KronJobs. Each
    operator may be confined to some of them.
    """
    try:
        return await _check_accounts(client, accounts, within, used)
    except ApiError as error:
        fix = "ask somebody who may create subjectaccessreviews"
        return [Check(Subject.OPERATOR_RIGHTS, Verdict.UNKNOWN, error.message, fix)]


async def _check_accounts(
    client: Client, accounts: Sequence[Account], within: str | None, used: Sequence[str]
) -> list[Check]:
    if not accounts:
        message = "the operator that holds the lease runs in no Pod here: its rights are not known"
        fix = "name its service account, if it has one: --service-account"
        return [Check(Subject.OPERATOR_RIGHTS, Verdict.NOTE, message, fix)]
    checks = []
    for account in accounts:
        leads = await _lacking(client, account, lease_rights(account.lease), account.namespace)
        if leads:
            checks.append(_lacks(account, leads))
    lacking = [await _lacking(client, each, operator_rights(), within) for each in accounts]
    if not all(lacking):
        return checks + [
            Check(Subject.OPERATOR_RIGHTS, Verdict.OK, f"{account.text} {_ALL} {_where(within)}")
            for account, lacks in zip(accounts, lacking, strict=True)
            if not lacks
        ]
    if within is not None:
        return checks + [_lacks(*each) for each in zip(accounts, lacking, strict=True)]
    return checks + await _check_confined(client, accounts, used)


async def _check_confined(
    client: Client, accounts: Sequence[Account], used: Sequence[str]
) -> list[Check]:
    """None of the operators has its rights in all namespaces: whether each of these has one."""
    if not used:
        message = "no operator has its rights in all namespaces, and none has KronJobs"
        return [Check(Subject.OPERATOR_RIGHTS, Verdict.NOTE, message)]
    looked_at, checks = used[:_MOST_NAMESPACES], []
    for namespace in looked_at:
        lacking = [await _lacking(client, each, operator_rights(), namespace) for each in accounts]
        if all(lacking):
            checks += [_lacks(*each) for each in zip(accounts, lacking, strict=True)]
    if checks:
        return checks
    more = len(used) - len(looked_at)
    unseen = f", and {many(more, 'more namespace')} that were not looked at" if more else ""
    message = f"an operator {_ALL} wherever KronJobs are: in {', '.join(looked_at)}{unseen}"
    return [Check(Subject.OPERATOR_RIGHTS, Verdict.OK, message)]


async def _lacking(
    client: Client, account: Account, rights: Iterable[Right], within: str | None
) -> list[str]:
    wanted = tuple(rights)
    answers = await asyncio.gather(
        *(_is_allowed(client, each, within, user=account.user) for each in wanted)
    )
    return [
        f"{right.text} {_where(within)}"
        for right, is_allowed in zip(wanted, answers, strict=True)
        if not is_allowed
    ]


def _lacks(account: Account, lacking: list[str]) -> Check:
    message = f"{account.text} has no right to {', '.join(lacking)}"
    return Check(Subject.OPERATOR_RIGHTS, Verdict.PROBLEM, message, _GRANT)


async def _is_allowed(client: Client, right: Right, within: str | None, *, user: str) -> bool:
    """Whether a user, or '' for oneself, has a right in a namespace, or (None) in all."""
    attributes: Object = {
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "verb": right.verb,
        "name": right.name,
        "namespace": within or "",
    }
    spec: Object = {"resourceAttributes": attributes}
    kind, reviews = "SelfSubjectAccessReview", _SELF_REVIEWS
    if user:
        kind, reviews = "SubjectAccessReview", _REVIEWS
        spec |= {"user": user, "groups": _groups(user)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "metadata": {}, "spec": spec}
    answer = await client.create(reviews, None, body)
    return member(answer, "status").get("allowed") is True


def _groups(account: str) -> Sequence[str]:
    """The groups that every service account is in."""
    namespace = account.split(":")[2]
    accounts = "system:serviceaccounts"
    return accounts, f"{accounts}:{namespace}", "system:authenticated"


def _rights(group: str, resource: str, *verbs: str) -> Iterable[Right]:
    return (Right(group, resource, verb) for verb in verbs)


def _where(within: str | None) -> str:
    return "in all namespaces" if within is None else f"in {within}"
