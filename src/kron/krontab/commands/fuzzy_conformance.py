"""`krontab fuzzy conformance`: run the conformance tests of the fuzzy specification."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.fuzzy.conformance import LEVELS, level_of
from kron.fuzzy.conformance import run as run_tests

DESCRIPTION = """\
Run every conformance test of the fuzzy schedule specification against this implementation. Show
the result of each test and the conformance level. The exit code is 0 only if all tests pass."""
EXAMPLES = (
    ("krontab fuzzy conformance", "every test and the level"),
    ("krontab fuzzy conformance --format json", "for a script"),
)


def add_arguments(parser: Parser) -> None:
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    results = run_tests()
    level = level_of(results)
    failed = sum(bool(failure) for _, failure in results)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.fuzzy.conformance/1",
                "level": level,
                "passed": len(results) - failed,
                "failed": failed,
                "tests": [
                    {
                        "id": test.id,
                        "level": test.level,
                        "title": test.title,
                        "passed": not failure,
                        "failure": failure,
                    }
                    for test, failure in results
                ],
            }
        )
        return int(failed > 0)
    for test, failure in results:
        verdict = terminal.styled("FAIL", "red") if failure else terminal.styled("pass", "green")
        terminal.print(f"{verdict}  {test.id:<18}  {test.title}{failure and f': {failure}'}")
    reached = f"level {level} ({LEVELS[level]})" if level else "no level"
    terminal.print(f"{len(results) - failed} passed, {failed} failed; {reached} is reached")
    return int(failed > 0)
