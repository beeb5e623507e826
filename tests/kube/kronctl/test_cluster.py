"""What kronctl says of a cluster that lacks KronJobs, or that is away."""

from __future__ import annotations

import pytest

from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob, kronjob
from tests.kube.kronctl.server import serving, use

UNKNOWN = (
    "the KronJob resource is not installed in the cluster "
    "(kron-operator crd | kubectl apply --server-side --force-conflicts -f -)"
)


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("next", "backup"),
        ("suspend", "backup"),
        ("resume", "backup"),
        ("trigger", "backup"),
        ("diff", "-f", "a.yaml"),
        ("migrate", "--apply", "--dry-run"),
        ("migrate", "--apply", "--yes"),
    ],
    ids=" ".join,
)
def test_a_cluster_without_the_resource_is_told_how_to_get_it(
    kronctl: Kronctl, words: tuple[str, ...]
) -> None:
    kronctl.write("a.yaml", kronjob())
    with serving(cronjob(), has_kronjobs=False) as address:
        use(kronctl, address)
        ran = kronctl(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.rstrip().endswith(UNKNOWN)


def test_a_cluster_that_knows_kronjobs_says_which_is_not_there(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob())
    with serving(cronjob()) as address:
        use(kronctl, address)
        ran = kronctl("suspend", "backup")
        assert (ran.code, ran.err) == (1, "prod/backup: this KronJob does not exist\n")
        assert kronctl("diff", "-f", "a.yaml").lines[0].startswith("added ")
        ran = kronctl("migrate", "--apply", "--dry-run")
        told = "would create the KronJob, suspended, suspend the CronJob, resume the KronJob"
        assert (ran.code, ran.out) == (0, f"prod/report: {told}\n")


def test_a_dry_run_tells_whose_kronjob_is_in_the_way(kronctl: Kronctl) -> None:
    with serving(cronjob("backup"), kronjob("backup"), cronjob()) as address:
        use(kronctl, address)
        ran = kronctl("migrate", "--apply", "--dry-run")
    assert ran.code == 1
    assert "prod/backup: a KronJob of this name exists" in ran.err
    assert ran.out.startswith("prod/report: would create")


def test_the_deadline_of_the_operator_and_a_suspension_in_the_text_are_shown(
    kronctl: Kronctl,
) -> None:
    status = "status: {deadline: 10m, suspended: true}\n"
    asleep = kronjob("asleep", schedule="0 2 * * * @policy(suspend=true)")
    with serving(kronjob("backup") + status, asleep + status) as address:
        use(kronctl, address)
        assert "may start 10m late" in kronctl("explain", "backup").out
        listed = kronctl("list", "--format", "json").json["kronjobs"]
    assert {each["name"]: each["suspended"] for each in listed} == {"asleep": True, "backup": False}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_cluster_that_is_away_is_named_with_what_to_check(kronctl: Kronctl, scheme: str) -> None:
    use(kronctl, f"{scheme}://127.0.0.1:1")
    ran = kronctl("list")
    assert (ran.code, ran.out) == (2, "")
    assert f"cannot connect to {scheme}://127.0.0.1:1: Connection refused" in ran.err
    assert "--context, KUBECONFIG" in ran.err
    assert "ssl:" not in ran.err


def test_a_server_without_tls_is_named_as_well(kronctl: Kronctl) -> None:
    with serving() as address:
        use(kronctl, address.replace("http:", "https:"))
        ran = kronctl("list")
    assert ran.code == 2
    assert f"cannot connect to {address.replace('http:', 'https:')}: " in ran.err
