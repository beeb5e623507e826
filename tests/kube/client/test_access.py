"""Where the cluster is and who we are to it: what is read, what is refused and how it is said."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import ssl
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import Code, KronError
from kron.kube.client import access as access_module
from kron.kube.client import resumption
from kron.kube.client.access import Access, find_access, in_cluster, known_names
from kron.kube.client.client import Client
from kron.kube.client.credentials import Credential, Secret, StoredCredentials
from kron.kube.client.errors import ApiError
from kron.kube.client.plugin import Plugin
from kron.kube.client.resources import JOBS
from kron.kube.client.session import Sessions
from kron.testing.clock import FakeClock
from tests.kube.client.server import FakeServer, obj, run
from tests.soak import examples

SECRET = "s3cr3t-t0ken"
SERVER = "https://10.0.0.1:6443"


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine that the tests run on."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def config(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, name: str = "here"
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": SERVER} | (cluster or {})}],
        "users": [{"name": name, "user": {"token": SECRET} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


def write(path: Path, content: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def credential(access: Access) -> Credential:
    return asyncio.run(access.credentials.read())


def refusal(path: str, context: str | None = None) -> KronError:
    with pytest.raises(KronError) as caught:
        credential(find_access(path, context))
    error = caught.value
    assert error.code is Code.CLUSTER
    assert SECRET not in str(error)
    return error


def test_a_kubeconfig_says_server_token_and_namespace(tmp_path: Path) -> None:
    said = config({"server": f"{SERVER}/", "tls-server-name": "kube"})
    said["contexts"][0]["context"]["namespace"] = "team"
    access = find_access(write(tmp_path / "config", said))
    assert (access.server, access.server_name, access.namespace) == (SERVER, "kube", "team")
    assert credential(access).token == SECRET


def test_json_is_yaml_and_extra_fields_are_no_matter(tmp_path: Path) -> None:
    said = config() | {"preferences": {}, "extensions": None}
    assert find_access(write(tmp_path / "config", json.dumps(said))).server == SERVER


def test_the_order_is_flag_then_variable_then_pod_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(number: int) -> dict[str, Any]:
        return config({"server": f"https://10.0.0.{number}"})

    with pytest.raises(KronError, match="no cluster is named"):
        find_access()
    write(tmp_path / "home" / ".kube" / "config", at(4))
    assert find_access().server == "https://10.0.0.4"
    pod = service_account(tmp_path / "pod")
    monkeypatch.setattr(access_module, "SERVICE_ACCOUNT", str(pod))
    monkeypatch.setattr(in_cluster, "__defaults__", (str(pod),))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.3")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert find_access().server == "https://10.0.0.3:443"
    assert find_access(context="here").server == "https://10.0.0.4"
    monkeypatch.setenv("KUBECONFIG", write(tmp_path / "two", at(2)))
    assert find_access().server == "https://10.0.0.2"
    assert find_access(write(tmp_path / "one", at(1))).server == "https://10.0.0.1"


def test_of_several_files_the_first_to_say_it_wins_and_missing_ones_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = config({"server": "https://1.1.1.1"}), config({"server": "https://2.2.2.2"})
    del first["current-context"]
    second["current-context"] = "other"
    second["contexts"].append({"name": "other", "context": {"cluster": "here", "user": "here"}})
    second["users"][0]["user"]["token"] = "second"
    paths = [
        str(tmp_path / "none"),
        "",
        write(tmp_path / "a" / "1", first),
        write(tmp_path / "b" / "2", second),
    ]
    monkeypatch.setenv("KUBECONFIG", ":".join(paths))
    access = find_access()
    assert (access.server, credential(access).token) == ("https://1.1.1.1", SECRET)
    monkeypatch.setenv("KUBECONFIG", ":".join(reversed(paths)))
    access = find_access()
    assert (access.server, credential(access).token) == ("https://2.2.2.2", "second")


def test_a_cluster_and_a_user_may_be_others_than_the_context_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = config()
    said["clusters"].append({"name": "other", "cluster": {"server": "https://9.9.9.9"}})
    said["users"].append({"name": "jane", "user": {"token": "hers"}})
    path = write(tmp_path / "config", said)
    access = find_access(path, cluster="other", user="jane")
    assert (access.server, credential(access).token) == ("https://9.9.9.9", "hers")
    assert access.namespace == find_access(path).namespace
    assert find_access(path, user="jane").server == find_access(path).server
    with pytest.raises(KronError, match='--user: no user "jnae"'):
        find_access(path, user="jnae")
    with pytest.raises(KronError, match='--cluster: no cluster "x"'):
        find_access(path, cluster="x")
    assert "other" in known_names("cluster", path)
    assert "jane" in known_names("user", path)
    assert known_names("context", str(tmp_path / "absent")) == []
    # Not the cluster of the Pod, which has no other users.
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.9")
    monkeypatch.setenv("KUBECONFIG", path)
    assert find_access(user="jane").server != "https://10.0.0.9"


def test_a_relative_path_is_relative_to_the_file_that_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "deep" / "token", f"{SECRET}\n")
    path = write(tmp_path / "deep" / "config", config(user={"tokenFile": "token"}))
    monkeypatch.chdir(tmp_path)
    assert credential(find_access(path)).token == SECRET
    assert credential(find_access("deep/config")).token == SECRET


def named(key: str, value: object) -> dict[str, Any]:
    return config() | {key: value}


@pytest.mark.parametrize(
    ("said", "words", "fix"),
    [
        pytest.param("[1, 2]", "a mapping is expected, not a list", "", id="list"),
        pytest.param("a: [", "line 1, column 5: not YAML", "", id="yaml"),
        pytest.param("\x00", "not YAML", "", id="nul"),
        pytest.param("[\n" * 50_000, "not YAML", "", id="brackets"),
        pytest.param("!!python/object:os.system {}", "not YAML", "", id="python"),
        pytest.param("a: 2001-99-99", "not YAML", "", id="date"),
        pytest.param("? {a: 1}\n: x", "not YAML", "", id="key"),
        pytest.param("", "current-context is missing", "--context", id="empty"),
        pytest.param({"kind": "Pod"}, 'kind: "Pod" is not a kubeconfig', "Config", id="kind"),
        pytest.param(named("clusters", {}), "clusters: a list is expected", "", id="clusters"),
        pytest.param(named("users", [7]), "users[0]: a mapping is expected", "", id="user"),
        pytest.param(named("users", [{"user": {}}]), "users[0]: it has no name", "", id="unnamed"),
        pytest.param(
            named("users", [{"name": "x"}, {"name": "x"}]), 'the name "x"', "rename", id="twice"
        ),
        pytest.param(
            named("current-context", "heer"), 'no context "heer"', 'did you mean "here"', id="typo"
        ),
        pytest.param(
            named("contexts", [{"name": "here", "context": {"cluster": "zzzzzz"}}]),
            'context "here": no cluster "zzzzzz"',
            'its clusters are: "here"',
            id="no-cluster",
        ),
        pytest.param(
            named("contexts", [{"name": "here", "context": {}}]),
            'context "here": cluster: it is missing',
            "add cluster",
            id="context-without-cluster",
        ),
        pytest.param(config({"server": ""}), "server: it is missing", "add server", id="server"),
        pytest.param(config({"server": 7}), "server: a string is expected", '""', id="number"),
        pytest.param(config({"server": "10.0.0.1"}), "not the address", "https://", id="scheme"),
        pytest.param(config({"server": "https://x:99999"}), "not the address", "", id="port"),
        pytest.param(config({"server": "https://[x"}), "not the address", "", id="brackets-host"),
        pytest.param(config({"server": "https://x/\x1b[1m"}), "not the", "", id="escape"),
        pytest.param(
            config({"server": f"https://u:{SECRET}@x"}), "no user", "https://", id="password"
        ),
        pytest.param(config({"proxy-url": "http://p"}), "proxies", "without a proxy", id="proxy"),
        pytest.param(
            config({"insecure-skip-tls-verify": "yes"}), "true or false", "", id="boolean"
        ),
        pytest.param(
            config({"insecure-skip-tls-verify": True, "certificate-authority": "x"}),
            "insecure-skip-tls-verify",
            "remove one",
            id="insecure-with-ca",
        ),
        pytest.param(
            config({"certificate-authority-data": "%%%"}), "not base64", "base64", id="base64"
        ),
        pytest.param(config(user={"token": 1234}), "token: a string", '""', id="number-token"),
        pytest.param(
            config(user={"token": f"{SECRET} x"}), "not allowed in a token", "one line", id="space"
        ),
        pytest.param(config(user={"token": "\x1b"}), "not allowed in a token", "", id="control"),
        pytest.param(config(user={"tokenFile": "none"}), "tokenFile", "can be read", id="no-file"),
        pytest.param(
            config(user={"tokenFile": "."}), "Is a directory", "can be read", id="directory"
        ),
        pytest.param(config(user={"tokenFile": "a\0b"}), "no NUL", "", id="nul-path"),
        pytest.param(
            config(user={"client-certificate": "x"}), "client-key", "add client-key", id="no-key"
        ),
        pytest.param(
            config(user={"client-key": "x"}),
            "go together",
            "add client-certificate",
            id="no-certificate",
        ),
        pytest.param(
            config(user={"username": "u", "password": SECRET}), "username", "token", id="basic"
        ),
        pytest.param(
            config(user={"auth-provider": {"name": "gcp"}}), "auth-provider", "exec", id="provider"
        ),
        pytest.param(config(user={"token": "x", "as": "root"}), "as:", "that user", id="as"),
        pytest.param(config(user={"exec": "x"}), "exec: a mapping", "", id="exec"),
        pytest.param(config(user={"exec": {}}), "exec: apiVersion: it is", "", id="exec-version"),
        pytest.param(
            config(user={"exec": {"apiVersion": "v9", "command": "x"}}),
            '"v9" is not known',
            "client.authentication.k8s.io/v1",
            id="exec-unknown-version",
        ),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said_with_file_key_and_fix(
    tmp_path: Path, said: Any, words: str, fix: str
) -> None:
    path = write(tmp_path / "config", said)
    error = refusal(path)
    assert words in error.message
    assert fix in error.fix
    assert path in error.message


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"interactiveMode": "Always"}, "ask a person", id="interactive"),
        pytest.param({"args": [1]}, "args: a list of strings", id="args"),
        pytest.param({"args": "x"}, "args: a list of strings", id="args-text"),
        pytest.param({"env": [{"value": "x"}]}, "env: name: it is missing", id="env"),
        pytest.param({"command": "./none"}, "cannot be run", id="no-program"),
        pytest.param({"command": "none-of-this", "installHint": "get it"}, "get it", id="hint"),
    ],
)
def test_what_is_wrong_with_an_exec_plugin_is_said(
    tmp_path: Path, said: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "config", config(user={"exec": EXEC | said}))
    assert words in refusal(path).message


def test_a_missing_or_unreadable_file_is_said(tmp_path: Path) -> None:
    assert "this kubeconfig does not exist" in refusal(str(tmp_path / "none")).message
    assert "Is a directory" in refusal(str(tmp_path)).message
    assert "longer than" in refusal(write(tmp_path / "big", "#" * (5 * 2**20))).message
    assert 'no context "x"' in refusal(write(tmp_path / "config", config()), "x").message


@examples(100)
@given(said=st.binary(max_size=200))
def test_no_bytes_are_a_traceback(tmp_path_factory: pytest.TempPathFactory, said: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hypothesis-config"
    path.write_bytes(said)
    with pytest.raises(KronError):
        find_access(str(path))


def service_account(directory: Path) -> Path:
    directory.mkdir()
    (directory / "token").write_text(f"{SECRET}\n")
    (directory / "ca.crt").write_text("not looked at yet")
    (directory / "namespace").write_text("team\n")
    return directory


def test_in_a_pod_the_service_account_is_used_and_its_token_read_again(tmp_path: Path) -> None:
    pod = service_account(tmp_path / "pod")
    access = in_cluster("fd00::1", "443", str(pod))
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "team")
    assert credential(access).token == SECRET
    (pod / "token").write_text("renewed")
    assert credential(access).token == "renewed"


@pytest.mark.parametrize("missing", ["token", "ca.crt", "namespace"])
def test_a_pod_without_its_service_account_says_what_is_missing(
    tmp_path: Path, missing: str
) -> None:
    pod = service_account(tmp_path / "pod")
    (pod / missing).unlink()
    with pytest.raises(KronError, match=missing) as caught:
        in_cluster("10.0.0.1", "443", str(pod))
    assert caught.value.code is Code.CLUSTER


def test_a_port_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(KronError, match="KUBERNETES_SERVICE_PORT"):
        in_cluster("10.0.0.1", "tcp://", str(service_account(tmp_path / "pod")))


def test_files_are_read_again_each_minute(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    clock = FakeClock("2026-03-01T00:00:00Z")
    token = Secret("tokenFile", path=str(tmp_path / "token"))
    stored = StoredCredentials(token, Secret(""), Secret(""), clock)
    read = asyncio.run(stored.read())
    clock.advance(59)
    assert stored.is_fresh(read)
    clock.advance(2)
    assert not stored.is_fresh(read)
    fixed = StoredCredentials(Secret("token", b"x"), Secret(""), Secret(""), clock)
    assert fixed.is_fresh(Credential("x"))


def test_no_secret_is_shown_by_accident() -> None:
    shown = repr(Credential(SECRET, b"", SECRET.encode())) + repr(Secret("x", SECRET.encode()))
    access = Access(
        SERVER,
        StoredCredentials(
            Secret("t", SECRET.encode()), Secret(""), Secret(""), FakeClock("2026-03-01T00:00:00Z")
        ),
    )
    assert SECRET not in shown + repr(access)


def script(directory: Path, body: str) -> str:
    path = directory / "plugin"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def printed(**status: Any) -> str:
    value = {"apiVersion": EXEC["apiVersion"], "kind": "ExecCredential", "status": status}
    return f"echo '{json.dumps(value)}'"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_exec_plugin_is_run_with_its_arguments_environment_and_cluster(
    tmp_path: Path, version: str
) -> None:
    version = f"client.authentication.k8s.io/{version}"
    script(
        tmp_path,
        'printf "%s" "$KUBERNETES_EXEC_INFO" > "$OUT"\n'
        f'echo "{{\\"apiVersion\\":\\"{version}\\",\\"kind\\":\\"ExecCredential\\",'
        '\\"status\\":{\\"token\\":\\"$1-$WHO\\"}}"',
    )
    said: dict[str, Any] = {"apiVersion": version, "command": "./plugin", "args": ["hello"]}
    said["env"] = [{"name": "WHO", "value": "you"}, {"name": "OUT", "value": f"{tmp_path}/info"}]
    said["provideClusterInfo"] = True
    authority = base64.b64encode(b"ca").decode()
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {"certificate-authority-data": authority, "extensions": [extension]}
    access = find_access(write(tmp_path / "config", config(cluster, {"exec": said})))
    assert credential(access).token == "hello-you"
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": SERVER,
                "certificate-authority-data": authority,
                "config": {"audience": "x"},
            },
        },
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("exit 3", "exit status 3", id="fails"),
        pytest.param(f"echo {SECRET}", "did not print an ExecCredential", id="no-json"),
        pytest.param("echo '{}'", "did not print an ExecCredential", id="empty"),
        pytest.param("yes", "prints more than", id="endless"),
        pytest.param(printed(), "neither a token nor a certificate", id="nothing"),
        pytest.param(printed(token=5), "token that", id="number"),
        pytest.param(printed(clientKeyData=SECRET), "not both", id="key-alone"),
        pytest.param(printed(token=f"{SECRET} x"), "not allowed in a token", id="space"),
        pytest.param(printed(token=SECRET).replace("/v1", "/v2"), "that is not of", id="v2"),
        pytest.param(
            printed(token=SECRET, expirationTimestamp="soon"),
            '"soon", which is not a time',
            id="time",
        ),
        pytest.param(
            printed(token=SECRET, expirationTimestamp="2026-03-01T00:00:00"), "not a time", id="tz"
        ),
    ],
)
def test_a_plugin_that_goes_wrong_is_an_error_without_its_secrets(
    tmp_path: Path, body: str, words: str
) -> None:
    script(tmp_path, body)
    said = EXEC | {"command": "./plugin"}
    error = refusal(write(tmp_path / "config", config(user={"exec": said})))
    assert words in error.message
    assert f"{tmp_path}/config" in error.message


@pytest.mark.heavy
def test_a_plugin_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kron.kube.client.plugin._PATIENCE_S", 0.5)
    body = f"echo $$ > {tmp_path}/pid; sleep 60"
    plugin = Plugin("config", EXEC["apiVersion"], script(tmp_path, body))
    with pytest.raises(KronError, match=r"takes over 0\.5 s"):
        asyncio.run(plugin.read())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_a_plugin_printed_is_used_until_it_expires(tmp_path: Path) -> None:
    body = printed(token=SECRET, expirationTimestamp="2026-03-01T00:10:00Z")
    clock = FakeClock("2026-03-01T00:00:00Z")
    plugin = Plugin("config", EXEC["apiVersion"], script(tmp_path, body), clock=clock)
    read = asyncio.run(plugin.read())
    assert plugin.is_fresh(read)
    clock.advance(9 * 60)
    assert plugin.is_fresh(read)
    clock.advance(59)
    assert not plugin.is_fresh(read)
    assert plugin.is_fresh(Credential("for-ever"))


class Authority:
    """A CA of our own, a server's certificate and a client's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.make("ca", "", "basicConstraints=critical,CA:TRUE")
        self.make("server", "ca", "subjectAltName=DNS:kube.test")
        self.make("client", "ca", "extendedKeyUsage=clientAuth")

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def make(self, name: str, issuer: str, extension: str) -> None:
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        words += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
        words += ["-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.crt")]
        words += ["-addext", extension]
        if issuer:
            words += ["-CA", self.path(f"{issuer}.crt"), "-CAkey", self.path(f"{issuer}.key")]
        subprocess.run(words, check=True, capture_output=True, timeout=20)

    def data(self, name: str) -> str:
        return base64.b64encode((self.directory / name).read_bytes()).decode()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return Authority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def asked(
    authority: Authority, cluster: dict[str, Any], user: dict[str, Any]
) -> AsyncIterator[Client]:
    """A client of a server with TLS, which answers with what it knows of the connection:

    the names in the client's certificate, and whether it goes on with the session of another.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.path("server.crt"), authority.path("server.key"))
    context.load_verify_locations(authority.path("ca.crt"))
    context.verify_mode = ssl.CERT_OPTIONAL

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert") or {}
        names = [value for [(key, value)] in certificate.get("subject", ()) if key == "commonName"]
        is_resumed = request.transport.get_extra_info("ssl_object").session_reused
        await asyncio.sleep(0.05)  # so that the next request needs another connection
        return web.json_response({"names": names, "is_resumed": is_resumed})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.01)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        server = f"https://127.0.0.1:{runner.addresses[0][1]}"
        said = config({"server": server} | cluster, user)
        access = find_access(write(authority.directory / "config", said))
        async with Client(access, user_agent="x") as client:
            yield client
    finally:
        await runner.cleanup()


async def ask(authority: Authority, cluster: dict[str, Any], user: dict[str, Any]) -> str:
    """The name in the client's certificate; '' for none."""
    async with asked(authority, cluster, user) as client:
        return "".join((await client.get(JOBS, "ns", "a"))["names"])


