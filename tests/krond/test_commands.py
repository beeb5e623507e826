"""stop, status, trigger, forget and logs: what they say, what they do, and whom they refuse."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kron.core.instant import to_text
from kron.krond.control.client import ControlError, LastWord, NotRunning
from kron.krond.control.server import AWAITING, CONNECTIONS
from tests.krond.commands import (
    HOLDS,
    NEVER,
    PROGRAM,
    OnePeriod,
    is_alive,
    krond,
    krond_as_nobody,
    needs_root,
    on_a_terminal,
    public_directory,
    state_file,
    stored,
)
from tests.krond.host import Host
from tests.krontab.schemas import validate
from tests.logbook import wait_for
from tests.moment import soon


def holding(host: Host, name: str = "held", more: str = "", schedule: str = NEVER) -> str:
    """The line of a job whose runs end when `release` lets them."""
    return f"{schedule} {more} name={name} {HOLDS.format(gate=host.directory / 'gate')}"


def release(host: Host) -> None:
    (host.directory / "gate").touch()


def hold(host: Host, name: str = "held") -> int:
    """Start a run of such a job: its pid."""
    host.ask("trigger", job=name)
    pid: int = host.row(name)["active"][-1]["pid"]
    return pid


def status_json(host: Host, *words: str) -> dict[str, Any]:
    """What `krond status --format json` prints, which its schema allows."""
    ended = host.command("status", "--format", "json", *words)
    assert (ended.returncode, ended.stderr) == (0, "")
    document: dict[str, Any] = json.loads(ended.stdout)
    validate(document)
    return document


# stop


def test_stop_lets_runs_end_and_starts_nothing_in_the_meantime(host: Host) -> None:
    host.write(holding(host))
    host.start()
    run = hold(host)
    at_s = soon(2)
    schedule = OnePeriod(host, "due").chosen_at(at_s, "@policy(deadline=1h)")
    done = host.directory / "done"
    host.write(holding(host), f'{schedule} name=due command="touch {done}"')
    host.ask("reload")
    stopping = subprocess.Popen([*PROGRAM, "stop", "--state-dir", str(host.state)])
    host.wait_for_event("stopping")
    assert status_json(host)["stopping"] is True
    refused = host.command("trigger", "held")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "stopping" in refused.stderr
    assert host.command("reload").returncode == 1
    wait_for(lambda: time.time() > at_s + 1, "the chosen time of the other job")
    assert host.command("stop", "--no-wait").returncode == 0, "asking again changes nothing"
    assert is_alive(run)
    assert stopping.poll() is None
    assert not done.exists()
    release(host)
    assert stopping.wait(30) == 0
    assert host.wait() == 0
    assert host.events("exited", "held")[0]["exit_code"] == "0"
    assert host.command("status").returncode == 5
    assert not done.exists()
    host.start()
    wait_for(done.exists, "the next krond catches up")
    assert host.events("started", "due")[0]["chosen"] == to_text(at_s)
    assert host.command("stop").returncode == 0
    host.check_log()


@pytest.mark.parametrize(
    ("on_stop", "words"),
    [
        pytest.param("wait", ["--terminate"], id="option"),
        pytest.param("terminate", [], id="as-it-was-started"),
    ],
)
def test_stop_terminates_runs_with_their_grace(host: Host, on_stop: str, words: list[str]) -> None:
    host.write(
        f"{NEVER} name=polite shell=true"
        " command=\"trap 'exit 7' TERM; touch $KRON_JOB; while :; do sleep 0.01; done\""
        f" cwd={host.directory}",
        f"{NEVER} name=deaf shell=true grace=300ms"
        " command=\"trap '' TERM; touch $KRON_JOB; while :; do sleep 0.01; done\""
        f" cwd={host.directory}",
    )
    host.start("--on-stop", on_stop)
    for name in ("polite", "deaf"):
        host.ask("trigger", job=name)
        wait_for((host.directory / name).exists, f"{name} is there")
    assert host.command("stop", *words).returncode == 0
    assert host.wait() == 0
    assert host.events("exited", "polite")[0]["exit_code"] == "7"
    assert host.events("exited", "deaf")[0]["signal"] == "SIGKILL"


def test_stop_graceful_waits_even_if_it_was_started_otherwise(host: Host) -> None:
    host.write(holding(host))
    host.start("--on-stop", "terminate")
    run = hold(host)
    assert host.command("stop", "--graceful", "--no-wait").returncode == 0
    host.wait_for_event("stopping")
    assert host.ask("status")["active"] == 1
    assert host.row("held")["active"][0]["stopping"] is False
    assert is_alive(run)
    release(host)
    assert host.wait() == 0
    assert host.events("exited", "held")[0]["exit_code"] == "0"


@pytest.mark.parametrize("at_start", [False, True], ids=["option", "as-it-was-started"])
def test_stop_leave_ends_at_once_and_the_next_krond_takes_the_runs_up(
    host: Host, at_start: bool
) -> None:
    host.write(holding(host))
    host.start(*(("--on-stop", "leave") if at_start else ()))
    run = hold(host)
    assert host.command("stop", *([] if at_start else ["--leave"])).returncode == 0
    assert host.wait() == 0
    assert is_alive(run)
    host.start()
    assert host.events("adopted", "held")[0]["pid"] == str(run)
    (row,) = status_json(host, "held")["jobs"]
    assert [(each["pid"], each["adopted"]) for each in row["active"]] == [(run, True)]
    assert host.command("trigger", "held").returncode == 1, "forbid still holds"
    release(host)
    host.wait_for_event("exited", "held")
    assert host.stop() == 0
    assert [event["pid"] for event in host.events("started", "held")] == [str(run)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_krond_and_a_second_one_its_runs(host: Host, number: int) -> None:
    host.write(holding(host))
    host.start()
    run = hold(host)
    assert host.process is not None
    host.process.send_signal(number)
    host.wait_for_event("stopping")
    assert host.ask("status")["stopping"] is True
    assert is_alive(run)
    assert host.stop(number) == 0
    assert host.events("exited", "held")[0]["signal"] == "SIGTERM"
    assert not is_alive(run)


def test_stop_says_what_it_waits_for(host: Host) -> None:
    host.write(holding(host))
    host.start()
    pid = hold(host)
    gate = host.directory / "gate"
    told = subprocess.Popen(
        ["/bin/sh", "-c", f"until grep -q event=stopping {host.log}; do :; done; touch {gate}"]
    )
    ended = host.command("stop")
    assert told.wait(30) == 0
    assert ended.returncode == 0
    assert ended.stderr.startswith(f"waiting for 1 run: held (pid {pid}); krond stop --help")
    assert host.wait() == 0
    gate.unlink()
    host.start()
    pid = hold(host)
    code, written = on_a_terminal("stop", "--terminate", "--state-dir", host.state)
    assert (code, written.strip()) == (0, f"stopping 1 run: held (pid {pid})")
    assert host.wait() == 0


def test_who_asks_how_krond_ends_waits_for_room(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    with ExitStack() as others:
        for _ in range(CONNECTIONS):
            peer = others.enter_context(socket.socket(socket.AF_UNIX))
            peer.connect(str(host.state / "control.sock"))
        words: list[LastWord] = []
        asking = threading.Thread(target=lambda: words.append(LastWord(str(host.state))))
        asking.start()
        asking.join(0.2)
        assert not words
    asking.join()
    host.ask("stop")
    assert words[0].wait() == (0, "")
    assert host.wait() == 0


# status


def make_every_kind_of_row(host: Host) -> None:
    """A krond whose jobs are in every state that a row can show."""
    host.write(
        holding(host),
        holding(host, "queued"),
        f"{NEVER} @policy(suspend=true) name=paused command=/bin/true description=Ruhe",
        f"{NEVER} name=fine command=/bin/true",
        f'{NEVER} name=failed command="exit 3" shell=true',
        f'{NEVER} name=killed command="kill -9 $$" shell=true',
        f"{NEVER} name=absent command=/no/such",
        f"{NEVER} name=untouched command=/bin/true",
    )
    host.start("--max-running", "1")
    for name in ("fine", "failed", "killed", "absent"):
        host.command("trigger", name, "--wait")
    hold(host)
    host.ask("trigger", job="queued")


def test_status_is_for_people(host: Host) -> None:
    make_every_kind_of_row(host)
    ended = host.command("status")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\x1b" not in ended.stdout
    first, head, *rows = ended.stdout.splitlines()
    assert re.fullmatch(r"krond \S+, pid \d+, up \d+s: 8 jobs, 1 running, 1 waiting", first)
    assert head.split("  ")[0] == "NAME"
    assert [row.split()[0] for row in rows[:2]] == ["held", "queued"], "what happens comes first"
    shown = {row.split()[0]: row for row in rows}
    assert re.search(r"running \(pid \d+\)", shown["held"])
    assert "waits: a slot" in shown["queued"]
    assert "suspended" in shown["paused"]
    assert "-02-29T00:00:00Z" in shown["untouched"]
    for name, result in (
        ("fine", "ok"),
        ("failed", "exit code 3"),
        ("killed", "SIGKILL"),
        ("absent", "not started: the program .* does not exist"),
    ):
        assert re.search(rf"  {result} +\d+s$", shown[name]), shown[name]
    one = host.command("status", "fine").stdout.splitlines()
    assert [line.split()[0] for line in one[2:]] == ["fine"]
    names = host.command("status", "--format", "names").stdout.split()
    assert names == sorted(shown)


def test_status_is_in_colour_on_a_terminal_only(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    words = ("status", "--state-dir", host.state)
    plain = krond(*words).stdout
    code, coloured = on_a_terminal(*words)
    assert code == 0
    assert "\x1b[1mjob\x1b[0m" in coloured
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured.splitlines()[1:]] == (
        plain.splitlines()[1:]
    )
    assert "\x1b" not in on_a_terminal(*words, env={"NO_COLOR": "1"})[1]
    assert "\x1b[1mjob\x1b[0m" in krond(*words, "--color", "always").stdout


def test_status_is_json_that_its_schema_allows(host: Host) -> None:
    make_every_kind_of_row(host)
    document = status_json(host)
    assert document["max_running"] == 1
    assert (document["total"], document["active"], document["waiting"]) == (8, 1, 1)
    assert host.process is not None
    assert document["pid"] == host.process.pid
    rows = {row["name"]: row for row in document["jobs"]}
    assert rows["held"]["active"][0]["period"] is None
    assert "--max-running" in rows["queued"]["waiting"][0]["reason"]
    assert (rows["paused"]["suspended"], rows["paused"]["next"]) == (True, None)
    assert rows["paused"]["description"] == "Ruhe"
    assert rows["failed"]["last"]["exit_code"] == 3
    assert rows["killed"]["last_run"]["signal"] == "SIGKILL"
    assert rows["absent"]["last"]["reason"] == 'the program "/no/such" does not exist'
    assert rows["untouched"]["last"] is rows["untouched"]["last_run"] is None
    assert rows["untouched"]["identity"] == f"{host.config}:untouched"
    release(host)
    host.wait_for_event("exited", "queued")
    assert status_json(host)["active"] == 0


def test_the_status_of_many_jobs_comes_whole(host: Host) -> None:
    text = "x" * 200
    host.write(
        *(
            f"{NEVER} name=job-{number} command=/bin/true description={text}"
            for number in range(1_000)
        )
    )
    host.start()
    assert len(status_json(host)["jobs"]) == 1_000


# trigger


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param("exit 0", 0, id="fine"),
        pytest.param("exit 7", 7, id="exit-code"),
        pytest.param("kill -TERM $$", 128 + 15, id="signal"),
        pytest.param("kill -35 $$", 128 + 35, id="signal-without-a-name"),
    ],
)
def test_trigger_waits_and_ends_as_the_run_does(host: Host, command: str, code: int) -> None:
    host.write(f'{NEVER} name=job shell=true command="sleep 0.1; {command}"')
    host.start()
    ended = host.command("trigger", "job", "--wait")
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")
    assert len(host.events("exited", "job")) == 1


def test_a_triggered_run_belongs_to_no_period(host: Host) -> None:
    said = host.directory / "said"
    host.write(
        f'{NEVER} @win(after,2h) @policy(suspend=true) name=job command="env"'
        f" env=MINE=1 stdout=file:{said}"
    )
    host.start()
    before = stored(host, "job")["ledger"]
    ended = host.command("trigger", "job")
    run_id = re.fullmatch(r"run (\w+)\n", ended.stdout)
    assert run_id
    assert ended.returncode == 0
    host.wait_for_event("exited", "job")
    environment = dict(line.split("=", 1) for line in said.read_text().splitlines())
    assert environment["KRON_RUN_ID"] == run_id[1]
    assert (environment["KRON_JOB"], environment["MINE"]) == ("job", "1")
    assert not {"KRON_PERIOD", "KRON_CHOSEN", "NOTIFY_SOCKET"} & environment.keys()
    assert host.events("manual_run", "job")[0]["run_id"] == run_id[1]
    assert host.events("started", "job")[0].get("period") is None
    assert host.stop() == 0
    state = stored(host, "job")
    assert state["ledger"] == before
    assert state["last_run"][2:5] == ["manual", "", run_id[1]]
    assert not list((host.state / "runs").iterdir())


def test_trigger_keeps_to_the_concurrency_of_the_job(host: Host) -> None:
    host.write(
        holding(host, "forbids"),
        holding(host, "allows", "@policy(concurrency=allow)"),
        holding(host, "replaces", "@policy(concurrency=replace)"),
    )
    host.start()
    pids = {name: hold(host, name) for name in ("forbids", "allows", "replaces")}
    refused = host.command("trigger", "forbids")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'a run of "forbids" is going on' in refused.stderr
    assert host.command("trigger", "allows").returncode == 0
    assert len(host.row("allows")["active"]) == 2
    replaces = host.command("trigger", "replaces")
    assert replaces.returncode == 0
    assert replaces.stdout.endswith(" waits for the end of the run that it replaces\n")
    host.wait_for_event("started", "replaces", count=2)
    assert not is_alive(pids["replaces"])
    assert is_alive(pids["forbids"])
    assert host.events("replaced_job", "replaces")


def test_trigger_says_why_a_run_cannot_start(host: Host) -> None:
    host.write(f"{NEVER} name=absent command=/no/such", f"{NEVER} name=backup command=/bin/true")
    host.start()
    for words in (["absent"], ["absent", "--wait"]):
        ended = host.command("trigger", *words)
        assert ended.returncode == 1
        assert 'the run could not start: the program "/no/such" does not exist' in ended.stderr
    unknown = host.command("trigger", "bakcup")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert 'there is no job "bakcup" (did you mean "backup"?)' in unknown.stderr
    strange = host.command("trigger", "x\x1b[31m\n")
    assert strange.returncode == 1
    assert "\x1b" not in strange.stderr
    assert "krond status" in strange.stderr
    assert host.events("started") == []


def test_a_name_that_two_files_have_needs_its_file(host: Host) -> None:
    other = host.directory / "other.kron"
    line = f"{NEVER} name=same command=/bin/true"
    host.write(line)
    shutil.copy(host.config, other)
    host.start("--config", str(other))
    ended = host.command("trigger", "same")
    assert ended.returncode == 1
    assert f"name one of {host.config}:same, {other}:same" in ended.stderr
    assert host.command("trigger", f"{other}:same", "--wait").returncode == 0
    assert [event["namespace"] for event in host.events("started")] == [str(other)]
    shown = host.command("logs", f"{host.config}:same").stdout
    assert "event=decision" in shown
    assert "event=started" not in shown
    assert "event=started" in host.command("logs", f"{other}:same").stdout


def test_a_run_that_waits_for_a_slot_says_so(host: Host) -> None:
    host.write(holding(host), f"{NEVER} name=next command=/bin/true")
    host.start("--max-running", "1")
    hold(host)
    ended = host.command("trigger", "next")
    assert ended.returncode == 0
    assert re.match(r"run \w+ waits for a slot", ended.stdout)
    release(host)
    host.wait_for_event("exited", "next")


def test_whoever_waits_for_a_run_may_go_away(host: Host) -> None:
    host.write(holding(host))
    host.start()
    waiting = subprocess.Popen([*PROGRAM, "trigger", "held", "--wait", "--state-dir", host.state])
    host.wait_for_event("started", "held")
    waiting.kill()
    waiting.wait()
    assert host.ask("status")["active"] == 1
    release(host)
    assert host.wait_for_event("exited", "held")["exit_code"] == "0"
    assert host.stop() == 0


def test_those_who_wait_for_runs_leave_krond_the_files_that_it_needs(host: Host) -> None:
    host.write(holding(host, more="@policy(concurrency=allow)"))
    host.start("--max-running", "1", "--limit-nofile", "64")
    request = json.dumps({"command": "trigger", "job": "held", "wait": True}).encode() + b"\n"
    with ExitStack() as stack:
        directory = os.open(host.state, os.O_PATH)
        stack.callback(os.close, directory)
        heard = 0
        for _ in range(30):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(f"/proc/self/fd/{directory}/control.sock")
            client.sendall(request)
            status = wait_for(lambda: host.ask("status"), "krond answers")
            heard = status["waiting"] + status["active"]
        assert 0 < heard < 30
        assert host.command("trigger", "held").returncode == 0
    host.ask("stop", how="leave")
    assert host.wait() == 0


def test_those_who_wait_for_runs_keep_nobody_out_until_they_are_too_many(host: Host) -> None:
    """All but one of the runs wait for a slot, so that there are not as many processes."""
    host.write(holding(host, more="@policy(concurrency=allow)"))
    host.start("--max-running", "1")
    request = json.dumps({"command": "trigger", "job": "held", "wait": True}).encode() + b"\n"

    def is_heard(number: int) -> bool:
        return bool(host.ask("status")["waiting"] == number)

    with ExitStack() as stack:
        directory = os.open(host.state, os.O_PATH)
        stack.callback(os.close, directory)
        for number in range(AWAITING):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(f"/proc/self/fd/{directory}/control.sock")
            client.sendall(request)
            if number % 8 == 7:  # as long as they are not heard they count as all others do
                wait_for(partial(is_heard, number), "all are heard")
        refused = host.command("trigger", "held", "--wait")
        assert refused.returncode == 1
        assert f"too many clients wait for runs: {AWAITING}" in refused.stderr
        assert host.command("trigger", "held").returncode == 0
        assert host.command("reload").returncode == 0
    host.ask("stop", how="leave")
    assert host.wait() == 0


def test_whoever_waits_for_a_run_is_told_when_krond_dies(host: Host) -> None:
    host.write(holding(host))
    host.start()
    with subprocess.Popen(
        [*PROGRAM, "trigger", "held", "--wait", "--state-dir", str(host.state)],
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        host.wait_for_event("started", "held")
        host.kill()
        _, errors = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert "krond closed the connection without an answer" in errors


# forget


def test_forget_drops_the_past_of_a_job_and_leaves_its_runs(host: Host) -> None:
    far = (time.gmtime().tm_min + 30) % 60  # half an hour away, before and after
    host.write(f"{far} * * * * @policy(deadline=1h) name=ahead command=/bin/true", holding(host))
    host.launch("--once")
    assert host.wait() == 0
    state = stored(host, "ahead")
    year_s = 366 * 86_400
    state["ledger"]["handled_through"] = to_text((int(time.time()) + year_s) // 60 * 60)
    state_file(host, "ahead").write_text(json.dumps(state) + "\n")
    host.start()
    row = host.row("ahead")
    assert row["clock_behind"] is True
    assert "waits for the clock (krond forget)" in host.command("status").stdout
    run = hold(host)
    for name in ("ahead", "held"):
        ended = host.command("forget", name)
        assert (ended.returncode, ended.stdout) == (0, f"forgotten: {host.config}:{name}\n")
    row = host.row("ahead")
    assert row["clock_behind"] is False
    assert row["next"]["chosen"] <= to_text(int(time.time()) + 31 * 60)
    assert host.events("started", "ahead") == [], "it owes nothing from before"
    assert is_alive(run)
    assert host.command("trigger", "held").returncode == 1, "forbid still holds"
    release(host)
    assert host.wait_for_event("exited", "held")["exit_code"] == "0"
    unknown = host.command("forget", "ahaed")
    assert unknown.returncode == 1
    assert 'did you mean "ahead"' in unknown.stderr


def test_forget_in_the_second_of_a_run_does_not_run_its_period_again(host: Host) -> None:
    host.write()
    host.start()
    at_s = soon(1)
    done = host.directory / "done"
    schedule = OnePeriod(host, "job").chosen_at(at_s)
    host.write(f'{schedule} name=job shell=true command="echo $KRON_PERIOD >>{done}"')
    host.ask("reload")
    host.wait_for_event("exited", "job")
    for _ in range(3):
        host.ask("forget", job="job")
    assert host.stop() == 0
    periods = done.read_text().split()
    assert len(periods) == len(set(periods)) == 1


def test_what_is_forgotten_stays_so(host: Host) -> None:
    host.write(f"{NEVER} @policy(suspend=true) name=job command=/bin/true")
    host.start()
    assert host.command("trigger", "job", "--wait").returncode == 0
    assert host.row("job")["last_run"]["exit_code"] == 0
    assert host.command("forget", "job").returncode == 0
    assert host.row("job")["last_run"] is None
    host.kill()
    host.start()
    assert host.row("job")["last_run"] is None
    assert host.stop() == 0


# logs


def test_logs_shows_the_end_of_the_log(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true", f"{NEVER} name=job-2 command=/bin/true")
    host.start()
    for name in ("job", "job-2", "job"):
        assert host.command("trigger", name, "--wait").returncode == 0
    whole = host.log.read_text().splitlines()
    assert host.command("logs").stdout.splitlines() == whole[-20:]
    assert host.command("logs", "-n", "3").stdout.splitlines() == whole[-3:]
    of_job = host.command("logs", "job").stdout.splitlines()
    assert of_job == [line for line in whole if " name=job " in line]
    assert len(of_job) == 7
    assert host.command("logs", "job", "-n", "1").stdout.splitlines() == of_job[-1:]
    assert host.stop() == 0


def test_logs_finds_the_log_of_a_krond_that_has_ended(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.log = host.state / "krond.log"
    host.start("--log-format", "json")
    assert host.stop() == 0
    assert host.command("logs", "job").stdout.count('"event":"decision"') == 1
    assert host.command("logs", "jo").stdout == ""
    host.log.unlink()
    missing = host.command("logs")
    assert missing.returncode == 1
    assert f"the log {host.log} does not exist" in missing.stderr


def test_logs_says_where_the_log_of_standard_error_is(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    words = [word for word in host.words() if word not in ("--log-file", str(host.log))]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert any(b"event=ready" in line for line in process.stderr)
        ended = host.command("logs")
        process.terminate()
        process.communicate(timeout=30)
    assert ended.returncode == 1
    assert "journalctl -u krond" in ended.stderr


def aside(host: Host) -> Path:
    """Where the log of until now is kept."""
    return host.directory / f"krond.log.{len(list(host.directory.glob('krond.log*')))}"


def moved_away(host: Host) -> None:
    """As logrotate does it without `create`."""
    host.log.rename(aside(host))
    host.process.send_signal(signal.SIGUSR1)  # type: ignore[union-attr]


def moved_and_made(host: Host) -> None:
    """With `create`: the new file is there before krond knows, which writes to the old one."""
    host.log.rename(aside(host))
    host.log.touch(0o640)
    time.sleep(0.5)  # longer than the command waits between two looks
    assert host.ask("trigger", job="job", wait=True)["ok"]
    host.process.send_signal(signal.SIGUSR1)  # type: ignore[union-attr]


def cut_short(host: Host) -> None:
    """With `copytruncate`."""
    shutil.copy(host.log, aside(host))
    os.truncate(host.log, 0)


@pytest.mark.parametrize("rotate", [moved_away, moved_and_made, cut_short])
def test_logs_follows_over_rotations(host: Host, rotate: Callable[[Host], None]) -> None:
    host.write(f"{NEVER} name=job command=/bin/true", f"{NEVER} name=other command=/bin/true")
    host.start()
    shown = host.directory / "shown"
    with shown.open("wb") as output:
        following = subprocess.Popen(
            [*PROGRAM, "logs", "job", "--follow", "-n", "1", "--state-dir", str(host.state)],
            stdout=output,
        )
    try:
        wait_for(lambda: b"event=decision" in shown.read_bytes(), "the line that was there")
        for _ in range(2):
            for name in ("job", "other"):
                host.ask("trigger", job=name, wait=True)
            see_all(host, shown)
            rotate(host)
            wait_for(lambda: host.ask("status")["active"] == 0, "all runs have ended")
            host.ask("trigger", job="job", wait=True)
            see_all(host, shown)
        following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130
    finally:
        following.kill()
        following.wait()
    _, *lines = shown.read_text().splitlines()
    runs = [re.search(r"event=(\w+) .* name=job run_id=(\w+)", line) for line in lines]
    assert None not in runs
    kept = "".join(path.read_text() for path in host.directory.glob("krond.log*"))
    ids = set(re.findall(r"event=manual_run .* name=job run_id=(\w+)", kept))
    expected = {(event, each) for event in ("manual_run", "started", "exited") for each in ids}
    assert len(ids) == (6 if rotate is moved_and_made else 4)
    assert {run.groups() for run in runs if run} == expected
    assert len(lines) == len(expected), "each line once"
    assert host.stop() == 0


def see_all(host: Host, shown: Path) -> None:
    """Wait until every run of the job there was has been shown."""
    asked = host.row("job")["last"]["run_id"]
    end = re.compile(rf"event=exited .* run_id={asked} ")
    wait_for(lambda: end.search(shown.read_text()), "the end of the last run")


# Nobody there, and somebody else


def test_without_a_krond_a_command_is_exit_code_5_with_a_fix(host: Host) -> None:
    def check(*words: str) -> None:
        ended = host.command(*words)
        assert (ended.returncode, ended.stdout) == (5, "")
        assert f"krond start --state-dir {host.state}" in ended.stderr

    for words in (("stop",), ("reload",), ("status",), ("trigger", "x", "--wait"), ("forget", "x")):
        check(*words)
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    host.kill()
    assert (host.state / "control.sock").exists(), "of one that was killed"
    check("status")
    check("stop")


@needs_root
def test_other_users_are_refused() -> None:
    with public_directory() as directory, Host(directory) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        words = ("--state-dir", host.state)
        for command in (["status"], ["trigger", "job"], ["stop"]):
            ended = krond_as_nobody(*command, *words)
            assert (ended.returncode, ended.stdout) == (1, ""), command
            assert "does not belong to you" in ended.stderr
        # Even if somebody opens the directory and the socket to all.
        host.state.chmod(0o755)
        (host.state / "control.sock").chmod(0o666)
        for command in (["status"], ["trigger", "job"], ["stop"]):
            ended = krond_as_nobody(*command, *words)
            assert (ended.returncode, ended.stdout) == (1, ""), command
            assert "may not control this krond" in ended.stderr
        assert host.ask("status")["stopping"] is False
        assert host.events("started") == []


def test_a_krond_that_is_stopped_by_a_signal_is_told_apart_from_none(host: Host) -> None:
    host.write(f"{NEVER} name=job command=/bin/true")
    host.start()
    assert host.process is not None
    host.process.send_signal(signal.SIGSTOP)
    from kron.krond.control.client import ask

    with pytest.raises(ControlError, match=r"did not answer within 0\.2 seconds"):
        ask(str(host.state), {"command": "status"}, 0.2)
    host.process.send_signal(signal.SIGCONT)
    assert host.ask("status")["ok"]
    host.kill()
    with pytest.raises(NotRunning):
        host.ask("status")
