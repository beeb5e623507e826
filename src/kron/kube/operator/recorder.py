"""The recorder: takes the results of finished Jobs into the status of their KronJob, each once.

A result is announced (log, metrics, an Event for a failure) when it is stored. A leader that dies
before has announced nothing, and the next one finds the Job still there: no Job is deleted before.
A Job that was deleted before it finished has no result.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.status_writer import TIDY_DELAY_S, StatusWriter
from kron.kube.resource.results import RunResult
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

LATEST_EVENT_S = 3600
"""A failure that is older when it is found gets no Event: an API server keeps them that long."""


class ResultRecorder:
    def __init__(
        self,
        statuses: StatusWriter,
        events: EventSender,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._statuses = statuses
        self._events = events
        self._journal = journal
        self._metrics = metrics
        self._clock = clock

    def record(self, member: ClusterMember, ended: RunResult | None = None) -> None:
        """Record what is new. `ended`: of a Job that was active when it was last heard of.

        That one is new even if ten others ended after it in the meantime.
        """
        if member.frozen:
            return
        results = member.new_results()
        if ended is not None and ended not in (*results, *member.results.recent):
            results.append(ended)
        if not results:
            return
        member.results = member.results.including(*results)
        for result in results:
            self._announce_stored(member, result)
        self._statuses.touch(member, TIDY_DELAY_S)

    def _announce_stored(self, member: ClusterMember, result: RunResult) -> None:
        def announce() -> None:
            if result.is_failed:
                member.runs_failed += 1
            else:
                member.runs_succeeded += 1
            self._metrics.finished(is_failed=result.is_failed)
            self._log(member, result)
            now_s = self._clock.now_ns() // SECOND_NS
            if result.is_failed and now_s - result.finished_s <= LATEST_EVENT_S:
                self._events.say(member, "Warning", "JobFailed", _message(result))

        self._statuses.then(member, announce)

    def _log(self, member: ClusterMember, result: RunResult) -> None:
        self._journal.event(
            Event.JOB_FINISHED,
            Level.WARN if result.is_failed else Level.INFO,
            namespace=member.metadata.namespace,
            name=member.metadata.name,
            period=result.period or None,
            job=result.name,
            result=result.word,
            seconds=result.finished_s - result.started_s,
            reason=result.reason or None,
            message=result.message or None,
        )


def _message(result: RunResult) -> str:
    run = f"for {result.period}" if result.period else "outside any period"
    why = ": ".join(filter(None, (result.reason, result.message)))
    return f"Job {result.name} {run} failed: {why or 'no reason is given'}"
