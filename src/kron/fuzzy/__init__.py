"""Fuzzy schedules: `daily around 14:00 utc+9`, a placeholder, then a cron expression. Pure.

"The specification" in this package is the Fuzzy Schedule Time Syntax Specification 1.2.0.
docs/fuzzy.md says what Kron takes from it, and where it departs from it.
"""

from kron.core.tokens import is_fuzzy
from kron.fuzzy.baseline import Baseline, parse_schedule, read_baseline
from kron.fuzzy.expression import Expression, parse
from kron.fuzzy.pattern import Around, Between, Kind, Pattern
from kron.fuzzy.problem import ERR_CODES, FuzzyProblem
from kron.fuzzy.scatter import (
    Cause,
    Collision,
    Scattered,
    collisions,
    fnv1a_32,
    scatter,
    scattered,
)

__all__ = [
    "ERR_CODES",
    "Around",
    "Baseline",
    "Between",
    "Cause",
    "Collision",
    "Expression",
    "FuzzyProblem",
    "Kind",
    "Pattern",
    "Scattered",
    "collisions",
    "fnv1a_32",
    "is_fuzzy",
    "parse",
    "parse_schedule",
    "read_baseline",
    "scatter",
    "scattered",
]
