"""The cgroup of a run as krond uses it, while krond itself is in it and after."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.krond.subtree import Subtree, delegated

IN_A_RUN = """
import os, subprocess, sys
from kron.krond.process.cgroup import Cgroup
base = sys.argv[1]
os.mkdir(f"{base}/run")
cgroup = Cgroup(f"{base}/run", f"{base}/krond")
cgroup.enter()
"""
HOME = "print(open('/proc/self/cgroup').read().strip().rpartition('/')[2])"


@pytest.fixture
def subtree() -> Iterator[Subtree]:
    with delegated() as made:
        yield made


def said_by(subtree: Subtree, *lines: str) -> list[str]:
    """What a process prints that has entered the cgroup of a run."""
    program = IN_A_RUN + "\n".join(lines)
    words = [*subtree.wrapper, sys.executable, "-c", program, str(subtree.base)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_krond_gets_back_even_if_its_own_cgroup_was_removed(subtree: Subtree) -> None:
    removed = "os.rmdir(f'{base}/krond')"
    assert said_by(subtree, removed, "cgroup.leave()", HOME, "cgroup.remove()") == ["krond"]
    assert not (subtree.base / "run").exists()


def test_a_krond_that_could_not_get_back_is_not_killed_with_the_run(subtree: Subtree) -> None:
    said = said_by(
        subtree,
        "child = subprocess.Popen(['sleep', '600'])",
        "assert cgroup.processes() == [child.pid]",
        "cgroup.kill()",
        "print(child.wait())",
    )
    assert said == ["-9"]


def test_a_cgroup_that_is_gone_is_empty_and_ends_nobody(subtree: Subtree) -> None:
    said = said_by(
        subtree,
        *("cgroup.leave()", "cgroup.remove()", "cgroup.remove()", "cgroup.kill()"),
        "print(cgroup.is_populated(), cgroup.processes(), cgroup.usage().cpu_us)",
        "print(repr(cgroup.why_killed()))",
    )
    assert said == ["False", "[]", "None", "''"]
