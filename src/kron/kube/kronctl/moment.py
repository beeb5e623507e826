"""The moment that a question is asked at: `--at`, or now."""

from __future__ import annotations

from datetime import UTC, datetime

from kron.core.instant import to_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def now() -> datetime:
    """The one place where kronctl reads the wall clock."""
    return datetime.now(UTC)


def moment_s(arguments: Namespace) -> int:
    """`--at`, or now, in whole seconds."""
    at: datetime | None = arguments.at
    return to_seconds(now() if at is None else at)
