"""What the state says of a run that is going on, and what is left of a run if it says nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kron.krond.state.file_replacer import BUNDLE
from tests.krond.children import NEVER, Family, is_alive, wait_until_gone
from tests.krond.process.expected import needs_root
from tests.logbook import wait_for

pytestmark = pytest.mark.heavy

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"


def test_the_state_file_of_a_running_job_has_its_process(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        host.load(host.job("job", UNTIL_GO, schedule=host.soon("job", 1)))
        started = host.wait_for_event("started", "job")
        (run,) = wait_for(lambda: host.stored("job")["active"], "the run is in the state file")
        assert (run["run_id"], run["pid"]) == (started["run_id"], int(started["pid"]))
        assert (run["period"], run["ticks"] > 0) == (started["period"], True)
        state = host.stored("job")
        assert (state["ledger"]["starting"], state["ledger"]["last"]["outcome"]) == ([], "executed")
        host.path("go").touch()
        host.wait_until_stored("job", str(started["run_id"]))
        assert host.stored("job")["active"] == []


def damage_state(host: Family) -> None:
    host.state_path("job").write_bytes(b"damaged\n")


def damage_bundle(host: Family) -> None:
    """As it may be after a crash: the bundle was the latest, and does not read."""
    host.state_path("job").unlink()
    (host.state / BUNDLE).write_bytes(b"damaged\n")
    (host.state / BUNDLE).chmod(0o600)


@pytest.mark.parametrize("damage", [damage_state, damage_bundle])
def test_a_state_that_does_not_read_forgets_no_run_that_goes_on(
    tmp_path: Path, damage: Callable[[Family], None]
) -> None:
    with Family(tmp_path) as host:
        host.start_empty()
        lines = [host.job("job", UNTIL_GO, schedule=host.soon("job", 1), fields="timeout=1h")]
        lines.append(host.job("other", UNTIL_GO))
        host.load(*lines)
        started = host.wait_for_event("started", "job")
        run_id, pid = str(started["run_id"]), int(started["pid"])
        host.kill()
        damage(host)
        host.start()
        assert len(host.events("state_corrupt")) == 1
        adopted = host.wait_for_event("adopted", "job")
        assert (adopted["run_id"], adopted["pid"]) == (run_id, started["pid"])
        assert adopted["period"] == started["period"]
        refused = host.command("trigger", "job")
        assert (refused.returncode, "concurrency is forbid" in refused.stderr) == (1, True)
        (active,) = wait_for(lambda: host.stored("job")["active"], "the run is stored again")
        assert (active["run_id"], active["pid"]) == (run_id, pid)
        assert host.proof(run_id).exists()
        assert host.row("other")["active"] == []
        host.path("go").touch()
        host.wait_for_run("exited", run_id)
        assert len(host.events("adopted")) == 1
        host.check_log()


def test_a_manual_run_is_found_again_too_and_has_its_timeout(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.write(host.job("job", "sleep 60", fields="timeout=2s"))
        host.start()
        run_id = host.trigger("job")
        pid = host.pid_of(run_id)
        host.kill()
        damage_state(host)
        host.start()
        assert host.wait_for_run("adopted", run_id).get("period") is None
        assert host.wait_for_run("timeout", run_id)["signal"] == "SIGTERM"
        host.wait_for_run("exited", run_id)
        wait_until_gone(pid)


def test_it_is_found_at_a_reload_that_brings_its_job_back(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        job = host.job("job", UNTIL_GO)
        host.write(job)
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        host.kill()
        host.write(host.job("other", UNTIL_GO))
        host.start()
        damage_state(host)
        host.load(job)
        assert host.wait_for_run("adopted", run_id)["name"] == "job"


@needs_root
def test_a_process_of_another_user_does_not_pose_as_the_run(tmp_path: Path) -> None:
    """Anybody can put any run id into an environment, but not choose the user of the job."""
    with Family(tmp_path) as host:
        host.write(host.job("job", UNTIL_GO))
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        host.kill()
        damage_state(host)
        host.write(f"{NEVER} name=job command=/bin/true user=nobody")
        host.start()
        assert host.row("job")["active"] == host.events("adopted") == []
        assert is_alive(host.pid_of(run_id))
