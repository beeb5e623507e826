"""The fields of a spec as one schedule text, and the way back from a place in it to a field.

Only what is of the right type is taken: what is not, the check has refused already. The meaning
of the text is the parser's business, so that a field and a modifier cannot mean different things.
"""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.distribution import format_number
from kron.core.errors import Problem
from kron.core.frozen import Frozen
from kron.core.tokens import Modifier, scan, written
from kron.kube.resource.problem import FieldProblem

SCHEDULE = "spec.schedule"

DISTRIBUTION_PARAMETERS = {
    "shape": "number",
    "lambda": "number",
    "dir": "text",
    "mu": "text",
    "sigma": "text",
}


class Piece(Frozen):
    """A stretch of the text and the field that it came from."""

    text: str
    path: str
    offset: int = 0
    """Where it begins within the field's own text."""


class Composition(Frozen):
    """The whole text, in pieces."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The schedule text that says everything the spec says."""
        return "".join([piece.text for piece in self.pieces])

    def locate(self, problem: Problem) -> FieldProblem:
        """The problem of the text as a problem of the field it lies in."""
        position = 0
        found = self.pieces[0]
        for piece in self.pieces:
            found = piece
            if problem.start < position + len(piece.text):
                break
            position += len(piece.text)
        else:
            position -= len(found.text)
        message = problem.message
        if found.path == SCHEDULE:
            message = f"column {found.offset + problem.start - position + 1}: {message}"
        return FieldProblem(found.path, message, problem.fix, problem.code)


def compose(spec: Mapping[str, object]) -> Composition | None:
    """The text of a spec; None if it has no schedule that is text."""
    schedule = spec.get("schedule")
    if not isinstance(schedule, str):
        return None
    pieces = _with_policy(schedule, _policy(_object(spec, "policy")))
    zone = spec.get("timezone")
    if isinstance(zone, str):
        pieces += [
            _modifier("tz", "spec.timezone"),
            _said("spec.timezone", zone),
            _end("spec.timezone"),
        ]
    pieces += _window(_object(spec, "window"))
    pieces += _distribution(_object(spec, "distribution"))
    pieces += _seed(_object(spec, "seed"))
    constraints = _object(spec, "constraints")
    pieces += _clauses("only", constraints)
    pieces += _clauses("avoid", constraints)
    return Composition(tuple(pieces))


def _modifier(name: str, path: str) -> Piece:
    return Piece(f" @{name}(", path)


def _end(path: str) -> Piece:
    return Piece(")", path)


def _said(path: str, value: str) -> Piece:
    return Piece(written(value), path)


def _window(window: Mapping[str, object]) -> list[Piece]:
    mode, duration = window.get("mode"), window.get("duration")
    if not isinstance(mode, str) or not isinstance(duration, str):
        return []
    return [
        _modifier("win", "spec.window"),
        _said("spec.window.mode", mode),
        Piece(",", "spec.window"),
        _said("spec.window.duration", duration),
        _end("spec.window"),
    ]


def _distribution(distribution: Mapping[str, object]) -> list[Piece]:
    name = distribution.get("name")
    if not isinstance(name, str):
        return []
    path = "spec.distribution"
    pieces = [_modifier("dist", path), _said(f"{path}.name", name)]
    parameters = _object(distribution, "params")
    for key, kind in DISTRIBUTION_PARAMETERS.items():
        value = parameters.get(key)
        if kind == "number":
            value = _number(value)
        if isinstance(value, str):
            pieces.append(Piece(f",{key}={written(value)}", f"{path}.params.{key}"))
    return [*pieces, _end(path)]


def _number(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return format_number(float(value))
    except OverflowError:
        return "inf"


def _seed(seed: Mapping[str, object]) -> list[Piece]:
    strategy, salt = seed.get("strategy"), seed.get("salt")
    if not isinstance(strategy, str) and not isinstance(salt, str):
        return []
    said = strategy if isinstance(strategy, str) else "stable"
    pieces = [_modifier("seed", "spec.seed"), _said("spec.seed.strategy", said)]
    if isinstance(salt, str) and salt:
        pieces.append(Piece(f",salt={written(salt)}", "spec.seed.salt"))
    return [*pieces, _end("spec.seed")]


def _policy(policy: Mapping[str, object]) -> list[Piece]:
    """The arguments, each with its comma in front."""
    pieces = []
    for key in ("concurrency", "deadline"):
        value = policy.get(key)
        if isinstance(value, str):
            pieces.append(Piece(f",{key}={written(value)}", f"spec.policy.{key}"))
    suspend = policy.get("suspend")
    if isinstance(suspend, bool):
        pieces.append(Piece(f",suspend={str(suspend).lower()}", "spec.policy.suspend"))
    return pieces


def _with_policy(schedule: str, arguments: list[Piece]) -> list[Piece]:
    """The schedule's text with the policy's arguments, in its own `@policy` if it has one.

    Each key of a policy is a thing of its own: a job whose text says `@policy(deadline=1h)` can
    still be suspended by `spec.policy.suspend`.
    """
    whole = Piece(schedule, SCHEDULE)
    if not arguments:
        return [whole]
    own = _own_policy(schedule)
    if own is not None:
        place = own.body.start + len(own.body.text)
        head = Piece(schedule[:place], SCHEDULE)
        return [head, *arguments, Piece(schedule[place:], SCHEDULE, place)]
    first = arguments[0].replace(text=arguments[0].text[1:])
    return [whole, _modifier("policy", "spec.policy"), first, *arguments[1:], _end("spec.policy")]


def _own_policy(schedule: str) -> Modifier | None:
    if "@policy(" not in schedule:
        return None
    _, modifiers = scan(schedule, [])
    found = [modifier for modifier in modifiers if modifier.name == "policy"]
    return found[0] if len(found) == 1 and found[0].body.text else None


def _clauses(name: str, constraints: Mapping[str, object]) -> list[Piece]:
    clauses = constraints.get(name)
    if not isinstance(clauses, list):
        return []
    path = f"spec.constraints.{name}"
    pieces: list[Piece] = []
    for place, clause in enumerate(clauses):
        if isinstance(clause, str):
            separator = ";" if pieces else f" @{name}("
            pieces += [Piece(separator, path), Piece(clause, f"{path}[{place}]")]
    return [*pieces, _end(path)] if pieces else []


def _object(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}
