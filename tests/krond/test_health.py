"""What is wrong with a krond and its jobs, by its answer: each rule of `krond check`."""

from __future__ import annotations

from typing import Any

import pytest

from kron.core.instant import from_text
from kron.krond.commands.check import status_line
from kron.krond.commands.health import OVERDUE_S, Health, Problem, Scope, Status, examine

NOW = "2026-03-02T12:00:00Z"
NOW_S = from_text(NOW)


def ended(**changes: Any) -> dict[str, Any]:
    """A run of yesterday that succeeded."""
    return {
        "period": "2026-03-01T12:00:00Z",
        "chosen": "2026-03-01T12:00:00Z",
        "outcome": "executed",
        "reason": "",
        "run_id": "1",
        "started": "2026-03-01T12:00:00.000000000Z",
        "ended": "2026-03-01T12:00:01.000000000Z",
        "exit_code": 0,
        "signal": None,
        **changes,
    }


def job(name: str = "backup", file: str = "/etc/a.kron", **changes: Any) -> dict[str, Any]:
    """A job that is well."""
    return {
        "name": name,
        "file": file,
        "identity": f"{file}:{name}",
        "suspended": False,
        "next": {"period": "2026-03-02T12:00:00Z", "chosen": "2026-03-02T12:30:00Z"},
        "active": [],
        "last_success": ended(),
        "failed": None,
        "missed": None,
        **changes,
    }


