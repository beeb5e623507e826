"""What we present to the API server: a token, a certificate, both or neither; and its sources.

Secrets are never part of a message, a log line or a `repr`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from kron.core.errors import Code, KronError, visible
from kron.core.frozen import Frozen
from kron.waking.clock import Clock

_REREAD_NS = 60 * 10**9
_MOST_BYTES = 4 * 1024 * 1024


class Credential(Frozen):
    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    read_ns: int = 0
    """When it was read, on the monotonic clock."""
    expires_ns: int | None = None
    """When it expires, on the wall clock."""

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
        """Read the credential: at first, when it is not fresh, and after a 401."""


class Secret(Frozen):
    """A part of a credential: in the kubeconfig itself, or in a file, which may change."""

    name: str
    """Its place in the kubeconfig, for messages."""
    data: bytes = b""
    path: str = ""

    @property
    def is_set(self) -> bool:
        return bool(self.data or self.path)

    def read(self) -> bytes:
        """Its present content; b'' if it is not set."""
        try:
            return read_file(self.path) if self.path else self.data
        except OSError as error:
            why = f"{visible(self.path)} cannot be read: {error.strerror or error}"
            fix = "name a file that can be read"
            raise KronError(Code.CLUSTER, f"{self.name}: {why}", fix) from None

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, path={self.path!r})"


class StoredCredentials(Frozen, Credentials):
    """Credentials in the kubeconfig, or in files. Files are read again every minute."""

    token: Secret
    certificate: Secret
    key: Secret
    clock: Clock

    def is_fresh(self, credential: Credential) -> bool:
        if not (self.token.path or self.certificate.path or self.key.path):
            return True
        return self.clock.monotonic_ns() - credential.read_ns < _REREAD_NS

    async def read(self) -> Credential:
        return Credential(
            token_text(self.token.read(), self.token.name),
            self.certificate.read(),
            self.key.read(),
            read_ns=self.clock.monotonic_ns(),
        )


def token_text(data: bytes, place: str) -> str:
    """A token as it goes into a header, without the line end that files have."""
    token = data.strip()
    if any(not 0x21 <= byte <= 0x7E for byte in token):
        message = f"{place}: the token has a character that is not allowed in a token"
        raise KronError(Code.CLUSTER, message, fix="write the token alone, on one line")
    return token.decode("ascii")


def read_file(path: str) -> bytes:
    """The content of a file of a bounded size; OSError otherwise."""

    def open_at_once(name: str, flags: int) -> int:
        # Without O_NONBLOCK, a pipe without a writer would block the open. One that has a writer,
        # `<(...)`, is then read to its end.
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        return descriptor

    with open(path, "rb", opener=open_at_once) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(None, f"it is longer than {_MOST_BYTES} bytes")
    return content
