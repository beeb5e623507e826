"""Kron: scheduled work at a time that is chosen, not fixed.

import kron
schedule = kron.parse_schedule("0 2 * * * @tz(Europe/Paris) @win(after,3h)")
decision = kron.decide(schedule, identity="prod/backup", nominal=schedule.next_nominal(now))
decision.chosen_time
"""

from kron.core.decision import Decision, Draw, Trace, decide, trace, upcoming
from kron.core.duration import format_duration, parse_duration
from kron.core.errors import Code, KronError, ParseError, Problem
from kron.core.feasibility import Feasibility, feasibility
from kron.core.limits import Limits
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron import fuzzy as fuzzy

__all__ = [
    "Code",
    "Decision",
    "Draw",
    "Feasibility",
    "KronError",
    "Limits",
    "ParseError",
    "Problem",
    "Schedule",
    "Trace",
    "decide",
    "feasibility",
    "format_duration",
    "parse_duration",
    "parse_schedule",
    "trace",
    "upcoming",
]


def __getattr__(name: str) -> object:
    """`kron.fuzzy`, loaded when it is first used: most programs have no use for it."""
    if name == "fuzzy":
        import kron.fuzzy

        return kron.fuzzy
    raise AttributeError(f"module 'kron' has no attribute {name!r}")
