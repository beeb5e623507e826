"""Two ledgers that were kept of one job: a leader, and one that did not know it was none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kron.core.instant import from_text
from kron.engine import Handled, Intent, Ledger, Outcome
from tests.soak import examples

T0 = from_text("2026-03-01T00:00:00Z")
HOURS = [T0 + hour * 3600 for hour in range(12)]


def intent(nominal_s: int) -> Intent:
    return Intent(nominal_s, nominal_s, "ab" * 10, "* * * * *")


def executed(nominal_s: int) -> Handled:
    return Handled(nominal_s, nominal_s, Outcome.EXECUTED)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    handled = draw(st.frozensets(st.sampled_from(HOURS)))
    through_s = draw(st.none() | st.sampled_from(HOURS))
    known = sorted(handled)
    starting = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
    last = draw(st.none() | st.sampled_from(HOURS).map(executed))
    ledger = Ledger("0 * * * *", T0, None, handled, tuple(map(intent, starting)), last)
    return ledger.with_handled((), through_s)


@given(ledgers(), ledgers())
@examples(100)
def test_what_has_ended_by_either_ledger_has_ended(ours: Ledger, theirs: Ledger) -> None:
    merged = ours.merged(theirs)
    for nominal_s in HOURS:
        if ours.is_handled(nominal_s):
            assert merged.is_handled(nominal_s)
        if theirs.is_handled(nominal_s) and intent(nominal_s) not in theirs.starting:
            assert merged.is_handled(nominal_s)


@given(ledgers(), ledgers())
@examples(100)
def test_what_the_other_was_about_to_start_is_not_lost(ours: Ledger, theirs: Ledger) -> None:
    """It is not handled, so that it comes up again, or it is about to start here too."""
    merged = ours.merged(theirs)
    for each in theirs.starting:
        known = ours.is_handled(each.nominal_s)
        assert known or not merged.is_handled(each.nominal_s) or each in merged.starting


@given(ledgers(), ledgers(), st.integers(-5, 5), st.sampled_from(Outcome))
@examples(100)
def test_two_that_merge_each_others_come_to_the_same(
    ours: Ledger, theirs: Ledger, later_s: int, outcome: Outcome
) -> None:
    """Else two operators that both write would write for ever."""
    ours = ours.replace(starting=())
    theirs = theirs.replace(starting=(), since_s=theirs.since_s + later_s)
    if theirs.last is not None:
        theirs = theirs.replace(last=theirs.last.replace(outcome=outcome))
    assert ours.merged(theirs) == theirs.merged(ours)


@given(ledgers(), ledgers())
@examples(50)
def test_our_own_starts_our_schedule_and_our_beginning_stay(ours: Ledger, theirs: Ledger) -> None:
    merged = ours.merged(theirs.replace(schedule="1 * * * *", since_s=T0 - 1))
    assert (merged.schedule, merged.since_s) == (ours.schedule, ours.since_s)
    assert merged.starting[: len(ours.starting)] == ours.starting


@given(ledgers(), ledgers())
@examples(50)
def test_the_last_is_that_of_the_latest_period(ours: Ledger, theirs: Ledger) -> None:
    known = [each.nominal_s for each in (ours.last, theirs.last) if each is not None]
    last = ours.merged(theirs).last
    assert (None if last is None else last.nominal_s) == max(known, default=None)


@given(ledgers(), ledgers())
@examples(50)
def test_to_merge_again_changes_nothing(ours: Ledger, theirs: Ledger) -> None:
    merged = ours.merged(theirs)
    assert merged.merged(theirs) == merged
    assert ours.merged(ours) == ours


def test_what_the_other_was_about_to_start_comes_up_again_above_the_watermark() -> None:
    first, second, third = HOURS[:3]
    ours = Ledger("0 * * * *", T0)
    theirs = ours.replace(
        handled_through_s=first,
        handled_s=frozenset({third}),
        starting=(intent(first), intent(third)),
    )
    merged = ours.merged(theirs)
    assert merged.starting == (intent(first),)
    assert [merged.is_handled(each) for each in (first, second, third)] == [True, False, False]
