"""A run that krond cut short says why, whatever its exit code: in its line, status and state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.krond.children import NEVER, Family
from tests.krond.runs.test_adoption import UNSEEN

pytestmark = pytest.mark.heavy

POLITE = ("trap 'exit 0' TERM", "echo up >> up", "while :; do sleep 0.02; done")
"""A run that ends well when it is asked to end."""


def check(host: Family, run_id: str, reason: str, *, exit_code: str | None = "0") -> None:
    exited = host.wait_for_run("exited", run_id)
    assert (exited.level, exited.get("exit_code")) == ("WARN", exit_code)
    assert exited["reason"] == reason
    row = host.wait_until_stored("job", run_id)["last_run"]
    assert row[3:5] == [reason, run_id]


def test_a_run_that_timed_out_or_was_replaced_says_so(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        schedule = f"{NEVER} @policy(concurrency=replace)"
        host.write(host.job("job", *POLITE, fields="timeout=1s", schedule=schedule))
        host.start()
        first = host.trigger("job")
        host.wait_for_file("up")
        second = host.trigger("job")
        check(host, first, f"replaced by run {second}")
        check(host, second, "timed out after 1s")
        assert host.row("job")["last"]["reason"] == "timed out after 1s"
        assert "timed out after 1s (exit code 0)" in host.command("status").stdout
        waited = host.command("trigger", "job", "--wait")
        assert (waited.returncode, waited.stderr) == (0, "krond: timed out after 1s\n")


def test_a_run_that_was_stopped_with_krond_says_so(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.write(host.job("job", *POLITE))
        host.start()
        run_id = host.trigger("job")
        host.wait_for_file("up")
        assert host.command("stop", "--terminate").returncode == 0
        assert host.wait() == 0
        check(host, run_id, "stopped with krond")


def test_an_adopted_run_that_timed_out_says_so(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        host.write(host.job("job", *POLITE, fields="timeout=1s"))
        host.start()
        run_id = host.trigger("job")
        host.wait_for_run("started", run_id)
        host.kill()
        host.start()
        check(host, run_id, f"timed out after 1s; {UNSEEN}", exit_code=None)
        assert "timed out after 1s (ended, result unknown)" in host.command("status").stdout
