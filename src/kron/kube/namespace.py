"""The name of a namespace on a command line. Whether the namespace exists, only a cluster knows."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError

from kron.core.errors import quoted

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
NAMESPACE_RULE = "a namespace has up to 63 small letters, digits and hyphens"


def is_namespace(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def namespace(text: str) -> str:
    """The type of an option."""
    if is_namespace(text):
        return text
    raise ArgumentTypeError(f"{quoted(text)} is not the name of a namespace: {NAMESPACE_RULE}")
