"""A follower: reloads by itself when the files that krond reads have changed, as cron does."""

from __future__ import annotations

import select
from collections.abc import Callable, Collection, Mapping

from kron.core.duration import SECOND_NS
from kron.krond.configuration.watch import Watch
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timer, Timers
from kron.logs.journal import Journal

QUIET_NS = SECOND_NS
"""How long an edit may take: several files, or one that is written in steps."""
_FIX = "edits need a krond reload"


class Follower:
    """Follows directories. Only those of its names count that are given with one, if any are."""

    def __init__(
        self,
        directories: Mapping[str, Collection[str]],
        reload: Callable[[], object],
        journal: Journal,
        timers: Timers,
        poller: Poller,
    ) -> None:
        self._directories = directories
        self._reload = reload
        self._journal = journal
        self._timers = timers
        self._timer: Timer | None = None
        try:
            self._watch = Watch()
        except OSError as error:
            journal.error("watch", f"{error.strerror}: {_FIX}")
            return
        self._look()
        poller.add(self._watch.fileno(), select.EPOLLIN, self._look)

    def _look(self, _: int = 0) -> None:
        is_changed = self._watch.read()
        try:
            for directory, names in self._directories.items():
                self._watch.add(directory, names)
        except OSError as error:
            self._journal.error("watch", f"{error.filename}: {error.strerror}: {_FIX}")
        if is_changed and not self._timer:
            self._timer = self._timers.after(QUIET_NS, self._changed)

    def _changed(self) -> None:
        self._timer = None
        self._reload()
