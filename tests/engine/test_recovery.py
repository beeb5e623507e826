"""An intent without an end: what is found of its run decides, and nothing runs twice."""

from __future__ import annotations

import pytest

import kron
from kron.core.instant import from_text
from kron.engine import Adopt, Conclude, Evidence, Job, Outcome, Restart, recover, step
from tests.engine.scene import IDENTITY, through_json

CHOSEN_S = from_text("2026-03-01T02:00:00Z")


def described(action: Adopt | Restart | Conclude) -> str:
    match action:
        case Adopt():
            return "adopt"
        case Restart(_, replaces):
            return "restart, replacing" if replaces else "restart"
        case Conclude(_, outcome, _):
            return outcome.value


@pytest.mark.parametrize(
    ("policy", "evidence", "late_s", "active", "expected"),
    [
        pytest.param("", Evidence.ALIVE, 9999, False, "adopt", id="alive-is-adopted"),
        pytest.param("", Evidence.BEGAN, 1, False, "executed", id="proof-means-it-ran"),
        pytest.param("", Evidence.REBOOTED, 1, False, "executed", id="after-a-reboot-it-ran"),
        pytest.param("", Evidence.ABSENT, 5, False, "restart", id="within-the-slack"),
        pytest.param("", Evidence.ABSENT, 6, False, "missed", id="past-the-slack"),
        pytest.param("deadline=1h", Evidence.ABSENT, 3600, False, "restart", id="in-the-deadline"),
        pytest.param("deadline=1h", Evidence.ABSENT, 3601, False, "missed", id="past-the-deadline"),
        pytest.param("deadline=2s", Evidence.ABSENT, 5, False, "restart", id="the-longer-counts"),
        pytest.param("concurrency=forbid", Evidence.ABSENT, 1, True, "skipped", id="forbid"),
        pytest.param("concurrency=allow", Evidence.ABSENT, 1, True, "restart", id="allow"),
        pytest.param(
            "concurrency=replace", Evidence.ABSENT, 1, True, "restart, replacing", id="replace"
        ),
        pytest.param("suspend=true", Evidence.ABSENT, 1, False, "missed", id="suspended-since"),
        pytest.param("suspend=true", Evidence.ALIVE, 1, False, "adopt", id="suspended-but-alive"),
    ],
)
def test_an_intent_is_settled_by_what_is_found(
    policy: str, evidence: Evidence, late_s: int, active: bool, expected: str
) -> None:
    plain = Job(IDENTITY, kron.parse_schedule("0 2 * * *"))
    planned = step(plain, None, CHOSEN_S - 60)
    ledger = through_json(step(plain, planned.ledger, CHOSEN_S, plan=planned.plan).ledger)
    (intent,) = ledger.starting
    text = f"0 2 * * * @policy({policy})" if policy else "0 2 * * *"
    job = Job(IDENTITY, kron.parse_schedule(text))
    recovery = recover(job, ledger, intent, evidence, CHOSEN_S + late_s, active=active, slack_s=5)
    assert described(recovery.action) == expected
    assert recovery.action.intent == intent
    restarted = expected.startswith("restart")
    assert recovery.ledger.starting == ((intent,) if restarted else ())
    assert recovery.ledger.is_handled(intent.nominal_s)
    if not restarted:
        assert recovery.ledger.last is not None
        assert recovery.ledger.last.outcome is (
            Outcome.EXECUTED if expected == "adopt" else Outcome(expected)
        )
    # Whatever was found, the period itself never starts by a step again.
    later = step(job, recovery.ledger, CHOSEN_S + late_s)
    assert not any(getattr(action, "run_id", None) == intent.run_id for action in later.actions)


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
