"""The seed: what makes a choice the same on every machine and different for every job."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_date, to_text
from kron.core.tokens import written_keys
from kron.core.zone import Zone


class Strategy(StrEnum):
    """How often a new choice is made."""

    STABLE = "stable"
    DAILY = "daily"
    WEEKLY = "weekly"


class Seed(Frozen):
    strategy: Strategy = Strategy.STABLE
    salt: str = ""
    keys = (("salt", "salt"),)

    def period_key(self, nominal_s: int, zone: Zone) -> str:
        """The part of the seed that names the period: its instant, its local day or its week."""
        if self.strategy is Strategy.STABLE:
            return to_text(nominal_s)
        day = to_date(zone.wall_at(nominal_s) // DAY_S)
        if self.strategy is Strategy.DAILY:
            return day.isoformat()
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"

    def digest(self, identity: str, period_key: str) -> bytes:
        """SHA-256 over identity, period key and salt."""
        if not identity or "\n" in identity:
            # A newline separates the parts: with one inside, two identities could share a seed.
            message = f"{quoted(identity)} is not an identity: it is empty or holds a line break"
            raise KronError(Code.IDENTITY, message)
        try:
            material = f"{identity}\n{period_key}\n{self.salt}".encode()
        except UnicodeEncodeError:
            raise KronError(Code.IDENTITY, f"{quoted(identity)} is not valid Unicode") from None
        return hashlib.sha256(material).digest()

    def __str__(self) -> str:
        return f"@seed({','.join(filter(None, (self.strategy, written_keys(self, self.keys))))})"
