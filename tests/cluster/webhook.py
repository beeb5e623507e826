"""An admission webhook that says no: an HTTPS server, a process of its own, and its configuration.

It is asked about Jobs of KronJobs of one name in one namespace only, so that others are left alone.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from tests.cluster import children
from tests.cluster.api import Api, Object
from tests.cluster.ports import free_ports, is_listening
from tests.logbook import wait_for

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
REASON = "no Jobs of such a kind here"


@contextmanager
def denier(directory: Path) -> Iterator[tuple[int, bytes]]:
    """A server that denies whatever it is asked: its port, and the certificate to believe."""
    certificate, key = directory / "webhook.crt", directory / "webhook.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=webhook"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(certificate)]
    subprocess.run([*words, "-keyout", str(key)], check=True, capture_output=True)
    port = free_ports(1)[0]
    words = [sys.executable, "-m", "tests.cluster.webhook", str(port), str(certificate), str(key)]
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    process = children.start(words, directory / "webhook.log", environment)
    try:
        wait_for(lambda: is_listening(port), "the webhook listens")
        yield port, certificate.read_bytes()
    finally:
        children.stop(process)


@contextmanager
def configured(
    api: Api, namespace: str, kronjob: str, port: int, certificate: bytes = b""
) -> Iterator[None]:
    """The API server asks at this port about the Jobs of that KronJob, and must get an answer."""
    name = f"{namespace}-{kronjob}"
    client: Object = {"url": f"https://127.0.0.1:{port}/"}
    if certificate:
        client["caBundle"] = base64.b64encode(certificate).decode()
    hook = {
        "name": f"{kronjob}.webhook.test.kron.io",
        "clientConfig": client,
        "rules": [
            {
                "apiGroups": ["batch"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["jobs"],
            }
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": {"kron.io/name": kronjob}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    api.request("POST", CONFIGURATIONS, {"metadata": {"name": name}, "webhooks": [hook]})
    try:
        yield
    finally:
        api.request("DELETE", f"{CONFIGURATIONS}/{name}")


async def _deny(request: web.Request) -> web.Response:
    review = await request.json()
    refusal = {"code": 403, "message": REASON}
    answer = {"uid": review["request"]["uid"], "allowed": False, "status": refusal}
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return web.json_response(kind | {"response": answer})


async def main(port: int, certificate: str, key: str) -> None:
    """Serve until killed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    application = web.Application()
    application.router.add_post("/", _deny)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
