"""The status: what krond and its jobs are doing, as JSON values for the control socket."""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.instant import to_text
from kron.krond.member import Member
from kron.krond.run import Stage
from kron.krond.state.record import Ended
from kron.krond.supervisor import signal_name
from kron.logs.timestamp import timestamp_text


def status_of_jobs(members: Iterable[Member]) -> list[dict[str, object]]:
    """A row for every job."""
    return [_row(member) for member in members]


def ended_to_json(ended: Ended) -> dict[str, object]:
    """How a period or a run ended."""
    return {
        "period": _instant(ended.nominal_s),
        "chosen": _instant(ended.chosen_s),
        "outcome": ended.outcome,
        "reason": ended.reason,
        "run_id": ended.run_id,
        "started": _moment(ended.started_ns),
        "ended": _moment(ended.ended_ns),
        "exit_code": ended.exit_code,
        "signal": None if ended.signal is None else signal_name(ended.signal),
    }


def _row(member: Member) -> dict[str, object]:
    entry = member.entry
    following = min(
        (d for d in (member.plan.decisions if member.plan else ()) if d.chosen_s is not None),
        key=lambda decision: (decision.chosen_s, decision.nominal_s),
        default=None,
    )
    ended, last_run = member.past.history, member.past.last_run
    return {
        "name": entry.name,
        "file": entry.path,
        "identity": entry.identity,
        "schedule": entry.schedule_text,
        "description": entry.description,
        "suspended": entry.schedule.policy.suspend,
        "clock_behind": member.is_behind,
        "next": following
        and {
            "period": to_text(following.nominal_s),
            "chosen": _instant(following.chosen_s),
        },
        "active": [
            {
                "run_id": run.run_id,
                "pid": run.pid,
                "period": run.period,
                "started": _moment(run.started_ns),
                "stopping": run.stage is not Stage.RUNNING,
                "adopted": run.is_adopted,
            }
            for run in member.runs
        ],
        "waiting": [
            {
                "run_id": pending.run_id,
                "period": pending.period,
                "reason": pending.waits_for,
                "until": _instant(pending.latest_s),
            }
            for pending in member.waiting
        ],
        "last": ended_to_json(ended[-1]) if ended else None,
        "last_run": None if last_run is None else ended_to_json(last_run),
    }


def _instant(instant_s: int | None) -> str | None:
    return None if instant_s is None else to_text(instant_s)


def _moment(moment_ns: int | None) -> str | None:
    return None if moment_ns is None else timestamp_text(moment_ns)
