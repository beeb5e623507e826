"""The krond program: its commands, what it says of itself, and its exit codes."""

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
    OK: "done; for `start` in the foreground: stopped as it was told to",
    CONFIGURATION: "the configuration is wrong, or the request was refused",
    STATE: "the state directory cannot be used",
    RUNNING: "a krond is running there already",
    PERSISTENCE: "the state could not be made safe on disk, so krond has stopped",
    NOT_RUNNING: "no krond is running there",
    USAGE: "the command line is wrong",
    BROKEN: "a fault of krond's own; its output and its log say where, and the state is whole",
}

COMMANDS = {
    "start": "start the daemon",
    "stop": "stop it, and wait until it has ended",
    "reload": "let it read its configuration again",
    "status": "show what it and its jobs are doing",
    "trigger": "start a run of a job now, outside any period",
    "forget": "let a job be as if it had never been seen",
    "logs": "show its log",
}

_CODES = {
    Code.STATE: STATE,
    Code.STATE_NEWER: STATE,
    Code.RUNNING: RUNNING,
    Code.STATE_UNWRITABLE: PERSISTENCE,
    Code.NOT_RUNNING: NOT_RUNNING,
}


def exit_code(error: KronError) -> int:
    """The exit code that an error ends krond with."""
    return _CODES.get(error.code, CONFIGURATION)


KROND = Program(
    name="krond",
    summary="run scheduled work at its chosen time, at most once a period",
    introduction="""\
krond runs the jobs of krontab files, each at the second that was chosen for it and at most once a
period, whatever becomes of krond, the disk or the clock in between. krontab explains why then.""",
    package="kron.krond.commands",
    commands=COMMANDS,
    groups={},
    examples=(
        ("krond start", "run what /etc/krond.d says, in the background"),
        ("krond start --foreground --config jobs.kron", "stay here, and log to the terminal"),
        ("krond status", "what runs, what comes next, how did the last runs end?"),
        ("krond stop", "end, once the runs that are going on have"),
    ),
    exit_codes=EXIT_CODES,
    wrong_usage=USAGE,
    system_refused=STATE,
    exit_code=exit_code,
    note="Each command finds its krond by --state-dir.",
    job_names="krond status --format names",
)

main = KROND.main
