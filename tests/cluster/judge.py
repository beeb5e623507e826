"""The judge: what the API server's audit log says became of every period.

It believes nobody else: Jobs are those whose creation the server answered with 201, outcomes are
those of the statuses that it stored.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict

from kron.core.decision import decide_at
from kron.core.instant import to_text
from kron.engine.ledger import Ledger
from kron.engine.survey import nominals_after
from kron.kube.resource.kronjob import KronJob, read_kronjob
from kron.kube.resource.run import job_name
from kron.kube.resource.status import status_from_json
from tests.cluster.api import Object
from tests.cluster.audit import Request

Period = tuple[str, str]
"""The name of a KronJob, and the period."""


class Verdict:
    """What was found in the audit log of one namespace."""

    def __init__(self, requests: list[Request], namespace: str) -> None:
        self.created: Counter[str] = Counter()
        """How often a Job of this name was created."""
        self.unanswered: set[str] = set()
        """The Jobs of these names may have been created: one side was killed before the answer."""
        self.outcomes: dict[Period, set[str]] = defaultdict(set)
        """The outcomes that the stored statuses have told of each period."""
        for request in requests:
            if request.namespace != namespace:
                continue
            is_fence = '"kron.io/fence"' in request.body
            if (request.resource, request.verb) == ("jobs", "create") and not is_fence:
                if request.is_made:
                    self.created[request.name] += 1
                if request.may_be_made:
                    self.unanswered.add(request.name)
            if request.subresource == "status" and request.code == 200 and request.body:
                self._see(request.name, json.loads(request.body).get("status", {}))

    def _see(self, name: str, status: Object) -> None:
        if status.get("lastOutcome"):
            self.outcomes[name, status["lastPeriodID"]].add(status["lastOutcome"])

    def ran(self, name: str, period: str) -> bool:
        """Whether this period's Job was created.

        What got no answer was, if a status that was stored later says so.
        """
        job = job_name(name, period)
        told = self.outcomes.get((name, period), ())
        return bool(self.created[job]) or (job in self.unanswered and "executed" in told)

    def check_at_most_one(self) -> None:
        """No name was ever created twice: so no period had two Jobs."""
        several = {name: count for name, count in self.created.items() if count > 1}
        assert several == {}, several

    def check_one_outcome(self) -> None:
        """No period was told to have ended in two ways, or otherwise than it did."""
        several = {period: told for period, told in self.outcomes.items() if len(told) > 1}
        assert several == {}, several
        wrong = {
            (name, period): told
            for (name, period), told in self.outcomes.items()
            if ("executed" in told) is not self.ran(name, period)
        }
        assert wrong == {}, wrong

    def check_all_ended(self, kronjobs: list[Object], until_s: int) -> dict[Period, bool]:
        """Every period that was due by `until_s` is handled in the status; whether each ran."""
        ended: dict[Period, bool] = {}
        for obj in kronjobs:
            kronjob, ledger = read_kronjob(obj), status_from_json(obj).ledger
            assert ledger is not None, f"{kronjob.name} was never looked at"
            for period in due_periods(kronjob, ledger, until_s):
                assert ledger.is_handled(period), (kronjob.name, to_text(period), ledger)
                text = to_text(period)
                ended[kronjob.name, text] = self.ran(kronjob.name, text)
        return ended


def due_periods(kronjob: KronJob, ledger: Ledger, until_s: int) -> list[int]:
    """The periods that were chosen since the KronJob was first seen, up to `until_s`."""
    job = kronjob.job
    found: list[int] = []
    for nominal_s in nominals_after(job, ledger.since_s - job.trail_s - 1):
        if nominal_s - job.lead_s > until_s:
            return found
        chosen_s = decide_at(job.schedule, job.identity, nominal_s).chosen_s
        if chosen_s is not None and ledger.since_s <= chosen_s <= until_s:
            found.append(nominal_s)
    return found
