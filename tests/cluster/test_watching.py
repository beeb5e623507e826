"""Watches that break, expire and fall silent: the operator sees everything again by itself.

What happens while it does not see is told by a relist, which writes nothing where nothing has
changed.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.account import Account
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.cluster.once import all_executed_once, drop_half_line, executed_once, make_once
from tests.cluster.operator import Operator
from tests.cluster.proxy import ANSWER, CUT, SILENCE, Proxy
from tests.logbook import wait_for
from tests.moment import soon

LONG = "5m"
NEVER_SOON = "0 0 29 2 *"


def lists(proxy: Proxy) -> int:
    """How often KronJobs were listed."""
    return len(proxy.seen("list", "kronjobs"))


def writes(proxy: Proxy) -> list[Object]:
    """What was written so far, apart from the lease and Events."""
    return [
        each
        for each in proxy.seen()
        if each["verb"] not in ("get", "list", "watch", "dry-run")
        and each["resource"] not in ("leases", "events")
    ]


def wait_until_known(operator: Operator, count: int) -> None:
    """Wait until the operator knows so many KronJobs, and has no status left to write."""

    def is_so() -> bool:
        metrics = operator.metrics()
        return (metrics["kron_kronjobs"], metrics["kron_statuses_waiting"]) == (count, 0)

    wait_for(is_so, f"{count} KronJobs are known")


def wait_until_lists(proxy: Proxy, count: int) -> None:
    """Wait until there were more than so many lists."""
    wait_for(lambda: lists(proxy) > count, "there was a list")


def test_watches_resume_when_cut_and_list_again_when_expired_which_writes_nothing(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    account = Account(cluster, namespace)
    with (
        Proxy(cluster, tmp_path) as proxy,
        Operator(cluster, namespace, tmp_path, kubeconfig=account.kubeconfig(proxy)) as operator,
    ):
        for number in range(10):
            kronjobs.make(f"idle-{number}", NEVER_SOON)
        operator.start()
        operator.wait_for_event("ready")
        period = make_once(kronjobs, "done", soon(3), deadline=LONG)
        executed_once(cluster, kronjobs, "done", period)
        wait_until_known(operator, 11)

        # Cut: it goes on where it was, without a list, and sees what happened meanwhile.
        before = lists(proxy)
        proxy.rule(CUT, verb="watch", times=2)
        proxy.cut()
        kronjobs.delete("idle-0")
        kronjobs.make("made-in-a-cut", NEVER_SOON)
        kronjobs.wait_for_condition("made-in-a-cut", "Ready")
        wait_until_known(operator, 11)
        assert lists(proxy) == before

        # Expired: only a list tells. One is made, one deleted, one replaced by its namesake.
        proxy.rule(ANSWER, verb="watch", resource="kronjobs", status=410, reason="Expired", times=1)
        proxy.rule(CUT, verb="list", resource="kronjobs", times=2)
        kept = kronjobs.read("idle-3")["metadata"]["resourceVersion"]
        proxy.cut()
        kronjobs.delete("idle-1")
        kronjobs.delete("idle-2")
        kronjobs.make("idle-2", NEVER_SOON, policy={"suspend": True})
        kronjobs.make("made-before-a-410", NEVER_SOON)
        kronjobs.wait_for_condition("idle-2", "Ready")
        kronjobs.wait_for_condition("made-before-a-410", "Ready")
        assert [each["status"] for each in proxy.seen("watch", "kronjobs")].count(410) == 1
        assert lists(proxy) == before + 3
        wait_until_known(operator, 11)

        # Nothing has changed for the others: not a single write in all this, nor in another list.
        assert kronjobs.read("idle-3")["metadata"]["resourceVersion"] == kept
        wait_for(lambda: not kronjobs.status("done").get("active"), "its Job is done")
        wait_until_known(operator, 11)
        written, before = len(writes(proxy)), lists(proxy)
        for resource in ("kronjobs", "jobs"):
            proxy.rule(ANSWER, verb="watch", resource=resource, status=410, reason="Expired")
        proxy.cut()
        wait_until_lists(proxy, before + 1)
        proxy.clear()
        kronjobs.make("new", NEVER_SOON)
        kronjobs.wait_for_condition("new", "Ready")
        wait_until_known(operator, 12)
        names = {each["path"].split("/")[-2] for each in writes(proxy)[written:]}
        assert names == {"new"}, "only what is new was written"
        assert [record.get("leads") for record in operator.events("leader")] == ["true"]
        reasons = {str(record.get("error")) for record in operator.events("error")}
        assert any("the proxy says so (HTTP 410)" in reason for reason in reasons), reasons
        operator.check_log()


def test_a_watch_that_has_fallen_silent_is_noticed(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    account = Account(cluster, namespace)
    with (
        Proxy(cluster, tmp_path) as proxy,
        Operator(cluster, namespace, tmp_path, kubeconfig=account.kubeconfig(proxy)) as operator,
    ):
        kronjobs.make("idle", NEVER_SOON)
        operator.start("--watch-silence", "4s")
        operator.wait_until_leading()
        wait_until_known(operator, 1)
        before = lists(proxy)
        proxy.rule(SILENCE, verb="watch", times=0)
        kronjobs.delete("idle")
        kronjobs.make("unheard-of", NEVER_SOON)
        kronjobs.make("unheard-of-too", NEVER_SOON)
        kronjobs.wait_for_condition("unheard-of", "Ready")
        wait_until_known(operator, 2)
        assert lists(proxy) > before
        errors = {str(record.get("error")) for record in operator.events("error")}
        assert any("nothing heard for 4 s" in error for error in errors), errors
        assert operator.metrics()['kron_watch_restarts_total{resource="kronjobs"}'] >= 1
        period = make_once(kronjobs, "later", soon(6), deadline=LONG)
        executed_once(cluster, kronjobs, "later", period)


def test_restarts_of_the_api_server_and_of_etcd_need_no_restart_of_the_operator(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    api = own_cluster.api()
    api.create("namespaces", None, {"metadata": {"name": "here"}})
    kronjobs = KronJobs(api, "here")
    kubeconfig = Account(own_cluster, "here").kubeconfig()
    with Operator(own_cluster, "here", tmp_path, kubeconfig=kubeconfig) as operator:
        for name in ("idle", "gone-with-etcd", "gone-with-the-api"):
            kronjobs.make(name, NEVER_SOON)
        operator.start("--lease-duration", "60s")  # it leads through both restarts
        operator.wait_for_event("ready")

        periods = {"during-etcd": make_once(kronjobs, "during-etcd", soon(3), deadline=LONG)}
        wait_until_known(operator, 4)
        own_cluster.stop_etcd()
        operator.wait_for_event("trigger", "during-etcd")
        own_cluster.start_etcd()
        kronjobs.delete("gone-with-etcd")
        kronjobs.make("made-after-etcd", NEVER_SOON)
        kronjobs.wait_for_condition("made-after-etcd", "Ready")
        wait_until_known(operator, 4)

        periods["during-api"] = make_once(kronjobs, "during-api", soon(3), deadline=LONG)
        wait_until_known(operator, 5)
        own_cluster.stop_api(patience_s=1)
        drop_half_line(own_cluster)
        operator.wait_for_event("trigger", "during-api")
        own_cluster.start_api()
        kronjobs.delete("gone-with-the-api")
        kronjobs.make("made-after-the-api", NEVER_SOON)
        kronjobs.wait_for_condition("made-after-the-api", "Ready")
        wait_until_known(operator, 5)

        periods["at-last"] = make_once(kronjobs, "at-last", soon(3), deadline=LONG)
        all_executed_once(own_cluster, kronjobs, periods, was_killed=True)
        operator.check_log()
