"""Outputs that krond keeps: one file for each run, whatever is printed and whoever is killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from kron.krond.output.layout import MARK_BYTES
from kron.krond.output.names import directory_name
from kron.logs.event import Level
from tests.krond.children import NEVER, descriptors_of, is_alive, mode_of, open_directory
from tests.krond.disk import tmpfs
from tests.krond.output.keeping import Keeper
from tests.krond.process.expected import needs, needs_root
from tests.logbook import wait_for

UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"


def test_a_run_in_the_background_has_a_file_of_its_own_for_both_streams(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        speak = ["for n in 1 2 3; do echo out $n; echo error $n >&2; done", "printf 'no newline'"]
        host.write(
            host.job("some/job", *speak),
            host.job("inherits", *speak, fields="stdout=inherit stderr=inherit"),
            host.job("binary", "head -c 300000 /bin/sh"),
            host.job("silent", "true"),
            host.job("half", *speak, fields="stdout=discard"),
        )
        pid = host.begin()
        both = "".join(f"out {n}\nerror {n}\n" for n in (1, 2, 3)) + "no newline"
        assert host.run("some/job") == both.encode()
        assert host.run("some/job") == both.encode()
        first, second = host.files("some-job")
        assert first.name < second.name
        assert (mode_of(first), mode_of(first.parent), mode_of(host.outputs)) == (
            0o640,
            0o750,
            0o750,
        )
        assert host.run("inherits") == both.encode(), "krond has no output to inherit"
        assert host.run("binary") == Path("/bin/sh").read_bytes()[:300_000]
        assert host.run("half") == b"error 1\nerror 2\nerror 3\n"
        host.wait_for_run("exited", host.trigger("silent"))
        assert host.files("silent") == []
        assert (host.state / "krond.out").read_bytes() == b""
        assert len(host.collectors()) == 1
        host.has_no_zombie(pid)
        assert not [each for each in descriptors_of(pid) if each.startswith("pipe:")][2:]


def test_in_the_foreground_it_is_kept_if_the_line_says_so(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("kept", "echo kept", fields="stdout=keep"), host.job("own", "echo own"))
        host.start("--output-dir", str(host.outputs))
        host.wait_for_run("exited", host.trigger("own"))
        assert host.said() == "own\n"
        assert host.run("kept") == b"kept\n"
        assert host.said() == "own\n"


@needs("logger")
@needs_root
def test_a_run_of_another_user_gets_nothing_but_a_pipe() -> None:
    lines = ["id -un", "readlink /proc/self/fd/1", "echo again > /dev/stdout"]
    with open_directory() as directory, Keeper(directory) as host:
        to_syslog = "user=nobody stdout=syslog stderr=keep"
        host.write(
            host.job("other", *lines, fields="user=nobody"),
            host.job(
                "syslog", "owner=$(stat -Lc %U /proc/$$/fd/1)", "echo $owner >&2", fields=to_syslog
            ),
        )
        host.begin()
        user, stream, again = host.run("other").decode().split()
        assert again == "again", "the pipe is its own, to open by name"
        assert user == "nobody"
        assert stream.startswith("pipe:")
        (file,) = host.files("other")
        assert file.stat().st_uid == os.geteuid()
        assert host.run("syslog") == b"nobody\n", "so is its pipe to the logger"


@needs_root
def test_no_output_can_stop_krond_or_fill_more_than_its_limit() -> None:
    """An unprivileged `yes | head -c 40000000` once ended root's krond."""
    with (
        open_directory() as directory,
        tmpfs(directory / "disk", "1m") as disk,
        Keeper(directory) as host,
    ):
        disk.chmod(0o755)
        host.outputs = disk / "outputs"
        flood = ["yes | head -c 40000000"]
        host.write(
            host.job("small", *flood, fields="user=nobody output_limit=64K"),
            host.job("flood", *flood, "exit 3", fields="user=nobody"),
            host.job("other", "echo well"),
        )
        host.begin()
        assert len(host.run("small")) == 64 * 2**10 + MARK_BYTES
        run_id = host.trigger("flood")
        assert host.wait_for_run("exited", run_id)["exit_code"] == "3"
        host.wait_until_complete(host.file_of(run_id))
        (lost,) = host.wait_for_events("error", "flood")
        assert lost.level is Level.WARN
        assert "No space left on device" in str(lost["error"])
        assert run_id in str(lost["error"])
        for path in host.files("flood"):
            path.unlink()
        assert host.run("other") == b"well\n", "and there is room again"


