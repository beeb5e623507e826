"""The extra `kube`: the packages that it needs, and an error if they are not installed."""

from __future__ import annotations

from importlib.util import find_spec

from kron.core.errors import Code, KronError

NEEDED = ("aiohttp", "yaml")


def check_extra() -> None:
    """Raise a KronError that says what to install, if something is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        verb = "is" if len(missing) == 1 else "are"
        message = f"the cluster cannot be reached: {names} {verb} not installed"
        raise KronError(Code.CLUSTER, message, fix="pip install 'krond[kube]'")
