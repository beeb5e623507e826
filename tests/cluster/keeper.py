"""One control plane for several processes: whoever needs it first starts it, the last one ends it.

As a program it owns the control plane and listens on a socket in its directory. A user holds a
connection; the kernel closes it, however the user ends. When there is none left, everything is
stopped and then the last connection closed, so that whoever waits for that knows.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cluster.controlplane import ROOT, ControlPlane

_READY = b"ready"
_FIRST_USER_S = 30.0
_ATTEMPTS = 2


@contextmanager
def shared(directory: Path) -> Iterator[ControlPlane]:
    """The control plane of this directory, started if it is not there."""
    connection = _connect(directory)
    try:
        cluster = ControlPlane.attach(directory / "cluster")
        yield cluster
        cluster.detach()
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # returns when it is closed: if we were the last, all is stopped then
    finally:
        connection.close()


def _connect(directory: Path) -> socket.socket:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(_ATTEMPTS):
            if connection := _greeted(directory):
                return connection
            # None was there, or it was about to stop.
            _launch(directory)
        if connection := _greeted(directory):
            return connection
    said = (directory / "keeper.log").read_text(errors="replace")
    raise AssertionError(f"no control plane: {said[-4000:]}")


def _launch(directory: Path) -> None:
    """Start a keeper; returns when it listens, long before it is ready."""
    with (directory / "keeper.log").open("ab") as output:
        subprocess.run(
            [sys.executable, "-m", "tests.cluster.keeper", str(directory)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a Ctrl-C is for its users; it ends when they have
            check=True,
        )


def _greeted(directory: Path) -> socket.socket | None:
    """A connection to a keeper whose control plane is ready; None if there is none."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        with _short(directory) as path, suppress(OSError):
            connection.connect(path)
            if connection.recv(len(_READY)) == _READY:  # waits until it is
                return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """The path of the socket, in less than the 108 bytes that the kernel allows."""
    number = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/socket"
    finally:
        os.close(number)


def keep(directory: Path) -> None:
    """In the background, keep a control plane running for as long as it has users."""
    with socket.socket(socket.AF_UNIX) as listener:
        (directory / "socket").unlink(missing_ok=True)
        with _short(directory) as path:
            listener.bind(path)
        listener.listen()
        if os.fork():
            os._exit(0)
        with ControlPlane.start(directory / "cluster", tuned=True):
            last = _serve(listener)
        # Who has connected meanwhile finds the connection closed, and starts another keeper: not
        # before this line, because that one uses the same directory.
        listener.close()
        for connection in last:
            connection.close()


def _serve(listener: socket.socket) -> list[socket.socket]:
    """Welcome users until the last has gone, whose connection stays open."""
    listener.settimeout(_FIRST_USER_S)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    users: set[socket.socket] = set()
    try:
        _welcome(listener, selector, users)
    except TimeoutError:  # whoever started this is gone already
        return []
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                _welcome(listener, selector, users)
                continue
            user = key.fileobj
            assert isinstance(user, socket.socket)
            selector.unregister(user)
            users.remove(user)
            if not users:
                return [user]
            user.close()


def _welcome(
    listener: socket.socket, selector: selectors.BaseSelector, users: set[socket.socket]
) -> None:
    user, _ = listener.accept()
    user.sendall(_READY)
    selector.register(user, selectors.EVENT_READ)
    users.add(user)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exit: the control plane is stopped
    keep(Path(sys.argv[1]))
