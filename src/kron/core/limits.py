"""The limits for inputs: one place for every bound, each of them configurable."""

from __future__ import annotations

from kron.core.frozen import Frozen


class Limits(Frozen):
    """The bounds that parsing enforces. docs/errors.md lists them (a test compares)."""

    file_bytes: int = 8 * 1024 * 1024
    line_bytes: int = 64 * 1024
    jobs: int = 100_000
    window_days: int = 366
    clauses: int = 64


DEFAULT_LIMITS = Limits()


def is_longer(text: str, most_bytes: int) -> bool:
    """Whether `text` takes more bytes than it may; a huge one is not copied to find out."""
    return len(text) > most_bytes or len(text.encode(errors="surrogatepass")) > most_bytes
