"""Every field of a KronJob's spec, declared once.

The definition for the API server, the offline check and the table in docs/kronjob.md are made of
this. A field that a modifier in the schedule can say too has no default: with one, the API server
would say it a second time.
"""

from __future__ import annotations

from kron.kube.resource.composition import DISTRIBUTION_PARAMETERS
from kron.kube.resource.field import Field, Kind, shaped
from kron.kube.resource.patterns import CLAUSE, NO_CONTROL_CHARACTERS, ZONE
from kron.kube.resource.rules import (
    AT_MOST_A_YEAR,
    DURATION_RULE,
    MORE_THAN_NOTHING,
    SCHEDULE_RULES,
    belongs,
    fuzzy_has_no_zone,
    policy_said_twice,
    said_twice,
)
from kron.kube.resource.template import JOB_TEMPLATE

LONGEST_NAME = 52
"""A Job is called `<name>-<10 hex digits>`, and a Job's name has at most 63 characters."""
LONGEST_SCHEDULE = 4096
LARGEST_LIMIT = 2**31 - 1

_LONGEST_DURATION = 64
_MOST_CLAUSES = 64
_LONGEST_CLAUSE = 256

SCHEDULE = Field(
    "schedule",
    Kind.TEXT,
    "When the work is due: five cron fields (minute, hour, day of month, month, day of week), as "
    "in `30 2 * * MON-FRI`, or words, as in `daily between 1:00 and 5:00`, which are scattered by "
    "the job's namespace and name. Modifiers may follow, as on one line of a krontab: "
    "`0 2 * * * @win(after,2h)`. What a modifier says, its own field must not say too.",
    is_required=True,
    shortest=1,
    longest=LONGEST_SCHEDULE,
    rules=SCHEDULE_RULES,
)

TIMEZONE = Field(
    "timezone",
    Kind.TEXT,
    "The IANA time zone that the schedule and the constraints are read in, such as Europe/Paris. "
    "UTC if it is left out. The same as @tz(...) in the schedule.",
    shortest=1,
    longest=64,
    rules=(shaped(ZONE, "a time zone is an IANA name such as Europe/Paris or UTC"),),
)

WINDOW = Field(
    "window",
    Kind.OBJECT,
    "Where around its due time a run may start: one second of the window is chosen, always the "
    "same for the same job and period. Without a window the run starts when it is due. The same "
    "as @win(mode,duration) in the schedule.",
    members=(
        Field(
            "mode",
            Kind.TEXT,
            "Whether the window begins when the run is due (after), ends then (before), or has "
            "its middle there (around).",
            is_required=True,
            choices=("after", "around", "before"),
        ),
        Field(
            "duration",
            Kind.TEXT,
            "How long the window is, such as 90m or 2h. At most 8784h, which is 366 days.",
            is_required=True,
            shortest=1,
            longest=_LONGEST_DURATION,
            rules=(DURATION_RULE, AT_MOST_A_YEAR),
        ),
    ),
)

_PARAMETERS = (
    Field(
        "shape",
        Kind.NUMBER,
        "For skewEarly and skewLate: how strongly they lean; more than 0, and 2 if left out.",
        above=0,
    ),
    Field(
        "lambda",
        Kind.NUMBER,
        "For exponential: how fast it decays over the window; more than 0, and 1 if left out.",
        above=0,
    ),
    Field(
        "dir",
        Kind.TEXT,
        "For exponential: the end of the window that is likeliest; early if left out.",
        choices=("early", "late"),
    ),
    Field(
        "mu",
        Kind.TEXT,
        "For normal: where its peak is. If left out, the due time in a window around it and the "
        "middle of any other.",
        choices=("nominal", "start", "mid", "end"),
    ),
    Field(
        "sigma",
        Kind.TEXT,
        "For normal: its standard deviation, such as 20m; a sixth of the window if left out.",
        shortest=1,
        longest=_LONGEST_DURATION,
        rules=(DURATION_RULE, MORE_THAN_NOTHING),
    ),
)

