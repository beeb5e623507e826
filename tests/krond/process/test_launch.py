"""A run's process, as it sees itself: what it was asked to be, and nothing of krond's besides.

Every promise is kept by every way of starting, and checked from inside the child.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kron.jobs.task import UNLIMITED, LimitedResource
from kron.krond.process import child as child_module
from kron.krond.process import forked, launched, spawned
from kron.krond.process.failure import StartStage
from kron.krond.process.launch import launch
from kron.krond.process.steps import steps
from tests.krond.process.expected import needs_launcher
from tests.krond.process.scene import Scene, no_child_is_left, surroundings
from tests.krond.process.scene import scene as scene_of_its_own
from tests.krond.process.ways import WAYS, only
from tests.soak import examples

THREAD_SIGNALS = 1 << 31 | 1 << 32
"""The C library's own two: glibc's posix_spawn leaves them ignored, and no program minds."""

SHOW_DESCRIPTORS = (
    "a=$(readlink /proc/$$/fd/0); b=$(readlink /proc/$$/fd/1); c=$(readlink /proc/$$/fd/2); "
    'echo "$a|$b|$c" > "$0"'
)


@pytest.fixture
def untidy() -> Iterator[None]:
    """Have signals blocked, ignored and handled, as krond may."""
    changed: dict[int, Any] = {
        signal.SIGHUP: signal.SIG_IGN,
        signal.SIGCHLD: signal.SIG_DFL,
        signal.SIGPIPE: signal.SIG_IGN,
        signal.SIGXFSZ: signal.SIG_IGN,
        signal.SIGRTMIN: signal.SIG_IGN,
        signal.SIGUSR1: lambda *_: None,
        signal.SIGTERM: lambda *_: None,
    }
    before = {number: signal.signal(number, to) for number, to in changed.items()}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGRTMAX})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("way")
class TestEveryWay:
    def test_the_environment_is_exactly_the_one_given(self, scene: Scene) -> None:
        given = {b"A": b"\xff\xfe", b"\xc3": b"", b"LONG": b"x" * 100_000, b"B": b"a=b\nc"}
        entries = scene.sees("environ", env=given).split(b"\0")
        assert sorted(entries) == sorted([b"", *(b"%b=%b" % item for item in given.items())])

    def test_an_empty_environment_is_empty(self, scene: Scene) -> None:
        assert scene.sees("environ", env={}) == b""

    def test_words_reach_the_program_as_the_bytes_that_they_were(self, scene: Scene) -> None:
        words = ["", "a b", "\udcff\udcfe", "é", "$HOME", "*", "-n", "`id`"]
        text = scene.output(scene.launch_of("/usr/bin/printf", "%s|", *words))
        assert text == b"|".join([*(w.encode("utf-8", "surrogateescape") for w in words), b""])

    def test_the_program_gets_its_own_name_as_it_was_written(self, scene: Scene) -> None:
        assert scene.output(scene.launch_of("sh", "-c", "echo $0; cat /proc/$$/cmdline")) == (
            b"sh\nsh\0-c\0echo $0; cat /proc/$$/cmdline\0"
        )

    def test_no_descriptor_but_three_is_there(self, scene: Scene) -> None:
        # Left open by the process that started krond, one of them with a high number.
        open_ = [os.open("/etc", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY), *os.pipe()]
        far = os.dup2(open_[0], 900)
        for descriptor in (*open_, far):
            os.set_inheritable(descriptor, True)
        try:
            # The fourth is ls's own, for the listing.
            shown = scene.output(scene.launch_of("/bin/ls", "/proc/self/fd"))
        finally:
            for descriptor in (*open_, far):
                os.close(descriptor)
        assert shown.split() == [b"0", b"1", b"2", b"3"]

    def test_no_descriptor_but_three_is_there_on_a_kernel_without_close_range(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(child_module, "mark_close_on_exec", lambda _: False)
        child_module._seal_inherited.cache_clear()
        descriptor = os.open("/etc", os.O_RDONLY)
        os.set_inheritable(descriptor, True)
        try:
            shown = scene.output(scene.launch_of("/bin/ls", "/proc/self/fd"))
        finally:
            os.close(descriptor)
        assert shown.split() == [b"0", b"1", b"2", b"3"]

    @pytest.mark.usefixtures("untidy")
    def test_no_signal_is_blocked_ignored_or_handled(self, scene: Scene) -> None:
        status = scene.status()
        assert int(status["SigBlk"], 16) == 0
        assert int(status["SigCgt"], 16) == 0
        assert int(status["SigIgn"], 16) & ~THREAD_SIGNALS == 0
        assert int(status["SigPnd"], 16) == int(status["ShdPnd"], 16) == 0

    def test_session_and_process_group_are_its_own_and_it_has_no_terminal(
        self, scene: Scene
    ) -> None:
        pid, parent, group, session, terminal, *_ = scene.stat()
        assert (parent, group, session, terminal) == (os.getpid(), pid, pid, 0)

    @pytest.mark.parametrize("umask", [0o000, 0o027, 0o177, 0o400, 0o777])
    def test_the_mask_of_file_modes_is_the_one_asked_for(self, scene: Scene, umask: int) -> None:
        assert scene.status(umask=umask)["Umask"] == f"{umask:04o}"

    def test_the_mask_of_file_modes_is_krond_s_otherwise(self, scene: Scene) -> None:
        own = os.umask(0o031)
        try:
            assert scene.status()["Umask"] == "0031"
        finally:
            os.umask(own)

    def test_the_directory_is_the_one_asked_for(self, scene: Scene) -> None:
        (scene.path / "é\udcff").mkdir()
        for cwd in ("/usr", str(scene.path / "é\udcff")):
            shown = scene.output(scene.launch_of("/bin/pwd", cwd=cwd))
            assert shown == os.fsencode(cwd) + b"\n"

    def test_the_directory_is_krond_s_otherwise(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(scene.path)
        assert scene.output(scene.launch_of("/bin/pwd")) == os.fsencode(scene.path) + b"\n"

    @pytest.mark.parametrize("cwd", ["/nowhere/at/all", "/etc/passwd", "/etc/passwd/x"])
    def test_a_missing_directory_means_the_root_where_it_may_lack(
        self, scene: Scene, cwd: str
    ) -> None:
        what = scene.launch_of("/bin/pwd", cwd=cwd, cwd_may_lack=True)
        assert scene.output(what) == b"/\n"

    def test_a_program_is_found_in_path(self, scene: Scene) -> None:
        script(scene.path / "bin" / "hello", "echo from bin")
        script(scene.path / "late" / "hello", "echo from late")
        path = f"/nowhere:{scene.path}/bin:{scene.path}/late"
        what = scene.launch_of("hello", env={b"PATH": path.encode()})
        assert scene.output(what) == b"from bin\n"

    def test_what_is_no_program_in_path_is_passed_over(self, scene: Scene) -> None:
        (scene.path / "directory" / "hello").mkdir(parents=True)
        script(scene.path / "closed" / "hello", "echo no", mode=0o644)
        script(scene.path / "late" / "hello", "echo from late")
        path = ":".join(f"{scene.path}/{name}" for name in ("directory", "closed", "late"))
        what = scene.launch_of("hello", env={b"PATH": path.encode()})
        assert scene.output(what) == b"from late\n"

    def test_without_a_path_the_usual_directories_are_searched(self, scene: Scene) -> None:
        assert scene.output(scene.launch_of("echo", "found", env={})) == b"found\n"

    @pytest.mark.parametrize("path", [b"bin", b"", b"/nowhere:"])
    def test_a_relative_path_begins_at_the_run_s_directory(self, scene: Scene, path: bytes) -> None:
        script(scene.path / "bin" / "hello", "echo hello")
        cwd = scene.path if path == b"bin" else scene.path / "bin"
        what = scene.launch_of("hello", env={b"PATH": path}, cwd=str(cwd))
        assert scene.output(what) == b"hello\n"

    def test_a_relative_program_begins_at_the_run_s_directory(self, scene: Scene) -> None:
        script(scene.path / "bin" / "hello", "echo hello")
        assert scene.output(scene.launch_of("bin/hello", cwd=str(scene.path))) == b"hello\n"

    def test_nothing_about_krond_has_changed(self, scene: Scene) -> None:
        before = surroundings()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        what = scene.launch_of("/bin/true", cwd="/usr", umask=0o077, stdin=0, stderr=2)
        scene.output(what.replace(open_files=(256, hard)))
        assert surroundings() == before
        assert no_child_is_left()

    def test_the_limit_of_open_files_is_the_one_for_children(self, scene: Scene) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in ((300, hard), (300, hard - 1), (hard, hard)):
            seen = scene.limits(open_files=wanted)["Max open files"]
            assert seen == (str(wanted[0]), str(wanted[1]))
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)

    def test_a_descriptor_beyond_the_limit_for_children_becomes_theirs(self, scene: Scene) -> None:
        """krond itself has more: one for every active run."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        reading, writing = os.pipe()
        high = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 300)
        os.close(writing)
        try:
            what = scene.launch_of("/bin/echo", "written", stdout=high)
            pid = launch(what.replace(open_files=(256, hard)))
        finally:
            os.close(high)
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read() == b"written\n"
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def test_exit_status_and_signal_come_through(self, scene: Scene) -> None:
        scene.output(scene.launch_of("/bin/sh", "-c", "exit 7"), status=7)
        scene.output(scene.launch_of("/bin/sh", "-c", "kill -USR1 $$"), status=-signal.SIGUSR1)
        # A program that writes to a pipe without a reader dies, as in a shell.
        reading, writing = os.pipe()
        os.close(reading)
        what = scene.launch_of("/bin/sh", "-c", "yes >&2", stderr=writing)
        scene.output(what, status=128 + signal.SIGPIPE)
        os.close(writing)

    def test_the_proof_is_krond_s_to_write_whatever_its_own_mask(self, scene: Scene) -> None:
        own = os.umask(0o277)
        try:
            what = scene.launch_of("/bin/true", umask=0o777)
            os.waitpid(launch(what), 0)
        finally:
            os.umask(own)
        assert scene.proof.stat().st_mode == 0o100600

    def test_the_proof_is_there_when_the_program_begins(self, scene: Scene) -> None:
        assert scene.output(scene.launch_of("/bin/ls", str(scene.runs))) == b"a-run\n"


