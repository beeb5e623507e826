"""The trial of a new program: whether it could go on in the place of the krond that runs.

It reads what a start would read, with its own code, and changes nothing: it takes no lock, writes
no file and starts no process. It has the command line of that krond.
"""

from __future__ import annotations

import json
import os

import kron
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.krond.cgroups import Absence
from kron.krond.configuration.reading import read_configuration, with_limits_checked
from kron.krond.configuration.settings import KrondSettings
from kron.krond.control.server import check_socket
from kron.krond.enrolment.boot import read_record
from kron.krond.handover import FORMAT
from kron.krond.state.directory import Directory
from kron.krond.state.store import RUNS, read_states


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


def try_out(settings: KrondSettings, what: str) -> Fitness:
    """What this program says if it could go on; else a `KronError`.

    `what` the krond that runs leaves: its format and, after a colon, controllers of cgroups.
    """
    handover_format, colon, names = what.partition(":")
    if handover_format != str(FORMAT):
        raise KronError(
            Code.STATE,
            f"krond {kron.__version__} cannot take over from the krond that runs: what that one "
            f"leaves has format {handover_format}, and this one reads {FORMAT}",
            fix="stop it and start this one: krond stop --leave && krond start",
        )
    controllers = frozenset(names.split(",")) if colon else Absence.UNKNOWN
    with_limits_checked(read_configuration(settings), controllers).checked()
    for _ in read_states(settings.state_dir):
        pass  # each of them reads
    _check_places(settings)
    return Fitness(kron.__version__)


def _check_places(settings: KrondSettings) -> None:
    """The places where a start reads, makes or opens something."""
    state = Directory.existing(settings.state_dir)
    try:
        read_record(state)
        check_socket(state.descriptor)
        Directory.existing(f"{settings.state_dir}/{RUNS}").close()
    finally:
        state.close()
    log = settings.log_file
    if log and (os.path.isdir(log) or not os.access(_there(log), os.W_OK)):  # noqa: PTH112
        message = f"the log file {log} cannot be opened"
        raise KronError(Code.FILE_UNWRITABLE, message, fix="see whether its directory is there")


def _there(file: str) -> str:
    """The file or, where it does not exist, its directory."""
    return file if os.path.exists(file) else os.path.dirname(file) or "."  # noqa: PTH110, PTH120
