"""What tests say to the API server themselves: plain requests, one connection, no cache.

It is not the client of the product, on purpose: a mistake there must not hide itself.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.logbook import PATIENCE_S

PREFIXES = {
    "cronjobs": "/apis/batch/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "deployments": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "kronjobs": "/apis/kron.io/v1alpha1",
    "leases": "/apis/coordination.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
}
"""Where a resource is found, if not in /api/v1."""

Object = dict[str, Any]


class RefusedError(Exception):
    """The API server said no."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status} {body.get('reason')}: {body.get('message')}")
        self.status = status
        self.body = body


class Api:
    """Requests as one user. Threads take turns."""

    def __init__(self, url: str, token: str, ca: str, timeout_s: float = PATIENCE_S) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPSConnection(
            parts.hostname,
            parts.port,
            timeout=timeout_s,
            context=ssl.create_default_context(cafile=ca),
        )
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "kron-tests"}
        self._turn = threading.Lock()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def request(
        self, method: str, path: str, body: Object | None = None, kind: str = "application/json"
    ) -> Object:
        """One request, once more if the connection has gone stale; RefusedError if refused."""
        headers = self._headers | ({} if body is None else {"Content-Type": kind})
        content = None if body is None else json.dumps(body).encode()
        with self._turn:
            was_open = self._connection.sock is not None
            try:
                status, answer = self._exchange(method, path, content, headers)
            except (ConnectionError, ssl.SSLEOFError, http.client.HTTPException):
                if not was_open:
                    raise
                status, answer = self._exchange(method, path, content, headers)
        try:
            read: Object = json.loads(answer)
        except ValueError:
            read = {"message": answer.decode(errors="replace")}
        if status >= 400:
            raise RefusedError(status, read)
        return read

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self._connection.close()
            raise

    def get(self, plural: str, namespace: str | None, name: str) -> Object:
        """One object."""
        return self.request("GET", path(plural, namespace, name))

    def find(self, plural: str, namespace: str | None, name: str) -> Object | None:
        """One object, or None."""
        try:
            return self.get(plural, namespace, name)
        except RefusedError as refusal:
            if refusal.status == 404:
                return None
            raise

    def list(self, plural: str, namespace: str | None = None, selector: str = "") -> list[Object]:
        """All objects of a kind; without a namespace, of all namespaces."""
        query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
        items: list[Object] = self.request("GET", path(plural, namespace) + query)["items"]
        return items

    def create(self, plural: str, namespace: str | None, obj: Object) -> Object:
        """Create it: what it has become."""
        return self.request("POST", path(plural, namespace), obj)

    def patch(
        self, plural: str, namespace: str | None, name: str, changes: Object, subresource: str = ""
    ) -> Object:
        """A merge patch: what the object has become."""
        kind = "application/merge-patch+json"
        return self.request("PATCH", path(plural, namespace, name, subresource), changes, kind)

    def apply(self, plural: str, namespace: str | None, obj: Object) -> Object:
        """Create it or make it so (server-side apply)."""
        target = path(plural, namespace, obj["metadata"]["name"])
        kind = "application/apply-patch+yaml"
        return self.request("PATCH", f"{target}?fieldManager=tests&force=true", obj, kind)

    def delete(
        self,
        plural: str,
        namespace: str | None,
        name: str,
        *,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> None:
        """Delete it, if it is there."""
        options: Object = {"propagationPolicy": propagation}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:
            self.request("DELETE", path(plural, namespace, name), options)
        except RefusedError as refusal:
            if refusal.status != 404:
                raise


def path(plural: str, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
    """The path of a collection, an object or a subresource."""
    steps = [PREFIXES.get(plural, "/api/v1")]
    if namespace is not None:
        steps += ["namespaces", quote(namespace, safe="")]
    steps += [plural, quote(name, safe=""), subresource]
    return "/".join(step for step in steps if step)
