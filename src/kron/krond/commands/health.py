"""Health: what is wrong with a krond and its jobs, by what it answers to `status`.

It decides only: the status, the clock and the history are arguments. A job that has failed, or has
missed a period, stays so until a run of it succeeds, a manual one for example.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from enum import IntEnum

from kron.answers.times import distance
from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import from_text, to_text
from kron.krond.result import reason_in_short, result_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OVERDUE_S = 60
"""How long after its chosen time a period may be undecided. krond's own work may take that long."""


class Status(IntEnum):
    """The states of a monitor's check, which are its exit codes."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


_GRAVITY = (Status.OK, Status.WARNING, Status.UNKNOWN, Status.CRITICAL)


class Problem(Frozen):
    kind: str
    """Of a job: `failed`, `missed`, `overdue`, `stale`, `absent`. Of krond: `krond`, `stopping`,
    `empty`, `log`, and the kinds of the troubles that it has: `state`, `clock`, `notices`."""
    text: str
    job: str | None = None
    """Its name, with the path of its file if several files have such a job; None: krond itself."""
    since: str | None = None
    """The instant, if it is known."""
    status: Status = Status.CRITICAL


class Health(Frozen):
    problems: tuple[Problem, ...] = ()
    jobs: int = 0
    running: int = 0

    @property
    def status(self) -> Status:
        """The gravest of all problems."""
        statuses = (problem.status for problem in self.problems)
        return max(statuses, key=_GRAVITY.index, default=Status.OK)

    def of_kind(self, kind: str) -> list[Problem]:
        """The problems of this kind that are a job's."""
        return [problem for problem in self.problems if problem.kind == kind and problem.job]


class Scope(Frozen):
    """What to look at. Jobs are named as on the command line: a name, or `<path>:<name>`."""

    jobs: Collection[str] = ()
    """Empty for all."""
    ignored: Collection[str] = ()
    longest_s: Mapping[str, int] = {}
    """How old the last success of a job may be, also of one that is not looked at otherwise."""

    def has(self, names: Set[str]) -> bool:
        return names.isdisjoint(self.ignored) and not (self.jobs and names.isdisjoint(self.jobs))


def examine(
    answer: Mapping[str, Any],
    scope: Scope,
    now_s: int,
    last_success_ns: Callable[[str], int | None],
) -> Health:
    """The health of the krond that gave this answer.

    `last_success_ns` is asked, by identity, about a job whose status knows no success any more.
    """
    rows = [row for row in answer["jobs"] if scope.has(_names(row))]
    counts: dict[str, int] = {}
    for row in answer["jobs"]:
        counts[row["name"]] = counts.get(row["name"], 0) + 1

    def examined() -> Iterator[Problem]:
        yield from _own_problems(answer)
        for name in _unknown((*scope.jobs, *scope.longest_s), answer["jobs"]):
            yield Problem("absent", "not configured", name)
        for row in answer["jobs"]:
            shown = row["name"] if counts[row["name"]] == 1 else f"{row['file']}:{row['name']}"
            if scope.has(_names(row)):
                yield from _job_problems(row, shown, now_s)
            for name in _names(row) & scope.longest_s.keys():
                success_ns = _success_ns(row, last_success_ns)
                yield from _staleness(shown, success_ns, scope.longest_s[name], now_s)

    removed = [row for row in answer.get("removed", ()) if scope.has(_names(row))]
    running = sum(len(row["active"]) for row in (*rows, *removed))
    return Health(tuple(examined()), len(rows), running)


def _own_problems(answer: Mapping[str, Any]) -> Iterator[Problem]:
    for trouble in answer.get("troubles", ()):
        kind, since = str(trouble["kind"]), trouble.get("since")
        status = Status.WARNING if kind == "notices" else Status.CRITICAL
        yield Problem(kind, str(trouble["text"]), since=since, status=status)
    if answer["stopping"]:
        yield Problem("stopping", "krond is stopping, and starts no more runs")
    if not answer["total"]:
        yield Problem("empty", "krond has no jobs", status=Status.WARNING)
    if lost := answer["lost_log_lines"]:
        yield Problem("log", f"{lost} lines of its log were lost", status=Status.WARNING)


def _job_problems(row: Mapping[str, Any], shown: str, now_s: int) -> Iterator[Problem]:
    if row["suspended"]:
        return  # somebody has taken it out of service
    if failed := row["failed"]:
        yield Problem("failed", _with_reason(result_text(failed), failed), shown, failed["ended"])
    if missed := row["missed"]:
        yield Problem("missed", _with_reason(missed["period"], missed), shown, missed["ended"])
    if row["next"] and from_text(row["next"]["chosen"]) < now_s - OVERDUE_S:
        chosen = row["next"]["chosen"]
        yield Problem("overdue", f"due {chosen}", shown, chosen)


def _with_reason(text: str | None, ended: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, (text, reason_in_short(ended))))


def _success_ns(row: Mapping[str, Any], last_success_ns: Callable[[str], int | None]) -> int | None:
    """When its last success ended; None if that is not on record."""
    known = row["last_success"]
    if known and known["ended"]:
        return from_text(f"{known['ended'][:19]}Z") * SECOND_NS
    return last_success_ns(row["identity"])


def _staleness(shown: str, success_ns: int | None, longest_s: int, now_s: int) -> Iterator[Problem]:
    if success_ns is None:
        yield Problem("stale", "no success on record", shown)
    elif now_s - success_ns // SECOND_NS > longest_s:
        ago, limit = distance(now_s - success_ns // SECOND_NS), distance(longest_s)
        since = to_text(success_ns // SECOND_NS)
        yield Problem("stale", f"last success {ago} ago, limit {limit}", shown, since)


def _unknown(names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    known = {name for row in rows for name in _names(row)}
    return [name for name in dict.fromkeys(names) if name not in known]


def _names(row: Mapping[str, Any]) -> set[str]:
    """What a command line may call this job."""
    return {row["name"], f"{row['file']}:{row['name']}"}
