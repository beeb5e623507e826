"""kron-operator on a real node: our image, our manifests, real Pods, real deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from kron.runtime import DEFAULT_SLACK_S
from tests.cluster.kronjobs import is_finished
from tests.cluster.once import executed_once, made_by
from tests.cluster.outcomes import wait_until_seen
from tests.logbook import wait_for
from tests.node.archive import BUSYBOX
from tests.node.deployment import ACCOUNT, MANIFESTS, NAMESPACE, Deployment, process_of
from tests.node.load import Load
from tests.node.node import Node
from tests.node.runs import (
    FINISHED_S,
    check_confined,
    make_in_time,
    namespace_of,
    results,
    template,
)


def test_the_manifests_make_two_replicas_without_rights(node: Node, deployment: Deployment) -> None:
    api = node.cluster.api()
    labels = api.get("namespaces", None, NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    pods = deployment.pods()
    assert len(pods) == 2
    for pod in pods:
        process = Path("/proc", str(process_of(pod)))
        status = dict(
            line.split(":\t", 1) for line in (process / "status").read_text().splitlines()
        )
        assert set(status["Uid"].split()) == {"65532"}
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        [root] = [
            line.split()[3]
            for line in (process / "mounts").read_text().splitlines()
            if line.split()[1] == "/"
        ]
        assert "ro" in root.split(",")
    refused = node.cluster.kubectl(
        *("run", "root", "-n", NAMESPACE, f"--image={BUSYBOX}", "--dry-run=server")
    )
    assert 'violates PodSecurity "restricted' in refused.stderr


def test_a_pod_runs_at_its_second_and_its_exit_is_the_result(
    node: Node, deployment: Deployment
) -> None:
    """How late is the operator's slack: a Job in its second needs a machine that has time."""
    with namespace_of(node, "runs") as kronjobs:
        at_s, period, [works, fails] = make_in_time(
            kronjobs, template("echo $PERIOD at $(date +%s)"), template("exit 3")
        )
        executed_once(node.cluster, kronjobs, works, period)
        [request] = made_by(node.cluster, kronjobs, works, period)
        assert request.user == ACCOUNT
        late_s = datetime.fromisoformat(request.at).timestamp() - at_s
        assert 0 <= late_s <= DEFAULT_SLACK_S
        for name, result in ((works, "Succeeded"), (fails, "Failed")):
            runs = results(kronjobs, name)
            assert [(each["periodID"], each["result"]) for each in runs] == [(period, result)]
        said, _, moment = deployment.kubectl("logs", "-n", "runs", f"job/{request.name}").split()
        assert said == period
        assert at_s <= int(moment)
        print(f"the Job came {late_s:.2f} s late, its container {int(moment) - at_s} s")
        deployment.check_logs()


def test_no_death_of_a_leader_costs_a_run(node: Node, deployment: Deployment) -> None:
    load = Load(node.cluster, "deaths")
    leader = deployment.leader()
    deployment.delete(leader)
    deployment.wait_for_another_leader(leader)
    deployment.wait_for_rollout()
    for number in (signal.SIGKILL, signal.SIGTERM):
        leader = deployment.leader()
        deployment.signal(leader, number)
        deployment.wait_for_another_leader(leader)
        deployment.wait_for_restart(leader)
    load.judge(40, ACCOUNT)
    load.stop()
    deployment.check_logs()


def test_a_rolling_upgrade_costs_no_run(node: Node, deployment: Deployment) -> None:
    next_image = node.tag("kron-operator:latest", "next")
    before = {pod["metadata"]["uid"] for pod in deployment.pods()}
    load = Load(node.cluster, "upgrade")
    deployment.set_image(next_image)
    deployment.wait_for_rollout()
    load.judge(20, ACCOUNT)
    load.stop()
    pods = deployment.pods()
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in pods)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {next_image}


def test_kubectl_kron_works_from_outside(node: Node, deployment: Deployment) -> None:
    with namespace_of(node, "outside") as kronjobs:
        kronjobs.make("yearly", "0 0 1 1 *", template=template("echo by hand"))
        wait_until_seen(kronjobs, "yearly")
        assert "yearly" in kubectl_kron(node, "list")
        assert "suspended" in kubectl_kron(node, "suspend", "yearly")
        assert kronjobs.read("yearly")["spec"]["policy"]["suspend"]
        kubectl_kron(node, "trigger", "yearly")
        [job] = kronjobs.wait_for_jobs("yearly")
        name = job["metadata"]["name"]
        wait_for(lambda: is_finished(kronjobs.jobs("yearly")[0]), "it has finished", FINISHED_S)
        assert deployment.kubectl("logs", "-n", "outside", f"job/{name}") == "by hand\n"


def kubectl_kron(node: Node, *words: str) -> str:
    """`kubectl kron <words>`: kubectl finds the plugin beside this Python, on PATH."""
    cluster = node.cluster
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(cluster.directory),
        "KUBECONFIG": cluster.kubeconfig(namespace="outside"),
    }
    done = subprocess.run(
        [str(cluster.programs / "kubectl"), "kron", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_confined_to_a_namespace_it_does_nothing_elsewhere(
    node: Node, deployment: Deployment
) -> None:
    with namespace_of(node, "team-a") as kronjobs, namespace_of(node, "team-b") as others:
        node.cluster.api().delete("clusterrolebindings", None, "kron-operator")
        deployment.apply(MANIFESTS / "namespaced")
        check_confined(node, kronjobs, others)
