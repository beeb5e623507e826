"""The client of the control socket: one request, one answer.

`krond status` and the other commands import it, so it does not import the server.
It does not trust the answer: it may come from another version of krond.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from kron.core.errors import Code, KronError, quoted, visible
from kron.krond.control.wire import excerpt
from kron.krond.state.names import SOCKET_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket as Socket  # noqa: N812 (the module has the name too)
    from typing import Any

_ANSWER_BYTES = 256 * 2**20
_CHUNK_BYTES = 2**18
_PAUSE_S = 0.02
_CONNECT_S = 30
_SETTLING_S = 1.0
"""How long a krond without a socket may be starting or ending, before somebody hears of it."""
_NO_LAST_WORD = 'the command "end" does not exist'
"""The answer of an earlier krond."""
_ADDED: dict[str, object] = {"output_dir": "", "troubles": (), "removed": ()}
_ADDED_TO_JOB: dict[str, object] = {
    "at_boot": False,
    **dict.fromkeys(("last_success", "failed", "missed")),
    **dict.fromkeys(("stdout", "stderr"), "inherit"),
    "left_behind": (),
}
"""What the first version of krond did not say of itself and of a job. It kept no output,
and had no `@reboot`."""


class NotRunning(KronError):  # noqa: N818 (a state, not an error)
    def __init__(self, state_dir: str) -> None:
        super().__init__(
            Code.NOT_RUNNING,
            f"no krond is running with the state directory {visible(state_dir)}",
            fix=f"start it with: krond start --state-dir {visible(state_dir)}",
        )


class ControlError(KronError):
    """krond refused the request, or its answer does not read."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(Code.CONTROL, message, fix)


class NoAnswer(ControlError):  # noqa: N818 (likewise)
    """krond runs, or did a moment ago, and has not answered."""


class Unreachable(NoAnswer):
    """krond runs, and the file of its socket does not exist, or is something else."""

    def __init__(self, state_dir: str, pid: int, *, is_taken: bool) -> None:
        wrong, cause = f"there is no {SOCKET_NAME} in it", "the file was deleted"
        remedy = "if it was deleted,"
        if is_taken:
            wrong, cause = f"{SOCKET_NAME} in it is not its socket", "the file was replaced"
            remedy = "if it was replaced, move it away; then"
        super().__init__(
            f"krond (process {pid}) has locked the state directory {visible(state_dir)}, but "
            f"{wrong}: krond is just starting or ending, or {cause}",
            fix=f"try again; {remedy} kill -USR2 {pid} makes krond create it again, and "
            f"kill -TERM {pid} stops krond",
        )


