"""krond is killed at any step of its first start in a boot: a job with `@reboot` runs once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kron.krond.enrolment.boot import FILE
from tests.krond.fault import DUE_S, Fault, FaultyHost, Ran, Server, told
from tests.soak import SOAK

JOBS = ("spawned", "launched")
DAY_S = 86_400


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Iterator[FaultyHost]:
    with FaultyHost(tmp_path, server) as host:
        lines = (host.job(name, schedule="@reboot", policy="") for name in JOBS)
        host.write(*(f"{line} {more}" for line, more in zip(lines, ("", "nice=1"), strict=True)))
        yield host


def due(host: FaultyHost, boot_id: str) -> list[Ran]:
    """What is to run in a boot; nothing before krond has taken it up."""
    file = host.state / FILE
    record = json.loads(file.read_text()) if file.exists() else {"boot_id": ""}
    return [(job, record["period"]) for job in JOBS] if record["boot_id"] == boot_id else []


def is_over(host: FaultyHost, boot_id: str) -> bool:
    owed = due(host, boot_id)
    return bool(owed) and host.is_over(owed)


def test_killed_at_any_step_of_its_first_start_krond_runs_it_once(host: FaultyHost) -> None:
    def is_done() -> bool:
        return is_over(host, "first")

    host.state.mkdir(mode=0o700)
    (host.directory / "saved").mkdir(mode=0o700)
    host.crash(Fault(0, since="beginning"), is_done, begin_s=DUE_S, boot_id="first")
    for point in host.steps(every=4):
        host.restore()
        fault = Fault(point.number, since="beginning")
        where = host.crash(fault, is_done, begin_s=DUE_S, boot_id="first")
        with told(where or point):
            host.recover(is_done, begin_s=DUE_S + 1, boot_id="first")
            host.check(due(host, "first"))


def test_killed_again_and_again_in_many_boots_it_runs_once_in_each(host: FaultyHost) -> None:
    """The clock of a boot is that of the last one, or a day more or less."""
    random.seed(14)

    def is_done() -> bool:
        return is_over(host, boot_id)

    boot_id = "boot-0"
    host.crash(Fault(0, since="beginning"), is_done, begin_s=DUE_S, boot_id=boot_id)
    lines = len(list(host.points()))
    ran = due(host, boot_id)
    places = []
    begin_s = DUE_S
    for number in range(1, 8 * SOAK):
        boot_id = f"boot-{number}"
        begin_s += random.choice((-DAY_S, 0, DAY_S))
        for restart in range(random.randint(1, 3)):
            fault = Fault(random.randint(1, lines), since="beginning")
            places.append(host.crash(fault, is_done, begin_s=begin_s + restart, boot_id=boot_id))
        host.recover(is_done, begin_s=begin_s + 5, boot_id=boot_id)
        host.kill()
        ran += due(host, boot_id)
        assert host.ran() == Counter(ran), (boot_id, places)
        host.check_accounts()
    assert len({period for _, period in ran}) == 8 * SOAK
