"""The operator as a process: the part of the harness that other tests start it with."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.cluster.operator import Operator, replicas
from tests.moment import soon


def test_an_operator_starts_leads_runs_a_kronjob_and_stops(
    kronjobs: KronJobs, operator: Operator
) -> None:
    operator.start()
    operator.wait_until_leading()
    at_s = soon(3)
    kronjobs.make_due("nightly", at_s)
    [job] = kronjobs.wait_for_jobs("nightly")
    assert operator.wait_for_event("job_created", "nightly").time_ns >= at_s * 10**9
    assert job["metadata"]["ownerReferences"][0]["name"] == "nightly"
    assert kronjobs.wait_for_status("nightly", lastOutcome="executed")
    assert operator.http("/healthz")[0] == 200
    assert operator.metrics()
    assert operator.memory_bytes() > 10**6
    assert operator.stop() == 0
    assert operator.holder() == ""
    operator.check_log()


def test_a_request_that_is_not_http_leaves_no_trace_in_the_log(operator: Operator) -> None:
    """Anybody who reaches the port may send one, and the log is what replay reads."""
    operator.start()
    for request in (b"GET /" + b"A" * 9000 + b" HTTP/1.1\r\n\r\n", b"\x00\xff\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", operator.port), timeout=5) as connection:
            connection.sendall(request)
            assert connection.recv(1000).startswith(b"HTTP/1.")
    assert operator.http("/healthz")[0] == 200
    assert operator.stop() == 0
    operator.check_log()
    assert all(line.startswith("{") for line in operator.log.read_text().splitlines())


def test_replicas_share_a_lease_and_one_can_be_paused(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with replicas(cluster, namespace, tmp_path) as (one, other):
        one.start()
        one.wait_until_leading()
        other.start()
        assert other.holder() == one.identity
        other.pause()
        assert one.stop() == 0
        assert other.holder() == ""
        other.resume()
        other.wait_until_leading()
