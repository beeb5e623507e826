"""Replay: every decision of a log made again from its own line, and compared.

A line carries what its decision follows from (`schedule`, `identity`, `nominal`, `engine`), so a
log needs nothing but itself to be checked. Replay reads and reports; it changes nothing and asks
no clock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator

from kron.logs.check import Checked, Checker, answer_counted
from kron.logs.finding import Counts, Finding
from kron.logs.reader import Progress, pieces
from kron.logs.recent import Recent
from kron.logs.template import Period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.logs.crew import Crew
    from kron.logs.reader import Source

PERIODS_REMEMBERED = 50_000
"""How many decisions are sure to be remembered for the lines that name their chosen time again."""

HIRE_BYTES = 4 * 1024 * 1024
"""How much of a log is checked before other processes are started to help."""

ALONE_BYTES = 8 * 1024 * 1024
"""How much is checked before they do: it takes them that long to start."""

_MOST_WORKERS = 8


class Replay:
    """Goes through a log once: iterate over it for the findings, then ask for the counts.

    `source` is read as bytes, plain or gzip; `progress` is told how many have been read so far.
    `workers` is how many processes share the work on a long log: 1 for this one alone, None for
    as many as there are processors.
    """

    def __init__(
        self, source: Source, *, progress: Progress | None = None, workers: int | None = None
    ) -> None:
        self._pieces = pieces(source, progress)
        self._workers = _processors() if workers is None else workers
        self._chosen: Recent[Period, str] = Recent(PERIODS_REMEMBERED)
        self._counts = Counts()

    @property
    def counts(self) -> Counts:
        """The counts of what has been checked so far."""
        return self._counts

    def __iter__(self) -> Iterator[Finding]:
        results = self._results()
        try:
            for checked in results:
                yield from self._settled(checked)
        finally:
            results.close()  # which ends the workers, also when nobody wants the rest

    def _results(self) -> Generator[Checked, None, None]:
        checker = Checker()
        crew: Crew | None = None
        read_bytes = 0
        try:
            for number, piece in self._pieces:
                yield checker.check(number, piece)
                read_bytes += len(piece) if isinstance(piece, bytes) else 0
                if crew is None and read_bytes >= HIRE_BYTES:
                    crew = self._hired()
                if crew is not None and read_bytes >= ALONE_BYTES:
                    yield from crew.checked(self._pieces)
        finally:
            if crew is not None:
                crew.dismiss()

    def _hired(self) -> Crew | None:
        if self._workers < 2 or not sys.executable:
            return None
        from kron.logs.crew import Crew

        try:
            return Crew(self._workers)
        except OSError:  # no more processes or no memory: one can do it too, only slower
            self._workers = 1
            return None

    def _settled(self, checked: Checked) -> list[Finding]:
        """The findings of a piece, once its questions to the pieces before it are answered."""
        findings = [*checked.findings]
        counts = self._counts.plus(checked.counts)
        for asked in checked.asked:
            decided = self._chosen.get(asked.place.period)
            if decided is not None:
                finding = asked.answered(decided)
                counts = counts.plus(answer_counted(finding))
                if finding is not None:
                    findings.append(finding)
        self._chosen.put_all(checked.decided)
        self._counts = counts
        return sorted(findings, key=lambda finding: finding.line)


def _processors() -> int:
    return min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
