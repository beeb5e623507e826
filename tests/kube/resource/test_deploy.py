"""The manifests in deploy/kubernetes: they parse, and whatever names another object meets it."""

from __future__ import annotations

import subprocess
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.cache import UnavailableError
from tools.cluster import CONTROLPLANE

ROOT = Path(__file__).parent.parent.parent.parent / "deploy" / "kubernetes"
LAYOUTS = {
    "cluster": ROOT,
    "namespaced": ROOT / "namespaced",
}
Manifest = dict[str, Any]


def kubectl() -> str:
    try:
        return str(CONTROLPLANE.find() / "kubectl")
    except UnavailableError as error:
        pytest.skip(str(error))


@cache
def _parsed(path: Path) -> list[Manifest]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def documents(path: Path) -> list[Manifest]:
    """The objects of a file: each caller has its own, to change as it likes."""
    return deepcopy(_parsed(path))


def manifests(directory: Path) -> list[Manifest]:
    """The objects of a kustomization, before its patches."""
    (kustomization,) = documents(directory / "kustomization.yaml")
    found: list[Manifest] = []
    for name in kustomization["resources"]:
        path = (directory / name).resolve()
        found += manifests(path) if path.is_dir() else documents(path)
    return found


def key(manifest: Manifest) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def of_kind(kind: str, found: list[Manifest]) -> list[Manifest]:
    return [manifest for manifest in found if manifest["kind"] == kind]


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> list[Manifest]:
    return manifests(LAYOUTS[request.param])


def test_every_manifest_is_part_of_a_layout() -> None:
    listed = {
        (directory / name).resolve()
        for directory in (ROOT, ROOT / "operator", ROOT / "namespaced")
        for name in documents(directory / "kustomization.yaml")[0]["resources"]
    }
    apart = {"kustomization.yaml", "doctor-role.yaml"}  # the latter is for who wants it
    there = {path for path in ROOT.rglob("*.yaml") if path.name not in apart}
    assert there <= listed


def test_no_object_is_there_twice(layout: list[Manifest]) -> None:
    keys = [key(manifest) for manifest in layout]
    assert len(keys) == len(set(keys))


def test_whatever_is_bound_is_there(layout: list[Manifest]) -> None:
    keys = {key(manifest) for manifest in layout}
    bindings = of_kind("RoleBinding", layout) + of_kind("ClusterRoleBinding", layout)
    assert len(bindings) == 2
    for binding in bindings:
        role = binding["roleRef"]
        namespace = "" if role["kind"] == "ClusterRole" else binding["metadata"]["namespace"]
        assert (role["kind"], namespace, role["name"]) in keys
        for subject in binding["subjects"]:
            assert (subject["kind"], subject["namespace"], subject["name"]) in keys


def test_selectors_meet_the_pods(layout: list[Manifest]) -> None:
    (deployment,) = of_kind("Deployment", layout)
    (budget,) = of_kind("PodDisruptionBudget", layout)
    pods = deployment["spec"]["template"]
    labels = pods["metadata"]["labels"].items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    for spread in pods["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"].items() <= labels
    namespace = deployment["metadata"]["namespace"]
    assert budget["metadata"]["namespace"] == namespace
    keys = {key(manifest) for manifest in layout}
    assert ("ServiceAccount", namespace, pods["spec"]["serviceAccountName"]) in keys
    assert ("Namespace", "", namespace) in keys


def test_one_replica_may_go_and_one_stays(layout: list[Manifest]) -> None:
    (deployment,) = of_kind("Deployment", layout)
    (budget,) = of_kind("PodDisruptionBudget", layout)
    assert (deployment["spec"]["replicas"], budget["spec"]["minAvailable"]) == (2, 1)


def test_the_container_passes_the_restricted_pod_standard(layout: list[Manifest]) -> None:
    (deployment,) = of_kind("Deployment", layout)
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & pod.keys()
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]


def test_the_probes_ask_the_port_that_is_served(layout: list[Manifest]) -> None:
    (deployment,) = of_kind("Deployment", layout)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert container["args"][:3] == ["run", "--http", f"0.0.0.0:{port['containerPort']}"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}


def test_the_rights_in_a_namespace_are_those_in_the_cluster() -> None:
    (whole,) = of_kind("ClusterRole", documents(ROOT / "rbac.yaml"))
    roles = of_kind("Role", documents(ROOT / "namespaced" / "rbac.yaml"))
    (one,) = (role for role in roles if role["metadata"]["name"] == whole["metadata"]["name"])
    assert one["rules"] == whole["rules"]
    assert of_kind("ClusterRole", manifests(ROOT / "namespaced")) == []


def test_no_right_is_a_wildcard(layout: list[Manifest]) -> None:
    for role in of_kind("Role", layout) + of_kind("ClusterRole", layout):
        for rule in role["rules"]:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]


@pytest.mark.heavy
@pytest.mark.parametrize("name", LAYOUTS)
def test_kubectl_renders_it(name: str) -> None:
    command = [kubectl(), "kustomize", str(LAYOUTS[name])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    rendered = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert {key(each) for each in rendered} == {key(each) for each in manifests(LAYOUTS[name])}
    (deployment,) = of_kind("Deployment", rendered)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    confined = [word for word in container["args"] if word.startswith("--namespace")]
    roles = of_kind("Role", rendered)
    namespaces = {role["metadata"]["namespace"] for role in roles} - {"kron-system"}
    assert confined == [f"--namespace={namespace}" for namespace in sorted(namespaces)]


def test_the_recipe_copies_what_is_there() -> None:
    recipe = (ROOT / "Containerfile").read_text(encoding="utf-8")
    tree = ROOT.parent.parent
    for line in recipe.splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (tree / source).exists()
    assert "USER 65532:65532" in recipe
    assert 'ENTRYPOINT ["kron-operator"]' in recipe
