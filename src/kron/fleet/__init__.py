"""What many schedules do together: when they run, and where that is too much at once. Pure."""

from kron.fleet.busy import Busy, busiest
from kron.fleet.count import count_firings
from kron.fleet.firing import firings
from kron.fleet.tally import Tally

__all__ = ["Busy", "Tally", "busiest", "count_firings", "firings"]
