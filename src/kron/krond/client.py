"""The asking side of the control socket: one request, one answer.

It is what `krond status` and the other commands load, so it imports neither the server nor
anything slow. The answer is not trusted either: it may come from another version of krond.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from kron.core.errors import Code, KronError, quoted, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket as Socket  # noqa: N812 (the module has the name too)
    from typing import Any

SOCKET_NAME = "control.sock"
REQUEST_BYTES = 65_536
"""The longest request that krond reads, its line break not counted."""

_ANSWER_BYTES = 256 * 2**20
_CHUNK_BYTES = 2**18
_PAUSE_S = 0.02


class NotRunning(KronError):  # noqa: N818 (it is not an error of anybody's)
    """No krond listens in this state directory."""

    def __init__(self, state_dir: str) -> None:
        super().__init__(
            Code.NOT_RUNNING,
            f"no krond is running with the state directory {visible(state_dir)}",
            fix=f"start it with: krond start --state-dir {visible(state_dir)}",
        )


class ControlError(KronError):
    """krond refused the request, or there is no answer that reads. `answer` is what it said."""

    def __init__(
        self, message: str, fix: str = "", answer: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(Code.CONTROL, message, fix)
        self.answer = dict(answer or {})


class _NoReply(Exception):  # noqa: N818
    """The connection ended without a line."""


def ask(state_dir: str, request: Mapping[str, Any], timeout_s: float | None) -> dict[str, Any]:
    """The answer of the krond with this state directory; `timeout_s` None waits for ever.

    While krond has as many connections as it takes, and has therefore not looked at the request,
    this waits and asks again.
    """
    line = _line(request)
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    why_late = ControlError(
        f"krond did not answer within {timeout_s} seconds",
        fix="it may be busy, or stopped by a signal: see its log",
    )
    while True:
        try:
            answer = _read_answer(_exchange(state_dir, line, deadline_s))
        except TimeoutError:
            raise why_late from None
        except BlockingIOError:
            answer = {"ok": False, "busy": True, "error": "krond has no room for a connection"}
        if answer["ok"]:
            return answer
        if answer.get("busy") is not True:
            raise _refused(answer)
        why_late = _refused(answer)
        time.sleep(_PAUSE_S)


def _line(request: Mapping[str, Any]) -> bytes:
    import json

    line = json.dumps(request).encode()
    if len(line) > REQUEST_BYTES:
        raise ControlError(
            f"a request of {len(line)} bytes is longer than the {REQUEST_BYTES} that krond reads"
        )
    return line + b"\n"


def _exchange(state_dir: str, line: bytes, deadline_s: float | None) -> bytes:
    """Connect, send, and receive one line."""
    from socket import AF_UNIX, socket

    with socket(AF_UNIX) as connection:
        _connect(connection, state_dir, deadline_s)
        try:
            _wait_until(connection, deadline_s)
            connection.sendall(line)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it closed without reading; what it said before is still to be read
        try:
            return _receive(connection, deadline_s)
        except (_NoReply, ConnectionResetError):
            raise ControlError(
                "krond closed the connection without an answer",
                fix="see its log: it may just have ended",
            ) from None


def _connect(connection: Socket, state_dir: str, deadline_s: float | None) -> None:
    # Through the descriptor of the directory: the address of a socket has room for 107 bytes, a
    # path may have 4,095.
    try:
        directory = os.open(state_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotRunning(state_dir) from None
    except (OSError, ValueError) as error:
        raise ControlError(f"{quoted(state_dir)} cannot be opened: {_reason(error)}") from None
    try:
        _wait_until(connection, deadline_s)
        connection.connect(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
    except (BlockingIOError, TimeoutError):
        raise
    except (FileNotFoundError, ConnectionRefusedError):
        raise NotRunning(state_dir) from None
    except PermissionError:
        raise ControlError(
            f"the krond of {visible(state_dir)} does not belong to you",
            fix="ask as its user or as root",
        ) from None
    except OSError as error:
        raise ControlError(
            f"krond cannot be reached in {visible(state_dir)}: {_reason(error)}"
        ) from None
    finally:
        os.close(directory)


def _receive(connection: Socket, deadline_s: float | None) -> bytes:
    """The first line that arrives, without its line break."""
    received = bytearray()
    while len(received) <= _ANSWER_BYTES:
        _wait_until(connection, deadline_s)
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            raise _NoReply
        end = chunk.find(b"\n")
        if end >= 0:
            received += chunk[:end]
            return bytes(received)
        received += chunk
    raise ControlError(f"the answer is longer than {_ANSWER_BYTES} bytes")


def _wait_until(connection: Socket, deadline_s: float | None) -> None:
    if deadline_s is None:
        return
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    connection.settimeout(left_s)


def _read_answer(line: bytes) -> dict[str, Any]:
    import json

    try:
        answer = json.loads(line.decode())
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("ok"), bool):
        return answer
    shown = quoted(line[:200].decode(errors="backslashreplace"))
    raise ControlError(
        f"the answer {shown} is not krond's", fix="is this the state directory of a krond?"
    )


def _refused(answer: Mapping[str, Any]) -> ControlError:
    error, fix = answer.get("error"), answer.get("fix")
    message = error if isinstance(error, str) and error else "krond refused, without a reason"
    return ControlError(message, fix if isinstance(fix, str) else "", answer)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