def test_the_server_is_verified_and_the_client_shows_its_certificate(authority: Authority) -> None:
    named_right = {"tls-server-name": "kube.test"}
    by_file = {"certificate-authority": "ca.crt"} | named_right
    by_data = {"certificate-authority-data": authority.data("ca.crt")} | named_right
    file_user = {"client-certificate": "client.crt", "client-key": "client.key"}
    data_user = {
        "client-certificate-data": authority.data("client.crt"),
        "client-key-data": authority.data("client.key"),
    }

    async def test() -> None:
        assert await ask(authority, by_file, file_user) == "client"
        assert await ask(authority, by_data, data_user) == "client"
        assert await ask(authority, by_data, {}) == ""
        assert await ask(authority, {"insecure-skip-tls-verify": True}, {}) == ""

    run(test())


def test_later_connections_resume_the_session_of_the_first(authority: Authority) -> None:
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": "kube.test"}
    user = {"client-certificate": "client.crt", "client-key": "client.key"}

    async def test() -> None:
        async with asked(authority, cluster, user) as client:

            async def request() -> tuple[str, bool]:
                answer = await client.get(JOBS, "ns", "a")
                return "".join(answer["names"]), answer["is_resumed"]

            assert await request() == ("client", False)
            at_once = await asyncio.gather(*(request() for _ in range(5)))
            assert sorted(at_once) == [("client", False), *[("client", True)] * 4]

    run(test())


