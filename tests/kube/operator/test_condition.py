"""The conditions: what each says, and since when."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kron.engine.actions import Outcome
from kron.kube.operator.condition import Trouble, accepted_of, conditions, trouble_of
from kron.kube.operator.member import ClusterMember
from kron.kube.resource.schema.definition import root_schema
from kron.kube.resource.status import Condition, Status
from tests.kube.operator.made import T0, ended, kronjob, ledger, member, metadata

DESCRIBED = re.findall(
    r"([A-Z]\w+): ",
    root_schema()["properties"]["status"]["properties"]["conditions"]["description"],
)
"""The conditions that the definition describes."""
QUOTA = Trouble("QuotaExceeded", "exceeded quota: jobs", generation=1)
NO_TIME = ended(T0, Outcome.UNSCHEDULABLE, "no second is left").replace(chosen_s=None)


def found(made: ClusterMember, now_s: int = T0) -> dict[str, Condition]:
    return {each.type: each for each in conditions(made, now_s)}


@pytest.mark.parametrize(
    ("changes", "true", "ready"),
    [
        pytest.param({}, {"Ready"}, "Scheduled", id="well"),
        pytest.param(
            {"kronjob": kronjob("0 * * * * @policy(suspend=true)")},
            {"Ready"},
            "Suspended",
            id="suspended",
        ),
        pytest.param(
            {"kronjob": None, "invalid": "bad"}, {"InvalidSpec"}, "InvalidSpec", id="invalid"
        ),
        pytest.param({"trouble": QUOTA}, {"SchedulingError"}, "QuotaExceeded", id="trouble"),
        pytest.param(
            {"frozen": "schema 2", "trouble": QUOTA},
            {"SchedulingError"},
            "NewerStatus",
            id="a newer status counts for more than trouble",
        ),
        pytest.param(
            {"ledger": ledger(T0, last=NO_TIME)},
            {"Ready", "Unschedulable"},
            "Scheduled",
            id="unschedulable, and the next may have a time",
        ),
        pytest.param(
            {"kronjob": None, "invalid": "bad", "trouble": QUOTA},
            {"InvalidSpec", "SchedulingError"},
            "InvalidSpec",
            id="invalid counts for more than trouble",
        ),
    ],
)
def test_the_conditions_of_a_member(changes: dict[str, Any], true: set[str], ready: str) -> None:
    made = member(known=changes.get("ledger", ledger()))
    for name, value in changes.items():
        if name != "ledger":
            setattr(made, name, value)
    all_of_them = found(made)
    assert list(all_of_them) == DESCRIBED
    assert {kind for kind, each in all_of_them.items() if each.status} == true
    assert all_of_them["Ready"].reason == ready
    assert all(each.reason.isalpha() for each in all_of_them.values())


def test_a_new_leader_takes_over_trouble_but_not_what_a_frozen_operator_wrote() -> None:
    made = member()
    made.trouble = QUOTA
    assert trouble_of(Status(conditions=conditions(made, T0))) == QUOTA
    made.frozen = "schema 3"
    assert trouble_of(Status(conditions=conditions(made, T0))) is None
    assert trouble_of(Status()) is None


def test_trouble_of_a_stored_condition_has_a_reason_even_if_that_has_none() -> None:
    """An API server refuses a status with a condition without one."""
    nameless = Condition("SchedulingError", True, "", "quota", T0, 1)
    assert trouble_of(Status(conditions=(nameless,))) == Trouble("Unknown", "quota", 1)


def test_trouble_is_over_with_the_generation_that_it_was_about() -> None:
    made = member()
    made.trouble = QUOTA
    assert not found(made)["Ready"].status
    made.metadata = metadata(generation=2)
    after = found(made)
    assert (after["Ready"].status, after["Ready"].reason) == (True, "Scheduled")
    assert (after["SchedulingError"].status, after["SchedulingError"].message) == (False, "")


def test_a_period_without_a_time_says_nothing_of_the_constraints_that_came_after_it() -> None:
    made = member(known=ledger(T0, last=NO_TIME))
    made.stored = Status(ledger=made.ledger, conditions=conditions(made, T0))
    assert found(made)["Unschedulable"].status, "the same after a restart"
    made.load(ledger(T0, last=NO_TIME, schedule="30 * * * *"))
    assert not found(made)["Unschedulable"].status
    made.stored = Status(ledger=made.ledger, conditions=conditions(made, T0))
    assert not found(made)["Unschedulable"].status, "the same after a restart"
    made.load(ledger(T0, last=NO_TIME.replace(nominal_s=T0 + 60), schedule="30 * * * *"))
    assert found(made)["Unschedulable"].status


def test_what_the_api_server_accepted_is_known_to_the_next_leader() -> None:
    made = member()
    assert accepted_of(Status(conditions=conditions(made, T0))) == 0
    made.accepted = 1
    assert accepted_of(Status(conditions=conditions(made, T0))) == 1
    made.metadata = metadata(generation=2)
    assert accepted_of(Status(conditions=conditions(made, T0))) == 0


def test_messages_are_those_of_their_causes() -> None:
    made = member(known=ledger(T0, last=NO_TIME))
    made.invalid, made.trouble = "spec.schedule: bad", QUOTA
    said = {kind: each.message for kind, each in found(made).items()}
    assert said["InvalidSpec"] == "spec.schedule: bad"
    assert said["SchedulingError"] == QUOTA.message
    assert said["Unschedulable"] == NO_TIME.reason


def test_a_message_is_never_longer_than_the_definition_allows() -> None:
    made = member()
    made.invalid = "x" * 1_000_000
    made.trouble = Trouble("Refused", "y" * 1_000_000, generation=1)
    assert max(len(each.message) for each in found(made).values()) <= 32_768


def test_the_time_is_that_of_the_last_change_of_status_not_of_its_message() -> None:
    made = member()
    made.trouble = QUOTA
    made.stored = Status(conditions=conditions(made, T0))
    made.trouble = Trouble("Unreachable", "gone", generation=2)
    made.metadata = metadata(generation=2)
    later = found(made, T0 + 60)
    assert later["SchedulingError"].since_s == T0
    assert later["SchedulingError"].message == "gone"
    assert later["SchedulingError"].generation == 2
    made.stored = Status(conditions=tuple(later.values()))
    made.trouble = None
    mended = found(made, T0 + 120)
    assert mended["SchedulingError"].since_s == mended["Ready"].since_s == T0 + 120
    assert mended["InvalidSpec"].since_s == T0
