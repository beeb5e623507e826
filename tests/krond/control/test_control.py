"""The control socket: requests are answered, and no client can hurt krond or another client."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import Code, KronError
from kron.krond.control import client, server
from kron.krond.control.client import ControlError, NotRunning, ask
from kron.krond.control.server import CONNECTIONS, SILENCE_S, Connection, ControlServer, refusal
from kron.krond.control.wire import REQUEST_BYTES, parse_request
from kron.krond.loop.poller import Poller
from tests.soak import examples

SOON_S = 5.0  # only a failing test waits as long
BIG = {"ok": True, "jobs": ["x" * 300] * 10_000}
NOBODY = 65_534


class Krond:
    """The loop of a daemon that has nothing but a control socket, one step at a time."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.now_s = 0.0
        self.waiting: list[Connection] = []
        self.requests: list[dict[str, Any]] = []
        self.poller = Poller()
        directory = os.open(state_dir, os.O_PATH | os.O_DIRECTORY)
        self.server = ControlServer(directory, self.handle, self.poller, lambda: self.now_s)
        os.close(directory)

    def handle(self, request: dict[str, Any], connection: Connection) -> dict[str, Any] | None:
        self.requests.append(request)
        if request["command"] == "wait":
            self.waiting.append(connection)
            return None
        if request["command"] == "big":
            return BIG
        if request["command"] == "refuse":
            return refusal(KronError(Code.JOB_UNKNOWN, 'there is no job "x"', fix="name one"))
        return {"ok": True, "echo": request}

    def turn(self) -> int:
        """Do what is ready now; how many callbacks that was."""
        ready = self.poller.wait(0)
        for callback, events in ready:
            callback(events)
        return len(ready)

    def settle(self) -> None:
        """Go on until nothing is ready. A loop that never gets there spins."""
        for _ in range(20_000):
            if not self.turn():
                return
        pytest.fail("the loop does not come to rest")

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(SOON_S)
        directory = os.open(self.state_dir, os.O_PATH)
        peer.connect(f"/proc/self/fd/{directory}/control.sock")
        os.close(directory)
        return peer

    def close(self) -> None:
        self.server.close()
        assert len(self.poller) == 0
        self.poller.close()


def descriptors() -> list[Path]:
    return sorted(Path("/proc/self/fd").iterdir())


@pytest.fixture
def krond(tmp_path: Path) -> Iterator[Krond]:
    before = descriptors()
    made = Krond(tmp_path)
    yield made
    made.close()
    assert descriptors() == before, "the server leaked a descriptor"


def line(request: object) -> bytes:
    return json.dumps(request).encode() + b"\n"


STATUS = line({"command": "status"})
STATUS_ANSWER = {"ok": True, "echo": {"command": "status"}}


def received(peer: socket.socket) -> list[Any]:
    """The answers that are there now, and None after them if krond closed the connection."""
    peer.setblocking(False)
    data = bytearray()
    is_closed = False
    try:
        while chunk := peer.recv(2**20):
            data += chunk
        is_closed = True
    except BlockingIOError:
        pass
    except ConnectionResetError:
        is_closed = True
    peer.settimeout(SOON_S)
    assert not data or data.endswith(b"\n")
    answers: list[Any] = [json.loads(answer) for answer in data.splitlines()]
    return [*answers, None] if is_closed else answers


def exchange(krond: Krond, peer: socket.socket, data: bytes = STATUS) -> list[Any]:
    peer.sendall(data)
    krond.settle()
    return received(peer)


def assert_still_serves(krond: Krond) -> None:
    with krond.connect() as peer:
        assert exchange(krond, peer) == [STATUS_ANSWER]
    krond.settle()


