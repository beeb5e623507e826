"""What krontab says is what krond does: the decision contract, seen from the command line."""

from __future__ import annotations

import hashlib
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kron
from kron.core.instant import from_text, to_datetime
from kron.engine import Job, Start, step
from tests.core.schedules import schedule_texts
from tests.krontab.command import AT, Krontab
from tests.krontab.files import IDENTITY, SCHEDULE
from tests.soak import examples

SEED_HASH = "9c85657760a63b4d925af6088cceb2bb4448380b2e6856b203915a0a51ab5101"
CHOSEN = "2026-03-01T02:32:20Z"
DIRECT = ("--schedule", SCHEDULE, "--identity", IDENTITY, "--at", "2026-03-01")
LINE = f"{SCHEDULE} name=db-backup command=/bin/true\n"
HOUR_NS = 3_600 * 10**9


@pytest.mark.parametrize("way", ["schedule", "file"])
def test_the_golden_decision_of_the_design(krontab: Krontab, way: str) -> None:
    krontab.write("jobs.kron", LINE)
    in_file = ("db-backup", "--file", "jobs.kron", "--identity", IDENTITY, "--at", "2026-03-01")
    words = DIRECT if way == "schedule" else in_file
    shown = krontab.process("explain", *words).fine()
    assert f"  seed hash   {SEED_HASH}\n" in shown.out
    assert f"  chosen      {CHOSEN}, Sun 2026-03-01 02:32:20 +00:00\n" in shown.out
    document = krontab.process("explain", *words, "--format", "json").fine().json
    assert document["seed_hash"] == SEED_HASH
    assert document["chosen"] == CHOSEN
    assert document["match"] == "nominal"
    (run,) = krontab("next", *words, "--count", "1", "--format", "json").fine().json["runs"]
    assert (run["period"], run["chosen"]) == ("2026-03-01T00:00:00Z", CHOSEN)


def test_the_hash_can_be_had_without_kron_from_the_line_that_is_shown(krontab: Krontab) -> None:
    for identity, salt in (
        (IDENTITY, "backup"),
        ('it\'s a "b" $HOME `x` \\n %s', "s $(p) %d'\\\""),
    ):
        schedule = f"0 0 * * * @win(after,3h) @seed(stable,salt={quoted(salt)})"
        words = ("--schedule", schedule, "--identity", identity, "--at", "2026-03-01")
        (line,) = (line for line in krontab("explain", *words).lines if "| sha256sum" in line)
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        document = krontab("explain", *words, "--format", "json").json
        assert ran.stdout.split()[0] == document["seed_hash"]
        material = document["seed_material"]
        assert material == f"{identity}\n2026-03-01T00:00:00Z\n{salt}"
        assert hashlib.sha256(material.encode()).hexdigest() == document["seed_hash"]


def quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_the_identity_of_a_job_is_its_absolute_path_and_name(krontab: Krontab) -> None:
    path = krontab.write("jobs.kron", LINE)
    own = f"{path}:db-backup"
    for file in ("jobs.kron", "./jobs.kron", "../here/jobs.kron", path, ".", krontab.path("")):
        words = ("db-backup", "--file", file, "--at", AT, "--format", "json")
        for command in ("explain", "next"):
            assert krontab(command, *words).fine().json["identity"] == own
        (job,) = krontab("list", *words[1:]).fine().json["jobs"]
        assert job["identity"] == own


@pytest.mark.parametrize("command", ["explain", "next"])
def test_a_node_id_goes_before_the_path(krontab: Krontab, command: str) -> None:
    path = krontab.write("jobs.kron", LINE)
    words = (command, "db-backup", "--file", "jobs.kron", "--at", AT, "--format", "json")
    document = krontab(*words, "--node-id", "web-17").fine().json
    assert document["identity"] == f"web-17/{path}:db-backup"
    assert document != krontab(*words).json
    stated = krontab(*words, "--identity", f"web-17/{path}:db-backup").json
    assert document == stated


