"""Moments of the wall clock that real processes are made to wait for."""

from __future__ import annotations

import os
import time

_MOST_PATIENT_S = 4.0


def soon(seconds: float = 2.0) -> int:
    """A whole second at least so far away: some more, if more processes want to run than can.

    Until then a test has to write its files or make its KronJobs, and somebody has to see them.
    """
    in_line = os.getloadavg()[0] / (os.cpu_count() or 1) - 1
    return int(time.time() + seconds + min(max(in_line, 0.0), _MOST_PATIENT_S)) + 1


def wait_until(at_s: float) -> None:
    """Sleep until that moment of the wall clock."""
    while (left_s := at_s - time.time()) > 0:
        time.sleep(left_s)
