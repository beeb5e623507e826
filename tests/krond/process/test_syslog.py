"""Syslog: a real `logger` writes to a real socket, and outlives the run that it served."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.krond.process.failure import StartError
from kron.krond.process.launch import launch
from kron.krond.process.output import open_syslog
from tests.krond.process.expected import needs, needs_root
from tests.krond.process.scene import Scene, descriptors, no_child_is_left, surroundings

LOG = Path("/dev/log")


@pytest.fixture
def syslog() -> Iterator[socket.socket]:
    """A socket where programs look for syslog."""
    if os.path.lexists(LOG):
        pytest.skip("there is a syslog on this host, which is not to be disturbed")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.settimeout(20)
    try:
        listener.bind(str(LOG))
    except OSError as error:
        listener.close()
        pytest.skip(f"no {LOG} can be made here: {error.strerror}")
    yield listener
    listener.close()
    LOG.unlink()


@needs("logger")
@needs_root
def test_what_a_run_writes_reaches_syslog(scene: Scene, syslog: socket.socket) -> None:
    before = descriptors()
    writing, logger = open_syslog("kron-test", "daemon.warning")
    assert set(descriptors()) - set(before) == {str(writing)}
    assert not os.get_inheritable(writing)
    assert stat.S_ISFIFO(os.fstat(writing).st_mode)
    pid = launch(scene.launch_of("/bin/echo", "hello there", stdout=writing, stderr=writing))
    os.close(writing)
    os.waitpid(pid, 0)
    message = syslog.recv(4096)
    assert message.startswith(b"<28>")  # daemon is 3, warning 4
    assert b"kron-test" in message
    assert message.rstrip(b"\n\0").endswith(b"hello there")
    assert os.waitpid(logger, 0)[1] == 0
    assert descriptors() == before


@needs("logger")
@needs_root
def test_the_logger_has_its_own_session_and_none_of_krond_s_descriptors(
    syslog: socket.socket,
) -> None:
    kept = os.open("/etc", os.O_RDONLY)
    os.set_inheritable(kept, True)
    writing, logger = open_syslog("kron-test", "user.info")
    os.write(writing, b"a line\n")
    syslog.recv(4096)  # so it is in the middle of its work
    try:
        assert os.getsid(logger) == os.getpgid(logger) == logger
        found = {
            int(path.name): str(path.readlink()) for path in Path(f"/proc/{logger}/fd").iterdir()
        }
        assert found[0].startswith("pipe:")
        assert found[1] == found[2] == "/dev/null"
        others = [target for number, target in found.items() if number > 2]
        assert all(target.startswith("socket:") for target in others)
        status = Path(f"/proc/{logger}/status").read_text()
        assert "SigBlk:\t0000000000000000" in status
    finally:
        os.close(writing)
        os.close(kept)
    assert os.waitpid(logger, 0)[1] == 0


@needs("logger")
@needs_root
def test_the_logger_lives_as_long_as_somebody_may_write(
    scene: Scene, syslog: socket.socket
) -> None:
    """A run that is stopped leaves a child behind, and its last words are still heard."""
    writing, logger = open_syslog("kron-test", "user.info")
    reading, given = os.pipe()
    command = "exec 3<&0; setsid sh -c 'echo started; read x <&3; echo last words' & wait"
    pid = launch(
        scene.launch_of("/bin/sh", "-c", command, stdin=reading, stdout=writing, stderr=writing)
    )
    os.close(writing)
    os.close(reading)
    assert b"started" in syslog.recv(4096)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert os.waitpid(logger, os.WNOHANG) == (0, 0)
    os.close(given)  # it was waiting for this
    assert b"last words" in syslog.recv(4096)
    assert os.waitpid(logger, 0)[1] == 0


def test_without_a_logger_there_is_no_syslog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    before = surroundings()
    with pytest.raises(StartError) as caught:
        open_syslog("tag", "user.info")
    assert caught.value.reason == 'PATH has no program "logger", which syslog needs'
    assert caught.value.for_good
    assert surroundings() == before


@pytest.mark.parametrize(
    ("content", "tag"),
    [
        pytest.param("no program at all\n", "tag", id="no-program"),
        pytest.param("#!/no/such/sh\n", "tag", id="no-interpreter"),
        pytest.param("#!/bin/sh\n", "a\0b", id="nul"),
        pytest.param("#!/bin/sh\n", "\ud800", id="surrogate"),
    ],
)
def test_a_logger_that_does_not_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, tag: str
) -> None:
    (tmp_path / "logger").write_text(content)
    (tmp_path / "logger").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    before = surroundings()
    with pytest.raises(StartError, match="the logger that syslog needs cannot be started") as error:
        open_syslog(tag, "user.info")
    assert error.value.for_good
    assert surroundings() == before
    assert no_child_is_left()


def test_a_logger_gets_the_tag_and_the_priority_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logger").write_text('#!/bin/sh\nprintf "%s|" "$@" > "${0%/*}/told"\n')
    (tmp_path / "logger").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with contextlib.ExitStack() as stack:
        writing, logger = open_syslog("-n $(id)", "local0.info")
        stack.callback(os.close, writing)
        os.waitpid(logger, 0)
    assert (tmp_path / "told").read_text() == "-t|-n $(id)|-p|local0.info|"
