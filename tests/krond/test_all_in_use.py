"""krond is killed at random while everything around a job is in use: slots, retries, kept output,
hooks and mail.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.krond.output.names import OutputName
from kron.krond.state.record import RETRIED, attempt_of
from tests.krond import load
from tests.krond.fault import Fault, FaultyHost, Server
from tests.logbook import wait_for
from tests.soak import SOAK

JOBS = 200
ROUNDS = 8
FAILS_ONCE = "echo out $KRON_RUN_ID; test $KRON_ATTEMPT = 2"
HEARS = "#!/bin/sh\necho $KRON_EVENT $KRON_RUN_ID >> {}\n"
SENDS = "#!/bin/sh\nsed -n 's/^X-Kron-Run-Id: /mail /p;/^$/q' >> {}\n"


class BusyHost(FaultyHost):
    """A host whose runs all fail once, print, share a slot, and are heard of."""

    def __enter__(self) -> BusyHost:
        return self

    @property
    def heard_file(self) -> Path:
        return self.directory / "heard.txt"

    def program(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text.format(self.heard_file))
        path.chmod(0o755)
        return path

    def write_jobs(self) -> None:
        hook = self.program("hook", HEARS)
        self.write(
            "slots: disk=3",
            f"defaults: slots=disk retries=2 retry_delay=0s stdout=keep on_start={hook} "
            f"on_success={hook} on_failure={hook} mail=ops@example.org mail_on=always",
            *load.lines(self, JOBS, then=FAILS_ONCE),
        )

    def launch(self, *options: str, **what: object) -> None:
        super().launch("--output-dir", str(self.outputs), *options, **what)

    def heard(self) -> Counter[str]:
        text = self.heard_file.read_text() if self.heard_file.exists() else ""
        return Counter(text.splitlines())

    def is_all_delivered(self) -> bool:
        spool = self.state / "notices"
        return not spool.exists() or not any(spool.iterdir())


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BusyHost]:
    monkeypatch.setenv("KRON_SENDMAIL", str(tmp_path / "sendmail"))
    with Server() as server, BusyHost(tmp_path, server) as host:
        host.program("sendmail", SENDS)
        yield host


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(SOAK))
def test_killed_at_random_krond_loses_nothing_and_starts_nothing_twice(
    host: BusyHost, seed: int
) -> None:
    chance = random.Random(seed)
    host.write_jobs()
    host.start()
    host.kill()
    for number in range(ROUNDS):
        host.launch(fault=Fault(chance.randint(1, 20_000)) if number % 2 else None)
        time.sleep(chance.uniform(0.2, 1.5))
        host.kill()
    host.start()
    due = load.owed(host, int(time.time()))
    wait_for(
        lambda: due <= set(host.ran()) and host.is_settled(), "every period that was due has run"
    )
    wait_for(host.is_all_delivered, "everybody has heard")
    assert host.stop() == 0
    assert len(due) >= JOBS / 120 * ROUNDS / 4
    check_runs(host)
    check_notices(host)
    check_outputs(host)
    host.check_accounts()


def check_runs(host: BusyHost) -> None:
    """No attempt ran twice, and no period has two outcomes."""
    assert set(Counter(run_id for _, _, run_id, _ in host.runs()).values()) == {1}
    for ran, ends in host.ends().items():
        assert [ended.outcome for ended in ends if ended.outcome != RETRIED] == ["executed"], ran
        attempts = [attempt_of(ended.run_id)[1] for ended in ends]
        assert attempts == list(range(1, len(ends) + 1)), ran


def check_notices(host: BusyHost) -> None:
    """Of each period somebody hears of the start and the end, and has a mail, at least once."""
    heard = host.heard()
    assert host.events("notice_lost") == []
    for ends in host.ends().values():
        last, start = ends[-1].run_id, attempt_of(ends[-1].run_id)[0]
        assert heard[f"start {start}"] >= 1, heard
        assert heard[f"success {last}"] + heard[f"failure {last}"] >= 1, (last, heard)
        assert heard[f"mail {last}"] >= 1, (last, heard)
        assert heard[f"success {start}"] + heard[f"failure {start}"] == 0 or start == last, heard


def check_outputs(host: BusyHost) -> None:
    """Those that are there are whole. A krond that is killed before it has given a pipe to its
    collector takes the output with it."""
    files = list(host.outputs.glob("*/*.log"))
    for file in files:
        name = OutputName.read(file.name)
        assert name is not None
        assert file.read_text() == f"out {name.run_id}\n"
    assert len(files) >= len(host.runs()) / 2
