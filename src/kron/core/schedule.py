"""A schedule: everything that its text says, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kron.core.constraint import Constraints
from kron.core.cron import Cron
from kron.core.distribution import DEFAULT_DISTRIBUTION, Distribution, Law
from kron.core.frozen import Frozen, derived
from kron.core.instant import to_seconds
from kron.core.nominal import Nominals, nominals
from kron.core.policy import Policy
from kron.core.seed import Seed
from kron.core.walk import Walk
from kron.core.window import Window
from kron.core.zone import Zone, load_zone

UTC_ZONE = load_zone("UTC")


class Schedule(Frozen):
    """When work is due, and where around that moment it may run.

    `str(schedule)` is its canonical text: fields normalised, modifiers in one order, defaults
    left out. Parsing that text gives an equal schedule.
    """

    cron: Cron
    zone: Zone = UTC_ZONE
    window: Window = Window()
    distribution: Distribution = DEFAULT_DISTRIBUTION
    seed: Seed = Seed()
    policy: Policy = Policy()
    constraints: Constraints = Constraints()

    # What follows is derived once, so that a decision does not derive it again.
    nominals: Nominals = derived()
    walk: Walk = derived()
    law: Law | None = derived()
    start_offset_s: int = derived()
    width_s: int = derived()

    def __post_init__(self) -> None:
        instants = nominals(self.cron, self.zone)
        self._derive(
            nominals=instants,
            walk=Walk(instants),
            law=self.distribution.law(self.window) if self.window.width_s else None,
            start_offset_s=self.window.start_offset_s,
            width_s=self.window.width_s,
        )

    def next_nominal(self, after: datetime) -> datetime:
        """The smallest nominal instant > `after`, in UTC."""
        return self.walk.after(after)

    def prev_nominal(self, at: datetime) -> datetime:
        """The greatest nominal instant <= `at`, in UTC."""
        return self.walk.at_or_before(at)

    def nominals_after(self, after: datetime) -> Iterator[datetime]:
        """Every nominal instant > `after`, the nearest first."""
        walk = Walk(self.nominals)
        while True:
            after = walk.after(after)
            yield after

    def nominals_before(self, before: datetime) -> Iterator[datetime]:
        """Every nominal instant < `before`, the nearest first."""
        to_seconds(before)  # refuses a moment that Kron does not cover
        walk = Walk(self.nominals)
        while True:
            before = walk.at_or_before(before - datetime.resolution)
            yield before

    def __str__(self) -> str:
        cron, *modifiers = self._values()
        given = zip(modifiers, self._defaults.values(), strict=True)
        return " ".join([str(cron), *(str(value) for value, default in given if value != default)])
