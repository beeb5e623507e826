"""Privileges drop, all of them, before a run's program begins; or it does not begin.

The switch is checked from inside the child. That it fails, or only seems to succeed, is brought
about from outside: with capabilities taken from root, with a user namespace, and with strace
answering in the kernel's place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kron.jobs.task import LimitedResource
from kron.krond.process.account import Account
from kron.krond.process.failure import StartError
from kron.krond.process.launch import launch
from tests.krond.process.expected import needs, needs_launcher, needs_root, refused
from tests.krond.process.scene import GROUP, OTHER, USER, Scene, no_child_is_left, surroundings
from tests.krond.process.ways import FOR_OTHERS, WAYS, only

pytestmark = needs_root
ACCOUNT = Account(USER, GROUP, (GROUP, OTHER), "somebody")
NOT_DROPPED = "its privileges did not drop, so nothing was executed: Operation not permitted"


@pytest.mark.parametrize(
    ("account", "groups"),
    [
        pytest.param(ACCOUNT, {GROUP, OTHER}, id="all"),
        pytest.param(Account(USER, GROUP, (), "somebody"), set(), id="no-groups"),
        pytest.param(Account(0, GROUP, (GROUP,), "root"), {GROUP}, id="group-alone"),
        pytest.param(
            Account(USER, GROUP, tuple(range(60_000, 61_000)), "somebody"),
            set(range(60_000, 61_000)),
            id="a-thousand-groups",
        ),
        pytest.param(Account(2**32 - 2, 2**32 - 2, (5, 5, 4), "last"), {4, 5}, id="highest"),
    ],
)
def test_user_group_and_groups_are_switched(
    scene: Scene, account: Account, groups: set[int]
) -> None:
    before = surroundings()
    status = scene.status(account=account)
    # Real, effective, saved, and for files.
    assert status["Uid"].split() == [str(account.uid)] * 4
    assert status["Gid"].split() == [str(account.gid)] * 4
    assert set(map(int, status["Groups"].split())) == groups
    if account.uid != 0:
        assert {int(status[f"Cap{name}"], 16) for name in ("Prm", "Eff", "Amb")} == {0}
    assert surroundings() == before


def test_everything_else_is_as_in_any_run(scene: Scene) -> None:
    hidden = os.open("/etc/shadow", os.O_RDONLY)
    os.set_inheritable(hidden, True)
    changes: dict[str, Any] = {
        "account": ACCOUNT,
        "env": {b"A": b"\xff"},
        "umask": 0o123,
        "cwd": "/usr",
        "nice": -3,
        "limits": (
            (LimitedResource.NPROC, 77),
            (LimitedResource.NOFILE, 8),
            (LimitedResource.AS, 64 << 20),
        ),
    }
    try:
        status = scene.status(**changes)
        assert status["Umask"] == "0123"
        assert int(status["SigBlk"], 16) == int(status["SigCgt"], 16) == 0
        assert scene.sees("environ", **changes) == b"A=\xff\0"
        assert scene.output(scene.launch_of("/bin/pwd", **changes)) == b"/usr\n"
        listing = scene.output(scene.launch_of("/bin/ls", "/proc/self/fd", **changes))
        assert listing.split() == [b"0", b"1", b"2", b"3"]
        limits = scene.limits(**changes)
        assert limits["Max processes"] == ("77", "77")
        assert limits["Max open files"] == ("8", "8")
        stat = scene.stat(**changes)
        assert stat[16] == -3
        assert stat[0] == stat[2] == stat[3]
    finally:
        os.close(hidden)


def test_the_proof_belongs_to_krond(scene: Scene) -> None:
    scene.output(scene.launch_of("/bin/true", account=ACCOUNT))  # it looks at the owner


@pytest.mark.parametrize("mode", [0o000, 0o700])
def test_a_directory_that_the_user_cannot_enter_stops_the_run(scene: Scene, mode: int) -> None:
    closed = scene.path / "closed"
    closed.mkdir()
    closed.chmod(mode)
    ran = str(scene.path / "ran")
    what = scene.launch_of("/bin/touch", ran, account=ACCOUNT, cwd=str(closed))
    error = refused(scene, what)
    assert error.reason == f'its directory "{closed}" cannot be entered: Permission denied'
    assert error.for_good
    what = scene.launch_of("/bin/pwd", account=ACCOUNT, cwd=str(closed), cwd_may_lack=True)
    assert scene.output(what) == b"/\n"


def test_a_program_is_searched_for_with_the_rights_of_the_user(scene: Scene) -> None:
    for name, mode in (("closed", 0o700), ("open", 0o755)):
        directory = scene.path / name
        directory.mkdir()
        program = directory / "hello"
        program.write_text(f"#!/bin/sh\necho {name}\n")
        program.chmod(0o755)
        directory.chmod(mode)
    both = f"{scene.path}/closed:{scene.path}/open".encode()
    only = f"{scene.path}/closed".encode()
    assert scene.output(scene.launch_of("hello", env={b"PATH": both})) == b"closed\n"
    what = scene.launch_of("hello", env={b"PATH": both}, account=ACCOUNT)
    assert scene.output(what) == b"open\n"
    error = refused(scene, scene.launch_of("hello", env={b"PATH": only}, account=ACCOUNT))
    assert error.reason == 'PATH has no program "hello"'


def test_a_program_that_the_user_may_not_execute_is_not_executed(scene: Scene) -> None:
    program = scene.path / "mine"
    program.write_text(f"#!/bin/sh\ntouch {scene.path}/ran\n")
    program.chmod(0o700)
    error = refused(scene, scene.launch_of(str(program), account=ACCOUNT))
    assert error.reason.startswith(f'the program "{program}" may not be executed')


@pytest.mark.parametrize(
    "account",
    [
        pytest.param(Account(2**32 - 1, GROUP, (GROUP,), "x"), id="user"),
        pytest.param(Account(-1, GROUP, (GROUP,), "x"), id="user-below-nothing"),
        pytest.param(Account(USER, 2**32 - 1, (GROUP,), "x"), id="group"),
        pytest.param(Account(USER, -1, (GROUP,), "x"), id="group-below-nothing"),
        pytest.param(Account(USER, GROUP, (GROUP, 2**32 - 1), "x"), id="one-of-the-groups"),
    ],
)
def test_a_number_that_means_no_change_is_refused(scene: Scene, account: Account) -> None:
    what = scene.launch_of("/bin/touch", str(scene.path / "ran"), account=account)
    reason = 'krond cannot switch to user "x" (its user): Invalid argument'
    assert refused(scene, what).reason == reason


def test_the_limit_of_processes_stops_a_run_for_now_only(scene: Scene) -> None:
    """The kernel looks at it when the user is switched, and then refuses the program."""
    ran = str(scene.path / "ran")
    sleeper = scene.launch_of("/bin/sleep", "60", account=ACCOUNT)
    pids = [launch(sleeper.replace(proof=str(scene.runs / name))) for name in ("b", "c")]
    try:
        with pytest.raises(StartError) as caught:
            launch(
                scene.launch_of(
                    "/bin/touch", ran, account=ACCOUNT, limits=((LimitedResource.NPROC, 1),)
                )
            )
    finally:
        for pid in pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    assert caught.value.reason.endswith("cannot be started: Resource temporarily unavailable")
    assert not caught.value.for_good
    assert no_child_is_left()
    assert not (scene.path / "ran").exists()
    assert not scene.proof.exists()


@pytest.mark.parametrize("failing", ["getresuid", "getresgid", "getgroups"])
def test_what_the_kernel_says_afterwards_is_compared(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """Each of the three alone is enough to refuse."""
    only("forked", monkeypatch.setattr)
    told = {"getresuid": (USER, USER, 0), "getresgid": (GROUP, 0, GROUP), "getgroups": [0, GROUP]}
    what = scene.launch_of("/bin/touch", str(scene.path / "ran"), account=ACCOUNT)
    with monkeypatch.context() as patch:
        patch.setattr(os, failing, lambda: told[failing])
        with pytest.raises(StartError, match="privileges did not drop"):
            launch(what)
    assert not (scene.path / "ran").exists()
    assert not scene.proof.exists()
    assert no_child_is_left()


IN_A_NAMESPACE = """
import ctypes, os, sys
from kron.krond.process.account import Account
from kron.krond.process.launch import launch
from tests.krond.process.scene import scene
from tests.krond.process.ways import only
only(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
print("ready" if libc.unshare(0x10000000) == 0 else os.strerror(ctypes.get_errno()), flush=True)
sys.stdin.readline()
with scene() as scene:
    pid = launch(scene.launch_of("/bin/true", account=Account(7, 0, (0, 2, 4), "somebody")))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("way", FOR_OTHERS)
def test_the_kernel_may_have_the_groups_in_another_order(way: str) -> None:
    """It sorts them by their numbers outside of a user namespace, as of a rootless container."""
    words = [sys.executable, "-c", IN_A_NAMESPACE, way]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as krond:
        assert krond.stdout is not None
        said = krond.stdout.readline().strip()
        if said != "ready":
            krond.kill()
            pytest.skip(f"there are no user namespaces here: {said}")
        of_it = Path(f"/proc/{krond.pid}")
        (of_it / "uid_map").write_text("0 0 65536")
        (of_it / "gid_map").write_text("0 1200000 1\n1 100000 65535\n")
        _, errors = krond.communicate("\n")
    assert krond.returncode == 0, errors


SET_USER = 'krond cannot switch to user "somebody" (its user): '
SET_GROUP = 'krond cannot switch to user "somebody" (its group): '
SET_GROUPS = 'krond cannot switch to user "somebody" (its groups): '


def strace(*injected: str) -> list[str]:
    return ["strace", "-f", "-qq", "-o", "/dev/null", *(f"--inject={what}" for what in injected)]


@pytest.mark.parametrize(
    ("breaking", "mode", "reason"),
    [
        pytest.param(
            ["setpriv", "--bounding-set=-setuid"],
            "plain",
            f"{SET_USER}Operation not permitted",
            id="root-that-may-not-switch-users",
            marks=needs("setpriv"),
        ),
        pytest.param(
            ["setpriv", "--bounding-set=-setgid"],
            "plain",
            f"{SET_GROUPS}Operation not permitted",
            id="root-that-may-not-switch-groups",
            marks=needs("setpriv"),
        ),
        pytest.param(
            ["setpriv", "--securebits=+no_setuid_fixup"],
            "plain",
            NOT_DROPPED,
            id="capabilities-that-outlive-the-switch",
            marks=needs("setpriv"),
        ),
        pytest.param(
            ["unshare", "--map-root-user"],
            "plain",
            f"{SET_GROUPS}",
            id="root-of-a-user-namespace",
            marks=needs("unshare"),
        ),
        pytest.param([], "nobody", f"{SET_GROUPS}Operation not permitted", id="not-root-at-all"),
        *(
            pytest.param(strace(what), "plain", reason, id=what, marks=needs("strace"))
            for what, reason in {
                "setresuid:error=EPERM": f"{SET_USER}Operation not permitted",
                "setresuid:error=EAGAIN": f"{SET_USER}Resource temporarily unavailable",
                "setresgid:error=EPERM": f"{SET_GROUP}Operation not permitted",
                "setgroups:error=EPERM": f"{SET_GROUPS}Operation not permitted",
                "setresuid:retval=0": NOT_DROPPED,
                "setresgid:retval=0": NOT_DROPPED,
                "setgroups:retval=0": NOT_DROPPED,
                "setuid:retval=0": NOT_DROPPED,
                "capget:error=EPERM": NOT_DROPPED,
                "setsid:error=EPERM": "it cannot have a session of its own",
            }.items()
        ),
    ],
)
@pytest.mark.parametrize("way", FOR_OTHERS)
def test_nothing_is_executed_when_privileges_do_not_drop(
    scene: Scene, breaking: list[str], mode: str, reason: str, way: str
) -> None:
    answer = broken(scene, breaking, mode, way)
    assert answer["reason"].startswith(reason)
    assert answer["for_good"] == ("EAGAIN" not in "".join(breaking))
    assert list((scene.path / "open").iterdir()) == []
    assert (answer["unchanged"], answer["childless"], answer["proof"]) == (True, True, False)


@needs_launcher
def test_capabilities_kept_in_reserve_do_not_outlive_the_switch(scene: Scene) -> None:
    """A fork would keep them, so it executes nothing. The exec of the launcher drops them."""
    assert broken(scene, [], "keepcaps", "forked")["reason"] == NOT_DROPPED
    assert list((scene.path / "open").iterdir()) == []
    assert broken(scene, [], "keepcaps", "launched")["reason"] == ""


@needs("strace")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("injected", "reason"),
    [
        (
            "clone,clone3,fork,vfork:error=EAGAIN",
            "no process can be made: Resource temporarily",
        ),
        ("clone,clone3,fork,vfork:error=ENOMEM", "no process can be made: Cannot allocate memory"),
        (
            "execve:error=EAGAIN",
            'the program "/bin/touch" cannot be started: Resource temporarily',
        ),
        ("execve:error=ENOMEM", 'the program "/bin/touch" cannot be started: Cannot allocate'),
        ("execve:error=ENFILE", 'the program "/bin/touch" cannot be started: Too many open files'),
    ],
)
def test_want_of_resources_is_not_for_good(
    scene: Scene, way: str, injected: str, reason: str
) -> None:
    breaking = strace(injected)
    if injected.startswith("execve"):
        breaking += ["-P", "/bin/touch"]  # and not that of Python itself
    answer = broken(scene, breaking, "own", way)
    assert answer["reason"].startswith(reason)
    assert answer["for_good"] is False
    assert list((scene.path / "open").iterdir()) == []
    assert (answer["unchanged"], answer["childless"], answer["proof"]) == (True, True, False)


