"""The metrics of single KronJobs: when each last succeeded and failed, for alerts that name it.

Read from the roster when they are asked for, so they take no memory. Only a leader shows them, and
of a limited number of KronJobs: every line is a series that Prometheus keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics, family
from kron.kube.operator.roster import ClusterRoster


class KronJobMetrics:
    def __init__(self, roster: ClusterRoster, metrics: Metrics, most: int) -> None:
        self._roster = roster
        self._metrics = metrics
        self._most = most

    def lines(self) -> Iterator[str]:
        if not self._most:
            return
        members = self._shown()
        left_out = len(self._roster) - len(members) if self._metrics.is_leader else 0
        yield from family(
            "kron_kronjobs_without_metrics",
            "KronJobs beyond --kronjob-metrics, which have no metrics of their own.",
            {"": left_out},
            kind="gauge",
        )
        labels = [
            (each, f'namespace="{each.metadata.namespace}",name="{each.metadata.name}"')
            for each in members
        ]
        yield from family(
            "kron_kronjob_created_timestamp_seconds",
            "When the KronJob was created.",
            {of: each.metadata.created_s for each, of in labels},
            kind="gauge",
        )
        yield from family(
            "kron_kronjob_last_success_timestamp_seconds",
            "When a Job of the KronJob last succeeded.",
            {of: at_s for each, of in labels if (at_s := each.results.last_success_s) is not None},
            kind="gauge",
        )
        yield from family(
            "kron_kronjob_last_failure_timestamp_seconds",
            "When a Job of the KronJob last failed.",
            {of: at_s for each, of in labels if (at_s := each.results.last_failure_s) is not None},
            kind="gauge",
        )
        yield from family(
            "kron_kronjob_suspended",
            "1 while the KronJob is suspended; others have no series.",
            {of: 1 for each, of in labels if each.is_suspended},
            kind="gauge",
        )
        yield from family(
            "kron_kronjob_runs_total",
            "Jobs of the KronJob that have finished since this replica started, by result.",
            {
                f'{of},result="{result}"': count
                for each, of in labels
                for result, count in (
                    ("succeeded", each.runs_succeeded),
                    ("failed", each.runs_failed),
                )
            },
        )

    def _shown(self) -> list[ClusterMember]:
        """The first by namespace and name, so that it is always the same ones."""
        if not self._metrics.is_leader:
            return []
        if len(self._roster) <= self._most:
            return list(self._roster)
        return nsmallest(self._most, self._roster, key=lambda each: each.key)
