"""A schedule with `@reboot`: it has the instant of a boot, once that is given, and no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kron
from kron.core.errors import KronError
from kron.core.instant import FIRST_S, LAST_S, from_text
from kron.core.words import describe
from kron.engine import Job, Ledger, Start, latest_start_s, step
from kron.engine.agenda import agenda, next_run

BOOT_S = from_text("2026-03-01T00:00:07Z")
DAY_S = 86_400
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def job(text: str = "@reboot", *, boot_s: int | None = BOOT_S) -> Job:
    schedule = kron.parse_schedule(text)
    return Job("host:job", schedule if boot_s is None else schedule.in_boot(boot_s))


def owed(of: Job) -> Ledger:
    return Ledger(of.text, BOOT_S)


def test_it_reads_back_as_it_is_written() -> None:
    text = "@reboot @policy(concurrency=allow,deadline=10m)"
    assert str(kron.parse_schedule(f"  {text.replace(' ', '   ')}")) == text
    assert kron.parse_schedule("@reboot") == kron.parse_schedule("@reboot @policy(deadline=0s)")
    assert describe(kron.parse_schedule("@reboot")) == "once in each boot of the host"
    assert job().text == job(boot_s=None).text == "@reboot"


def test_without_a_boot_it_has_no_instant() -> None:
    schedule = kron.parse_schedule("@reboot")
    for ask in (schedule.next_nominal, schedule.prev_nominal):
        with pytest.raises(KronError, match="no clock says"):
            ask(MOMENT)
    assert schedule.nominals.count(FIRST_S, LAST_S) == 0
    assert next_run(job(boot_s=None), BOOT_S) is None
    assert list(agenda(job(boot_s=None), BOOT_S)) == []


def test_with_a_boot_it_has_that_instant() -> None:
    nominals = job().schedule.nominals
    assert nominals.after(BOOT_S - 1) == nominals.at_or_before(BOOT_S) == BOOT_S
    assert [decision.chosen_s for decision in agenda(job(), BOOT_S - DAY_S)] == [BOOT_S]
    assert nominals.count(FIRST_S, LAST_S) == 1
    for ask, instant_s in ((nominals.after, BOOT_S), (nominals.at_or_before, BOOT_S - 1)):
        with pytest.raises(KronError):
            ask(instant_s)


@pytest.mark.parametrize("late_s", [-50 * 365 * DAY_S, -1, 0, 1, 50 * 365 * DAY_S])
def test_it_starts_whatever_the_clock_shows(late_s: int) -> None:
    result = step(job(), owed(job()), BOOT_S + late_s)
    (action,) = result.actions
    assert isinstance(action, Start)
    assert (action.decision.nominal_s, action.decision.chosen_s) == (BOOT_S, BOOT_S)
    assert (result.wake_s, result.clock_behind) == (None, False)
    again = step(job(), result.ledger, BOOT_S + late_s)
    assert (again.actions, again.ledger, again.clock_behind) == ((), result.ledger, False)


def test_a_later_boot_is_another_period() -> None:
    ledger = step(job(), owed(job()), BOOT_S).ledger.with_started(BOOT_S)
    (action,) = step(job(boot_s=BOOT_S + 1), ledger, BOOT_S - DAY_S).actions
    assert isinstance(action, Start)
    assert action.run_id != job().run_id("2026-03-01T00:00:07Z")


def test_only_a_deadline_that_is_set_makes_it_late() -> None:
    assert latest_start_s(job().schedule, BOOT_S, 5) > LAST_S
    hasty = job("@reboot @policy(deadline=10m)")
    assert latest_start_s(hasty.schedule, BOOT_S, 5) == BOOT_S + 600
    assert isinstance(step(hasty, owed(hasty), BOOT_S + 600).actions[0], Start)
    assert not isinstance(step(hasty, owed(hasty), BOOT_S + 601).actions[0], Start)


@pytest.mark.parametrize("text", ["0 3 * * *", "@reboot @policy(concurrency=allow)"])
def test_an_edit_from_it_moves_nothing(text: str) -> None:
    edited = job(text, boot_s=None if text[0] == "0" else BOOT_S)
    assert step(edited, owed(job()), BOOT_S + DAY_S).actions == ()
