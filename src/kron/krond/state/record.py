"""The state of a job as values, independent of their form on disk.

A value that could not be read back must not be written, so an invalid name is refused when the
value is made.
"""

from __future__ import annotations

import re

from kron.core.frozen import Frozen
from kron.core.instant import optional_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.engine.ledger import Ledger
    from kron.krond.state.past import Past

MANUAL = "manual"
"""The outcome of a run outside any period."""
RETRIED = "retried"
"""The outcome of a run that failed, while its period goes on with another attempt."""

is_run_id = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}").fullmatch
"""Whether a text can be a run id: a safe file name."""
_OUTCOME = re.compile(r"[a-z]{1,32}").fullmatch
_LONGEST_BOOT_ID = 100
_LATER_ATTEMPT = re.compile(r"(.+)\.([1-9][0-9]{0,2})").fullmatch


class RunRecord(Frozen):
    """A run that is active, or may be."""

    run_id: str
    """Of the first attempt that of its period; of a later one that with a dot and its number."""
    nominal_s: int | None
    """None for a manual run."""
    chosen_s: int | None
    started_ns: int | None = None
    """By the wall clock."""
    pid: int | None = None
    ticks: int | None = None
    """When the process started, as /proc counts: a process id alone may be reused."""
    boot_id: str = ""
    """The boot of pid and ticks; '' if it is not known."""

    def __post_init__(self) -> None:
        check_run_id(self.run_id)
        check_boot_id(self.boot_id)

    @property
    def period(self) -> str | None:
        """Its period as logs have it; None for a manual run."""
        return optional_text(self.nominal_s)

    @property
    def attempt(self) -> int:
        """Which attempt of its period it is, from 1."""
        return attempt_of(self.run_id)[1]

    def next_attempt(self) -> RunRecord:
        first, attempt = attempt_of(self.run_id)
        return RunRecord(f"{first}.{attempt + 1}", self.nominal_s, self.chosen_s)

    def earlier_attempt(self) -> RunRecord:
        first, attempt = attempt_of(self.run_id)
        run_id = first if attempt == 2 else f"{first}.{attempt - 1}"
        return RunRecord(run_id, self.nominal_s, self.chosen_s)

    def ended(
        self,
        reason: str,
        *,
        outcome: str = "executed",
        ended_ns: int | None = None,
        exit_code: int | None = None,
        signal: int | None = None,
    ) -> Ended:
        return Ended(
            nominal_s=self.nominal_s,
            chosen_s=self.chosen_s,
            outcome=MANUAL if self.nominal_s is None else outcome,
            reason=reason,
            run_id=self.run_id,
            started_ns=self.started_ns,
            ended_ns=ended_ns,
            exit_code=exit_code,
            signal=signal,
        )


class Ended(Frozen):
    """A period or a manual run that has ended."""

    nominal_s: int | None
    chosen_s: int | None
    outcome: str
    """The value of an `Outcome`, or `MANUAL`, or `RETRIED`."""
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
            raise ValueError(f"the outcome {self.outcome[:100]!r} is not a lower-case word")

    @property
    def succeeded(self) -> bool | None:
        return succeeded(
            *(self.outcome, self.reason),
            *(self.started_ns, self.ended_ns, self.exit_code, self.signal),
        )


class JobState(Frozen):
    identity: str
    ledger: Ledger
    boot_id: str
    """The boot in which this was written."""
    planned: tuple[tuple[int, int | None], ...]
    """Nominal and chosen instants of the plan, to notice an edit made while krond is down."""
    active: tuple[RunRecord, ...]
    seed: tuple[str, str]
    """Strategy and salt."""
    past: Past

    def __post_init__(self) -> None:
        check_boot_id(self.boot_id)


def succeeded(
    outcome: str,
    reason: str,
    started: object,
    ended: object,
    exit_code: int | None,
    signal: int | str | None,
) -> bool | None:
    """Whether what has ended so succeeded; None: no run of a period, nobody saw how it ended, or
    its period goes on.

    krond adds a reason to a run that it stopped for its timeout or for a later run: such a run has
    not done its work, whatever its exit code says. Nor has a manual run that never started; it is
    no period that could be missed.
    """
    if outcome == RETRIED:
        return None
    if exit_code is None and signal is None:
        is_unstarted = outcome == MANUAL and started is None and ended is not None
        return False if is_unstarted else None
    return exit_code == 0 and not reason


def attempt_of(run_id: str) -> tuple[str, int]:
    """The run id of the first attempt of its period, and which attempt it is itself."""
    later = _LATER_ATTEMPT(run_id)
    return (run_id, 1) if later is None else (later[1], int(later[2]))


def check_run_id(run_id: str) -> None:
    if not is_run_id(run_id):
        raise ValueError(f"the run id {run_id[:100]!r} may only have letters, digits, . _ and -")


def check_boot_id(boot_id: str) -> None:
    """Refuse a boot id that cannot come from /proc."""
    if len(boot_id) > _LONGEST_BOOT_ID or not boot_id.isprintable():
        raise ValueError(f"the boot id {boot_id[:100]!r} is too long or not printable")