def script(path: Path, line: str, mode: int = 0o755) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(mode)


@given(
    env=st.dictionaries(
        st.binary(min_size=1, max_size=8).filter(lambda key: not {0, 61} & set(key)),
        st.binary(max_size=20).filter(lambda value: 0 not in value),
    ),
    umask=st.none() | st.integers(0, 0o777),
    cwd=st.sampled_from(["", "/", "/usr", "/nowhere"]),
    low=st.booleans(),
    files=st.none() | st.integers(20, 200),
)
@hypothesis_settings(examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_the_ways_cannot_be_told_apart_from_inside(
    env: dict[bytes, bytes], umask: int | None, cwd: str, low: bool, files: int | None
) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    seen = []
    with pytest.MonkeyPatch.context() as patch, scene_of_its_own() as scene:
        for way in WAYS:
            only(way, patch.setattr)
            changes: dict[str, Any] = {"env": env, "umask": umask, "cwd": cwd, "cwd_may_lack": True}
            changes |= {"stdin": 0, "stderr": 2} if low else {}
            status = scene.status(**changes)
            signals = int(status.pop("SigIgn"), 16) & ~THREAD_SIGNALS
            kept = ("Uid", "Gid", "Groups", "Umask", "Sig", "Cap", "Seccomp", "NoNewPrivs")
            same = {key: value for key, value in status.items() if key.startswith(kept)}
            same.pop("SigQ")
            open_files = None if files is None else (files, hard)
            seen.append(
                (
                    signals,
                    same,
                    scene.sees("environ", **changes),
                    scene.limits(open_files=open_files, **changes),
                    scene.output(scene.launch_of("/bin/pwd", **changes)),
                    scene.output(scene.launch_of("/bin/ls", "/proc/self/fd", **changes)),
                )
            )
    assert all(each == seen[0] for each in seen)


ORDERS = f"""
import itertools, json, os, sys
from kron.krond.process.launch import launch
from kron.krond.process.steps import steps
from tests.krond.process.scene import descriptors, scene
from tests.krond.process.ways import WAYS, only
names = sys.argv[1:]
seen = []
with scene() as scene:
    before = descriptors()
    for way in WAYS:
        only(way)
        for order in itertools.product((0, 1, 2), repeat=3):
            result = str(scene.path / "result")
            what = scene.launch_of("/bin/sh", "-c", {SHOW_DESCRIPTORS!r}, result)
            pid = launch(what.replace(stdin=order[0], stdout=order[1], stderr=order[2]))
            os.waitpid(pid, 0)
            os.unlink(scene.proof)
            seen.append([order, open(result).read().strip().split("|")])
    leaked = descriptors() != before
with open(names[0], "w") as file:
    json.dump([seen, leaked], file)
"""


@pytest.mark.heavy
def test_krond_s_own_three_descriptors_can_be_given_in_any_order(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("in", "out", "err")]
    files = [path.open("w+") for path in paths]
    answer = tmp_path / "answer"
    program = [sys.executable, "-c", ORDERS, str(answer)]
    subprocess.run(program, stdin=files[0], stdout=files[1], stderr=files[2], check=True)
    for file in files:
        file.close()
    seen, leaked = json.loads(answer.read_text())
    assert not leaked
    assert len(seen) == len(WAYS) * 27
    for order, shown in seen:
        assert shown == [str(paths[number]) for number in order]


CLOSED = """
import json, os, sys
from kron.krond.process.failure import StartError
from kron.krond.process.launch import launch
from kron.krond.process.steps import steps
from tests.krond.process.scene import scene
from tests.krond.process.ways import WAYS, only
with scene() as scene:
    writing = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.closerange(0, 3)
    for way in WAYS:
        only(way)
        pid = launch(scene.launch_of("/bin/ls", "/proc/self/fd", stdout=writing))
        os.waitpid(pid, 0)
        os.unlink(scene.proof)
        try:
            launch(scene.launch_of("/no/such/program"))
        except StartError as error:
            os.write(writing, b"refused ")
"""


def test_a_krond_without_descriptors_of_its_own_starts_runs_all_the_same(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    subprocess.run([sys.executable, "-c", CLOSED, str(answer)], check=True)
    assert answer.read_text().split() == ["0", "1", "2", "3", "refused"] * len(WAYS)


def test_a_descriptor_more_is_not_needed_to_spawn(scene: Scene) -> None:
    """krond at its limit of open files can still start runs whose output is open already."""
    free = os.dup(scene.null)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        pid = launch(scene.launch_of("/bin/true"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize(
    ("changes", "is_spawned"),
    [
        pytest.param({}, True, id="as-krond-is"),
        pytest.param({"cwd": "/", "umask": 0o077}, True, id="directory-and-mask"),
        pytest.param({"nice": 0}, False, id="nice"),
        pytest.param({"limits": ((LimitedResource.CORE, 0),)}, False, id="limits"),
        pytest.param({"umask": 0o777}, False, id="a-mask-that-would-close-the-proof-to-krond"),
    ],
)
def test_a_run_is_spawned_wherever_that_can_be(
    scene: Scene, changes: dict[str, object], is_spawned: bool
) -> None:
    assert spawned.suits(scene.launch_of("/bin/true", **changes)) == is_spawned


NO_WAY_BACK = """
import os
from kron.krond.process import spawned
from tests.krond.process.scene import scene
with scene() as scene:
    own = scene.path / "own"
    own.mkdir()
    os.chdir(own)
    if os.geteuid() == 0:  # nothing is closed to root
        for path in (scene.path, scene.runs, own):
            os.chown(path, 65534, 65534)
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    own.chmod(0)
    assert not spawned.suits(scene.launch_of("/bin/true", cwd="/"))
    assert scene.output(scene.launch_of("/bin/pwd", cwd="/usr")) == b"/usr\\n"
    assert os.readlink("/proc/self/cwd") == str(own)
    own.chmod(0o700)
    print("came so far", flush=True)
    os._exit(0)  # it cannot remove a directory in somebody else's
"""


def test_a_krond_that_could_not_come_back_to_its_directory_forks(scene: Scene) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_WAY_BACK],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(scene.path)},
    )
    assert done.stdout == "came so far\n", done.stderr


class TestLimits:
    @pytest.mark.parametrize(
        ("name", "shown", "value"),
        [
            pytest.param(LimitedResource.NOFILE, "Max open files", 7, id="open-files"),
            pytest.param(LimitedResource.NPROC, "Max processes", 1, id="processes"),
            pytest.param(LimitedResource.AS, "Max address space", 16 << 20, id="address-space"),
            pytest.param(LimitedResource.CORE, "Max core file size", 0, id="core"),
        ],
    )
    def test_a_limit_is_soft_and_hard(
        self, scene: Scene, name: LimitedResource, shown: str, value: int
    ) -> None:
        limits = scene.limits(limits=((name, value),))
        assert limits[shown] == (str(value), str(value))

    def test_all_of_them_at_once_and_the_run_s_own_goes_before_krond_s(self, scene: Scene) -> None:
        given = {
            LimitedResource.NOFILE: 200,
            LimitedResource.NPROC: 9,
            LimitedResource.AS: 32 << 20,
            LimitedResource.CORE: 3,
        }
        limits = scene.limits(limits=tuple(given.items()), open_files=(100, 100))
        assert limits["Max open files"] == ("200", "200")
        assert limits["Max address space"] == (str(32 << 20), str(32 << 20))

    def test_a_small_address_space_is_the_run_s_concern_and_not_that_of_its_start(
        self, scene: Scene
    ) -> None:
        """Less than krond has itself, with much to do in the child before its program begins."""
        path = b"/nowhere:" * 100_000 + b"/usr/bin:/bin"
        env = {b"LONG%d" % number: b"x" * 100_000 for number in range(8)}
        limits = ((LimitedResource.AS, 16 << 20),)
        scene.output(scene.launch_of("true", env={b"PATH": path[-100_000:], **env}, limits=limits))

    def test_the_run_s_own_limit_of_open_files_may_be_above_that_for_children(
        self, scene: Scene
    ) -> None:
        limits = scene.limits(limits=((LimitedResource.NOFILE, 200),), open_files=(100, 100))
        assert limits["Max open files"] == ("200", "200")

    def test_a_lowered_address_space_is_the_last_thing_before_the_program(
        self, scene: Scene
    ) -> None:
        limits = ((LimitedResource.NPROC, 9), (LimitedResource.AS, 16 << 20))
        what = scene.launch_of("/bin/true", limits=limits)
        stages = [step.stage for step in steps(what, [b"/bin/true"], (0, 1, 2))]
        assert stages[2:4] == [StartStage.DESCRIPTORS, StartStage.LIMITS]
        assert stages[-3:] == [StartStage.SIGNALS, StartStage.LIMITS, StartStage.PROGRAM]

    def test_unlimited_is_unlimited(self, scene: Scene) -> None:
        limits = scene.limits(limits=((LimitedResource.AS, UNLIMITED),))
        assert limits["Max address space"] == ("unlimited", "unlimited")

    def test_krond_s_own_stay(self, scene: Scene) -> None:
        before = surroundings()
        scene.limits(limits=((LimitedResource.AS, 32 << 20), (LimitedResource.NOFILE, 9)), nice=5)
        assert surroundings() == before

    @pytest.mark.parametrize("nice", [0, 3, 19])
    def test_niceness_is_the_one_asked_for(self, scene: Scene, nice: int) -> None:
        assert scene.stat(nice=nice)[16] == nice
        assert os.getpriority(os.PRIO_PROCESS, 0) == 0


def test_signals_that_come_while_forking_reach_krond_and_not_its_handlers_in_the_child(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: came.append(os.getpid()))
    original = forked._leave_proof

    def disturbed(path: bytes) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getppid(), signal.SIGUSR1)
        original(path)

    only("forked", monkeypatch.setattr)
    monkeypatch.setattr(forked, "_leave_proof", disturbed)
    try:
        # Blocked until its program is about to begin, it then has its default: it ends the child.
        scene.output(scene.launch_of("/bin/true", nice=0), status=-signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert came == [os.getpid()]


@needs_launcher
def test_there_is_a_launcher_wherever_a_compiler_can_make_it(scene: Scene) -> None:
    """And it is used for what cannot be spawned: what krond executes is not itself."""
    assert launched.is_there()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fork", lambda: pytest.fail("it forked"))
        assert scene.stat(nice=4)[16] == 4


@needs_launcher
def test_the_launcher_does_not_look_at_the_environment_of_the_run(scene: Scene) -> None:
    """It is root, and the environment may be another user's: no loader, no C library."""
    header = launched.LAUNCHER.read_bytes()[:64]
    assert header[:4] == b"\x7fELF"
    done = subprocess.run(
        ["readelf", "--program-headers", "--wide", str(launched.LAUNCHER)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "INTERP" not in done.stdout
    assert "DYNAMIC" not in done.stdout
    env = {b"LD_PRELOAD": b"/nowhere.so", b"GLIBC_TUNABLES": b"glibc.malloc.check=3"}
    assert scene.sees("environ", env=env, nice=1).count(b"\0") == 2


@pytest.mark.heavy
def test_many_spawns_leave_nothing_but_their_proofs(scene: Scene) -> None:
    before = surroundings()
    for number in range(200):
        pid = launch(scene.launch_of("/bin/true", proof=str(scene.runs / str(number))))
        os.waitpid(pid, 0)
    assert surroundings() == before
    assert len(list(scene.runs.iterdir())) == 200
