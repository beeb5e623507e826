"""Light: what a daemon imports to log loads nothing that only reading or JSON needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.test_light import HEAVY, PROGRAM

ONLY_WHEN_NEEDED = {*HEAVY, "contextlib", "gzip", "pickle", "zlib", "kron.fuzzy"}


@pytest.mark.parametrize(
    ("use", "loaded"),
    [
        pytest.param("import kron.logs", [], id="import"),
        pytest.param(
            "import io, kron.logs as l; l.Writer(io.BytesIO()).write("
            "l.record(l.Event.READY, 0, version='1', jobs=2))",
            [],
            id="write-text",
        ),
        pytest.param(
            "import io, kron.logs as l; list(l.read(io.BytesIO(b'junk')))", [], id="read-text"
        ),
        pytest.param(
            "import io, kron.logs as l; l.Writer(io.BytesIO(), l.Format.JSON)", ["json"], id="json"
        ),
    ],
)
def test_nothing_is_loaded_before_it_is_needed(use: str, loaded: list[str]) -> None:
    program = PROGRAM.format(use, ONLY_WHEN_NEEDED)
    path = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; "
    result = subprocess.run(
        [sys.executable, "-S", "-c", path + program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == loaded
