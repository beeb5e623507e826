"""Light: importing Kron loads what it needs and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "argparse",
    "asyncio",
    "dataclasses",
    "decimal",
    "inspect",
    "json",
    "kubernetes",
    "logging",
    "numpy",
    "random",
    "socket",
    "statistics",
    "subprocess",
    "threading",
    "typing",
    "unicodedata",
]
# What zoneinfo itself loads is not Kron's doing: above Python 3.11 that is `sysconfig`, and with it
# `threading`. On 3.11 it loads nothing heavy, so there the tests see every import of Kron.
PROGRAM = (
    "import sys, zoneinfo; before = set(sys.modules); {}; "
    "print(*sorted({!r} & (set(sys.modules) - before)))"
)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("import kron", id="import"),
        pytest.param("import kron.engine", id="import-the-engine"),
        pytest.param(
            "import kron; s = kron.parse_schedule('0 2 * * * @tz(Europe/Paris) @win(after,3h) "
            "@dist(skewLate) @only(hours=3)')",
            id="parse",
        ),
    ],
)
def test_nothing_heavy_is_loaded(use: str) -> None:
    # -S: nor is the start-up hook of an editable installation.
    program = PROGRAM.format(use, set(HEAVY))
    path = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; "
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", path + program], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []
