"""The identities in a state directory, for commands that have to do without krond."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress

from kron.krond.state.fields import MAX_BYTES

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def stored_identities(state_dir: str, beginnings: Collection[str]) -> dict[str, str]:
    """The identities whose hash has one of these beginnings, by it, as far as they may be read."""
    found: dict[str, str] = {}
    if not beginnings:
        return found
    length = len(next(iter(beginnings)))
    with suppress(OSError):
        for name in os.listdir(state_dir):  # noqa: PTH208
            if name[:length] in beginnings and (identity := _identity(f"{state_dir}/{name}")):
                found[name[:length]] = identity
    return found


def _identity(path: str) -> str:
    """The identity in a state file; '' if it is not one."""
    try:
        descriptor = os.open(path, _READ)
        with open(descriptor, "rb") as file:  # noqa: PTH123
            identity = json.loads(file.read(MAX_BYTES))["identity"]
        digits = hashlib.sha256(identity.encode()).hexdigest()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
    return str(identity) if path.endswith(f"/{digits}.json") else ""