def test_the_program_of_these_tests_runs_when_nothing_is_broken(scene: Scene) -> None:
    cases = [("own", way) for way in WAYS] + [("plain", way) for way in FOR_OTHERS]
    for mode, way in (*cases, ("output", "spawned")):
        answer = broken(scene, [], mode, way)
        assert answer["reason"] == ""
        assert answer["unchanged"]
        (made,) = (scene.path / "open").iterdir()
        assert made.stat().st_uid == (0 if mode == "own" else USER)
        made.unlink()


@needs("strace")
@pytest.mark.parametrize(
    "injected", ["setgroups:error=EPERM:when=1", "setfsuid:retval=0", "setfsgid:retval=0"]
)
def test_no_output_is_opened_with_krond_s_own_rights(scene: Scene, injected: str) -> None:
    answer = broken(scene, strace(injected), "output", "spawned")
    assert answer["reason"].startswith("krond cannot switch to the ")
    assert list((scene.path / "open").iterdir()) == []
    assert answer["unchanged"]


@needs("strace")
@pytest.mark.parametrize(
    "injected",
    ["setgroups:error=EPERM:when=2", "setfsuid:retval=54321:when=3+", "setgroups:retval=0:when=2"],
)
def test_a_krond_that_does_not_get_its_rights_back_ends_at_once(
    scene: Scene, injected: str
) -> None:
    done = run(scene, strace(injected), "output", "spawned")
    assert (done.returncode, done.stdout) == (70, ""), done.stderr


def broken(scene: Scene, breaking: list[str], mode: str, way: str) -> Any:
    """What a krond under these conditions says of its start."""
    done = run(scene, breaking, mode, way)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(scene: Scene, breaking: list[str], mode: str, way: str) -> subprocess.CompletedProcess[str]:
    open_to_all = scene.path / "open"
    open_to_all.mkdir(exist_ok=True)
    open_to_all.chmod(0o777)
    words = ("tests.krond.process.dropping", mode, way, str(open_to_all / "ran"))
    program = [sys.executable, "-m", *words]
    env = {**os.environ, "TMPDIR": str(scene.path)}
    return subprocess.run(
        [*breaking, *program], capture_output=True, text=True, check=False, env=env
    )
