"""Hypothesis is derandomised: a run of `make test` cannot flicker. `make soak` explores."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.soak import SOAK

# Whoever runs the tests may ignore these (nohup, a job in the background of a script), and every
# process that a test starts would inherit that.
for _number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "kron",
    derandomize=SOAK == 1,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of a test
)
settings.load_profile("kron")
