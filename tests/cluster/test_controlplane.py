"""The harness itself: what other tests here take for granted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import children
from tests.cluster.api import Api, Object, RefusedError
from tests.cluster.controlplane import ROOT, ControlPlane
from tests.cluster.keeper import shared
from tests.cluster.kronjobs import NEVER, due_at, is_finished, job_template, kronjob
from tests.logbook import wait_for
from tests.moment import soon
from tools.cluster import CONTROLPLANE


def make_job(cluster: ControlPlane, namespace: str, name: str, template: Object) -> None:
    cluster.api().create("jobs", namespace, {"metadata": {"name": name}} | template)


def wait_for_end(cluster: ControlPlane, namespace: str, name: str) -> Object:
    def look() -> Object | None:
        job = cluster.api().get("jobs", namespace, name)
        return job if is_finished(job) else None

    return wait_for(look, f"{name} ends")


def test_it_says_which_kubernetes_it_is(cluster: ControlPlane) -> None:
    said = cluster.kubectl("version").stdout
    pinned = re.search(r"k8s\.io/kubernetes (\S+)", (CONTROLPLANE.module / "go.mod").read_text())
    assert pinned is not None
    assert f"Client Version: {pinned[1]}\n" in said
    assert f"Server Version: {pinned[1]}\n" in said


# The stand-in for the kubelet


@pytest.mark.parametrize(
    ("template", "outcome"),
    [
        pytest.param(job_template(), "Complete", id="at once"),
        pytest.param(job_template(runs_for="0.2"), "Complete", id="after a while"),
        pytest.param(job_template(exit_code=3), "Failed", id="at once, with an error"),
        pytest.param(job_template(runs_for="0.2", exit_code=3), "Failed", id="later, with one"),
    ],
)
def test_the_job_controller_finishes_a_job_as_its_pod_ends(
    cluster: ControlPlane, namespace: str, template: Object, outcome: str
) -> None:
    make_job(cluster, namespace, "job", template)
    job = wait_for_end(cluster, namespace, "job")
    assert outcome in [
        condition["type"] for condition in job["status"]["conditions"] if condition["status"]
    ]


def test_a_pod_runs_for_ever_until_it_is_deleted_and_takes_its_time_then(
    cluster: ControlPlane, namespace: str
) -> None:
    api = cluster.api()
    make_job(cluster, namespace, "job", job_template(runs_for=NEVER, stops_after="0.7"))
    wait_for(lambda: api.get("jobs", namespace, "job")["status"].get("ready"), "it runs")
    began_s = time.monotonic()
    api.delete("jobs", namespace, "job", propagation="Foreground")
    assert api.get("jobs", namespace, "job")["metadata"]["deletionTimestamp"]
    wait_for(lambda: api.find("jobs", namespace, "job") is None, "it is gone")
    assert time.monotonic() - began_s > 0.7
    assert api.list("pods", namespace) == []


def test_a_pod_that_never_stops_holds_its_job_until_someone_removes_it(
    cluster: ControlPlane, namespace: str
) -> None:
    api = cluster.api()
    make_job(cluster, namespace, "job", job_template(runs_for=NEVER, stops_after=NEVER))
    wait_for(lambda: api.get("jobs", namespace, "job")["status"].get("ready"), "it runs")
    [pod] = [each["metadata"]["name"] for each in api.list("pods", namespace)]
    api.delete("jobs", namespace, "job", propagation="Foreground")

    def is_deleting() -> bool:
        return "deletionTimestamp" in api.get("pods", namespace, pod)["metadata"]

    wait_for(is_deleting, "the Pod is told to stop")
    assert api.find("jobs", namespace, "job") is not None
    api.delete("pods", namespace, pod, grace_s=0)
    wait_for(lambda: api.find("jobs", namespace, "job") is None, "it is gone")


def test_a_native_cronjob_is_known_and_its_job_runs_when_made_by_hand(
    cluster: ControlPlane, namespace: str
) -> None:
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": job_template()}
    cluster.api().create("cronjobs", namespace, {"metadata": {"name": "native"}, "spec": spec})
    words = ("create", "job", "by-hand", "--from=cronjob/native", f"--namespace={namespace}")
    assert cluster.kubectl(*words).returncode == 0
    wait_for_end(cluster, namespace, "by-hand")


def test_the_kubelet_keeps_up_with_fifty_pods_at_once(
    cluster: ControlPlane, namespace: str
) -> None:
    for number in range(50):
        make_job(cluster, namespace, f"job-{number}", job_template())

    def all_ended() -> bool:
        return all(is_finished(job) for job in cluster.api().list("jobs", namespace))

    wait_for(all_ended, "fifty Jobs end")


def test_a_deleted_kronjob_takes_its_jobs_with_it(cluster: ControlPlane, namespace: str) -> None:
    """At once: the garbage collector has known KronJobs from its start."""
    api = cluster.api()
    made = api.create("kronjobs", namespace, kronjob("gone", "0 0 1 1 *"))
    owner = {"apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "name": "gone"}
    owner["uid"] = made["metadata"]["uid"]
    metadata = {"name": "job", "ownerReferences": [owner]}
    api.create("jobs", namespace, {"metadata": metadata} | job_template())
    wait_for_end(cluster, namespace, "job")
    api.delete("kronjobs", namespace, "gone")
    wait_for(lambda: api.find("jobs", namespace, "job") is None, "its Job is gone", 15)


# Users and what they did


def test_who_has_no_role_may_do_nothing(cluster: ControlPlane, namespace: str) -> None:
    with pytest.raises(RefusedError, match="403") as refusal:
        cluster.api("nobody").list("jobs", namespace)
    assert 'User "nobody" cannot list resource "jobs"' in str(refusal.value)
    with (
        Api(cluster.url, "no such token", cluster.ca) as stranger,
        pytest.raises(RefusedError, match="401"),
    ):
        stranger.list("jobs", namespace)


@pytest.mark.parametrize(
    "lifetime_s", [pytest.param(3600, id="from the API server"), pytest.param(20, id="signed here")]
)
def test_a_service_account_has_the_rights_that_it_was_given(
    cluster: ControlPlane, namespace: str, lifetime_s: int
) -> None:
    admin = cluster.api()
    admin.create("serviceaccounts", namespace, {"metadata": {"name": "reader"}})
    rule = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]}
    admin.create("roles", namespace, {"metadata": {"name": "read"}, "rules": [rule]})
    account = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read"}
    binding = {"metadata": {"name": "read"}, "roleRef": role, "subjects": [account]}
    admin.create("rolebindings", namespace, binding)

    token = cluster.token_for_service_account(namespace, "reader", lifetime_s)
    with Api(cluster.url, token, cluster.ca) as reader:
        wait_for(lambda: _allowed(lambda: reader.list("jobs", namespace)), "RBAC knows the role")
        with pytest.raises(RefusedError, match="403"):
            reader.list("pods", namespace)


def _allowed(request: Callable[[], object]) -> bool:
    try:
        request()
    except RefusedError as refusal:
        if refusal.status != 403:
            raise
        return False
    return True


def test_a_token_that_has_expired_is_refused(cluster: ControlPlane, namespace: str) -> None:
    cluster.api().create("serviceaccounts", namespace, {"metadata": {"name": "late"}})

    def status(token: str) -> int:
        with Api(cluster.url, token, cluster.ca) as late:
            try:
                late.list("jobs", namespace)
            except RefusedError as refusal:
                return refusal.status
        return 200

    assert status(cluster.token_for_service_account(namespace, "late", 0)) == 401
    assert status(cluster.token_for_service_account(namespace, "late", 60)) == 403


def test_the_audit_log_names_who_asked_for_what_and_the_answer(
    cluster: ControlPlane, namespace: str
) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "uid": "12-34"}
    # It is collected at once, since there is no such owner: nothing else is asked of it.
    metadata = {"name": "owned", "ownerReferences": [owner]}
    cluster.api().create("jobs", namespace, {"metadata": metadata} | job_template())
    cluster.api().create("jobs", namespace, {"metadata": {"name": "seen"}} | job_template())
    with pytest.raises(RefusedError, match="409"):
        cluster.api().create("jobs", namespace, {"metadata": {"name": "seen"}} | job_template())
    with pytest.raises(RefusedError, match="403"):
        cluster.api("nobody").delete("jobs", namespace, "seen")

    seen = [
        (request.user, request.verb, request.name, request.code, request.owners)
        for request in cluster.audit(namespace)
        if request.resource == "jobs" and request.user in ("admin", "nobody")
    ]
    assert seen == [
        ("admin", "create", "owned", 201, ("ConfigMap/own/12-34",)),
        ("admin", "create", "seen", 201, ()),
        ("admin", "create", "seen", 409, ()),
        ("nobody", "delete", "seen", 403, ()),
    ]


def test_kronjobs_are_defined(cluster: ControlPlane, namespace: str) -> None:
    made = kronjob("nightly", due_at(namespace, "nightly", soon()))
    cluster.api().create("kronjobs", namespace, made)
    answer = cluster.kubectl("get", "kronjob", "nightly", f"--namespace={namespace}")
    assert answer.returncode == 0, answer.stderr
    assert "nightly" in answer.stdout


# Starting and stopping


def test_parts_can_be_stopped_and_started_and_the_data_is_kept(own_cluster: ControlPlane) -> None:
    api = own_cluster.api()
    make_job(own_cluster, "default", "before", job_template())
    wait_for_end(own_cluster, "default", "before")

    own_cluster.stop_api()
    with pytest.raises(OSError, match="refused"):
        api.list("jobs", "default")
    own_cluster.start_api()
    assert [job["metadata"]["name"] for job in api.list("jobs", "default")] == ["before"]

    own_cluster.stop_etcd()
    own_cluster.start_etcd()
    wait_for(lambda: _answers(api), "the API server finds etcd again")
    assert [job["metadata"]["name"] for job in api.list("jobs", "default")] == ["before"]

    own_cluster.stop_controllers()
    own_cluster.stop_kubelet()
    make_job(own_cluster, "default", "after", job_template())
    own_cluster.start_controllers()
    own_cluster.start_kubelet()
    wait_for_end(own_cluster, "default", "after")


def _answers(api: Api) -> bool:
    try:
        return bool(api.request("GET", "/readyz"))
    except (RefusedError, OSError):
        return False


def processes_of(directory: Path) -> list[int]:
    """By their command lines and environments, where the directory stands."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                text = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in text:
                found.append(int(process.name))
    return found


