"""The life of tracked jobs, for every adapter: what is due, what is remembered, what is recovered.

An adapter (krond, kron-operator, the one in memory that tests use) brings a store, an executor and
an announcer (`ports`). Nothing here reads a file, opens a connection or starts a thread.
"""

from __future__ import annotations

DEFAULT_SLACK_S = 5
"""How late a run may be that came due while its adapter was awake, and still be on time."""
