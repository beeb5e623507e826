"""A tracked job and ports that write down, in one list, what they are asked to do."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

from kron.core.instant import from_text
from kron.core.parser import parse_schedule
from kron.engine.actions import Outcome
from kron.engine.job import Job
from kron.engine.ledger import Intent
from kron.runtime.tracked import Pending, TrackedJob

NOW_S = from_text("2026-11-16T12:00:30Z")
MINUTE_S = from_text("2026-11-16T12:00:00Z")


class MadePending(Pending):
    def __init__(self, run_id: str, nominal_s: int | None, *, replaces: bool = False) -> None:
        super().__init__(run_id, replaces=replaces)
        self._nominal_s = nominal_s
        self.latest_s: int | None = None

    @property
    def nominal_s(self) -> int | None:
        return self._nominal_s


class MadeJob(TrackedJob[MadePending]):
    def __init__(self, store: Any, text: str = "* * * * *", name: str = "a") -> None:
        super().__init__(store)
        self.name = name
        self.configure(text)
        self.is_valid = True

    def configure(self, text: str) -> None:
        self._job = Job(self.name, parse_schedule(text))

    @property
    def entry(self) -> Any:
        return SimpleNamespace(name=self.name)

    @property
    def job(self) -> Job | None:
        return self._job if self.is_valid else None

    @property
    def active_run(self) -> str:
        return self.pending[-1].run_id if self.pending else ""


class Asked:
    """Store, committer, executor and announcer in one: `calls` has what they were asked to do."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.has_no_room = False
        self.requested: list[MadePending] = []

    def words(self, *wanted: str) -> list[str]:
        return [call for call in self.calls if call.split()[0] in wanted]

    # The store and the committer

    def changed(self, job: MadeJob, *, is_proven: bool = False) -> None:
        self.calls.append(f"changed {job.name}" + " proven" * is_proven)

    def commit(self, jobs: Iterable[MadeJob], *, starts: bool = False) -> bool:
        names = " ".join(job.name for job in jobs)
        self.calls.append(f"commit {names}" + " starts" * starts)
        return not self.has_no_room

    def flush(self) -> bool:
        self.calls.append("flush")
        return True

    # The executor

    def prepare(
        self, job: MadeJob, intent: Intent, latest_s: int, *, replaces: bool
    ) -> MadePending:
        pending = MadePending(intent.run_id, intent.nominal_s, replaces=replaces)
        pending.latest_s = latest_s
        return pending

    def request(self, job: MadeJob, pending: MadePending) -> None:
        self.calls.append(f"request {job.name}")
        self.requested.append(pending)

    def go(self) -> None:
        self.calls.append("go")

    def give_up(self, job: MadeJob, pending: MadePending, outcome: Outcome, reason: str) -> None:
        job.pending.remove(pending)
        self.calls.append(f"give_up {pending.run_id} {outcome}: {reason}")

    def adopt(self, job: MadeJob, run: Any) -> None:
        self.calls.append(f"adopt {run.run_id}")

    def conclude(self, job: MadeJob, end: Any) -> None:
        self.calls.append(f"conclude {end.intent.run_id} {end.outcome}: {end.reason}")

    # The announcer

    def held(self, jobs: int) -> AbstractContextManager[None]:
        return nullcontext()

    def clock_changed(self, now_s: int, shift_s: float) -> None:
        self.calls.append(f"clock_changed {shift_s}")

    def waits_for_clock(self, job: MadeJob, now_s: int) -> None:
        self.calls.append(f"waits_for_clock {job.name}")

    def decided(self, job: MadeJob, decisions: Any, schedule_text: str = "") -> None:
        if decisions:
            self.calls.append(f"decided {schedule_text}")

    def triggered(self, job: MadeJob, intent: Intent, now_s: int) -> None:
        self.calls.append(f"triggered {job.name}")

    def settled(self, job: MadeJob, end: Any, now_s: int) -> None:
        self.calls.append(f"settled {end.outcome}: {end.reason}")

    def settled_many(self, job: MadeJob, end: Any, now_s: int) -> None:
        self.calls.append(f"settled_many {end.count}")

    def moved(self, job: MadeJob, move: Any) -> None:
        self.calls.append("moved")

    def suspended(self, job: MadeJob, *, suspend: bool) -> None:
        self.calls.append(f"suspended {suspend}")
