"""An operator with --default-deadline: what it lets run, and what people see of it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.operator import Operator
from tests.cluster.outcomes import LATE, wait_for_outcome
from tests.cluster.slots import HOUR_S, MINUTE_S, Slot, remember
from tests.cluster.test_kronctl import OnCluster


def test_a_late_run_starts_by_the_default_and_everybody_sees_deadline_and_suspension(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator, tmp_path: Path
) -> None:
    slot = Slot(namespace)
    chosen_s = int(time.time()) - MINUTE_S
    brief = job_template(ttlSecondsAfterFinished=1)
    for name, policy, more in (
        ("late", {}, ""),
        ("strict", {"deadline": "0s"}, ""),
        ("asleep", {}, "@policy(suspend=true)"),
    ):
        schedule = slot.aim(name, chosen_s, more=more)
        made = kronjobs.make(name, schedule, policy=policy, template=brief)
        through_s = slot.nominal_s - HOUR_S
        remember(kronjobs, made, through_s, through_s=through_s)
    operator.start("--default-deadline", "10m")

    assert wait_for_outcome(kronjobs, "late", "executed")["deadline"] == "10m"
    status = wait_for_outcome(kronjobs, "strict", "missed")
    assert (status["deadline"], status["lastReason"]) == ("0s", LATE)
    [missed] = operator.wait_for_events("missed_deadline", "strict")
    assert missed["deadline"] == "0s"
    kronjobs.wait_for_status("asleep", suspended=True, deadline="10m")
    [job] = kronjobs.jobs("late")
    assert job["spec"]["ttlSecondsAfterFinished"] > 600, "a request may come so late"
    operator.check_log()

    head, *rows = cluster.kubectl("get", "kj", "-n", namespace).stdout.splitlines()
    column = head.index("SUSPENDED")
    shown = {row.split()[0]: row[column:].split()[0] for row in rows}
    assert shown == {"asleep": "true", "late": "false", "strict": "false"}
    kronctl = OnCluster(tmp_path, cluster.kubeconfig(namespace=namespace))
    listed = kronctl("list", "--format", "json").fine().json["kronjobs"]
    assert {each["name"]: str(each["suspended"]).lower() for each in listed} == shown
    for name, deadline in (("late", "10m"), ("strict", "0s")):
        explained = kronctl("explain", name, "--format", "json").fine().json
        assert explained["policy"]["deadline"] == deadline
    assert "may start 10m late" in kronctl("explain", "late").fine().out
