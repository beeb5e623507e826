"""A cluster whose KronJobs were stored with an earlier definition gets the present one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kron.core.instant import from_text
from kron.kube.operator.commands import crd
from kron.kube.resource.schema.definition import definition
from kron.kube.resource.status import Condition, Status, status_to_json
from tests.cluster.api import Api, Object, RefusedError
from tests.cluster.controlplane import ROOT, ControlPlane
from tests.cluster.kronjobs import KronJobs, kronjob
from tests.cluster.operator import Operator
from tests.logbook import wait_for

YEARLY = "0 0 29 2 *"
HINT = "a KronJob has no field timezone: write timeZone"


def earlier() -> Object:
    """The definition before times had a format, conditions were a map and timezone was refused."""
    made = definition()
    made["spec"]["versions"][0]["additionalPrinterColumns"] = []
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del schema["spec"]["properties"]["timezone"]["x-kubernetes-validations"]
    status = schema["status"]["properties"]
    del status["suspended"], status["deadline"]
    conditions = status["conditions"]
    del conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]
    conditions["items"]["required"] = ["type", "status"]
    _forget_formats(status)
    return made


def _forget_formats(value: object) -> None:
    if isinstance(value, dict):
        if value.get("format") == "date-time":
            del value["format"]
        for each in value.values():
            _forget_formats(each)


def stored_status() -> Object:
    """What an earlier operator wrote."""
    since_s = from_text("2026-03-01T00:00:00Z")
    ready = Condition("Ready", True, "Scheduled", "", since_s, 1)
    status = status_to_json(Status(1, next_nominal_s=since_s, conditions=(ready,)))
    del status["suspended"], status["deadline"]
    return {"status": status}


def refusal(api: Api, name: str, changes: Object) -> str:
    try:
        api.patch("kronjobs", "default", name, changes)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.heavy
def test_what_was_stored_goes_on_and_an_old_spelling_is_reported_and_can_be_fixed(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    api = own_cluster.api()
    api.apply("customresourcedefinitions", None, earlier())
    kronjobs = KronJobs(api, "default")

    def is_made() -> bool:
        try:
            kronjobs.make("zoned", YEARLY, timezone="Europe/Paris")
        except RefusedError:
            return False
        return True

    wait_for(is_made, "the earlier definition is in force")
    api.patch("kronjobs", "default", "zoned", stored_status(), "status")

    path = ROOT / "deploy/kubernetes/crd.yaml"
    applied = own_cluster.kubectl("apply", "-f", str(path))  # by the client: it has to fit there
    assert applied.returncode == 0, applied.stderr
    shown = crd.EXAMPLES[0][0].partition("kubectl ")[2]  # the way that we show has no conflict then
    applied = own_cluster.kubectl(*shown.split(), input=json.dumps(definition()))
    assert applied.returncode == 0, applied.stderr

    def hint() -> str:
        new = kronjob("new", YEARLY, timezone="Europe/Paris")
        words = ("create", "--dry-run=server", "--validate=false", "-f", "-")
        return own_cluster.kubectl(*words, input=json.dumps(new)).stderr

    wait_for(lambda: HINT in hint(), "the present definition is in force")
    # The one that is stored is none the worse.
    api.patch("kronjobs", "default", "zoned", {"status": {"lastOutcome": "executed"}}, "status")
    assert refusal(api, "zoned", {"spec": {"policy": {"suspend": True}}}) == ""
    assert HINT in refusal(api, "zoned", {"spec": {"timezone": "Asia/Tokyo"}})

    page = (ROOT / "docs/kronjob.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"kubectl get kronjobs -A -o (jsonpath=)'(.*timezone.*)'", page)
    assert own_cluster.kubectl("get", "kronjobs", "-A", "-o", "".join(query)).stdout == (
        "default/zoned\n"
    )

    with Operator(own_cluster, "default", tmp_path) as operator:
        operator.start()
        invalid = kronjobs.wait_for_condition("zoned", "InvalidSpec")
        assert invalid["message"] == f'spec.timezone: "Europe/Paris": {HINT}'
        assert kronjobs.condition("zoned", "Ready")["status"] == "False"  # type: ignore[index]
        kronjobs.change("zoned", timezone=None, timeZone="Europe/Paris", policy=None)
        kronjobs.wait_for_status("zoned", observedGeneration=3, suspended=False, deadline="0s")
        assert kronjobs.wait_for_condition("zoned", "Ready")["reason"] == "Scheduled"