class TestAnswers:
    def test_a_request_is_answered_and_the_connection_stays(self, krond: Krond) -> None:
        with krond.connect() as peer:
            assert exchange(krond, peer) == [STATUS_ANSWER]
            assert exchange(krond, peer) == [STATUS_ANSWER]

    def test_a_request_may_come_byte_by_byte(self, krond: Krond) -> None:
        with krond.connect() as peer:
            for byte in STATUS[:-1]:
                assert exchange(krond, peer, bytes([byte])) == []
            assert exchange(krond, peer, STATUS[-1:]) == [STATUS_ANSWER]

    def test_a_request_may_be_as_long_as_the_limit(self, krond: Krond) -> None:
        request = {"command": "status", "pad": ""}
        request["pad"] = "x" * (REQUEST_BYTES - len(line(request)) + 1)
        assert len(line(request)) == REQUEST_BYTES + 1
        with krond.connect() as peer:
            assert exchange(krond, peer, line(request)) == [{"ok": True, "echo": request}]

    def test_requests_sent_ahead_are_answered_in_their_order(self, krond: Krond) -> None:
        requests = [{"command": "status", "n": n} for n in range(3000)]
        answers: list[Any] = []
        with krond.connect() as peer:
            peer.setblocking(False)
            data = memoryview(b"".join(map(line, requests)))
            while data or len(answers) < len(requests):
                if data:
                    data = data[peer.send(data[:8192]) :]
                krond.settle()
                answers += received(peer)
                peer.setblocking(False)
        assert [answer["echo"] for answer in answers] == requests

    def test_an_answer_may_come_later_and_nothing_is_read_until_then(self, krond: Krond) -> None:
        with krond.connect() as peer:
            assert exchange(krond, peer, line({"command": "wait"}) + STATUS) == []
            assert [request["command"] for request in krond.requests] == ["wait"]
            (connection,) = krond.waiting
            connection.answer({"ok": True, "exit_code": 3})
            krond.settle()
            assert received(peer) == [{"ok": True, "exit_code": 3}, STATUS_ANSWER]

    def test_a_handler_may_answer_by_itself(self, tmp_path: Path) -> None:
        def handle(request: dict[str, Any], connection: Connection) -> None:
            connection.answer({"ok": True, "later": False})

        krond = Krond(tmp_path)
        krond.server._handler = handle
        with krond.connect() as peer:
            assert exchange(krond, peer, STATUS * 2000)[0] == {"ok": True, "later": False}
        krond.close()

    def test_a_second_answer_is_a_mistake_of_ours(self, krond: Krond) -> None:
        with krond.connect() as peer:
            exchange(krond, peer, line({"command": "wait"}))
            krond.waiting[0].answer({"ok": True})
            with pytest.raises(AssertionError, match="one answer"):
                krond.waiting[0].answer({"ok": True})

    def test_a_big_answer_is_written_as_the_client_takes_it(self, krond: Krond) -> None:
        with krond.connect() as slow:
            slow.sendall(line({"command": "big"}))
            krond.settle()
            assert_still_serves(krond)
            data = bytearray()
            while not data.endswith(b"\n"):
                data += slow.recv(50_000)
                krond.settle()
            assert json.loads(data) == BIG
            assert exchange(krond, slow) == [STATUS_ANSWER]

    def test_a_big_answer_is_not_kept_once_it_is_sent(self, krond: Krond) -> None:
        with krond.connect() as peer:
            peer.sendall(line({"command": "big"}))
            data = b""
            while not data.endswith(b"\n"):
                krond.settle()
                data = peer.recv(2**20)
            krond.settle()
            (connection,) = krond.server._connections
            assert connection._output.obj == b""

    def test_a_client_that_only_shut_its_writing_side_is_answered(self, krond: Krond) -> None:
        with krond.connect() as peer:
            peer.sendall(line({"command": "wait"}))
            peer.shutdown(socket.SHUT_WR)
            krond.settle()
            krond.waiting[0].answer({"ok": True})
            krond.settle()
            assert received(peer) == [{"ok": True}, None]

    def test_who_connected_before_the_loop_began_has_waited(self, tmp_path: Path) -> None:
        directory = os.open(tmp_path, os.O_PATH)
        with socket.socket(socket.AF_UNIX) as peer, closing(Poller()) as poller:
            server = ControlServer(directory, lambda request, _: {"ok": True}, poller)
            os.close(directory)
            peer.connect(str(tmp_path / "control.sock"))
            peer.sendall(STATUS)
            for _ in range(2):  # it accepts, it answers
                for callback, events in poller.wait(SOON_S):
                    callback(events)
            assert received(peer) == [{"ok": True}]
            server.close()

    def test_what_the_handler_raises_reaches_the_loop(self, krond: Krond) -> None:
        def fail(request: dict[str, Any], connection: Connection) -> None:
            raise KronError(Code.STATE_UNWRITABLE, "the disk is full")

        krond.server._handler = fail
        with krond.connect() as peer:
            peer.sendall(STATUS)
            with pytest.raises(KronError, match="disk is full"):
                krond.settle()


