"""A proxy between an operator and the API server: it answers instead, loses, cuts, falls silent.

It is a process of its own (tests fork, and threads do not go with that). The operator speaks plain
HTTP to it. A test tells it rules and asks what it saw, under a path that no API server has.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import URLError

import aiohttp
from aiohttp import web

from tests.cluster import children
from tests.cluster.controlplane import ControlPlane
from tests.cluster.ports import free_ports
from tests.logbook import wait_for

ANSWER = "answer"
"""Answer in place of the API server, with `status` and `message`."""
CUT = "cut"
"""Cut the connection; the API server never hears of the request."""
LOSE = "lose"
"""Pass the request on, and cut the connection instead of passing the answer back."""
SILENCE = "silence"
"""Pass nothing on and nothing back, and keep the connection. Watches that are open fall silent."""

_CONTROL = "/-/"
_HEADERS = ("Accept", "Accept-Encoding", "Authorization", "Content-Type", "User-Agent")
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_LONG = 1 << 26

Rule = dict[str, Any]
Seen = dict[str, Any]


class Proxy:
    """The test's end of it: start the process, tell it rules, and ask what it saw."""

    def __init__(self, cluster: ControlPlane, directory: Path, name: str = "proxy") -> None:
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        self._log = directory / f"{name}.log"
        self._config = directory / f"{name}.kubeconfig"
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Proxy:
        words = [sys.executable, "-m", "tests.cluster.proxy"]
        words += [self.url.rpartition(":")[2], self.cluster.url, self.cluster.ca]
        environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
        self._process = children.start(words, self._log, environment)
        wait_for(self._is_up, "the proxy is up")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            children.stop(self._process)

    def kubeconfig(self, user: dict[str, Any]) -> str:
        """A kubeconfig of this user that leads through it."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": {"server": self.url}}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "user"}}],
            "current-context": "tests",
        }
        self._config.write_text(json.dumps(config))
        return str(self._config)

    def rule(
        self,
        action: str,
        *,
        verb: str = "",
        resource: str = "",
        about: str = "",
        times: int = _LONG,
        status: int = 503,
        reason: str = "",
        message: str = "the proxy says so",
        retry_after: str = "",
    ) -> None:
        """From now on do this with such requests, so many times. The first rule that fits counts.

        `verb`: as RBAC has them; `about`: a name in the path, or the KronJob of a Job.
        """
        code = HTTPStatus(status).phrase.replace(" ", "")
        body = {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "code": status,
            "reason": reason or code,
            "message": message,
        }
        said = {"status": status, "retry_after": retry_after, "body": body}
        which: Rule = {"verb": verb, "resource": resource, "about": about, "times": times}
        which["since"] = time.time()
        self._ask("rules", [*self.rules(), {"action": action, **which, **said}])

    def rules(self) -> list[Rule]:
        """The rules that are in force, with the times that are left."""
        found: list[Rule] = self._ask("rules")
        return found

    def clear(self) -> None:
        """Pass everything on again."""
        self._ask("rules", [])

    def cut(self) -> None:
        """Cut every connection that is open."""
        self._ask("cut", True)

    def seen(self, verb: str = "", resource: str = "", about: str = "") -> list[Seen]:
        """The requests so far: verb, resource, path, kronjob, at (wall clock), status (what the
        operator was answered, 0: nothing), passed (what the API server had answered, 0: it was not
        asked, or did not answer)."""
        return [each for each in self._ask("seen") if _fits(each, verb, resource, about)]

    def _is_up(self) -> bool:
        try:
            return self.rules() == []
        except URLError:
            return False

    def _ask(self, what: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}{_CONTROL}{what}", data, timeout=30) as answer:
            return json.load(answer)


def _fits(seen: Seen, verb: str, resource: str, about: str) -> bool:
    return (
        verb in ("", seen["verb"])
        and resource in ("", seen["resource"])
        and (not about or about in (seen["kronjob"], *seen["path"].split("/")))
    )


class _Relay:
    """The process's end of it."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._rules: list[Rule] = []
        self._seen: list[Seen] = []
        self._open: set[asyncio.Transport] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith(_CONTROL):
            return await self._control(request)
        seen = _read_request(request, await request.read())
        self._seen.append(seen)
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        self._open.add(transport)
        try:
            return await self._act(request, seen, transport)
        except (aiohttp.ClientError, ConnectionError):
            transport.abort()
            return web.Response()
        finally:
            self._open.discard(transport)

    async def _act(
        self, request: web.Request, seen: Seen, transport: asyncio.Transport
    ) -> web.StreamResponse:
        rule = self._rule_for(seen)
        action = rule["action"] if rule else ""
        if rule and action == ANSWER:
            seen["status"] = rule["status"]
            after = {"Retry-After": rule["retry_after"]} if rule["retry_after"] else {}
            return web.json_response(rule["body"], status=rule["status"], headers=after)
        if action == SILENCE:
            return await self._never(transport)
        if action == CUT:
            transport.abort()
            return web.Response()
        return await self._pass_on(request, seen, transport, is_lost=bool(rule))

    async def _pass_on(
        self, request: web.Request, seen: Seen, transport: asyncio.Transport, *, is_lost: bool
    ) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        body = await request.read()
        async with self._session.request(
            request.method, request.path_qs, data=body or None, headers=headers
        ) as answer:
            seen["passed"] = answer.status
            back = {
                name: answer.headers[name]
                for name in ("Content-Type", "Retry-After")
                if name in answer.headers
            }
            if seen["verb"] != "watch" or answer.status != 200:
                content = await answer.read()
                if is_lost:
                    transport.abort()
                    return web.Response()
                seen["status"] = answer.status
                return web.Response(body=content, status=answer.status, headers=back)
            seen["status"] = answer.status
            stream = web.StreamResponse(headers=back)
            await stream.prepare(request)
            async for chunk in answer.content.iter_any():
                if self._is_silenced(seen):
                    return await self._never(transport)
                await stream.write(chunk)
            return stream

    async def _never(self, transport: asyncio.Transport) -> web.StreamResponse:
        while not transport.is_closing():
            await asyncio.sleep(0.05)
        return web.Response()

    def _rule_for(self, seen: Seen) -> Rule | None:
        for rule in self._rules:
            if rule["times"] > 0 and _fits(seen, rule["verb"], rule["resource"], rule["about"]):
                rule["times"] -= 1
                return rule
        return None

    def _is_silenced(self, seen: Seen) -> bool:
        return any(
            rule["action"] == SILENCE
            and seen["at"] < rule["since"]
            and _fits(seen, rule["verb"], rule["resource"], rule["about"])
            for rule in self._rules
        )

    async def _control(self, request: web.Request) -> web.Response:
        what = request.path.removeprefix(_CONTROL)
        if what == "rules" and request.method == "POST":
            self._rules = await request.json()
        if what == "cut":
            for transport in self._open:
                transport.abort()
        return web.json_response(self._seen if what == "seen" else self._rules)


