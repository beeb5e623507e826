"""Going into the background: the command ends when the daemon is ready, or says why it is not.

Three processes. The command in the shell waits for a go-between, which leads a new session, and
that one waits for the daemon, which is its child: so the daemon can never get a terminal, and if
it dies without a word there is a parent that sees how. Fork before anything is locked or opened.
"""

from __future__ import annotations

import os
import signal
import sys

from kron.core.errors import Code, KronError, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INTERRUPTED = 128 + signal.SIGINT
_DIED = 1
_TEXT_BYTES = 2**20
_OUTPUT_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY


class Foreground:
    """The same two calls for a daemon that stays where it was started."""

    def __init__(self) -> None:
        _fill_standard_descriptors()

    def ready(self) -> None:
        """Nobody waits for it."""

    def failed(self, code: int, text: str) -> int:
        """Say why on standard error; the exit code, to leave with."""
        _say(text)
        return code


class Background:
    """The daemon's line to the command that started it. It is used once."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    @classmethod
    def start(cls, output_path: str) -> Background:
        """Go on as a daemon: in "/", without a terminal, writing to the end of `output_path`.

        It returns in the daemon only, so make relative paths absolute before. A file that cannot
        be opened is a KronError, before anything is forked.
        """
        _fill_standard_descriptors()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, no child could be waited for
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
        _settle(output, writer)
        return cls(writer)

    def ready(self) -> None:
        """Let the command end with success."""
        self._tell(b"\0")

    def failed(self, code: int, text: str) -> int:
        """Let the command show `text` and end with `code`, which is returned, to leave with.

        The text is in the daemon's own output too.
        """
        assert 1 <= code <= 255, "an exit code that says that something failed"
        _say(text)
        self._tell(bytes([code]) + text.encode(errors="backslashreplace")[:_TEXT_BYTES])
        return code

    def _tell(self, word: bytes) -> None:
        assert self._writer >= 0, "the command has had its word"
        try:
            while word:
                word = word[os.write(self._writer, word) :]
        except BrokenPipeError:
            pass  # whoever waited was killed: the daemon does not depend on it
        finally:
            os.close(self._writer)
            self._writer = -1


def redirect_output(path: str) -> None:
    """Let what comes go to the end of `path`, which may be a new file of the same name."""
    output = os.open(path, _OUTPUT_FLAGS, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def _await_go_between(go_between: int) -> NoReturn:
    """In the command: end as the go-between does."""
    try:
        _, status = os.waitpid(go_between, 0)
    except KeyboardInterrupt:
        _stop_session(go_between)
        _leave(_INTERRUPTED, "interrupted: krond was told to stop")
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        _leave(code)
    _leave(_DIED, f"whether krond is ready is not known: its go-between was {_ended(code)}")


def _await_word(reader: int, daemon: int, output_path: str) -> NoReturn:
    """In the go-between: pass on what the daemon says, or how it died."""
    word = b""
    while chunk := os.read(reader, 65_536):
        word += chunk
    if word:
        _leave(word[0], word[1:].decode(errors="replace"))
    _, status = os.waitpid(daemon, 0)
    code = os.waitstatus_to_exitcode(status)
    text = f"krond ended before it was ready: {_ended(code)}; its output is in {output_path}"
    _leave(code if code > 0 else 128 - code if code < 0 else _DIED, text)


def _settle(output: int, writer: int) -> None:
    """In the daemon: keep nothing of the shell's but its environment, limits and umask."""
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    # What a shell left open, the lock of a script for one, would else stay open for good. What
    # Python opened is not inheritable, so it is ours.
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        if descriptor > 2 and descriptor != writer and _is_inheritable(descriptor):
            os.close(descriptor)


def _is_inheritable(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False  # that was the listing itself


def _fill_standard_descriptors() -> None:
    """Open those of 0, 1 and 2 that are closed, or what is opened next would take their place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _open_output(path: str) -> int:
    try:
        return os.open(path, _OUTPUT_FLAGS, 0o600)
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
    for stop in (os.killpg, os.kill):  # a group there is once it has made its session
        try:
            stop(leader, signal.SIGTERM)
        except ProcessLookupError:
            continue
        return


def _ended(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-code}"


def _say(text: str) -> None:
    """Write a line to standard error, if there is one."""
    line = text if not text or text.endswith("\n") else text + "\n"
    remaining = line.encode(errors="backslashreplace")
    try:
        while remaining:
            remaining = remaining[os.write(2, remaining) :]
    except OSError:
        pass  # closed, or full: there is nowhere to say it


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 (contextlib would be one more import)
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # there is none, or nobody reads it


def _leave(code: int, text: str = "") -> NoReturn:
    """End this process here, with none of Python's ceremonies, which are the daemon's."""
    _say(text)
    os._exit(code)