# From Python 3.14 on the size of the stack bounds the depth, and such a text is read to its end.
TOO_DEEP = "nested too deeply" if sys.version_info < (3, 14) else "is not JSON"
HOSTILE = [
    pytest.param(b"\n", "is not JSON", id="an-empty-line"),
    pytest.param(b"status\n", "is not JSON", id="a-word"),
    pytest.param(b'{"command": "status"\n', "is not JSON", id="half-an-object"),
    pytest.param(b"\x00\x01\x02\x7f\n", "is not JSON", id="control-characters"),
    pytest.param(b"\xff\xfe\x80\n", "is not valid Unicode", id="binary"),
    pytest.param('{"command": "x"}\n'.encode("utf-16be"), "is not JSON", id="utf-16"),
    pytest.param(b'\xef\xbb\xbf{"command": "x"}\n', "is not JSON", id="a-byte-order-mark"),
    pytest.param(b"[" * 60_000 + b"\n", TOO_DEEP, id="deep-lists"),
    pytest.param(b'{"a":' * 13_000 + b"\n", TOO_DEEP, id="deep-objects"),
    pytest.param(b'{"command": NaN}\n', "NaN is not a number", id="nan"),
    pytest.param(b'{"command": "x", "n": -Infinity}\n', "Infinity is not a", id="infinity"),
    pytest.param(b'{"command": "x", "n": 1e999}\n', "too large", id="a-float-beyond-all"),
    pytest.param(b'{"n":' + b"9" * 60_000 + b"}\n", "is not JSON", id="an-endless-integer"),
    pytest.param(b'{"command": "x", "command": "y"}\n', "a key twice", id="a-key-twice"),
    pytest.param(b'{"command": "\\ud800"}\n', "valid Unicode", id="half-a-surrogate-pair"),
    pytest.param(b'{"\\udfff": 1, "command": "x"}\n', "valid Unicode", id="in-a-key"),
    pytest.param(b"[]\n", 'not an object with a text "command"', id="a-list"),
    pytest.param(b"null\n", 'not an object with a text "command"', id="null"),
    pytest.param(b"{}\n", 'not an object with a text "command"', id="no-command"),
    pytest.param(b'{"command": 5}\n', 'not an object with a text "command"', id="a-number"),
    pytest.param(b'{"command": ["status"]}\n', "not an object with a text", id="in-a-list"),
]


class TestHostileClients:
    @pytest.mark.parametrize(("data", "said"), HOSTILE)
    def test_nonsense_gets_an_error_and_the_next_line_is_served(
        self, krond: Krond, data: bytes, said: str
    ) -> None:
        with krond.connect() as peer:
            error, status = exchange(krond, peer, data + STATUS)
        assert error["ok"] is False
        assert said in error["error"]
        assert error["fix"] == 'send one line, such as {"command": "status"}'
        assert len(error["error"]) < 400
        assert error["error"].isprintable()
        assert status == STATUS_ANSWER
        assert len(krond.requests) == 1

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"x" * (REQUEST_BYTES + 1), id="one-byte-too-many"),
            pytest.param(b"x" * 2**20, id="a-megabyte"),
            pytest.param(b"x" * 2**20 + b"\n" + STATUS, id="a-megabyte-and-a-request"),
        ],
    )
    def test_a_line_that_is_too_long_ends_the_connection(self, krond: Krond, data: bytes) -> None:
        with krond.connect() as peer:
            peer.setblocking(False)
            left = memoryview(data)
            try:
                while left:
                    try:
                        left = left[peer.send(left) :]
                    except BlockingIOError:
                        krond.settle()
            except (BrokenPipeError, ConnectionResetError):
                pass
            krond.settle()
            error, end = received(peer)
        assert error["error"] == "the request is longer than 65536 bytes"
        assert end is None
        assert krond.requests == []
        assert_still_serves(krond)

    def test_a_request_without_its_line_break_is_told_so(self, krond: Krond) -> None:
        with krond.connect() as peer:
            peer.sendall(STATUS[:-1])
            peer.shutdown(socket.SHUT_WR)
            krond.settle()
            error, end = received(peer)
        assert error["error"] == ('the request "{"command": "status"}" ends without a line break')
        assert end is None
        assert krond.requests == []

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"", id="at-once"),
            pytest.param(b'{"comm', id="within-a-request"),
            pytest.param(STATUS, id="before-the-answer"),
            pytest.param(line({"command": "big"}), id="before-a-big-answer"),
            pytest.param(line({"command": "wait"}), id="while-it-waits"),
            pytest.param(b"x" * 100_000, id="within-a-long-line"),
            pytest.param(b"\xff\n" * 20_000, id="with-much-nonsense-ahead"),
        ],
    )
    @pytest.mark.parametrize("is_late", [False, True])
    def test_a_client_that_goes_away_is_forgotten(
        self, krond: Krond, data: bytes, is_late: bool
    ) -> None:
        peer = krond.connect()
        peer.sendall(data)
        if is_late:
            krond.settle()
        peer.close()
        krond.settle()
        assert krond.server._connections == set()
        for connection in krond.waiting:
            assert not connection.is_open
            connection.answer({"ok": True})
        assert_still_serves(krond)

    def test_one_that_never_reads_holds_nobody_up_and_costs_one_answer(self, krond: Krond) -> None:
        with krond.connect() as deaf:
            deaf.sendall(line({"command": "big"}) * 1000)
            krond.settle()
            assert len(krond.requests) == 1
            assert_still_serves(krond)

    def test_a_silent_one_costs_no_wake_up(self, krond: Krond) -> None:
        with krond.connect() as silent, krond.connect() as waiting:
            waiting.sendall(line({"command": "wait"}))
            krond.settle()
            silent.sendall(b"{")
            krond.settle()
            assert krond.poller.wait(0) == []


