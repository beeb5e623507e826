"""The rules of a spec that need more than a type: each in CEL and, beside it, in Python.

Texts are checked with regular expressions that Python and the API server both read. These are a
sieve, not the grammar: they may accept what the engine refuses, never the other way round. They use
only what both dialects share (RE2 has no lookaround and no possessive quantifiers). No text matches
in two ways, because Python would try all of them: a list of zeros takes years with `0*[0-5]?[0-9]`.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, KronError
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS
from kron.kube.resource.schema.durations import (
    BELOW_CENTURIES,
    DURATION,
    NO_TERM_OF_A_YEAR,
    NO_TERM_OF_CENTURIES,
)
from kron.kube.resource.schema.rule import Rule, has, is_match, matches, refused, shaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_BLANK = r"[ \t]"
_STRING = r'"(?:[^"\\]|\\.)*"'
_ARGUMENTS = rf'(?:[^ \t"()]|{_STRING})*'
_NAMES = ("tz", "win", "dist", "seed", "policy", "only", "avoid")
_MODIFIER = rf"@(?:{'|'.join(_NAMES)})\({_ARGUMENTS}\)"
_WORD = r'[^@ \t"][^ \t"]*'
_TOKEN = rf"(?:{_WORD}|{_MODIFIER})"
_OUTSIDE_STRINGS = rf'(?:[^"]|{_STRING})*'

FUZZY = rf"{_BLANK}*[A-Za-z][A-Za-z](?s:.*)"
"""A schedule that begins with a word, as fuzzy ones do."""

MODIFIERS_WELL_FORMED = rf"{_BLANK}*(?:{_TOKEN}(?:{_BLANK}+{_TOKEN})*{_BLANK}*)?"
"""Words, and modifiers that Kron has."""

_THEN_MODIFIERS = rf"(?:{_BLANK}+@(?s:.*)|{_BLANK}*)"

FIVE_FIELDS = rf"{_BLANK}*{_WORD}(?:{_BLANK}+{_WORD}){{4}}{_THEN_MODIFIERS}"

INTERLEAVED = rf"(?s:.*)\){_BLANK}+[^@ \t](?s:.*)"
"""A field after a modifier: allowed, but rare, so the engine alone checks the fields then."""


def _listed(item: str) -> str:
    return rf"{item}(?:,{item})*"


def _field(value: str) -> str:
    step = "(?:/0*[1-9][0-9]*)?"
    return _listed(rf"(?:\*{step}|(?:{value})(?:-(?:{value}){step})?)")


_HOUR = "0*(?:1[0-9]|2[0-3]|[1-9]|0)"
_DAY_OF_MONTH = "0*(?:[12][0-9]|3[01]|[1-9])"
_MONTH = "0*(?:1[0-2]|[1-9])|(?i:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
_DAY_OF_WEEK = "0*(?:[1-7]|0)|(?i:SUN|MON|TUE|WED|THU|FRI|SAT)"
_FIELDS = (
    _field("0*(?:[1-5][0-9]|[1-9]|0)"),
    *map(_field, (_HOUR, _DAY_OF_MONTH, _MONTH, _DAY_OF_WEEK)),
)
CRON = rf"{_BLANK}*{f'{_BLANK}+'.join(_FIELDS)}{_THEN_MODIFIERS}"

_CLOCK = (
    "(?:midnight|noon|(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
    rf"|(?:0?[1-9]|1[0-2])(?::[0-5][0-9])?{_BLANK}*(?:am|pm))"
    rf"(?:{_BLANK}+(?:utc[+-][0-9]{{1,2}}(?::[0-9]{{2}})?|[pe][sd]?t|[ij]st))?"
)
_WINDOW = (
    rf"(?:{_BLANK}+(?:around{_BLANK}+{_CLOCK}"
    rf"|between{_BLANK}+{_CLOCK}{_BLANK}+and{_BLANK}+{_CLOCK}))?"
)
_WORKDAYS = rf"(?:{_BLANK}+on{_BLANK}+weekdays)?"
_WEEKDAY = rf"(?:{_BLANK}+on{_BLANK}+(?:sun|mon|tues|wednes|thurs|fri|satur)day)?"
_EVERY = rf"every{_BLANK}+[0-9]+{_BLANK}*(?:m|minutes?|h|hours?|d|days?|w|weeks?)"
FUZZY_FORM = (
    rf"{_BLANK}*(?i:daily{_WINDOW}{_WORKDAYS}|weekly{_WEEKDAY}{_WINDOW}|hourly{_WORKDAYS}"
    rf"|bi-weekly|tri-weekly|{_EVERY}{_WORKDAYS}){_THEN_MODIFIERS}"
)
"""A schedule in words that the engine knows, with times that a day has."""

NO_CONTROL_CHARACTERS = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*"

ZONE = r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*"

_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLAUSES = {
    "hours": _listed(rf"(?:{_HOUR})(?:-(?:{_HOUR}))?"),
    "dow": _listed(rf"(?:{_DAY_OF_WEEK})(?:-(?:{_DAY_OF_WEEK}))?"),
    "dom": _listed(rf"(?:{_DAY_OF_MONTH})(?:-(?:{_DAY_OF_MONTH}))?"),
    "months": _listed(rf"(?:{_MONTH})(?:-(?:{_MONTH}))?"),
    "between": f"{_TIME}-{_TIME}",
    "date": _DAY,
    "dates": rf"{_DAY}\.\.{_DAY}",
}
CLAUSE = "|".join(f"{key}={value}" for key, value in _CLAUSES.items())
_QUOTABLE_CLAUSE = "|".join(f"{key}=(?:{value}|{_STRING})" for key, value in _CLAUSES.items())


def says(modifier: str) -> str:
    """Matches a schedule's text that has this modifier outside a quoted salt."""
    return rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@{modifier}\((?s:.*)"


def says_policy(key: str) -> str:
    """Matches a schedule's text whose `@policy` has this key."""
    return rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@policy\((?:{_ARGUMENTS},)?{key}=(?s:.*)"


def given_twice(modifier: str) -> str:
    """Matches a schedule's text that has this modifier twice outside quoted salts."""
    again = rf"{_OUTSIDE_STRINGS}{_BLANK}@{modifier}\((?s:.*)"
    return rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@{modifier}\({again}"


def written_well(modifier: str, arguments: str, message: str) -> Rule:
    """The arguments of a modifier in the schedule's text, if it has that, match a pattern."""
    has_it = says(modifier)
    is_well = rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@{modifier}\((?:{arguments})\)(?s:.*)"
    return Rule(
        f"!self.{matches(has_it)} || self.{matches(is_well)}",
        message,
        lambda text: (
            f"@{modifier}(" not in text or not is_match(has_it, text) or is_match(is_well, text)
        ),
        code=Code.FIELD_FORM,
    )


LONGEST_WINDOW_H = DEFAULT_LIMITS.window_days * 24

PARAMETERS_OF = {
    "shape": ("skewEarly", "skewLate"),
    "lambda": ("exponential",),
    "dir": ("exponential",),
    "mu": ("normal",),
    "sigma": ("normal",),
}


def said_twice(path: str, modifier: str) -> Rule:
    """A field and its modifier are not both set: it would be unclear which one counts."""
    names = path.split(".")
    shown, pattern = f"@{modifier}(...)", says(modifier)
    if modifier == "policy":  # each of its keys is a field
        shown, pattern = f"@policy({names[1]}=...)", says_policy(names[1])
    return Rule(
        f"!{_has(names)} || !self.schedule.{matches(pattern)}",
        f"{path} and {shown} in the schedule say the same thing: keep one of them",
        lambda spec: not _is_said(spec, names) or not is_match(pattern, spec.get("schedule")),
        path=f".{path}",
    )


def _has(names: list[str]) -> str:
    """In CEL, whether the field is set; an empty list is not."""
    whole = ".".join(["self", *names])
    steps = " && ".join(f"has({'.'.join(['self', *names[:n]])})" for n in range(1, len(names) + 1))
    empty = f" && size({whole}) > 0" if names[0] == "constraints" else ""
    return f"({steps}{empty})"


def _is_said(spec: Any, names: list[str]) -> bool:
    is_list = names[0] == "constraints"
    return has(spec, *names) and (not is_list or bool(spec["constraints"][names[1]]))


def belongs(parameter: str) -> Rule:
    """A parameter is set only for a distribution that has it."""
    owners = PARAMETERS_OF[parameter]
    listed = ", ".join(f"'{owner}'" for owner in owners)
    return Rule(
        f"!has(self.params) || !has(self.params.{parameter}) || self.name in [{listed}]",
        f"params.{parameter} belongs to the distribution {' and '.join(owners)}",
        lambda value: not has(value, "params", parameter) or value.get("name") in owners,
        path=f".params.{parameter}",
    )


FUZZY_HAS_NO_ZONE = Rule(
    f"!has(self.timeZone) || !self.schedule.{matches(FUZZY)}",
    "a fuzzy schedule has no timeZone: its times are in UTC, or carry their own offset as "
    "in daily around 14:00 utc+9",
    lambda spec: not has(spec, "timeZone") or not is_match(FUZZY, spec.get("schedule")),
    path=".timeZone",
)


def _is_at_most_a_year(text: str) -> bool:
    try:
        return parse_duration(text) <= DEFAULT_LIMITS.window_days * DAY_S * SECOND_NS
    except KronError:
        return not is_match(DURATION, text)  # another rule reports that


DURATION_RULE = shaped(
    "a duration is written like 90m, 1h30m, 1.5h or 250ms; a day is 24h", DURATION
)

AT_MOST_A_YEAR = Rule(
    f"!self.{matches(DURATION)} || (self.{matches(BELOW_CENTURIES)} && "
    f"duration(self) <= duration('{LONGEST_WINDOW_H}h'))",
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

NO_CENTURIES = Rule(
    f"!self.{matches(DURATION)} || self.{matches(NO_TERM_OF_CENTURIES)}",
    "a duration is at most 292 years long",
    lambda text: not is_match(DURATION, text) or is_match(NO_TERM_OF_CENTURIES, text),
    code=Code.FIELD_FORM,
)

_CLAUSE_MESSAGE = (
    "a clause is one of hours=8-18, dow=MON-FRI, dom=1-7, months=JAN,DEC, "
    "between=22:00-06:00, date=2026-12-25, dates=2026-12-24..2026-12-31"
)

_DEADLINE_WELL = (
    rf"(?:{_OUTSIDE_STRINGS}{_BLANK})?@policy\((?:{_ARGUMENTS},)?"
    rf"deadline=(?:{NO_TERM_OF_CENTURIES}|{_STRING})[,)](?s:.*)"
)

SCHEDULE_RULES = (
    shaped("a schedule is one line without control characters", NO_CONTROL_CHARACTERS),
    shaped(
        "a modifier is written like @win(after,2h), without spaces, and is one of @tz, @win, "
        "@dist, @seed, @policy, @only, @avoid; for @daily and the like write daily or "
        "0 0 * * *",
        MODIFIERS_WELL_FORMED,
    ),
    shaped(
        "a schedule begins with five fields: minute, hour, day of month, month, day of week; "
        "there are no seconds and no years",
        FUZZY,
        INTERLEAVED,
        FIVE_FIELDS,
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
    Rule(
        f"!self.{matches(FUZZY)} || self.{matches(FUZZY_FORM)}",
        "a schedule in words is one like daily around 14:00, daily between 9:00 and 17:00 on "
        "weekdays, weekly on monday around 3pm, hourly, every 6h, bi-weekly; for months and years "
        "write five cron fields",
        lambda text: not is_match(FUZZY, text) or is_match(FUZZY_FORM, text),
        code=Code.FIELD_FORM,
    ),
    Rule(
        " && ".join(f"!self.{matches(given_twice(name))}" for name in _NAMES),
        "a modifier is given twice: keep one of them; the clauses of @only and @avoid go into one, "
        "with ; between them",
        lambda text: (
            not any(
                text.count(f"@{name}(") > 1 and is_match(given_twice(name), text) for name in _NAMES
            )
        ),
        code=Code.FIELD_FORM,
    ),
    written_well(
        "win",
        rf"(?:after|around|before|{_STRING}),(?:{NO_TERM_OF_A_YEAR}|{_STRING})",
        "a window is written like @win(after,2h): after, around or before, then a duration such "
        f"as 90m, 1h30m or 24h; at most {LONGEST_WINDOW_H}h",
    ),
    Rule(
        f"!self.{matches(says_policy('deadline'))} || self.{matches(_DEADLINE_WELL)}",
        "a deadline is written like @policy(deadline=10m), with a duration such as 90s, 10m or "
        "24h; at most 292 years",
        lambda text: (
            "deadline=" not in text
            or not is_match(says_policy("deadline"), text)
            or is_match(_DEADLINE_WELL, text)
        ),
        code=Code.FIELD_FORM,
    ),
    *(
        written_well(
            name,
            rf"(?:{_QUOTABLE_CLAUSE})(?:;(?:{_QUOTABLE_CLAUSE}))*",
            f"@{name}: {_CLAUSE_MESSAGE}",
        )
        for name in ("only", "avoid")
    ),
)

_CLAUSE_RULE = shaped(_CLAUSE_MESSAGE, CLAUSE)

RULES: dict[str, tuple[Rule, ...]] = {
    "spec": (
        FUZZY_HAS_NO_ZONE,
        said_twice("timeZone", "tz"),
        said_twice("window", "win"),
        said_twice("distribution", "dist"),
        said_twice("seed", "seed"),
        said_twice("constraints.only", "only"),
        said_twice("constraints.avoid", "avoid"),
        said_twice("policy.concurrency", "policy"),
        said_twice("policy.deadline", "policy"),
        said_twice("policy.suspend", "policy"),
    ),
    "spec.schedule": SCHEDULE_RULES,
    "spec.timeZone": (shaped("a time zone is an IANA name such as Europe/Paris or UTC", ZONE),),
    "spec.window.duration": (DURATION_RULE, AT_MOST_A_YEAR),
    "spec.distribution": tuple(map(belongs, PARAMETERS_OF)),
    "spec.distribution.params.sigma": (DURATION_RULE, NO_CENTURIES, MORE_THAN_NOTHING),
    "spec.seed.salt": (shaped("a salt has no control characters", NO_CONTROL_CHARACTERS),),
    "spec.constraints.only[]": (_CLAUSE_RULE,),
    "spec.constraints.avoid[]": (_CLAUSE_RULE,),
    "spec.policy.deadline": (DURATION_RULE, NO_CENTURIES),
    "spec.timezone": (refused("timezone", "write timeZone"),),
    "spec.suspend": (refused("suspend", "write policy: {suspend: true}"),),
    "spec.concurrencyPolicy": (
        refused(
            "concurrencyPolicy",
            "write policy: {concurrency: forbid}; Allow, Forbid and Replace are allow, forbid and "
            "replace here",
        ),
    ),
    "spec.startingDeadlineSeconds": (
        refused(
            "startingDeadlineSeconds",
            "write policy: {deadline: 600s} for 600 seconds; 10m says the same",
        ),
    ),
}
"""The rules of each field, in the order in which they are checked."""
