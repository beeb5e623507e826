"""Every field of a KronJob's spec, declared once.

The definition for the API server, the offline check and the table in docs/kronjob.md are made from
this. A field that a modifier in the schedule can set, too, has no default: the API server would
fill it in, and the field and the modifier would both be set.
"""

from __future__ import annotations

from kron.kube.resource.schema.model import (
    Rule,
    SchemaField,
    integer,
    list_of,
    number,
    shaped,
    structure,
    switch,
    text,
    texts,
)
from kron.kube.resource.schema.rules import (
    AT_MOST_A_YEAR,
    CLAUSE,
    DURATION_RULE,
    FUZZY_HAS_NO_ZONE,
    MORE_THAN_NOTHING,
    NO_CONTROL_CHARACTERS,
    SCHEDULE_RULES,
    ZONE,
    belongs,
    said_twice,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 52
"""A Job is called `<name>-<10 hex digits>`, and the name of a Job has at most 63 characters."""
LONGEST_SCHEDULE = 4096
LARGEST_LIMIT = 2**31 - 1

_LONGEST_DURATION = 64
_MOST_CLAUSES = 64
_LONGEST_CLAUSE = 256


def _duration(name: str, description: str, *rules: Rule, **more: Any) -> SchemaField:
    rules = (DURATION_RULE, *rules)
    return text(name, description, shortest=1, longest=_LONGEST_DURATION, rules=rules, **more)


SCHEDULE = text(
    "schedule",
    "When the work is due: five cron fields (minute, hour, day of month, month, day of week), as "
    "in `30 2 * * MON-FRI`, or words, as in `daily between 1:00 and 5:00`, which are scattered by "
    "the job's namespace and name. Modifiers may follow, as on one line of a krontab: "
    "`0 2 * * * @win(after,2h)`. Set each option as a modifier or as a field, not both.",
    is_required=True,
    shortest=1,
    longest=LONGEST_SCHEDULE,
    rules=SCHEDULE_RULES,
)

TIMEZONE = text(
    "timezone",
    "The IANA time zone that the schedule and the constraints are read in, such as Europe/Paris. "
    "UTC if left out. The same as @tz(...) in the schedule.",
    shortest=1,
    longest=64,
    rules=(shaped(ZONE, "a time zone is an IANA name such as Europe/Paris or UTC"),),
)

WINDOW = structure(
    "window",
    "When a run may start, relative to its due time: one second of the window is chosen, always "
    "the same one for the same job and period. Without a window the run starts when it is due. "
    "The same as @win(mode,duration) in the schedule.",
    text(
        "mode",
        "Whether the window begins when the run is due (after), ends then (before), or has "
        "its middle there (around).",
        is_required=True,
        choices=("after", "around", "before"),
    ),
    _duration(
        "duration",
        "How long the window is, such as 90m or 2h. At most 8784h, which is 366 days.",
        AT_MOST_A_YEAR,
        is_required=True,
    ),
)

DISTRIBUTION_PARAMETERS = (
    number(
        "shape",
        "For skewEarly and skewLate: how strong the bias is; more than 0, and 2 if left out.",
        above=0,
    ),
    number(
        "lambda",
        "For exponential: how fast it decays over the window; more than 0, and 1 if left out.",
        above=0,
    ),
    text(
        "dir",
        "For exponential: the likeliest end of the window; early if left out.",
        choices=("early", "late"),
    ),
    text(
        "mu",
        "For normal: where its peak is. If left out, the due time in a window around it and the "
        "middle of any other.",
        choices=("nominal", "start", "mid", "end"),
    ),
    _duration(
        "sigma",
        "For normal: its standard deviation, such as 20m; a sixth of the window if left out.",
        MORE_THAN_NOTHING,
    ),
)

DISTRIBUTION = structure(
    "distribution",
    "Which seconds of the window are likelier. Uniform if left out. The same as "
    "@dist(name,...) in the schedule.",
    text(
        "name",
        "uniform: all alike. normal: a bell. skewEarly, skewLate: towards the window's start "
        "or end. exponential: decaying from one end.",
        is_required=True,
        choices=("uniform", "normal", "skewEarly", "skewLate", "exponential"),
    ),
    structure(
        "params",
        "The parameters of the distribution. Each belongs to certain distributions only.",
        *DISTRIBUTION_PARAMETERS,
    ),
    rules=tuple(belongs(parameter.name) for parameter in DISTRIBUTION_PARAMETERS),
)

SEED = structure(
    "seed",
    "What the choice follows from, besides the job's namespace and name. The same as "
    "@seed(strategy,salt=...) in the schedule.",
    text(
        "strategy",
        "How often a new choice is made: for every period (stable), every day (daily) or "
        "every week (weekly) in the schedule's time zone.",
        default="stable",
        choices=("stable", "daily", "weekly"),
    ),
    text(
        "salt",
        "Any text. A different salt gives different choices.",
        longest=256,
        rules=(shaped(NO_CONTROL_CHARACTERS, "a salt has no control characters"),),
    ),
)


def _clauses(name: str, description: str) -> SchemaField:
    clause = text(
        "",
        "One clause: hours=8-18, dow=MON-FRI, dom=1-7, months=JAN,DEC, between=22:00-06:00, "
        "date=2026-12-25 or dates=2026-12-24..2026-12-31.",
        shortest=1,
        longest=_LONGEST_CLAUSE,
        rules=(
            shaped(
                CLAUSE,
                "a clause is one of hours=8-18, dow=MON-FRI, dom=1-7, months=JAN,DEC, "
                "between=22:00-06:00, date=2026-12-25, dates=2026-12-24..2026-12-31",
            ),
        ),
    )
    return list_of(name, description, longest=_MOST_CLAUSES, items=clause)


CONSTRAINTS = structure(
    "constraints",
    "Which seconds of the window may be chosen, in the schedule's time zone. A period in which no "
    "second is left does not run; it ends as unschedulable.",
    _clauses(
        "only",
        "Only seconds that match. Of several clauses of one kind, one must match; every kind "
        "that is named must. The same as @only(...;...) in the schedule.",
    ),
    _clauses("avoid", "No second that matches. The same as @avoid(...;...) in the schedule."),
)

POLICY = structure(
    "policy",
    "What happens while an earlier run is active, when a run is late, and while the job is "
    "suspended. Each member is the same as one key of @policy(...) in the schedule.",
    text(
        "concurrency",
        "When a period is due while an earlier run is still active: allow runs both, forbid "
        "skips the period, replace deletes the active run first. forbid if left out.",
        choices=("allow", "forbid", "replace"),
    ),
    _duration(
        "deadline",
        "How late a run may start, such as 10m, when the operator or the cluster was down at "
        "its chosen time. 0s if left out: a late run is missed.",
    ),
    switch(
        "suspend", "Whether no run is started for now. Active runs continue. false if left out."
    ),
)


def _limit(name: str, outcome: str, default: int) -> SchemaField:
    description = f"How many finished Jobs that {outcome} are kept."
    return integer(name, description, default=default, least=0, most=LARGEST_LIMIT)


# Of a Job only what Kron itself relies on is declared. The rest differs between versions of
# Kubernetes: it is kept as it is, and the API server checks it when the Job is created.
_CONTAINERS = list_of(
    "containers",
    "The containers of the Pod; at least one.",
    is_required=True,
    shortest=1,
    items=structure(
        "",
        "A container, as in any Pod.",
        text("name", "The container's name.", is_required=True, shortest=1),
        text("image", "The container's image."),
        is_open=True,
    ),
)

_POD = structure(
    "template",
    "The Pod that the Job runs. It gets the labels and annotations of its Job, so that a container "
    "can read its own period through the downward API.",
    structure("metadata", "Labels, annotations and other metadata of the Pod.", is_open=True),
    structure(
        "spec",
        "The Pod's spec, as in any Job.",
        text(
            "restartPolicy",
            "What happens when a container fails: OnFailure restarts it in its Pod, with "
            "Never the Job creates another Pod. Always is not allowed in a Job.",
            is_required=True,
            choices=("OnFailure", "Never"),
        ),
        _CONTAINERS,
        is_required=True,
        is_open=True,
    ),
    is_required=True,
    is_open=True,
)

JOB_TEMPLATE = structure(
    "jobTemplate",
    "The Job that is created for each period: the same as a CronJob's jobTemplate.",
    structure(
        "metadata",
        "What every Job gets, besides Kron's own labels and annotations under kron.io/.",
        texts("labels", "Labels of every Job."),
        texts("annotations", "Annotations of every Job."),
    ),
    structure(
        "spec",
        "The Job's spec, as in any Job of batch/v1. ttlSecondsAfterFinished is raised to at "
        "least a minute more than policy.deadline: without its Job, a period could run again.",
        _POD,
        is_required=True,
        is_open=True,
    ),
    is_required=True,
)


SPEC = structure(
    "spec",
    "When a Job is started, and which one.",
    SCHEDULE,
    TIMEZONE,
    WINDOW,
    DISTRIBUTION,
    SEED,
    CONSTRAINTS,
    POLICY,
    JOB_TEMPLATE,
    _limit("successfulJobsHistoryLimit", "succeeded", 3),
    _limit("failedJobsHistoryLimit", "failed", 1),
    is_required=True,
    rules=(
        FUZZY_HAS_NO_ZONE,
        said_twice("timezone", "tz"),
        said_twice("window", "win"),
        said_twice("distribution", "dist"),
        said_twice("seed", "seed"),
        said_twice("constraints.only", "only"),
        said_twice("constraints.avoid", "avoid"),
        said_twice("policy.concurrency", "policy"),
        said_twice("policy.deadline", "policy"),
        said_twice("policy.suspend", "policy"),
    ),
)
