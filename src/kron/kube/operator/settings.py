"""The settings: everything that `kron-operator run` was told on its command line."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.logs.event import Level
from kron.logs.writer import Format

DEFAULT_SLACK_S = 5
DEFAULT_REPLACE_TIMEOUT_S = 60
DEFAULT_LEASE_NAME = "kron-operator"
DEFAULT_HTTP = "127.0.0.1:8080"


class Settings(Frozen):
    """How the operator runs."""

    identity: str
    """Which of several replicas it is."""
    lease_namespace: str
    lease_name: str = DEFAULT_LEASE_NAME
    namespaces: tuple[str, ...] = ()
    """Where it looks for KronJobs; none: in all of them."""
    slack_s: int = DEFAULT_SLACK_S
    replace_timeout_s: int = DEFAULT_REPLACE_TIMEOUT_S
    http: tuple[str, int] | None = None
    """Where health and metrics are served."""
    log_format: Format = Format.TEXT
    log_level: Level = Level.INFO
    explain: bool = False
