"""The server of the control socket: a request is a line of JSON, and so is its answer.

It runs in the daemon's epoll loop and never blocks: a client that is silent, slow, hostile or gone
costs a bounded buffer and no time. The handler decides what a command does.
"""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from kron.core.errors import Code, KronError
from kron.krond.control.wire import FORM, REQUEST_BYTES, excerpt, parse_request
from kron.krond.loop.poller import Poller
from kron.krond.state.names import SOCKET_NAME

Message = dict[str, object]
Handler = Callable[[Message, "Connection"], Message | None]

CONNECTIONS = 16
"""How many may be open at a time, not counting those that wait for the end of a run. The next one
is asked to try again."""

AWAITING = 256
"""How many may wait for the end of a run. They may wait for days and must not block others."""

SILENCE_S = 10.0
"""How long a connection may be idle before it is closed to make room for another."""

_BACKLOG = 64
_CHUNK_BYTES = 2**18
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid
_HUNG_UP = select.EPOLLHUP | select.EPOLLERR


def refusal(error: KronError) -> Message:
    return {"ok": False, "code": error.code.value, "error": error.message, "fix": error.fix}


class ControlServer:
    """The socket in the state directory. Its owner must hold the lock of that directory.

    The handler gets a request, which is an object with a `command`, and its connection. It returns
    the answer, or None if it will call `connection.answer` later. Its exceptions reach the loop.
    """

    def __init__(
        self,
        directory: int,
        handler: Handler,
        poller: Poller,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        listening: int = -1,
    ) -> None:
        """`listening`: the descriptor of the socket, if a program before this one has left it."""
        self._directory = os.dup(directory)
        self._handler = handler
        self._clock_s = clock_s
        self._poller = poller
        self._connections: set[Connection] = set()
        self._is_starved = False
        try:
            self._socket, self._bound = _listening(self._directory, listening)
        except BaseException:
            os.close(self._directory)
            raise
        try:
            # Edge-triggered: when no descriptor is left, a client that waits to be accepted must
            # not wake the loop forever. The next client that comes or goes makes it try again.
            poller.add(self._socket.fileno(), select.EPOLLIN | select.EPOLLET, self._accept)
        except BaseException:
            self._socket.close()
            os.close(self._directory)
            raise

    def close(self) -> None:
        """Close every connection and remove the socket, if it is still ours."""
        if self._socket.fileno() < 0:
            return
        self._poller.remove(self._socket.fileno())
        self._socket.close()
        for connection in list(self._connections):
            connection.close()
        with suppress(OSError):  # the next krond replaces the stale socket
            if os.path.samestat(os.lstat(SOCKET_NAME, dir_fd=self._directory), self._bound):
                os.unlink(SOCKET_NAME, dir_fd=self._directory)
        os.close(self._directory)

    def held(self) -> tuple[int, list[tuple[int, str]]]:
        """The descriptors that another program of this process can go on with.

        That of the socket, and those of the clients, each with what it waits for; '' for nothing.
        A client that is in the middle of its request or of its answer is not among them.
        """
        return self._socket.fileno(), [
            (connection._socket.fileno(), connection.awaits)
            for connection in self._connections
            if connection.is_steady
        ]

    def take(self, descriptor: int, awaits: str) -> Connection:
        """A client that another program has left."""
        peer = socket.socket(fileno=descriptor)
        peer.setblocking(False)
        connection = Connection(peer, self, self._poller)
        if awaits:
            connection.awaits = awaits
            connection.is_awaiting = True
            connection._listen()
        self._connections.add(connection)
        return connection

    def _accept(self, events: int) -> None:
        self._is_starved = False
        while self._socket.fileno() >= 0:
            try:
                peer, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError:
                self._is_starved = True  # no descriptors or no memory
                return
            peer.setblocking(False)
            self._admit(peer)

    def _admit(self, peer: socket.socket) -> None:
        uid = _user(peer)
        if uid not in (0, os.geteuid()):
            error = f"user {uid} may not control this krond"
            _turn_away(peer, {"ok": False, "error": error, "fix": "ask as its user or as root"})
            return
        if self._has_no_room():
            self._drop_silent()
        if self._has_no_room():
            error = f"krond has {CONNECTIONS} connections already"
            _turn_away(peer, {"ok": False, "busy": True, "error": error, "fix": "try again soon"})
            return
        try:
            self._connections.add(Connection(peer, self, self._poller))
        except OSError:  # epoll cannot take another descriptor
            peer.close()

    def _has_no_room(self) -> bool:
        return len(self._connections) - self._awaiting() >= CONNECTIONS

    def _awaiting(self) -> int:
        return sum(connection.is_awaiting for connection in self._connections)

    def _drop_silent(self) -> None:
        since_s = self._clock_s() - SILENCE_S
        for connection in list(self._connections):
            if not connection.is_awaiting and connection.active_s <= since_s:
                connection.close()

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self._is_starved:
            self._accept(0)