def _read_request(request: web.Request, body: bytes) -> Seen:
    steps = request.path.strip("/").split("/")
    steps = steps[2:] if steps[0] == "api" else steps[3:]
    if steps[0] == "namespaces" and len(steps) > 2:
        steps = steps[2:]
    verb = _WRITES.get(request.method) or ("get" if len(steps) > 1 else "list")
    if "watch" in request.query:
        verb = "watch"
    if "dryRun" in request.query:
        verb = "dry-run"
    return {
        "verb": verb,
        "resource": "/".join([steps[0], *steps[2:]]),
        "path": request.path,
        "kronjob": _kronjob_of(body),
        "at": time.time(),
        "status": 0,
        "passed": 0,
    }


def _kronjob_of(body: bytes) -> str:
    """Of a Job that is to be made, the KronJob."""
    try:
        name: str = json.loads(body)["metadata"]["labels"]["kron.io/name"]
    except (ValueError, KeyError, TypeError):
        return ""
    return name


async def main(port: int, server: str, ca: str) -> None:
    """Serve until killed."""
    async with aiohttp.ClientSession(
        server,
        connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca), limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
    ) as session:
        application = web.Application(client_max_size=_LONG)
        application.router.add_route("*", "/{path:.*}", _Relay(session).handle)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
