"""The kron-operator program: its commands, what it says of itself, and its exit codes."""

from __future__ import annotations

from kron.console.program import Program

OK = 0
CONFIGURATION = 1
USAGE = 64
BROKEN = 70


OPERATOR = Program(
    name="kron-operator",
    summary="run KronJobs: a Job at its chosen second, at most one a period",
    introduction="""\
kron-operator makes a Kubernetes Job for every period of a KronJob, at the second that was chosen
for it and at most one a period, whatever becomes of the operator or the API server in between.
One replica leads; the others stand by. `kronctl explain` shows why a run starts when it does.""",
    package="kron.kube.operator.commands",
    commands={
        "run": "make the Jobs of KronJobs at their chosen times",
        "crd": "print the definition of the KronJob resource",
    },
    groups={},
    examples=(
        (
            "kron-operator crd | kubectl apply --server-side --force-conflicts -f -",
            "let the cluster know what a KronJob is",
        ),
        ("kron-operator run", "look after all KronJobs of the cluster"),
        ("kron-operator run --namespace team-a", "the KronJobs of one namespace only"),
    ),
    exit_codes={
        OK: "done; for `run`: stopped by a signal",
        CONFIGURATION: "no way to a cluster was found, or an address cannot be served",
        USAGE: "the command line is wrong",
        BROKEN: "a bug in the operator; its output says where, and no state is lost",
    },
    wrong_usage=USAGE,
    system_refused=CONFIGURATION,
    exit_code=lambda _: CONFIGURATION,
    note="deploy/kubernetes has manifests for a cluster.",
)

main = OPERATOR.main
