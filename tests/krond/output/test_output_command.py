"""`krond output` and the journal: how people get to see what runs have printed."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kron.krond.output.journald import LONGEST_LINE
from tests.krond.children import NEVER, in_private_mounts
from tests.krond.output.keeping import Keeper
from tests.krond.process.expected import needs, needs_root
from tests.logbook import PATIENCE_S, wait_for

UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"
HOSTILE = r"printf 'a\033[31mred\007\tb\n\377\n'"
SHOWN = "a\\x1b[31mred\\x07\tb\n\\xff\n"


def shown(host: Keeper, *words: str) -> tuple[int, str, str]:
    """`krond output <words>`: exit code, output, errors."""
    done = host.command("output", *words, "--output-dir", str(host.outputs))
    return done.returncode, done.stdout, done.stderr


def on_a_terminal(host: Keeper, *words: str) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kron.krond", "output", *words, "--state-dir", str(host.state)]
    done = subprocess.run(command, stdout=theirs, stdin=subprocess.DEVNULL, check=True)
    assert done.returncode == 0
    os.close(theirs)
    text = os.read(ours, 65_536)
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def test_the_history_names_the_output_of_a_run(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("speaks", "echo x"), host.job("silent", "true"))
        host.begin()
        runs = {name: host.trigger(name) for name in ("speaks", "silent")}
        for run_id in runs.values():
            host.wait_for_run("exited", run_id)
        file = host.file_of(runs["speaks"])
        host.wait_until_complete(file)
        where = ("--output-dir", str(host.outputs))
        done = host.command("history", "--format", "json", *where)
        rows = json.loads(done.stdout)["rows"]
        assert {row["name"]: row["output"] for row in rows} == {"speaks": str(file), "silent": None}
        table = host.command("history", *where).stdout
        assert runs["speaks"] in table
        assert runs["silent"] not in table


def test_the_last_output_is_shown_and_others_on_request(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo $KRON_RUN_ID"))
        host.begin()
        runs = []
        for _ in range(3):
            runs.append(host.trigger("job"))
            host.wait_for_run("exited", runs[-1])
            host.wait_until_complete(host.file_of(runs[-1]))
        for _ in ("with krond", "without"):
            assert shown(host, "job") == (0, f"{runs[2]}\n", "")
            assert shown(host, f"{host.config}:job") == (0, f"{runs[2]}\n", "")
            assert shown(host, "job", "--run", runs[0]) == (0, f"{runs[0]}\n", "")
            code, text, _ = shown(host, "job", "--last", "2")
            first, one, blank, second, two = text.splitlines()
            assert (code, one, blank, two) == (0, runs[1], "", runs[2])
            assert first.endswith(f"Z run {runs[1]} <==")
            assert second.endswith(f"Z run {runs[2]} <==")
            if _ == "with krond":
                (path,) = host.outputs.glob(f"*/*-{runs[2]}.log")
                assert f"last output: {path}" in host.command("status", "job").stdout
                host.kill_krond()


def test_control_characters_are_text_on_a_terminal_and_themselves_in_a_pipe(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(host.job("job", HOSTILE))
        host.begin()
        raw = host.run("job")
        assert raw == b"a\x1b[31mred\x07\tb\n\xff\n"
        assert on_a_terminal(host, "job") == SHOWN
        command = [
            sys.executable,
            "-m",
            "kron.krond",
            "output",
            "job",
            "--state-dir",
            str(host.state),
        ]
        assert subprocess.run(command, capture_output=True, check=True).stdout == raw


def test_what_cannot_be_shown_is_said_with_what_to_do(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(
            host.job("silent", "true"),
            host.job("never", "true"),
            host.job("elsewhere", "echo x", fields=f"stdout=file:{tmp_path}/x stderr=discard"),
            host.job("spoke", "[ -e go ] || echo spoke"),
        )
        host.begin()
        for name in ("silent", "elsewhere"):
            host.wait_for_run("exited", host.trigger(name))
        code, text, said = shown(host, "silent")
        assert (code, text) == (0, "")
        assert 'no output of the last run of "silent" is kept' in said
        code, _, said = shown(host, "never")
        assert code == 1
        assert "no output is kept" in said
        assert str(host.outputs) in said
        code, _, said = shown(host, "elsewhere")
        assert code == 1
        assert f"stdout=file:{tmp_path}/x stderr=discard" in said
        code, _, said = shown(host, "nosuch")
        assert code == 1
        assert "nosuch" in said
        host.run("spoke")
        code, _, said = shown(host, "spoke", "--run", "nosuch")
        assert code == 1
        assert "nosuch" in said
        host.path("go").touch()
        host.wait_for_run("exited", host.trigger("spoke"))
        code, text, said = shown(host, "spoke")
        assert (code, text) == (0, "")
        (path,) = host.files("spoke")
        assert path.stem.partition("-")[2] in said
        host.kill_krond()
        code, _, said = shown(host, "nosuch")
        assert code == 1
        assert str(host.outputs) in said


def test_following_ends_with_the_output(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write(
            host.job("job", f"until [ -e first ]; do sleep 0.02; done; echo 1; {UNTIL_GO}; echo 2")
        )
        host.begin()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        words = ("output", "job", "--follow", "--state-dir", str(host.state))
        with subprocess.Popen(
            [sys.executable, "-m", "kron.krond", *words], stdout=subprocess.PIPE
        ) as following:
            assert following.stdout is not None
            host.path("first").touch()
            assert following.stdout.readline() == b"1\n"
            assert following.poll() is None
            host.path("go").touch()
            assert following.stdout.read() == b"2\n"
            assert following.wait(PATIENCE_S) == 0
        assert shown(host, "job", "--follow") == (0, "1\n2\n", "")


def test_following_a_run_that_waits_shows_it_and_not_the_one_before(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        host.write("slots: disk=1", host.job("other", UNTIL_GO, fields="slots=disk"),
                   host.job("job", "echo $KRON_RUN_ID", fields="slots=disk"))  # fmt: skip
        host.begin()
        host.wait_for_run("exited", host.trigger("job"))
        host.wait_for_run("started", host.trigger("other"))
        run_id = host.trigger("job")
        assert "waits for slot disk" in shown(host, "job", "--run", run_id)[2]
        words = ("output", "job", "--follow", "--state-dir", str(host.state))
        with subprocess.Popen(
            [sys.executable, "-m", "kron.krond", *words], stdout=subprocess.PIPE, text=True
        ) as following:
            host.path("go").touch()
            assert following.communicate(timeout=PATIENCE_S)[0] == f"{run_id}\n"


def test_following_a_flood_skips_what_is_gone_and_ends_with_the_end(tmp_path: Path) -> None:
    with Keeper(tmp_path) as host:
        lines = ["echo first", "seq 1 300000", "echo last"]
        host.write(host.job("job", *lines, fields="output_limit=64K"))
        host.begin()
        run_id = host.trigger("job")
        host.file_of(run_id)
        code, text, _ = shown(host, "job", "--follow", "--run", run_id)
        assert code == 0
        assert text.startswith("first\n1\n")
        assert text.endswith("300000\nlast\n")
        assert text.count("first\n") == text.count("last\n") == 1


@contextmanager
def journal(host: Keeper) -> Iterator[tuple[socket.socket, list[str]]]:
    """A socket in the place of the journal's, and words before krond's for which it is there."""
    place = host.path("journal")
    place.mkdir()
    wrapper = in_private_mounts(
        "mount -t tmpfs none /run",
        "mkdir -p /run/systemd/journal",
        f"mount --bind {place} /run/systemd/journal",
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(place / "socket"))
        listening.settimeout(PATIENCE_S)
        yield listening, wrapper


@needs_root
@needs("unshare", "mount")
class TestJournal:
    def test_each_line_is_an_entry_with_the_fields_of_its_run(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host, journal(host) as (listening, wrapper):
            lines = ["echo one", "echo", "echo two", "printf rest", "echo wrong >&2"]
            host.start_empty("--output-dir", str(host.outputs), wrapper=wrapper)
            schedule = host.soon("some/job", 1)
            fields = "stdout=journal stderr=journal"
            host.load(host.job("some/job", *lines, fields=fields, schedule=schedule))
            started = host.wait_for_event("started", "some/job")
            entries = [dict(fields_of(listening.recv(2**16))) for _ in range(4)]
            entries.sort(key=lambda entry: entry["PRIORITY"], reverse=True)
            assert [entry.pop("MESSAGE") for entry in entries] == ["one", "two", "rest", "wrong"]
            assert [entry.pop("PRIORITY") for entry in entries] == ["6", "6", "6", "3"]
            assert all(
                entry
                == {
                    "SYSLOG_IDENTIFIER": "some/job",
                    "KRON_JOB": "some/job",
                    "KRON_PERIOD": started["period"],
                    "KRON_RUN_ID": started["run_id"],
                }
                for entry in entries
            )
            assert host.files("some-job") == []

    def test_a_flood_waits_for_the_journal_and_nothing_is_lost(self, tmp_path: Path) -> None:
        with Keeper(tmp_path) as host, journal(host) as (listening, wrapper):
            count = 5_000
            long = LONGEST_LINE + 1_000
            lines = [f"seq 1 {count}", f"head -c {long} /dev/zero | tr '\\0' x"]
            host.write(
                host.job("job", *lines, fields="stdout=journal"),
                host.job("other", "echo well", fields="stdout=keep"),
            )
            host.start("--output-dir", str(host.outputs), wrapper=wrapper)
            run_id = host.trigger("job")
            assert host.run("other") == b"well\n", "nobody else waits"
            messages = [dict(fields_of(listening.recv(2**17)))["MESSAGE"] for _ in range(count + 2)]
            assert messages[:count] == [str(number) for number in range(1, count + 1)]
            assert [len(each) for each in messages[count:]] == [LONGEST_LINE, 1_000]
            assert host.wait_for_run("exited", run_id)["exit_code"] == "0"

    def test_without_a_journal_it_is_kept_in_a_file_and_krond_says_so_once(
        self, tmp_path: Path
    ) -> None:
        with Keeper(tmp_path) as host:
            fields = "stdout=journal stderr=journal"
            host.write(host.job("job", "echo out", "echo error >&2", fields=fields))
            wrapper = in_private_mounts("mount -t tmpfs none /run")
            host.start("--output-dir", str(host.outputs), wrapper=wrapper)
            for _ in range(2):
                assert sorted(host.run("job").split()) == [b"error", b"out"]
            (warning,) = host.events("error")
            assert "no journal" in str(warning["error"])


def fields_of(datagram: bytes) -> list[tuple[str, str]]:
    """The fields of an entry: one a line."""
    return [
        (key, value)
        for line in datagram.decode().splitlines()
        for key, _, value in [line.partition("=")]
    ]


def test_an_old_collector_is_not_in_the_way_of_stopping(tmp_path: Path) -> None:
    """krond stop does not wait for what a run has left in the background."""
    with Keeper(tmp_path) as host:
        host.write(host.job("job", "echo begun", f"({UNTIL_GO}; echo left) &"))
        host.begin()
        run_id = host.trigger("job")
        host.wait_for_run("exited", run_id)
        assert host.command("stop").returncode == 0
        host.path("go").touch()
        wait_for(lambda: host.file_of(run_id).read_bytes() == b"begun\nleft\n", "it is kept")


def test_runs_that_go_on_without_krond_keep_their_output_from_the_first_byte(
    tmp_path: Path,
) -> None:
    """Also if krond ends before its first collector has even started."""
    with Keeper(tmp_path) as host:
        host.write(f'{NEVER} name=job command="echo begun; sleep 0.2; echo over" shell=true')
        pid = host.begin()
        run_id = host.trigger("job")
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: host.file_of(run_id).read_bytes() == b"begun\nover\n", "it is kept")
