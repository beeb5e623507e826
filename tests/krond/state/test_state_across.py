"""State that another krond left: older, newer, damaged, or of a job that was gone for a while."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kron.core.instant import to_text
from kron.krond.state.file_replacer import FEW
from tests.krond.commands import (
    NEVER,
    BackgroundHost,
    OnePeriod,
    state_file,
    stored,
)
from tests.krond.host import Host
from tests.logbook import wait_for
from tests.moment import soon


def put(host: Host, name: str, value: dict[str, Any]) -> None:
    """Let this be the state of a job."""
    host.state.mkdir(mode=0o700, exist_ok=True)
    path = state_file(host, name)
    path.write_text(json.dumps(value) + "\n")
    path.chmod(0o600)


def of_schema_1(host: Host, name: str, **values: Any) -> dict[str, Any]:
    """A state as the first schema had it."""
    keys = ("last_handled_period", "last_chosen", "last_run", "last_exit_code", "active_pid")
    identity = f"{host.config}:{name}"
    return {
        "schema": 1,
        "identity": identity,
        **dict.fromkeys(keys),
        "seed": {"strategy": "stable", "salt": ""},
        **values,
    }


def test_a_state_of_the_first_schema_is_taken_over(host: Host) -> None:
    at_s = soon(4)
    periods = {name: OnePeriod(host, name) for name in ("handled", "open", "passed")}
    deadline = "@policy(deadline=1h)"
    host.write(
        f"{periods['handled'].chosen_at(at_s, deadline)} name=handled command=/bin/true",
        f"{periods['open'].chosen_at(at_s, deadline)} name=open command=/bin/true",
        f"{periods['passed'].chosen_at(at_s - 60, deadline)} name=passed command=/bin/true",
    )
    period, before = (to_text(periods["open"].nominal_s - back_s) for back_s in (0, 86_400))
    last = {"last_run": before, "last_exit_code": 3, "last_chosen": before}
    put(host, "handled", of_schema_1(host, "handled", last_handled_period=period))
    put(host, "open", of_schema_1(host, "open", last_handled_period=before, **last))
    dead = {"active_pid": 2**22}
    put(host, "passed", of_schema_1(host, "passed", last_handled_period=before, **last, **dead))
    host.start()
    for name in periods:
        assert stored(host, name)["schema"] == 2
    row = host.row("open")
    assert row["last_run"]["exit_code"] == 3
    assert row["last_run"]["period"] == before
    assert host.row("passed")["active"] == []
    started = host.wait_for_event("started", "open")
    assert (started["period"], started["chosen"]) == (period, to_text(at_s))
    wait_for(lambda: time.time() > at_s + 1, "the second after")
    assert host.command("status").returncode == 0
    assert host.events("started", "handled") == [], "what was handled stays handled"
    assert host.events("started", "passed") == [], "and nothing from before is owed"
    assert host.stop() == 0
    host.check_log()


@pytest.mark.parametrize("way", [(), ("--foreground",)], ids=["background", "foreground"])
@pytest.mark.parametrize("part", ["state", "ledger"])
def test_a_newer_state_is_refused_and_left_as_it_is(
    tmp_path: Path, way: tuple[str, ...], part: str
) -> None:
    with BackgroundHost(tmp_path) as host:
        host.write(f"{NEVER} name=newer command=/bin/true", f"{NEVER} name=other command=/bin/true")
        assert host.start_background().returncode == 0
        assert host.command("stop").returncode == 0
        state = stored(host, "newer")
        (state if part == "state" else state["ledger"])["schema"] = 99
        put(host, "newer", state)
        before = {path: path.read_bytes() for path in host.state.glob("*.json*")}
        started = len(host.events("ready"))
        ended = host.start_background(*way)
        assert ended.returncode == 2
        assert "has schema 99" in ended.stderr
        assert str(state_file(host, "newer")) in ended.stderr
        assert "run the newer version" in ended.stderr
        assert {path: path.read_bytes() for path in host.state.glob("*.json*")} == before
        assert len(host.events("ready")) == started


def test_a_start_that_a_newer_state_refuses_sets_nothing_aside(tmp_path: Path) -> None:
    with BackgroundHost(tmp_path) as host:
        names = ("a", "b", "c")
        host.write(*(f"{NEVER} name={name} command=/bin/true" for name in names))
        assert host.start_background().returncode == 0
        assert host.command("stop").returncode == 0
        [*damaged, last] = sorted(state_file(host, name) for name in names)  # as they are read
        for path in damaged:
            overwritten(path)
        last.write_text('{"schema": 99}\n')
        assert host.start_background().returncode == 2
        assert sorted(host.state.glob("*.json*")) == [*damaged, last]


@pytest.mark.parametrize("part", ["state", "ledger"])
def test_a_newer_state_of_a_job_that_comes_back_refuses_the_whole_reload(
    host: Host, part: str
) -> None:
    stays = f"{NEVER} name=stays command=/bin/true"
    host.write(stays, f"{NEVER} name=newer command=/bin/true")
    host.start()
    host.write(stays)
    assert host.command("reload").returncode == 0
    state = stored(host, "newer")
    before = dict(state, ledger=dict(state["ledger"]))
    (state if part == "state" else state["ledger"])["schema"] = 99
    put(host, "newer", state)
    row = host.row("stays")
    files = {path: path.read_bytes() for path in host.state.glob("*.json*")}
    host.write(
        "0 3 * * * name=stays command=/bin/false",
        f"{NEVER} name=new command=/bin/true",
        f"{NEVER} name=newer command=/bin/true",
    )
    refused = host.command("reload")
    assert refused.returncode == 1
    assert "has schema 99" in refused.stderr
    assert str(state_file(host, "newer")) in refused.stderr
    assert host.row("stays") == row
    assert [job["name"] for job in host.ask("status")["jobs"]] == ["stays"]
    assert {path: path.read_bytes() for path in host.state.glob("*.json*")} == files
    assert host.events("reload")[-1]["result"] == "refused"
    put(host, "newer", before)
    assert host.command("reload").returncode == 0
    assert {job["name"] for job in host.ask("status")["jobs"]} == {"stays", "new", "newer"}
    assert host.stop() == 0
    host.check_log()


def test_a_refused_reload_writes_no_state_for_a_job_whose_own_was_damaged(host: Host) -> None:
    stays = f"{NEVER} name=stays command=/bin/true"
    gone = (f"{NEVER} name=damaged command=/bin/true", f"{NEVER} name=newer command=/bin/true")
    host.write(stays, *gone)
    host.start()
    host.write(stays)
    assert host.command("reload").returncode == 0
    overwritten(state_file(host, "damaged"))
    put(host, "newer", {**stored(host, "newer"), "schema": 99})
    host.write(stays, *gone)
    assert host.command("reload").returncode == 1
    assert host.command("status").returncode == 0  # whatever that turn of the loop had to write
    assert not state_file(host, "damaged").exists()
    assert host.stop() == 0


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def overwritten(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


def of_another_job(path: Path) -> None:
    other = next(other for other in path.parent.glob("*.json") if other != path)
    path.write_bytes(other.read_bytes())


def nonsense(path: Path) -> None:
    state = json.loads(path.read_text())
    state["ledger"]["handled_through"] = "yesterday"
    path.write_text(json.dumps(state) + "\n")


def writable(path: Path) -> None:
    path.chmod(0o666)


def a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_suffix(".moved")))


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def huge(path: Path) -> None:
    os.truncate(path, 200_000_000)


DAMAGES = (
    cut_off,
    emptied,
    overwritten,
    of_another_job,
    nonsense,
    writable,
    a_link,
    a_directory,
    a_pipe,
    huge,
)


def test_a_damaged_state_is_set_aside_and_nothing_runs_twice(host: Host) -> None:
    host.write()
    host.start()
    one = OnePeriod(host, "job")
    schedule = one.chosen_at(soon(1), "@policy(deadline=1h)")
    host.write(f"{schedule} name=job command=/bin/true", f"{NEVER} name=other command=/bin/true")
    host.ask("reload")
    host.wait_for_event("exited", "job")
    assert host.stop() == 0
    path = state_file(host, "job")
    for number, damage in enumerate(DAMAGES, 1):
        other = stored(host, "other")
        damage(path)
        host.start()
        events = host.events("state_corrupt")
        assert len(events) == number, damage
        told = events[-1]
        aside = Path(str(told["set_aside"]))
        assert (told.level, told["file"]) == ("ERROR", str(path))
        assert aside.name.startswith(f"{path.name}.corrupt.")
        assert os.path.lexists(aside), damage
        assert (told["namespace"], told["name"]) == (str(host.config), "job")
        assert told["error"]
        row = host.row("job")
        assert row["last"] is None, "it is as if it were new"
        assert row["next"]["period"] == to_text(one.nominal_s + 86_400)
        assert host.stop() == 0
        assert stored(host, "job")["schema"] == 2
        assert stored(host, "other") == other
    assert len(list(host.state.glob("*.corrupt.*"))) == len(DAMAGES), "none of them is lost"
    assert len(host.events("started", "job")) == 1
    assert host.events("missed_deadline") == []
    host.check_log()


def test_a_damaged_bundle_is_set_aside_and_nothing_runs_twice(host: Host) -> None:
    """Nobody knows whose runs were in it, so nobody owes one."""
    host.write()
    host.start()
    names = [f"job-{number}" for number in range(FEW)]
    at_s = soon(5)  # it takes a moment to find so many salts, and what was due before owes nothing
    lines = [
        f"{OnePeriod(host, name).chosen_at(at_s, '@policy(deadline=1h)')} name={name} "
        "command=/bin/true"
        for name in names
    ]
    host.write(*lines)
    host.ask("reload")
    before = {path: path.read_bytes() for path in host.state.glob("*.json")}
    for name in names:
        host.wait_for_event("exited", name)
    assert host.stop() == 0
    for path, content in before.items():  # as they would be if krond had been killed just then
        path.write_bytes(content)
    (host.state / "bundle").write_bytes(b"damaged\n")
    (host.state / "bundle").chmod(0o600)
    newer = host.state / f"{'0' * 64}.json"
    newer.write_text('{"schema": 99}\n')
    newer.chmod(0o600)
    host.launch()
    assert host.wait() == 2, "a start that fails makes nothing of it"
    newer.unlink()
    host.start()
    (told,) = host.events("state_corrupt")
    assert told["file"] == str(host.state / "bundle")
    assert Path(str(told["set_aside"])).read_bytes() == b"damaged\n"
    assert all(host.row(name)["last"] is None for name in names)
    assert host.stop() == 0
    assert len(host.events("started")) == FEW
    host.check_log()


def test_a_damaged_state_of_a_job_that_comes_back_at_a_reload_is_set_aside(host: Host) -> None:
    job, other = f"{NEVER} name=job command=/bin/true", f"{NEVER} name=other command=/bin/true"
    host.write(job, other)
    host.start()
    host.write(other)
    host.ask("reload")
    cut_off(state_file(host, "job"))
    host.write(job, other)
    assert host.ask("reload")["total"] == 2
    told = host.events("state_corrupt", "job")[0]
    assert told["namespace"] == str(host.config)
    assert Path(str(told["set_aside"])).exists()
    assert host.command("trigger", "job", "--wait").returncode == 0


@pytest.mark.parametrize("fields", ["", "nice=1"], ids=["spawned", "launched"])
def test_another_directory_put_in_its_place_changes_nothing_for_a_krond_that_runs(
    host: Host, fields: str
) -> None:
    gate = host.directory / "gate"
    until = f'shell=true command="until [ -e {gate} ]; do sleep 0.01; done"'
    host.write(f"{NEVER} name=job {until} {fields}")
    host.start()
    place = host.state
    host.state = host.directory / "moved"
    place.rename(host.state)
    place.mkdir(mode=0o700)
    (place / "runs").mkdir(mode=0o700)
    run_id = host.ask("trigger", job="job")["run_id"]
    assert os.listdir(host.state / "runs") == [run_id]  # noqa: PTH208
    gate.touch()
    host.wait_for_event("exited", "job")
    assert host.stop() == 0
    assert stored(host, "job")["last_run"][4] == run_id
    assert os.listdir(place) == ["runs"]  # noqa: PTH208
    assert os.listdir(place / "runs") == []  # noqa: PTH208


def test_a_job_that_was_gone_for_a_while_owes_nothing(host: Host) -> None:
    host.write()
    host.start()
    at_s = soon(2)
    done = host.directory / "done"
    lines = {
        name: f"{OnePeriod(host, name).chosen_at(at_s, '@policy(deadline=1h)')} name={name}"
        f' shell=true command="echo $KRON_JOB $KRON_CHOSEN >>{done}"'
        for name in ("stayed", "went")
    }
    host.write(*lines.values())
    host.ask("reload")
    assert host.row("went")["next"]["chosen"] == to_text(at_s)
    host.kill()
    host.write(lines["stayed"])
    host.launch("--once")
    assert host.wait() == 0
    wait_for(lambda: time.time() > at_s + 1, "the chosen time, while krond is down")
    host.write(*lines.values())
    host.start()
    host.wait_for_event("exited", "stayed")
    assert host.row("went")["next"]["chosen"] > to_text(at_s + 3600)
    assert host.stop() == 0
    assert done.read_text() == f"stayed {to_text(at_s)}\n"
    assert host.events("missed_deadline") == []
    host.check_log()


@pytest.mark.parametrize(
    "leave", [lambda host: host.stop(), lambda host: host.kill()], ids=["stopped", "killed"]
)
def test_what_a_job_did_is_known_to_the_next_krond(
    host: Host, leave: Callable[[Host], object]
) -> None:
    host.write(f'{NEVER} name=job command="exit 3" shell=true')
    host.start()
    for _ in range(12):
        host.ask("trigger", job="job", wait=True)
    before = host.row("job")
    wait_for(lambda: len(stored(host, "job")["history"]) == 10, "the history is on disk")
    leave(host)
    host.process = None
    host.start()
    after = host.row("job")
    assert after == before
    assert after["last_run"]["exit_code"] == 3
    assert host.stop() == 0
    assert len(stored(host, "job")["history"]) == 10
