"""Ports on 127.0.0.1 for programs that must be told one."""

from __future__ import annotations

import random
import socket
from pathlib import Path


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now, outside the range from which outgoing connections get theirs.

    So the port of a part that is stopped for a while is still free when it is started again.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    choice = random.SystemRandom()
    found: set[int] = set()
    while len(found) < count:
        port = choice.randrange(10_000, first) if first > 11_000 else 0
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.add(probe.getsockname()[1])
    return list(found)


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True
