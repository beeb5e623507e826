"""An API server in a thread: a few objects that can be read, no KronJobs at all, or any answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import yaml

from tests.kube.kronctl.command import Kronctl

PAGE = b"404 page not found\n"
"""What a real one answers for a resource that it does not know, and no Status."""


Answer = tuple[int, object]
"""A status and a body: bytes as they are, anything else as JSON. 0: the server hangs up."""


@contextmanager
def serving(*objects: str, has_kronjobs: bool = True) -> Iterator[str]:
    """The address of a server that has these objects, which are manifests."""
    known = {_path(each): each for each in map(yaml.safe_load, objects)}

    spaces = {"prod"} | {place.split("/")[5] for place in known}

    def answer(method: str, path: str, body: object) -> Answer:
        items = [each for place, each in known.items() if place.rpartition("/")[0] == path]
        if "/kronjobs" in path and not has_kronjobs:
            return 404, PAGE
        if method == "POST":
            return 201, body
        if path.startswith("/api/v1/namespaces"):
            asked = path.removeprefix("/api/v1/namespaces").removeprefix("/")
            named = [{"metadata": {"name": each}} for each in sorted(spaces)]
            if not asked:
                return 200, {"metadata": {"resourceVersion": "1"}, "items": named}
            if asked in spaces:
                return 200, {"metadata": {"name": asked}}
        if path in known:
            return 200, known[path]
        if path.endswith("jobs"):
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}

    with answering(answer) as address:
        yield address


@contextmanager
def answering(answer: Callable[[str, str, object], Answer]) -> Iterator[str]:
    """The address of a server that answers so to a method, a path and a body.

    The method of a watch is WATCH.
    """

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            path, _, query = self.path.partition("?")
            method = "WATCH" if query.startswith("watch=1") else self.command
            code, said = answer(method, path, body)
            if code == 0:
                return
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            # A client that cancels a request hangs up. A traceback here would go to its errors.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that has gone meanwhile is no error of this server's."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    with Server(("127.0.0.1", 0), Handler) as server:
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
