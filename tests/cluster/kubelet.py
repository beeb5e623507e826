"""A stand-in for the kubelet: it runs no containers, it says that they ran.

As a program it watches the Pods of all namespaces and patches their status, so that the real Job
controller finishes their Jobs. Annotations on a Pod say what is to become of it:

- `test.kron.io/runs-for`: seconds, or "never" for one that never ends; without it, it has ended
  the moment it is seen, and was never seen running. One that restarts, as those of a Deployment
  do, never ends;
- `test.kron.io/exit`: its exit code, 0 without it;
- `test.kron.io/stops-after`: seconds from its deletion until it is gone, or "never"; 0 without it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

RUNS_FOR = "test.kron.io/runs-for"
EXIT = "test.kron.io/exit"
STOPS_AFTER = "test.kron.io/stops-after"
NEVER = "never"

_NODE = "tests"
_AGAIN_S = 0.2
_ENDED = ("Succeeded", "Failed")
_CONFLICTS = (404, 409, 422)
"""Answers that mean: the Pod is gone or another by now. What the watch says next decides."""


class Kubelet:
    """One for all Pods of the cluster."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stopping: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """List and watch for ever; whatever goes wrong, begin again."""
        while True:
            try:
                await self._follow()
            except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
                print(f"{_now()} begins again: {error!r}", flush=True)
                await asyncio.sleep(_AGAIN_S)

    async def _follow(self) -> None:
        async with self._session.get("/api/v1/pods") as answer:
            answer.raise_for_status()
            listed = await answer.json()
        for pod in listed["items"]:
            self._see(pod)
        there = {pod["metadata"]["uid"] for pod in listed["items"]}
        for uid in (self._running.keys() | self._stopping.keys()) - there:
            self._forget(uid)
        query = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        no_limit = aiohttp.ClientTimeout(total=None, sock_connect=10)
        async with self._session.get("/api/v1/pods", params=query, timeout=no_limit) as answer:
            answer.raise_for_status()
            rest = b""
            async for piece in answer.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "DELETED":
                        self._forget(event["object"]["metadata"]["uid"])
                    elif event["type"] != "ERROR":
                        self._see(event["object"])

    def _see(self, pod: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if uid not in self._stopping:
                self._cancel(self._running, uid)
                self._stopping[uid] = asyncio.create_task(self._stop(pod))
        elif uid not in self._running and pod["status"].get("phase") not in _ENDED:
            self._running[uid] = asyncio.create_task(self._play(pod))

    def _forget(self, uid: str) -> None:
        self._cancel(self._running, uid)
        self._cancel(self._stopping, uid)

    @staticmethod
    def _cancel(tasks: dict[str, asyncio.Task[None]], uid: str) -> None:
        if task := tasks.pop(uid, None):
            task.cancel()

    async def _play(self, pod: dict[str, Any]) -> None:
        began = pod["status"].get("startTime") or _now()
        restarts = pod["spec"].get("restartPolicy") == "Always"
        runs_for = _annotation(pod, RUNS_FOR, NEVER if restarts else "0")
        code = int(_annotation(pod, EXIT, "0"))
        if runs_for != "0":
            if not pod["spec"].get("nodeName"):
                # Without a node, the API server would not wait for anyone when it is deleted.
                target = {"apiVersion": "v1", "kind": "Node", "name": _NODE}
                await self._send("POST", pod, "/binding", _binding(pod, target))
            await self._patch(pod, "Running", began, {"running": {"startedAt": began}})
            if runs_for == NEVER:
                return
            await asyncio.sleep(float(runs_for))
        await self._end(pod, began, code)

    async def _stop(self, pod: dict[str, Any]) -> None:
        after = _annotation(pod, STOPS_AFTER, "0")
        if after == NEVER:
            return
        await asyncio.sleep(float(after))
        if pod["status"].get("phase") not in _ENDED:
            await self._end(pod, pod["status"].get("startTime") or _now(), 143)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self._send("DELETE", pod, "", options)

    async def _end(self, pod: dict[str, Any], began: str, code: int) -> None:
        ended = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": began,
            "finishedAt": _now(),
        }
        phase = "Failed" if code else "Succeeded"
        await self._patch(pod, phase, began, {"terminated": ended})

    async def _patch(
        self, pod: dict[str, Any], phase: str, began: str, state: dict[str, Any]
    ) -> None:
        is_running = phase == "Running"
        statuses = [
            {
                "name": container["name"],
                "image": container.get("image", ""),
                "imageID": "",
                "ready": is_running,
                "started": is_running,
                "restartCount": 0,
                "state": state,
            }
            for container in pod["spec"]["containers"]
        ]
        conditions = [
            {"type": kind, "status": str(is_running), "lastTransitionTime": _now()}
            for kind in ("Ready", "ContainersReady")
        ]
        status = {"phase": phase, "startTime": began, "containerStatuses": statuses}
        uid = pod["metadata"]["uid"]
        body = {"metadata": {"uid": uid}, "status": {**status, "conditions": conditions}}
        await self._send("PATCH", pod, "/status", body)

    async def _send(self, method: str, pod: dict[str, Any], end: str, body: object) -> None:
        """Until the API server answers, however long it is gone."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        path = f"/api/v1/namespaces/{namespace}/pods/{name}{end}"
        kind = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        while True:
            try:
                async with self._session.request(
                    method, path, data=json.dumps(body), headers={"Content-Type": kind}
                ) as answer:
                    if answer.status < 400 or answer.status in _CONFLICTS:
                        return
                    print(f"{_now()} {method} {path}: {await answer.text()}", flush=True)
            except (aiohttp.ClientError, TimeoutError) as error:
                print(f"{_now()} {method} {path}: {error!r}", flush=True)
            await asyncio.sleep(_AGAIN_S)


def _binding(pod: dict[str, Any], target: dict[str, str]) -> dict[str, Any]:
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


def _annotation(pod: dict[str, Any], name: str, otherwise: str) -> str:
    value: str = pod["metadata"].get("annotations", {}).get(name, otherwise)
    return value


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def main(directory: Path) -> None:
    """Serve the control plane that has been started in this directory."""
    facts = json.loads((directory / "controlplane.json").read_text())
    context = ssl.create_default_context(cafile=directory / "certificates/apiserver.crt")
    headers = {
        "Authorization": f"Bearer {facts['tokens']['kubelet']}",
        "User-Agent": "kubelet-stand-in",
    }
    async with aiohttp.ClientSession(
        facts["url"],
        headers=headers,
        connector=aiohttp.TCPConnector(ssl=context, limit=32),
        timeout=aiohttp.ClientTimeout(total=30),
    ) as session:
        await Kubelet(session).run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
