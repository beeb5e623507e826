"""Which API server to talk to, how to verify it, and with which credentials."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import urlsplit

from kron.core.errors import Code, KronError, quoted, visible
from kron.core.frozen import Frozen
from kron.kube.api_object import Object
from kron.kube.client.credentials import Credential, Credentials, Secret, StoredCredentials
from kron.kube.client.kubeconfig import Kubeconfig, Section, read_kubeconfig
from kron.kube.client.plugin import VERSIONS, Plugin
from kron.kube.client.resumption import ResumingContext
from kron.waking.clock import Clock

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

_NOT_OURS = {
    "auth-provider": "use an exec plugin instead (kubectl dropped auth-provider, too)",
    "username": "use a token, a certificate or an exec plugin",
    "password": "use a token, a certificate or an exec plugin",
    "as": "use the credentials of that user",
    "as-uid": "use the credentials of that user",
    "as-groups": "use the credentials of that user",
    "as-user-extra": "use the credentials of that user",
}


class Access(Frozen):
    """An API server, how to verify it, and our credentials."""

    server: str
    """Its address without a slash at the end: https://10.0.0.1:6443."""
    credentials: Credentials
    namespace: str = "default"
    """The namespace to use when none is named."""
    authority: Secret = Secret("certificate-authority")
    """The certificates to trust, in PEM; the system's if it is empty."""
    server_name: str = ""
    """The name in the server's certificate, if it is not the one in its address."""
    is_verified: bool = True
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers that ask the server to act as somebody else; one of them may be there twice."""

    def as_user(self, user: str, groups: Sequence[str] = ()) -> Access:
        """The same, but acting as this user, who is in these groups."""
        headers = [("Impersonate-User", user), *(("Impersonate-Group", each) for each in groups)]
        return self.replace(impersonation=tuple(headers))

    def ssl_context(self, credential: Credential) -> ssl.SSLContext | None:
        """The TLS settings of connections that present `credential`; None without TLS."""
        if not self.server.startswith("https:"):
            return None
        context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
        authority = self.authority.read()
        if not self.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif authority:
            _trust(context, self.authority, authority)
        else:
            context.load_default_certs()
        if credential.certificate:
            _present(context, credential)
        return context


class Choice(Frozen):
    """What to take of a kubeconfig; None for what it says itself."""

    context: str | None = None
    cluster: str | None = None
    """Instead of the context's."""
    user: str | None = None
    """Instead of the context's."""


def known_names(kind: str, kubeconfig: str | None = None) -> list[str]:
    """The contexts, clusters or users that `find_access` could be asked for."""
    paths = [kubeconfig] if kubeconfig is not None else _listed() or [_home()]
    config = read_kubeconfig(paths, may_be_missing=True)
    return [] if config is None else sorted(config.named[kind])


def find_access(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    cluster: str | None = None,
    user: str | None = None,
) -> Access:
    """The cluster that `kubeconfig` names, or KUBECONFIG, or the one we run in, or ~/.kube/config.

    The others name something in a kubeconfig, so the cluster we run in is not considered then.
    """
    choice = Choice(context, cluster, user)
    if kubeconfig is not None:
        return _from_files([kubeconfig], choice, may_be_missing=False)
    listed = _listed()
    if listed:
        return _from_files(listed, choice, may_be_missing=len(listed) > 1)
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    if host and choice == Choice():
        return in_cluster(host, os.environ.get("KUBERNETES_SERVICE_PORT", ""))
    return _from_files([_home()], choice, may_be_missing=True)


def _listed() -> list[str]:
    """The files that KUBECONFIG names."""
    return [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]


def _home() -> str:
    return os.path.join(os.path.expanduser("~"), ".kube", "config")  # noqa: PTH111,PTH118


def in_cluster(host: str, port: str, directory: str = SERVICE_ACCOUNT) -> Access:
    """The cluster that this process runs in, as the service account of its Pod."""
    if not port.isascii() or not port.isdigit():
        message = f"KUBERNETES_SERVICE_PORT is {quoted(port)}, which is not a port"
        raise KronError(Code.CLUSTER, message, fix="set it to the port of the API server")
    token = Secret("the service account's token", path=f"{directory}/token")
    authority = Secret("the service account's ca.crt", path=f"{directory}/ca.crt")
    namespace = Secret("the service account's namespace", path=f"{directory}/namespace")
    try:  # fail now, not at the first request
        _, _, name = token.read(), authority.read(), namespace.read()
    except KronError as error:
        fix = "mount the service account's token, or name a kubeconfig with --kubeconfig"
        raise KronError(error.code, error.message, fix) from None
    credentials = StoredCredentials(token, Secret(""), Secret(""), Clock())
    address = f"[{host}]" if ":" in host else host
    server = _address(Section("", "KUBERNETES_SERVICE_HOST", {}), f"https://{address}:{port}")
    return Access(server, credentials, name.decode(errors="replace").strip(), authority)


def _from_files(paths: list[str], choice: Choice, *, may_be_missing: bool) -> Access:
    config = read_kubeconfig(paths, may_be_missing=may_be_missing)
    if config is None:
        message = f"no cluster is named, and no kubeconfig is at {' or '.join(map(visible, paths))}"
        fix = "name a kubeconfig with --kubeconfig or KUBECONFIG"
        raise KronError(Code.CLUSTER, message, fix)
    name = config.current if choice.context is None else choice.context
    if not name:
        message = f"{', '.join(map(visible, config.paths))}: current-context is missing"
        raise KronError(Code.CLUSTER, message, fix="choose one with --context")
    wanted_by = "current-context" if choice.context is None else "--context"
    return _access(config, config.find("context", name, wanted_by), choice)