def test_a_run_that_prints_for_ever_never_has_more_on_disk_than_its_limit(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo first", "exec yes", fields="output_limit=100K"))
        host.begin()
        run_id = host.trigger("job")
        file = host.file_of(run_id)
        wait_for(lambda: file.stat().st_size > 100 * 2**10, "it has more than its limit")
        shown = host.command("output", "job").stdout
        assert shown.startswith("first\ny\n")
        assert "[krond left out " in shown
        os.kill(host.pid_of(run_id), signal.SIGKILL)
        host.wait_for_run("exited", run_id)
        kept = host.wait_until_complete(file)
        assert len(kept) == 100 * 2**10 + MARK_BYTES
        assert kept.startswith(b"first\n")
        assert kept.count(b"[krond left out ") == 1


def test_what_a_run_leaves_in_the_background_is_kept_as_well(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo run", f"({UNTIL_GO}; echo left) &"))
        host.begin()
        run_id = host.trigger("job")
        host.wait_for_run("exited", run_id)
        assert host.file_of(run_id).read_bytes() == b"run\n"
        host.path("go").touch()
        assert wait_for_text(host, run_id, b"run\nleft\n")


def test_many_runs_at_once_are_kept_by_one_process(tmp_path: Path) -> None:
    count = 500
    with Keeper(tmp_path) as host:
        os.mkfifo(host.path("gate"))
        script = host.script("job", "echo $KRON_JOB", "read line < gate", "echo over")
        host.write(*(f"{NEVER} name=job{n} command={script}" for n in range(count)))
        host.begin()
        runs = [host.trigger(f"job{n}") for n in range(count)]
        wait_for(lambda: len(list(host.outputs.glob("*/*.log"))) == count, "all have begun")
        assert len(host.collectors()) == 1
        wait_for(lambda: _open_gate(host, count), "all have ended")
        for number, run_id in enumerate(runs):
            assert wait_for_text(host, run_id, f"job{number}\nover\n".encode())


def _open_gate(host: Keeper, count: int) -> bool:
    """Let all through that wait by now. Whether all have ended."""
    with suppress(OSError):  # none waits in this very moment
        os.close(os.open(host.path("gate"), os.O_WRONLY | os.O_NONBLOCK))
    return len(host.events("exited")) == count


class TestKilled:
    """kill -9, in the middle of it."""

    NUMBERS = 400_000
    WHOLE = "".join(f"{number}\n" for number in range(1, NUMBERS + 1)).encode()

    def test_the_collector_is_killed_and_another_goes_on(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            step = "seq ${n}0000 ${n}9999; n=$((n+1))"
            lines = ["n=1", f"until [ -e go ]; do {step}; done"]
            host.write(host.job("job", *lines, fields="output_limit=64M"))
            pid = host.begin()
            run_id = host.trigger("job")
            file = host.file_of(run_id)
            for _ in range(4):
                wait_for_growth(file)
                before = len(host.events("error"))
                os.kill(host.collector(), signal.SIGKILL)
                host.wait_for_events("error", count=before + 1)
            wait_for_growth(file)
            host.path("go").touch()
            assert host.wait_for_run("exited", run_id)["exit_code"] == "0"
            numbers = [int(line) for line in host.wait_until_complete(file).split()]
            assert numbers == list(range(10_000, numbers[-1] + 1))
            assert numbers[-1] % 10_000 == 9_999
            host.has_no_zombie(pid)

    def test_krond_is_killed_and_the_output_of_its_runs_is_kept(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            lines = ["echo begun", UNTIL_GO, f"seq 1 {self.NUMBERS}"]
            host.write(host.job("job", *lines, fields="output_limit=16M"))
            host.begin()
            run_id = host.trigger("job")
            file = host.file_of(run_id)
            (collector,) = host.collectors()
            host.kill_krond()
            host.begin()
            assert host.wait_for_event("adopted")["run_id"] == run_id
            host.path("go").touch()
            host.wait_for_run("exited", run_id)
            assert host.wait_until_complete(file) == b"begun\n" + self.WHOLE
            wait_for(lambda: not is_alive(collector), "it ends with its last writer")

    def test_krond_is_killed_before_it_has_read_what_the_collector_says(
        self, tmp_path: Path
    ) -> None:
        with Keeper(tmp_path) as host:
            host.write(
                host.job("lost", UNTIL_GO, "echo lost"),
                host.job("job", "echo begun", "until [ -e on ]; do sleep 0.02; done", "echo ended"),
            )
            pid = host.begin()
            (host.outputs / directory_name(f"{host.config}:lost", "lost")).touch()
            host.trigger("lost")
            run_id = host.trigger("job")
            host.file_of(run_id)
            collector = host.collector()
            os.kill(pid, signal.SIGSTOP)

            def has_reported() -> bool:
                pipes = [each for each in descriptors_of(collector) if each.startswith("pipe:")]
                return len(pipes) == 1 and is_quiet(collector)

            host.path("go").touch()
            wait_for(has_reported, "it has reported")
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not is_alive(pid), "krond is gone")
            host.path("on").touch()
            assert wait_for_text(host, run_id, b"begun\nended\n")
            wait_for(lambda: not is_alive(collector), "it ends with its last pipe")
            assert (host.state / "krond.out").read_bytes() == b""

    def test_a_collector_has_neither_the_lock_nor_the_socket_of_krond(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            host.write(host.job("job", "echo begun", UNTIL_GO))
            host.begin()
            run_id = host.trigger("job")
            host.file_of(run_id)
            collector = host.collector()
            held = [each for each in descriptors_of(collector) if str(host.state) in each]
            assert held == [], "whoever stops krond can unmount its disk"
            assert Path(f"/proc/{collector}/cwd").readlink() == Path("/")
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
                os.kill(collector, number)
            assert os.getsid(collector) == collector
            host.path("go").touch()
            host.wait_for_run("exited", run_id)
            assert host.run("job") == b"begun\n"
            assert host.collectors() == [collector]
            host.kill_krond()
            wait_for(lambda: not is_alive(collector), "it has no reason to stay")

    def test_a_collector_that_does_not_answer_gets_company(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            host.write(
                host.job("begun", "echo begun", UNTIL_GO),
                host.job("job", "seq 100000"),  # more than a pipe holds
            )
            pid = host.begin()
            begun = host.trigger("begun")
            host.file_of(begun)
            first = host.collector()
            os.kill(first, signal.SIGSTOP)
            assert host.run("job") == b"".join(b"%d\n" % n for n in range(1, 100_001))
            assert len(host.collectors()) == 2
            os.kill(first, signal.SIGCONT)
            host.path("go").touch()
            host.wait_for_run("exited", begun)
            wait_for(lambda: not is_alive(first), "it ends with its last pipe")
            assert host.collectors() == [host.collector()]
            wait_for(lambda: is_quiet(pid), "krond sleeps", 5)
            host.has_no_zombie(pid)
            (error,) = host.events("error")
            assert "does not answer" in str(error["error"])


def test_outputs_are_removed_by_their_number(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo $KRON_RUN_ID"))
        host.begin("--output-keep", "2")
        last = [host.run("job") for _ in range(4)][-2:]
        wait_for(lambda: len(host.files("job")) == 2, "two are left")
        assert sorted(path.read_bytes() for path in host.files("job")) == sorted(last)


def test_neither_krond_nor_its_collector_wakes_up_while_nothing_is_printed(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo begun", UNTIL_GO))
        pid = host.begin()
        host.file_of(host.trigger("job"))
        collector = host.collector()
        host.ask("status")
        wait_for(lambda: is_quiet(pid, collector), "both sleep", 5)


def test_hostile_entries_cost_the_output_and_nothing_else(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo secret", "exit 3"))
        host.begin()
        host.run("job")
        (directory,) = host.outputs.iterdir()
        for path in host.files("job"):
            path.unlink()
        directory.rmdir()
        target = tmp_path / "target"
        target.mkdir()
        directory.symlink_to(target)
        run_id = host.trigger("job")
        assert host.wait_for_run("exited", run_id)["exit_code"] == "3"
        lost = host.wait_for_event("error", "job")
        assert "symbolic link" in str(lost["error"])
        assert list(target.iterdir()) == []


def test_outputs_are_never_in_the_state_directory(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.state.mkdir(0o700)
        (tmp_path / "link").symlink_to(host.state)
        for inside in (host.state, host.state / "x", tmp_path / "link" / "x"):
            done = host.command("start", "--config", str(host.config), "--output-dir", str(inside))
            assert done.returncode == 64
            assert "is in the state directory" in done.stderr


def is_quiet(*pids: int) -> bool:
    """Whether none of them wakes up for a while."""

    def switches() -> list[str]:
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
        return [text.partition("voluntary_ctxt_switches:")[2] for text in texts]

    before = switches()
    time.sleep(0.7)
    return switches() == before


def wait_for_growth(file: Path) -> None:
    size = file.stat().st_size
    wait_for(lambda: file.stat().st_size > size + 50_000, "it goes on")


def wait_for_text(host: Keeper, run_id: str, text: bytes) -> bool:
    return wait_for(lambda: host.file_of(run_id).read_bytes() == text, f"{text!r} is kept")
