"""A schedule: everything that its text says, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kron.core.constraint import Constraints
from kron.core.cron import Cron, Reboot
from kron.core.distribution import DEFAULT_DISTRIBUTION, Distribution, Law
from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen, derived
from kron.core.instant import FIRST_S, LAST_S, to_seconds
from kron.core.nominal import Nominals, nominals
from kron.core.policy import Policy
from kron.core.seed import Seed
from kron.core.walk import Walk
from kron.core.window import Window
from kron.core.zone import Zone, load_zone

UTC_ZONE = load_zone("UTC")
_EVER_NS = (LAST_S - FIRST_S) * SECOND_NS


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
    terms: Policy = derived()
    """The policy that applies: without a deadline, a run of `@reboot` is never late. It is due as
    krond starts, and the clock of a host may be set by decades after that."""
    start_offset_s: int = derived()
    width_s: int = derived()

    def __post_init__(self) -> None:
        instants = nominals(self.cron, self.zone)
        is_unhurried = self.is_at_boot and not self.policy.deadline_ns
        self._derive(
            nominals=instants,
            walk=Walk(instants),
            law=self.distribution.law(self.window) if self.window.width_s else None,
            terms=self.policy.replace(deadline_ns=_EVER_NS) if is_unhurried else self.policy,
            start_offset_s=self.window.start_offset_s,
            width_s=self.window.width_s,
        )

    @property
    def is_at_boot(self) -> bool:
        """Whether it is `@reboot`, which no clock makes due."""
        return isinstance(self.cron, Reboot)

    @property
    def boot_s(self) -> int | None:
        """The instant of the boot that was given to it with `in_boot`."""
        return self.cron.at_s if isinstance(self.cron, Reboot) else None

    def in_boot(self, at_s: int) -> Schedule:
        """A schedule with `@reboot` for the boot whose instant this is."""
        return self.replace(cron=self.cron.replace(at_s=at_s))

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
