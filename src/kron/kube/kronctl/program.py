"""The kronctl program: its commands, its help and its exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kron.console.program import INTERRUPTED, UNREAD, Program
from kron.core.errors import Code, KronError

OK = 0
INVALID = 1
FAILED = 2
EXIT_CODES = {
    OK: "success",
    INVALID: "something is invalid or does not exist (a manifest, a KronJob), or a run has failed",
    FAILED: "the command line is wrong, a file cannot be read or written, or the cluster refuses "
    "the request or cannot be reached",
}

COMMANDS = {
    "explain": "explain why a KronJob runs when it runs",
    "next": "show the coming runs of a KronJob",
    "list": "list KronJobs with their next run",
    "suspend": "stop KronJobs from starting runs",
    "resume": "let suspended KronJobs start runs again",
    "trigger": "start a run of a KronJob now, outside any period",
    "validate": "check manifests, without a cluster",
    "migrate": "turn CronJobs into KronJobs",
    "diff": "show what an edit changes in chosen times",
    "doctor": "find out what is wrong in a cluster, and what to do next",
    "completion": "print the completion script of a shell",
}

PLUGIN = "kubectl-kron"
"""The name under which `kubectl kron` finds it."""

_SYSTEM = (Code.FILE_UNREADABLE, Code.FILE_UNWRITABLE, Code.CLUSTER)


def _exit_code(error: KronError) -> int:
    from kron.jobs.configuration import ConfigurationError
    from kron.kube.client.errors import NOT_FOUND, ApiError

    if error.code is Code.API:
        return INVALID if isinstance(error, ApiError) and error.status == NOT_FOUND else FAILED
    if isinstance(error, ConfigurationError):
        is_failed = any(not finding.line for finding in error.findings)  # of a file as a whole
    else:
        is_failed = error.code in _SYSTEM
    return FAILED if is_failed else INVALID


KRONCTL = Program(
    name="kronctl",
    summary="manage KronJobs: explain, check, suspend, trigger and migrate them",
    introduction="""\
kronctl manages the KronJobs of a Kubernetes cluster, in which kron-operator creates each Job at the
second that was chosen for it. It explains every choice, checks manifests without a cluster, and
turns CronJobs into KronJobs. `kubectl kron` is the same command.""",
    package="kron.kube.kronctl.commands",
    commands=COMMANDS,
    groups={},
    examples=(
        ("kronctl next prod/backup", "when does the KronJob `backup` in `prod` run?"),
        ("kronctl explain backup -f backup.yaml", "why then? (without a cluster)"),
        ("kronctl validate -f manifests/", "are these manifests right?"),
        ("kronctl migrate -A --spread auto", "what would my CronJobs look like?"),
        ("kronctl doctor -A", "is everything in order?"),
    ),
    exit_codes={
        **EXIT_CODES,
        INTERRUPTED: "interrupted with Ctrl-C",
        UNREAD: "the reader of the output ended early, as head does: the shell's code for SIGPIPE",
    },
    wrong_usage=FAILED,
    system_refused=FAILED,
    exit_code=_exit_code,
    note="It uses kubectl's cluster: that of --kubeconfig, KUBECONFIG or ~/.kube/config.",
    completer="kubectl_complete-kron",
)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line, under the name by which the program was called."""
    program = KRONCTL
    if words is None and sys.argv and sys.argv[0].rpartition("/")[2] == PLUGIN:
        name = PLUGIN.replace("-", " ")
        examples = tuple((line.replace("kronctl", name), what) for line, what in KRONCTL.examples)
        program = KRONCTL.replace(name=name, examples=examples)
    return program.main(words)
