"""A start that fails says why, and leaves nothing: no process, no zombie, no proof, no descriptor.

Whichever way it was to be started, the reason is the same.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import time
from collections.abc import Callable
from errno import EIO, ENOENT

import pytest

from kron.jobs.task import LimitedResource, Task
from kron.krond.process import forked, launched, report
from kron.krond.process import launch as launch_module
from kron.krond.process.failure import NotStarted, StartError, StartStage
from kron.krond.process.launch import Launch, begin, launch
from kron.krond.process.steps import Step
from kron.krond.state.lock import is_free
from tests.krond.process.expected import needs_launcher, refused
from tests.krond.process.scene import Scene, no_child_is_left, surroundings
from tests.krond.process.ways import FOR_OTHERS, WAYS, only
from tests.logbook import wait_for

MISSING = "No such file or directory"


def file(scene: Scene, text: str, mode: int = 0o755) -> str:
    path = scene.path / "file"
    path.write_bytes(text.encode())
    path.chmod(mode)
    return str(path)


def _closed(scene: Scene) -> Launch:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return scene.launch_of("/bin/true", stderr=descriptor)


def _in_path(scene: Scene, name: str, mode: int) -> Launch:
    file(scene, "#!/bin/sh\n", mode)
    return scene.launch_of(name, env={b"PATH": os.fsencode(scene.path)})


Making = Callable[[Scene], Launch]
FAILURES: dict[str, tuple[Making, str]] = {
    "no-such-program": (
        lambda s: s.launch_of("/no/such/program", "--secret"),
        'the program "/no/such/program" does not exist',
    ),
    "no-such-relative-program": (
        lambda s: s.launch_of("./program", cwd="/usr"),
        'the program "./program" does not exist',
    ),
    "no-such-program-in-path": (
        lambda s: s.launch_of("no-such-program"),
        'PATH has no program "no-such-program"',
    ),
    "not-executable": (
        lambda s: s.launch_of(file(s, "#!/bin/sh\n", 0o644)),
        'the program "{path}/file" may not be executed: '
        "check its mode, its directories and its mount",
    ),
    "not-executable-in-path": (
        lambda s: _in_path(s, "file", 0o644),
        'the program "file" in PATH may not be executed',
    ),
    "directory": (lambda s: s.launch_of("/usr"), '"/usr" is a directory, not a program'),
    "inside-a-file": (
        lambda s: s.launch_of("/etc/passwd/x"),
        'the program "/etc/passwd/x" cannot be started: Not a directory',
    ),
    "script-without-an-interpreter": (
        lambda s: s.launch_of(file(s, "touch ran\n")),
        '"{path}/file" is not a program: a script needs a first line such as #!/bin/sh',
    ),
    "script-in-path-without-an-interpreter": (
        lambda s: _in_path(s, "file", 0o755).replace(task=Task("", (file(s, "touch ran\n"),))),
        '"{path}/file" is not a program: a script needs a first line such as #!/bin/sh',
    ),
    "script-with-a-missing-interpreter": (
        lambda s: s.launch_of(file(s, "#!/no/such/sh\n")),
        'the interpreter of "{path}/file" is missing: a script names it in its first line',
    ),
    "empty-file": (
        lambda s: s.launch_of(file(s, "")),
        '"{path}/file" is not a program: a script needs a first line such as #!/bin/sh',
    ),
    "no-words": (lambda s: s.launch_of(), 'the program "" does not exist'),
    "empty-word": (lambda s: s.launch_of(""), 'the program "" does not exist'),
    "nul-in-a-word": (
        lambda s: s.launch_of("/bin/true", "a\0b"),
        'the command of "/bin/true" or its environment has a NUL byte, or a variable has no name',
    ),
    "nul-in-the-program": (
        lambda s: s.launch_of("/bin/tr\0ue"),
        'the command of "/bin/tr\\x00ue" or its environment has a NUL byte, '
        "or a variable has no name",
    ),
    "nul-in-the-name-of-a-program-in-path": (
        lambda s: s.launch_of("tr\0ue"),
        'the command of "tr\\x00ue" or its environment has a NUL byte, or a variable has no name',
    ),
    "a-variable-with-two-names": (
        lambda s: s.launch_of("/bin/true", env={b"A=B": b"a"}),
        'the command of "/bin/true" or its environment has a NUL byte, or a variable has no name',
    ),
    "nul-in-the-environment": (
        lambda s: s.launch_of("/bin/true", env={b"A": b"a\0b"}),
        'the command of "/bin/true" or its environment has a NUL byte, or a variable has no name',
    ),
    "a-variable-without-a-name": (
        lambda s: s.launch_of("/bin/true", env={b"": b"a"}),
        'the command of "/bin/true" or its environment has a NUL byte, or a variable has no name',
    ),
    "lone-surrogate": (
        lambda s: s.launch_of("/bin/true", "\ud800"),
        'the command of "/bin/true" or its environment has a NUL byte, or a variable has no name',
    ),
    "too-long": (
        lambda s: s.launch_of("/bin/true", "x" * 200_000),
        'the command of "/bin/true" and its environment are too long together',
    ),
    "directory-missing": (
        lambda s: s.launch_of("/bin/true", cwd="/nowhere"),
        f'its directory "/nowhere" cannot be entered: {MISSING}',
    ),
    "directory-that-is-a-file": (
        lambda s: s.launch_of("/bin/true", cwd="/etc/passwd"),
        'its directory "/etc/passwd" cannot be entered: Not a directory',
    ),
    "directory-with-nul": (
        lambda s: s.launch_of("/bin/true", cwd="/\0", cwd_may_lack=True),
        'its directory "/\\x00" cannot be entered: Invalid argument',
    ),
    "proof-directory-missing": (
        lambda s: s.launch_of("/bin/true", proof="/nowhere/proof"),
        f"its proof cannot be written: {MISSING}",
    ),
    "descriptor-closed": (_closed, "its input and output cannot be set up: Bad file descriptor"),
    "descriptor-below-nothing": (
        lambda s: s.launch_of("/bin/true", stdin=-1),
        "its input and output cannot be set up: Bad file descriptor",
    ),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_start_says_why_and_leaves_nothing(scene: Scene, name: str) -> None:
    make, reason = FAILURES[name]
    error = refused(scene, make(scene))
    assert error.reason == reason.replace("{path}", str(scene.path))
    assert error.for_good


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["file", "full", "directory", "dangling-link"])
def test_what_has_its_proof_is_never_started_again(scene: Scene, kind: str) -> None:
    if kind == "directory":
        scene.proof.mkdir()
    elif kind == "dangling-link":
        scene.proof.symlink_to(scene.path / "elsewhere")
    else:
        scene.proof.write_text("pid=1" if kind == "full" else "")
    # Both with a program that would succeed and with one that would not.
    ran = str(scene.path / "ran")
    for what in (
        scene.launch_of("/bin/touch", ran),
        scene.launch_of("/no/such/program"),
        scene.launch_of("/bin/touch", ran, env={b"A": b"a\0b"}),
    ):
        error = refused(scene, what)
        assert error.reason == "its proof exists already: it has been started before"
        assert error.for_good
    if kind == "full":
        assert scene.proof.read_text() == "pid=1"
    assert not (scene.path / "elsewhere").exists()


@pytest.mark.usefixtures("way")
def test_a_proof_that_appears_in_the_last_moment_is_another_s_and_stays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had not been there when krond looked: the child's own attempt decides."""
    monkeypatch.setattr(launch_module, "seal", lambda: scene.proof.write_text("another"))
    with pytest.raises(StartError, match="its proof exists already"):
        launch(scene.launch_of("/bin/touch", str(scene.path / "ran")))
    assert scene.proof.read_text() == "another"
    assert not (scene.path / "ran").exists()
    assert no_child_is_left()


