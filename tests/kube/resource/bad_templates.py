"""Job templates that the schema of a KronJob accepts, and an API server refuses when the Job is
created; and some that it accepts, although they look odd.

One table for the offline check (tests/kube/resource) and for a real API server (tests/cluster).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.kube.resource.bad_specs import TEMPLATE, merged

_SPEC = "spec.jobTemplate.spec"
_POD = f"{_SPEC}.template.spec"
_CONTAINER = f"{_POD}.containers[0]"
_LABELS = "spec.jobTemplate.metadata.labels"


class BadTemplate(NamedTuple):
    """A change to a good template, as a JSON merge patch."""

    id: str
    patch: dict[str, Any]
    path: str
    """Where the offline check complains."""
    offline: str
    """A part of what it says."""
    server: str
    """A part of what the API server says."""


def bad_template(bad: BadTemplate) -> dict[str, Any]:
    template: dict[str, Any] = merged(TEMPLATE, bad.patch)
    return template


def _pod(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": fields}}}


def _container(**fields: Any) -> dict[str, Any]:
    made = {"name": "main", "image": "example.test/work:1"} | fields
    return _pod(containers=[{key: value for key, value in made.items() if value is not None}])


def _labels(**labels: Any) -> dict[str, Any]:
    return {"metadata": {"labels": labels}}


def _of_container(
    name: str, fields: dict[str, Any], path: str, offline: str, server: str
) -> BadTemplate:
    return BadTemplate(name, _container(**fields), f"{_CONTAINER}.{path}", offline, server)


def _number(field: str, value: int = -1, least: int = 0) -> BadTemplate:
    spec = {"spec": {field: value}}
    return BadTemplate(
        f"{field}-negative",
        spec,
        f"{_SPEC}.{field}",
        f"must be at least {least}",
        f"spec.{field}: Invalid value: {value}",
    )


BAD_TEMPLATES: list[BadTemplate] = [
    # Fields that do not exist.
    _of_container(
        "imagee",
        {"imagee": "none"},
        "imagee",
        'did you mean "image"?',
        'unknown field "spec.template.spec.containers[0].imagee"',
    ),
    BadTemplate(
        "backofLimit",
        {"spec": {"backofLimit": 3}},
        f"{_SPEC}.backofLimit",
        'did you mean "backoffLimit"?',
        'unknown field "spec.backofLimit"',
    ),
    BadTemplate(
        "volume-kind",
        _pod(volumes=[{"name": "data", "emptyDirr": {}}]),
        f"{_POD}.volumes[0].emptyDirr",
        'did you mean "emptyDir"?',
        'unknown field "spec.template.spec.volumes[0].emptyDirr"',
    ),
    # Types.
    _of_container(
        "env-number",
        {"env": [{"name": "A", "value": 5}]},
        "env[0].value",
        "put it in double quotes",
        "EnvVar.spec.template.spec.containers.env.value of type string",
    ),
    _of_container(
        "command-text", {"command": "sleep 5"}, "command", "must be a list", "of type []string"
    ),
    BadTemplate(
        "backoff-text",
        {"spec": {"backoffLimit": "5"}},
        f"{_SPEC}.backoffLimit",
        "must be a whole number",
        "of type int32",
    ),
    _of_container(
        "quantity",
        {"resources": {"limits": {"memory": "512MB"}}},
        'resources.limits["memory"]',
        "a quantity is written like",
        "quantities must match the regular expression",
    ),
    _of_container(
        "quantity-negative",
        {"resources": {"limits": {"cpu": "-500m"}}},
        'resources.limits["cpu"]',
        "a quantity must not be negative",
        "must be greater than or equal to 0",
    ),
    _of_container(
        "quantity-negative-number",
        {"resources": {"requests": {"memory": -1}}},
        'resources.requests["memory"]',
        "a quantity must not be negative",
        "must be greater than or equal to 0",
    ),
    BadTemplate(
        "size-negative",
        _pod(volumes=[{"name": "data", "emptyDir": {"sizeLimit": "-1Gi"}}]),
        f"{_POD}.volumes[0].emptyDir.sizeLimit",
        "a quantity must not be negative",
        "SizeLimit field must be a valid resource quantity",
    ),
    _of_container(
        "env-twice-a-value",
        {
            "env": [
                {
                    "name": "A",
                    "value": "b",
                    "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
                }
            ]
        },
        "env[0].valueFrom",
        "it cannot be given together with value",
        "may not be specified when `value` is not empty",
    ),
    BadTemplate(
        "selector",
        {"spec": {"selector": {"matchLabels": {"app": "backup"}}}},
        f"{_SPEC}.selector",
        "a Job has a selector of its own",
        "spec.template.metadata.labels: Invalid value",
    ),
    BadTemplate(
        "selector-that-matches",
        {
            "spec": {
                "selector": {"matchLabels": {"app": "backup"}},
                "template": {"metadata": {"labels": {"app": "backup"}}},
            }
        },
        f"{_SPEC}.selector",
        "a Job has a selector of its own",
        "`selector` not auto-generated",
    ),
    BadTemplate(
        "manual-selector-of-others",
        {"spec": {"manualSelector": True, "selector": {"matchLabels": {"app": "backup"}}}},
        f"{_SPEC}.selector",
        "it does not match the labels of the template",
        "`selector` does not match template `labels`",
    ),
    BadTemplate(
        "manual-selector-none",
        {"spec": {"manualSelector": True}},
        f"{_SPEC}.selector",
        "it is missing",
        "spec.selector: Required value",
    ),
    # Choices.
    _of_container(
        "pull-policy",
        {"imagePullPolicy": "Allways"},
        "imagePullPolicy",
        'did you mean "Always"?',
        "imagePullPolicy: Unsupported value",
    ),
    # Names.
    _of_container(
        "container-name",
        {"name": "Bad_Name"},
        "name",
        "a name has at most 63 lower case letters",
        "spec.template.spec.containers[0].name: Invalid value",
    ),
    BadTemplate(
        "container-twice",
        _pod(containers=[{"name": "main", "image": "a"}, {"name": "main", "image": "b"}]),
        f"{_POD}.containers[1].name",
        f'"main" is the name of {_CONTAINER} already',
        "containers[1].name: Duplicate value",
    ),
    BadTemplate(
        "volume-name",
        _pod(volumes=[{"name": "a.b", "emptyDir": {}}]),
        f"{_POD}.volumes[0].name",
        "a name has at most 63 lower case letters",
        "volumes[0].name: Invalid value",
    ),
    _of_container(
        "no-image", {"image": None}, "image", "it is missing", "containers[0].image: Required value"
    ),
    _of_container(
        "no-such-volume",
        {"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        "volumeMounts[0].name",
        'the Pod has no volume "data"',
        'volumeMounts[0].name: Not found: "data"',
    ),
    _of_container(
        "no-mount-path",
        {"volumeMounts": [{"name": ""}]},
        "volumeMounts[0].mountPath",
        "it is missing",
        "volumeMounts[0].mountPath: Required value",
    ),
    BadTemplate(
        "account",
        _pod(serviceAccountName="Not_A_Name"),
        f"{_POD}.serviceAccountName",
        "a name has at most 253 lower case letters",
        "spec.template.spec.serviceAccountName: Invalid value",
    ),
    BadTemplate(
        "priority-class",
        _pod(priorityClassName="a..b"),
        f"{_POD}.priorityClassName",
        "a name has at most 253 lower case letters",
        "spec.template.spec.priorityClassName: Invalid value",
    ),
    BadTemplate(
        "runtime-class",
        _pod(runtimeClassName="A"),
        f"{_POD}.runtimeClassName",
        "a name has at most 253 lower case letters",
        "spec.template.spec.runtimeClassName: Invalid value",
    ),
    BadTemplate(
        "hostname",
        _pod(hostname="db.example"),
        f"{_POD}.hostname",
        "a host name has at most 63 lower case letters",
        "spec.template.spec.hostname: Invalid value",
    ),
    BadTemplate(
        "subdomain",
        _pod(subdomain="x" * 64),
        f"{_POD}.subdomain",
        "a host name has at most 63 lower case letters",
        "spec.template.spec.subdomain: Invalid value",
    ),
    # Labels and annotations.
    BadTemplate(
        "label-value",
        _labels(team="not a label!"),
        f'{_LABELS}["team"]',
        "the value of a label has at most 63 letters",
        "metadata.labels: Invalid value",
    ),
    BadTemplate(
        "label-key",
        _labels(**{"-team": "a"}),
        f'{_LABELS}["-team"]',
        "a key has at most 63 letters",
        "metadata.labels: Invalid value",
    ),
    BadTemplate(
        "label-prefix",
        _labels(**{"Example.test/team": "a"}),
        f'{_LABELS}["Example.test/team"]',
        "a key has at most 63 letters",
        "metadata.labels: Invalid value",
    ),
    BadTemplate(
        "pod-label",
        {"spec": {"template": {"metadata": {"labels": {"team": "-"}}}}},
        f'{_SPEC}.template.metadata.labels["team"]',
        "the value of a label has at most 63 letters",
        "metadata.labels: Invalid value",
    ),
    BadTemplate(
        "annotation-key",
        {"metadata": {"annotations": {"a b": "c"}}},
        'spec.jobTemplate.metadata.annotations["a b"]',
        "a key has at most 63 letters",
        "metadata.annotations: Invalid value",
    ),
    # Numbers.
    *map(
        _number,
        (
            *("activeDeadlineSeconds", "backoffLimit", "completions", "parallelism"),
            "ttlSecondsAfterFinished",
        ),
    ),
    BadTemplate(
        "backoffLimit-large",
        {"spec": {"backoffLimit": 2**31}},
        f"{_SPEC}.backoffLimit",
        "must be at most 2147483647",
        "of type int32",
    ),
    BadTemplate(
        "pod-deadline-large",
        _pod(activeDeadlineSeconds=2**31),
        f"{_POD}.activeDeadlineSeconds",
        "must be at most 2147483647",
        "spec.template.spec.activeDeadlineSeconds: Invalid value: 2147483648",
    ),
    BadTemplate(
        "pod-deadline",
        _pod(activeDeadlineSeconds=0),
        f"{_POD}.activeDeadlineSeconds",
        "must be at least 1",
        "spec.template.spec.activeDeadlineSeconds: Invalid value: 0",
    ),
    _of_container(
        "port-large",
        {"ports": [{"containerPort": 65_536}]},
        "ports[0].containerPort",
        "must be at most 65535",
        "containerPort: Invalid value: 65536",
    ),
]

GOOD_TEMPLATES: dict[str, dict[str, Any]] = {
    "plain": {},
    "empty-texts": _container(imagePullPolicy="", terminationMessagePolicy="", workingDir=""),
    "quantities": _container(
        resources={
            "limits": {"cpu": 1, "memory": "1.5Gi"},
            "requests": {"cpu": 0.5, "memory": "1e3"},
        }
    ),
    "nulls": _container(env=[{"name": "A", "value": "5", "valueFrom": None}]),
    "null-items": _container(command=["ls", None], args=[None]),
    "names": _pod(
        serviceAccountName="a.b",
        hostname="",
        subdomain="a",
        runtimeClassName=None,
    ),
    "env-empty": _container(
        env=[{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    ),
    "no-selector": {"spec": {"selector": {}, "activeDeadlineSeconds": 2**31}},
    "own-selector": {
        "spec": {
            "manualSelector": True,
            "selector": {"matchLabels": {"app": "backup"}},
            "template": {"metadata": {"labels": {"app": "backup"}}},
        }
    },
    "expressions": {
        "spec": {"selector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}}
    },
    "zero": _container(resources={"limits": {"cpu": "-0"}, "requests": {"cpu": "0.0"}}),
    "created": {
        "spec": {
            "template": {"metadata": {"creationTimestamp": None, "labels": {"a": "", "b.c/D": "E"}}}
        }
    },
    "annotation-prefix": {"metadata": {"annotations": {"Example.test/x": "a\nb"}}},
    "ports": _container(
        ports=[{"containerPort": 1, "protocol": "UDP"}],
        livenessProbe={"httpGet": {"port": "web", "httpHeaders": [{"name": "X-A"}]}},
    ),
    "affinity": _pod(
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
            }
        }
    ),
    "volumes": _pod(
        volumes=[
            {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "set", "configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
        ],
        containers=[
            {
                "name": "main",
                "image": "example.test/work:1",
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        initContainers=[
            {
                "name": "first",
                "image": "example.test/work:1",
                "restartPolicy": "Always",
                "volumeMounts": [{"name": "set", "mountPath": "/set"}],
            }
        ],
    ),
    "indexed": {
        "spec": {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 0},
    },
}
"""Templates that must be accepted, as merge patches on a good template."""