USE = """
import sys, time
from collections.abc import Callable
from pathlib import Path
from tests.cluster.keeper import shared
with shared(Path(sys.argv[1])) as cluster:
    cluster.api().list("namespaces")
    print("in", flush=True)
    sys.stdin.read()
"""


def use(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", USE, str(directory)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_shared_one_ends_with_its_last_user_however_that_ends(
    programs: Path, tmp_path: Path
) -> None:
    directory = tmp_path / ("x" * 120)  # longer than the name of a socket can be
    with use(directory) as one, use(directory) as other:
        assert one.stdout is not None
        assert other.stdout is not None
        assert one.stdout.readline() == other.stdout.readline() == "in\n"
        assert len(processes_of(directory)) == len(["one", "other", "keeper", *range(4)])
        one.communicate("")
        with shared(directory) as third:
            assert third.api().list("namespaces")
        other.send_signal(signal.SIGKILL)
        other.communicate()
        wait_for(lambda: processes_of(directory) == [], "nothing is left behind")


def test_nothing_outlives_whoever_started_it(programs: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    script = """
import sys
from collections.abc import Callable
from pathlib import Path
from tests.cluster.controlplane import ControlPlane
ControlPlane.start(Path(sys.argv[1]))
print("started", flush=True)
sys.stdin.read()
"""
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(directory)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
        assert len(processes_of(directory)) == 5
        starter.kill()
    wait_for(lambda: processes_of(directory) == [], "nothing is left behind")


def test_a_child_is_given_time_and_then_killed(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1); time.sleep(99)"
    log = tmp_path / "log"
    child = children.start([sys.executable, "-uc", stubborn], log, dict(os.environ))
    wait_for(log.read_text, "it ignores SIGTERM")
    assert children.stop(child, 0.1) == -signal.SIGKILL
