"""What one may do oneself, and whether the operator may do what it must.

The API server itself is asked, with access reviews: roles and bindings say only half of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

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


async def check_operator_rights(
    client: Client, within: str | None, account: str, lease_namespace: str, lease_name: str
) -> Check:
    """Of the service account `account` in the namespace of the Lease."""
    user = f"system:serviceaccount:{lease_namespace}:{account}"
    wanted = [(each, within) for each in operator_rights()]
    wanted += [(each, lease_namespace) for each in lease_rights(lease_name)]
    try:
        answers = await asyncio.gather(
            *(_is_allowed(client, right, place, user=user) for right, place in wanted)
        )
    except ApiError as error:
        fix = "ask somebody who may create subjectaccessreviews"
        return Check(Subject.OPERATOR_RIGHTS, Verdict.UNKNOWN, error.message, fix)
    lacking = [
        f"{right.text} {_where(place)}"
        for (right, place), is_allowed in zip(wanted, answers, strict=True)
        if not is_allowed
    ]
    who = f"the service account {quoted(f'{lease_namespace}/{account}')}"
    if not lacking:
        message = f"{who} has all rights of an operator {_where(within)}"
        return Check(Subject.OPERATOR_RIGHTS, Verdict.OK, message)
    message = f"{who} has no right to {', '.join(lacking)}"
    fix = "apply deploy/kubernetes/rbac.yaml, or name the operator's with --service-account"
    return Check(Subject.OPERATOR_RIGHTS, Verdict.PROBLEM, message, fix)


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