def answer(*jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The answer of a krond that is well."""
    common = {"stopping": False, "lost_log_lines": 0, "total": len(jobs), "jobs": list(jobs)}
    return common | changes


def health(given: dict[str, Any], success_s: int | None = None, **scope: Any) -> Health:
    success_ns = None if success_s is None else success_s * 10**9
    return examine(given, Scope(**scope), NOW_S, lambda _: success_ns)


FAILED = ended(exit_code=3)
MISSED = ended(outcome="missed", exit_code=None, started=None, reason="too late", run_id="")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        pytest.param(answer(job()), "OK - 1 job, 0 running", id="well"),
        pytest.param(answer(job(active=[{}]), job("b")), "OK - 2 jobs, 1 running", id="running"),
        pytest.param(
            answer(job(), troubles=[{"kind": "notices", "text": "2 notices lost"}]),
            "WARNING - 2 notices lost",
            id="notices",
        ),
        pytest.param(
            answer(job(failed=FAILED)), "CRITICAL - 1 failed: backup (exit code 3)", id="failed"
        ),
        pytest.param(
            answer(job(failed=ended(reason="it timed out"))),
            "CRITICAL - 1 failed: backup (exit code 0: it timed out)",
            id="timed-out",
        ),
        pytest.param(
            answer(job(missed=MISSED)),
            "CRITICAL - 1 missed: backup (2026-03-01T12:00:00Z: too late)",
            id="missed",
        ),
        pytest.param(
            answer(job(missed=MISSED | {"reason": "x" * 101})),
            f"CRITICAL - 1 missed: backup (2026-03-01T12:00:00Z: {'x' * 99}…)",
            id="a-long-reason",
        ),
        pytest.param(
            answer(
                job(failed=FAILED, missed=MISSED),
                job("b", failed=ended(exit_code=None, signal="SIGKILL")),
            ),
            "CRITICAL - 2 failed: backup (exit code 3), b (SIGKILL); "
            "1 missed: backup (2026-03-01T12:00:00Z: too late)",
            id="both",
        ),
        pytest.param(
            answer(job(suspended=True, failed=FAILED, missed=MISSED, next=None)),
            "OK - 1 job, 0 running",
            id="suspended",
        ),
        pytest.param(
            answer(job(failed=FAILED), job(file="/etc/b.kron")),
            "CRITICAL - 1 failed: /etc/a.kron:backup (exit code 3)",
            id="a-name-in-two-files",
        ),
        pytest.param(
            answer(*(job(f"job-{n}", failed=FAILED) for n in range(7))),
            "CRITICAL - 7 failed: job-0 (exit code 3), job-1 (exit code 3), job-2 (exit code 3), "
            "job-3 (exit code 3), job-4 (exit code 3) and 2 more",
            id="many",
        ),
        pytest.param(
            answer(job(next={"period": "", "chosen": "2026-03-02T11:58:59Z"})),
            "CRITICAL - 1 overdue: backup (due 2026-03-02T11:58:59Z)",
            id="overdue",
        ),
        pytest.param(
            answer(job(next={"period": "", "chosen": "2026-03-02T11:59:00Z"})),
            "OK - 1 job, 0 running",
            id="not-yet-overdue",
        ),
        pytest.param(
            answer(
                job(),
                troubles=[
                    {"kind": "state", "since": NOW, "text": "no space | left"},
                    {"kind": "clock", "since": None, "text": "it jumped"},
                ],
            ),
            "CRITICAL - no space / left; it jumped",
            id="trouble",
        ),
        pytest.param(
            answer(job(), stopping=True),
            "CRITICAL - krond is stopping, and starts no more runs",
            id="stopping",
        ),
        pytest.param(answer(), "WARNING - krond has no jobs", id="empty"),
        pytest.param(
            answer(job(), lost_log_lines=7),
            "WARNING - 7 lines of its log were lost",
            id="lost-lines",
        ),
        pytest.param(
            answer(job(failed=ended(exit_code=None, signal="SIGTERM", reason="a\n\x1b[31mb"))),
            "CRITICAL - 1 failed: backup (SIGTERM: a\\x0a\\x1b[31mb)",
            id="hostile",
        ),
    ],
)
def test_the_line_says_what_is_wrong(given: dict[str, Any], line: str) -> None:
    found = health(given)
    text, _, data = status_line(found).partition(" | ")
    assert text == f"KROND {line}"
    assert data.startswith(f"jobs={len(given['jobs'])} running=")
    assert found.status is Status[line.split(maxsplit=1)[0]]


def test_the_numbers_count_jobs_of_each_kind() -> None:
    found = health(answer(job(failed=FAILED), job("b", failed=FAILED), job("c", missed=MISSED)))
    assert status_line(found).endswith(" | jobs=3 running=0 failed=2 missed=1 overdue=0 stale=0")
    assert OVERDUE_S == 60


@pytest.mark.parametrize(
    ("row", "recorded_s", "limit_s", "said"),
    [
        pytest.param(job(), None, 86_400, "", id="recent-enough"),
        pytest.param(job(), None, 86_398, "last success 23h 59m ago, limit 23h 59m", id="too-old"),
        pytest.param(job(last_success=None), NOW_S - 60, 86_400, "", id="in-the-history"),
        pytest.param(
            job(last_success=None), NOW_S - 7_200, 3_600, "last success 2h ago, limit 1h", id="old"
        ),
        pytest.param(job(last_success=None), None, 3_600, "no success on record", id="never"),
        pytest.param(job(suspended=True), None, 60, "last success 23h 59m ago", id="suspended"),
    ],
)
def test_a_last_success_may_be_so_old(
    row: dict[str, Any], recorded_s: int | None, limit_s: int, said: str
) -> None:
    found = health(answer(row), recorded_s, longest_s={"/etc/a.kron:backup": limit_s})
    assert found.status is (Status.CRITICAL if said else Status.OK)
    assert said in status_line(found)


@pytest.mark.parametrize(
    ("scope", "failed"),
    [
        ({}, ["a", "b"]),
        ({"jobs": ["a"]}, ["a"]),
        ({"jobs": ["/etc/a.kron:b", "c"]}, ["b"]),
        ({"ignored": ["b"]}, ["a"]),
        ({"jobs": ["a"], "ignored": ["a"]}, []),
        ({"ignored": ["no-such"]}, ["a", "b"]),
    ],
)
def test_jobs_can_be_named_or_left_out(scope: dict[str, Any], failed: list[str]) -> None:
    found = health(answer(job("a", failed=FAILED), job("b", failed=FAILED), job("c")), **scope)
    assert [problem.job for problem in found.of_kind("failed")] == failed


@pytest.mark.parametrize("scope", [{"jobs": ["a"]}, {"ignored": ["/etc/a.kron:b"]}])
def test_an_age_is_looked_at_whatever_is_named_or_left_out(scope: dict[str, Any]) -> None:
    given = answer(job("a"), job("b", failed=FAILED, last_success=None))
    found = health(given, longest_s={"b": 3_600}, **scope)
    assert [(problem.kind, problem.job) for problem in found.problems] == [("stale", "b")]


def test_a_job_that_is_named_and_does_not_exist_is_critical() -> None:
    found = health(answer(job()), jobs=["backup", "gone"], longest_s={"lost": 1})
    assert [(problem.kind, problem.job) for problem in found.problems] == [
        ("absent", "gone"),
        ("absent", "lost"),
    ]
    assert found.status is Status.CRITICAL


def test_what_is_unknown_is_graver_than_a_warning_and_not_than_what_is_known() -> None:
    def status(*statuses: Status) -> Status:
        return Health(tuple(Problem("krond", "", status=each) for each in statuses)).status

    assert status() is Status.OK
    assert status(Status.WARNING, Status.UNKNOWN) is Status.UNKNOWN
    assert status(Status.UNKNOWN, Status.CRITICAL) is Status.CRITICAL
