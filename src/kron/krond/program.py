"""The krond program: its commands, its help and its exit codes."""

from __future__ import annotations

from kron.console.program import Program
from kron.core.errors import Code, KronError

OK = 0
CONFIGURATION = 1
STATE = 2
RUNNING = 3
PERSISTENCE = 4
NOT_RUNNING = 5
USAGE = 64
BROKEN = 70
EXIT_CODES = {
    OK: "done; for `start` in the foreground: stopped on request",
    CONFIGURATION: "the configuration is wrong, or the request was refused",
    STATE: "the state directory cannot be used",
    RUNNING: "a krond is running there already",
    PERSISTENCE: "the state directory was lost, or could not be written when krond was stopped",
    NOT_RUNNING: "no krond is running there",
    USAGE: "the command line is wrong",
    BROKEN: "a bug in krond; its output and its log say where, and the state is intact",
}

COMMANDS = {
    "start": "start the daemon",
    "stop": "stop it and wait until it has ended",
    "reload": "make it read its configuration again",
    "upgrade": "make it go on as the program that is installed now",
    "status": "show what it and its jobs are doing",
    "output": "show what the runs of a job have printed",
    "trigger": "start a run of a job now, outside any period",
    "forget": "discard the stored state of a job",
    "logs": "show its log",
    "history": "show how periods and runs ended",
    "check": "one line and an exit code for a monitor",
}

_CODES = {
    Code.STATE: STATE,
    Code.STATE_NEWER: STATE,
    Code.RUNNING: RUNNING,
    Code.STATE_UNWRITABLE: PERSISTENCE,
    Code.NOT_RUNNING: NOT_RUNNING,
}


def exit_code(error: KronError) -> int:
    return _CODES.get(error.code, CONFIGURATION)


KROND = Program(
    name="krond",
    summary="run scheduled work at its chosen time, at most once a period",
    introduction="""\
krond runs the jobs of krontab files, each at the second that was chosen for it and at most once a
period, even if krond, the disk or the clock fails in between. krontab explains chosen times.""",
    package="kron.krond.commands",
    commands=COMMANDS,
    groups={},
    examples=(
        ("krond start", "run the jobs of /etc/krond.d, in the background"),
        (
            "krond start --foreground --config jobs.kron",
            "stay in the foreground and log to the terminal",
        ),
        ("krond status", "what is running, what is next, how the last runs ended"),
        ("krond history backup --since 24h", "every period and run of `backup`, and how it ended"),
        ("krond stop", "stop after the active runs have ended"),
    ),
    exit_codes=EXIT_CODES,
    wrong_usage=USAGE,
    system_refused=STATE,
    exit_code=exit_code,
    note="Each command finds its krond by --state-dir.",
    job_names="krond status --format names",
)

main = KROND.main
