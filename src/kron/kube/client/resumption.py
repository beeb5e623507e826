"""Connections that go on with the TLS session of one before them.

To begin a session costs the API server a signature, two milliseconds of its processor, and a burst
of Jobs opens a hundred connections in the same moment. To resume one costs a quarter of that. A
server that does not want to resume begins a new one, and nobody notices.
"""

from __future__ import annotations

import ssl


class ResumingContext(ssl.SSLContext):
    """For connections to one server that present the same certificate and believe the same ones."""

    _latest: ssl.SSLObject | None = None
    _session: ssl.SSLSession | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """asyncio has this called for each connection, and does not say with which session."""
        # A server hands out its ticket after the handshake, so it is looked for only now.
        if self._latest is not None:
            found = self._latest.session
            if found is not None and found.has_ticket:
                self._session = found
        session = session or self._session
        made = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        self._latest = made
        return made
