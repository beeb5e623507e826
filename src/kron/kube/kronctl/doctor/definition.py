"""Whether the cluster has the definition of KronJobs that this kronctl has."""

from __future__ import annotations

from collections.abc import Iterator

from kron.kube.api_object import Object, member, objects, text
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError, is_gone
from kron.kube.client.resources import Resource
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict
from kron.kube.resource.schema.definition import INSTALL, VERSION, definition

_DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_SHOWN = 3


async def check_definition(client: Client) -> Check:
    ours = definition()
    try:
        theirs = await client.get(_DEFINITIONS, None, ours["metadata"]["name"])
    except ApiError as error:
        if is_gone(error):
            return _problem("the KronJob resource is not installed in the cluster", INSTALL)
        if not error.status:
            raise  # no answer: nothing can be checked
        fix = "ask somebody who may read customresourcedefinitions"
        return Check(Subject.DEFINITION, Verdict.UNKNOWN, error.message, fix)
    return judge(ours, theirs)


def judge(ours: Object, theirs: Object) -> Check:
    served = {text(each, "name"): each for each in objects(member(theirs, "spec"), "versions")}
    version = served.get(VERSION)
    if version is None or version.get("served") is not True:
        return _problem(f"the cluster does not serve KronJobs of version {VERSION}", INSTALL)
    conditions = objects(member(theirs, "status"), "conditions")
    if not any((c.get("type"), c.get("status")) == ("Established", "True") for c in conditions):
        fix = f"kubectl describe crd {ours['metadata']['name']}"
        return _problem("the API server has not accepted the definition of KronJobs yet", fix)
    schemas = (member(each, "schema") for each in (ours["spec"]["versions"][0], version))
    own, stored = (member(each, "openAPIV3Schema") for each in schemas)
    found = sorted(set(_differences(own, stored, "")))
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        where = f"{', '.join(found[:_SHOWN])}{more}"
        message = f"the definition of KronJobs in the cluster is of another version: {where} differ"
        fix = f"use the kronctl of your kron-operator, or update the definition: {INSTALL}"
        return _problem(message, fix)
    message = f"the cluster has the definition of KronJobs ({VERSION}) that this kronctl has"
    return Check(Subject.DEFINITION, Verdict.OK, message)


def _differences(ours: Object, theirs: Object, path: str) -> Iterator[str]:
    """The fields that differ: the innermost ones that can be named."""
    for key in ours.keys() | theirs.keys():
        mine, other = ours.get(key), theirs.get(key)
        if key in ("properties", "items") and isinstance(mine, dict) and isinstance(other, dict):
            if key == "items":
                yield from _differences(mine, other, f"{path}[]")
                continue
            for name in mine.keys() | other.keys():
                below = f"{path}.{name}".lstrip(".")
                yield from _differences(member(mine, name), member(other, name), below)
        elif mine != other and key != "description":
            yield path or "its root"


def _problem(message: str, fix: str) -> Check:
    return Check(Subject.DEFINITION, Verdict.PROBLEM, message, fix)
