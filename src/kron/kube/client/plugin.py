"""An exec plugin of a kubeconfig: a program that prints credentials for the API server.

Its standard error goes where ours goes, as with kubectl: that is where it says what is wrong.
What it prints is a secret, and is never quoted.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from json import dumps, loads

from kron.core.errors import Code, KronError, quoted, visible
from kron.core.frozen import Frozen
from kron.kube.client.credentials import Credential, Credentials, token_text
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")

_PATIENCE_S = 60.0
_LAST_S = 1.0
_MOST_BYTES = 1024 * 1024
_MARGIN_NS = 10 * 10**9
"""A token that runs out on the way to the server would cost a request."""


class Plugin(Frozen):
    """What the kubeconfig says of the program."""

    place: str
    """The file and the user, for messages."""
    version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    cluster: Mapping[str, Any] | None = None
    """What it is told of the cluster, if it asks for that."""

    def error(self, message: str) -> KronError:
        """An error of this plugin."""
        fix = f"run {quoted(self.command)} by hand, and see what it says"
        return KronError(Code.CLUSTER, f"{self.place}: exec: {message}", fix=fix)


class PluginCredentials(Credentials):
    """What the program prints, until it runs out or is refused."""

    def __init__(self, plugin: Plugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock

    def is_fresh(self, credential: Credential) -> bool:
        """Until shortly before it says it expires."""
        expires_ns = credential.expires_ns
        return expires_ns is None or self._clock.now_ns() < expires_ns - _MARGIN_NS

    async def read(self) -> Credential:
        """Run the program."""
        printed = await _run(self._plugin)
        return _credential(self._plugin, printed, self._clock.monotonic_ns())


async def _run(plugin: Plugin) -> bytes:
    spec: dict[str, Any] = {"interactive": False}
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
        raise plugin.error(f"{quoted(plugin.command)} cannot be run: {why}{hint}") from None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            printed = await _read(process.stdout)
            status = None if printed is None else await process.wait()
    except TimeoutError:
        raise plugin.error(f"{quoted(plugin.command)} takes over {_PATIENCE_S:g} s") from None
    finally:
        if process.returncode is None:
            await _stop(process)
    if printed is None:
        raise plugin.error(f"{quoted(plugin.command)} prints more than {_MOST_BYTES} bytes")
    if status != 0:
        raise plugin.error(f"{quoted(plugin.command)} failed with exit status {status}")
    return printed


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    # Somebody who left its group may hold its output open; that is not waited for.
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_S):
            while await process.stdout.read(65536):
                pass  # read to its end it is closed, and not before
            await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes | None:
    """All of it, or None if it is too much."""
    printed = b""
    while data := await stream.read(65536):
        printed += data
        if len(printed) > _MOST_BYTES:
            return None
    return printed


def _credential(plugin: Plugin, printed: bytes, read_ns: int) -> Credential:
    try:
        obj = loads(printed)
    except (ValueError, RecursionError):
        obj = None
    if not isinstance(obj, dict) or obj.get("kind") != "ExecCredential":
        raise plugin.error(f"{quoted(plugin.command)} did not print an ExecCredential in JSON")
    if obj.get("apiVersion") != plugin.version:
        raise plugin.error(
            f"{quoted(plugin.command)} printed an ExecCredential of another apiVersion, "
            f"not of {plugin.version}"
        )
    status = obj.get("status")
    if not isinstance(status, dict):
        raise plugin.error(f"{quoted(plugin.command)} printed an ExecCredential without a status")

    def text(key: str) -> str:
        value = status.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        raise plugin.error(f"the {key} that {quoted(plugin.command)} printed is not a string")

    token, certificate, key = text("token"), text("clientCertificateData"), text("clientKeyData")
    if bool(certificate) != bool(key):
        raise plugin.error(f"{quoted(plugin.command)} printed a certificate or a key, not both")
    if not token and not certificate:
        raise plugin.error(f"{quoted(plugin.command)} printed neither a token nor a certificate")
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
        message = f"the expirationTimestamp {quoted(text)} is not a time of RFC3339"
        raise plugin.error(message) from None
