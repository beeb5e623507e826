"""What is remembered of a job: the values, not their form on disk.

A value that could not be read back must not be written, so a name that is no name is refused
when the value is made, whoever makes it.
"""

from __future__ import annotations

import re

from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.engine.ledger import Ledger
    from kron.krond.state.past import Past

MANUAL = "manual"
"""The outcome of a run that no period asked for."""

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}").fullmatch
_OUTCOME = re.compile(r"[a-z]{1,32}").fullmatch
_LONGEST_BOOT_ID = 100


class RunRecord(Frozen):
    """A run that is going on, or may be."""

    run_id: str
    nominal_s: int | None
    """None for a manual run."""
    chosen_s: int | None
    started_ns: int | None = None
    """By the wall clock."""
    pid: int | None = None
    ticks: int | None = None
    """When the process started, as /proc counts: a process id alone is used again."""
    boot_id: str = ""
    """The boot that pid and ticks belong to; '' if it is not known."""

    def __post_init__(self) -> None:
        check_run_id(self.run_id)
        check_boot_id(self.boot_id)


class Ended(Frozen):
    """A period or a manual run that has ended."""

    nominal_s: int | None
    chosen_s: int | None
    outcome: str
    """The word of an `Outcome`, or `MANUAL`."""
    reason: str
    run_id: str = ""
    """'' if nothing ran."""
    started_ns: int | None = None
    ended_ns: int | None = None
    exit_code: int | None = None
    signal: int | None = None

    def __post_init__(self) -> None:
        if self.run_id:
            check_run_id(self.run_id)
        if not _OUTCOME(self.outcome):
            raise ValueError(f"the outcome {self.outcome[:100]!r} is not one lower-case word")


class JobState(Frozen):
    """All that is remembered of one job."""

    identity: str
    ledger: Ledger
    boot_id: str
    """The boot in which this was written."""
    planned: tuple[tuple[int, int | None], ...]
    """Nominal and chosen instants of the plan, so that an edit while krond is down is seen."""
    active: tuple[RunRecord, ...]
    seed: tuple[str, str]
    """Strategy and salt."""
    past: Past

    def __post_init__(self) -> None:
        check_boot_id(self.boot_id)

    @property
    def last_run(self) -> Ended | None:
        """The last run, whether it was of a period or manual."""
        return self.past.last_run

    @property
    def history(self) -> tuple[Ended, ...]:
        """The latest periods and manual runs that ended, oldest first."""
        return self.past.history


def check_run_id(run_id: str) -> None:
    """Refuse a run id that is no safe name of a file."""
    if not _RUN_ID(run_id):
        raise ValueError(f"the run id {run_id[:100]!r} is not made of letters, digits, . _ and -")


def check_boot_id(boot_id: str) -> None:
    """Refuse a boot id that nobody could have read from /proc."""
    if len(boot_id) > _LONGEST_BOOT_ID or not boot_id.isprintable():
        raise ValueError(f"the boot id {boot_id[:100]!r} is too long or not printable")
