"""The metrics: what the operator has done, counted, in the text format of Prometheus.

Written by hand: prometheus-client would cost 5 MB and forty times as long for a scrape (measured).
A test reads what is written with its parser.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from kron.engine.actions import Outcome

LATENESS_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)


class Metrics:
    def __init__(self) -> None:
        self.is_leader = False
        self.watch_restarts: Counter[str] = Counter()
        self.events_dropped = 0
        self.failing_watches: Callable[[], Mapping[tuple[str, str], int]] = dict
        self.not_ready: Callable[[], Mapping[str, int]] = dict
        """How many KronJobs are not ready, by why."""
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "kron_leader": ("Whether this replica leads.", lambda: int(self.is_leader)),
        }
        """By name: what they say, and how to get them."""
        self.more: Callable[[], Iterable[str]] = tuple
        """Further lines."""
        self._runs: Counter[Outcome] = Counter()
        self._succeeded = self._failed = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._lateness = [0] * (len(LATENESS_BOUNDS_S) + 1)
        self._lateness_sum_s = 0.0

    def ended(self, outcome: Outcome, count: int = 1) -> None:
        self._runs[outcome] += count

    def started(self, late_s: float) -> None:
        """A Job was made, `late_s` after the second that was chosen."""
        self.ended(Outcome.EXECUTED)
        late_s = max(0.0, late_s)
        self._lateness[bisect_left(LATENESS_BOUNDS_S, late_s)] += 1
        self._lateness_sum_s += late_s

    def finished(self, *, is_failed: bool) -> None:
        """A Job has finished, and its result is stored."""
        if is_failed:
            self._failed += 1
        else:
            self._succeeded += 1

    def requested(self, verb: str, resource: str, status: int) -> None:
        """The API server has answered, or not (0)."""
        self._requests[verb, resource, status] += 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from family(
            "kron_runs_total",
            "Periods that have ended, by outcome.",
            {f'outcome="{outcome}"': self._runs[outcome] for outcome in Outcome},
        )
        yield from family(
            "kron_job_results_total",
            "Jobs that have finished, by result.",
            {'result="succeeded"': self._succeeded, 'result="failed"': self._failed},
        )
        yield from self._lateness_lines()
        yield from family(
            "kron_api_requests_total",
            "Requests to the API server, by verb, resource and status code (0: no answer).",
            {
                f'verb="{verb}",resource="{resource}",code="{status}"': count
                for (verb, resource, status), count in sorted(self._requests.items())
            },
        )
        yield from family(
            "kron_watch_restarts_total",
            "Watches that were started again, by resource.",
            {f'resource="{name}"': count for name, count in sorted(self.watch_restarts.items())},
        )
        yield from family(
            "kron_events_dropped_total",
            "Events that were not sent, because there were too many or the API server refused.",
            {"": self.events_dropped},
        )
        yield from family(
            "kron_watch_failing",
            "Whether a watch fails at present, by resource and namespace (empty: all).",
            {
                f'resource="{resource}",namespace="{namespace}"': failing
                for (resource, namespace), failing in self.failing_watches().items()
            },
            kind="gauge",
        )
        yield from family(
            "kron_kronjobs_not_ready",
            "KronJobs that are not ready, by reason.",
            {f'reason="{reason}"': count for reason, count in self.not_ready().items()},
            kind="gauge",
        )
        for name, (description, value) in self.gauges.items():
            yield from family(name, description, {"": value()}, kind="gauge")
        yield from self.more()

    def _lateness_lines(self) -> Iterator[str]:
        name = "kron_lateness_seconds"
        yield f"# HELP {name} How long after its chosen second a Job was made."
        yield f"# TYPE {name} histogram"
        total = 0
        for bound, count in zip((*LATENESS_BOUNDS_S, "+Inf"), self._lateness, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._lateness_sum_s}"
        yield f"{name}_count {total}"


def family(
    name: str, description: str, values: Mapping[str, float], kind: str = "counter"
) -> Iterator[str]:
    yield f"# HELP {name} {description}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