class Connection:
    """A client. It is in one of three states: sending a request, waiting, receiving the answer.

    While it waits or receives, nothing is read from it: further requests stay in the kernel's
    buffer, and are answered in their order.
    """

    def __init__(self, peer: socket.socket, server: ControlServer, poller: Poller) -> None:
        self._socket = peer
        self._server = server
        self._poller = poller
        self._input = bytearray()
        self._output = memoryview(b"")
        self._is_last = False
        self.is_awaiting = False
        """Whether the handler has its request."""
        self.awaits = ""
        """What it waits for, if another program could answer it too."""
        self.active_s = server._clock_s()
        poller.add(peer.fileno(), select.EPOLLIN, self._on_ready)

    @property
    def is_open(self) -> bool:
        return self._socket.fileno() >= 0

    @property
    def is_steady(self) -> bool:
        """Whether it is between requests, or waits for something that has a name."""
        return not (self._input or self._output) and self.is_awaiting is bool(self.awaits)

    @property
    def may_wait(self) -> bool:
        """Whether its request may wait a long time for its answer."""
        return self._poller.has_room() and self._server._awaiting() <= AWAITING  # it is one of them

    def answer(self, answer: Message) -> None:
        """Answer the request. Does nothing if the client has gone."""
        if not self.is_open:
            return
        assert self.is_awaiting, "a request has one answer"
        self._reply(answer)

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        if not self.is_open:
            return
        self._poller.remove(self._socket.fileno())
        self._socket.close()
        self._input.clear()
        self._output = memoryview(b"")
        self._server._forget(self)

    def _on_ready(self, events: int) -> None:
        """Take one step, so that no client keeps the others waiting."""
        self.active_s = self._server._clock_s()
        if self._output:
            self._flush()
        elif self.is_awaiting:
            # Only errors and hang-ups arrive here. A client that has shut down only its writing
            # side, as `nc -N` does, has not hung up: it still reads.
            if events & _HUNG_UP:
                self.close()
        elif b"\n" in self._input:
            self._take_line()
        else:
            self._read()

    def _read(self) -> None:
        try:
            received = self._socket.recv(REQUEST_BYTES + 1 - len(self._input))
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if received:
            self._input += received
            if b"\n" in received:
                self._take_line()
            elif len(self._input) > REQUEST_BYTES:
                self._fail(f"the request is longer than {REQUEST_BYTES} bytes", is_last=True)
        elif self._input:
            shown = excerpt(bytes(self._input))
            self._fail(f"the request {shown} ends without a line break", is_last=True)
        else:
            self.close()

    def _take_line(self) -> None:
        line, _, rest = self._input.partition(b"\n")
        self._input = rest
        try:
            request = parse_request(bytes(line))
        except ValueError as error:
            self._fail(str(error))
            return
        self.is_awaiting = True
        self._listen()
        answer = self._server._handler(request, self)
        if answer is not None:
            self.answer(answer)

    def _fail(self, error: str, *, is_last: bool = False) -> None:
        self._is_last = is_last
        self._reply({"ok": False, "error": error, "fix": FORM})

    def _reply(self, answer: Message) -> None:
        line = json.dumps(answer, allow_nan=False, separators=(",", ":")) + "\n"
        self.is_awaiting = False
        self.awaits = ""
        self.active_s = self._server._clock_s()
        self._output = memoryview(line.encode())
        self._flush()

    def _flush(self) -> None:
        try:
            while self._output:
                self._output = self._output[self._socket.send(self._output[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        if not self._output:
            self._output = memoryview(b"")  # an empty slice would keep the whole answer
            if self._is_last:
                self.close()
                return
        self._listen()

    def _listen(self) -> None:
        """Wait for the event that the next step needs."""
        if self._output or (b"\n" in self._input and not self.is_awaiting):
            mask = select.EPOLLOUT  # a line has been read already: continue in the next round
        elif self.is_awaiting:
            mask = 0
        else:
            mask = select.EPOLLIN
        self._poller.change(self._socket.fileno(), mask)


def check_socket(directory: int) -> None:
    """Refuse a state directory in which the name of the socket is that of something else."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(SOCKET_NAME, dir_fd=directory).st_mode):
            raise KronError(
                Code.STATE,
                f"{SOCKET_NAME} in the state directory is not a socket",
                fix="krond did not create it: check it and move it away",
            )


def _listening(directory: int, descriptor: int) -> tuple[socket.socket, os.stat_result]:
    """A socket that listens, and the status of its file. `descriptor`: that of such a one, or -1.

    One whose file is gone reaches nobody, and is replaced.
    """
    if descriptor >= 0:
        held = socket.socket(fileno=descriptor)
        held.setblocking(False)
        with suppress(FileNotFoundError):
            return held, os.lstat(SOCKET_NAME, dir_fd=directory)
        held.close()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        bound = _bind(server, directory)
        server.listen(_BACKLOG)
    except BaseException:
        server.close()
        raise
    return server, bound


def _bind(server: socket.socket, directory: int) -> os.stat_result:
    """Bind the socket to its name, with mode 0600 from the start. Returns the file's status."""
    check_socket(directory)
    with suppress(FileNotFoundError):
        os.unlink(SOCKET_NAME, dir_fd=directory)  # of a dead krond: we hold the lock
    umask = os.umask(0o177)
    try:
        # The address of a socket has at most 107 bytes, a state directory's path may have more.
        server.bind(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
    finally:
        os.umask(umask)
    return os.lstat(SOCKET_NAME, dir_fd=directory)


def _user(peer: socket.socket) -> int:
    """The user of the client when it connected, from the kernel."""
    packed = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(packed)[1]
    return uid


def _turn_away(peer: socket.socket, answer: Message) -> None:
    with peer, suppress(OSError):  # the client has gone
        peer.send(json.dumps(answer).encode() + b"\n")
