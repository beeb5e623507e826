"""The explanation of a job with `@reboot`, without a decision: no clock says when it is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.answers.explanation import (
    Explanation,
    explanation_document,
    policy_row,
    row,
    subject_rows,
)
from kron.answers.subject import Subject
from kron.core.decision import trace
from kron.core.instant import to_datetime

_PERIOD = "the second in which krond first starts in a boot: it runs then, once"
_OF_A_DECISION = (
    *("period", "period_key", "nominal", "window_start", "window_end"),
    *("seed_material", "seed_hash", "chosen", "local"),
)


def boot_lines(subject: Subject, style: Callable[..., str]) -> Iterator[str]:
    """As `explanation_lines`, as far as that goes."""
    yield from subject_rows(subject, style)
    yield row(style, "period", _PERIOD)
    yield policy_row(subject, style)


def boot_document(subject: Subject, at_s: int) -> dict[str, object]:
    """As `explanation_document`, with null for what only a decision has."""
    made = trace(subject.schedule, identity=subject.identity, nominal=to_datetime(at_s))
    document = explanation_document(Explanation(subject, at_s, "boot", made, ()))
    return document | dict.fromkeys(_OF_A_DECISION)
