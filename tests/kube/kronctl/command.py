"""Running kronctl: the same ways, and the same checks of every answer, as for krontab."""

from __future__ import annotations

from kron.kube.kronctl.program import KRONCTL
from tests.krontab.command import Krontab


class Kronctl(Krontab):
    """The command in a directory of its own, without a cluster."""

    program = KRONCTL
    module = "kron.kube.kronctl"
