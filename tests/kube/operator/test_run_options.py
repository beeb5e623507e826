"""The options of `kron-operator run` by which replicas find each other."""

from __future__ import annotations

import pytest

from kron.console.parser import Parser, UsageError
from kron.kube.operator.commands import run
from kron.kube.operator.commands.run import _peer_address


@pytest.mark.parametrize(
    ("pod_ip", "http", "found"),
    [
        pytest.param("10.1.2.3", ("0.0.0.0", 8080), "10.1.2.3:8080", id="all-addresses"),
        pytest.param("10.1.2.3", ("10.1.2.3", 8080), "10.1.2.3:8080", id="this-address"),
        pytest.param("fd00::1", ("::", 8080), "[fd00::1]:8080", id="six"),
        pytest.param("fd00::1", ("0.0.0.0", 8080), "", id="nobody-listens-on-six"),
        pytest.param("10.1.2.3", ("127.0.0.1", 8080), "", id="only-loopback-listens"),
        pytest.param("10.1.2.3", None, "", id="nobody-listens"),
        pytest.param("", ("0.0.0.0", 8080), "", id="not-in-a-pod"),
    ],
)
def test_a_replica_names_an_address_only_where_it_listens(
    monkeypatch: pytest.MonkeyPatch, pod_ip: str, http: tuple[str, int] | None, found: str
) -> None:
    monkeypatch.setenv("POD_IP", pod_ip)
    assert _peer_address(None, http) == found
    assert _peer_address("", http) == ""


def test_an_address_without_a_port_to_listen_on_is_refused() -> None:
    with pytest.raises(UsageError, match="--peer-address needs a port to listen on"):
        _peer_address("10.1.2.3:80", None)


@pytest.mark.parametrize("word", ["--peer-address=here", "--namespace=Bad_NS", "--namespace="])
def test_what_is_no_address_or_namespace_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        Parser("kron-operator run", "", run).parse_args([word])


def test_a_container_that_is_started_again_keeps_its_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POD_UID", "1234")
    assert run._identity() == run._identity()
    monkeypatch.delenv("POD_UID")
    assert run._identity() != run._identity()


@pytest.mark.parametrize(
    ("word", "why"),
    [("2d", "2d"), ("-5m", "5m"), ("1.5s", "not a number of whole seconds"), ("soon", "soon")],
)
def test_a_default_deadline_is_a_duration_of_whole_seconds(word: str, why: str) -> None:
    parser = Parser("kron-operator run", "", run)
    assert parser.parse_args(["--default-deadline=10m"]).default_deadline == 600
    with pytest.raises(UsageError, match=why):
        parser.parse_args([f"--default-deadline={word}"])
