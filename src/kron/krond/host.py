"""The host as krond sees it: its clocks and processes, what to wait on, the disk and the log."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.krond.cgroups import Cgroups
from kron.krond.history.writer import History
from kron.krond.loop.poller import Poller
from kron.krond.loop.timers import Timers
from kron.krond.notices.notices import Notices
from kron.krond.process.processes import Processes
from kron.krond.state.lock import Lock
from kron.krond.state.store import StateStore
from kron.krond.surroundings import Surroundings
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer


class Host(Frozen):
    """What the parts of a daemon share. Tests put others in the place of some."""

    store: StateStore
    journal: Journal
    surroundings: Surroundings
    clock: Clock
    timer: WallTimer
    timers: Timers
    poller: Poller
    processes: Processes
    history: History
    notices: Notices
    cgroups: Cgroups | None = None
    """None: no cgroup is delegated to krond, so runs have none of their own."""
    pid_file: Lock | None = None
    """That of `--pid-file`."""
