"""Defaults: what a `defaults:` line says for the jobs below it.

They hold until the next `defaults:` line, which starts over from nothing: what applies to a job is
its own line and the nearest `defaults:` line above it, and no other. Windows, zones and seeds have
no defaults, so that no chosen time depends on another line.
"""

from __future__ import annotations

from kron.core.frozen import Frozen, derived
from kron.core.tokens import Modifier, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS = "defaults:"
"""The first word of the line, in the place of a schedule."""

OF_ONE_JOB = ("name", "command", "description")
"""Fields that have no default."""

MOST_VARIABLES = 1_000_000
"""The most variables that all jobs may have together, if some come from other lines as well. Where
each job adds one to many, their number grows with the square of the length of a file."""


class Part(Frozen):
    """One of the things that a defaults line sets, which the line of a job may set as well."""

    key: str
    """The field; `env NAME` for a variable, `@policy KEY` for a part of the policy."""
    shown: str
    """As written, but a variable without its value."""


class Defaults(Frozen):
    line: int = 0
    parts: tuple[Part, ...] = ()
    values: tuple[tuple[str, Any], ...] = ()
    """The fields as they are read, without `env`."""
    env: tuple[tuple[str, str], ...] = ()
    policy: tuple[tuple[str, str], ...] = ()
    """The keys of @policy, each with `key=value` as written."""

    keys: frozenset[str] = derived()
    """The keys of the parts."""

    def __post_init__(self) -> None:
        self._derive(keys=frozenset(part.key for part in self.parts))

    @property
    def shell(self) -> str:
        shell: str = dict(self.values).get("shell", "")
        return shell

    def with_policy(self, schedule_text: str) -> str:
        """A valid schedule with the keys of @policy that it does not have itself.

        The same text on the line of the job means the same, so logs and ledgers cannot tell them
        apart: moving a policy to the defaults is no edit of the job.
        """
        own = _policy(schedule_text)
        given = set() if own is None else {argument.key for argument in own.arguments(",", [])}
        added = ",".join(written for key, written in self.policy if key not in given)
        if not added:
            return schedule_text
        if own is None:
            return f"{schedule_text} @policy({added})"
        end = own.body.end
        return f"{schedule_text[:end]},{added}{schedule_text[end:]}"

    def overridden(self, own: dict[str, Any], schedule_text: str) -> frozenset[str]:
        """The keys that a job with these own values and this own schedule sets itself."""
        keys = {*own, *(f"env {name}" for name in own.get("env", ()))}
        if policy := _policy(schedule_text):
            keys |= {f"@policy {argument.key}" for argument in policy.arguments(",", [])}
        return self.keys & keys


class Applied(Frozen):
    """What a job has from a defaults line: all but what it sets itself."""

    defaults: Defaults
    overridden: frozenset[str] = frozenset()

    @property
    def line(self) -> int:
        return self.defaults.line

    @property
    def parts(self) -> tuple[str, ...]:
        """As `Part.shown`."""
        return tuple(part.shown for part in self.defaults.parts if part.key not in self.overridden)


NO_DEFAULTS = Defaults()


def _policy(schedule_text: str) -> Modifier | None:
    """The @policy of a valid schedule."""
    if "@policy" not in schedule_text:
        return None
    return next((each for each in scan(schedule_text, [])[1] if each.name == "policy"), None)


def is_defaults(line: str) -> bool:
    return line.lstrip(" \t").startswith(DEFAULTS)
