"""Fuzzy schedules: what their own specification warns of."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.errors import Code
from kron.jobs.advice.remark import SCHEDULE, Advice, Remark
from kron.jobs.entry import Entry


def fuzzy_remarks(entry: Entry) -> Iterator[Remark]:
    """The warnings about the words of a fuzzy schedule. Uneven steps are seen in its cron form."""
    from kron.fuzzy.baseline import read_baseline

    for warning in read_baseline(entry.schedule_text, identity=entry.identity).warnings:
        if warning.code is not Code.UNEVEN_STEP:
            yield Remark(Advice.FUZZY_DOUBTFUL, SCHEDULE, warning.message, warning.fix)
