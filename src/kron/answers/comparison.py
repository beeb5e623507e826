"""A comparison: how chosen times change when some jobs replace others, as lines or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from kron.answers.times import distance
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, optional_text, to_text
from kron.engine.agenda import agenda
from kron.engine.job import Job
from kron.engine.survey import due_s

_STYLES = {"added": "green", "removed": "red", "changed": "yellow"}


class RunChange(Frozen):
    """A period and its chosen second on either side; None where it has none."""

    period: str
    before_s: int | None
    after_s: int | None

    def __str__(self) -> str:
        if self.before_s is None:
            return f"{self.period}: now at {to_text(self.after_s or 0)}"
        if self.after_s is None:
            return f"{self.period}: no longer at {to_text(self.before_s)}"
        sign = "+" if self.after_s > self.before_s else ""
        moved = f"{sign}{distance(self.after_s - self.before_s)}"
        return f"{self.period}: {to_text(self.before_s)} -> {to_text(self.after_s)} ({moved})"


class JobChange(Frozen):
    """A job that is added, removed or changed, and its runs that differ."""

    key: str
    kind: str
    runs: tuple[RunChange, ...]


class Comparison(Frozen):
    changes: tuple[JobChange, ...]
    same: int
    at_s: int
    until_s: int


def compare(
    before: Mapping[str, Job],
    after: Mapping[str, Job],
    at_s: int,
    days: int,
    progress: Callable[[], None],
) -> Comparison:
    """What differs in the next `days` if `after` replaces `before`.

    `progress` is called after each job.
    """
    until_s = at_s + days * DAY_S
    keys = sorted(before.keys() | after.keys())
    changes: list[JobChange] = []
    for key in keys:
        old, new = before.get(key), after.get(key)
        runs = () if old == new else tuple(_differing(old, new, at_s, until_s))
        kind = "removed" if new is None else "added" if old is None else "changed"
        if runs or kind != "changed":
            changes.append(JobChange(key, kind, runs))
        progress()
    return Comparison(tuple(changes), len(keys) - len(changes), at_s, until_s)


def comparison_lines(
    comparison: Comparison, style: Callable[..., str], *, most_runs: int | None
) -> Iterator[str]:
    """The comparison as text, at most `most_runs` for each job. `style` adds colours."""
    changes, same = comparison.changes, comparison.same
    days = (comparison.until_s - comparison.at_s) // DAY_S
    for change in changes:
        count = len(change.runs)
        runs = f"{count:,} run{'s' if count != 1 else ''}"
        yield f"{style(f'{change.kind:8}', _STYLES[change.kind])}{change.key}  ({runs})"
        for run in change.runs[:most_runs]:
            yield f"  {run}"
        if most_runs is not None and count > most_runs:
            yield f"  ... and {count - most_runs:,} more (--all shows them)"
    span = "day" if days == 1 else f"{days} days"
    jobs = "1 job differs" if len(changes) == 1 else f"{len(changes)} jobs differ"
    yield f"{jobs} in the next {span}, {same} {'does' if same == 1 else 'do'} not"


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The same for scripts. The command adds the name of its schema."""
    return {
        "at": to_text(comparison.at_s),
        "until": to_text(comparison.until_s),
        "same": comparison.same,
        "jobs": [
            {
                "job": change.key,
                "change": change.kind,
                "runs": [
                    {
                        "period": run.period,
                        "before": optional_text(run.before_s),
                        "after": optional_text(run.after_s),
                    }
                    for run in change.runs
                ],
            }
            for change in comparison.changes
        ],
    }


def _differing(
    before: Job | None, after: Job | None, at_s: int, until_s: int
) -> Iterator[RunChange]:
    old, new = (_runs(job, at_s, until_s) for job in (before, after))
    for period in sorted(old.keys() | new.keys()):
        if old.get(period) != new.get(period):
            yield RunChange(period, old.get(period), new.get(period))


def _runs(job: Job | None, at_s: int, until_s: int) -> dict[str, int | None]:
    """The chosen seconds by period."""
    if job is None or job.schedule.policy.suspend:
        return {}
    coming = takewhile(lambda decision: due_s(decision) < until_s, agenda(job, at_s))
    return {decision.period_id: decision.chosen_s for decision in coming}
