"""A TCP relay between an operator and the API server, which can hold back what was sent.

As a network does that retransmits after a partition: what is under way on the connections that are
open arrives later, even if its sender has given up meanwhile. New connections work. It is a process
of its own, and knows nothing of what it passes on.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cluster import children
from tests.cluster.controlplane import ControlPlane
from tests.cluster.ports import free_ports, is_listening
from tests.logbook import wait_for


class Relay:
    """The test's end of it."""

    def __init__(self, cluster: ControlPlane, directory: Path) -> None:
        self.cluster = cluster
        self._port, self._control = free_ports(2)
        self._log = directory / "relay.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Relay:
        port = urlsplit(self.cluster.url).port
        words = [sys.executable, "-m", "tests.cluster.relay"]
        words += [str(self._port), str(port), str(self._control)]
        environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
        self._process = children.start(words, self._log, environment)
        wait_for(lambda: is_listening(self._control), "the relay is up")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            children.stop(self._process)

    def kubeconfig(self, user: dict[str, Any], name: str) -> str:
        """A kubeconfig of this user that leads through it."""
        path = Path(self.cluster.kubeconfig_with(user, name))
        url = f"https://127.0.0.1:{self._port}"
        path.write_text(path.read_text().replace(self.cluster.url, url))
        return str(path)

    def hold(self, seconds: float) -> None:
        """Hold back what comes on the connections that are open now, for so long."""
        with socket.create_connection(("127.0.0.1", self._control)) as control:
            control.sendall(f"{seconds}\n".encode())
            assert control.recv(16) == b"ok\n"


class _Connections:
    """The process's end of it."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._open: dict[asyncio.StreamReader, asyncio.Event] = {}

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._server)
        goes = self._open[reader] = asyncio.Event()
        goes.set()

        async def answers() -> None:
            with suppress(OSError):
                while data := await there.read(65536):
                    writer.write(data)
                    await writer.drain()
            writer.close()

        task = asyncio.ensure_future(answers())
        # What has arrived here is passed on, even if its sender is gone by then.
        waiting: asyncio.Queue[bytes] = asyncio.Queue()

        async def read() -> None:
            with suppress(OSError):
                while data := await reader.read(65536):
                    waiting.put_nowait(data)
            waiting.put_nowait(b"")

        reading = asyncio.ensure_future(read())
        with suppress(OSError):
            while data := await waiting.get():
                await goes.wait()
                back.write(data)
                await back.drain()
            await asyncio.sleep(1)  # time for the server to answer: it drops what nobody waits for
        back.close()
        del self._open[reader]
        await asyncio.wait([task, reading])

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seconds = float(await reader.readline())
        held = list(self._open.values())
        for each in held:
            each.clear()
        writer.write(b"ok\n")
        await writer.drain()
        await asyncio.sleep(seconds)
        for each in held:
            each.set()
        writer.close()


async def main(port: int, server: int, control: int) -> None:
    """Serve until killed."""
    connections = _Connections(server)
    await asyncio.start_server(connections.accept, "127.0.0.1", port)
    await asyncio.start_server(connections.control, "127.0.0.1", control)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
