"""An API server in a thread: a few objects that can be read and patched, or no KronJobs at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import yaml

from tests.kube.kronctl.command import Kronctl

PAGE = b"404 page not found\n"
"""What a real one answers for a resource that it does not know, and no Status."""


@contextmanager
def serving(*objects: str, has_kronjobs: bool = True) -> Iterator[str]:
    """The address of a server that has these objects, which are manifests."""
    known = {_path(each): each for each in map(yaml.safe_load, objects)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            items = [each for place, each in known.items() if place.rpartition("/")[0] == path]
            if "/kronjobs" in path and not has_kronjobs:
                self._answer(404, PAGE)
            elif path in known:
                self._answer(200, known[path])
            elif path.endswith("jobs"):
                self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": items})
            else:
                status = {"kind": "Status", "reason": "NotFound", "message": "not found"}
                self._answer(404, status)

        def _answer(self, code: int, body: dict[str, Any] | bytes) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _path(manifest: dict[str, Any]) -> str:
    metadata = manifest["metadata"]
    metadata |= {"uid": f"u-{metadata['name']}", "resourceVersion": "1"}
    plural = f"{manifest['kind'].lower()}s"
    namespace = f"namespaces/{metadata['namespace']}"
    return f"/apis/{manifest['apiVersion']}/{namespace}/{plural}/{metadata['name']}"


def use(kronctl: Kronctl, address: str) -> None:
    """Write a kubeconfig for a server, whose namespace is prod, and let kronctl take it."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"token": "none"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "prod"}}],
        "current-context": "x",
    }
    path = kronctl.write("kubeconfig", yaml.safe_dump(config), mode=0o600)
    kronctl.environment["KUBECONFIG"] = path
