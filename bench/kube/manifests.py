"""KronJobs and CronJobs with the same template, such as a user might write."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
_DEADLINE = "10m"


def kronjob(name: str, schedule: str) -> Object:
    """A KronJob that is started even if a busy machine comes to it late."""
    return {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "report"}},
        "spec": {
            "schedule": schedule,
            "policy": {"deadline": _DEADLINE},
            "jobTemplate": _template(name),
        },
    }


def cronjob(name: str, schedule: str) -> Object:
    """The same as a CronJob."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "report"}},
        "spec": {"schedule": schedule, "jobTemplate": _template(name)},
    }


def _template(name: str) -> Object:
    """About 1 KB."""
    labels = {"app.kubernetes.io/name": "report", "app.kubernetes.io/instance": name}
    container = {
        "name": "report",
        "image": "registry.example.com/finance/report:2026.11.3",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/local/bin/report"],
        "args": ["--customer", name, "--output", "/var/lib/report/out", "--format", "parquet"],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "DATABASE_HOST", "value": "postgres.finance.svc.cluster.local"},
            {
                "name": "DATABASE_PASSWORD",
                "valueFrom": {"secretKeyRef": {"name": "report-database", "key": "password"}},
            },
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "volumeMounts": [{"name": "out", "mountPath": "/var/lib/report/out"}],
    }
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
        "containers": [container],
        "volumes": [{"name": "out", "emptyDir": {}}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {"metadata": {"labels": labels}, "spec": {"backoffLimit": 2, "template": template}}
