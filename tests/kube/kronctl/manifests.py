"""Manifests for tests."""

from __future__ import annotations

POD = "{restartPolicy: Never, containers: [{name: run, image: none}]}"
TEMPLATE = f"{{spec: {{template: {{spec: {POD}}}}}}}"


def kronjob(
    name: str = "backup", schedule: str = "0 2 * * * @win(after,3h)", more: str = ""
) -> str:
    """A KronJob of the namespace prod; `more` are lines of its spec, indented by two."""
    return (
        "apiVersion: kron.io/v1alpha1\n"
        "kind: KronJob\n"
        "metadata:\n"
        f"  name: {name}\n"
        "  namespace: prod\n"
        "spec:\n"
        f"  schedule: {schedule}\n"
        f"{more}"
        f"  jobTemplate: {TEMPLATE}\n"
    )


def cronjob(name: str = "report", schedule: str = "0 2 * * *", more: str = "") -> str:
    """A CronJob of the namespace prod."""
    return (
        "apiVersion: batch/v1\n"
        "kind: CronJob\n"
        f"metadata: {{name: {name}, namespace: prod}}\n"
        "spec:\n"
        f"  schedule: {schedule!r}\n"
        f"{more}"
        f"  jobTemplate: {TEMPLATE}\n"
    )
