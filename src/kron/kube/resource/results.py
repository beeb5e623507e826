"""The results of runs: how the last Jobs of a KronJob ended, as its status keeps them.

A Job is deleted some time after it has finished; its result stays. Only the last ten results are
kept, so a result that is missing says nothing about its run.
"""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.frozen import Frozen
from kron.core.instant import optional_text, to_text
from kron.kube.api_object import instant_s, objects, text

MOST_RECENT = 10
LONGEST_REASON = 100
LONGEST_MESSAGE = 300
SUCCEEDED = "Succeeded"
FAILED = "Failed"


class RunResult(Frozen):
    """How a Job ended. Many are kept in memory, so the Job's uid is not."""

    name: str
    period: str
    """'' for a manual run."""
    is_failed: bool
    started_s: int
    finished_s: int
    reason: str = ""
    """Of the Job's condition Failed, as its message; both cut short."""
    message: str = ""

    @property
    def key(self) -> tuple[int, str]:
        """When it ended, and the Job's name: tells it apart, and puts results in order."""
        return self.finished_s, self.name

    @property
    def word(self) -> str:
        return FAILED if self.is_failed else SUCCEEDED


class RunResults(Frozen):
    last_success_s: int | None = None
    last_failure_s: int | None = None
    recent: tuple[RunResult, ...] = ()
    """The last ones, the newest first."""

    def has(self, result: RunResult) -> bool:
        """Whether it is among them, or was and has made room for newer ones."""
        if any(known.key == result.key for known in self.recent):
            return True
        return len(self.recent) >= MOST_RECENT and result.key < self.recent[-1].key

    def including(self, *results: RunResult) -> RunResults:
        """With these as well, as far as they are among the newest."""
        known = {each.key: each for each in (*results, *self.recent)}
        newest = sorted(known, reverse=True)[:MOST_RECENT]
        failed = [each.finished_s for each in results if each.is_failed]
        successful = [each.finished_s for each in results if not each.is_failed]
        return RunResults(
            _latest(self.last_success_s, *successful),
            _latest(self.last_failure_s, *failed),
            tuple(known[key] for key in newest),
        )

    def merged(self, other: RunResults) -> RunResults:
        """With all that another status has; that one itself if it has the same."""
        if other == self:
            return other
        both = self.including(*other.recent)
        return both.replace(
            last_success_s=_latest(both.last_success_s, other.last_success_s),
            last_failure_s=_latest(both.last_failure_s, other.last_failure_s),
        )


def results_to_json(results: RunResults) -> dict[str, object]:
    """The fields of a status that have the results."""
    return {
        "lastSuccessfulTime": optional_text(results.last_success_s),
        "lastFailureTime": optional_text(results.last_failure_s),
        "recentRuns": list(map(_result_to_json, results.recent)),
    }


def results_from_json(status: Mapping[str, object]) -> RunResults:
    """The results of a status. A malformed one is left out."""
    found = map(_result_from_json, objects(status, "recentRuns"))
    return RunResults(
        instant_s(status, "lastSuccessfulTime"),
        instant_s(status, "lastFailureTime"),
        tuple(sorted(filter(None, found), key=lambda each: each.key, reverse=True)[:MOST_RECENT]),
    )


def _result_to_json(result: RunResult) -> dict[str, object]:
    values = {
        "name": result.name,
        "periodID": result.period,
        "result": result.word,
        "startTime": to_text(result.started_s),
        "completionTime": to_text(result.finished_s),
        "reason": result.reason,
        "message": result.message,
    }
    return {name: value for name, value in values.items() if value}


def _result_from_json(values: Mapping[str, object]) -> RunResult | None:
    name, finished_s = text(values, "name"), instant_s(values, "completionTime")
    word = text(values, "result")
    if not name or finished_s is None or word not in (SUCCEEDED, FAILED):
        return None
    started_s = instant_s(values, "startTime")
    return RunResult(
        name,
        text(values, "periodID"),
        word == FAILED,
        finished_s if started_s is None else started_s,
        finished_s,
        text(values, "reason"),
        text(values, "message"),
    )


def _latest(*times_s: int | None) -> int | None:
    return max((time_s for time_s in times_s if time_s is not None), default=None)
