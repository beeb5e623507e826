"""The API server's audit log: every request that anyone made, as small values.

A request is logged a moment after it is answered: `ControlPlane.audit` waits for that. One that
the server never answered (it was killed) is there with code 0, if it created or deleted a Job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kron.core.frozen import Frozen

_QUIET = ["RequestReceived"]
_BEGINNING = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1"'
DRY_RUN = "dry-run"
POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [
        {
            "level": "Request",
            "verbs": ["create", "delete"],
            "resources": [{"group": "batch", "resources": ["jobs"]}],
        },
        {
            "level": "Request",
            "verbs": ["patch", "update"],
            "resources": [{"group": "kron.io", "resources": ["kronjobs/status"]}],
            "omitStages": _QUIET,
        },
        {"level": "Metadata", "omitStages": _QUIET},
    ],
}


class Request(Frozen):
    """Who asked for what, and what the answer was."""

    user: str
    agent: str
    verb: str
    """As RBAC has it, or `dry-run` for a creation of which nothing is to come."""
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    """The HTTP status; 0 if there never was an answer."""
    at: str
    """When it was received, RFC 3339 with microseconds."""
    answered_at: str
    path: str
    owners: tuple[str, ...]
    """Of a Job that is created: the kind, name and uid of its owners, `KronJob/nightly/1234...`."""
    body: str
    """What was sent, as JSON, if it is logged: Jobs created or deleted, a KronJob's status."""

    @property
    def is_made(self) -> bool:
        """Whether the server answered that the object is created."""
        return self.code == HTTPStatus.CREATED

    @property
    def may_be_made(self) -> bool:
        """Whether nobody got an answer: the server was killed meanwhile, or the client was."""
        return self.code in (0, HTTPStatus.GATEWAY_TIMEOUT)

    @property
    def is_write(self) -> bool:
        """Whether it asked for a change."""
        return self.verb not in ("get", "list", "watch", DRY_RUN)


def read_audit(log: Path, containing: str = "") -> list[Request]:
    """All requests so far, in the order of their answers; of those lines with this text in them."""
    found: dict[str, dict[str, Any]] = {}
    for line in _whole_lines(log):
        if containing.encode() not in line:
            continue
        event = _event(line)
        # A watch is logged when it starts and when it ends; what was received, when it is answered.
        found[event["auditID"]] = event
    return [_request(event) for event in found.values()]


def _event(line: bytes) -> dict[str, Any]:
    """What a line says. A server that was killed may have left half a line before it."""
    event: dict[str, Any]
    try:
        event = json.loads(line)
    except ValueError:
        event = json.loads(line[line.rindex(_BEGINNING) :])
    return event


def _whole_lines(log: Path) -> Iterator[bytes]:
    if log.exists():
        with log.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    yield line


def _request(event: dict[str, Any]) -> Request:
    target = event.get("objectRef", {})
    body = event.get("requestObject")
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    return Request(
        user=event["user"].get("username", ""),
        agent=event.get("userAgent", ""),
        verb=DRY_RUN if "dryRun=All" in event["requestURI"] else event["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name") or metadata.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        at=event["requestReceivedTimestamp"],
        answered_at=event["stageTimestamp"],
        path=event["requestURI"],
        owners=tuple(
            f"{owner['kind']}/{owner['name']}/{owner['uid']}"
            for owner in metadata.get("ownerReferences", ())
        ),
        body="" if body is None else json.dumps(body),
    )
