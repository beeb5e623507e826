"""The trial of a new program: whether it could go on in the place of the krond that runs.

It reads what a start would read, with its own code, and changes nothing: it takes no lock, writes
no file and starts no process. It has the command line of that krond.
"""

from __future__ import annotations

import json

import kron
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.krond.cgroup_limits import with_limits_checked
from kron.krond.cgroups import own_controllers
from kron.krond.reading import read_configuration
from kron.krond.settings import KrondSettings
from kron.krond.state.store import read_states
from kron.krond.upgrade.handover import FORMAT


class Fitness(Frozen):
    """What a program says that could go on."""

    version: str

    def packed(self) -> str:
        return json.dumps({"version": self.version})

    @classmethod
    def unpacked(cls, output: bytes) -> Fitness:
        """From the last line, after warnings. A `ValueError` if that says something else."""
        try:
            found = json.loads(output.rstrip().rpartition(b"\n")[2])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.keys() != set(cls._fields):
            raise ValueError("it does not say that it is fit")
        return cls(str(found["version"]))


def try_out(settings: KrondSettings, handover_format: int) -> Fitness:
    """What this program says if it could go on; else a `KronError`."""
    if handover_format != FORMAT:
        raise KronError(
            Code.STATE,
            f"krond {kron.__version__} cannot take over from the krond that runs: what that one "
            f"leaves has format {handover_format}, and this one reads {FORMAT}",
            fix="stop it and start this one: krond stop --leave && krond start",
        )
    with_limits_checked(read_configuration(settings), own_controllers()).checked()
    for _ in read_states(settings.state_dir):
        pass  # each of them reads
    return Fitness(kron.__version__)
