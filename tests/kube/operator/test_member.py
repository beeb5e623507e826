"""A member: which Jobs are its own, whose ledger counts, and what is found again from Jobs."""

from __future__ import annotations

import pytest

from kron.core.decision import decide_at
from kron.core.instant import to_text
from kron.engine.ledger import Ledger
from kron.engine.step import step
from kron.kube.operator.member import Member
from kron.kube.operator.pending import Pending
from kron.kube.resource.run import Run
from kron.kube.resource.status import ActiveRun, Status
from tests.kube.operator.made import (
    HOUR_S,
    SCHEDULE,
    T0,
    ended,
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
    assert made.own_runs() == made.active_runs() == made.unknown_runs() == []


def test_active_are_those_that_have_not_finished_the_earliest_first() -> None:
    late = run("a-late", T0, created_s=T0 + 2)
    early = run("z-early", created_s=T0 + 1)
    going = run("going", T0, created_s=T0 + 3, is_deleting=True)
    made = member(late, finished("over", T0), early, going)
    assert made.active_runs() == [early, late, going]


@pytest.mark.parametrize(
    ("known", "jobs", "expected"),
    [
        pytest.param(ledger(), [run("new", T0)], ["new"], id="not in the ledger"),
        pytest.param(ledger(T0), [run("old", T0)], [], id="handled"),
        pytest.param(ledger(through_s=T0), [run("old", T0)], [], id="below the watermark"),
        pytest.param(
            ledger(T0, starting=(intent(T0),)), [run("made", T0)], ["made"], id="about to start"
        ),
        pytest.param(ledger(), [run("by-hand")], [], id="triggered"),
        pytest.param(ledger(), [finished("over", T0 + 5, T0)], ["over"], id="finished already"),
        pytest.param(None, [run("new", T0)], [], id="no ledger"),
    ],
)
def test_unknown_is_a_job_whose_period_the_ledger_does_not_say_has_run(
    known: Ledger | None, jobs: list[Run], expected: list[str]
) -> None:
    assert [each.name for each in member(*jobs, known=known).unknown_runs()] == expected


def test_a_job_that_is_being_made_right_now_is_not_unknown() -> None:
    made = member(run("new", T0), known=ledger(T0, starting=(intent(T0),)))
    assert made.kronjob is not None
    decision = decide_at(made.kronjob.schedule, made.kronjob.identity, T0)
    made.starting.append(Pending(made, decision, SCHEDULE, T0, replaces=False))
    assert made.is_starting(T0)
    assert not made.is_starting(T0 + HOUR_S)
    assert made.unknown_runs() == []


def test_adopting_a_job_ends_its_period_whether_it_was_about_to_start_or_not() -> None:
    job = run("new", T0, chosen_s=T0 + 7)
    made = member(job, known=ledger())
    made.adopt(job)
    assert made.ledger == ledger(T0, last=ended(T0).replace(chosen_s=T0 + 7))

    made = member(job, known=ledger(T0, starting=(intent(T0),)))
    made.adopt(job)
    assert made.ledger == ledger(T0, last=ended(T0))
    assert made.unknown_runs() == []


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


def test_a_member_takes_the_next_period_from_a_step() -> None:
    made = member()
    assert made.kronjob is not None
    made.take(step(made.kronjob.job, None, T0 + 1))
    assert made.next == (T0 + HOUR_S, T0 + HOUR_S)


def test_a_suspended_member_has_no_next_period() -> None:
    made = member()
    setattr(made, "next", (T0, T0))  # noqa: B010 - mypy would take it to stay so
    made.take(step(kronjob("0 * * * * @policy(suspend=true)").job, made.ledger, T0 + 2))
    assert (made.next, made.plan) == (None, None)


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
    assert made.can_run is can_run


def test_the_status_speaks_of_the_ledger_the_next_period_and_active_jobs() -> None:
    manual = run("by-hand", created_s=T0 + 9)
    made: Member = member(run("job", T0), manual, finished("over", T0), known=ledger(T0))
    made.metadata = metadata(generation=4)
    made.next = (T0 + HOUR_S, T0 + HOUR_S + 5)
    status = made.status(T0 + 10)
    assert status.generation == 4
    assert status.ledger is made.ledger
    assert (status.next_nominal_s, status.next_chosen_s) == made.next
    assert status.active == (
        ActiveRun("job", "uid of job", to_text(T0)),
        ActiveRun("by-hand", "uid of by-hand", ""),
    )
    made.stored = status
    assert made.status(T0 + 99) == status  # nothing has changed, so nothing is to be written
