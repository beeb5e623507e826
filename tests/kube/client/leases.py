"""A server that keeps one lease as a real one does: versions, conflicts, no write without one."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from aiohttp import web

from tests.kube.client.server import FakeServer, Request, obj, stall, status

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"


class LeaseServer(FakeServer):
    """One lease, named `lease`. A test may change, delete or hide it at any time."""

    def __init__(self, lease: dict[str, Any] | None = None) -> None:
        super().__init__(otherwise=self._answer)
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.is_watched = False
        """Watches show changes; else they are silent."""
        self.is_gone = False
        """Every request is refused."""
        self.is_silent = False
        """No request is answered."""
        self.loses_answers = False
        """Writes are made, but not answered."""
        self.changed = asyncio.Event()
        if lease is not None:
            self.store({"metadata": {"namespace": "ns", "name": "lease"}, "spec": lease})

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    @property
    def holder(self) -> str:
        return "" if self.lease is None else self.spec.get("holderIdentity", "")

    def store(self, lease: dict[str, Any]) -> None:
        """Write the lease, as another client would."""
        self.version += 1
        self.lease = copy.deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        self.changed.set()

    def give_to(self, holder: str, **more: Any) -> None:
        """Write another holder."""
        assert self.lease is not None
        spec = self.spec | {"holderIdentity": holder, "renewTime": f"{self.version}"} | more
        self.store(self.lease | {"spec": spec})

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        """Lists and watches are not among the requests that tests count."""
        if request.path != PATH or request.method != "GET":
            return await super()._handle(request)
        items = [] if self.lease is None else [self.lease]
        version = self.version
        if "watch" not in request.query:
            listed = {"metadata": {"resourceVersion": str(version)}, "items": items}
            return web.json_response(listed)
        answer = web.StreamResponse()
        await answer.prepare(request)
        while self.is_watched:
            await asyncio.sleep(0.005)
            if self.version != version and self.lease is not None:
                version = self.version
                event = {"type": "MODIFIED", "object": self.lease}
                await answer.write(json.dumps(event).encode() + b"\n")
        return await stall()(Request("", "", {}, {}, b"", 0), request)

    async def _answer(self, request: Request, connection: Any) -> Any:
        if self.is_silent:
            return await stall()(request, connection)
        if self.is_gone:
            return await status(503, "ServiceUnavailable", "x")(request, connection)
        answer = self._decide(request)
        if self.loses_answers and request.method != "GET":
            return await stall()(request, connection)
        return await answer(request, connection)

    def _decide(self, request: Request) -> Any:
        if request.method == "POST":
            if self.lease is not None:
                return status(409, "AlreadyExists", "exists")
            self.store(request.json)
        elif self.lease is None:
            return status(404, "NotFound", "no lease")
        elif request.method == "PUT":
            if request.json["metadata"].get("resourceVersion") != str(self.version):
                return status(409, "Conflict", "changed")
            self.store(request.json)
        return obj(self.lease)
