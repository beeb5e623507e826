"""Output files: opened with the rights of the run's user, whatever lies on the way.

The links, pipes, sockets and owners are real, and a real process of another user replaces them in
the meantime.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import stat
from collections.abc import Iterator
from errno import EAGAIN, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS
from pathlib import Path

import pytest

from kron.krond.process import output
from kron.krond.process.account import Account
from kron.krond.process.failure import StartError
from kron.krond.process.output import open_output
from kron.krond.process.walk import open_by_steps
from tests.krond.process.expected import needs_root
from tests.krond.process.scene import (
    GROUP,
    OTHER,
    STRANGER,
    USER,
    Scene,
    surroundings,
)

ACCOUNT = Account(USER, GROUP, (GROUP, OTHER), "somebody")
SECRET = "root's own\n"
KIND = "it is neither a regular file nor a character device"


class Home:
    """A directory of the user, and beside it one of root's with a file in it."""

    def __init__(self, scene: Scene) -> None:
        self.path = scene.path / "home"
        self.path.mkdir()
        self.outside = scene.path / "outside"
        self.outside.mkdir()
        self.secret = self.outside / "secret"
        self.secret.write_text(SECRET)
        if os.geteuid() == 0:
            os.chown(self.path, USER, GROUP)

    def link(self, name: str, target: Path | str, owner: int = USER) -> Path:
        path = self.path / name
        path.symlink_to(target)
        os.chown(path, owner, GROUP, follow_symlinks=False)
        return path

    def is_untouched(self) -> bool:
        return os.listdir(self.outside) == ["secret"] and self.secret.read_text() == SECRET  # noqa: PTH208


@pytest.fixture
def home(scene: Scene) -> Iterator[Home]:
    made = Home(scene)
    before = surroundings()
    yield made
    assert surroundings() == before  # rights, mask and descriptors, after each test of this file


def write(path: Path | str, account: Account | None = None, umask: int | None = None) -> None:
    descriptor = open_output(str(path), account, umask)
    try:
        os.write(descriptor, b"x\n")
    finally:
        os.close(descriptor)


def why_not(path: Path | str, account: Account | None = None) -> str:
    """The reason why a file cannot be opened, without the beginning that all of them have."""
    with pytest.raises(StartError) as caught:
        open_output(str(path), account, None)
    assert caught.value.for_good
    lead, middle, reason = caught.value.reason.partition('" cannot be opened: ')
    assert lead.startswith('the output file "')
    assert middle
    return reason


@needs_root
@pytest.mark.parametrize(
    ("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666), (0o777, 0)]
)
def test_a_new_file_belongs_to_the_user(home: Home, umask: int, mode: int) -> None:
    write(home.path / "log", ACCOUNT, umask)
    status = (home.path / "log").stat()
    assert (status.st_uid, status.st_gid) == (USER, GROUP)
    assert stat.S_IMODE(status.st_mode) == mode


def test_a_new_file_of_krond_has_krond_s_own_mask(home: Home) -> None:
    own = os.umask(0o026)
    try:
        write(home.path / "log")
    finally:
        os.umask(own)
    status = (home.path / "log").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), 0o640)


def test_an_old_file_is_appended_to(home: Home) -> None:
    (home.path / "log").write_text("before\n")
    write(home.path / "log")
    write(home.path / "log")
    assert (home.path / "log").read_text() == "before\nx\nx\n"


def test_the_descriptor_is_as_a_run_expects_it(home: Home) -> None:
    descriptor = open_output(str(home.path / "log"), None, None)
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    assert flags & os.O_ACCMODE == os.O_WRONLY
    assert flags & os.O_APPEND
    assert not flags & os.O_NONBLOCK
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("path", ["{}/./log", "{}//log", "{}/../home/log", "/..{}/log"])
def test_a_path_may_go_any_way(home: Home, path: str) -> None:
    write(path.replace("{}", str(home.path)))
    assert (home.path / "log").read_text() == "x\n"


def test_a_name_may_be_any_bytes(home: Home) -> None:
    write(str(home.path / "é \udcff\n"))
    assert os.listdir(os.fsencode(home.path)) == ["é ".encode() + b"\xff\n"]  # noqa: PTH208


