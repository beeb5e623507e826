"""An exec plugin of a kubeconfig: a program that prints credentials for the API server.

It shares our standard error, as with kubectl, and reports its errors there. Its output is a secret
and is never quoted.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from datetime import UTC, datetime
from json import dumps

from kron.core.errors import Code, KronError, quoted, visible
from kron.core.frozen import Frozen
from kron.kube.api_object import Object
from kron.kube.client.credentials import Credential, Credentials, token_text
from kron.kube.client.errors import json_object
from kron.waking.clock import Clock

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")

_PATIENCE_S = 60.0
_LAST_S = 1.0
_MOST_BYTES = 1024 * 1024
_MARGIN_NS = 10 * 10**9
"""A request whose token expires on the way to the server would fail."""


class Plugin(Frozen, Credentials):
    """The program as the kubeconfig describes it. What it prints counts until it expires."""

    place: str
    """The file and the user, for messages."""
    version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    cluster: Object | None = None
    """What it gets to know about the cluster, if it asks for that."""
    clock: Clock = Clock()

    def is_fresh(self, credential: Credential) -> bool:
        expires_ns = credential.expires_ns
        return expires_ns is None or self.clock.now_ns() < expires_ns - _MARGIN_NS

    async def read(self) -> Credential:
        return _credential(self, await _run(self), self.clock.monotonic_ns())

    def error(self, message: str) -> KronError:
        command = quoted(self.command)
        fix = f"run {command} by hand, and read its messages"
        return KronError(Code.CLUSTER, f"{self.place}: exec: {command} {message}", fix=fix)


async def _run(plugin: Plugin) -> bytes:
    spec: Object = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.version, "kind": "ExecCredential", "spec": spec}
    environment = os.environ | dict(plugin.environment)
    environment["KUBERNETES_EXEC_INFO"] = dumps(info)
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,  # so that it can be stopped together with what it started
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        hint = f"; {visible(plugin.hint[:500])}" if plugin.hint else ""
        raise plugin.error(f"cannot be run: {why}{hint}") from None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            printed = await _read(process.stdout)
            status = None if printed is None else await process.wait()
    except TimeoutError:
        raise plugin.error(f"takes over {_PATIENCE_S:g} s") from None
    finally:
        if process.returncode is None:
            await _stop(process)
    if printed is None:
        raise plugin.error(f"prints more than {_MOST_BYTES} bytes")
    if status != 0:
        raise plugin.error(f"failed with exit status {status}")
    return printed


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    # A process that has left its group may hold its output open; do not wait for that.
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_S):
            while await process.stdout.read(65536):
                pass  # the pipe is closed only after it is read to its end
            await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes | None:
    """Everything it prints, or None if that is too long."""
    printed = b""
    while data := await stream.read(65536):
        printed += data
        if len(printed) > _MOST_BYTES:
            return None
    return printed


def _credential(plugin: Plugin, printed: bytes, read_ns: int) -> Credential:
    obj = json_object(printed)
    if obj is None or obj.get("kind") != "ExecCredential":
        raise plugin.error("did not print an ExecCredential in JSON")
    if obj.get("apiVersion") != plugin.version:
        raise plugin.error(f"printed an ExecCredential that is not of {plugin.version}")
    status = obj.get("status")
    if not isinstance(status, dict):
        raise plugin.error("printed an ExecCredential without a status")

    def text(key: str) -> str:
        value = status.get(key)
        if isinstance(value, str | None):
            return value or ""
        raise plugin.error(f"printed a {key} that is not a string")

    token, certificate, key = text("token"), text("clientCertificateData"), text("clientKeyData")
    if bool(certificate) != bool(key):
        raise plugin.error("printed a certificate or a key, not both")
    if not token and not certificate:
        raise plugin.error("printed neither a token nor a certificate")
    return Credential(
        token_text(token.encode(errors="replace"), f"{plugin.place}: exec"),
        certificate.encode(errors="replace"),
        key.encode(errors="replace"),
        read_ns,
        _instant_ns(plugin, text("expirationTimestamp")),
    )


def _instant_ns(plugin: Plugin, text: str) -> int | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(text)
        return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 10**9)
    except (ValueError, OverflowError):
        message = f"printed the expirationTimestamp {quoted(text)}, which is not a time of RFC3339"
        raise plugin.error(message) from None
