"""States to test with: hypothesis strategies, and plain ones that differ by a number."""

from __future__ import annotations

from hypothesis import strategies as st

from kron.core.instant import FIRST_S, LAST_S
from kron.engine import Handled, Intent, Ledger, Outcome
from kron.krond.state.past import HISTORY, Past
from kron.krond.state.record import Ended, JobState, RunRecord

BOOT = "0b7e5b0e-5d3c-4a7a-9a55-6b7e1c6f1d11"
MONDAY_S = 1_772_409_600
"""2026-03-02T00:00:00Z"""

SECOND_NS = 10**9
RUN_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789ABCXYZ_"

seconds = st.integers(FIRST_S, LAST_S)
nanoseconds = st.integers(FIRST_S * SECOND_NS, LAST_S * SECOND_NS)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
run_ids = st.text(RUN_ID_ALPHABET, min_size=1, max_size=20)
boot_ids = st.sampled_from(["", BOOT]) | st.text("0123456789abcdef-", max_size=36)
small = st.integers(-(2**63) + 1, 2**63 - 1)

ended_values = st.builds(
    Ended,
    st.none() | seconds,
    st.none() | seconds,
    st.sampled_from(["executed", "skipped", "missed", "unschedulable", "manual"]),
    texts,
    st.just("") | run_ids,
    st.none() | nanoseconds,
    st.none() | nanoseconds,
    st.none() | small,
    st.none() | small,
)
runs = st.builds(
    RunRecord,
    run_ids,
    st.none() | seconds,
    st.none() | seconds,
    st.none() | nanoseconds,
    st.none() | st.integers(1, 2**31 - 1),
    st.none() | small,
    boot_ids,
)
ledgers = st.builds(
    Ledger,
    texts,
    seconds,
    st.none() | seconds,
    st.frozensets(seconds, max_size=5),
    st.lists(st.builds(Intent, seconds, seconds, run_ids), max_size=3).map(tuple),
    st.none()
    | st.builds(Handled, seconds, st.none() | seconds, st.sampled_from(list(Outcome)), texts),
)
pasts = st.builds(Past.of, st.lists(ended_values, max_size=HISTORY), st.none() | ended_values)
states = st.builds(
    JobState,
    texts.filter(bool),
    ledgers,
    boot_ids,
    st.lists(st.tuples(seconds, st.none() | seconds), max_size=3).map(tuple),
    st.lists(runs, max_size=3).map(tuple),
    st.tuples(st.sampled_from(["stable", "daily", "weekly"]), texts),
    pasts,
)


def ended(number: int = 0, outcome: str = "executed") -> Ended:
    nominal_s = MONDAY_S + number * 3_600
    started_ns = nominal_s * SECOND_NS + 1_234_567
    return Ended(
        nominal_s,
        nominal_s + 60,
        outcome,
        "",
        f"run-{number}",
        started_ns,
        started_ns + 5 * SECOND_NS,
        number % 256,
        None,
    )


def state(job: str = "job", number: int = 0, *, padding: int = 0, size: int = 0) -> JobState:
    """A state of `job` that differs from those with other numbers.

    `padding`: how many periods are handled above its watermark; `size` makes it that big.
    """
    nominal_s = MONDAY_S + number * 3_600
    return JobState(
        f"/etc/kron/jobs.kron:{job}",
        Ledger(
            "0 * * * *",
            MONDAY_S,
            nominal_s,
            frozenset(range(nominal_s + 1, nominal_s + 1 + padding)),
            (Intent(nominal_s, nominal_s + 60, f"run-{number}", "0 2 * * *" + " " * size),),
        ),
        BOOT,
        ((nominal_s + 3_600, nominal_s + 3_700),),
        (),
        ("stable", ""),
        Past.of([ended(number)], ended(number)),
    )


def number_of(found: JobState) -> int:
    """The number that a state of `state()` was made with."""
    return (found.planned[0][0] - MONDAY_S) // 3_600 - 1
