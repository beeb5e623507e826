"""What is wrong with a resource: a path to the field, the rule, the fix; all of them at once."""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.errors import SHOWN_PROBLEMS, Code, KronError
from kron.core.frozen import Frozen


class FieldProblem(Frozen):
    """One thing that is wrong, at a path such as `spec.window.duration`."""

    path: str
    message: str
    fix: str = ""
    code: Code = Code.FIELD_VALUE

    def __str__(self) -> str:
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.path}: {self.message}{fix}"


class InvalidSpec(KronError):  # noqa: N818 (the name of the condition that it becomes)
    """A resource that no job can be made of, with all of its problems."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)[:SHOWN_PROBLEMS]
        first = self.problems[0]
        super().__init__(first.code, f"{first.path}: {first.message}", fix=first.fix)
        self.args = (self.problems,)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