def ask(state_dir: str, request: Mapping[str, Any], timeout_s: float | None) -> dict[str, Any]:
    """The answer of the krond with this state directory; `timeout_s` None waits forever.

    While krond has its most connections and refuses this one unread, `ask` waits and tries again.
    """
    line = json.dumps(request).encode() + b"\n"
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    why_late: ControlError = NoAnswer(
        f"krond did not answer within {timeout_s} seconds",
        fix="it may be busy, or suspended by a signal: see its log",
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
            raise ControlError(*_refusal(answer))
        why_late = NoAnswer(*_refusal(answer))
        time.sleep(_PAUSE_S)


def ask_status(state_dir: str, job: str, patience_s: float = 30) -> dict[str, Any]:
    """The answer to `status`, of this version whichever version of krond gave it."""
    answer = ask(state_dir, {"command": "status", "job": job}, patience_s)
    answer["jobs"] = [_ADDED_TO_JOB | row for row in answer["jobs"]]
    for row in answer["jobs"]:
        row["left_behind"] = [{"pids": []} | each for each in row["left_behind"]]
    return _ADDED | answer


class LastWord:
    """How a krond ends, in its own words. Ask for it before anything makes krond end."""

    def __init__(self, state_dir: str) -> None:
        deadline_s = time.monotonic() + _CONNECT_S
        while (connection := _admitted(state_dir, deadline_s)) is None:
            time.sleep(_PAUSE_S)
        with suppress(BrokenPipeError, ConnectionResetError):  # refused: so is what is asked next
            _send(connection, b'{"command": "end"}\n')
        connection.settimeout(None)
        self._connection = connection

    def wait(self) -> tuple[int, str]:
        """The exit code, and for a failure why; a `ControlError` if it does not say that."""
        with self._connection as connection:
            try:
                answer = _read_answer(_receive(connection, None))
            except ConnectionResetError:
                raise NoAnswer("krond has ended, and did not say how", fix="see its log") from None
        code, error = answer.get("exit_code"), answer.get("error")
        if answer["ok"] and isinstance(code, int) and isinstance(error, str):
            return code, error
        if answer.get("error") == _NO_LAST_WORD:
            return 0, ""
        raise ControlError(*_refusal(answer))


def _admitted(state_dir: str, deadline_s: float) -> Socket | None:
    """A connection that krond has room for, or None: it may have later."""
    from socket import AF_UNIX, socket

    connection = socket(AF_UNIX)
    try:
        _connect(connection, state_dir, deadline_s)
        # krond refuses this at once, as long as it does not refuse the connection.
        _send(connection, b'{"command": ""}\n')
        if _read_answer(_receive(connection, deadline_s)).get("busy") is not True:
            return connection
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        pass
    except TimeoutError:
        connection.close()
        message = "krond has no room for a connection"
        raise NoAnswer(message, fix="try again; it may be suspended by a signal") from None
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _exchange(state_dir: str, line: bytes, deadline_s: float | None) -> bytes:
    from socket import AF_UNIX, socket

    with socket(AF_UNIX) as connection:
        _connect(connection, state_dir, deadline_s)
        # It may have closed without reading; its answer may still be there.
        with suppress(BrokenPipeError, ConnectionResetError):
            _wait_until(connection, deadline_s)
            _send(connection, line)
        try:
            return _receive(connection, deadline_s)
        except ConnectionResetError:
            raise NoAnswer(
                "krond closed the connection without an answer",
                fix="it may just have ended: see its log",
            ) from None


def _send(connection: Socket, line: bytes) -> None:
    """Without the signal that ends a command whose reader has gone: krond may have closed it."""
    from socket import MSG_NOSIGNAL

    connection.sendall(line, MSG_NOSIGNAL)


def _connect(connection: Socket, state_dir: str, deadline_s: float | None) -> None:
    # Through the descriptor of the directory: the address of a socket has at most 107 bytes, a path
    # up to 4,095.
    try:
        directory = os.open(state_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotRunning(state_dir) from None
    except (OSError, ValueError) as error:
        raise ControlError(f"{quoted(state_dir)} cannot be opened: {_reason(error)}") from None
    try:
        settled_s = time.monotonic() + _SETTLING_S
        while True:
            _wait_until(connection, deadline_s)
            try:
                connection.connect(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
                return
            except (FileNotFoundError, ConnectionRefusedError):
                from kron.krond.state.owner import running_pid

                pid = running_pid(state_dir)
                if pid is None:
                    raise NotRunning(state_dir) from None
                if time.monotonic() >= settled_s:
                    is_taken = os.path.lexists(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
                    raise Unreachable(state_dir, pid, is_taken=is_taken) from None
            time.sleep(_PAUSE_S)
    except (BlockingIOError, TimeoutError):
        raise
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
    _wait_until(connection, deadline_s)
    with connection.makefile("rb", _CHUNK_BYTES) as answers:
        line = answers.readline(_ANSWER_BYTES + 1)
    if len(line) > _ANSWER_BYTES:
        raise ControlError(f"the answer is longer than {_ANSWER_BYTES} bytes")
    if not line.endswith(b"\n"):
        raise ConnectionResetError
    return line[:-1]


def _wait_until(connection: Socket, deadline_s: float | None) -> None:
    if deadline_s is None:
        return
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    connection.settimeout(left_s)


def _read_answer(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line.decode())
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("ok"), bool):
        return answer
    raise ControlError(f"the answer {excerpt(line)} is not from krond", fix="check --state-dir")


def _refusal(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Why krond refused, and the fix."""
    error, fix = answer.get("error"), answer.get("fix")
    message = error if isinstance(error, str) and error else "krond refused without a reason"
    return message, fix if isinstance(fix, str) else ""


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
