"""`krond output` finds outputs by itself, and says of a missing one only what is known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.krond.children import NEVER
from tests.krond.output.keeping import Keeper
from tests.krond.process.expected import needs_root
from tests.logbook import PATIENCE_S, wait_for

UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"


def shown(host: Keeper, *words: str) -> tuple[int, str, str]:
    """`krond output <words>`: exit code, output, errors. It has to find the directory itself."""
    done = host.command("output", *words)
    return done.returncode, done.stdout, done.stderr


def test_why_nothing_is_kept_is_said_as_far_as_it_is_known(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        elsewhere = tmp_path / "elsewhere.txt"
        host.write(
            host.job("silent", "true"),
            host.job("lost", "echo x"),
            host.job("file", "echo x", fields=f"stdout=file:{elsewhere}"),
            host.job("discard", "echo x", fields="stdout=discard"),
            host.job("journal", "true", fields="stdout=journal stderr=discard"),
            host.job("unstarted", "echo x", fields=f"env_file={tmp_path}/nosuch"),
            host.job("active", UNTIL_GO),
        )
        host.begin()
        runs = {}
        for name in ("silent", "file", "discard", "journal"):
            runs[name] = host.trigger(name)
            host.wait_for_run("exited", runs[name])
        host.outputs.chmod(0o777)
        host.wait_for_run("exited", host.trigger("lost"))
        assert "0777" in str(host.wait_for_event("error", "lost")["error"])
        assert host.command("trigger", "unstarted").returncode == 1
        host.wait_for_run("started", host.trigger("active"))
        for name, why in (
            ("silent", "a run that prints nothing has none, and krond's log says what was lost"),
            ("lost", "a run that prints nothing has none, and krond's log says what was lost"),
            ("file", f"its stdout goes to file:{elsewhere}"),
            ("discard", "its stdout is discarded"),
            (
                "journal",
                f"its stdout goes to the journal (journalctl KRON_RUN_ID={runs['journal']}), "
                "its stderr is discarded",
            ),
            ("active", "it is still active"),
        ):
            text = f'krond: no output of the last run of "{name}" is kept: {why}\n'
            assert shown(host, name) == (0, "", text)
        code, _, said = shown(host, "unstarted")
        assert code == 0
        assert said.startswith('krond: no output of the last run of "unstarted" is kept: ')
        assert "nosuch" in said


def test_the_outputs_of_a_job_that_was_removed_are_found(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo printed"))
        host.begin()
        host.run("job")
        host.load("# no job")
        assert shown(host, "job") == (0, "printed\n", "")
        assert shown(host, f"{host.config}:job") == (0, "printed\n", "")
        code, _, said = shown(host, "other")
        assert code == 1
        assert 'there is no job "other"' in said


@pytest.mark.parametrize("options", [(), ("--node-id", "some-node")])
def test_without_krond_a_job_is_found_by_its_exact_name(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with Keeper(tmp_path) as host:
        names = ("a/b", "a-b", "c")
        host.write(*(f'{NEVER} name={name} command="echo {name}" shell=true' for name in names))
        host.begin(*options)
        for name in names:
            run_id = host.trigger(name)
            host.wait_for_run("exited", run_id)
            host.wait_until_complete(host.file_of(run_id))
        host.kill_krond()
        for name in names:
            assert shown(host, name) == (0, f"{name}\n", "")
            assert shown(host, f"{host.config}:{name}") == (0, f"{name}\n", "")
        assert shown(host, f"{host.config}.other:c")[0] == 1
        (path,) = host.files("c")
        table = host.command("history", "c").stdout
        assert path.stem.partition("-")[2] in table, "krond history finds them too"


def test_a_krond_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo printed"))
        pid = host.begin()
        host.run("job")
        os.kill(pid, signal.SIGSTOP)
        try:
            began_s = time.monotonic()
            code, text, said = shown(host, "job")
            took_s = time.monotonic() - began_s
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (code, text) == (0, "printed\n")
        assert "did not answer within 2" in said
        assert "this is what is on disk" in said
        assert took_s < PATIENCE_S / 2


def test_following_goes_on_while_the_collector_is_replaced(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo 1", UNTIL_GO, "echo 2"))
        host.begin()
        run_id = host.trigger("job")
        host.file_of(run_id)
        words = ("output", "job", "--follow", "--state-dir", str(host.state))
        with subprocess.Popen(
            [sys.executable, "-m", "kron.krond", *words], stdout=subprocess.PIPE
        ) as following:
            assert following.stdout is not None
            assert following.stdout.readline() == b"1\n"
            # Nobody has the file open now, until the run prints again.
            os.kill(host.collector(), signal.SIGKILL)
            host.wait_for_event("error")
            with pytest.raises(subprocess.TimeoutExpired):
                following.wait(1.5)
            host.path("go").touch()
            assert following.stdout.read() == b"2\n"
            assert following.wait(PATIENCE_S) == 0


class TestStart:
    """A directory that the collector could not use is refused at once."""

    def start(self, host: Keeper, *options: str) -> subprocess.CompletedProcess[str]:
        host.write(f"{NEVER} name=job command=/bin/true")
        return host.command("start", "--once", "--config", str(host.config), *options)

    def test_a_directory_that_cannot_be_used_is_refused(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            writable = tmp_path / "writable"
            writable.mkdir()
            writable.chmod(0o777)
            for path, why in (
                ("/dev/null", "not a directory"),
                ("/proc", "No such file or directory"),
                (writable, "other users can write the directory (its mode is 0777)"),
            ):
                done = self.start(host, "--output-dir", str(path))
                assert done.returncode == 1
                assert f"no outputs can be kept in {path}: " in done.stderr
                assert why in done.stderr
            assert not host.state.exists()

    @needs_root
    def test_that_of_another_user_or_behind_a_link_of_theirs_is_refused(
        self, tmp_path: Path
    ) -> None:
        with Keeper(tmp_path) as host:
            theirs, link = tmp_path / "theirs", tmp_path / "link"
            theirs.mkdir()
            os.chown(theirs, 12_345, 12_345)
            link.symlink_to(tmp_path / "target")
            os.chown(link, 12_345, 12_345, follow_symlinks=False)
            done = self.start(host, "--output-dir", str(theirs))
            assert (done.returncode, "belongs to user 12345" in done.stderr) == (1, True)
            done = self.start(host, "--output-dir", str(link))
            assert (done.returncode, "symbolic link" in done.stderr) == (1, True)
            assert not (tmp_path / "target").exists()

    def test_a_link_of_our_own_is_followed_once(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            target, other = tmp_path / "target", tmp_path / "other"
            host.outputs.symlink_to(target)
            host.write(host.job("job", "echo $KRON_RUN_ID"))
            host.begin()
            assert host.ask("status")["output_dir"] == str(target)
            host.outputs.unlink()
            host.outputs.symlink_to(other)
            run_id = host.trigger("job")
            host.wait_for_run("exited", run_id)
            wait_for(lambda: list(target.glob(f"*/*-{run_id}.log")), "it is kept")
            assert not other.exists()

    def test_an_age_of_nothing_is_refused(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host:
            done = self.start(host, "--output-age", "0s")
            assert done.returncode == 64
            assert "--output-age 0s would keep no output" in done.stderr


def test_a_link_in_the_way_is_no_reason_to_ask_as_another_user(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo x"))
        host.begin()
        host.run("job")
        (directory,) = host.outputs.iterdir()
        directory.rename(tmp_path / "moved")
        directory.symlink_to(tmp_path / "moved")
        code, _, said = shown(host, "job")
        assert code == 1
        assert "symbolic link" in said
        assert "ask as" not in said
