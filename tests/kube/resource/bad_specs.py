"""KronJobs that are refused: by the API server, or by the engine where a schema cannot tell.

One table for the offline check (tests/kube/resource), for `kubectl apply` on a real API server and
for the operator (tests/cluster).
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

TEMPLATE: dict[str, Any] = {
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "example.test/work:1"}],
            }
        }
    }
}


class BadSpec(NamedTuple):
    """A change to a good KronJob, as a JSON merge patch on the whole object, and what is said."""

    id: str
    patch: dict[str, Any]
    message: str
    """A part of what the API server says or, where it accepts this, of what the engine says."""
    refused_by: str = "api"
    """`api` or `engine`."""
    path: str = "spec"
    """Where the offline check complains."""
    offline: str = ""
    """A part of what the offline check says, where that is in other words."""


def good_kronjob(name: str = "good", namespace: str = "default") -> dict[str, Any]:
    """A KronJob that everybody accepts."""
    return {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedule": "30 2 * * *", "jobTemplate": copy.deepcopy(TEMPLATE)},
    }


def bad_kronjob(bad: BadSpec, namespace: str = "default") -> dict[str, Any]:
    """The KronJob that a row of the table describes."""
    kronjob: dict[str, Any] = merged(good_kronjob(bad.id, namespace), bad.patch)
    return kronjob


def merged(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), change)
    return result


def _api(name: str, spec: dict[str, Any], path: str, message: str, offline: str = "") -> BadSpec:
    return BadSpec(name, {"spec": spec}, message, "api", path, offline)


def _engine(name: str, spec: dict[str, Any], path: str, message: str) -> BadSpec:
    return BadSpec(name, {"spec": spec}, message, "engine", path)


def _schedule(name: str, schedule: Any, message: str, offline: str = "") -> BadSpec:
    return _api(name, {"schedule": schedule}, "spec.schedule", message, offline)


def _twice(name: str, modifier: str, spec: dict[str, Any], path: str) -> BadSpec:
    said = {"schedule": f"30 2 * * * {modifier}", **spec}
    return _api(name, said, path, "say the same thing: keep one of them")


_FIELD_RULE = "a field of a schedule is *, n, n-m, */s, n-m/s or a list of these"
_COUNT_RULE = "a schedule begins with five fields"
_MODIFIER_RULE = "a modifier is written like @win(after,2h), without spaces"
_DURATION_RULE = "a duration is written like 90m, 1h30m, 1.5h or 250ms"
_CLAUSE_RULE = "a clause is one of hours=8-18"
_FUZZY_RULE = "a schedule in words is one like daily around 14:00"
_TWICE_RULE = "a modifier is given twice: keep one of them"
_WIN_RULE = "a window is written like @win(after,2h)"
_POD = "spec.jobTemplate.spec.template.spec"


def _window(duration: Any, mode: Any = "after") -> dict[str, Any]:
    return {"window": {"mode": mode, "duration": duration}}


def _pod(patch: dict[str, Any]) -> dict[str, Any]:
    return {"jobTemplate": {"spec": {"template": {"spec": patch}}}}


def _distribution(name: str, **parameters: Any) -> dict[str, Any]:
    return {"distribution": {"name": name, "params": parameters}}


BAD_SPECS: list[BadSpec] = [
    # The schedule.
    _schedule("no-schedule", None, "Required value", "it is missing"),
    _schedule("empty-schedule", "", "should be at least 1 chars long", "it is empty"),
    _schedule("schedule-number", 5, "must be of type string", "must be text"),
    _schedule("blank-schedule", "   ", _COUNT_RULE, "here are none"),
    _schedule("four-fields", "0 0 * *", _COUNT_RULE, "here are 4"),
    _schedule("six-fields", "0 0 0 * * *", _COUNT_RULE, "leave the field for seconds out"),
    _schedule("minute-60", "60 0 * * *", _FIELD_RULE, "is not between 0 and 59"),
    _schedule("hour-24", "0 24 * * *", _FIELD_RULE, "is not between 0 and 23"),
    _schedule("day-32", "0 0 32 * *", _FIELD_RULE, "is not between 1 and 31"),
    _schedule("month-name", "0 0 1 JUNE *", _FIELD_RULE, "JUNE"),
    _schedule("weekday-name", "0 0 * * MOO", _FIELD_RULE, "MOO"),
    _schedule("step-zero", "*/0 * * * *", _FIELD_RULE, "is not a number from 1"),
    _schedule("step-without-range", "5/10 * * * *", _FIELD_RULE, "write 5-59/10"),
    _schedule("last-day", "0 0 L * *", _FIELD_RULE, '"L"'),
    _schedule("question-mark", "0 0 ? * *", _FIELD_RULE, '"?"'),
    _schedule("hash", "0 0 * * 5#3", _FIELD_RULE, "5#3"),
    _schedule("jenkins-hash", "H 2 * * *", _FIELD_RULE, '"H"'),
    _schedule("shorthand", "@daily", _MODIFIER_RULE, "is a shorthand"),
    _schedule("reboot", "@reboot", _MODIFIER_RULE, "a cluster has no boot"),
    _schedule("every", "@every 5m", _MODIFIER_RULE, "@every"),
    _schedule("unknown-modifier", "0 0 * * * @windw(after,2h)", _MODIFIER_RULE, "unknown modifier"),
    _schedule("space-in-modifier", "0 0 * * * @win(after, 2h)", _MODIFIER_RULE, "there is a space"),
    _schedule("open-parenthesis", "0 0 * * * @win(after,2h", _MODIFIER_RULE, "never closed"),
    _schedule("open-quote", '0 0 * * * @seed(stable,salt="a)', _MODIFIER_RULE, "never closed"),
    _schedule(
        "two-lines",
        "0 0 * * *\n0 1 * * *",
        "one line without control characters",
        "control character",
    ),
    _schedule(
        "long-schedule", "0 0 * * *" + " " * 5000, "may not be more than 4096", "and may have 4,096"
    ),
    # Schedules in words.
    _schedule("fuzzy-word", "dayly around 14:00", _FUZZY_RULE, 'did you mean "daily"?'),
    _schedule("fuzzy-at", "daily at 14:00", _FUZZY_RULE, "write around instead of at"),
    _schedule("fuzzy-month", "monthly", _FUZZY_RULE, "write five cron fields"),
    _schedule("fuzzy-hour", "daily around 25:00", _FUZZY_RULE, "is not between 0 and 23"),
    _schedule("fuzzy-half", "daily around 14:00 pm", _FUZZY_RULE, "is not between 1 and 12"),
    _schedule("fuzzy-weekday", "weekly on mondey", _FUZZY_RULE, 'did you mean "monday"?'),
    _schedule("fuzzy-zone", "daily around 14:00 CET", _FUZZY_RULE, "write its offset"),
    _schedule("fuzzy-unit", "every 5 fortnights", _FUZZY_RULE, "fortnights"),
    _schedule("placeholder", "FUZZY:DAILY * * *", _FUZZY_RULE, "FUZZY:DAILY"),
    _schedule("cron-word", "noon 0 * * *", _FUZZY_RULE, "noon"),
    # Modifiers in the text.
    *(
        _schedule(f"modifier-twice-{name}", f"0 0 * * * {said} {said}", _TWICE_RULE, "given twice")
        for name, said in (
            ("tz", "@tz(UTC)"),
            ("win", "@win(after,2h)"),
            ("dist", "@dist(uniform)"),
            ("seed", '@seed(daily,salt="a b")'),
            ("policy", "@policy(deadline=1h)"),
            ("only", "@only(hours=8)"),
            ("avoid", "@avoid(dow=SUN)"),
        )
    ),
    _schedule(
        "modifier-twice-apart", "@tz(UTC) 0 0 @win(after,1h) * * * @tz(UTC)", _TWICE_RULE, "twice"
    ),
    _schedule("window-in-text", "0 0 * * * @win(after,2d)", _WIN_RULE, "write 2d as 48h"),
    _schedule("window-mode-in-text", "0 0 * * * @win(aftr,2h)", _WIN_RULE, 'did you mean "after"?'),
    _schedule(
        "window-absurd-in-text", "0 0 * * * @win(after,99999999h)", _WIN_RULE, "than 292 years"
    ),
    _schedule(
        "window-over-a-year-in-text", "0 0 * * * @win(after,8785h)", "at most 8784h", "366 days"
    ),
    _schedule(
        "deadline-absurd-in-text",
        "0 0 * * * @policy(concurrency=allow,deadline=2562048h)",
        "a deadline is written like @policy(deadline=10m)",
        "than 292 years",
    ),
    _schedule(
        "deadline-days-in-text",
        "0 0 * * * @policy(deadline=2d,suspend=true)",
        "a deadline is written like @policy(deadline=10m)",
        "2d",
    ),
    _schedule("hours-in-text", "0 0 * * * @only(hours=99)", _CLAUSE_RULE, "between 0 and 23"),
    _schedule("dow-in-text", "0 0 * * * @avoid(dow=XYZ)", _CLAUSE_RULE, "XYZ"),
    _schedule("key-in-text", "0 0 * * * @avoid(day=MON)", _CLAUSE_RULE, "unknown key"),
    # Time zones.
    _api("zone-number", {"timeZone": 1}, "spec.timeZone", "must be of type string", "must be text"),
    _api(
        "zone-blank",
        {"timeZone": "Europe/ Paris"},
        "spec.timeZone",
        "a time zone is an IANA name",
        "is not the name of an IANA time zone",
    ),
    _api(
        "zone-offset",
        {"timeZone": "UTC:02"},
        "spec.timeZone",
        "a time zone is an IANA name",
        "is not the name of an IANA time zone",
    ),
    _api(
        "zone-of-fuzzy",
        {"schedule": "daily", "timeZone": "Europe/Paris"},
        "spec.timeZone",
        "a fuzzy schedule has no timeZone",
    ),
    # Windows and durations.
    _api(
        "window-text",
        {"window": "after,2h"},
        "spec.window",
        "must be of type object",
        "must be an object",
    ),
    _api(
        "window-mode",
        _window("2h", "during"),
        "spec.window.mode",
        "Unsupported value",
        "it is one of after, around, before",
    ),
    _api(
        "window-no-mode",
        {"window": {"duration": "2h"}},
        "spec.window.mode",
        "Required value",
        "it is missing",
    ),
    _api(
        "window-no-duration",
        {"window": {"mode": "after"}},
        "spec.window.duration",
        "Required value",
        "it is missing",
    ),
    _api("window-days", _window("2d"), "spec.window.duration", _DURATION_RULE, "write 2d as 48h"),
    _api(
        "window-no-unit",
        _window("90"),
        "spec.window.duration",
        _DURATION_RULE,
        "ends without a unit",
    ),
    _api(
        "window-number",
        _window(90),
        "spec.window.duration",
        "must be of type string",
        "must be text",
    ),
    _api("window-negative", _window("-2h"), "spec.window.duration", _DURATION_RULE, "has a sign"),
    _api("window-space", _window("2 h"), "spec.window.duration", _DURATION_RULE, "2 h"),
    _api(
        "window-empty",
        _window(""),
        "spec.window.duration",
        "should be at least 1 chars long",
        "it is empty",
    ),
    _api(
        "window-over-a-year",
        _window("8785h"),
        "spec.window.duration",
        "a window is at most 8784h long",
        "is longer than 366 days",
    ),
    _api(
        "window-centuries",
        _window("99999999999999h"),
        "spec.window.duration",
        "a window is at most 8784h long",
        "is longer than",
    ),
    _api(
        "window-added-up",
        _window("99999h99999h99999h"),
        "spec.window.duration",
        "a window is at most 8784h long",
        "is longer than 366 days",
    ),
    _api(
        "window-member",
        {"window": {"mode": "after", "duration": "2h", "lenght": "2h"}},
        "spec.window.lenght",
        "unknown field",
    ),
    # Distributions.
    _api(
        "distribution-name",
        {"distribution": {"name": "gauss"}},
        "spec.distribution.name",
        "Unsupported value",
        "it is one of uniform, normal",
    ),
    _api(
        "distribution-no-name",
        {"distribution": {}},
        "spec.distribution.name",
        "Required value",
        "it is missing",
    ),
    _api(
        "shape-of-uniform",
        _distribution("uniform", shape=2),
        "spec.distribution.params.shape",
        "params.shape belongs to the distribution skewEarly and skewLate",
    ),
    _api(
        "sigma-of-skew",
        _distribution("skewLate", sigma="2m"),
        "spec.distribution.params.sigma",
        "params.sigma belongs to the distribution normal",
    ),
    _api(
        "lambda-of-normal",
        _distribution("normal", **{"lambda": 2}),
        "spec.distribution.params.lambda",
        "params.lambda belongs to the distribution exponential",
    ),
    _api(
        "shape-zero",
        _distribution("skewLate", shape=0),
        "spec.distribution.params.shape",
        "should be greater than 0",
        "must be more than 0",
    ),
    _api(
        "shape-text",
        _distribution("skewLate", shape="2"),
        "spec.distribution.params.shape",
        "must be of type number",
        "must be a number",
    ),
    _api(
        "dir-word",
        _distribution("exponential", dir="left"),
        "spec.distribution.params.dir",
        "Unsupported value",
        "it is one of early, late",
    ),
    _api(
        "sigma-zero",
        _distribution("normal", sigma="0s"),
        "spec.distribution.params.sigma",
        "sigma is longer than 0s",
        "sigma must be longer than 0s",
    ),
    _api(
        "sigma-centuries",
        _distribution("normal", sigma="99999999h"),
        "spec.distribution.params.sigma",
        "a duration is at most 292 years long",
        "is longer than 292 years",
    ),
    _api(
        "parameter-unknown",
        _distribution("normal", mean="mid"),
        "spec.distribution.params.mean",
        "unknown field",
    ),
    # Seeds.
    _api(
        "seed-strategy",
        {"seed": {"strategy": "monthly"}},
        "spec.seed.strategy",
        "Unsupported value",
        "it is one of stable, daily, weekly",
    ),
    _api(
        "salt-control",
        {"seed": {"salt": "a\u0007b"}},
        "spec.seed.salt",
        "a salt has no control characters",
        "control character",
    ),
    _api(
        "salt-line",
        {"seed": {"salt": "a\nb"}},
        "spec.seed.salt",
        "a salt has no control characters",
        "control character",
    ),
    _api(
        "salt-long",
        {"seed": {"salt": "a" * 257}},
        "spec.seed.salt",
        "may not be more than 256",
        "and may have 256",
    ),
    # Constraints.
    _api(
        "clause-key",
        {"constraints": {"only": ["hour=8-18"]}},
        "spec.constraints.only[0]",
        _CLAUSE_RULE,
        'did you mean "hours"?',
    ),
    _api(
        "clause-hours",
        {"constraints": {"only": ["hours=99"]}},
        "spec.constraints.only[0]",
        _CLAUSE_RULE,
        "is not between 0 and 23",
    ),
    _api(
        "clause-range",
        {"constraints": {"only": ["hours=8-25"]}},
        "spec.constraints.only[0]",
        _CLAUSE_RULE,
        "is not between 0 and 23",
    ),
    _api(
        "clause-dow",
        {"constraints": {"avoid": ["dow=MON,XYZ"]}},
        "spec.constraints.avoid[0]",
        _CLAUSE_RULE,
        "XYZ",
    ),
    _api(
        "clause-dom",
        {"constraints": {"avoid": ["dom=0"]}},
        "spec.constraints.avoid[0]",
        _CLAUSE_RULE,
        "is not between 1 and 31",
    ),
    _api(
        "clause-months",
        {"constraints": {"avoid": ["months=13"]}},
        "spec.constraints.avoid[0]",
        _CLAUSE_RULE,
        "is not between 1 and 12",
    ),
    _api(
        "clause-two-in-one",
        {"constraints": {"only": ["hours=8-18;dow=MON"]}},
        "spec.constraints.only[0]",
        _CLAUSE_RULE,
    ),
    _api(
        "clause-second",
        {"constraints": {"avoid": ["dow=SUN", "between=8:00-9:00"]}},
        "spec.constraints.avoid[1]",
        _CLAUSE_RULE,
        "is not a time range",
    ),
    _api(
        "clause-date",
        {"constraints": {"avoid": ["date=2026-13-01"]}},
        "spec.constraints.avoid[0]",
        _CLAUSE_RULE,
        "is not a day of the calendar",
    ),
    _api(
        "clause-step",
        {"constraints": {"avoid": ["hours=*/2"]}},
        "spec.constraints.avoid[0]",
        _CLAUSE_RULE,
        "*/2",
    ),
    _api(
        "clauses-text",
        {"constraints": {"only": "hours=8-18"}},
        "spec.constraints.only",
        "must be of type array",
        "must be a list",
    ),
    _api(
        "clauses-many",
        {"constraints": {"only": ["hours=8"] * 65}},
        "spec.constraints.only",
        "must have at most 64 items",
        "and may have 64",
    ),
    # Policies.
    _api(
        "concurrency-word",
        {"policy": {"concurrency": "Forbid"}},
        "spec.policy.concurrency",
        "Unsupported value",
        'did you mean "forbid"?',
    ),
    _api(
        "deadline-seconds",
        {"policy": {"deadline": 600}},
        "spec.policy.deadline",
        "must be of type string",
        "must be text",
    ),
    _api(
        "deadline-days",
        {"policy": {"deadline": "1d"}},
        "spec.policy.deadline",
        _DURATION_RULE,
        "write 1d as 24h",
    ),
    _api(
        "deadline-centuries",
        {"policy": {"deadline": "2562048h"}},
        "spec.policy.deadline",
        "a duration is at most 292 years long",
        "is longer than 292 years",
    ),
    _api(
        "suspend-text",
        {"policy": {"suspend": "yes"}},
        "spec.policy.suspend",
        "must be of type boolean",
        "must be true or false",
    ),
    _api(
        "policy-member",
        {"policy": {"startingDeadlineSeconds": 5}},
        "spec.policy.startingDeadlineSeconds",
        "unknown field",
    ),
    # Said twice.
    _twice("twice-zone", "@tz(UTC)", {"timeZone": "UTC"}, "spec.timeZone"),
    _twice("twice-window", "@win(after,2h)", _window("2h"), "spec.window"),
    _twice(
        "twice-distribution",
        "@dist(uniform)",
        {"distribution": {"name": "uniform"}},
        "spec.distribution",
    ),
    _twice("twice-seed", "@seed(daily)", {"seed": {"salt": "a"}}, "spec.seed"),
    _twice(
        "twice-only",
        "@only(hours=8)",
        {"constraints": {"only": ["hours=9"]}},
        "spec.constraints.only",
    ),
    _twice(
        "twice-avoid",
        "@avoid(hours=8)",
        {"constraints": {"avoid": ["hours=9"]}},
        "spec.constraints.avoid",
    ),
    _twice(
        "twice-concurrency",
        "@policy(deadline=1h,concurrency=allow)",
        {"policy": {"concurrency": "allow"}},
        "spec.policy.concurrency",
    ),
    _twice(
        "twice-deadline",
        "@policy(deadline=1h)",
        {"policy": {"deadline": "1h"}},
        "spec.policy.deadline",
    ),
    _twice(
        "twice-suspend",
        "@policy(suspend=false)",
        {"policy": {"suspend": True}},
        "spec.policy.suspend",
    ),
    # The template and the limits.
    _api(
        "no-template", {"jobTemplate": None}, "spec.jobTemplate", "Required value", "it is missing"
    ),
    _api(
        "restart-always",
        _pod({"restartPolicy": "Always"}),
        f"{_POD}.restartPolicy",
        "Unsupported value",
        "is not one of OnFailure, Never",
    ),
    _api(
        "restart-missing",
        _pod({"restartPolicy": None}),
        f"{_POD}.restartPolicy",
        "Required value",
        "it is missing",
    ),
    _api(
        "no-containers",
        _pod({"containers": None}),
        f"{_POD}.containers",
        "Required value",
        "it is missing",
    ),
    _api(
        "empty-containers",
        _pod({"containers": []}),
        f"{_POD}.containers",
        "should have at least 1 items",
        "it is empty",
    ),
    _api(
        "label-number",
        {"jobTemplate": {"metadata": {"labels": {"tier": 1}}}},
        'spec.jobTemplate.metadata.labels["tier"]',
        "must be of type string",
        "must be text",
    ),
    _api(
        "template-made-before",
        {"jobTemplate": {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}},
        "spec.jobTemplate.metadata.creationTimestamp",
        "may not be more than 0",
        "may have 0",
    ),
    _api(
        "limit-negative",
        {"successfulJobsHistoryLimit": -1},
        "spec.successfulJobsHistoryLimit",
        "should be greater than or equal to 0",
        "must be at least 0",
    ),
    _api(
        "limit-text",
        {"failedJobsHistoryLimit": "1"},
        "spec.failedJobsHistoryLimit",
        "must be of type integer",
        "must be a whole number",
    ),
    _api(
        "field-misspelt",
        {"timezones": "Europe/Paris"},
        "spec.timezones",
        "unknown field",
        'did you mean "timeZone"?',
    ),
    *(
        _api(f"spelt-{name.lower()}", {name: value}, f"spec.{name}", message)
        for name, value, message in (
            ("timezone", "Europe/Paris", "a KronJob has no field timezone: write timeZone"),
            ("suspend", True, "a KronJob has no field suspend: write policy: {suspend: true}"),
            ("concurrencyPolicy", "Forbid", "write policy: {concurrency: forbid}"),
            ("startingDeadlineSeconds", 600, "write policy: {deadline: 600s}"),
        )
    ),
    BadSpec(
        "name-" + "x" * 48,
        {},
        "the name of a KronJob has at most 52 characters",
        path="metadata.name",
    ),
    # What only the engine can judge.
    _engine("never", {"schedule": "0 0 31 2 *"}, "spec.schedule", "no day of any year matches"),
    _engine("backwards", {"schedule": "0 0 * * FRI-MON"}, "spec.schedule", "runs backwards"),
    _engine(
        "no-such-zone", {"timeZone": "Europe/Pari"}, "spec.timeZone", 'did you mean "Europe/Paris"?'
    ),
    _engine(
        "no-zone-at-all",
        {"timeZone": "Nowhere"},
        "spec.timeZone",
        "(for example Europe/Paris, or leave it out for UTC)",
    ),
    _engine(
        "fuzzy-interleaved",
        {"schedule": "daily @win(after,1h) around 14:00"},
        "spec.schedule",
        "after a modifier",
    ),
    _engine("fuzzy-step", {"schedule": "every 5h"}, "spec.schedule", "5h"),
    _engine(
        "fuzzy-zone-modifier",
        {"schedule": "daily @tz(Europe/Paris)"},
        "spec.schedule",
        "cannot stand beside a fuzzy schedule",
    ),
    _engine(
        "no-such-day",
        {"constraints": {"avoid": ["date=2026-02-30"]}},
        "spec.constraints.avoid[0]",
        "is not a day of the calendar",
    ),
    _engine(
        "deadline-added-up",
        {"policy": {"deadline": "2000000h2000000h"}},
        "spec.policy.deadline",
        "is longer than 292 years",
    ),
    _engine(
        "too-many-open",
        {"schedule": "* * * * *", **_window("8784h")},
        "spec.window",
        "would be open at once",
    ),
]


GOOD_SPECS: dict[str, dict[str, Any]] = {
    "all-fields": {
        "timeZone": "America/Argentina/Buenos_Aires",
        "window": {"mode": "around", "duration": "1h30m"},
        "distribution": {"name": "skewLate", "params": {"shape": 2.5}},
        "seed": {"strategy": "weekly", "salt": 'team "a" \\ b, (c)\t@tz(UTC)'},
        "constraints": {
            "only": ["dow=MON-FRI", "between=22:00-06:00", "hours=0-6,22,23"],
            "avoid": ["date=2026-12-25", "dates=2026-12-24..2026-12-31", "months=jan,3", "dom=1"],
        },
        "policy": {"concurrency": "replace", "deadline": "10m", "suspend": True},
        "successfulJobsHistoryLimit": 0,
        "failedJobsHistoryLimit": 2147483647,
    },
    "all-modifiers": {
        "schedule": "\t*/5,7 0-23/2 1,15 JAN-mar 5-7  @tz(Etc/GMT+5) @win(before,1.5h) "
        "@dist(normal,mu=nominal,sigma=20m) @seed(daily,salt=prod) @only(hours=8-18) "
        "@avoid(dow=SUN) @policy(concurrency=allow,deadline=1h) "
    },
    "modifiers-in-front": {"schedule": "@tz(UTC) 0 0 @win(after,1h) * * *"},
    "leading-zeros": {"schedule": "007 08 01 012 07"},
    "policy-in-both-but-not-twice": {
        "schedule": "0 0 * * * @policy(deadline=1h)",
        "policy": {"suspend": True, "concurrency": "forbid"},
    },
    "empty-policy-in-the-text": {"schedule": "0 0 * * * @win(after,2h)", "policy": {}},
    "only-in-one-avoid-in-the-other": {
        "schedule": "0 0 * * * @only(hours=8)",
        "constraints": {"avoid": ["dow=SUN"], "only": []},
    },
    "modifier-inside-a-salt": {
        "schedule": '0 0 * * * @seed(stable,salt="x @tz(UTC) @policy(suspend=true) \\" @win(")',
        "timeZone": "UTC",
        "window": {"mode": "after", "duration": "2h"},
        "policy": {"suspend": False},
    },
    "salt-alone": {"seed": {"salt": "a"}},
    "seed-empty": {"seed": {}},
    "fuzzy": {
        "schedule": "daily around 14:00 utc+9 @policy(deadline=5m)",
        "window": {"mode": "after", "duration": "10m"},
    },
    "durations": {
        "window": {"mode": "after", "duration": ".5h1.s250ms1us1µs1μs1ns"},
        "policy": {"deadline": "0"},
        "distribution": {"name": "normal", "params": {"mu": "end", "sigma": "0.1s"}},
    },
    "durations-of-zeros": {
        "window": {"mode": "after", "duration": "0000000008784h0.0000000000000000000000000s"},
        "policy": {"deadline": "00000000000000000002562047h9.9s"},
    },
    "quoted-arguments": {
        "schedule": '0 0 * * * @win("after","2h") @only(hours="8-18";dow=MON) '
        '@avoid(date="2026-12-25")'
    },
    "a-modifier-twice-in-a-salt": {
        "schedule": '0 0 * * * @win(after,2h) @seed(stable,salt=" @win(2) @win(3) @seed(") '
        "@only(hours=0,007,23;dow=0-7,sun;dom=01-31;months=DEC,1)"
    },
    "fuzzy-between": {"schedule": "Weekly ON Monday between 9 AM pst and\t11:30pm UTC-3:30"},
    "fuzzy-weekdays": {"schedule": "daily around noon on weekdays @only(hours=1-20)"},
    "fuzzy-every": {"schedule": "every 02 hours on weekdays"},
    "a-whole-year": {"window": {"mode": "around", "duration": "8784h"}},
    "exponential": {
        "window": {"mode": "after", "duration": "1h"},
        "distribution": {"name": "exponential", "params": {"lambda": 1e-05, "dir": "late"}},
    },
    "template": {
        "jobTemplate": {
            "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": 60,
                "template": {
                    "metadata": {"labels": {"team": "a"}},
                    "spec": {"serviceAccountName": "work", "restartPolicy": "OnFailure"},
                },
            },
        }
    },
}
"""Specs that must be accepted, as merge patches on the spec of the good KronJob."""