def test_a_handshake_without_an_end_keeps_the_next_connection_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when the API server dies. Asking for the session of such a connection fails with OpenSSL
    3.0; a newer one gives a session that cannot be resumed.
    """
    monkeypatch.setattr(resumption, "_LOOK_EVERY_S", 0.0)
    context = resumption.ResumingContext(ssl.PROTOCOL_TLS_CLIENT)

    def connection() -> ssl.SSLObject:
        return context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="kube.test")

    first = connection()
    with pytest.raises(ssl.SSLWantReadError):
        first.do_handshake()
    with suppress(ValueError):
        assert first.session is not None
        assert not first.session.has_ticket
    assert connection() is not first
    assert context._session is None


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        pytest.param({"tls-server-name": "kube.test"}, {}, "certificate verify failed", id="ca"),
        pytest.param({"certificate-authority": "ca.crt"}, {}, "verify failed", id="name"),
        pytest.param({"certificate-authority": "ca.key"}, {}, "holds no certificate", id="pem"),
        pytest.param(
            {"certificate-authority": "ca.crt"},
            {"client-certificate": "client.crt", "client-key": "ca.key"},
            "do not belong together",
            id="key-of-another",
        ),
        pytest.param(
            {"certificate-authority": "ca.crt"},
            {"client-certificate": "client.crt", "client-key": "locked.key"},
            "without a pass phrase",
            id="locked-key",
        ),
    ],
)
def test_a_certificate_that_is_wrong_is_refused(
    authority: Authority, cluster: dict[str, Any], user: dict[str, Any], words: str
) -> None:
    locked = ["openssl", "ec", "-in", authority.path("client.key"), "-aes128"]
    locked += ["-passout", "pass:x", "-out", authority.path("locked.key")]
    subprocess.run(locked, check=True, capture_output=True, timeout=20)

    async def test() -> None:
        with pytest.raises(ApiError) as caught:
            await ask(authority, cluster, user)
        assert words in str(caught.value)

    run(test())


def test_a_cluster_with_a_new_authority_is_believed_once_the_file_has_it(
    authority: Authority,
) -> None:
    async def test() -> None:
        believed = authority.directory / "believed.crt"
        shutil.copy(authority.path("client.crt"), believed)
        cluster = {"certificate-authority": "believed.crt", "tls-server-name": "kube.test"}
        async with asked(authority, cluster, {}) as client:
            with pytest.raises(ApiError, match="verify failed") as caught:
                await client.get(JOBS, "ns", "a")
            assert "certificate-authority" in caught.value.fix
            shutil.copy(authority.path("ca.crt"), believed)
            assert (await client.get(JOBS, "ns", "a"))["names"] == []

    run(test())


def test_a_renewed_certificate_is_shown_on_a_new_connection(tmp_path: Path) -> None:
    async def test() -> None:
        async with FakeServer(otherwise=obj({})) as server:
            (tmp_path / "c").write_text("one")
            pieces = Secret("client-certificate", path=str(tmp_path / "c")), Secret("", b"key")
            clock = FakeClock("2026-03-01T00:00:00Z")
            stored = StoredCredentials(Secret(""), *pieces, clock)
            access = server.access().replace(credentials=stored)
            async with Client(access, user_agent="x") as client:
                await client.get(JOBS, "ns", "a")
                clock.advance(61)
                await client.get(JOBS, "ns", "a")
                (tmp_path / "c").write_text("two")
                clock.advance(61)
                await client.get(JOBS, "ns", "a")
            first, second, third = (request.connection for request in server.requests)
            assert first == second
            assert third != second

    run(test())


def test_a_pipe_is_read_and_one_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "current-context is missing" in refusal(str(pipe)).message
    with subprocess.Popen(
        ["sh", "-c", f"sleep 0.05; echo '{json.dumps(config())}'"], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert find_access(f"/dev/fd/{writer.stdout.fileno()}").server == SERVER


@pytest.mark.heavy
def test_a_plugin_that_takes_longer_than_a_request_may_is_run_once_for_all_of_them(
    tmp_path: Path,
) -> None:
    said = '{"apiVersion":"%s","kind":"ExecCredential","status":{"token":"t"}}'
    body = f"echo begun >> {tmp_path}/runs; sleep 0.5; echo '{said % EXEC['apiVersion']}'"
    plugin = Plugin("config", EXEC["apiVersion"], script(tmp_path, body))
    access = Access("http://127.0.0.1:1", plugin)

    async def ask() -> None:
        sessions = Sessions(access, "kron-test")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await sessions.current()
        assert (await sessions.current()).credential.token == "t"
        await sessions.close()

    asyncio.run(ask())
    assert (tmp_path / "runs").read_text() == "begun\n"
