"""The values of the chart: what Helm renders with them, kron-operator and an API server take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from kron.console.parser import Parser, UsageError
from kron.core.duration import SECOND_NS, format_duration, parse_duration
from kron.core.errors import ParseError
from kron.kube.operator.commands import run
from kron.kube.operator.commands.run import LONGEST_LEASE_S, MOST_KRONJOBS, SHORTEST_LEASE_S
from kron.logs.event import Level
from kron.logs.writer import Format
from tests.helm import CHART, Values, refusal, render, template
from tests.kube.resource.test_deploy import documents, of_kind

pytestmark = pytest.mark.heavy

NAMES = {"name", "namespace", "serviceAccountName", "priorityClassName", "interval"}
MAPS = {"labels", "annotations", "matchLabels", "nodeSelector"}


def texts(found: Any) -> Iterator[Any]:
    """All values in a manifest that have to be texts."""
    if isinstance(found, list):
        for each in found:
            yield from texts(each)
    elif isinstance(found, dict):
        for name, value in found.items():
            if name in NAMES:
                yield value
            elif name in MAPS:
                yield from value.values()
            elif name == "resourceNames":
                yield from value
            else:
                yield from texts(value)


def test_a_name_that_looks_like_a_number_stays_a_name() -> None:
    values = {
        "serviceAccount": {"name": "1e3"},
        "lease": {"name": "0x1"},
        "imagePullSecrets": ["12"],
        "priorityClassName": "7",
        "networkPolicy": {"create": True},
        "metrics": {
            "podMonitor": {"create": True, "interval": "0"},
            "rules": {"create": True},
            "dashboard": {"create": True},
        },
    }
    for namespaces in ([], ["456", "true"]):
        found = render(values | {"namespaces": namespaces}, release="5", namespace="123")
        said = [*texts([each for each in found if each["kind"] != "CustomResourceDefinition"])]
        assert [each for each in said if not isinstance(each, str)] == []
        assert {"5", "123", "1e3", "0x1", "12", "7", "0", *namespaces} <= set(said)


def test_labels_and_annotations_replace_ours_except_those_that_select() -> None:
    values = {
        "podLabels": {
            "team": "a",
            "app.kubernetes.io/name": "other",
            "app.kubernetes.io/version": "1",
        },
        "podAnnotations": {"prometheus.io/port": "9000", "note": "yes"},
        "metrics": {
            kind: {"create": True, "labels": {"app.kubernetes.io/instance": "prometheus"}}
            for kind in ("podMonitor", "rules", "dashboard")
        },
    }
    found = render(values)
    (deployment,) = of_kind("Deployment", found)
    pod = deployment["spec"]["template"]["metadata"]
    assert pod["labels"] == {
        "team": "a",
        "app.kubernetes.io/name": "kron-operator",
        "app.kubernetes.io/instance": "kron",
        "app.kubernetes.io/version": "1",
    }
    assert pod["annotations"]["note"] == "yes"
    assert pod["annotations"]["prometheus.io/port"] == "9000"
    for kind in ("PodMonitor", "PrometheusRule", "ConfigMap"):
        (one,) = of_kind(kind, found)
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "prometheus"
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "kron-operator"


def test_an_account_that_nobody_makes_has_to_be_named() -> None:
    assert "serviceAccount.name must name" in refusal({"serviceAccount": {"create": False}})
    found = render({"serviceAccount": {"create": False, "name": "there"}})
    assert of_kind("ServiceAccount", found) == []
    (deployment,) = of_kind("Deployment", found)
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "there"


# What kron-operator takes, the schema takes, and nothing else

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALIDATOR = Draft7Validator(SCHEMA)
PARSER = Parser("kron-operator run", "", run)
SECONDS = {0, 1, SHORTEST_LEASE_S, LONGEST_LEASE_S, 90, 3_600, 5_405, 24 * 3_600}
NEXT_TO = {seconds + step for seconds in SECONDS for step in (-1, 0, 1)} - {-1}
DURATIONS = {
    *(format_duration(seconds * SECOND_NS) for seconds in NEXT_TO),
    *("0", "60s", "2m", "1.5s", "500ms", "1m500ms", "1ns", "+5s", "-5s", "5", "1d", "s", "1h 5m"),
    *("", "banana", "9" * 50 + "s", "999999h999999h", "99999999h"),
}
COUNTS = {step + edge for edge in (0, MOST_KRONJOBS, 1 << 16) for step in (-1, 0, 1)}
OPTIONS = {
    "lease.duration": "--lease-duration",
    "maxClockSkew": "--max-clock-skew",
    "triggerSlack": "--trigger-slack",
    "replaceTimeout": "--replace-timeout",
    "networkDelay": "--network-delay",
    "defaultDeadline": "--default-deadline",
}


def at(path: str, value: Any) -> dict[str, Any]:
    """The values of the chart with this one."""
    values = documents(CHART / "values.yaml")[0]
    *outer, last = path.split(".")
    within = values
    for name in outer:
        within = within[name]
    within[last] = value
    return values


def is_in_schema(path: str, value: Any) -> bool:
    return bool(VALIDATOR.is_valid(at(path, value)))


def is_taken(option: str, value: object) -> bool:
    """By kron-operator, on its command line."""
    try:
        PARSER.parse_args([f"{option}={value}"])
    except UsageError:
        return False
    return True


def is_canonical(text: str) -> bool:
    try:
        return format_duration(parse_duration(text)) == text
    except ParseError:
        return False


@pytest.mark.parametrize("path", OPTIONS)
def test_the_schema_has_the_range_of_an_option(path: str) -> None:
    for text in DURATIONS:
        if text or path != "defaultDeadline":  # '' gives no option
            assert is_taken(OPTIONS[path], text) or not is_in_schema(path, text), text
            if is_canonical(text):
                assert is_in_schema(path, text) == is_taken(OPTIONS[path], text), text
    assert len([text for text in DURATIONS if is_in_schema(path, text)]) >= 5


def test_the_schema_has_the_range_of_a_number() -> None:
    for count in COUNTS:
        said = is_taken("--kronjob-metrics", count)
        assert is_in_schema("metrics.kronJobs", count) == said, count


def test_the_schema_has_the_names_of_namespaces() -> None:
    for name in ("a", "a-b", "1", "a" * 63, "a" * 64, "-a", "a-", "a.b", "A", "a_b", "ä", ""):
        assert is_in_schema("namespaces", [name]) == is_taken("--namespace", name), name


@given(st.data())
def test_what_the_schema_takes_the_operator_takes(data: st.DataObject) -> None:
    lease = SCHEMA["properties"]["lease"]["properties"]["duration"]
    schemas = {"lease.duration": lease, "networkDelay": SCHEMA["definitions"]["duration"]}
    path = data.draw(st.sampled_from(sorted(schemas)))
    pattern = schemas[path]["pattern"]
    text = data.draw(st.from_regex(pattern.removesuffix("$") + r"\Z"))
    assert is_in_schema(path, text)
    assert is_taken(OPTIONS[path], text)


def test_the_schema_has_the_choices_of_the_options() -> None:
    log = SCHEMA["properties"]["log"]["properties"]
    assert log["level"]["enum"] == [str(level) for level in Level]
    assert log["format"]["enum"] == [str(form) for form in Format]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"lease": {"duration": "2m"}}, "at '/lease/duration'", id="lease"),
        pytest.param({"maxClockSkew": "500ms"}, "at '/maxClockSkew'", id="skew"),
        pytest.param({"metrics": {"kronJobs": 500_000}}, "maximum: got 500,000", id="kronjobs"),
        pytest.param({"lease": {"name": "a..b"}}, "at '/lease/name'", id="lease name"),
        pytest.param({"imagePullSecrets": [""]}, "at '/imagePullSecrets/0'", id="secret"),
    ],
)
def test_helm_refuses_what_the_schema_refuses(values: Values, words: str) -> None:
    assert words in refusal(values)


@pytest.mark.parametrize(
    ("replicas", "least", "is_fine"),
    [
        (2, 1, True),
        (2, 2, False),
        (2, 0, True),
        (2, "50%", True),
        (2, "51%", False),
        (3, "66%", True),
        (3, "67%", False),
        (1, 1, True),
    ],
)
def test_a_budget_lets_a_node_be_drained(replicas: int, least: int | str, is_fine: bool) -> None:
    values = {"replicas": replicas, "disruptionBudget": {"minAvailable": least}}
    if not is_fine:
        assert f"{least} of {replicas} replicas is all of them" in refusal(values)
    elif replicas > 1:
        (budget,) = of_kind("PodDisruptionBudget", render(values))
        assert budget["spec"]["minAvailable"] == least


@pytest.mark.parametrize("least", ["banana", "101%", "1", -1, 1.5])
def test_a_budget_that_means_nothing_is_refused(least: object) -> None:
    assert "at '/disruptionBudget/minAvailable'" in refusal(
        {"disruptionBudget": {"minAvailable": least}}
    )


# A value that is missing: null takes it away, and --reuse-values has none for what is new


def paths(values: dict[str, Any], schema: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{above}{name}"
        within = schema["properties"][name]
        if isinstance(value, dict) and "properties" in within:
            yield from paths(value, within, f"{above}{name}.")


@pytest.mark.parametrize("path", [*paths(documents(CHART / "values.yaml")[0], SCHEMA)])
def test_a_missing_value_is_refused_or_is_the_default(path: str) -> None:
    *_, name = path.split(".")
    done = template(at(path, None))
    if done.returncode:
        assert f"missing property '{name}'" in done.stderr
    else:
        assert done.stdout == template({}).stdout
