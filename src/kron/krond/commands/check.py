"""`krond check`: one line and an exit code for a monitor."""

from __future__ import annotations

import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator

from kron.console.parser import Parser, UsageError, add_format, whole_seconds
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, quoted, visible
from kron.krond.commands.health import Health, Problem, Scope, Status, examine
from kron.krond.control.client import NoAnswer, NotRunning, ask
from kron.krond.directories import add_state_dir, state_dir_of

DESCRIPTION = """\
Say in one line whether krond and its jobs are well, in the form that Nagios and its kin read. The
exit code is 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN: it cannot be found out, because this
user may not ask, for example, or the command line is wrong).

CRITICAL: krond is not running, does not answer, is stopping or pauses; jobs wait for the clock; a
job has failed or missed a period and has not succeeded since; a period is overdue, and krond has
not decided on it; a last success is older than --max-age-of-success allows; a job that is named
here is not configured. WARNING: krond has no jobs, or lost lines of its log.
Jobs that are suspended cannot fail or miss."""
EXAMPLES = (
    ("krond check", "krond and all of its jobs"),
    ("krond check --max-age-of-success backup=26h", "and `backup` has succeeded since yesterday"),
    ("krond check --ignore experiment", "all jobs but one"),
    ("krond check backup report", "krond, and these two jobs"),
)
SHOWN = 5
"""How many jobs of a kind the line names."""
_COUNTED = ("failed", "missed", "overdue", "stale")
_WORDS = {"stale": "without a recent success"}


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "jobs",
        metavar="JOB",
        nargs="*",
        help="only these: a name, or <absolute path of its file>:<name>",
    )
    parser.add_argument(
        "--max-age-of-success",
        action="append",
        default=[],
        type=_longest,
        metavar="JOB=AGE",
        help="how long ago the last run of JOB that succeeded may have ended, such as "
        "backup=26h, whichever jobs are named; a job without one is CRITICAL; may be repeated",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="JOB",
        help="leave this job out; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=_timeout,
        default=10,
        metavar="TIME",
        help="how long to wait for krond's answer; default: 10s",
    )
    add_format(parser)
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    for name, _ in arguments.max_age_of_success:
        if name in arguments.ignore:
            message = f"{quoted(name)} has an age in --max-age-of-success, and is in --ignore"
            raise UsageError(Code.VALUE_UNKNOWN, message, fix="leave one out")
    health = _health(arguments)
    line = status_line(health)
    if arguments.format == "json":
        terminal.print_json({"schema": "krond.check/1", **_document(health, line)})
    else:
        terminal.print(line)
    return int(health.status)


def refuse(error: UsageError, terminal: Terminal) -> int:
    """A wrong command line: a monitor shows what is on standard output, and knows no code 64."""
    health = Health((Problem("krond", str(error), status=Status.UNKNOWN),))
    terminal.print(status_line(health))
    return int(health.status)


def _health(arguments: Namespace) -> Health:
    state_dir = state_dir_of(arguments)
    scope = Scope(arguments.jobs, arguments.ignore, dict(arguments.max_age_of_success))
    try:
        answer = ask(state_dir, {"command": "status", "job": ""}, arguments.timeout)
        return examine(answer, scope, int(time.time()), lambda job: _last_success(state_dir, job))
    except (NotRunning, NoAnswer) as error:
        return Health((Problem("krond", error.message),))
    except KronError as error:
        return Health((Problem("krond", str(error), status=Status.UNKNOWN),))
    except (AttributeError, KeyError, TypeError, ValueError):
        text = "the answer of krond does not read: it may be of another version"
        return Health((Problem("krond", text, status=Status.UNKNOWN),))


def _last_success(state_dir: str, identity: str) -> int | None:
    from kron.krond.history.reader import open_history

    try:
        with open_history(state_dir) as reader:
            return None if reader is None else reader.last_success_ns(identity)
    except KronError:
        return None  # krond has logged what is wrong with its history


def status_line(health: Health) -> str:
    """`KROND OK - 42 jobs, 1 running | jobs=42 ...`. Only the bar before the numbers is one."""
    text = "; ".join(_parts(health)) or f"{many(health.jobs, 'job')}, {health.running} running"
    numbers = {"jobs": health.jobs, "running": health.running} | {
        kind: len(health.of_kind(kind)) for kind in _COUNTED
    }
    data = " ".join(f"{name}={number}" for name, number in numbers.items())
    return f"KROND {health.status.name} - {visible(text).replace('|', '/')} | {data}"


def _parts(health: Health) -> Iterator[str]:
    for problem in health.problems:
        if problem.job is None:
            yield problem.text
    for kind in dict.fromkeys(problem.kind for problem in health.problems):
        if found := health.of_kind(kind):
            named = ", ".join(f"{problem.job} ({problem.text})" for problem in found[:SHOWN])
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            yield f"{len(found)} {_WORDS.get(kind, kind)}: {named}{more}"


def _document(health: Health, line: str) -> dict[str, object]:
    return {
        "status": health.status.name.lower(),
        "text": line,
        "jobs": health.jobs,
        "running": health.running,
        "problems": [
            {
                "kind": problem.kind,
                "status": problem.status.name.lower(),
                "job": problem.job,
                "since": problem.since,
                "text": problem.text,
            }
            for problem in health.problems
        ],
    }


def _timeout(text: str) -> int:
    if seconds := whole_seconds(text):
        return seconds
    raise ArgumentTypeError("krond needs some time to answer; write it like 10s")


def _longest(text: str) -> tuple[str, int]:
    job, equals, age = text.rpartition("=")
    if job and equals and (seconds := whole_seconds(age)):
        return job, seconds
    raise ArgumentTypeError(f"{quoted(text)} is not a job and an age; write it like backup=26h")
