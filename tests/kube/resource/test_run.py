"""The Job of a period: its name is the lock, and it says everything about its decision."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
from kron.engine.ledger import Intent
from kron.kube.resource.kronjob import KronJob, read_kronjob
from kron.kube.resource.results import RunResult
from kron.kube.resource.run import (
    NAME_LABEL,
    PERIOD_ID,
    job_name,
    manual_manifest,
    read_run,
    run_manifest,
)
from kron.kube.resource.schema.definition import LONGEST_NAME
from tests.kube.intents import intent_of
from tests.kube.resource.bad_specs import good_kronjob, merged

PERIOD = "2026-03-01T02:30:00Z"
KINDS = ("labels", "annotations")


def kronjob(name: str = "backup", **spec: Any) -> KronJob:
    obj = merged(good_kronjob(name, "prod"), {"metadata": {"uid": "u-1"}, "spec": spec})
    return read_kronjob(obj)


def intent(of: KronJob) -> Intent:
    return intent_of(of, from_text(PERIOD))


def test_the_name_of_a_job_is_for_ever() -> None:
    assert job_name("backup", PERIOD) == "backup-9d949f80f1"


def test_the_longest_name_still_makes_a_job() -> None:
    assert len(job_name("x" * LONGEST_NAME, PERIOD)) == 63


def test_a_run_says_everything_about_its_decision() -> None:
    job = kronjob(window={"mode": "after", "duration": "1h"}, seed={"salt": "a"})
    manifest = run_manifest(job, intent(job), spare_s=5)
    metadata = manifest["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("prod", job_name("backup", PERIOD))
    assert metadata["labels"] == {NAME_LABEL: "backup", PERIOD_ID: "2026-03-01T02-30-00Z"}
    assert metadata["annotations"] == {
        "kron.io/period-id": PERIOD,
        "kron.io/nominal-time": PERIOD,
        "kron.io/chosen-time": "2026-03-01T02:39:30Z",
        "kron.io/window-start": PERIOD,
        "kron.io/window-end": "2026-03-01T03:30:00Z",
        "kron.io/seed-hash": decide_at(job.schedule, job.identity, from_text(PERIOD)).seed_hash,
        "kron.io/schedule": "30 2 * * * @win(after,1h) @seed(stable,salt=a)",
        "kron.io/identity": "prod/backup",
        "kron.io/engine": "1",
        "kron.io/attempts": "1",
    }
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "kron.io/v1alpha1",
            "kind": "KronJob",
            "name": "backup",
            "uid": "u-1",
            "controller": True,
        }
    ]


def test_after_an_edit_a_run_says_what_its_time_was_chosen_by() -> None:
    before = kronjob(window={"mode": "after", "duration": "1h"})
    decided = intent(before)
    annotations = run_manifest(kronjob(), decided, spare_s=5)["metadata"]["annotations"]
    assert annotations["kron.io/schedule"] == decided.schedule == "30 2 * * * @win(after,1h)"
    made = decide_at(before.schedule, before.identity, from_text(PERIOD))
    assert annotations["kron.io/chosen-time"] == to_text(made.chosen_s or 0)
    assert annotations["kron.io/window-end"] == to_text(made.window_end_s)


def test_a_run_whose_decision_cannot_be_made_again_says_nothing_of_it() -> None:
    job = kronjob()
    damaged = intent(job).replace(chosen_s=from_text(PERIOD) + 7)
    assert run_manifest(job, damaged, spare_s=5)["metadata"]["annotations"] == {
        "kron.io/period-id": PERIOD,
        "kron.io/nominal-time": PERIOD,
        "kron.io/chosen-time": "2026-03-01T02:30:07Z",
        "kron.io/identity": "prod/backup",
    }


def test_its_pods_say_it_too() -> None:
    job = kronjob()
    manifest = run_manifest(job, intent(job), spare_s=5)
    pods = manifest["spec"]["template"]["metadata"]
    assert pods["labels"] == manifest["metadata"]["labels"]
    assert pods["annotations"] == manifest["metadata"]["annotations"]


def test_labels_are_ones_that_kubernetes_takes() -> None:
    job = kronjob("x" * LONGEST_NAME)
    for value in run_manifest(job, intent(job), 5)["metadata"]["labels"].values():
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", value)


def test_the_template_keeps_its_own_metadata_and_ours_wins() -> None:
    own = {"labels": {"team": "a", NAME_LABEL: "other"}, "annotations": {"note": "b"}}
    template = {"metadata": own, "spec": {"template": {"metadata": {"finalizers": ["x/y"], **own}}}}
    job = kronjob(jobTemplate=template)
    manifest = run_manifest(job, intent(job), spare_s=5)
    pods = manifest["spec"]["template"]["metadata"]
    for metadata in (manifest["metadata"], pods):
        assert metadata["labels"]["team"] == "a"
        assert metadata["labels"][NAME_LABEL] == "backup"
        assert metadata["annotations"]["note"] == "b"
    assert pods["finalizers"] == ["x/y"]
    assert run_manifest(job, intent(job), spare_s=5) == manifest  # nothing has been changed


def test_a_template_cannot_say_what_only_kron_may_say_of_a_job() -> None:
    """As one does that was made from the output of `kronctl trigger -o yaml`."""
    ours = ("manual", "fence", "period-id", "run-id", "name")
    said = {"metadata": {kind: {f"kron.io/{each}": "true" for each in ours} for kind in KINDS}}
    job = kronjob(jobTemplate={**said, "spec": {"template": said}})
    plain = kronjob()
    made, usual = (run_manifest(each, intent(each), spare_s=5) for each in (job, plain))
    for kind in KINDS:
        assert made["metadata"][kind].keys() == usual["metadata"][kind].keys()
        found, wanted = (each["spec"]["template"]["metadata"][kind] for each in (made, usual))
        assert found.keys() == wanted.keys()
    assert read_run(made).period == PERIOD


def test_a_job_of_a_period_is_one_whatever_else_it_says() -> None:
    """Earlier operators let a template say that a run is manual, and such Jobs exist."""
    job = kronjob()
    made = run_manifest(job, intent(job), spare_s=5)
    made["metadata"]["annotations"]["kron.io/manual"] = "true"
    assert read_run(made).period == PERIOD


@pytest.mark.parametrize(
    ("ttl", "deadline", "expected"),
    [
        pytest.param(10, "10m", 665, id="too-short"),
        pytest.param(700, "10m", 700, id="long-enough"),
        pytest.param(0, "0s", 65, id="no-deadline"),
        pytest.param(None, "10m", None, id="no-ttl"),
        pytest.param(-1, "10m", -1, id="one-that-the-server-refuses"),
        pytest.param(10, "2000000h", 2**31 - 1, id="more-than-kubernetes-takes"),
    ],
)
def test_a_job_does_not_vanish_while_its_period_could_start(
    ttl: object, deadline: str, expected: object
) -> None:
    template = {"spec": {"ttlSecondsAfterFinished": ttl}}
    job = kronjob(policy={"deadline": deadline}, jobTemplate=template)
    spec = run_manifest(job, intent(job), spare_s=5)["spec"]
    assert spec.get("ttlSecondsAfterFinished") == expected


def test_a_manual_run_has_no_period() -> None:
    manifest = manual_manifest(kronjob(), "m4n8x")
    assert manifest["metadata"]["name"] == "backup-m4n8x"
    assert manifest["metadata"]["labels"] == {NAME_LABEL: "backup"}
    assert manifest["metadata"]["annotations"]["kron.io/manual"] == "true"
    run = read_run(manifest)
    assert (run.period, run.kronjob, run.owner_uid) == ("", "backup", "u-1")


@pytest.mark.parametrize("length", range(1, LONGEST_NAME + 1))
def test_the_name_of_a_manual_job_fits_and_differs(length: int) -> None:
    name = "k" * length
    made = manual_manifest(kronjob(name), "manual-bcdfgh")["metadata"]["name"]
    assert made.startswith(f"{name}-manual-bcd")
    assert len(made) <= 63


def test_a_run_is_read_back_from_its_job() -> None:
    job = kronjob()
    manifest = run_manifest(job, intent(job), spare_s=5)
    manifest["metadata"] |= {"uid": "j-1", "creationTimestamp": "2026-03-01T02:30:01Z"}
    run = read_run(manifest)
    assert (run.namespace, run.name, run.uid) == ("prod", job_name("backup", PERIOD), "j-1")
    assert (run.owner_uid, run.kronjob, run.period) == ("u-1", "backup", PERIOD)
    assert run.created_s == from_text("2026-03-01T02:30:01Z")
    assert (run.is_finished, run.is_failed, run.is_deleting) == (False, False, False)
    assert run.finished_s is None


DELETED = "2026-03-01T02:00:00Z"


@pytest.mark.parametrize(
    ("metadata", "status", "is_active"),
    [
        pytest.param({}, {}, True, id="new"),
        pytest.param({}, {"active": 0}, True, id="without-a-pod-yet"),
        pytest.param({"deletionTimestamp": DELETED}, {"active": 1}, True, id="its-pod-runs-on"),
        pytest.param({"deletionTimestamp": DELETED}, {"terminating": 1}, True, id="its-pod-stops"),
        pytest.param(
            {"deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion", "other"]},
            {"terminating": 0},
            True,
            id="what-belongs-to-it-goes-first",
        ),
        pytest.param(
            {"deletionTimestamp": DELETED, "finalizers": ["other"]},
            {"active": 0, "terminating": 0},
            False,
            id="a-finalizer-holds-it",
        ),
        pytest.param({"deletionTimestamp": DELETED, "finalizers": 5}, {}, False, id="without-pods"),
        pytest.param({"finalizers": ["other"]}, {}, True, id="not-deleted"),
    ],
)
def test_a_job_that_is_being_deleted_is_active_while_it_has_pods(
    metadata: dict[str, object], status: dict[str, object], *, is_active: bool
) -> None:
    assert read_run({"metadata": metadata, "status": status}).is_active is is_active


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": "2026-03-01T02:40:00Z"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, (False, False, None), id="running"),
        pytest.param(
            {"conditions": [condition("Suspended")]}, (False, False, None), id="suspended"
        ),
        pytest.param(
            {"conditions": [condition("FailureTarget")]}, (False, False, None), id="failing"
        ),
        pytest.param(
            {"conditions": [condition("Complete", "False")]}, (False, False, None), id="not-yet"
        ),
        pytest.param(
            {"conditions": [condition("Complete")], "completionTime": "2026-03-01T02:39:59Z"},
            (True, False, "2026-03-01T02:39:59Z"),
            id="complete",
        ),
        pytest.param(
            {"conditions": [condition("FailureTarget"), condition("Failed")]},
            (True, True, "2026-03-01T02:40:00Z"),
            id="failed",
        ),
    ],
)
def test_how_a_run_ended_is_read(status: dict[str, Any], expected: tuple[object, ...]) -> None:
    run = read_run({"metadata": {}, "status": status})
    finished_s = None if expected[2] is None else from_text(str(expected[2]))
    assert (run.is_finished, run.is_failed, run.finished_s) == (*expected[:2], finished_s)


def test_a_failure_says_why_and_not_at_any_length() -> None:
    failed = condition("Failed") | {"reason": "R" * 999, "message": "m" * 99_999}
    metadata = {"name": "job", "creationTimestamp": "2026-03-01T02:30:01Z"}
    status = {"conditions": [failed], "startTime": "2026-03-01T02:30:02Z"}
    result = read_run({"metadata": metadata, "status": status}).result
    times = from_text("2026-03-01T02:30:02Z"), from_text("2026-03-01T02:40:00Z")
    assert result == RunResult("job", "", True, *times, "R" * 100, "m" * 300)


def test_a_finished_job_without_times_has_those_of_its_creation() -> None:
    metadata = {"name": "job", "creationTimestamp": PERIOD}
    status = {"conditions": [{"type": "Complete", "status": "True"}]}
    result = read_run({"metadata": metadata, "status": status}).result
    assert result == RunResult("job", "", False, from_text(PERIOD), from_text(PERIOD))
    assert read_run({"metadata": metadata}).result is None


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param({"kind": "KronJob", "uid": "x", "controller": True}, id="no-group"),
        pytest.param(
            {"apiVersion": "batch/v1", "kind": "CronJob", "uid": "x", "controller": True},
            id="other",
        ),
        pytest.param(
            {"apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "uid": "x"}, id="no-controller"
        ),
        pytest.param("x", id="text"),
    ],
)
def test_only_its_controller_owns_a_job(owner: object) -> None:
    assert read_run({"metadata": {"ownerReferences": [owner]}}).owner_uid == ""
