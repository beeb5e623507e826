"""The krontab program: its commands, its help and its exit codes."""

from __future__ import annotations

from collections.abc import Iterable

from kron.console.program import Program
from kron.core.errors import Code, KronError

OK = 0
INVALID = 1
FAILED = 2
EXIT_CODES = {
    OK: "success, and nothing is wrong",
    INVALID: "something is invalid or was not found: a line, a job, a file, a decision",
    FAILED: "the command line is wrong, or a system call failed",
}

COMMANDS = {
    "lint": "check krontab files: errors and warnings",
    "explain": "explain why a job runs when it runs",
    "next": "show the coming runs of a job",
    "list": "list all jobs with their next run",
    "add": "add a job to a file",
    "remove": "remove a job from a file",
    "import": "turn a crontab into krontab lines",
    "diff": "show what changes between two configurations",
    "replay": "recompute every decision of a log",
    "heatmap": "show when all jobs run, as a week by hour",
    "fuzzy parse": "show what a fuzzy schedule, such as `daily around 14:00`, means",
    "fuzzy scatter": "turn a fuzzy schedule into the cron expression of an identifier",
    "fuzzy compile": "resolve the fuzzy schedules of workflow files to cron",
    "fuzzy conformance": "run the conformance tests of the fuzzy specification",
    "completion": "print the completion script of a shell",
    "man": "print a manual page",
}


def _exit_code(error: KronError) -> int:
    from kron.jobs.configuration import ConfigurationError

    found = error.findings if isinstance(error, ConfigurationError) else (error,)
    return exit_code_of(each.code for each in found)


def exit_code_of(codes: Iterable[str]) -> int:
    """The exit code for errors with these codes, if there are any."""
    found = set(codes)
    if found & {Code.FILE_UNREADABLE, Code.FILE_UNWRITABLE}:
        return FAILED
    return INVALID if found else OK


KRONTAB = Program(
    name="krontab",
    summary="schedule work at a time that is chosen, not fixed",
    introduction="""\
Kron runs scheduled work at a time that is chosen, not fixed: cron says when work is due, a window
and a distribution say when around that moment it may run, and a seed makes the choice the same
on every machine. krontab reads and edits krontab files, and explains every choice.""",
    package="kron.krontab.commands",
    commands=COMMANDS,
    groups={"fuzzy": "work with fuzzy schedules, such as `daily around 14:00`"},
    examples=(
        ("krontab next backup", "when does the job `backup` run?"),
        ("krontab explain backup", "why then?"),
        ("krontab lint --file jobs.kron", "is this file right?"),
        ("krontab import /etc/crontab", "what would my crontab look like?"),
    ),
    exit_codes=EXIT_CODES,
    wrong_usage=FAILED,
    system_refused=FAILED,
    exit_code=_exit_code,
    note="Without --file, krontab reads /etc/krond.d/*.kron and ~/.config/krond/*.kron.",
    job_names="krontab list --format names",
)

main = KRONTAB.main
