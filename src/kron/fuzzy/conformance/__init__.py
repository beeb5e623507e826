"""The conformance suite of seed 004: every test id of its section 10, run against Kron.

Pure, as the rest: `run` returns a report, and whoever asks prints it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.frozen import Frozen
from kron.fuzzy.conformance import parsing, scattering
from kron.fuzzy.conformance.check import Implementation, Test
from kron.fuzzy.expression import parse
from kron.fuzzy.hashing import fnv1a_32
from kron.fuzzy.scatter import scatter

__all__ = ["KRON", "LEVELS", "TESTS", "Implementation", "Report", "Result", "Test", "run"]

LEVELS = {1: "Basic", 2: "Standard", 3: "Complete"}
TESTS = (*parsing.TESTS, *scattering.TESTS)
KRON = Implementation(parse, scatter, fnv1a_32)


class Result(Frozen):
    """A test, and why it failed; '' if it passed."""

    test: Test
    failure: str = ""

    @property
    def passed(self) -> bool:
        """Whether it did."""
        return not self.failure


class Report(Frozen):
    """The results of the tests that were run, in the seed's order."""

    results: tuple[Result, ...]

    @property
    def level(self) -> int:
        """The highest level all of whose tests passed, with those of the levels below; 0: none."""
        failed = [result.test.level for result in self.results if not result.passed]
        return min(failed, default=max(LEVELS) + 1) - 1


def run(implementation: Implementation = KRON, tests: Iterable[Test] = TESTS) -> Report:
    """Run every test, or some of them."""
    return Report(tuple(_result(test, implementation) for test in tests))


def _result(test: Test, implementation: Implementation) -> Result:
    try:
        failures = list(test.check(implementation))
    except Exception as error:  # whatever an implementation does, the report says it
        failures = [f"{type(error).__name__}: {error}"]
    return Result(test, "; ".join(failures))