@given(st.binary(max_size=60))
@examples(300)
def test_any_line_is_an_object_with_a_command_or_a_value_error(text: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(parse_request(text)["command"], str)


class TestCrowds:
    def test_the_one_too_many_is_told_to_come_again(self, krond: Krond) -> None:
        peers = [krond.connect() for _ in range(CONNECTIONS)]
        krond.settle()
        with krond.connect() as late:
            krond.settle()
            error, end = received(late)
        assert error == {
            "ok": False,
            "busy": True,
            "error": "krond has 16 connections already",
            "fix": "try again soon",
        }
        assert end is None
        assert exchange(krond, peers[0]) == [STATUS_ANSWER]
        peers.pop().close()
        krond.settle()
        assert_still_serves(krond)
        for peer in peers:
            peer.close()

    def test_a_hundred_at_once_are_all_served_or_told(self, krond: Krond) -> None:
        served = turned_away = 0
        peers = []
        for _ in range(100):
            peer = krond.connect()
            peer.sendall(STATUS)
            peers.append(peer)
            if len(peers) % 50 == 0:  # the kernel holds 64 that are not accepted yet
                krond.settle()
        for peer in peers:
            answers = received(peer)
            served += answers == [STATUS_ANSWER]
            turned_away += answers[-1] is None and answers[0]["busy"]
            peer.close()
        assert (served, turned_away) == (CONNECTIONS, 100 - CONNECTIONS)
        krond.settle()
        assert krond.server._connections == set()

    def test_the_silent_make_room_and_those_who_wait_for_an_answer_do_not(
        self, krond: Krond
    ) -> None:
        peers = [krond.connect() for _ in range(CONNECTIONS)]
        peers[0].sendall(line({"command": "wait"}))
        peers[1].sendall(line({"command": "big"}))
        krond.settle()
        peers.append(krond.connect())
        krond.settle()
        krond.now_s += SILENCE_S - 1
        assert exchange(krond, peers[2]) == [STATUS_ANSWER]
        krond.now_s += 1
        assert_still_serves(krond)
        assert len(krond.server._connections) == 2
        krond.waiting[0].answer({"ok": True})
        krond.settle()
        assert received(peers[0]) == [{"ok": True}]
        assert exchange(krond, peers[2]) == [STATUS_ANSWER]
        assert received(peers[3]) == [None]
        for peer in peers:
            peer.close()

    def test_those_who_wait_for_an_answer_leave_room_for_all_others(
        self, krond: Krond, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "AWAITING", 2 * CONNECTIONS)
        waiting = []
        for _ in range(2 * CONNECTIONS):
            waiting.append(krond.connect())
            assert exchange(krond, waiting[-1], line({"command": "wait"})) == []
        assert all(connection.may_wait for connection in krond.waiting)
        peers = [krond.connect() for _ in range(CONNECTIONS)]
        krond.settle()
        assert exchange(krond, peers[-1]) == [STATUS_ANSWER]
        assert exchange(krond, peers[0], line({"command": "wait"})) == []
        assert not any(connection.may_wait for connection in krond.waiting)
        waiting[0].close()
        krond.settle()
        assert all(connection.may_wait for connection in krond.waiting)
        for peer in waiting + peers:
            peer.close()

    def test_one_that_waited_long_for_its_answer_was_not_silent(self, krond: Krond) -> None:
        peers = [krond.connect() for _ in range(CONNECTIONS)]
        peers[0].sendall(line({"command": "wait"}))
        krond.settle()
        krond.now_s += 10 * SILENCE_S
        krond.waiting[0].answer({"ok": True})
        assert_still_serves(krond)
        assert received(peers[0]) == [{"ok": True}]
        for peer in peers:
            peer.close()

    def test_without_a_descriptor_left_the_loop_rests_and_later_serves(self, krond: Krond) -> None:
        served = krond.connect()
        krond.settle()
        late = krond.connect()
        late.sendall(STATUS)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        try:
            krond.settle()
            assert received(late) == []
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        served.close()
        krond.settle()
        assert received(late) == [STATUS_ANSWER]
        late.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
class TestOtherUsers:
    def ask_as(self, krond: Krond, uid: int) -> bytes:
        """What another user gets, who is already in the directory, and for whom it is open."""
        (krond.state_dir / "control.sock").chmod(0o666)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.chdir(krond.state_dir)
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect("control.sock")
                    os.write(writer, b"connected\n")
                    peer.settimeout(SOON_S)
                    with suppress(BrokenPipeError, ConnectionResetError):
                        peer.sendall(STATUS)
                    os.write(writer, peer.recv(4096))
            finally:
                os._exit(0)
        os.close(writer)
        assert os.read(reader, 100) == b"connected\n"
        krond.settle()
        os.waitpid(child, 0)
        answer = os.read(reader, 4096)
        os.close(reader)
        return answer

    def test_another_user_is_refused_even_past_the_file_mode(self, krond: Krond) -> None:
        krond.state_dir.chmod(0o755)
        answer = json.loads(self.ask_as(krond, NOBODY))
        assert answer == {
            "ok": False,
            "error": "user 65534 may not control this krond",
            "fix": "ask as its user or as root",
        }
        assert krond.requests == []
        assert krond.server._connections == set()

    def test_root_and_the_user_of_krond_are_served(self, krond: Krond) -> None:
        krond.state_dir.chmod(0o755)
        with krond.connect() as root:
            root.sendall(STATUS)
            os.seteuid(NOBODY)  # krond is nobody's now
            try:
                krond.settle()
                answers = received(root)
            finally:
                os.seteuid(0)
        assert answers == [STATUS_ANSWER]


class TestTheFile:
    def test_only_the_owner_can_open_it_whatever_the_umask(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            krond = Krond(tmp_path)
            assert os.umask(0) == 0
        finally:
            os.umask(before)
        mode = (tmp_path / "control.sock").lstat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        krond.close()

    def test_it_is_gone_afterwards_and_closing_twice_does_nothing(self, tmp_path: Path) -> None:
        krond = Krond(tmp_path)
        krond.close()
        krond.server.close()
        assert list(tmp_path.iterdir()) == []

    def test_a_stale_socket_is_replaced(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "control.sock"))
        krond = Krond(tmp_path)
        assert_still_serves(krond)
        krond.close()

    @pytest.mark.parametrize("kind", ["file", "link-to-a-socket", "dangling-link", "directory"])
    def test_what_is_no_socket_is_left_alone_and_refused(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "control.sock"
        if kind == "file":
            path.write_text("precious")
        elif kind == "directory":
            path.mkdir()
        else:
            path.symlink_to("target")
        if kind == "link-to-a-socket":
            with socket.socket(socket.AF_UNIX) as other:
                other.bind(str(tmp_path / "target"))
        inode = path.lstat().st_ino
        directory = os.open(tmp_path, os.O_PATH)
        before = descriptors()
        with (
            closing(Poller()) as poller,
            pytest.raises(KronError, match=r"control\.sock .* is not a socket") as caught,
        ):
            ControlServer(directory, lambda request, _: None, poller)
        assert descriptors() == before
        os.close(directory)
        assert caught.value.code is Code.STATE
        assert path.lstat().st_ino == inode

    def test_a_socket_that_took_its_place_is_not_removed(self, tmp_path: Path) -> None:
        krond = Krond(tmp_path)
        path = tmp_path / "control.sock"
        path.rename(tmp_path / "ours")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            krond.close()
        assert path.exists()

    def test_the_path_may_be_longer_than_a_socket_address(self, tmp_path: Path) -> None:
        state_dir = tmp_path.joinpath(*["d" * 200] * 10)
        state_dir.mkdir(parents=True)
        krond = Krond(state_dir)
        assert len(str(state_dir)) > 2000
        assert_still_serves(krond)
        krond.close()

    def test_a_directory_that_was_renamed_meanwhile_is_still_the_one(self, tmp_path: Path) -> None:
        state_dir = tmp_path / "state"
        state_dir.mkdir()
        krond = Krond(state_dir)
        moved = state_dir.rename(tmp_path / "moved")
        state_dir.mkdir()
        krond.close()
        assert list(moved.iterdir()) == []


def serving(state_dir: Path, body: Callable[[socket.socket], None]) -> int:
    """A child that listens where a krond would, and does `body`; its pid."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(state_dir / "control.sock"))
    listener.listen(1)
    child = os.fork()
    if child == 0:
        try:
            body(listener)
        finally:
            os._exit(0)
    listener.close()
    return child


def saying(data: bytes) -> Callable[[socket.socket], None]:
    def body(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        peer.recv(100_000)
        peer.sendall(data)

    return body


def running_krond(state_dir: Path) -> int:
    """A child that is a krond until it is killed; its pid."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            krond = Krond(state_dir)
            krond.server._clock_s = time.monotonic
            os.write(writer, b"x")
            while True:
                for callback, events in krond.poller.wait(None):
                    callback(events)
        finally:
            os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    return child


@pytest.fixture
def real_krond(tmp_path: Path) -> Iterator[Path]:
    child = running_krond(tmp_path)
    yield tmp_path
    os.kill(child, 9)
    os.waitpid(child, 0)


class TestAsking:
    def test_the_answer_comes_back(self, real_krond: Path) -> None:
        assert ask(str(real_krond), {"command": "status"}, SOON_S) == STATUS_ANSWER
        assert ask(str(real_krond), {"command": "status"}, None) == STATUS_ANSWER

    def test_a_big_answer_comes_back_whole(self, real_krond: Path) -> None:
        assert ask(str(real_krond), {"command": "big"}, SOON_S) == BIG

    def test_a_refusal_is_an_error_with_its_fix(self, real_krond: Path) -> None:
        with pytest.raises(ControlError, match='there is no job "x"') as caught:
            ask(str(real_krond), {"command": "refuse"}, SOON_S)
        assert caught.value.fix == "name one"
        assert caught.value.code is Code.CONTROL

    @pytest.mark.heavy
    def test_more_at_once_than_krond_takes_are_all_answered(self, real_krond: Path) -> None:
        children = []
        for _ in range(100):
            child = os.fork()
            if child == 0:
                try:
                    answer = ask(str(real_krond), {"command": "status"}, 20)
                    os._exit(0 if answer == STATUS_ANSWER else 1)
                finally:
                    os._exit(2)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 100

    def test_when_there_is_never_room_that_is_the_error(
        self, real_krond: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now_s = [0.0]

        def sleep(_: float) -> None:
            now_s[0] += SOON_S / 3

        clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep)
        monkeypatch.setattr(client, "time", clock)
        peers = [socket.socket(socket.AF_UNIX) for _ in range(CONNECTIONS)]
        for peer in peers:
            peer.connect(str(real_krond / "control.sock"))
        with pytest.raises(ControlError, match="16 connections already"):
            ask(str(real_krond), {"command": "status"}, SOON_S)
        assert now_s[0] >= SOON_S
        for peer in peers:
            peer.close()

    def test_no_answer_in_time_is_an_error(self, real_krond: Path) -> None:
        with pytest.raises(ControlError, match=r"did not answer within 0\.02 seconds"):
            ask(str(real_krond), {"command": "wait"}, 0.02)

    @pytest.mark.parametrize("kind", ["no-directory", "no-socket", "stale", "file", "dangling"])
    def test_nobody_there_says_how_to_start(self, tmp_path: Path, kind: str) -> None:
        state_dir = tmp_path / "state"
        path = state_dir / "control.sock"
        if kind != "no-directory":
            state_dir.mkdir()
        if kind == "stale":
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(str(path))
        elif kind == "file":
            path.write_text("x")
        elif kind == "dangling":
            path.symlink_to("nowhere")
        with pytest.raises(NotRunning) as caught:
            ask(str(state_dir), {"command": "status"}, SOON_S)
        assert caught.value.code is Code.NOT_RUNNING
        assert str(state_dir) in caught.value.message
        assert caught.value.fix == f"start it with: krond start --state-dir {state_dir}"

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            pytest.param(b"", "closed the connection without an answer", id="nothing"),
            pytest.param(b'{"ok": true', "closed the connection without", id="half-an-answer"),
            pytest.param(b"\n", "is not from krond", id="an-empty-line"),
            pytest.param(b"\xff\x00\n", "is not from krond", id="binary"),
            pytest.param(b"[" * 100_000 + b"\n", "is not from krond", id="deep"),
            pytest.param(b'{"status": 1}\n', "is not from krond", id="without-ok"),
            pytest.param(b'{"ok": "yes"}\n', "is not from krond", id="ok-is-no-truth"),
            pytest.param(b'{"ok": false}\n', "without a reason", id="no-reason"),
            pytest.param(b'{"ok": false, "error": 5, "fix": 5}\n', "without a", id="no-text"),
        ],
    )
    def test_an_answer_that_does_not_read_is_an_error(
        self, tmp_path: Path, data: bytes, said: str
    ) -> None:
        child = serving(tmp_path, saying(data))
        with pytest.raises(ControlError, match=said) as caught:
            ask(str(tmp_path), {"command": "status"}, SOON_S)
        os.waitpid(child, 0)
        assert len(str(caught.value)) < 300
        assert str(caught.value).isprintable()

    def test_an_endless_answer_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def for_ever(listener: socket.socket) -> None:
            peer, _ = listener.accept()
            while True:
                peer.sendall(b"x" * 100_000)

        monkeypatch.setattr(client, "_ANSWER_BYTES", 2**20)
        child = serving(tmp_path, for_ever)
        with pytest.raises(ControlError, match="longer than 1048576 bytes"):
            ask(str(tmp_path), {"command": "status"}, SOON_S)
        os.waitpid(child, 0)

    def test_a_request_that_krond_does_not_read_is_refused(self, real_krond: Path) -> None:
        for length in (REQUEST_BYTES, 100 * REQUEST_BYTES):
            with pytest.raises(ControlError, match="request is longer than 65536 bytes"):
                ask(str(real_krond), {"command": "x" * length}, SOON_S)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
    def test_somebody_elses_krond_is_told_apart_from_none(
        self, real_krond: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real_krond.chmod(0o711)
        monkeypatch.chdir(real_krond)
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(NOBODY, NOBODY, NOBODY)
                ask(".", {"command": "status"}, SOON_S)
            except ControlError as error:
                os._exit(7 if "does not belong to you" in error.message else 8)
            finally:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    @pytest.mark.parametrize("state_dir", ["nul\0byte", "", "x" * 5000])
    def test_a_path_that_is_none_is_an_error(self, state_dir: str) -> None:
        with pytest.raises((ControlError, NotRunning)):
            ask(state_dir, {"command": "status"}, SOON_S)

    def test_it_loads_nothing_of_the_server(self) -> None:
        path = [entry for entry in sys.path if entry]
        program = (
            f"import sys; sys.path[:0] = {path!r}; before = set(sys.modules);"
            "from kron.krond.control.client import ask, ControlError\n"
            "try: ask('/nonexistent', {'command': 'status'}, 1)\n"
            "except Exception: pass\n"
            "print(*sorted(set(sys.modules) - before))"
        )
        ran = subprocess.run(
            [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
        )
        loaded = set(ran.stdout.split())
        assert "kron.krond.control.client" in loaded
        server = {"ctypes", "kron.krond.control.server", "kron.krond.loop.poller"}
        heavy = {"argparse", "asyncio", "dataclasses", "inspect", "logging", "subprocess", "typing"}
        assert loaded & (server | heavy) == set()


def test_a_connection_without_room_in_epoll_is_dropped(
    krond: Krond, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with krond.connect() as peer:
        monkeypatch.setattr(krond.poller, "add", full)
        krond.settle()
        monkeypatch.undo()
        assert received(peer) == [None]
    assert_still_serves(krond)
