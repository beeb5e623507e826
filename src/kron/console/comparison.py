"""A comparison: what changes in chosen times when jobs take the place of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from kron.console.parser import number_up_to
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.console.times import distance
from kron.core.decision import Decision
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_text
from kron.engine.agenda import agenda
from kron.engine.job import Job
from kron.engine.survey import due_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _ActionsContainer
    from typing import Any

_SHOWN_RUNS = 5


class JobChange(Frozen):
    """The runs of one job that differ; a run that only one side has lacks the other's decision."""

    key: str
    kind: str
    runs: tuple[tuple[Decision | None, Decision | None], ...]
    same: int


class Comparison(Frozen):
    """The jobs that differ from `at_s` until `until_s`, and how many do not."""

    changes: tuple[JobChange, ...]
    same: int
    at_s: int
    until_s: int


def add_comparison_options(parser: _ActionsContainer) -> None:
    """`--days`, `--exit-code` and `--all`."""
    parser.add_argument(
        "--days",
        type=number_up_to(366),
        default=7,
        metavar="N",
        help="how far to look ahead; default: 7",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if a run differs")
    parser.add_argument(
        "--all", action="store_true", help=f"show every run, not {_SHOWN_RUNS} a job"
    )


def compare(
    before: Mapping[str, Job],
    after: Mapping[str, Job],
    at_s: int,
    days: int,
    terminal: Terminal,
) -> Comparison:
    """What differs in the next `days` if `after` takes the place of `before`."""
    until_s = at_s + days * DAY_S
    keys = sorted(before.keys() | after.keys())
    changes = []
    same = 0
    with Progress(terminal, "comparing", len(keys)) as progress:
        for key in keys:
            change = _compare(key, before.get(key), after.get(key), at_s, until_s)
            same += change.same
            if change.kind != "same":
                changes.append(change)
            progress.advance()
    return Comparison(tuple(changes), same, at_s, until_s)


def print_comparison(comparison: Comparison, terminal: Terminal, *, every_run: bool) -> None:
    """It as people read it."""
    for line in _lines(comparison, None if every_run else _SHOWN_RUNS, terminal):
        terminal.print(line)


def _compare(key: str, before: Job | None, after: Job | None, at_s: int, until_s: int) -> JobChange:
    if before is not None and before == after:
        return JobChange(key, "same", (), 1)
    old, new = (_runs(job, at_s, until_s) for job in (before, after))
    differing = [
        (old.get(nominal_s), new.get(nominal_s))
        for nominal_s in sorted(old.keys() | new.keys())
        if _chosen(old.get(nominal_s)) != _chosen(new.get(nominal_s))
    ]
    kind = "removed" if after is None else "added" if before is None else "changed"
    if kind == "changed" and not differing:
        kind = "same"
    return JobChange(key, kind, tuple(differing), int(kind == "same"))


def _runs(job: Job | None, at_s: int, until_s: int) -> dict[int, Decision]:
    if job is None or job.schedule.policy.suspend:
        return {}
    coming = takewhile(lambda decision: due_s(decision) < until_s, agenda(job, at_s))
    return {decision.nominal_s: decision for decision in coming}


def _chosen(decision: Decision | None) -> int | None:
    return None if decision is None else decision.chosen_s


def _lines(comparison: Comparison, most: int | None, terminal: Terminal) -> Iterator[str]:
    changes, same = comparison.changes, comparison.same
    days = (comparison.until_s - comparison.at_s) // DAY_S
    styles = {"added": "green", "removed": "red", "changed": "yellow"}
    for change in changes:
        count = len(change.runs)
        runs = f"{count:,} run{'s' if count != 1 else ''}"
        yield f"{terminal.styled(f'{change.kind:8}', styles[change.kind])}{change.key}  ({runs})"
        for old, new in change.runs[:most]:
            yield f"  {_run(old, new)}"
        if most is not None and count > most:
            yield f"  ... and {count - most:,} more (--all shows them)"
    span = "day" if days == 1 else f"{days} days"
    jobs = "1 job differs" if len(changes) == 1 else f"{len(changes)} jobs differ"
    yield f"{jobs} in the next {span}, {same} {'does' if same == 1 else 'do'} not"


def _run(old: Decision | None, new: Decision | None) -> str:
    period = (old or new or _nothing()).period_id
    old_s, new_s = _chosen(old), _chosen(new)
    if old_s is not None and new_s is not None:
        sign = "+" if new_s > old_s else ""
        moved = f"{sign}{distance(new_s - old_s)}"
        return f"{period}: {to_text(old_s)} -> {to_text(new_s)} ({moved})"
    if new_s is not None:
        return f"{period}: now at {to_text(new_s)}"
    return f"{period}: no longer at {to_text(old_s or 0)}"


def _nothing() -> Decision:
    raise AssertionError("a run that differs is on one side at least")


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The same for scripts, but for the schema's name, which is the command's."""

    def text(decision: Decision | None) -> str | None:
        chosen_s = _chosen(decision)
        return None if chosen_s is None else to_text(chosen_s)

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
                        "period": (old or new or _nothing()).period_id,
                        "before": text(old),
                        "after": text(new),
                    }
                    for old, new in change.runs
                ],
            }
            for change in comparison.changes
        ],
    }
