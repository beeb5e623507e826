"""Identities: the stable names from which a job's times are chosen.

`<absolute path of the file>:<name>`, or with a node id `<node>/<path>:<name>`: without it, the same
file on a thousand hosts would run in the same second everywhere.
"""

from __future__ import annotations

import os

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen

_MACHINE_ID = "/etc/machine-id"


class Node(Frozen):
    """The host's part of an identity; empty by default."""

    name: str = ""

    def identity(self, path: str, name: str) -> str:
        """The identity of the job called `name` in the file at `path`."""
        prefix = f"{self.name}/" if self.name else ""
        return f"{prefix}{os.path.abspath(path)}:{name}"  # noqa: PTH100 (no symlink is followed)


def find_node(node_id: str) -> Node:
    """The node that `--node-id machine-id|hostname|<text>` names."""
    if node_id == "machine-id":
        name = _machine_id()
    elif node_id == "hostname":
        name = os.uname().nodename
    else:
        name = node_id
    if name and name.isprintable():
        return Node(name)
    raise KronError(
        Code.IDENTITY,
        f"{quoted(name)} is not a node id: it is empty or holds a control character",
        fix="use --node-id machine-id, --node-id hostname or your own text",
    )


def _machine_id() -> str:
    try:
        with open(_MACHINE_ID, encoding="ascii", errors="replace") as file:  # noqa: PTH123
            machine_id = file.read(100).strip()
    except OSError as error:
        raise KronError(
            Code.FILE_UNREADABLE,
            f"{_MACHINE_ID} cannot be read: {error.strerror}",
            fix="use --node-id hostname or your own text",
        ) from None
    # systemd writes this until the first boot is done; it would be the same on every host.
    return "" if machine_id == "uninitialized" else machine_id
