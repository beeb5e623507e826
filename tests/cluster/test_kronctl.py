"""kronctl against a real API server: what it shows, what it changes, and CronJobs moved over."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from kron.core.errors import KronError
from kron.kube.client.resources import Resource
from kron.kube.kronctl.lookup import find_all
from kron.kube.kronctl.migrate.apply import FROM_ANNOTATION, PENDING_ANNOTATION, TO_ANNOTATION
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, job_template, kronjob
from tests.krontab.command import AT, Ran
from tests.krontab.schemas import validate
from tests.kube.kronctl.command import Kronctl
from tests.logbook import wait_for

CRONJOBS = Path(__file__).parent.parent / "kube/kronctl/migrate/cronjobs"
NIGHTLY = "0 2 * * * @win(after,3h)"


class OnCluster(Kronctl):
    """kronctl with the kubeconfig of a user whose context is a namespace."""

    def __init__(self, directory: Path, kubeconfig: str, namespace: str = "") -> None:
        super().__init__(directory)
        self.environment["KUBECONFIG"] = kubeconfig
        self.namespace = namespace


@pytest.fixture
def kronctl(cluster: ControlPlane, namespace: str, tmp_path: Path) -> OnCluster:
    return OnCluster(tmp_path, cluster.kubeconfig(namespace=namespace), namespace)


def make_cronjob(
    cluster: ControlPlane, namespace: str, name: str, schedule: str = "0 2 * * *", **spec: Any
) -> Object:
    made = {
        "metadata": {"name": name},
        "spec": {"schedule": schedule, "jobTemplate": job_template()} | spec,
    }
    return cluster.api().create("cronjobs", namespace, made)


def read_cronjob(cluster: ControlPlane, namespace: str, name: str) -> Object:
    return cluster.api().get("cronjobs", namespace, name)


# What it shows


def test_next_and_explain_say_the_same_of_the_cluster_and_of_a_file(
    kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    kronjobs.make("backup", NIGHTLY)
    manifest = kronjob("backup", NIGHTLY)
    kronctl.write("backup.yaml", yaml.safe_dump(manifest))
    for command in ("next", "explain"):
        words = (command, "backup", "--at", AT, "--format", "json")
        told = kronctl(*words).fine().json
        offline = kronctl(*words, "-f", "backup.yaml", "-n", kronjobs.namespace).fine().json
        for place in ("path", "line"):
            offline.pop(place, None), told.pop(place, None)
        assert told == offline
        assert told["identity"] == f"{kronjobs.namespace}/backup"
    text = kronctl("explain", f"{kronjobs.namespace}/backup", "--at", AT).fine()
    assert text.lines[0] == f"backup  namespace {kronjobs.namespace}"


def test_what_is_not_there_is_exit_code_1(kronctl: OnCluster) -> None:
    for words in (("next", "absent"), ("trigger", "absent"), ("migrate", "absent")):
        ran = kronctl(*words)
        assert (ran.code, ran.out) == (1, "")
        assert f'Job "{kronctl.namespace}/absent" does not exist' in ran.err


def test_a_cluster_that_refuses_or_is_away_is_exit_code_2(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    nobody = OnCluster(tmp_path / "a", cluster.kubeconfig("nobody", namespace))
    ran = nobody("list")
    assert (ran.code, ran.out) == (2, "")
    assert "forbidden" in ran.err
    config = yaml.safe_load(Path(cluster.kubeconfig()).read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    away = tmp_path / "away"
    away.write_text(yaml.safe_dump(config))
    ran = OnCluster(tmp_path / "b", str(away))("list")
    assert ran.code == 2
    assert "127.0.0.1" in ran.err


def test_a_cluster_without_the_resource_is_told_how_to_get_it(
    cluster: ControlPlane, namespace: str
) -> None:
    arguments = Namespace(
        kubeconfig=cluster.kubeconfig(),
        context=None,
        namespace=namespace,
        all_namespaces=False,
        selector="",
        cluster=None,
        user=None,
        as_user=None,
        as_group=[],
        request_timeout=None,
    )
    unknown = Resource("kron.example", "v1", "kronjobs")
    with pytest.raises(KronError, match=r"not installed in the cluster \(kron-operator crd"):
        find_all(arguments, unknown)


def test_list_shows_what_spec_and_status_say(
    kronctl: OnCluster, kronjobs: KronJobs, cluster: ControlPlane
) -> None:
    kronjobs.make("backup", NIGHTLY)
    kronjobs.make("rest", NIGHTLY, policy={"suspend": True})
    kronjobs.make("wrong", "0 0 31 2 *")
    ended = {"name": "i", "result": "Failed", "completionTime": "2026-03-01T02:31:00Z"}
    status = {
        "lastOutcome": "executed",
        "lastFailureTime": ended["completionTime"],
        "recentRuns": [ended],
        "active": [{"name": "j", "uid": "u"}],
        "activeCount": 1,
    }
    cluster.api().patch(
        "kronjobs", kronjobs.namespace, "backup", {"status": status}, subresource="status"
    )
    ran = kronctl("list", "--at", AT)
    assert ran.code == 0
    rows = {line.split()[0].rpartition("/")[2]: line for line in ran.lines[1:]}
    assert ran.lines[0].split() == [
        "NAME",
        "NEXT",
        "RUN",
        "(UTC)",
        "IN",
        "READY",
        "LAST",
        "LAST",
        "RESULT",
        "ACTIVE",
        "SCHEDULE",
    ]
    assert rows["backup"].endswith(f"executed  Failed            1  {NIGHTLY}")
    assert "suspended" in rows["rest"]
    assert "invalid" in rows["wrong"]
    listed = kronctl("list", "-A", "--format", "json").json["kronjobs"]
    mine = [each for each in listed if each["namespace"] == kronjobs.namespace]
    assert {each["name"]: each["valid"] for each in mine} == {
        "backup": True,
        "rest": True,
        "wrong": False,
    }
    [backup] = [each for each in mine if each["name"] == "backup"]
    results = [backup[f"last_{what}"] for what in ("result", "success", "failure")]
    assert results == ["Failed", None, "2026-03-01T02:31:00Z"]
    names = kronctl("list", "--format", "names").fine().lines
    assert names == [f"{kronjobs.namespace}/{name}" for name in ("backup", "rest", "wrong")]


def test_diff_compares_a_manifest_with_the_cluster(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    kronjobs.make("backup", NIGHTLY)
    kronctl.write("same.yaml", yaml.safe_dump(kronjob("backup", NIGHTLY)))
    kronctl.write("new.yaml", yaml.safe_dump(kronjob("backup", "0 4 * * *")))
    kronctl.write("added.yaml", yaml.safe_dump(kronjob("added", "0 4 * * *")))
    same = kronctl("diff", "-f", "same.yaml").fine()
    assert same.lines == ["0 jobs differ in the next 7 days, 1 does not"]
    new = kronctl("diff", "-f", "new.yaml", "--at", AT, "--days", "1")
    assert (new.code, new.lines[0]) == (1, f"changed {kronjobs.namespace}/backup  (2 runs)")
    assert kronctl("diff", "-f", "added.yaml").lines[0].startswith("added")


def test_kubectl_kron_is_the_same_command(
    cluster: ControlPlane, namespace: str, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    kronjobs.make("backup", NIGHTLY)
    code = "import sys; from kron.kube.kronctl.program import main; sys.exit(main())"
    kronctl.write("bin/kubectl-kron", f"#!{sys.executable}\n{code}\n", mode=0o755)
    path = f"{kronctl.path('bin')}{os.pathsep}{os.defpath}"
    ran = subprocess.run(
        [str(cluster.programs / "kubectl"), "kron", "next", "backup", "--at", AT],
        env={**kronctl.environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout == kronctl("next", "backup", "--at", AT).fine().out


def test_kubectl_completes_names_of_kronjobs_after_kron(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    kronjobs.make("backup", NIGHTLY)
    kronjobs.make("report", NIGHTLY)
    for name, module in (("kubectl-kron", "program"), ("kubectl_complete-kron", "completer")):
        code = f"import sys; from kron.kube.kronctl.{module} import main; sys.exit(main())"
        kronctl.write(f"bin/{name}", f"#!{sys.executable}\n{code}\n", mode=0o755)
    path = f"{kronctl.path('bin')}{os.pathsep}{os.defpath}"

    def complete(*words: str) -> list[str]:
        ran = subprocess.run(
            [str(cluster.programs / "kubectl"), "__complete", "kron", *words],
            env={**kronctl.environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return ran.stdout.splitlines()

    def proposes(*expected: str, at: tuple[str, ...]) -> None:
        # Again and again: the completer takes 2 s at the most, also on a machine that is busy.
        said = partial(complete, *at)
        wait_for(lambda: said() == list(expected), " ".join(at), instead=said)

    proposes("backup", "report", ":4", at=("list", ""))
    proposes("kj/report", ":4", at=("next", "kj/re"))
    proposes(kronjobs.namespace, ":4", at=("list", "-n", kronjobs.namespace[:-1]))
    proposes(":0", at=("validate", "-f", ""))
    assert complete("expl")[0].startswith("explain\t")


# What it changes


def test_suspend_and_resume_say_what_they_changed(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    for name in ("one", "two"):
        kronjobs.make(name, NIGHTLY, policy={"concurrency": "allow"})
    kronjobs.make("says", f"{NIGHTLY} @policy(suspend=true)")
    space = kronjobs.namespace
    ran = kronctl("suspend", "one", f"{space}/two")
    assert ran.lines == [f"{space}/{n}: suspended; active Jobs continue" for n in ("one", "two")]
    assert kronjobs.read("one")["spec"]["policy"] == {"concurrency": "allow", "suspend": True}
    assert kronctl("suspend", "one").lines == [f"{space}/one: already suspended"]
    ran = kronctl("resume", "one", "absent", "says", "two")
    assert ran.code == 1
    assert ran.lines == [f"{space}/one: resumed", f"{space}/two: resumed"]
    assert f"{space}/absent: this KronJob does not exist" in ran.err
    assert f"{space}/says: its schedule text sets @policy(suspend=true)" in ran.err
    assert kronjobs.read("one")["spec"]["policy"] == {"concurrency": "allow"}
    again = kronctl("resume", "one")
    assert again.lines == [f"{space}/one: not suspended; nothing was changed"]
    validate(kronctl("resume", "one", "--format", "json").json)
    ran = kronctl("suspend", "one", "absent", "says", "--format", "json")
    assert ran.code == 1
    validate(ran.json)
    assert [
        (each["name"], each["suspended"], each["changed"], each["error"])
        for each in ran.json["kronjobs"]
    ] == [
        ("one", True, True, ""),
        ("absent", None, False, "this KronJob does not exist"),
        ("says", True, False, ""),
    ]


@pytest.mark.parametrize("way", [("--server-side",), ()], ids=["server-side", "client-side"])
def test_resume_leaves_what_was_applied(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs, way: tuple[str, ...]
) -> None:
    """Neither a difference for `kubectl diff` and GitOps, nor a conflict for the next apply."""

    def kubectl(verb: str, name: str) -> None:
        words = (
            verb,
            *way,
            f"--namespace={kronjobs.namespace}",
            "-f",
            kronctl.path(f"{name}.yaml"),
        )
        ran = cluster.kubectl(*words)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    specs: dict[str, Object] = {"without": {}, "with": {"policy": {"deadline": "1h"}}}
    for name, spec in specs.items():
        kronctl.write(f"{name}.yaml", yaml.safe_dump(kronjob(name, NIGHTLY, **spec)))
        kubectl("apply", name)
        before = kronjobs.read(name)["spec"]
        assert kronctl("suspend", name).code == 0
        kubectl("apply", name)
        assert kronjobs.read(name)["spec"]["policy"]["suspend"] is True, "kronctl suspended it"
        assert kronctl("resume", name).code == 0
        assert kronjobs.read(name)["spec"] == before
        kubectl("diff", name)
        assert kronctl("diff", "-f", f"{name}.yaml").code == 0
        # And whoever applies may suspend and resume it from now on.
        for suspend in (True, False):
            policy = {**spec.get("policy", {}), "suspend": suspend}
            kronctl.write(f"{name}.yaml", yaml.safe_dump(kronjob(name, NIGHTLY, policy=policy)))
            kubectl("apply", name)
        assert kronjobs.read(name)["spec"]["policy"]["suspend"] is False
        assert kronctl("suspend", name).code == 0
        assert kronctl("resume", name).code == 0
        kubectl("apply", name)
        assert kronjobs.read(name)["spec"]["policy"]["suspend"] is False


@pytest.mark.parametrize(
    ("exit_code", "code", "told"),
    [pytest.param(0, 0, "is complete", id="complete"), pytest.param(1, 1, "failed", id="failed")],
)
def test_trigger_makes_a_job_and_waits_for_its_end(
    kronctl: OnCluster, kronjobs: KronJobs, exit_code: int, code: int, told: str
) -> None:
    template = job_template(runs_for="0", exit_code=exit_code)
    kronjobs.make("backup", NIGHTLY, template=template, policy={"suspend": True})
    ran = kronctl("trigger", "backup", "--wait")
    assert ran.code == code
    assert told in ran.err
    (job,) = kronjobs.jobs("backup")
    assert ran.lines == [f"job {job['metadata']['name']}"]
    assert job["metadata"]["name"].startswith("backup-manual-")
    assert job["metadata"]["annotations"]["kron.io/manual"] == "true"
    assert job["metadata"]["ownerReferences"][0]["controller"] is True
    for words, outcome in ((("--wait",), told.removeprefix("is ")), ((), None)):
        ran = kronctl("trigger", "backup", *words, "--format", "json")
        assert ran.code == (code if words else 0)
        validate(ran.json)
        assert (ran.json["name"], ran.json["outcome"]) == ("backup", outcome)
        assert ran.json["job"] in {each["metadata"]["name"] for each in kronjobs.jobs("backup")}


def test_a_name_of_52_characters_can_be_triggered_again_and_again(
    kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    name = "k" * 52
    kronjobs.make(name, NIGHTLY)
    made = {kronctl("trigger", name).lines[0] for _ in range(3)}
    assert len(made) == 3
    assert {len(line.removeprefix("job ")) for line in made} == {63}


# CronJobs moved over


def apply(kronctl: OnCluster, *words: str) -> Ran:
    return kronctl("migrate", *words, "--apply", "--yes")


def test_apply_puts_a_kronjob_in_the_place_of_a_cronjob(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    space = kronjobs.namespace
    made = make_cronjob(cluster, space, "report", concurrencyPolicy="Forbid")
    ran = apply(kronctl, "report")
    assert ran.code == 0, ran.err
    steps = ("KronJob created, suspended", "CronJob suspended", "KronJob resumed")
    assert ran.lines == [f"{space}/report: {step}" for step in steps]
    cronjob, made_of_it = read_cronjob(cluster, space, "report"), kronjobs.read("report")
    assert cronjob["spec"]["suspend"] is True
    assert cronjob["metadata"]["annotations"] == {TO_ANNOTATION: "report"}
    assert made_of_it["spec"]["policy"] == {"concurrency": "forbid", "deadline": "24h"}
    assert made_of_it["metadata"]["annotations"] == {FROM_ANNOTATION: made["metadata"]["uid"]}
    assert made_of_it["spec"]["jobTemplate"]["spec"] == made["spec"]["jobTemplate"]["spec"]
    again = apply(kronctl, "report")
    assert again.lines == [f"{space}/report: already migrated"]
    assert kronctl("next", "report").code == 0


def test_the_audit_log_never_sees_both_active(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    space = kronjobs.namespace
    make_cronjob(cluster, space, "report")
    assert apply(kronctl, "report").code == 0
    writes = [
        (request.verb, request.resource)
        for request in cluster.audit(space)
        if request.is_write and request.agent.startswith("kronctl/")
    ]
    assert writes == [("create", "kronjobs"), ("patch", "cronjobs"), ("patch", "kronjobs")]


def test_a_migration_that_failed_half_way_is_completed(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    """As if the connection had been lost after the first step, and after the second."""
    space = kronjobs.namespace
    for name, suspended in (("one", False), ("two", True)):
        made = make_cronjob(cluster, space, name, suspend=suspended)
        half = kronjob(name, "0 2 * * *", template=made["spec"]["jobTemplate"])
        annotations = {FROM_ANNOTATION: made["metadata"]["uid"], PENDING_ANNOTATION: "resume"}
        half["metadata"]["annotations"] = annotations
        half["spec"]["policy"] = {"suspend": True}
        cluster.api().create("kronjobs", space, half)
    ran = apply(kronctl)
    assert ran.code == 0, ran.err
    assert f"{space}/one: KronJob of an earlier try replaced, suspended" in ran.lines
    assert f"{space}/two: KronJob updated, suspended" in ran.lines
    for name in ("one", "two"):
        assert read_cronjob(cluster, space, name)["spec"]["suspend"] is True
        assert not kronjobs.read(name)["spec"]["policy"].get("suspend")
        assert PENDING_ANNOTATION not in kronjobs.read(name)["metadata"]["annotations"]


def test_what_is_somebody_else_s_is_left_alone_and_the_others_are_done(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    space = kronjobs.namespace
    make_cronjob(cluster, space, "mine")
    make_cronjob(cluster, space, "taken")
    kronjobs.make("taken", NIGHTLY)
    ran = apply(kronctl)
    assert ran.code == 1
    assert f"{space}/taken: a KronJob of this name exists" in ran.err
    assert f"{space}/mine: KronJob resumed" in ran.lines
    assert not read_cronjob(cluster, space, "taken")["spec"]["suspend"]
    assert kronjobs.read("taken")["spec"]["schedule"] == NIGHTLY


def test_a_dry_run_and_a_question_without_an_answer_change_nothing(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    space = kronjobs.namespace
    make_cronjob(cluster, space, "report")
    dry = kronctl("migrate", "--apply", "--dry-run")
    assert (dry.code, dry.lines[0].partition(": ")[0]) == (0, f"{space}/report")
    ran = kronctl("migrate", "--apply")
    assert (ran.code, ran.out) == (2, "")
    assert "add --yes" in ran.err
    assert not read_cronjob(cluster, space, "report")["spec"]["suspend"]
    assert kronjobs.api.list("kronjobs", space) == []


def test_every_chart_s_cronjob_can_be_moved_over(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    """Those that the server takes: it takes no zone in a schedule any more."""
    space = kronjobs.namespace
    files = [path for path in sorted(CRONJOBS.iterdir()) if path.stem != "not-to-migrate"]
    made = []
    for path in files:
        obj = yaml.safe_load(path.read_text())
        (obj,) = obj.get("items", [obj])
        zone, _, schedule = obj["spec"]["schedule"].rpartition("New_York ")
        obj["spec"]["schedule"] = schedule
        if zone:
            obj["spec"]["timeZone"] = "America/New_York"
        name, labels = obj["metadata"]["name"], obj["metadata"].get("labels", {})
        obj["metadata"] = {"name": name, "labels": labels}
        made.append(cluster.api().create("cronjobs", space, obj)["metadata"]["name"])
    assert len(made) >= 8
    ran = apply(kronctl, "--spread", "auto")
    assert ran.code == 0, ran.err
    for name in made:
        assert read_cronjob(cluster, space, name)["spec"]["suspend"] is True
    suspended = [
        name for name in made if kronjobs.read(name)["spec"]["policy"].get("suspend") is True
    ]
    assert suspended == ["weekly-report"]  # as its CronJob was
    listed = kronctl("list", "--format", "json").json["kronjobs"]
    assert sorted(each["name"] for each in listed if each["valid"]) == sorted(made)


def test_manifests_from_the_cluster_are_those_that_apply_would_make(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    make_cronjob(cluster, kronjobs.namespace, "report", timeZone="Europe/Paris")
    ran = kronctl("migrate", "-l", "team=none")
    assert (ran.code, ran.out) == (0, "")
    ran = kronctl("migrate")
    assert ran.code == 0
    applied = cluster.kubectl("apply", "-f", "-", input=ran.out)
    assert applied.returncode == 0, applied.stderr
    assert kronjobs.read("report")["spec"]["timeZone"] == "Europe/Paris"
