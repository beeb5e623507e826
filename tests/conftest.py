"""Hypothesis is derandomised: a run of `make test` cannot flicker. `make soak` explores.

The tests in tests/cluster need a control plane. Where it is not built they are not collected, and
one line at the end says so.
"""

from __future__ import annotations

import gc
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.soak import SOAK
from tools.cluster import UnavailableError, find

CLUSTER = Path(__file__).parent / "cluster"

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


@cache
def _why_no_cluster() -> str:
    try:
        find()
    except UnavailableError as error:
        return str(error)
    return ""


def pytest_collection_finish() -> None:
    """Ten thousand tests are there to stay: looking for garbage in them takes half a second."""
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    is_inside = collection_path == CLUSTER or CLUSTER in collection_path.parents
    return True if is_inside and _why_no_cluster() else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    asked = [
        Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args
    ]
    concerned = any(
        path in (CLUSTER, *CLUSTER.parents) or CLUSTER in path.parents for path in asked
    )
    if concerned and (why := _why_no_cluster()):
        terminalreporter.write_line(f"tests/cluster was not run: {why}", yellow=True)