def test_a_character_device_is_taken(home: Home) -> None:
    write("/dev/null")
    write("/dev/null", ACCOUNT if os.geteuid() == 0 else None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("{}/missing/log", "its directory does not exist", id="missing"),
        pytest.param("{}/file/log", "Not a directory", id="in-a-file"),
        pytest.param("{}/file/", "Not a directory", id="slash-at-the-end"),
        pytest.param("{}", KIND, id="directory"),
        pytest.param("{}/", KIND, id="directory-with-a-slash"),
        pytest.param("{}/.", KIND, id="directory-with-a-dot"),
        pytest.param("/", KIND, id="root"),
        pytest.param("{}/pipe", KIND, id="pipe-without-a-reader"),
        pytest.param("{}/socket", KIND, id="socket"),
        pytest.param("log", "it is not an absolute path", id="relative"),
        pytest.param("", "it is not an absolute path", id="empty"),
        pytest.param("{}/a\0b", "the path has a NUL byte, or is not valid Unicode", id="nul"),
        pytest.param(
            "{}/\ud800", "the path has a NUL byte, or is not valid Unicode", id="surrogate"
        ),
        pytest.param("{}/" + "n" * 300, "File name too long", id="long-name"),
        pytest.param("{}/loop", "more than 40 symbolic links lead to it", id="loop"),
        pytest.param("{}/loop/log", "more than 40 symbolic links lead to it", id="loop-on-the-way"),
    ],
)
@pytest.mark.parametrize("account", [pytest.param(ACCOUNT, marks=needs_root), None])
def test_anything_else_is_refused(
    home: Home, path: str, reason: str, account: Account | None
) -> None:
    (home.path / "file").write_text("")
    os.mkfifo(home.path / "pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(home.path / "socket"))
    (home.path / "loop").symlink_to("loop")
    for name in ("file", "pipe", "socket", "loop"):
        if os.geteuid() == 0:
            os.chown(home.path / name, 0 if account is None else USER, GROUP, follow_symlinks=False)
    before = sorted(home.path.iterdir())
    assert why_not(path.replace("{}", str(home.path)), account) == reason
    assert sorted(home.path.iterdir()) == before


def test_a_pipe_with_a_reader_is_refused_too(home: Home) -> None:
    os.mkfifo(home.path / "pipe")
    reading = os.open(home.path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert why_not(home.path / "pipe") == KIND
    finally:
        os.close(reading)


@needs_root
def test_a_block_device_is_refused(home: Home) -> None:
    try:
        os.mknod(home.path / "disk", 0o666 | stat.S_IFBLK, os.makedev(7, 0))
    except PermissionError:
        pytest.skip("no device can be made here")
    reason = why_not(home.path / "disk")
    assert reason == KIND or reason.startswith("No such device")


def test_a_file_with_a_lease_does_not_hold_krond_up(home: Home) -> None:
    """Whoever holds one could make an opening wait for 45 seconds."""
    (home.path / "log").write_text("")
    holder = os.open(home.path / "log", os.O_RDONLY)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        with pytest.raises(StartError) as caught:
            open_output(str(home.path / "log"), None, None)
        assert not caught.value.for_good
    finally:
        os.close(holder)
        signal.signal(signal.SIGIO, before)


@needs_root
class TestOfSomebodyElse:
    def test_what_the_user_may_not_open_is_not_opened(self, home: Home) -> None:
        assert why_not(home.secret, ACCOUNT) == "Permission denied"
        assert why_not(home.outside / "new", ACCOUNT) == "Permission denied"
        home.outside.chmod(0o700)
        assert why_not(home.secret, ACCOUNT) == "Permission denied"
        assert home.is_untouched()

    def test_rights_that_come_from_a_group_count(self, home: Home) -> None:
        home.outside.chmod(0o770)
        os.chown(home.outside, 0, OTHER)
        write(home.outside / "log", ACCOUNT)
        assert (home.outside / "log").stat().st_uid == USER
        assert why_not(home.outside / "log2", ACCOUNT.replace(groups=())) == "Permission denied"

    @pytest.mark.parametrize("owner", [USER, 0])
    def test_a_link_of_the_user_or_of_root_is_followed_with_the_rights_of_the_user(
        self, home: Home, owner: int
    ) -> None:
        (home.path / "logs").mkdir()
        os.chown(home.path / "logs", USER, GROUP)
        home.link("short", "logs", owner)
        home.link("whole", home.path / "logs", owner)
        home.link("last", "logs/c", owner)
        for name in ("short/a", "whole/b", "last"):
            write(home.path / name, ACCOUNT)
        names = sorted(path.name for path in (home.path / "logs").iterdir())
        assert names == ["a", "b", "c"]

    def test_a_link_to_what_the_user_may_not_write_opens_nothing(self, home: Home) -> None:
        home.link("way", home.outside)
        home.link("last", home.secret)
        home.link("new", home.outside / "new")
        for path in ("way/secret", "way/new", "last", "new"):
            assert why_not(home.path / path, ACCOUNT) == "Permission denied"
        assert home.is_untouched()

    @pytest.mark.parametrize("path", ["way/secret", "way/new", "last", "new"])
    @pytest.mark.parametrize("account", [None, ACCOUNT.replace(uid=OTHER), ACCOUNT])
    def test_a_link_of_anybody_else_is_not_followed(
        self, home: Home, account: Account | None, path: str
    ) -> None:
        """Least of all by a run of root's own: it would write wherever the link points."""
        home.outside.chmod(0o777)  # it is not for want of rights
        home.secret.chmod(0o666)
        home.link("way", home.outside, STRANGER)
        home.link("last", home.secret, STRANGER)
        home.link("new", home.outside / "new", STRANGER)
        assert why_not(home.path / path, account) == (
            f"a symbolic link in its path belongs to user {STRANGER}, not to root or the run's user"
        )
        assert home.is_untouched()

    def test_a_link_behind_a_link_is_looked_at_as_well(self, home: Home) -> None:
        home.link("first", home.path / "second", 0)
        home.link("second", home.outside, STRANGER)
        assert "belongs to user" in why_not(home.path / "first" / "new")
        assert home.is_untouched()

    def test_forty_links_are_followed_and_no_more(self, home: Home) -> None:
        home.link("1", "log")
        for number in range(2, 42):
            home.link(str(number), str(number - 1))
        write(home.path / "40", ACCOUNT)
        assert (home.path / "log").read_text() == "x\n"
        assert why_not(home.path / "41", ACCOUNT) == "more than 40 symbolic links lead to it"

    def test_a_directory_swapped_for_a_link_all_the_time_leads_nowhere_else(
        self, home: Home
    ) -> None:
        """The user swaps; root's own run writes. Each time it is the directory, or an error."""
        (home.path / "logs").mkdir()
        os.chown(home.path / "logs", USER, GROUP)
        pid = os.fork()
        if pid == 0:
            _swap(home)
        opened = refused = 0
        try:
            while opened < 100 or refused < 100:
                try:
                    write(home.path / "logs" / "log")
                    opened += 1
                except StartError:
                    refused += 1
                assert opened + refused < 500_000
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        assert home.is_untouched()

    def test_the_user_krond_acts_for_cannot_be_seen_in_its_effective_user(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody with krond's effective user could slow it down for good in that moment."""
        seen: list[list[str]] = []
        walk = open_by_steps

        def looking(path: bytes, flags: int, trusted: frozenset[int], whose: str) -> int:
            lines = Path("/proc/thread-self/status").read_text().splitlines()
            seen.extend(line.split() for line in lines if line.startswith(("Uid:", "Gid:")))
            return walk(path, flags, trusted, whose)

        monkeypatch.setattr(output, "open_by_steps", looking)
        write(home.path / "log", ACCOUNT)
        assert seen == [
            ["Uid:", "0", "0", "0", str(USER)],
            ["Gid:", "0", "0", "0", str(GROUP)],
        ]


def _swap(home: Home) -> None:
    """Run as the user until killed."""
    try:
        os.setgroups([])
        os.setresgid(GROUP, GROUP, GROUP)
        os.setresuid(USER, USER, USER)
        os.chdir(home.path)
        while True:
            os.rename("logs", "aside")  # noqa: PTH104
            os.symlink(home.outside, "logs")  # noqa: PTH211
            os.unlink("logs")  # noqa: PTH108
            os.rename("aside", "logs")  # noqa: PTH104
    finally:
        os._exit(1)


@pytest.mark.parametrize(
    ("error", "for_good"),
    [
        *((error, False) for error in (ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN)),
        *((error, True) for error in (EROFS, EIO)),
    ],
)
def test_want_of_room_is_not_for_good(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: int, for_good: bool
) -> None:
    def broken(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(output, "open_by_steps", broken)
    with pytest.raises(StartError) as caught:
        open_output("/var/log/job", None, None)
    assert caught.value.for_good == for_good
    assert caught.value.reason == (
        f'the output file "/var/log/job" cannot be opened: {os.strerror(error)}'
    )
