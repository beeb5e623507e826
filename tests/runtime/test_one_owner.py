"""A job's ledger and plan have one writer. Nothing else in the product may assign them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kron

SOURCE = Path(kron.__file__).parent
OWNER = SOURCE / "runtime" / "tracked.py"
OWNED = {"ledger", "_ledger", "plan", "_plan", "_planned"}


def assigned(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The attributes that are assigned anywhere, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.lineno, node.attr


def writers() -> list[str]:
    return [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, name in assigned(ast.parse(path.read_text(encoding="utf-8")))
        if name in OWNED and path != OWNER
    ]


@pytest.mark.heavy
def test_only_the_tracked_job_writes_a_ledger_or_a_plan() -> None:
    assert writers() == []


def test_the_owner_is_where_this_test_looks_for_it() -> None:
    tree = ast.parse(OWNER.read_text(encoding="utf-8"))
    assert {name for _, name in assigned(tree)} >= {"_ledger", "_plan"}


def test_an_assignment_would_be_seen() -> None:
    tree = ast.parse("a.ledger = 1\n(b.x, c._plan) = 2\nd.ledger: int = 3\ne.ledger += 4\n")
    assert sorted(assigned(tree)) == [
        (1, "ledger"),
        (2, "_plan"),
        (2, "x"),
        (3, "ledger"),
        (4, "ledger"),
    ]
