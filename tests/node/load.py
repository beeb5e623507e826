"""Load: KronJobs at the default policy, each due once a minute, so that some are every second.

Their Jobs need no Pods (completions 0) and are over at once: what is judged is whether each was
created, and once, by the API server's own log.
"""

from __future__ import annotations

import time
from itertools import cycle

from tests.cluster.controlplane import ControlPlane
from tests.cluster.judge import Verdict
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.outcomes import are_looked_at, creations, wait_until_seen
from tests.logbook import wait_for

COUNT = 240
"""Four a second."""
SCHEDULES = ("* * * * * @win(after,30s)", "* * * * * @win(before,30s)")
"""The first or the second half of each minute: the periods of a KronJob are 30 s apart or more.

With `@win(after,1m)` one may get second 60 of its minute and the next second 0 of its own, which
are the same. The default policy, forbid, then skips the later period, because the Job of the
earlier one still runs.
"""
SETTLED_S = 30.0


class Load:
    """Begins when it is made, and goes on until it is stopped."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        cluster.api().create("namespaces", None, {"metadata": {"name": namespace}})
        self._cluster = cluster
        self._kronjobs = KronJobs(cluster.api(), namespace)
        template = job_template(completions=0)
        names = [f"load-{number}" for number in range(COUNT)]
        for name, schedule in zip(names, cycle(SCHEDULES), strict=False):
            self._kronjobs.make(name, schedule, template=template)
        wait_until_seen(self._kronjobs, *names)

    def judge(self, at_least: int, user: str) -> None:
        """What was due by now ran once each, for this user, and that is not little."""
        until_s = int(time.time())
        wait_for(lambda: are_looked_at(self._kronjobs, until_s), "all that was due", SETTLED_S)
        namespace = self._kronjobs.namespace
        verdict = Verdict(self._cluster.audit(namespace), namespace)
        verdict.check_at_most_one()
        verdict.check_one_outcome()
        everything = self._kronjobs.api.list("kronjobs", namespace)
        ended = verdict.check_all_ended(everything, until_s)
        assert [period for period, ran in ended.items() if not ran] == []
        assert len(ended) >= at_least, len(ended)
        assert {request.user for request in creations(self._cluster, namespace)} == {user}

    def stop(self) -> None:
        """Nothing more is due."""
        self._cluster.api().delete("namespaces", None, self._kronjobs.namespace)