def _access(config: Kubeconfig, chosen: Section, choice: Choice) -> Access:
    if choice.cluster is None:
        cluster = config.find("cluster", _required(chosen, "cluster"), chosen.place)
    else:
        cluster = config.find("cluster", choice.cluster, "--cluster")
    user = Section("", "", {})
    if choice.user is not None:
        user = config.find("user", choice.user, "--user")
    elif user_name := chosen.text("user"):
        user = config.find("user", user_name, chosen.place)
    server = _address(cluster, _required(cluster, "server"))
    if cluster.text("proxy-url"):
        fix = "reach the API server without a proxy"
        raise cluster.error("proxy-url", "Kron does not support proxies", fix)
    authority = _secret(cluster, "certificate-authority")
    is_verified = not cluster.is_true("insecure-skip-tls-verify")
    if not is_verified and authority.is_set:
        message = "it contradicts the certificate-authority beside it"
        raise cluster.error("insecure-skip-tls-verify", message, "remove one of the two")
    return Access(
        server,
        _credentials(cluster, user, server, authority),
        chosen.text("namespace") or "default",
        authority,
        cluster.text("tls-server-name"),
        is_verified,
    )


def _credentials(cluster: Section, user: Section, server: str, authority: Secret) -> Credentials:
    for refused, fix in _NOT_OURS.items():
        if user.values.get(refused):
            raise user.error(refused, "Kron does not support this", fix)
    certificate, key = _secret(user, "client-certificate"), _secret(user, "client-key")
    if certificate.is_set != key.is_set:
        missing = "client-key" if certificate.is_set else "client-certificate"
        raise user.error(missing, "a certificate and its key go together", f"add {missing}")
    # As kubectl: the file wins over the token beside it.
    token = Secret(user.where("tokenFile"), path=user.file("tokenFile"))
    if not token.path:
        token = Secret(user.where("token"), user.text("token").encode(errors="replace"))
    if user.values.get("exec") is None:
        return StoredCredentials(token, certificate, key, Clock())
    if certificate.is_set or token.is_set:
        message = "a token or a certificate is set, too, and it is unclear which counts"
        raise user.error("exec", message, "keep one of them")
    return _plugin(cluster, user, server, authority)


def _plugin(cluster: Section, user: Section, server: str, authority: Secret) -> Plugin:
    said = user.section("exec")
    version, command = _required(said, "apiVersion"), _required(said, "command")
    if version not in VERSIONS:
        message = f"{quoted(version)} is not known, {' and '.join(VERSIONS)} are"
        raise said.error("apiVersion", message, f"use {VERSIONS[0]}")
    if said.text("interactiveMode") == "Always":
        message = "the plugin wants to ask a person, and Kron runs without one"
        raise said.error("interactiveMode", message, "use IfAvailable, or a token")
    arguments = said.values.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise said.error("args", "a list of strings is expected", 'put each in ""')
    environment = tuple(
        (_required(each, "name"), each.text("value")) for each in said.sections("env")
    )
    return Plugin(
        f"{user.path}: {user.place}",
        version,
        said.file("command") if "/" in command else command,
        tuple(arguments),
        environment,
        said.text("installHint"),
        _cluster_info(cluster, server, authority) if said.is_true("provideClusterInfo") else None,
    )


def _cluster_info(cluster: Section, server: str, authority: Secret) -> Object:
    """What the plugin gets to know about the cluster if it asks for it."""
    extensions = {each.text("name"): each for each in cluster.sections("extensions")}
    extension = extensions.get("client.authentication.k8s.io/exec")
    info = {
        "server": server,
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.is_true("insecure-skip-tls-verify"),
        "certificate-authority-data": b64encode(authority.read()).decode(),
        "config": extension and extension.values.get("extension"),
    }
    return {key: value for key, value in info.items() if value}


def _secret(section: Section, key: str) -> Secret:
    """A secret in the kubeconfig itself or, if it is not there, in a file."""
    data = section.data(f"{key}-data")
    where = section.where(key)
    return Secret(where, data=data) if data else Secret(where, path=section.file(key))


def _required(section: Section, key: str) -> str:
    text = section.text(key)
    if not text:
        raise section.error(key, "it is missing", f"add {key}")
    return text


def _address(section: Section, text: str) -> str:
    """The server's address, checked, because every URL begins with it."""
    fix = "write it like https://10.0.0.1:6443"
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_good = urlsplit(""), False
    if "@" in text or parts.query or parts.fragment:
        # A password in an address would be shown in messages.
        raise section.error("server", "an address has no user, query or fragment", fix)
    if not is_good or not text.isascii() or not text.isprintable() or " " in text:
        message = f"{quoted(text)} is not the address of an API server"
        raise section.error("server", message, fix)
    return text.rstrip("/")


def _trust(context: ssl.SSLContext, secret: Secret, authority: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError):
        place = f"{visible(secret.path)} " if secret.path else ""
        message = f"{secret.name}: {place}holds no certificate in PEM"
        raise KronError(Code.CLUSTER, message, fix="give the cluster's CA in PEM") from None


def _present(context: ssl.SSLContext, credential: Credential) -> None:
    """Load the certificate and its key from a file in memory: OpenSSL reads only files."""
    descriptor = os.memfd_create("kron", os.MFD_CLOEXEC)
    message = "the client certificate and its key are malformed, or do not belong together"
    fix = "give both in PEM, the key without a pass phrase"
    with os.fdopen(descriptor, "wb") as file:
        file.write(credential.certificate.rstrip() + b"\n" + credential.key)
        file.flush()
        try:
            # Without a pass phrase of ours, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password="")
        except (ssl.SSLError, OSError, ValueError):
            raise KronError(Code.CLUSTER, message, fix) from None
