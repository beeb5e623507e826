"""The fields of a spec as one schedule text, and the way back from a place in it to a field.

A value of the wrong type is left out: the check has refused it already. The parser alone says what
the text means, so a field and its modifier cannot mean different things.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from kron.core.errors import Problem
from kron.core.frozen import Frozen
from kron.core.tokens import Modifier, format_number, scan, written
from kron.kube.api_object import member
from kron.kube.resource.schema.rules import PARAMETERS_OF
from kron.kube.resource.schema.validate import FieldProblem

SCHEDULE = "spec.schedule"
_NUMBERS = ("shape", "lambda")
"""The parameters of distributions that are numbers. The others are texts."""


class Piece(Frozen):
    """A stretch of the text and the field that it came from."""

    text: str
    path: str
    offset: int = 0
    """Where it begins within the field's own text."""


class Composition(Frozen):
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join([piece.text for piece in self.pieces])

    def locate(self, problem: Problem) -> FieldProblem:
        """A problem of the text as a problem of the field that it lies in."""
        ends = list(accumulate(len(piece.text) for piece in self.pieces))
        place = min(bisect_right(ends, problem.start), len(ends) - 1)
        found = self.pieces[place]
        start = ends[place] - len(found.text)
        message = problem.message
        if found.path == SCHEDULE:
            message = f"column {found.offset + problem.start - start + 1}: {message}"
        return FieldProblem(found.path, message, problem.fix, problem.code)


def compose(spec: Mapping[str, object]) -> Composition | None:
    """The text of a spec; None if it has no schedule that is text."""
    schedule = spec.get("schedule")
    if not isinstance(schedule, str):
        return None
    constraints = member(spec, "constraints")
    pieces = [
        *_with_policy(schedule, _policy(member(spec, "policy"))),
        *_modifier("tz", "spec.timeZone", [_said("spec.timeZone", spec.get("timeZone"))]),
        *_modifier("win", "spec.window", _window(member(spec, "window"))),
        *_modifier("dist", "spec.distribution", _distribution(member(spec, "distribution"))),
        *_modifier("seed", "spec.seed", _seed(member(spec, "seed"))),
        *_clauses("only", constraints),
        *_clauses("avoid", constraints),
    ]
    return Composition(tuple(pieces))


def _modifier(
    name: str, path: str, arguments: Sequence[Piece | None], separator: str = ","
) -> list[Piece]:
    """A modifier with those of its arguments that are set, if any is."""
    pieces: list[Piece] = []
    for argument in filter(None, arguments):
        pieces += [Piece(separator, path), argument]
    return [Piece(f" @{name}(", path), *pieces[1:], Piece(")", path)] if pieces else []


def _said(path: str, value: object, key: str = "") -> Piece | None:
    """An argument; None if its field is not a text."""
    prefix = f"{key}=" if key else ""
    return Piece(f"{prefix}{written(value)}", path) if isinstance(value, str) else None


def _window(window: Mapping[str, object]) -> list[Piece | None]:
    mode = _said("spec.window.mode", window.get("mode"))
    duration = _said("spec.window.duration", window.get("duration"))
    return [mode, duration] if mode and duration else []


def _distribution(distribution: Mapping[str, object]) -> list[Piece | None]:
    name = _said("spec.distribution.name", distribution.get("name"))
    if name is None:
        return []
    values = member(distribution, "params")
    said = {**values} | {number: _number(values.get(number)) for number in _NUMBERS}
    return [name] + [
        _said(f"spec.distribution.params.{key}", said.get(key), key) for key in PARAMETERS_OF
    ]


def _number(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return format_number(float(value))
    except OverflowError:
        return "inf"


def _seed(seed: Mapping[str, object]) -> list[Piece | None]:
    strategy = _said("spec.seed.strategy", seed.get("strategy"))
    salt = _said("spec.seed.salt", seed.get("salt") or None, "salt")
    is_set = strategy or isinstance(seed.get("salt"), str)
    return [strategy or Piece("stable", "spec.seed.strategy"), salt] if is_set else []


def _policy(policy: Mapping[str, object]) -> list[Piece]:
    suspend = policy.get("suspend")
    values = {**policy, "suspend": str(suspend).lower() if isinstance(suspend, bool) else None}
    keys = ("concurrency", "deadline", "suspend")
    return list(filter(None, [_said(f"spec.policy.{key}", values.get(key), key) for key in keys]))


def _with_policy(schedule: str, arguments: list[Piece]) -> list[Piece]:
    """The schedule's text with the policy's arguments, in its own `@policy` if it has one.

    The keys of a policy are independent: a job whose text says `@policy(deadline=1h)` can still be
    suspended by `spec.policy.suspend`.
    """
    found: list[Modifier] = []
    if arguments and "@policy(" in schedule:
        found = [modifier for modifier in scan(schedule, [])[1] if modifier.name == "policy"]
    if len(found) != 1 or not found[0].body.text:
        return [Piece(schedule, SCHEDULE), *_modifier("policy", "spec.policy", arguments)]
    end = found[0].body.start + len(found[0].body.text)
    pieces = [Piece(schedule[:end], SCHEDULE)]
    for argument in arguments:
        pieces += [Piece(",", "spec.policy"), argument]
    return [*pieces, Piece(schedule[end:], SCHEDULE, end)]


def _clauses(name: str, constraints: Mapping[str, object]) -> list[Piece]:
    clauses, path = constraints.get(name), f"spec.constraints.{name}"
    said = [
        Piece(clause, f"{path}[{place}]")
        for place, clause in enumerate(clauses if isinstance(clauses, list) else [])
        if isinstance(clause, str)
    ]
    return _modifier(name, path, said, ";")
