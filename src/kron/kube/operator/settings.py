"""The settings: everything that the command line of `kron-operator run` can set."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.logs.event import Level
from kron.logs.writer import Format
from kron.runtime import DEFAULT_SLACK_S

DEFAULT_DEADLINE_S = 0
DEFAULT_REPLACE_TIMEOUT_S = 60
DEFAULT_WATCH_SILENCE_S = 120
DEFAULT_NETWORK_DELAY_S = 120
"""The longest life of a segment that TCP assumes (RFC 9293)."""
DEFAULT_MAX_SKEW_S = 10
DEFAULT_LEASE_DURATION_S = 15
DEFAULT_LEASE_NAME = "kron-operator"
DEFAULT_HTTP = "127.0.0.1:8080"
DEFAULT_KRONJOB_METRICS = 1_000


class OperatorSettings(Frozen):
    identity: str
    lease_namespace: str
    lease_name: str = DEFAULT_LEASE_NAME
    lease_duration_s: int = DEFAULT_LEASE_DURATION_S
    """How long a leader may be silent before another takes over."""
    namespaces: tuple[str, ...] = ()
    """Where it looks for KronJobs; none: in all of them."""
    default_deadline_s: int = DEFAULT_DEADLINE_S
    """The deadline of KronJobs that name none."""
    slack_s: int = DEFAULT_SLACK_S
    replace_timeout_s: int = DEFAULT_REPLACE_TIMEOUT_S
    watch_silence_s: int = DEFAULT_WATCH_SILENCE_S
    """How long a watch may be silent before it is restarted."""
    network_delay_s: int = DEFAULT_NETWORK_DELAY_S
    """How long a network may hold back a request whose connection was reset."""
    max_skew_s: int = DEFAULT_MAX_SKEW_S
    """How much the clock of a leader may differ from the API server's; 0: by any amount."""
    peer: str = ""
    """Where other replicas reach this one, HOST:PORT; '': nowhere, so that they wait for its
    lease to run out."""
    http: tuple[str, int] | None = None
    """Where health and metrics are served."""
    kronjob_metrics: int = DEFAULT_KRONJOB_METRICS
    """How many KronJobs have metrics of their own, at most."""
    log_format: Format = Format.TEXT
    log_level: Level = Level.INFO
    explain: bool = False

    @property
    def act_s(self) -> float:
        """How long after it has renewed its lease a leader may act."""
        return self.lease_duration_s * 2 / 3

    @property
    def creation_s(self) -> float:
        """How long a creation may take: it is over when the lease of a silent leader is."""
        return self.lease_duration_s - self.act_s

    @property
    def dead_s(self) -> float:
        """How long after a creation was given up it may still make the Job.

        The network may hold the request back, and then the server may take its time.
        """
        return self.network_delay_s + self.creation_s
