"""Configuration that somebody else could have written: krond neither starts nor reloads with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.krond.control.client import ControlError
from tests.krond.commands import NEVER, NOBODY, BackgroundHost, krond, needs_root
from tests.krond.host import Host
from tests.logbook import PATIENCE_S
from tests.soak import SOAK

GOOD = f"{NEVER} name=good command=/bin/true"
EVIL = "* * * * * name=evil command=/bin/true"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host whose configuration is in a directory of its own."""
    directory = tmp_path / "etc"
    directory.mkdir()
    directory.chmod(0o755)
    with Host(tmp_path) as made:
        made.config = directory / "jobs.kron"
        yield made


def write_evil(host: Host) -> None:
    """What the attacker would like to be run, in the place of the configuration."""
    host.config.write_text(f"{EVIL}\n")


def world_writable(host: Host) -> None:
    write_evil(host)
    host.config.chmod(0o646)


def group_writable(host: Host) -> None:
    write_evil(host)
    host.config.chmod(0o660)


def a_link(host: Host) -> None:
    target = host.directory / "elsewhere.kron"
    target.write_text(f"{EVIL}\n")
    target.chmod(0o644)
    host.config.unlink()
    host.config.symlink_to(target)


def of_another_user(host: Host) -> None:
    write_evil(host)
    host.config.chmod(0o644)
    os.chown(host.config, NOBODY, -1)


def in_a_writable_directory(host: Host) -> None:
    write_evil(host)
    host.config.parent.chmod(0o775)


def in_a_directory_of_another_user(host: Host) -> None:
    write_evil(host)
    os.chown(host.config.parent, NOBODY, -1)


def in_a_linked_directory(host: Host) -> None:
    write_evil(host)
    host.config.parent.rename(host.directory / "other")
    host.config.parent.symlink_to(host.directory / "other")


def a_pipe(host: Host) -> None:
    host.config.unlink()
    os.mkfifo(host.config, 0o600)


def a_socket(host: Host) -> None:
    host.config.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(host.config))


def a_device(host: Host) -> None:
    host.config.unlink()
    os.mknod(host.config, 0o020600, os.makedev(1, 5))  # /dev/zero: it never ends


def missing(host: Host) -> None:
    host.config.unlink()


ATTACKS = [
    pytest.param(world_writable, "others could write", True, id="world-writable"),
    pytest.param(group_writable, "others could write", True, id="group-writable"),
    pytest.param(a_link, "is a symbolic link", True, id="link"),
    pytest.param(
        of_another_user, "belongs to user 65534", True, id="another-user", marks=needs_root
    ),
    pytest.param(
        in_a_writable_directory, "others could write the directory", True, id="writable-directory"
    ),
    pytest.param(
        in_a_directory_of_another_user,
        "the directory",
        True,
        id="directory-of-another-user",
        marks=needs_root,
    ),
    pytest.param(in_a_linked_directory, "is a symbolic link", True, id="linked-directory"),
    pytest.param(a_pipe, "is not a regular file", False, id="pipe"),
    pytest.param(a_socket, "is not a regular file", False, id="socket"),
    pytest.param(a_device, "is not a regular file", False, id="device", marks=needs_root),
    pytest.param(missing, "there is no", False, id="missing"),
]


@pytest.mark.parametrize(("attack", "said", "can_be_meant"), ATTACKS)
def test_what_others_could_have_written_is_refused_at_the_start_and_at_a_reload(
    host: Host, attack: Callable[[Host], None], said: str, can_be_meant: bool
) -> None:
    host.write(GOOD)
    host.start()
    attack(host)
    refused = host.command("reload")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert said in refused.stderr
    assert str(host.config.parent) in refused.stderr
    told = host.events("reload")[-1]
    assert (told["result"], said in str(told["error"])) == ("refused", True)
    assert [row["name"] for row in host.ask("status")["jobs"]] == ["good"]
    assert host.command("trigger", "good", "--wait").returncode == 0
    assert host.stop() == 0
    place = ("--config", host.config, "--state-dir", host.directory / "other-state")
    ended = krond("start", "--once", *place)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "event=" not in ended.stderr
    trusted = krond("start", "--once", "--allow-insecure-config", *place)
    assert trusted.returncode == (0 if can_be_meant else 1)
    assert ("name=evil" in trusted.stderr) == can_be_meant


