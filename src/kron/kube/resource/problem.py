"""What is wrong with a resource: all problems together, each with its path, rule and fix."""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.errors import SHOWN_PROBLEMS, Code, KronError
from kron.core.frozen import Frozen


class FieldProblem(Frozen):
    """One problem, at a path such as `spec.window.duration`."""

    path: str
    message: str
    fix: str = ""
    code: Code = Code.FIELD_VALUE

    def __str__(self) -> str:
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.path}: {self.message}{fix}"


class InvalidSpec(KronError):  # noqa: N818 (the name of the condition that it becomes)
    """A resource that is not a valid KronJob, with all of its problems."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)[:SHOWN_PROBLEMS]
        first = self.problems[0]
        super().__init__(first.code, f"{first.path}: {first.message}", fix=first.fix)
        self.args = (self.problems,)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
