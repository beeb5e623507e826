"""How krond starts, or says why it does not: what each exit code and each option promises."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text
from tests.krond.commands import (
    NEVER,
    NOBODY,
    PROGRAM,
    BackgroundHost,
    backdate,
    is_alive,
    krond,
    stored,
)
from tests.krond.host import Host
from tests.logbook import PATIENCE_S, wait_for

MONTHLY = "0 0 1 * * @policy(deadline=960h)"
MONTHS_S = 70 * 86_400
WAYS = [pytest.param(("--foreground",), id="foreground"), pytest.param((), id="background")]


def give_away(directory: Path) -> None:
    directory.mkdir(0o700)
    os.chown(directory, NOBODY, -1)


# Refusals


@pytest.mark.parametrize("way", WAYS)
def test_a_bad_configuration_is_refused_with_every_error(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    with BackgroundHost(tmp_path) as host:
        ran = tmp_path / "ran"
        host.write(
            f'* * * * * name=good command="touch {ran}" shell=true',
            "0 25 * * * name=late command=/bin/true",
            "* * * * * name=none",
            "* * * * * name=typo comand=/bin/true",
            "* * * * * name=good command=/bin/true",
        )
        ended = host.start_background(*way)
        assert (ended.returncode, ended.stdout) == (1, "")
        for line in (2, 3, 4, 5):
            assert f"{host.config}:{line}:" in ended.stderr
        assert f"{host.config}:1:" not in ended.stderr
        assert '(did you mean "command"?)' in ended.stderr
        assert not host.log.exists()
        assert not ran.exists()
        wait_for(lambda: not host.runs_alive(), "nothing is left of it")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(lambda d: d.write_text(""), "is not a directory", id="a-file"),
        pytest.param(
            lambda d: d.symlink_to(d.with_name("elsewhere")), "symbolic link", id="a-link"
        ),
        pytest.param(
            lambda d: (d.mkdir(), d.chmod(0o770)), "other users can write", id="group-writable"
        ),
        pytest.param(
            give_away,
            "belongs to user 65534",
            id="of-another-user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away"),
        ),
        pytest.param(
            lambda d: d.symlink_to("/proc/self"), "symbolic link", id="a-link-to-a-directory"
        ),
        pytest.param(
            lambda d: (d.mkdir(0o700), (d / "krond.pid").mkdir()),
            "krond.pid is not a regular file",
            id="its-lock-is-no-file",
        ),
        pytest.param(
            lambda d: (d.mkdir(0o700), (d / "control.sock").write_text("mine")),
            "control.sock in the state directory is not a socket",
            id="its-socket-is-no-socket",
        ),
    ],
)
def test_a_state_directory_that_cannot_be_used_is_exit_code_2(
    tmp_path: Path, way: tuple[str, ...], spoil: Callable[[Path], object], said: str
) -> None:
    (tmp_path / "elsewhere").mkdir(0o700)
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        spoil(host.state)
        ended = host.start_background(*way)
        assert ended.returncode == 2
        assert said in ended.stderr
        wait_for(lambda: not host.runs_alive(), "nothing is left of it")
        assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_state_directory_that_cannot_be_made_is_exit_code_2(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    config = tmp_path / "jobs.kron"
    config.write_text(f"{NEVER} name=job command=/bin/true\n")
    config.chmod(0o600)
    ended = krond("start", *way, "--config", config, "--state-dir", "/proc/no/such")
    assert ended.returncode == 2
    assert "/proc/no" in ended.stderr


def test_an_output_file_that_cannot_be_opened_is_a_fault_of_the_state_directory(
    tmp_path: Path,
) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.state.mkdir(0o700)
        host.output.mkdir()
        ended = host.start_background()
        assert ended.returncode == 2
        assert "cannot be opened: Is a directory" in ended.stderr


def test_a_second_krond_is_exit_code_3_and_the_first_goes_on(tmp_path: Path) -> None:
    pid_file = tmp_path / "krond.pid"
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        assert host.start_background("--pid-file", str(pid_file)).returncode == 0
        pid = host.pid()
        assert pid_file.read_text() == f"{pid}\n"
        elsewhere = ("--state-dir", str(tmp_path / "other"), "--pid-file", str(pid_file))
        for options in ((), ("--foreground",), ("--once",), elsewhere):
            second = host.start_background(*options)
            assert second.returncode == 3, options
            assert f"process {pid} has locked" in second.stderr
            assert "krond stop" in second.stderr
        assert host.pid() == pid
        assert pid_file.read_text() == f"{pid}\n"
        assert host.command("stop").returncode == 0
        assert not pid_file.exists(), "it is removed on a clean exit"
        assert host.start_background().returncode == 0
        assert not pid_file.exists()


WRONG = [
    pytest.param(["strat"], 'did you mean "start"', id="command"),
    pytest.param([], "usage: krond", id="no-command"),
    pytest.param(["start", "--fooreground"], 'did you mean "--foreground"', id="option"),
    pytest.param(["start", "--source", "crn"], 'did you mean "cron"', id="choice"),
    pytest.param(["start", "--log-level", "loud"], "DEBUG, INFO, WARN, ERROR", id="level"),
    pytest.param(["start", "--max-running", "0"], '"0" is not a number from 1', id="number"),
    pytest.param(["start", "--trigger-slack", "soon"], "like 90m", id="duration"),
    pytest.param(
        ["start", "--trigger-slack", "500ms"],
        '"500ms" is not a number of whole seconds',
        id="part-of-a-second",
    ),
    pytest.param(
        ["start", "--source", "cron", "--config", "x"], "add --source krontab", id="contradiction"
    ),
    pytest.param(["start", "--state-dir", ""], "the path is empty", id="empty-path"),
    pytest.param(["stop", "--graceful", "--leave"], "not allowed with", id="two-ways-to-stop"),
    pytest.param(["trigger"], "required: JOB", id="no-job"),
    pytest.param(["logs", "-n", "0"], '"0" is not a number from 1', id="no-lines"),
]


@pytest.mark.parametrize(("words", "hint"), WRONG)
def test_a_wrong_command_line_is_exit_code_64_with_a_hint(
    tmp_path: Path, words: list[str], hint: str
) -> None:
    ended = krond(*words, env={"HOME": str(tmp_path)}, cwd=tmp_path)
    assert ended.returncode == 64
    assert hint in ended.stderr + ended.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", [(), ("--once",)], ids=["background", "once"])
def test_a_start_without_jobs_says_so_on_the_terminal(tmp_path: Path, way: tuple[str, ...]) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write("# no job yet")
        started = host.start_background("--log-file", str(host.directory / "log"), *way)
        assert started.returncode == 0
        said = "krond: warning: the configuration has no job, so nothing will run\n"
        assert started.stderr == said


# --once


def test_once_with_nothing_due_ends_at_once(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{MONTHLY} name=job command=/bin/true")
        host.launch("--once")
        assert host.wait() == 0
        assert host.events("started") == []
        assert host.events("stopping")[0]["reason"] == "nothing more was due"
        assert stored(host, "job")["ledger"]["starting"] == []


def test_once_runs_what_is_due_and_ends_when_it_has_ended(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with Host(tmp_path) as host:
        host.write(
            f'{MONTHLY} name=due command="sleep 0.3; echo $KRON_PERIOD >>{done}; exit 3"'
            " shell=true",
            f"{NEVER} name=not-due command=/bin/true",
        )
        host.launch("--once")
        assert host.wait() == 0
        backdate(host, "due", MONTHS_S)
        host.launch("--once")
        assert host.wait() == 0, "how a run ended is no matter of krond's"
        due = decide_at(
            kron.parse_schedule(MONTHLY),
            f"{host.config}:due",
            from_text(time.strftime("%Y-%m-01T00:00:00Z", time.gmtime())),
        )
        assert done.read_text() == f"{due.period_id}\n", "only the latest period runs"
        assert [event["exit_code"] for event in host.events("exited")] == ["3"]
        host.launch("--once")
        assert host.wait() == 0
        assert len(host.events("started")) == 1, "and it runs once"
        host.check_log()


# In the background


def test_the_command_ends_when_krond_is_ready_and_its_files_are_in_the_state_directory(
    tmp_path: Path,
) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f'{NEVER} name=loud command="echo out; echo err >&2" shell=true')
        started = host.start_background()
        assert (started.returncode, started.stdout, started.stderr) == (0, "", "")
        assert len(host.events("ready")) == 1
        status = host.ask("status")
        assert status["log_file"] == str(host.log)
        assert status["output_file"] == str(host.output)
        assert host.command("trigger", "loud", "--wait").returncode == 0
        assert host.output.read_bytes() == b"", "that is for krond's own words"
        (kept,) = wait_for(lambda: list(host.outputs.glob("loud.*/*.log")), "the run's output")
        wait_for(lambda: sorted(kept.read_text().split()) == ["err", "out"], "both streams")
        assert os.getpgid(status["pid"]) != os.getpgid(0)
        assert host.command("stop").returncode == 0
        assert not is_alive(status["pid"])


def test_it_survives_the_closing_of_the_terminal_it_was_started_from(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        words = [*PROGRAM, "start", "--config", str(host.config), "--state-dir", str(host.state)]
        shell, terminal = pty.fork()
        if shell == 0:
            os.environ["KRON_TEST"] = str(tmp_path)
            script = '"$@" && echo started && exec sleep 1000'
            os.execv("/bin/sh", ["sh", "-c", script, "sh", *words])
        try:
            seen = b""
            while b"started" not in seen:
                seen += os.read(terminal, 1024)
        finally:
            os.close(terminal)  # as a window that is closed: everybody on it gets SIGHUP
        _, status = os.waitpid(shell, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGHUP
        assert host.command("trigger", "job", "--wait").returncode == 0
        assert host.events("reload") == [], "SIGHUP did not get to it"


def test_relative_paths_are_those_of_the_directory_it_was_started_in(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        words = ("start", "--config", "jobs.kron", "--state-dir", "state", "--log-file", "my.log")
        ended = krond(*words, env={"KRON_TEST": str(tmp_path)}, cwd=tmp_path)
        assert ended.returncode == 0
        assert host.ask("reload")["total"] == 1
        assert host.row("job")["identity"] == f"{host.config}:job"
        assert (tmp_path / "my.log").exists()


# Options


def test_limits_are_those_of_krond_and_its_runs(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(
            f'{NEVER} name=asked command="ulimit -Sn; ulimit -Hn; ulimit -Su; ulimit -Hu"'
            f" shell=/bin/bash stdout=file:{tmp_path}/limits"
        )
        host.start("--limit-nofile", "600", "--limit-nproc", "5000")
        assert host.command("trigger", "asked", "--wait").returncode == 0
        assert (tmp_path / "limits").read_text().split() == ["600", "600", "5000", "5000"]
        assert host.stop() == 0


def test_limits_that_nobody_names_are_left_as_they_are(tmp_path: Path) -> None:
    shell = 'ulimit -Sn 300; ulimit -Hn 400; ulimit -Su 700; exec "$@"'
    with Host(tmp_path) as host:
        host.write(
            f'{NEVER} name=asked command="ulimit -Sn; ulimit -Hn; ulimit -Su"'
            f" shell=/bin/bash stdout=file:{tmp_path}/limits"
        )
        host.start(wrapper=("/bin/bash", "-c", shell, "bash"))
        assert host.command("trigger", "asked", "--wait").returncode == 0
        assert (tmp_path / "limits").read_text().split() == ["300", "400", "700"]


@pytest.mark.parametrize(
    ("most", "said"),
    [
        pytest.param(32, "krond may open 32 files, so only about 1 run goes on ", id="one"),
        pytest.param(60, "krond may open 60 files, so only about 4 runs go on ", id="few"),
        pytest.param(100, "", id="enough"),
    ],
)
def test_a_limit_on_open_files_that_leaves_little_room_for_runs_is_warned_of(
    tmp_path: Path, most: int, said: str
) -> None:
    with BackgroundHost(tmp_path) as host:
        keeping = "@policy(concurrency=allow) name=job stdout=keep stderr=keep"
        host.write(f'{NEVER} {keeping} command="/bin/sleep 600"')
        wrapper = ("/bin/sh", "-c", f'ulimit -n {most}; exec "$@"', "sh")
        started = host.start_background(wrapper=wrapper)
        assert (started.returncode, bool(started.stderr)) == (0, bool(said))
        assert said in started.stderr
        warnings = [record["error"] for record in host.events("error")]
        assert [said in warning for warning in warnings] == [True] * bool(said)
        said_of_runs = [host.command("trigger", "job").stdout for _ in range(6)]
        running = sum("waits for room" not in each for each in said_of_runs)
        assert running in {32: (1,), 60: (3, 4, 5), 100: (6,)}[most]
        for run in host.events("started"):
            os.kill(int(run["pid"]), signal.SIGTERM)
        wait_for(lambda: len(host.events("started")) >= min(6, running + 1), "the next start")
        host.command("stop", "--terminate")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("most", [8, 31])
def test_a_limit_on_open_files_that_is_too_low_for_krond_is_refused(
    tmp_path: Path, way: tuple[str, ...], most: int
) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        ended = host.start_background(*way, "--limit-nofile", str(most))
        assert ended.returncode == 1
        said = f"krond may open {most} files, and needs at least 32 (raise LimitNOFILE="
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_limit_that_the_system_refuses_is_told(tmp_path: Path, way: tuple[str, ...]) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        ended = host.start_background(*way, "--limit-nofile", "999999999")
        assert ended.returncode == 1
        assert "the system refuses --limit-nofile 999999999" in ended.stderr


def test_a_node_id_changes_identities_and_so_the_chosen_times(tmp_path: Path) -> None:
    schedule = f"{NEVER} @win(after,23h)"
    chosen = {}
    for node in ("", "web-17"):
        directory = tmp_path / "here"  # the same path both times
        directory.mkdir()
        with Host(directory) as host:
            host.write(f"{schedule} name=job command=/bin/true")
            host.launch("--once", *(("--node-id", node) if node else ()))
            assert host.wait() == 0
            identity = f"{node}/{host.config}:job" if node else f"{host.config}:job"
            decision = host.events("decision")[0]
            assert decision["identity"] == identity
            nominal_s = from_text(str(decision["nominal"]))
            made_again = decide_at(kron.parse_schedule(schedule), identity, nominal_s)
            assert from_text(str(decision["chosen"])) == made_again.chosen_s
            chosen[node] = decision["chosen"]
            host.check_log()
        directory.rename(tmp_path / f"was {node}")
    assert chosen[""] != chosen["web-17"]


def test_explanations_are_logged_when_they_are_asked_for(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} @win(after,2h) name=job command=/bin/true")
        host.launch("--once")
        assert host.wait() == 0
        assert host.events("explain_start") == []
        (host.state).rename(tmp_path / "before")
        host.launch("--once", "--explain")
        assert host.wait() == 0
        (start,) = host.events("explain_start", "job")
        (result,) = host.events("explain_result")
        assert result["chosen"] == host.events("decision")[-1]["chosen"]
        assert len(host.events("explain_step")) >= 3
        assert start["period"] == host.events("explain_end")[0]["period"]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("level", "there", "not_there"),
    [
        pytest.param("debug", {"seed_computed", "sample", "decision", "error"}, set(), id="debug"),
        pytest.param("INFO", {"decision", "ready", "error"}, {"sample"}, id="info"),
        pytest.param("WARN", {"error"}, {"decision", "ready"}, id="warn"),
    ],
)
def test_the_log_has_the_form_and_the_level_that_were_asked_for(
    tmp_path: Path, form: str, level: str, there: set[str], not_there: set[str]
) -> None:
    with Host(tmp_path) as host:
        host.write(f"{MONTHLY} @win(after,1h) name=lost command=/no/such")
        host.launch("--once")
        host.wait()
        host.log.unlink()
        backdate(host, "lost", MONTHS_S)
        host.launch("--once", "--log-format", form, "--log-level", level)
        assert host.wait() == 0
        events = {record.event for record in host.records()}
        assert there <= events
        assert not events & not_there
        starts = {line[:1] for line in host.log.read_text().splitlines()}
        assert starts == ({"{"} if form == "json" else {"2"})


def test_in_the_foreground_it_logs_to_standard_error(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        place = ("--config", host.config, "--state-dir", host.state)
        ended = krond("start", "--once", *place)
        assert (ended.returncode, ended.stdout) == (0, "")
        assert " event=ready " in ended.stderr
        assert not (host.state / "krond.log").exists()
        assert not (host.state / "krond.out").exists()


def test_the_usual_directories_are_looked_for_at_every_reload(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        env = {"HOME": str(tmp_path), "KRON_TEST": str(tmp_path)}
        assert krond("start", "--state-dir", host.state, env=env).returncode == 0
        before = host.ask("status")["total"]
        directory = tmp_path / ".config" / "krond"
        directory.mkdir(parents=True)
        directory.chmod(0o755)
        host.config = directory / "mine.kron"
        host.write(f"{NEVER} name=mine command=/bin/true")
        assert host.ask("reload")["total"] == before + 1


def test_a_signal_before_it_is_ready_leaves_nothing_behind(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(*(f"{NEVER} name=job-{number} command=/bin/true" for number in range(500)))
        process = subprocess.Popen(
            [
                *(*PROGRAM, "start", "--foreground"),
                *("--config", str(host.config), "--state-dir", str(host.state)),
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            wait_for((host.state / "krond.pid").exists, "it has locked its directory")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        host.start()
        assert host.ask("status")["total"] == 500
        assert host.stop() == 0