def test_insecure_configuration_that_is_meant_stays_so_at_a_reload(host: Host) -> None:
    host.write(GOOD)
    world_writable(host)
    host.start("--allow-insecure-config")
    a_link(host)
    assert host.ask("reload")["total"] == 1
    assert [row["name"] for row in host.ask("status")["jobs"]] == ["evil"]


SWAP = """
import os, sys
how, good, evil, place = sys.argv[1:]
print("swapping", flush=True)
while True:
    if how == "directory":
        os.symlink(evil, place)
        os.unlink(place)
        os.rename(good, place)
        os.rename(place, good)
    else:
        (os.symlink if how == "link" else os.link)(evil, place + ".new")
        os.rename(place + ".new", place)
        os.link(good, place + ".new")
        os.rename(place + ".new", place)
"""
"""Puts the good file or directory and the attacker's in the same place, in turn, for ever."""


@pytest.mark.parametrize("how", ["link", pytest.param("file", marks=needs_root), "directory"])
def test_a_swap_between_check_and_read_gets_nothing_run(host: Host, how: str) -> None:
    host.write(GOOD)
    host.start()
    evil = host.directory / "evil" / "jobs.kron"
    evil.parent.mkdir(mode=0o755)
    evil.write_text(f"{EVIL}\n")
    evil.chmod(0o644)
    if how == "file":
        os.chown(evil, NOBODY, -1)
    # Of a link, nothing but that it is one is wrong.
    place = host.config
    if how == "directory":
        place, evil = place.parent, evil.parent
    good = place.rename(host.directory / "good")
    counts = {"applied": 0, "refused": 0}
    words = [how, str(good), str(evil), str(place)]
    with subprocess.Popen([sys.executable, "-c", SWAP, *words], stdout=subprocess.PIPE) as racer:
        assert racer.stdout is not None
        racer.stdout.readline()
        began_s = time.monotonic()
        until_s = began_s + 2 * min(SOAK, 10)
        try:
            while time.monotonic() < until_s or min(counts.values()) < 5:  # both are to be met
                assert racer.poll() is None
                assert time.monotonic() < began_s + 2 * PATIENCE_S, counts
                try:
                    host.ask("reload")
                    counts["applied"] += 1
                except ControlError:
                    counts["refused"] += 1
                assert [row["name"] for row in host.ask("status")["jobs"]] == ["good"]
        finally:
            racer.kill()
    reason = "belongs to user" if how == "file" else "is a symbolic link"
    reasons = [str(event.get("error")) for event in host.events("reload")]
    if how != "directory":  # which most of the time is not there at all
        assert any(reason in each for each in reasons)
    assert {event["name"] for event in host.events("decision")} == {"good"}


