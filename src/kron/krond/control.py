"""The answering side of the control socket: one line of JSON asks, one line answers.

It is made for an epoll loop that somebody else owns, and never waits: a client that is silent,
slow, hostile or gone costs a bounded buffer, and nobody any time. What a command means is the
handler's business.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable

from kron.core.errors import Code, KronError
from kron.krond.client import REQUEST_BYTES, SOCKET_NAME
from kron.krond.request import FORM, excerpt, parse_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.krond.poller import Poller

    Message = dict[str, Any]
    Handler = Callable[[Message, "Connection"], Message | None]

CONNECTIONS = 16
"""How many may be open at a time, beside those that wait for the end of a run; the next is told to
come again."""

AWAITING = 256
"""How many may wait for the end of a run. They may wait for days, and must not lock others out."""

SILENCE_S = 10.0
"""How long a connection may do nothing while others are turned away for want of room."""

_BACKLOG = 64
_CHUNK_BYTES = 2**18
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid
_HUNG_UP = select.EPOLLHUP | select.EPOLLERR


def refusal(error: KronError) -> Message:
    """The answer that says what `error` says."""
    return {"ok": False, "code": error.code.value, "error": error.message, "fix": error.fix}


class ControlServer:
    """The socket in the state directory. Whoever makes one holds the lock of that directory.

    The handler gets a request, which is an object with a `command`, and its connection. It
    returns the answer, or None if `connection.answer` is to be called later. What it raises goes
    through to the loop.
    """

    def __init__(
        self, directory: int, handler: Handler, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = os.dup(directory)
        self._handler = handler
        self._clock_s = clock_s
        self._poller: Poller | None = None
        self._connections: set[Connection] = set()
        self._is_starved = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            self._inode = _bind(self._socket, self._directory)
            self._socket.listen(_BACKLOG)
        except BaseException:
            self._socket.close()
            os.close(self._directory)
            raise

    def register(self, poller: Poller) -> None:
        """Begin to accept. Who connected since the socket is there has waited for this."""
        self._poller = poller
        # By edge: when there is no descriptor left for a new connection, the one that waits must
        # not wake the loop for ever. The next one to come, or the next to go, has it tried again.
        poller.add(self._socket.fileno(), select.EPOLLIN | select.EPOLLET, self._accept)

    def close(self) -> None:
        """Drop every connection and remove the socket, if it is still this one."""
        if self._socket.fileno() < 0:
            return
        if self._poller is not None:
            self._poller.remove(self._socket.fileno())
        self._socket.close()
        for connection in list(self._connections):
            connection.close()
        try:
            if _inode(self._directory) == self._inode:
                os.unlink(SOCKET_NAME, dir_fd=self._directory)
        except OSError:
            pass  # it is stale now, and the next krond replaces it
        os.close(self._directory)

    def _accept(self, events: int) -> None:
        self._is_starved = False
        while self._socket.fileno() >= 0:
            try:
                peer, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError:
                self._is_starved = True  # of descriptors, or of memory
                return
            peer.setblocking(False)
            self._admit(peer)

    def _admit(self, peer: socket.socket) -> None:
        pid, uid = _credentials(peer)
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
        assert self._poller is not None
        try:
            self._connections.add(Connection(peer, self, self._poller, pid, uid))
        except OSError:  # epoll has no room for one more
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

    def _handle(self, request: Message, connection: Connection) -> None:
        answer = self._handler(request, connection)
        if answer is not None:
            connection.answer(answer)

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self._is_starved:
            self._accept(0)


class Connection:
    """A client. It does one thing at a time: sends a request, waits, or receives the answer.

    While it waits or receives, nothing more is read from it: requests sent ahead stay with the
    kernel, and are answered in their order.
    """

    def __init__(
        self, peer: socket.socket, server: ControlServer, poller: Poller, pid: int, uid: int
    ) -> None:
        self._socket = peer
        self._server = server
        self._poller = poller
        self._input = bytearray()
        self._output = memoryview(b"")
        self._is_last = False
        self.pid = pid
        self.uid = uid
        self.is_awaiting = False
        """Whether its request is with the handler."""
        self.active_s = server._clock_s()
        poller.add(peer.fileno(), select.EPOLLIN, self._on_ready)

    @property
    def is_open(self) -> bool:
        """Whether the client is still there, as far as is known."""
        return self._socket.fileno() >= 0

    @property
    def may_wait(self) -> bool:
        """Whether its request may be answered a long time from now."""
        return self._poller.has_room() and self._server._awaiting() <= AWAITING  # it is one of them

    def answer(self, answer: Message) -> None:
        """Answer the request. If the client has gone since, nothing happens."""
        if not self.is_open:
            return
        assert self.is_awaiting, "a request has one answer"
        self._reply(answer)

    def close(self) -> None:
        """Drop the client. A second time does nothing."""
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
            # Only errors and hang-ups come here. Having shut its writing side only, as `nc -N`
            # does, is neither: such a client still reads.
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
        self._server._handle(request, self)

    def _fail(self, error: str, *, is_last: bool = False) -> None:
        self._is_last = is_last
        self._reply({"ok": False, "error": error, "fix": FORM})

    def _reply(self, answer: Message) -> None:
        import json

        line = json.dumps(answer, allow_nan=False, separators=(",", ":")) + "\n"
        self.is_awaiting = False
        self.active_s = self._server._clock_s()
        self._output = memoryview(line.encode())
        self._flush()

    def _flush(self) -> None:
        """Send what the socket takes."""
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
        """Wait for what the next step needs."""
        if self._output or (b"\n" in self._input and not self.is_awaiting):
            mask = select.EPOLLOUT  # for a line that is here already: that is, next time round
        elif self.is_awaiting:
            mask = 0
        else:
            mask = select.EPOLLIN
        self._poller.change(self._socket.fileno(), mask)


def _bind(server: socket.socket, directory: int) -> tuple[int, int]:
    """Give the socket its name, 0600 from the first moment; which inode that is."""
    try:
        status = os.lstat(SOCKET_NAME, dir_fd=directory)
        if not stat.S_ISSOCK(status.st_mode):
            raise KronError(
                Code.FILE_KIND,
                f"{SOCKET_NAME} in the state directory is not a socket",
                fix="krond did not put it there: look at it, and move it away",
            )
        os.unlink(SOCKET_NAME, dir_fd=directory)  # of a krond that is dead: we hold the lock
    except FileNotFoundError:
        pass
    umask = os.umask(0o177)
    try:
        # The address of a socket has room for 107 bytes, a state directory may have more.
        server.bind(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
    finally:
        os.umask(umask)
    return _inode(directory)


def _inode(directory: int) -> tuple[int, int]:
    status = os.lstat(SOCKET_NAME, dir_fd=directory)
    return status.st_dev, status.st_ino


def _credentials(peer: socket.socket) -> tuple[int, int]:
    """The pid and uid that the client had when it connected; the kernel vouches for them."""
    packed = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(packed)
    return pid, uid


def _turn_away(peer: socket.socket, answer: Message) -> None:
    import json

    with peer:
        try:  # noqa: SIM105 (contextlib would be one more import)
            peer.send(json.dumps(answer).encode() + b"\n")
        except OSError:
            pass  # it has gone already
