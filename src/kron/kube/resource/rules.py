"""The rules of a spec that need more than a type: each in CEL and, beside it, in Python."""

from __future__ import annotations

from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, KronError
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS
from kron.kube.resource.field import Rule, has, is_match, matches, shaped
from kron.kube.resource.patterns import (
    CRON,
    DURATION,
    FIVE_FIELDS,
    FUZZY,
    INTERLEAVED,
    MODIFIERS_WELL_FORMED,
    NO_CONTROL_CHARACTERS,
    says,
    says_policy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_WINDOW_H = DEFAULT_LIMITS.window_days * 24

_PARAMETERS_OF = {
    "shape": ("skewEarly", "skewLate"),
    "lambda": ("exponential",),
    "dir": ("exponential",),
    "mu": ("normal",),
    "sigma": ("normal",),
}


def said_twice(path: str, modifier: str) -> Rule:
    """A field and its modifier do not both speak: nobody could tell which of them is meant."""
    names = path.split(".")
    return Rule(
        f"!{_has(names)} || !self.schedule.{matches(says(modifier))}",
        f"{path} and @{modifier}(...) in the schedule say the same thing: keep one of them",
        lambda spec: (
            not _is_said(spec, names) or not is_match(says(modifier), spec.get("schedule"))
        ),
        path=f".{path}",
    )


def policy_said_twice(key: str) -> Rule:
    names = ["policy", key]
    return Rule(
        f"!{_has(names)} || !self.schedule.{matches(says_policy(key))}",
        f"policy.{key} and @policy({key}=...) in the schedule say the same thing: keep one of them",
        lambda spec: (
            not _is_said(spec, names) or not is_match(says_policy(key), spec.get("schedule"))
        ),
        path=f".policy.{key}",
    )


def _has(names: list[str]) -> str:
    """Whether the field says something; an empty list says nothing."""
    whole = ".".join(["self", *names])
    steps = " && ".join(f"has({'.'.join(['self', *names[:n]])})" for n in range(1, len(names) + 1))
    empty = f" && size({whole}) > 0" if names[0] == "constraints" else ""
    return f"({steps}{empty})"


def _is_said(spec: Any, names: list[str]) -> bool:
    if not has(spec, *names):
        return False
    return names[0] != "constraints" or bool(spec["constraints"][names[1]])


def belongs(parameter: str) -> Rule:
    owners = _PARAMETERS_OF[parameter]
    listed = ", ".join(f"'{owner}'" for owner in owners)
    return Rule(
        f"!has(self.params) || !has(self.params.{parameter}) || self.name in [{listed}]",
        f"params.{parameter} belongs to the distribution {' and '.join(owners)}",
        lambda value: not has(value, "params", parameter) or value.get("name") in owners,
        path=f".params.{parameter}",
    )


def fuzzy_has_no_zone() -> Rule:
    return Rule(
        f"!has(self.timezone) || !self.schedule.{matches(FUZZY)}",
        "a fuzzy schedule has no timezone: its times are in UTC, or carry their own offset as "
        "in daily around 14:00 utc+9",
        lambda spec: not has(spec, "timezone") or not is_match(FUZZY, spec.get("schedule")),
        path=".timezone",
    )


def _is_at_most_a_year(text: str) -> bool:
    try:
        return parse_duration(text) <= DEFAULT_LIMITS.window_days * DAY_S * SECOND_NS
    except KronError:
        return not is_match(DURATION, text)  # then another rule says so


DURATION_RULE = shaped(
    DURATION, "a duration is written like 90m, 1h30m, 1.5h or 250ms; a day is 24h"
)

AT_MOST_A_YEAR = Rule(
    f"!self.{matches(DURATION)} || duration(self) <= duration('{LONGEST_WINDOW_H}h')",
    f"a window is at most {LONGEST_WINDOW_H}h long, which is {DEFAULT_LIMITS.window_days} days",
    _is_at_most_a_year,
    code=Code.FIELD_FORM,
)

MORE_THAN_NOTHING = Rule(
    f"!self.{matches(DURATION)} || self.matches('[1-9]')",
    "sigma is longer than 0s",
    lambda text: not is_match(DURATION, text) or any(digit in text for digit in "123456789"),
    code=Code.FIELD_FORM,
)

SCHEDULE_RULES = (
    shaped(NO_CONTROL_CHARACTERS, "a schedule is one line without control characters"),
    shaped(
        MODIFIERS_WELL_FORMED,
        "a modifier is written like @win(after,2h), without spaces, and is one of @tz, @win, "
        "@dist, @seed, @policy, @only, @avoid; for @daily and the like write daily or "
        "0 0 * * *",
    ),
    Rule(
        f"self.{matches(FUZZY)} || self.{matches(INTERLEAVED)} || self.{matches(FIVE_FIELDS)}",
        "a schedule begins with five fields: minute, hour, day of month, month, day of week; "
        "there are no seconds and no years",
        lambda text: any(is_match(one, text) for one in (FUZZY, INTERLEAVED, FIVE_FIELDS)),
        code=Code.FIELD_FORM,
    ),
    Rule(
        f"self.{matches(FUZZY)} || !self.{matches(FIVE_FIELDS)} || self.{matches(CRON)}",
        "a field of a schedule is *, n, n-m, */s, n-m/s or a list of these: minute 0-59, "
        "hour 0-23, day of month 1-31, month 1-12 or JAN-DEC, day of week 0-7 or SUN-SAT",
        lambda text: (
            is_match(FUZZY, text) or not is_match(FIVE_FIELDS, text) or is_match(CRON, text)
        ),
        code=Code.FIELD_FORM,
    ),
)
