"""A fault of krond's own: what is said of it, where, and with which exit code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kron.krond.program import BROKEN
from tests.krond.commands import NEVER
from tests.krond.host import Host
from tests.logbook import PATIENCE_S

PROGRAM = """\
import sys
from kron.krond.daemon import Daemon
from kron.krond.program import main

def broken(*_):
    raise RuntimeError("a fault")

setattr(Daemon, sys.argv.pop(1), broken)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("where", "is_ready"),
    [
        pytest.param("__init__", False, id="before-it-begins"),
        pytest.param("begin", False, id="before-it-is-ready"),
        pytest.param("turn", True, id="when-it-was-ready"),
    ],
)
def test_a_fault_of_its_own_is_told_with_its_place_and_ends_with_70(
    tmp_path: Path, where: str, is_ready: bool
) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        python, _, _, *words = host.words()
        ended = subprocess.run(
            [python, "-c", PROGRAM, where, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == BROKEN == 70
        assert ended.stderr.startswith("Traceback (most recent call last)")
        assert ended.stderr.rstrip().endswith("RuntimeError: a fault")
        assert "service.py" in ended.stderr
        assert len(host.events("ready")) == is_ready
        (told,) = host.events("error")
        assert told["operation"] == "serve"
        assert told["error"].rstrip() == ended.stderr.rstrip()
        host.start()  # the state is whole, and nothing is locked any more
        assert host.stop() == 0