def test_a_file_of_100_mb_is_refused_in_little_time_and_memory(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(GOOD)
        assert host.start_background().returncode == 0
        pid = host.pid()
        before_kb = most_memory_kb(pid)
        with host.config.open("w") as file:
            for _ in range(100):
                file.write("x" * 1_000_000)
        began_s = time.monotonic()
        refused = host.command("reload")
        assert time.monotonic() - began_s < 5
        assert refused.returncode == 1
        assert "is longer than 8388608 bytes" in refused.stderr
        assert most_memory_kb(pid) - before_kb < 40_000
        assert host.ask("status")["total"] == 1
        assert host.command("stop").returncode == 0
        ended = host.start_background()
        assert ended.returncode == 1
        assert "is longer than 8388608 bytes" in ended.stderr


def most_memory_kb(pid: int) -> int:
    """The most that a process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param("0 25 * * * name=wrong command=/bin/true", 'hour: "25"', id="field"),
        pytest.param("* * * * * name=wrong", "no command", id="no-command"),
        pytest.param("* * * * * name=one command=/bin/true", "is taken by line 1", id="name-twice"),
        pytest.param("x" * 70_000, "longer than 65536", id="long-line"),
        pytest.param("* * * * * @win(" + "(" * 60_000, "error", id="parentheses"),
        pytest.param("* * * * * name=a\x00b command=/bin/true", "error", id="nul"),
    ],
)
def test_one_bad_line_keeps_the_old_configuration_whole_and_is_named(
    host: Host, wrong: str, said: str
) -> None:
    host.write(f"{NEVER} name=one command=/bin/true", f"{NEVER} name=two command=/bin/true")
    host.start()
    before = host.ask("status")["jobs"]
    host.write(
        f"{NEVER} name=one command=/bin/false",
        "# a comment",
        wrong,
        f"{NEVER} name=three command=/bin/true",
    )
    ended = host.command("reload")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{host.config}:3:" in ended.stderr
    assert said in ended.stderr
    told = host.events("reload")[-1]
    assert (told.level, told["result"], told["jobs"]) == ("ERROR", "refused", "2")
    assert f"{host.config}:3:" in str(told["error"])
    assert host.ask("status")["jobs"] == before
    assert host.command("trigger", "one", "--wait").returncode == 0
    assert host.stop() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("on_failure=https://hc.example/hunter2 nice=99", id="beside the error"),
        pytest.param("on_failure=https://hc.example/#hunter2", id="in a wrong URL"),
        pytest.param('on_failure="https://hc.example/a hunter2"', id="after a space in it"),
        pytest.param('on_failure=https://hc.example/"hunter2"', id="quoted in part"),
        pytest.param("on_failure=https://me:hunter2@hc.example/", id="as a password"),
        pytest.param("https://hc.example/?a=hunter2", id="without its field"),
        pytest.param("stdout=https://hc.example/hunter2", id="in another field"),
        pytest.param('on_failure="https://hc.example"/hunter2', id="after a quoted part"),
        pytest.param("on_failure=https:/hc.example/hunter2", id="in a mistyped URL"),
        pytest.param("nice=https://hc.example/\u00a0hunter2", id="after a no-break space"),
        pytest.param("on_failure=-https://hc.example/hunter2 nice=99", id="after a dash"),
    ],
)
def test_no_error_shows_more_of_a_url_than_its_host(host: Host, wrong: str) -> None:
    host.write(GOOD)
    host.start()
    host.write(f"{NEVER} name=good command=/bin/true {wrong}")
    reloaded = host.command("reload")
    assert host.stop() == 0
    place = ("--config", host.config, "--state-dir", host.directory / "other-state")
    started = krond("start", "--foreground", *place)
    linted = subprocess.run(
        [sys.executable, "-m", "kron.krontab", "lint", "--file", host.config],
        capture_output=True,
        text=True,
        check=False,
    )
    for shown in (reloaded, started, linted):
        assert (shown.returncode, "hunter2" in shown.stdout + shown.stderr) == (1, False)
        assert f"{host.config}:1:" in shown.stdout + shown.stderr
    assert "://" in started.stderr
    assert "hunter2" not in host.log.read_text()


def test_a_file_that_is_not_text_is_refused(host: Host) -> None:
    host.write(GOOD)
    host.start()
    host.config.write_bytes(GOOD.encode() + b"\n" + bytes(range(256)) * 100)
    ended = host.command("reload")
    assert ended.returncode == 1
    assert f"{host.config}:" in ended.stderr
    assert "\x1b" not in ended.stderr
    assert host.ask("status")["total"] == 1
