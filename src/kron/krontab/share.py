"""The generated files that krontab prints: its manual pages and completion scripts."""

from __future__ import annotations

import pkgutil


def shared_text(path: str) -> str:
    """A file of the package's `share` directory."""
    data = pkgutil.get_data("kron", f"share/{path}")
    assert data is not None  # the package's loader reads files
    return data.decode()
