"""Going into the background, with real processes: the command ends as the daemon says."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kron.core.errors import Code, KronError
from kron.krond.background import Background, Foreground

PROGRAM = """
import json, os, signal, sys, time
from kron.krond.background import Background
print("before the fork")
background = Background.start("krond.out")
def tell():
    # To a pipe that the test opens when the command has ended: it shows who is still there.
    pipe = os.open({pipe!r}, os.O_WRONLY)
    facts = {{
        "pid": os.getpid(), "sid": os.getsid(0), "pgid": os.getpgid(0), "cwd": os.getcwd(),
        "descriptors": {{n: os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd")
                        if os.path.exists("/proc/self/fd/" + n) and int(n) != pipe}},
        "environment": os.environ.get("KRON_TEST"),
    }}
    os.write(pipe, json.dumps(facts).encode() + b"\\n")
    return pipe
{body}
"""


def command(tmp_path: Path, body: str) -> list[str]:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    return [sys.executable, "-c", PROGRAM.format(pipe=str(pipe), body=body)]


def start(tmp_path: Path, body: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command, from its start to its end, whatever the daemon does afterwards."""
    return subprocess.run(
        command(tmp_path, body),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **options,
    )


def facts(tmp_path: Path) -> dict[str, Any]:
    with (tmp_path / "pipe").open() as pipe:
        told: dict[str, Any] = json.loads(pipe.readline())
        assert pipe.read() == ""  # until it has ended
    return told


def output(tmp_path: Path) -> str:
    return (tmp_path / "krond.out").read_text()


def test_the_command_ends_when_the_daemon_is_ready_and_the_daemon_goes_on(tmp_path: Path) -> None:
    ended = start(tmp_path, "background.ready()\ntell()", env={**os.environ, "KRON_TEST": "kept"})
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "before the fork\n", "")
    daemon = facts(tmp_path)
    assert daemon["cwd"] == "/"
    assert daemon["environment"] == "kept"
    assert daemon["sid"] == daemon["pgid"]
    assert daemon["sid"] != daemon["pid"], "the leader of a session could get a terminal"
    assert daemon["sid"] != os.getsid(0)
    written = str(tmp_path / "krond.out")
    assert daemon["descriptors"] == {"0": "/dev/null", "1": written, "2": written}


def test_it_is_waited_for_though_the_shell_ignores_the_ends_of_children(tmp_path: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    ended = start(tmp_path, "background.ready()\ntell()", preexec_fn=ignore)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert facts(tmp_path)["cwd"] == "/"


def test_its_output_is_appended_to_a_file_for_its_owner_only(tmp_path: Path) -> None:
    (tmp_path / "krond.out").write_text("from last week\n")
    (tmp_path / "krond.out").unlink()
    body = "print('to stdout', flush=True); print('to stderr', file=sys.stderr)\nbackground.ready()"
    before = os.umask(0)
    try:
        start(tmp_path, body)
    finally:
        os.umask(before)
    assert output(tmp_path) == "to stdout\nto stderr\n"
    assert stat.S_IMODE((tmp_path / "krond.out").stat().st_mode) == 0o600
    (tmp_path / "pipe").unlink()
    start(tmp_path, body)
    assert output(tmp_path) == "to stdout\nto stderr\n" * 2


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_start_that_fails_shows_why_and_ends_with_its_code(tmp_path: Path, code: int) -> None:
    text = "jobs.kron:3: the hour 25 is not 0 to 23\n  0 25 * * *"
    ended = start(tmp_path, f"sys.exit(background.failed({code}, {text!r}))")
    assert (ended.returncode, ended.stderr) == (code, text + "\n")
    assert output(tmp_path) == text + "\n"


def test_a_long_and_odd_text_is_shown_whole(tmp_path: Path) -> None:
    ended = start(
        tmp_path, "background.failed(1, 'é' * 150_000 + chr(0xd800)); print('end', flush=True)"
    )
    assert ended.stderr == "é" * 150_000 + "\\ud800\n"
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        pytest.param("os._exit(9)", 9, "exit status 9", id="exit"),
        pytest.param("os._exit(0)", 1, "exit status 0", id="exit-without-failure"),
        pytest.param("os.kill(os.getpid(), 9)", 137, "killed by SIGKILL", id="signal"),
        pytest.param("os.kill(os.getpid(), 40)", 168, "killed by signal 40", id="real-time-signal"),
        pytest.param("raise RuntimeError('a bug')", 1, "exit status 1", id="traceback"),
    ],
)
def test_a_daemon_that_dies_without_a_word_is_told_with_its_status(
    tmp_path: Path, body: str, code: int, said: str
) -> None:
    ended = start(tmp_path, body)
    assert ended.stderr == (
        f"krond ended before it was ready: {said}; its output is in krond.out\n"
    )
    assert ended.returncode == code
    assert ("RuntimeError: a bug" in output(tmp_path)) == ("a bug" in body)


