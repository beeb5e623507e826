"""The schema of a Job that the package ships, against the API server that it was taken from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.api import RefusedError
from tests.cluster.controlplane import ControlPlane
from tests.kube.resource.bad_specs import TEMPLATE, merged
from tests.kube.resource.bad_templates import BAD_TEMPLATES, GOOD_TEMPLATES, bad_template
from tools import job_schema


def refusal(cluster: ControlPlane, namespace: str, template: dict[str, Any]) -> str:
    """What the API server says to a Job of this template; '' if it accepts it."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All&fieldValidation=Strict"
    metadata = {**template.get("metadata", {}), "generateName": "rehearsed-"}
    body = {"apiVersion": "batch/v1", "kind": "Job", **template, "metadata": metadata}
    try:
        cluster.api().request("POST", path, body)
    except RefusedError as error:
        return str(error)
    return ""


def test_it_is_what_the_api_server_publishes(cluster: ControlPlane) -> None:
    """If not: `kubectl get --raw /openapi/v3/apis/batch/v1 | python -m tools.job_schema VERSION`"""
    api = cluster.api()
    version = api.request("GET", "/version")
    published = api.request("GET", "/openapi/v3/apis/batch/v1")
    made = job_schema.text(published, f"{version['major']}.{version['minor']}")
    assert made == job_schema.SHIPPED.read_text(encoding="utf-8")


def test_what_is_refused_offline_the_api_server_refuses(
    cluster: ControlPlane, namespace: str
) -> None:
    said = {bad.id: refusal(cluster, namespace, bad_template(bad)) for bad in BAD_TEMPLATES}
    wrong = {bad.id: said[bad.id] for bad in BAD_TEMPLATES if bad.server not in said[bad.id]}
    assert wrong == {}


@pytest.mark.parametrize("name", GOOD_TEMPLATES)
def test_what_is_accepted_offline_the_api_server_accepts(
    cluster: ControlPlane, namespace: str, name: str
) -> None:
    assert refusal(cluster, namespace, merged(TEMPLATE, GOOD_TEMPLATES[name])) == ""