def test_a_node_id_may_be_the_name_of_the_host(krontab: Krontab) -> None:
    import os

    path = krontab.write("jobs.kron", LINE)
    words = ("list", "--file", "jobs.kron", "--at", AT, "--format", "json")
    (job,) = krontab(*words, "--node-id", "hostname").fine().json["jobs"]
    assert job["identity"] == f"{os.uname().nodename}/{path}:db-backup"


@pytest.mark.parametrize("node", ["", "a\nb", "\x1b[31m"])
def test_a_node_id_is_one_visible_word_or_more(krontab: Krontab, node: str) -> None:
    krontab.write("jobs.kron", LINE)
    ran = krontab("list", "--file", "jobs.kron", "--node-id", node)
    assert (ran.code, ran.out) == (1, "")
    assert "is not a node id" in ran.err
    assert "\x1b" not in ran.err


def test_a_fuzzy_schedule_follows_the_identity(krontab: Krontab) -> None:
    path = krontab.write("jobs.kron", "daily between 9:00 and 17:00 name=tea command=/bin/true\n")
    words = ("explain", "tea", "--file", "jobs.kron", "--at", AT, "--format", "json")
    own = krontab(*words).fine().json
    scattered = krontab("fuzzy", "scatter", own["schedule"], "--id", f"{path}:tea").fine().out
    assert own["canonical"] == scattered.strip()
    found = {own["canonical"]}
    for other in ("somebody/else", "somebody/else/again"):
        explained = krontab(*words, "--identity", other).json
        scattered = krontab("fuzzy", "scatter", own["schedule"], "--id", other).out
        assert explained["canonical"] == scattered.strip()
        found.add(explained["canonical"])
    assert len(found) > 1  # two of the three may meet by chance


moments = st.datetimes(datetime(2015, 1, 1), datetime(2035, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)


@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=schedule_texts(most_window_ns=48 * HOUR_NS), moment=moments)
def test_what_krontab_says_of_any_schedule_is_what_the_engine_does(
    krontab: Krontab, text: str, moment: datetime
) -> None:
    path = krontab.write("jobs.kron", f"{text} name=job command=/bin/true\n")
    schedule = kron.parse_schedule(text)
    job = Job(f"{path}:job", schedule)
    at = moment.isoformat()
    words = ("job", "--file", "jobs.kron", "--at", at, "--format", "json")
    runs = krontab("next", *words, "--count", "3").fine().json["runs"]
    for run in runs:
        decision = kron.decide(
            schedule, identity=job.identity, nominal=to_datetime(from_text(run["period"]))
        )
        explained = krontab("explain", *words[:3], "--at", run["period"], *words[5:]).fine().json
        assert explained["chosen"] == run["chosen"] == text_of(decision.chosen_time)
        assert explained["seed_hash"] == decision.seed_hash
        assert explained["period_key"] == decision.period_key
        assert explained["attempts"] == decision.attempts
        assert explained["unschedulable"] == run["unschedulable"] == decision.unschedulable
        assert explained["window_start"] == run["window_start"] == text_of(decision.window_start)
        assert explained["window_end"] == run["window_end"] == text_of(decision.window_end)
    if not schedule.policy.suspend and runs:
        assert fired(job, moment) == runs[0]["period"]


def text_of(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()[:19] + "Z"


def fired(job: Job, moment: datetime) -> str:
    """The period that a job first seen at this moment deals with first."""
    first = step(job, None, int(moment.timestamp()))
    if not first.actions:
        assert first.wake_s is not None
        first = step(job, first.ledger, first.wake_s, plan=first.plan)
    action = first.actions[0]
    period_id: str = action.decision.period_id  # type: ignore[union-attr]
    if isinstance(action, Start):
        assert action.decision.chosen_time is not None
        assert action.decision.chosen_time - moment >= timedelta(0)
    return period_id
