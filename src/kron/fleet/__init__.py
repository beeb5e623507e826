"""Many jobs together: how often they run, and which minutes are the busiest. Pure."""

from kron.fleet.busy import Busy, busiest
from kron.fleet.count import count_firings, firings
from kron.fleet.tally import Tally

__all__ = ["Busy", "Tally", "busiest", "count_firings", "firings"]
