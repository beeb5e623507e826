"""The Helm chart: the same objects as the manifests, and values that mean what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kron.console.parser import Parser
from kron.kube.kronctl.commands import doctor as doctor_command
from kron.kube.operator.commands import run
from kron.kube.resource.schema.definition import INSTALL
from tests.helm import CHART, KUBERNETES, Manifest, Values, helm, refusal, render
from tests.kube.resource.test_deploy import ROOT, documents, key, manifests, of_kind

pytestmark = pytest.mark.heavy

HELMS = {"app.kubernetes.io/instance", "app.kubernetes.io/version"}
HELMS |= {"app.kubernetes.io/managed-by", "helm.sh/chart"}
"""The labels that Helm's users expect beside ours."""


def bare(found: Any) -> Any:
    """Without what tells a release of the chart from others."""
    if isinstance(found, dict):
        kept = {name: bare(value) for name, value in found.items() if name not in HELMS}
        if kept.get("helm.sh/resource-policy") == "keep":
            del kept["helm.sh/resource-policy"]
        return {name: value for name, value in kept.items() if name != "annotations" or value}
    if isinstance(found, list):
        return [bare(value) for value in found]
    return found


def settings(deployment: Manifest) -> dict[str, Any]:
    """What its operator makes of its arguments."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    command, *words = container["args"]
    assert command == "run"
    return dict(vars(Parser("kron-operator run", "", run).parse_args(words)))


def test_helm_finds_no_fault() -> None:
    done = helm("lint", "--strict", str(CHART), "--kube-version", KUBERNETES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_release_is_what_the_manifests_are() -> None:
    """But for the namespace, which is Helm's to make, and for arguments that say the defaults."""
    made = {key(each): bare(each) for each in render(release="kron-operator")}
    written = {key(each): each for each in manifests(ROOT)}
    del written["Namespace", "", "kron-system"]
    assert made.keys() == written.keys()
    place = ("Deployment", "kron-system", "kron-operator")
    assert settings(made[place]) == settings(written[place])
    for each in (made, written):
        (container,) = each[place]["spec"]["template"]["spec"]["containers"]
        del container["args"], container["image"]
    assert made == written


def test_with_namespaces_a_release_is_what_the_namespaced_manifests_are() -> None:
    found = render({"namespaces": ["team-a"], "crds": {"install": False}}, "kron-operator")
    written = {key(each): each for each in manifests(ROOT / "namespaced")}
    made = {key(each): bare(each) for each in found}
    rights = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    for kind in rights:
        assert of_kind(kind, [*made.values()]) == of_kind(kind, [*written.values()])
    (deployment,) = of_kind("Deployment", found)
    assert settings(deployment)["namespace"] == ["team-a"]
    assert of_kind("CustomResourceDefinition", found) == []


def test_a_chart_is_as_old_as_its_operator() -> None:
    import kron

    (chart,) = documents(CHART / "Chart.yaml")
    assert chart["appVersion"] == kron.__version__


def test_every_value_has_a_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    (values,) = documents(CHART / "values.yaml")

    def compare(values: dict[str, Any], schema: dict[str, Any]) -> None:
        assert schema["additionalProperties"] is False
        assert set(values) == set(schema["properties"]) - {"global"}  # Helm's own
        for name, value in values.items():
            within = schema["properties"][name]
            if isinstance(value, dict) and "properties" in within:
                compare(value, within)

    compare(values, schema)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"replcas": 3}, "additional properties 'replcas' not allowed", id="unknown"),
        pytest.param({"replicas": "2"}, "at '/replicas'", id="type"),
        pytest.param({"defaultDeadline": "ten minutes"}, "at '/defaultDeadline'", id="duration"),
        pytest.param({"namespaces": ["Team_A"]}, "at '/namespaces/0'", id="namespace"),
        pytest.param({"image": {"digest": "latest"}}, "at '/image/digest'", id="digest"),
        pytest.param({"log": {"level": "LOUD"}}, "at '/log/level'", id="level"),
        pytest.param({"metrics": {"port": 0}}, "at '/metrics/port'", id="port"),
    ],
)
def test_a_value_that_means_nothing_is_refused(values: Manifest, words: str) -> None:
    assert words in refusal(values)