DISTRIBUTION = Field(
    "distribution",
    Kind.OBJECT,
    "Which seconds of the window are likelier. Uniform if it is left out. The same as "
    "@dist(name,...) in the schedule.",
    rules=tuple(map(belongs, DISTRIBUTION_PARAMETERS)),
    members=(
        Field(
            "name",
            Kind.TEXT,
            "uniform: all alike. normal: a bell. skewEarly, skewLate: towards the window's start "
            "or end. exponential: decaying from one end.",
            is_required=True,
            choices=("uniform", "normal", "skewEarly", "skewLate", "exponential"),
        ),
        Field(
            "params",
            Kind.OBJECT,
            "The parameters of the distribution. Each belongs to some of them only.",
            members=_PARAMETERS,
        ),
    ),
)

SEED = Field(
    "seed",
    Kind.OBJECT,
    "What the choice is made from, beside the job's namespace and name. The same as "
    "@seed(strategy,salt=...) in the schedule.",
    members=(
        Field(
            "strategy",
            Kind.TEXT,
            "How often the choice is made anew: for every period (stable), every day (daily) or "
            "every week (weekly) of the schedule's time zone.",
            default="stable",
            choices=("stable", "daily", "weekly"),
        ),
        Field(
            "salt",
            Kind.TEXT,
            "Any text. Another salt makes other choices.",
            longest=256,
            rules=(shaped(NO_CONTROL_CHARACTERS, "a salt has no control characters"),),
        ),
    ),
)


def _clauses(name: str, description: str) -> Field:
    clause = Field(
        "",
        Kind.TEXT,
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
    return Field(name, Kind.LIST, description, longest=_MOST_CLAUSES, items=clause)


CONSTRAINTS = Field(
    "constraints",
    Kind.OBJECT,
    "Which seconds of the window may be chosen at all, in the schedule's time zone. A period of "
    "which none is left is not run; it ends as unschedulable.",
    members=(
        _clauses(
            "only",
            "Only these: each kind of clause named must hold, and of several of one kind any. "
            "The same as @only(...;...) in the schedule.",
        ),
        _clauses("avoid", "None of these. The same as @avoid(...;...) in the schedule."),
    ),
)

POLICY = Field(
    "policy",
    Kind.OBJECT,
    "What to do when a run is still active, when it is late, and when told to pause. Each member "
    "is the same as one key of @policy(...) in the schedule.",
    members=(
        Field(
            "concurrency",
            Kind.TEXT,
            "When a period is due while an earlier run is still active: allow runs both, forbid "
            "skips the period, replace deletes the active run first. forbid if it is left out.",
            choices=("allow", "forbid", "replace"),
        ),
        Field(
            "deadline",
            Kind.TEXT,
            "How late a run may start, such as 10m, when the operator or the cluster was down at "
            "its chosen time. 0s if it is left out: it is missed then.",
            shortest=1,
            longest=_LONGEST_DURATION,
            rules=(DURATION_RULE,),
        ),
        Field(
            "suspend",
            Kind.SWITCH,
            "Whether nothing is started for now. Runs that are active go on. false if it is left "
            "out.",
        ),
    ),
)


def _limit(name: str, outcome: str, default: int) -> Field:
    return Field(
        name,
        Kind.INTEGER,
        f"How many finished Jobs that {outcome} are kept.",
        default=default,
        least=0,
        most=LARGEST_LIMIT,
    )


SPEC = Field(
    "spec",
    Kind.OBJECT,
    "When a Job is started, and which.",
    is_required=True,
    rules=(
        fuzzy_has_no_zone(),
        said_twice("timezone", "tz"),
        said_twice("window", "win"),
        said_twice("distribution", "dist"),
        said_twice("seed", "seed"),
        said_twice("constraints.only", "only"),
        said_twice("constraints.avoid", "avoid"),
        policy_said_twice("concurrency"),
        policy_said_twice("deadline"),
        policy_said_twice("suspend"),
    ),
    members=(
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
    ),
)
