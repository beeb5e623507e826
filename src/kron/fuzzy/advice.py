"""What is valid in a fuzzy schedule but unwise: the warnings that follow from a pattern alone."""

from __future__ import annotations

from kron.core.errors import Code
from kron.fuzzy.pattern import FIXED, Kind, Pattern
from kron.fuzzy.problem import FuzzyProblem

_SPIKE = "fixed intervals create a spike of load when many schedules share them"
_SCATTERED = {
    (Kind.DAYS, 1): "daily",
    (Kind.DAYS, 14): "bi-weekly",
    (Kind.DAYS, 21): "tri-weekly",
    (Kind.WEEKS, 1): "weekly",
}
_MONTHLY_STEP_DAYS = {Kind.BI_WEEKLY: 14, Kind.TRI_WEEKLY: 21}


def advice(pattern: Pattern, start: int, end: int) -> tuple[FuzzyProblem, ...]:
    """The warnings about a pattern whose text stands at [start, end)."""
    if pattern.kind is Kind.DAILY or pattern.kind is Kind.WEEKLY:
        return ()
    warnings = []
    if pattern.kind in FIXED:
        fix = _fixed_fix(pattern)
        warnings.append(FuzzyProblem(Code.FIXED_INTERVAL, _SPIKE, start, end, fix))
    uneven = _uneven(pattern)
    if uneven:
        warnings.append(FuzzyProblem(Code.UNEVEN_STEP, uneven, start, end))
    return tuple(warnings)


def _fixed_fix(pattern: Pattern) -> str:
    if pattern.kind is Kind.MINUTES:
        return "consider every 2h or hourly, which are scattered"
    scattered = _SCATTERED.get((pattern.kind, pattern.every or 1))
    return f"consider {scattered}, which is scattered" if scattered else ""


def _uneven(pattern: Pattern) -> str:
    """How the steps of a pattern come out uneven, or ''."""
    step = _MONTHLY_STEP_DAYS.get(pattern.kind, pattern.every or 1)
    if pattern.kind is Kind.MINUTES:
        rest = 60 % step
        return f"*/{step} starts anew each hour: its last step is {rest} minutes" if rest else ""
    if pattern.kind is Kind.HOURLY:
        rest = 24 % step
        return f"*/{step} starts anew each day: its last step is {rest} hours" if rest else ""
    if pattern.kind is Kind.WEEKS or step == 1:
        return ""
    days = ", ".join(map(str, range(1, 32, step)[:4])) + (", ..." if step < 8 else "")
    return f"*/{step} starts anew each month (days {days}): the step across its end is shorter"