def test_values_reach_the_operator() -> None:
    values = {
        "defaultDeadline": "10m",
        "lease": {"duration": "30s", "name": "one"},
        "maxClockSkew": "5s",
        "triggerSlack": "7s",
        "replaceTimeout": "2m",
        "networkDelay": "3m",
        "metrics": {"port": 9090, "kronJobs": 7},
        "log": {"format": "text", "level": "DEBUG", "explain": True},
        "extraArgs": ["--watch-silence=3m"],
        "image": {"repository": "here/kron", "digest": f"sha256:{'0' * 64}"},
    }
    found = render(values)
    (deployment,) = of_kind("Deployment", found)
    said = settings(deployment)
    wanted = {
        "default_deadline": 600,
        "lease_duration": 30,
        "lease_name": "one",
        "max_clock_skew": 5,
        "trigger_slack": 7,
        "replace_timeout": 120,
        "network_delay": 180,
        "http": ("0.0.0.0", 9090),
        "kronjob_metrics": 7,
        "log_format": "text",
        "log_level": "DEBUG",
        "explain": True,
        "watch_silence": 180,
    }
    assert {name: said[name] for name in wanted} == wanted
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"here/kron@sha256:{'0' * 64}"
    (lease,) = (each for each in of_kind("Role", found) if each["metadata"]["name"] == "kron-lease")
    assert lease["rules"][1]["resourceNames"] == ["one"]


@pytest.mark.parametrize(("address", "host"), [("0.0.0.0", "0.0.0.0"), ("::", "::")])
def test_it_listens_on_addresses_of_either_family(address: str, host: str) -> None:
    (deployment,) = of_kind("Deployment", render({"metrics": {"address": address}}))
    assert settings(deployment)["http"] == (host, 8080)
    assert "at '/metrics/address'" in refusal({"metrics": {"address": "127.0.0.1"}})


NOTES = 'text: {{ tpl (.Files.Get "NOTES.txt") . | toJson }}'
"""`helm template` leaves the notes out, so they become a file for a template."""


@pytest.fixture
def notes(tmp_path: Path) -> Callable[[Values, str], list[list[str]]]:
    """The commands that Helm shows after an installation."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "templates/NOTES.txt").rename(chart / "NOTES.txt")
    (chart / "templates/notes.yaml").write_text(NOTES)

    def commands_of(values: Values, release: str) -> list[list[str]]:
        words = ("--namespace", "kron-system", "--kube-version", KUBERNETES)
        shown = ("--show-only", "templates/notes.yaml")
        done = helm("template", release, str(chart), *words, *shown, values=values)
        assert done.returncode == 0, done.stderr
        lines = yaml.safe_load(done.stdout)["text"].splitlines()
        return [shlex.split(line, comments=True) for line in lines if line.startswith("  ")]

    return commands_of


def doctor(said: list[list[str]]) -> dict[str, Any]:
    """What kronctl makes of its command."""
    (words,) = (words[2:] for words in said if words[:2] == ["kronctl", "doctor"])
    return dict(vars(Parser("kronctl doctor", "", doctor_command).parse_args(words)))


def test_the_notes_name_commands_that_find_the_release(
    notes: Callable[[Values, str], list[list[str]]],
) -> None:
    crd = INSTALL.split()
    said = notes({}, "kron-operator")
    assert crd not in said
    found = doctor(said)
    assert found["all_namespaces"]
    assert found["lease_namespace"] == "kron-system"
    assert (found["lease_name"], found["service_account"]) == (None, None)

    said = notes({"namespaces": ["team-a", "team-b"], "crds": {"install": False}}, "mine")
    assert crd in said
    assert ["kubectl", "get", "kronjobs", "--namespace", "team-a"] in said
    found = doctor(said)
    assert (found["all_namespaces"], found["namespace"]) == (False, "team-a")
    assert (found["lease_name"], found["service_account"]) == ("mine", "mine")


def test_a_single_replica_may_be_evicted() -> None:
    assert of_kind("PodDisruptionBudget", render({"replicas": 1})) == []


PAGE = (ROOT.parent.parent / "docs/chart.md").read_text()


def test_the_page_installs_what_doctor_and_the_manifests_speak_of() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("helm ")]
    assert len(lines) == 5
    for line in lines:
        _, command, release, *more = shlex.split(line)
        assert release == "kron-operator"
        assert more[more.index("--namespace") + 1] == "kron-system"
        assert ("--values" in more) == (command in ("install", "upgrade"))


def test_the_page_sets_values_that_there_are() -> None:
    table = PAGE.partition("| to | set |\n|---|---|\n")[2].partition("\n\n")[0]
    settings = [each for each in re.findall(r"`([^`]+)`", table) if ": " in each]
    assert len(settings) >= 8
    for setting in settings:
        path, _, value = setting.partition(": ")
        values: Any = yaml.safe_load(value)
        for name in reversed(path.split(".")):
            values = {name: values}
        assert render(values)
