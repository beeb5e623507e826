"""Identities: the stable names from which a job's times are chosen.

`<absolute path of the file>:<name>`, or with a node id `<node>/<path>:<name>`: without it, the same
file on a thousand hosts would run in the same second everywhere.
"""

from __future__ import annotations

import os

from kron.core.errors import Code, KronError, quoted

_MACHINE_ID = "/etc/machine-id"


def identity_of(path: str, name: str, node: str = "") -> str:
    """The identity of the job called `name` in the file at `path`."""
    prefix = f"{node}/" if node else ""
    return f"{prefix}{os.path.abspath(path)}:{name}"  # noqa: PTH100 (no symlink is followed)


def find_node(node_id: str | None) -> str:
    """The node that `--node-id machine-id|hostname|<text>` names; '' without the option."""
    if node_id is None:
        return ""
    node = node_id
    if node_id == "machine-id":
        node = _machine_id()
    elif node_id == "hostname":
        node = os.uname().nodename
    if node and node.isprintable():
        return node
    message = f"{quoted(node)} is not a node id: it is empty or holds a control character"
    fix = "use --node-id machine-id, --node-id hostname or your own text"
    raise KronError(Code.IDENTITY, message, fix)


def _machine_id() -> str:
    try:
        with open(_MACHINE_ID, encoding="ascii", errors="replace") as file:  # noqa: PTH123
            machine_id = file.read(100).strip()
    except OSError as error:
        message = f"{_MACHINE_ID} cannot be read: {error.strerror}"
        fix = "use --node-id hostname or your own text"
        raise KronError(Code.FILE_UNREADABLE, message, fix) from None
    # systemd writes this until the first boot is done; it would be the same on every host.
    return "" if machine_id == "uninitialized" else machine_id
