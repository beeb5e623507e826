"""One schedule and one identity are one instant, whoever is asked: krontab, krond, kronctl, and
the value that kron-operator acts on."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import yaml

from kron.core.instant import from_text, to_text
from kron.engine.agenda import agenda
from kron.kube.resource.kronjob import read_kronjob
from kron.logs.reader import read_line
from kron.logs.record import Record
from tests.krontab.command import AT, Krontab
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob

IDENTITY = "prod/backup"
SCHEDULES = [
    pytest.param("0 2 * * * @win(after,3h)", id="after"),
    pytest.param("*/20 * * * * @win(around,10m) @dist(normal)", id="around-normal"),
    pytest.param("0 3 * * MON @tz(Europe/Paris) @win(before,2h) @dist(skewLate)", id="before"),
    pytest.param("30 2 * * * @tz(America/New_York) @win(after,1h) @seed(daily,salt=x)", id="seed"),
    pytest.param("0 * * * * @win(after,50m) @only(hours=8-18) @avoid(dow=SUN)", id="constraints"),
    pytest.param("*/5 * * * * @win(after,2h) @dist(exponential,lambda=3)", id="overlapping"),
    pytest.param("daily around 14:00", id="fuzzy"),
    pytest.param("0 0 29 2 * @win(after,24h)", id="rare"),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_krontab_kronctl_and_the_operator_agree(tmp_path: Path, schedule: str) -> None:
    krontab, kronctl = Krontab(tmp_path), Kronctl(tmp_path)
    text = kronjob(schedule=repr(schedule))
    kronctl.write("a.yaml", text)
    common = ("--count", "20", "--at", AT, "--format", "json")
    asked = krontab("next", "--schedule", schedule, "--identity", IDENTITY, *common).json
    told = kronctl("next", "-f", "a.yaml", *common).json
    assert told["identity"] == asked["identity"] == IDENTITY
    assert told["runs"] == asked["runs"]
    job = read_kronjob(yaml.safe_load(text)).job
    decisions = islice(agenda(job, from_text(AT)), 20)
    chosen = [None if each.chosen_s is None else to_text(each.chosen_s) for each in decisions]
    assert [run["chosen"] for run in asked["runs"]] == chosen


def test_what_fields_say_is_what_the_text_says(tmp_path: Path) -> None:
    kronctl = Kronctl(tmp_path)
    text = (
        "0 2 * * * @tz(Europe/Paris) @win(around,1h) @dist(skewEarly,shape=3) @seed(stable,salt=s)"
    )
    kronctl.write("text.yaml", kronjob(schedule=f"'{text}'"))
    fields = (
        "  timeZone: Europe/Paris\n  window: {mode: around, duration: 1h}\n"
        "  distribution: {name: skewEarly, params: {shape: 3}}\n"
        "  seed: {strategy: stable, salt: s}\n"
    )
    kronctl.write("fields.yaml", kronjob(schedule="0 2 * * *", more=fields))
    said = [
        kronctl("next", "-f", name, "--at", AT, "--format", "json").json["runs"]
        for name in ("text.yaml", "fields.yaml")
    ]
    assert said[0] == said[1]


def test_krond_logs_what_krontab_says(tmp_path: Path) -> None:
    """krond's identities are paths, so it is krontab that is asked about krond's."""
    krontab = Krontab(tmp_path)
    schedule = "0 2 * * * @win(after,3h) @seed(stable,salt=s)"
    path = krontab.write("a.kron", f"{schedule} name=backup command=/bin/true\n")
    words = ("start", "--foreground", "--once", "--config", path, "--state-dir", krontab.path("s"))
    ran = subprocess.run(
        [sys.executable, "-m", "kron.krond", *words],
        capture_output=True,
        env=krontab.environment,
        timeout=60,
        check=True,
    )
    records = [read_line(line) for line in ran.stderr.decode().splitlines()]
    (decision,) = [
        dict(record.fields)
        for record in records
        if isinstance(record, Record) and record.event == "decision"
    ]
    asked = krontab(
        "explain",
        *("--schedule", schedule, "--identity", decision["identity"]),
        *("--at", decision["period"], "--format", "json"),
    ).json
    assert (asked["chosen"], asked["seed_hash"]) == (decision["chosen"], decision["seed_hash"])
