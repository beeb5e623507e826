"""A member: which Jobs are its own, whose ledger counts, and what is found again from Jobs."""

from __future__ import annotations

import pytest

from kron.core.instant import to_text
from kron.engine.ledger import Ledger
from kron.engine.recovery import Evidence, Sighting
from kron.kube.operator.pending import PendingJob
from kron.kube.resource.run import job_name
from kron.kube.resource.status import ActiveRun, Status
from tests.kube.operator.made import (
    HOUR_S,
    T0,
    finished,
    intent,
    kronjob,
    ledger,
    member,
    metadata,
    run,
)


def test_a_job_of_another_owner_is_not_its_own_whatever_its_labels_say() -> None:
    theirs = run("theirs", T0, owner_uid="u2")
    orphan = run("orphan", T0, owner_uid="")
    made = member(theirs, orphan, known=ledger())
    assert made.own_runs() == made.active_runs() == made.sightings() == []


def test_active_are_those_that_have_not_finished_the_earliest_first() -> None:
    late = run("a-late", T0, created_s=T0 + 2)
    early = run("z-early", created_s=T0 + 1)
    going = run("going", T0, created_s=T0 + 3, is_deleting=True)
    held = run("held", T0 + HOUR_S, is_deleting=True, is_held=True)
    made = member(late, finished("over", T0), early, going, held)
    assert made.active_runs() == [early, late, going]
    assert made.sightings()[-1].evidence is Evidence.ENDED


def test_all_that_is_found_of_its_runs_is_said_once() -> None:
    made = member(run("new", T0), finished("over", T0 + 9, T0 + HOUR_S), run("by-hand"))
    made.pending.append(PendingJob(made, intent(T0), T0, replaces=False))
    assert made.sightings() == [
        Sighting(job_name("report", to_text(T0)), T0, T0, Evidence.STARTING),
        Sighting("over", T0 + HOUR_S, T0 + HOUR_S, Evidence.ENDED),
        Sighting("by-hand", None, None, Evidence.ALIVE),
    ]


@pytest.mark.parametrize(
    ("stored", "writing", "seen", "by_another"),
    [
        pytest.param(None, None, None, False, id="nothing at all"),
        pytest.param(None, None, ledger(), True, id="there was none before"),
        pytest.param(ledger(), None, ledger(), False, id="as it was"),
        pytest.param(ledger(), ledger(T0), ledger(T0), False, id="what we are writing"),
        pytest.param(ledger(), ledger(T0), ledger(), False, id="before what we are writing"),
        pytest.param(ledger(), ledger(T0), ledger(T0 + HOUR_S), True, id="neither"),
        pytest.param(ledger(), None, None, False, id="taken away"),
    ],
)
def test_a_ledger_that_we_neither_knew_nor_write_is_by_another(
    stored: Ledger | None, writing: Ledger | None, seen: Ledger | None, *, by_another: bool
) -> None:
    made = member(stored=stored)
    made.writing = None if writing is None else Status(ledger=writing)
    status = Status(generation=3, ledger=seen)
    assert made.see_status(status) is by_another
    assert made.stored is status


def test_the_status_has_the_next_period_of_the_last_step() -> None:
    made = member()
    made.step(T0 + 1, slack_s=0)
    status = made.status(T0 + 1)
    assert (status.next_nominal_s, status.next_chosen_s) == (T0 + HOUR_S, T0 + HOUR_S)
    made.kronjob = kronjob("0 * * * * @policy(suspend=true)")
    made.step(T0 + 2, slack_s=0)
    assert (made.plan, made.status(T0 + 2).next_nominal_s) == (None, None)


@pytest.mark.parametrize(
    ("change", "can_run"),
    [
        pytest.param({}, True, id="all is well"),
        pytest.param({"kronjob": None}, False, id="invalid"),
        pytest.param({"frozen": "newer"}, False, id="newer status"),
        pytest.param({"metadata": metadata(is_deleting=True)}, False, id="being deleted"),
    ],
)
def test_nothing_runs_for_what_is_invalid_newer_or_going(
    change: dict[str, object], *, can_run: bool
) -> None:
    made = member()
    for name, value in change.items():
        setattr(made, name, value)
    assert (made.job is not None) is can_run


def test_the_status_speaks_of_the_ledger_the_next_period_and_active_jobs() -> None:
    manual = run("by-hand", created_s=T0 + 9)
    made = member(run("job", T0), manual, finished("over", T0), known=ledger(T0))
    made.metadata = metadata(generation=4)
    made.step(T0 + 9, slack_s=0)
    status = made.status(T0 + 10)
    assert status.generation == 4
    assert status.ledger is made.ledger
    assert status.next_nominal_s == T0 + HOUR_S
    assert status.active == (
        ActiveRun("job", "uid of job", to_text(T0)),
        ActiveRun("by-hand", "uid of by-hand", ""),
    )
    made.stored = status
    assert made.status(T0 + 99) == status  # nothing has changed, so nothing is to be written
