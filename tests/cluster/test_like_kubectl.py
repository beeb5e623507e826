"""kronctl as a user of kubectl expects it: outputs, watches, dry runs, impersonation."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.test_kronctl import NIGHTLY, OnCluster
from tests.krontab.command import AT
from tests.logbook import PATIENCE_S, wait_for

READY = {
    "type": "Ready",
    "status": "False",
    "reason": "Forbidden",
    "message": "quota is used up",
    "lastTransitionTime": AT,
    "observedGeneration": 1,
}


@pytest.fixture
def kronctl(cluster: ControlPlane, namespace: str, tmp_path: Path) -> OnCluster:
    return OnCluster(tmp_path, cluster.kubeconfig(namespace=namespace), namespace)


def test_objects_are_printed_as_kubectl_prints_them(
    cluster: ControlPlane, kronctl: OnCluster, kronjobs: KronJobs
) -> None:
    space = kronjobs.namespace
    kronjobs.make("one", NIGHTLY)
    kronjobs.make("two", f"{NIGHTLY} @policy(suspend=true)")
    kronjobs.make("third", NIGHTLY)

    def kubectl(*words: str) -> str:
        ran = cluster.kubectl("get", "kronjobs", f"--namespace={space}", *words)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    for form, read in (("yaml", yaml.safe_load), ("json", json.loads)):
        assert read(kronctl("list", "one", "-o", form).fine().out) == read(
            kubectl("one", "-o", form)
        )
        ours = read(kronctl("list", "-o", form, "--sort", "name").fine().out)
        theirs = read(kubectl("-o", form))
        assert ours["items"] == theirs["items"]
        assert (ours["apiVersion"], ours["kind"]) == (theirs["apiVersion"], theirs["kind"])
    names = kronctl("list", "-o", "name", "--sort", "name").fine()
    assert names.out == kubectl("-o", "name")
    for name in names.lines:  # and it takes what it prints
        assert kronctl("next", name).code == 0
    # A KronJob that is not ready is seen, and why; one that the text suspends is suspended.
    cluster.api().patch(
        "kronjobs", space, "one", {"status": {"conditions": [READY]}}, subresource="status"
    )
    wide = kronctl("list", "-o", "wide", "--at", AT)
    rows = {line.split()[0].rpartition("/")[2]: line for line in wide.lines[1:]}
    assert "False: Forbidden" in rows["one"]
    assert "Unknown" in rows["third"]
    assert f"note: {space}/one is not ready: Forbidden: quota is used up" in wide.err
    assert "SUSPENDED" in wide.lines[0]
    assert "true" in rows["two"].split()
    assert "false" in rows["one"].split()
    listed = {each["name"]: each for each in kronctl("list", "--format", "json").json["kronjobs"]}
    assert [listed["one"][f"ready{what}"] for what in ("", "_reason", "_message")] == [
        False,
        "Forbidden",
        "quota is used up",
    ]
    assert listed["third"]["ready"] is None
    assert listed["two"]["suspended"] is True
    kronjobs.change(
        "one", schedule="0 3 * * *"
    )  # what the operator said was about the earlier spec
    [one] = kronctl("list", "one", "--format", "json").json["kronjobs"]
    assert one["ready"] is None


def test_suspend_and_resume_take_labels_and_all(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    space, api = kronjobs.namespace, kronjobs.api
    for name in ("one", "two", "three"):
        kronjobs.make(name, NIGHTLY)
    api.patch("kronjobs", space, "one", {"metadata": {"labels": {"team": "data"}}})

    def suspended() -> set[str]:
        listed = kronctl("list", "--format", "json").json["kronjobs"]
        return {each["name"] for each in listed if each["suspended"]}

    assert kronctl("suspend", "-l", "team=data").code == 0
    assert suspended() == {"one"}
    assert kronctl("suspend", "-l", "team=none").err.startswith("no KronJobs were found")
    assert kronctl("suspend", "--all").code == 0
    assert suspended() == {"one", "two", "three"}
    assert kronctl("resume", "--all").code == 0
    assert suspended() == set()


def test_a_watch_shows_changes_and_ends_with_ctrl_c(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    kronjobs.make("one", NIGHTLY)
    out = Path(kronctl.path("out"))
    with out.open("w") as stream:
        watching = subprocess.Popen(
            [sys.executable, "-m", "kron.kube.kronctl", "list", "--watch"],
            stdout=stream,
            stderr=subprocess.PIPE,
            env=kronctl.environment,
            cwd=kronctl.directory,
            text=True,
        )

    def shows(name: str, word: str) -> None:
        def look() -> bool:
            last = out.read_text().splitlines()[-1:]
            return any(f"/{name} " in line and word in line for line in last)

        wait_for(look, f"{name} {word}", PATIENCE_S, out.read_text)

    try:
        shows("one", "Unknown")
        kronjobs.suspend("one")
        shows("one", "suspended")
        kronjobs.make("two", NIGHTLY)
        shows("two", "Unknown")
        kronjobs.delete("one")
        shows("one", "deleted")
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=PATIENCE_S)
        assert (watching.returncode, err) == (130, "")
    finally:
        watching.kill()
        watching.wait()


def test_trigger_names_sets_and_rehearses(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    template = job_template()
    pod = template["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": "LEVEL", "value": "1"}, {"name": "KEPT", "value": "k"}]
    pod["initContainers"] = [{"name": "first", "image": "none"}]
    kronjobs.make("backup", NIGHTLY, template=template)
    words = ("trigger", "kj/backup", "--env", "LEVEL=9", "--env", "NEW=a=b")
    for dry in ("client", "server"):
        ran = kronctl(*words, f"--dry-run={dry}", "--name", "mine", "-o", "yaml")
        job = yaml.safe_load(ran.out)
        assert (ran.code, job["kind"], job["metadata"]["name"]) == (0, "Job", "mine")
        assert "nothing was created" in ran.err
        assert ("uid" in job["metadata"]) == (dry == "server")
    assert kronctl("trigger", "backup", "--dry-run=server", "--format", "json").json["dry_run"]
    assert kronjobs.jobs() == []
    assert kronctl(*words, "--name", "mine", "-o", "name").lines == ["job.batch/mine"]
    [job] = kronjobs.jobs()
    made = job["spec"]["template"]["spec"]
    assert made["containers"][0]["env"] == [
        {"name": "LEVEL", "value": "9"},
        {"name": "KEPT", "value": "k"},
        {"name": "NEW", "value": "a=b"},
    ]
    assert [each["name"] for each in made["initContainers"][0]["env"]] == ["LEVEL", "NEW"]
    again = kronctl("trigger", "backup", "--name", "mine")
    assert (again.code, again.out) == (1, "")
    assert f'a Job "{kronjobs.namespace}/mine" exists already' in again.err
    # What the server would refuse, a dry run on the server shows.
    broken = job_template()
    broken["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    kronjobs.make("broken", NIGHTLY, template=broken)
    assert kronctl("trigger", "broken", "--dry-run=client").code == 0
    refused = kronctl("trigger", "broken", "--dry-run=server")
    assert (refused.code, refused.out) == (2, "")
    assert "imagee" in refused.err


def test_as_acts_as_somebody_else(kronctl: OnCluster, kronjobs: KronJobs) -> None:
    kronjobs.make("backup", NIGHTLY)
    ran = kronctl("list", "--as", "jane", "--as-group", "one", "--as-group", "two")
    assert ran.code == 2
    assert 'User "jane" cannot list' in ran.err
    assert kronctl("list", "--as", "jane", "--as-group", "system:masters").code == 0
    words = ("--as-group", "other", "--as-group", "system:masters")
    assert kronctl("list", "--as", "jane", *words, "--request-timeout", "0").code == 0
