"""Going into the background: the command ends when the daemon is ready, or says why it is not.

Three processes. The command in the shell waits for a go-between, which leads a new session and
waits for the daemon, its child. So the daemon can never get a terminal, and if it dies without a
message, its parent sees how. Fork before anything is locked or opened.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from kron.core.errors import Code, KronError, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INTERRUPTED = 128 + signal.SIGINT
_DIED = 1
_TEXT_BYTES = 2**20
_MOST_OUTPUT = 2**20
"""krond's own words are few. What is there beyond this is of long ago."""
_OUTPUT_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY


class Foreground:
    """The same two calls for a daemon that stays in the foreground."""

    def __init__(self) -> None:
        _fill_standard_descriptors()

    def ready(self, warning: str = "") -> None:
        """Write the warning to standard error, if it is not ''. No process waits for this."""
        _say(warning)

    def failed(self, code: int, text: str) -> int:
        _say(text)
        return code


class Background:
    """The daemon's connection to the command that started it. It is used once."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    @classmethod
    def start(cls, output_path: str) -> Background:
        """Continue as a daemon: in "/", without a terminal, appending to `output_path`.

        It returns in the daemon only, so make relative paths absolute before. A file that cannot
        be opened is a `KronError`, before anything is forked.
        """
        _fill_standard_descriptors()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, waitpid does not work
        output = _open_output(output_path)
        _flush()
        reader, writer = os.pipe()
        if go_between := _fork():
            os.close(writer)
            _await_go_between(go_between)
        os.setsid()
        if daemon := _fork():
            os.close(writer)
            _await_word(reader, daemon, output_path)
        os.close(reader)
        _detach(output, writer)
        return cls(writer)

    def ready(self, warning: str = "") -> None:
        """Make the command print the warning, if it is not '', and end with success."""
        self._send(b"\0" + warning.encode(errors="backslashreplace"))

    def failed(self, code: int, text: str) -> int:
        """Make the command print `text` and end with `code`. Returns `code`.

        The text also goes to the daemon's own output.
        """
        assert 1 <= code <= 255, "an exit code of a failure"
        _say(text)
        self._send(bytes([code]) + text.encode(errors="backslashreplace")[:_TEXT_BYTES])
        return code

    def _send(self, word: bytes) -> None:
        assert self._writer >= 0, "the command has its answer already"
        try:
            while word:
                word = word[os.write(self._writer, word) :]
        except BrokenPipeError:
            pass  # the command was killed: the daemon does not depend on it
        finally:
            os.close(self._writer)
            self._writer = -1


def redirect_output(path: str) -> None:
    """Append standard output and error to `path`, which may be a new file of the same name."""
    output = os.open(path, _OUTPUT_FLAGS, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def _await_go_between(go_between: int) -> NoReturn:
    """In the command: end with the go-between's exit code."""
    try:
        _, status = os.waitpid(go_between, 0)
    except KeyboardInterrupt:
        _stop_session(go_between)
        _leave(_INTERRUPTED, "interrupted: krond was asked to stop")
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        _leave(code)
    _leave(_DIED, f"it is not known whether krond is ready: its go-between was {_ended(code)}")


def _await_word(reader: int, daemon: int, output_path: str) -> NoReturn:
    """In the go-between: pass on the daemon's message, or how it died."""
    word = b""
    while chunk := os.read(reader, 65_536):
        word += chunk
    if word:
        _leave(word[0], word[1:].decode(errors="replace"))
    _, status = os.waitpid(daemon, 0)
    code = os.waitstatus_to_exitcode(status)
    text = f"krond ended before it was ready: {_ended(code)}; its output is in {output_path}"
    _leave(code if code > 0 else 128 - code if code < 0 else _DIED, text)


def _detach(output: int, writer: int) -> None:
    """In the daemon: keep only the environment, limits and umask of the shell."""
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    # A descriptor that the shell left open, such as the lock of a script, would stay open for good.
    # Those that Python opened are not inheritable, so they are ours.
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        with suppress(OSError):  # the descriptor of the listing, closed by now
            if descriptor > 2 and descriptor != writer and os.get_inheritable(descriptor):
                os.close(descriptor)


def _fill_standard_descriptors() -> None:
    """Open those of 0, 1 and 2 that are closed, so that no other file gets their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _open_output(path: str) -> int:
    try:
        output = os.open(path, _OUTPUT_FLAGS, 0o600)
        if os.fstat(output).st_size > _MOST_OUTPUT:
            os.ftruncate(output, 0)
        return output
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise KronError(
            Code.FILE_UNWRITABLE,
            f"the output file {quoted(path)} cannot be opened: {reason}",
            fix="name another, or stay in the foreground",
        ) from None


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        _leave(_DIED, f"krond cannot go into the background: fork: {error.strerror}")


def _stop_session(leader: int) -> None:
    for stop in (os.killpg, os.kill):  # it has a group once it has made its session
        try:
            stop(leader, signal.SIGTERM)
        except ProcessLookupError:
            continue
        return


def _ended(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    with suppress(ValueError):  # a real-time signal has no name
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


def _say(text: str) -> None:
    """Write a line to standard error, if there is one."""
    line = text if not text or text.endswith("\n") else text + "\n"
    remaining = line.encode(errors="backslashreplace")
    with suppress(OSError):  # closed or full: the text has nowhere to go
        while remaining:
            remaining = remaining[os.write(2, remaining) :]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it does not exist, or has no reader
            stream.flush()


def _leave(code: int, text: str = "") -> NoReturn:
    """End this process at once, without Python's exit handlers, which belong to the daemon."""
    _say(text)
    os._exit(code)
