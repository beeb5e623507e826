"""Intents without an end: what is found of the job's runs decides, and nothing runs twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
from kron.engine import (
    Adopt,
    Conclude,
    Evidence,
    Intent,
    Job,
    Ledger,
    Restart,
    Sighting,
    Start,
    ledger_from_json,
    recover,
    step,
)
from tests.engine.scene import IDENTITY, through_json

VECTORS = Path(__file__).parent.parent / "vectors" / "kron-recovery-v1.json"
SCENES = json.loads(VECTORS.read_text(encoding="utf-8"))["scenes"]


def described(action: Adopt | Restart | Conclude) -> str:
    match action:
        case Adopt(run):
            return f"adopt {run.run_id}"
        case Restart(intent, replaces):
            return f"{'replace' if replaces else 'restart'} {_minute(intent.nominal_s)}"
        case Conclude(intent, outcome, _, yields_to):
            told = f"{outcome} {_minute(intent.nominal_s)}"
            return f"{told} for {yields_to}" if yields_to else told


def _minute(nominal_s: int) -> str:
    return to_text(nominal_s)[11:16]


def _sighting(row: dict[str, Any]) -> Sighting:
    period, chosen = (row[key] and from_text(row[key]) for key in ("period", "chosen"))
    return Sighting(row["run_id"], period, chosen, Evidence(row["evidence"]))


@pytest.mark.parametrize("scene", [pytest.param(each, id=each["name"]) for each in SCENES])
def test_a_frozen_scene_is_recovered_as_it_was(scene: dict[str, Any]) -> None:
    job = Job(IDENTITY, kron.parse_schedule(scene["schedule"]))
    before = ledger_from_json(scene["ledger"])
    now_s = from_text(scene["now"])
    found = [_sighting(row) for row in scene["found"]]
    recovery = recover(job, before, found, now_s, slack_s=scene["slack_s"])
    assert [described(action) for action in recovery.actions] == scene["actions"]
    after = through_json(recovery.ledger)
    assert after == recovery.ledger
    assert [to_text(intent.nominal_s) for intent in after.starting] == scene["starting_after"]
    last = after.last and [_minute(after.last.nominal_s), after.last.outcome, after.last.reason]
    assert last == scene["last_after"]
    # Recovered again with the same in view, nothing ends a second time.
    again = recover(job, after, found, now_s, slack_s=scene["slack_s"])
    assert not any(isinstance(action, Adopt | Conclude) for action in again.actions)
    # Whatever was found, no step starts one of these periods again.
    known = {run.nominal_s for run in found} | {intent.nominal_s for intent in before.starting}
    starts = [a for a in step(job, after, now_s).actions if isinstance(a, Start)]
    assert not known & {start.decision.nominal_s for start in starts}


EARLIER = "0 2 * * * @win(after,3h)"
NOMINAL_S = from_text("2026-03-01T02:00:00Z")


def test_an_intent_tells_its_decision_as_it_was_made_after_an_edit() -> None:
    before = Job(IDENTITY, kron.parse_schedule(EARLIER))
    seen = step(before, None, NOMINAL_S - 60)
    assert seen.wake_s is not None
    ledger = through_json(step(before, seen.ledger, seen.wake_s, plan=seen.plan).ledger)
    (intent,) = ledger.starting
    made = decide_at(before.schedule, IDENTITY, NOMINAL_S)
    edited = Job(IDENTITY, kron.parse_schedule("0 2 * * * @win(after,3h) @dist(skewLate)"))
    assert intent.decision(before) == intent.decision(edited) == made
    assert intent.chosen_s == made.chosen_s


@pytest.mark.parametrize(
    ("schedule", "chosen_s"),
    [
        pytest.param("no schedule at all", NOMINAL_S, id="a text that does not parse"),
        pytest.param("", NOMINAL_S, id="a job that was no longer configured"),
        pytest.param("0 2 * * *", NOMINAL_S + 1, id="a time that this schedule does not choose"),
    ],
)
def test_a_decision_that_does_not_follow_from_the_intent_is_not_told(
    schedule: str, chosen_s: int
) -> None:
    job = Job(IDENTITY, kron.parse_schedule(EARLIER))
    assert Intent(NOMINAL_S, chosen_s, "r", schedule).decision(job) is None


def test_a_ledger_of_one_schedule_is_written_for_older_versions_too() -> None:
    from kron.engine import ledger_from_json, ledger_to_json

    intent = Intent(NOMINAL_S, NOMINAL_S, "r", "0 2 * * *")
    for schedule, schema in (("0 2 * * *", 1), ("0 3 * * *", 2)):
        ledger = Ledger(schedule, NOMINAL_S, starting=(intent,))
        written = ledger_to_json(ledger)
        assert written["schema"] == schema
        assert ("schedule" in written["starting"][0]) is (schema == 2)  # type: ignore[index]
        assert ledger_from_json(written) == ledger


def test_the_run_id_is_the_same_on_every_machine_and_differs_by_job_and_period() -> None:
    schedule = kron.parse_schedule("0 2 * * *")
    first = Job("/etc/krond.d/a.kron:one", schedule)
    assert first.run_id("2026-03-01T02:00:00Z") == "ac720550f6cc821781dc"
    ids = {
        Job(identity, schedule).run_id(period)
        for identity in ("/etc/krond.d/a.kron:one", "/etc/krond.d/a.kron:two")
        for period in ("2026-03-01T02:00:00Z", "2026-03-02T02:00:00Z")
    }
    assert len(ids) == 4
