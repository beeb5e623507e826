"""The generated files that are installed with the package: manual pages and completion scripts."""

from __future__ import annotations


def shared_text(path: str) -> str:
    """A generated file of the package's `share` directory."""
    import pkgutil

    data = pkgutil.get_data("kron", f"share/{path}")
    assert data is not None  # the package's loader reads files
    return data.decode()