def test_what_the_shell_left_open_is_closed(tmp_path: Path) -> None:
    lock = os.open(tmp_path / "lock of a script", os.O_CREAT | os.O_RDWR)
    start(tmp_path, "background.ready()\ntell()", pass_fds=(lock,))
    os.close(lock)
    assert sorted(facts(tmp_path)["descriptors"]) == ["0", "1", "2"]


def test_it_starts_with_its_standard_descriptors_closed(tmp_path: Path) -> None:
    arguments = command(tmp_path, "background.ready()\ntell()")
    shell = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *arguments]
    ended = subprocess.run(shell, cwd=tmp_path, timeout=30, check=False)
    assert ended.returncode == 0
    assert sorted(facts(tmp_path)["descriptors"]) == ["0", "1", "2"]


def test_an_interrupt_while_it_starts_stops_it(tmp_path: Path) -> None:
    body = "pipe = tell()\nsignal.pause()"
    with subprocess.Popen(
        command(tmp_path, body), cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as running:
        with (tmp_path / "pipe").open() as pipe:
            pipe.readline()  # it has started
            running.send_signal(signal.SIGINT)
            assert pipe.read() == ""  # it has ended
        _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (130, b"interrupted: krond was asked to stop\n")


def test_a_daemon_whose_starter_was_killed_goes_on(tmp_path: Path) -> None:
    body = (
        "os.kill(os.getppid(), 9)\n"
        "while os.getppid() == os.getsid(0): time.sleep(0.001)\n"
        "background.ready()\ntell()"
    )
    ended = start(tmp_path, body)
    assert ended.returncode == 1
    assert ended.stderr == (
        "it is not known whether krond is ready: its go-between was killed by SIGKILL\n"
    )
    assert facts(tmp_path)["cwd"] == "/"


def test_no_process_stays_but_the_daemon(tmp_path: Path) -> None:
    start(tmp_path, "background.ready()\npipe = tell()\nsignal.pause()")
    with (tmp_path / "pipe").open() as pipe:
        daemon = json.loads(pipe.readline())
        sessions = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(entry.read_text().rpartition(")")[2].split()[3])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if session == daemon["sid"]:
                sessions.append(int(entry.parent.name))
        assert sessions == [daemon["pid"]]
        os.kill(daemon["pid"], signal.SIGKILL)
        assert pipe.read() == ""


@pytest.mark.parametrize("path", ["missing/krond.out", "", "nul\0byte", "."])
def test_an_output_that_cannot_be_opened_is_refused_before_anything_is_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it forked"))
    with pytest.raises(KronError, match=r"the output file .* cannot be opened") as caught:
        Background.start(path)
    assert caught.value.code is Code.FILE_UNWRITABLE


def test_the_foreground_says_the_same_on_its_own_standard_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    foreground = Foreground()
    foreground.ready()
    assert foreground.failed(2, "the state is newer") == 2
    assert capfd.readouterr() == ("", "the state is newer\n")