@pytest.mark.usefixtures("way")
def test_want_of_descriptors_is_not_for_good(scene: Scene) -> None:
    free = os.dup(scene.null)
    os.close(free)
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    for changes in ({"stdin": 0}, {"nice": 0}, {"cwd": "/"}):
        before = surroundings()
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, own[1]))
        try:
            with pytest.raises(StartError, match="Too many open files") as caught:
                launch(scene.launch_of("/bin/true", **changes))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, own)
        assert not caught.value.for_good
        assert surroundings() == before
        assert no_child_is_left()
        assert not scene.proof.exists()


@pytest.mark.usefixtures("way")
def test_a_proof_that_cannot_be_removed_makes_a_failure_one_for_good(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the next attempt would take it for the proof of a run."""

    def broken(path: str) -> None:
        raise OSError(EIO, os.strerror(EIO))

    monkeypatch.setattr(launch_module, "PASSING", {ENOENT})
    monkeypatch.setattr(os, "unlink", broken)
    with pytest.raises(StartError) as caught:
        launch(scene.launch_of("/no/such/program"))
    monkeypatch.undo()
    assert caught.value.for_good
    assert caught.value.reason == (
        'the program "/no/such/program" does not exist; '
        "its proof cannot be removed: Input/output error"
    )
    assert no_child_is_left()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param(
            {"limits": ((LimitedResource.NOFILE, 2**31),)},
            "a limit is higher than krond's own, and krond may not raise it",
            id="more-than-the-kernel-has",
        ),
        pytest.param(
            {"limits": ((LimitedResource.CORE, 2**70),)},
            "its limits cannot be set: Invalid argument",
            id="no-number-of-the-kernel's",
        ),
    ],
)
def test_limits_that_cannot_be_set_stop_the_run(
    scene: Scene, changes: dict[str, object], reason: str
) -> None:
    error = refused(scene, scene.launch_of("/bin/true", **changes))
    assert (error.reason, error.for_good) == (reason, True)


@pytest.mark.parametrize("way", FOR_OTHERS, indirect=True)
def test_a_child_that_hangs_is_ended_and_the_others_do_not_wait_for_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """As in the home directory on a server that does not answer."""
    monkeypatch.setattr(report, "PATIENCE_S", 0.1)
    error = refused(scene, scene.launch_of("/bin/true", cgroup=scene.gate()))
    assert error.reason.startswith("it hung before its program began")
    assert error.for_good
    assert report._unreaped == []


@pytest.mark.parametrize("way", FOR_OTHERS, indirect=True)
def test_children_that_hang_at_the_same_time_are_waited_for_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(report, "PATIENCE_S", 0.3)
    gate = scene.gate()
    began_s = time.monotonic()
    hanging = [
        begin(scene.launch_of("/bin/true", cgroup=gate, proof=str(scene.runs / str(number))))
        for number in range(40)
    ]
    for each in hanging:
        with pytest.raises(StartError, match="it hung before"):
            each.confirm()
    assert time.monotonic() - began_s < 20 * report.PATIENCE_S
    assert no_child_is_left()


def test_a_child_that_was_stopped_after_its_report_does_not_keep_krond_waiting() -> None:
    """Its user may do that, once it has the user's id."""
    pipe = report.Report([Step(StartStage.SEARCH, "search")], has_proof=False)
    pid = os.fork()
    if pid == 0:
        report.report_failure(pipe.writing, ENOENT, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    pipe.close_writing()
    with pytest.raises(NotStarted) as caught:
        pipe.wait(pid)
    assert (caught.value.stage, caught.value.error) == (StartStage.SEARCH, ENOENT)
    assert no_child_is_left()


@pytest.mark.parametrize("way", FOR_OTHERS, indirect=True)
def test_a_child_holds_the_locks_exactly_until_its_program_begins(scene: Scene, way: str) -> None:
    """So that the next krond waits for the children of one that was killed."""
    gate = scene.gate()
    places = (scene.path, scene.runs)
    locks = tuple(os.open(place, os.O_RDONLY | os.O_CLOEXEC) for place in places)
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    beginning = begin(scene.launch_of("/bin/sleep", "600", cgroup=gate, locks=locks))
    for lock in locks:
        os.close(lock)  # as if krond were gone
    others = [os.open(place, os.O_RDONLY | os.O_CLOEXEC) for place in places]
    try:
        assert not any(map(is_free, others))
        reading = os.open(gate.entrance, os.O_RDONLY)  # lets it go on
        beginning.confirm()
        os.close(reading)
        # The exec closes one descriptor after the other.
        wait_for(lambda: all(map(is_free, others)), "the locks")
    finally:
        for other in others:
            os.close(other)
        os.kill(beginning.pid, signal.SIGKILL)
        os.waitpid(beginning.pid, 0)


@needs_launcher
def test_a_launcher_that_is_gone_is_done_without(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade of its package."""
    monkeypatch.setattr(launched, "_program", os.fsencode(scene.path / "launcher"))
    before = surroundings()
    assert scene.stat(nice=3)[16] == 3
    assert surroundings() == before


@needs_launcher
def test_a_damaged_launcher_is_done_without(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an upgrade with a full disk: it would look like a run that was killed."""
    whole = launched.LAUNCHER.read_bytes()
    before = surroundings()
    for number, damaged in enumerate((b"", whole[:3000], b"#!/bin/true\n", b"#!/bin/false\n")):
        file = scene.path / f"launcher{number}"
        file.write_bytes(damaged)
        file.chmod(0o755)
        monkeypatch.setattr(launched, "LAUNCHER", file)
        monkeypatch.setattr(launched, "_program", os.fsencode(file))
        launched.is_there.cache_clear()
        assert not launched.is_there()
        assert scene.stat(nice=3)[16] == 3
    assert surroundings() == before
    assert no_child_is_left()
    monkeypatch.undo()
    launched.is_there.cache_clear()
    assert launched.is_there()


@needs_launcher
def test_a_step_that_the_launcher_does_not_know_is_an_error(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves none out: the program would run with rights that it should not have."""
    for broken in (("nonsense", 1), ("nice", b"much"), ("user", b"0x10"), ("limit", 1, 2**64, 1)):
        with monkeypatch.context() as patch:
            given = Step(StartStage.NICE, *broken)
            patch.setattr(launched, "steps", lambda *_, given=given: [given])
            error = refused(scene, scene.launch_of("/bin/touch", str(scene.path / "ran"), nice=1))
        assert error.reason == "its niceness cannot be set: Invalid argument"


@pytest.mark.parametrize("raised", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_goes_wrong_in_the_child_it_never_goes_on_as_a_second_krond(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
) -> None:
    def broken() -> None:
        raise raised

    pid = os.getpid()
    only("forked", monkeypatch.setattr)
    monkeypatch.setattr(forked, "_default_signals", broken)
    error = refused(scene, scene.launch_of("/bin/true", nice=0))
    assert os.getpid() == pid
    assert error.reason.startswith("its signals cannot be set up: ")
    assert error.for_good == (raised is not MemoryError)


@pytest.mark.heavy
def test_a_reason_tells_no_arguments_and_no_environment(scene: Scene) -> None:
    for name, (make, _) in FAILURES.items():
        what = make(scene)
        argv = what.task.argv
        secret = what.replace(
            task=what.task.replace(argv=(*argv, "--password=hunter2") if argv else ()),
            env={**what.env, b"TOKEN": b"hunter2"},
        )
        for way in WAYS:
            with pytest.MonkeyPatch.context() as patch:
                only(way, patch.setattr)
                assert "hunter2" not in refused(scene, secret).reason, (name, way)
