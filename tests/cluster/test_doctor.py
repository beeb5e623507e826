"""kronctl doctor on a real cluster: nothing wrong, and what it says when the operator dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.controlplane import ROOT, ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.cluster.operator import LEASE, Operator
from tests.cluster.rights import ACCOUNT
from tests.cluster.test_kronctl import NIGHTLY, OnCluster
from tests.logbook import PATIENCE_S, wait_for


def verdicts(kronctl: OnCluster, *words: str) -> dict[str, str]:
    document = kronctl("doctor", *words, "--format", "json").json
    return {each["subject"]: each["verdict"] for each in document["checks"]}


@pytest.fixture
def kronctl(cluster: ControlPlane, namespace: str, tmp_path: Path) -> OnCluster:
    return OnCluster(tmp_path, cluster.kubeconfig(namespace=namespace), namespace)


def test_the_doctor_finds_what_is_wrong_and_nothing_else(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs, operator: Operator
) -> None:
    space = kronjobs.namespace
    words = ("--lease-namespace", space, "--service-account", ACCOUNT)
    before = kronctl("doctor", *words)
    assert before.code == 1
    assert "leader: no operator has led yet" in before.out
    kronjobs.make("backup", NIGHTLY)
    operator.start()
    kronjobs.wait_for_condition("backup", "Ready")
    well = kronctl("doctor", *words).fine()
    assert well.lines[-1] == "0 problems, 0 not checked"
    assert verdicts(kronctl, *words) == dict.fromkeys(
        (
            "definition",
            "own-rights",
            "leader",
            "operator-version",
            "operator-rights",
            "own-clock",
            "kronjobs",
        ),
        "ok",
    )
    # Somebody without rights hears that nothing could be checked, and not that all is well.
    nobody = kronctl("doctor", *words, "--as", "nobody")
    assert nobody.code == 2
    assert "unknown  operator-rights: " in nobody.out
    assert "note     own-rights: " in nobody.out
    # A monitor needs no more rights than these.
    cluster.kubectl("apply", "-f", str(ROOT / "deploy/kubernetes/doctor-role.yaml"))
    cluster.kubectl("create", "clusterrolebinding", space, "--clusterrole=kron-doctor", "--user=m")
    monitor = (*words, "--as", "m")
    wait_for(lambda: kronctl("doctor", *monitor).code == 0, "the API server has heard of the role")
    said = kronctl("doctor", *monitor)
    assert said.lines[-1] == "0 problems, 0 not checked"
    cluster.api().delete("clusterrolebindings", None, space)
    # The operator without a right, a KronJob that is invalid, and nobody who leads.
    cluster.api().delete("rolebindings", space, ACCOUNT)
    kronjobs.make("wrong", "0 0 31 2 *")
    operator.kill()
    cluster.api().patch("leases", space, LEASE, {"spec": {"leaseDurationSeconds": 1}})
    found = dict.fromkeys(("operator-rights", "kronjob-ready", "leader"), "problem")

    def is_noticed() -> bool:
        return found.items() <= verdicts(kronctl, *words).items()

    wait_for(is_noticed, "the doctor sees all of it", PATIENCE_S, lambda: verdicts(kronctl, *words))
    ran = kronctl("doctor", *words)
    assert ran.code == 1
    assert "has not renewed it for" in ran.out
    assert f"no right to get kronjobs in {space}" in ran.out
