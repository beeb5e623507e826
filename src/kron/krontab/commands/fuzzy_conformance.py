"""`krontab fuzzy conformance`: run the conformance tests of the fuzzy specification."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.fuzzy.conformance import LEVELS, Result
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
    report = run_tests()
    failed = sum(not result.passed for result in report.results)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.fuzzy.conformance/1",
                "level": report.level,
                "passed": len(report.results) - failed,
                "failed": failed,
                "tests": [
                    {
                        "id": result.test.id,
                        "level": result.test.level,
                        "title": result.test.title,
                        "passed": result.passed,
                        "failure": result.failure,
                    }
                    for result in report.results
                ],
            }
        )
        return int(failed > 0)
    level = f"level {report.level} ({LEVELS[report.level]})" if report.level else "no level"
    summary = f"{len(report.results) - failed} passed, {failed} failed; {level} is reached"
    terminal.print(*(_line(result, terminal) for result in report.results), summary)
    return int(failed > 0)


def _line(result: Result, terminal: Terminal) -> str:
    verdict = terminal.styled("pass", "green") if result.passed else terminal.styled("FAIL", "red")
    failure = f": {result.failure}" if result.failure else ""
    return f"{verdict}  {result.test.id:<18}  {result.test.title}{failure}"
