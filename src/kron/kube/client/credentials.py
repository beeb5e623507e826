"""Who we are to the API server: a token, a certificate, both or neither, and where they come from.

Secrets are never part of a message, a log line or a `repr`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.kube.client.files import read_secret
from kron.waking.clock import Clock

_REREAD_NS = 60 * 10**9


class Credential(Frozen):
    """What a request is signed with."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    read_ns: int = 0
    """When it was read, on the monotonic clock."""
    expires_ns: int | None = None
    """When it stops being good, on the wall clock."""

    def has_same_certificate(self, other: Credential) -> bool:
        """Whether a connection made for one can carry the other's requests."""
        return (self.certificate, self.key) == (other.certificate, other.key)

    def __repr__(self) -> str:
        return f"Credential(token={'***' if self.token else ''!r}, certificate=..., key=...)"


class Credentials(ABC):
    """Where credentials come from."""

    @abstractmethod
    def is_fresh(self, credential: Credential) -> bool:
        """Whether `credential` need not be read again yet. Asked before every request."""

    @abstractmethod
    async def read(self) -> Credential:
        """The credential as it is now: at first, when it is not fresh, and after a 401."""


class Secret(Frozen):
    """A piece of a credential: in the kubeconfig itself, or in a file, which may change."""

    name: str
    """Its place in the kubeconfig, for messages."""
    data: bytes = b""
    path: str = ""

    def read(self) -> bytes:
        """The piece as it is now; b'' if there is none."""
        return read_secret(self.name, self.path) if self.path else self.data

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, path={self.path!r})"


class StoredCredentials(Credentials):
    """Pieces that lie ready. Files are read again each minute: others renew them."""

    def __init__(self, token: Secret, certificate: Secret, key: Secret, clock: Clock) -> None:
        self._token = token
        self._certificate = certificate
        self._key = key
        self._clock = clock
        self._is_in_files = bool(token.path or certificate.path or key.path)

    def is_fresh(self, credential: Credential) -> bool:
        """For a minute if it is in files, for ever if not."""
        if not self._is_in_files:
            return True
        return self._clock.monotonic_ns() - credential.read_ns < _REREAD_NS

    async def read(self) -> Credential:
        """Read the files, if there are any."""
        return Credential(
            token_text(self._token.read(), self._token.name),
            self._certificate.read(),
            self._key.read(),
            read_ns=self._clock.monotonic_ns(),
        )


def token_text(data: bytes, place: str) -> str:
    """A token as it goes into a header, without the line end that files have."""
    token = data.strip()
    if any(not 0x21 <= byte <= 0x7E for byte in token):
        message = f"{place}: the token holds a character that no token has"
        raise KronError(Code.CLUSTER, message, fix="write the token alone, on one line")
    return token.decode("ascii")
