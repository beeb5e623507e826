"""Hypothesis is derandomised: a run of `make test` cannot flicker. `make soak` explores.

The tests in tests/cluster need a control plane, those in tests/node a machine that can run a node.
Where these are missing they are not collected, and one line at the end says so.

Heavy tests are those that `make quick` leaves out: properties, the modules below, and each test
with the mark `heavy`. A test that takes long and is not one of them is listed at the end.
"""

from __future__ import annotations

import gc
import signal
import zoneinfo
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, is_hypothesis_test, settings
from hypothesis import strategies as st

from tests.node.surroundings import why_no_node
from tests.soak import SOAK
from tools.cache import UnavailableError
from tools.cluster import CONTROLPLANE

TESTS = Path(__file__).parent
CLUSTER = TESTS / "cluster"
NODE = TESTS / "node"
# Most tests of these start a whole krond or many processes, or live through thousands of lives.
HEAVY = {
    CLUSTER,
    NODE,
    *(
        TESTS / "krond" / f"test_{name}.py"
        for name in (
            "cgroups",
            "check",
            "commands",
            "daemon",
            "disk",
            "history",
            "kill",
            "load",
            "logs",
            "privileges",
            "real_time",
            "service",
            "start_up",
            "surroundings",
            "systemd",
        )
    ),
    TESTS / "krond/configuration/test_configuration.py",
    TESTS / "krond/configuration/test_reload.py",
    TESTS / "krond/configuration/test_source_cron.py",
    TESTS / "krond/enrolment/test_boot_kill.py",
    TESTS / "krond/notices/test_hooks.py",
    TESTS / "krond/output/test_finding.py",
    TESTS / "krond/output/test_keeping.py",
    TESTS / "krond/output/test_output_command.py",
    TESTS / "krond/output/test_outputs.py",
    TESTS / "krond/pauses/test_clock_changes.py",
    TESTS / "krond/process/test_drop.py",
    TESTS / "krond/runs/test_adoption.py",
    TESTS / "krond/runs/test_children.py",
    TESTS / "krond/runs/test_concurrency.py",
    TESTS / "krond/runs/test_starter.py",
    TESTS / "krond/state/test_faults.py",
    TESTS / "krond/state/test_power.py",
    TESTS / "krond/state/test_state_across.py",
    TESTS / "krond/upgrade/test_upgrade.py",
    TESTS / "runtime/test_simulation.py",
    TESTS / "runtime/test_simulation_notices.py",
}
WITHOUT_HEAVY = "not heavy"
LONG_S = 1.0
"""Of a test without the mark. Ten times what the mark is for: the machine may be busy."""

# The process that runs the tests may ignore these signals (nohup, a background job of a script),
# and every process that a test starts would inherit that.
for _number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Some frozen answers are about zones that the IANA database has revised since (tests/vectors).
zoneinfo.reset_tzpath((str(TESTS / "vectors/zoneinfo"), *zoneinfo.TZPATH))

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
        CONTROLPLANE.find()
    except UnavailableError as error:
        return str(error)
    return ""


NEEDS = {CLUSTER: _why_no_cluster, NODE: why_no_node}
"""Why the tests of a directory cannot run here, or ''."""


@settings(max_examples=1, database=None)
@given(st.none())
def _first_property(_: None) -> None:
    """Makes Hypothesis register its random generator, which it does once, before the freeze.

    It asks the garbage collector who refers to that generator. On Python 3.14 the answer leaves out
    frozen objects, so Hypothesis would warn that nothing does.
    """


def pytest_collection_finish() -> None:
    """The collected tests stay until the end: looking for garbage in them takes half a second.

    Looking for it as often as Python does would take a twelfth of all time.
    """
    _first_property()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.option.markexpr == WITHOUT_HEAVY and collection_path in HEAVY:
        return True  # not even imported
    for directory, why_not in NEEDS.items():
        if directory in (collection_path, *collection_path.parents) and why_not():
            return True
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) or not HEAVY.isdisjoint(
            (item.path, *item.path.parents)
        ):
            item.add_marker(pytest.mark.heavy)
    # They wait for minutes and take little processor time. What comes first stays with the worker
    # that it was given to (--dist worksteal), so that only this one starts a node.
    items.sort(key=lambda item: NODE not in item.path.parents)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    explored: dict[str, Counter[str]] = {}
    for report in terminalreporter.getreports("passed"):
        of_test = explored.setdefault(report.nodeid.partition("[")[0], Counter())
        of_test.update({name: int(str(count)) for name, count in report.user_properties})
    for test, counts in explored.items():
        if counts:
            found = ", ".join(f"{count:,} {name}" for name, count in counts.items())
            terminalreporter.write_line(f"{test}: {found}")

    took: dict[str, float] = {}
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("")):
        if "heavy" not in report.keywords:
            took[report.nodeid] = took.get(report.nodeid, 0.0) + report.duration
    for nodeid, seconds in took.items():
        if seconds > LONG_S:
            line = f"{nodeid} took {seconds:.1f} s: quicken it or mark it heavy"
            terminalreporter.write_line(line, yellow=True)

    asked = [
        Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args
    ]
    for directory, why_not in NEEDS.items():
        concerned = any(
            path in (directory, *directory.parents) or directory in path.parents for path in asked
        )
        if concerned and (why := why_not()):
            terminalreporter.write_line(f"tests/{directory.name} was not run: {why}", yellow=True)
