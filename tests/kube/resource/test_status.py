"""What is written to a status is what is read from it, also after a merge patch took nulls away."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import Code, KronError
from kron.core.instant import FIRST_S, LAST_S
from kron.engine.actions import Outcome
from kron.engine.ledger import Handled, Intent, Ledger
from kron.kube.resource.results import RunResult, RunResults
from kron.kube.resource.schema.definition import root_schema
from kron.kube.resource.status import (
    ActiveRun,
    Condition,
    Status,
    status_from_json,
    status_to_json,
)
from tests.kube.resource.bad_specs import merged
from tests.soak import examples

instants = st.integers(min_value=FIRST_S, max_value=LAST_S)
texts = st.text(max_size=20)
ledgers = st.builds(
    Ledger,
    schedule=texts,
    since_s=instants,
    handled_through_s=st.none() | instants,
    handled_s=st.frozensets(instants, max_size=3),
    starting=st.lists(st.builds(Intent, instants, instants, texts), max_size=2).map(tuple),
    last=st.none()
    | st.builds(Handled, instants, st.none() | instants, st.sampled_from(Outcome), texts),
)
results = st.builds(
    lambda last_s, ended: RunResults(last_s).including(*ended),
    st.none() | instants,
    st.lists(
        st.builds(
            RunResult,
            name=st.text(min_size=1, max_size=9),
            period=st.sampled_from(["", "2026-03-01T00:00:00Z"]),
            is_failed=st.booleans(),
            started_s=instants,
            finished_s=instants,
            reason=texts,
            message=texts,
        ),
        max_size=12,
    ),
)
statuses = st.builds(
    Status,
    generation=st.integers(min_value=0, max_value=2**31),
    ledger=st.none() | ledgers,
    next_nominal_s=st.none() | instants,
    next_chosen_s=st.none() | instants,
    active=st.lists(
        st.builds(ActiveRun, texts, texts, st.sampled_from(["", "2026-03-01T00:00:00Z"])),
        max_size=2,
    ).map(tuple),
    unanswered_s=st.lists(instants, max_size=2).map(tuple),
    active_count=st.integers(min_value=0, max_value=2**31),
    results=results,
    conditions=st.lists(
        st.builds(
            Condition,
            type=texts,
            status=st.booleans(),
            reason=texts,
            message=texts,
            since_s=instants,
            generation=st.integers(min_value=0, max_value=2**31),
        ),
        max_size=2,
    ).map(tuple),
)


def without_nulls(value: Any) -> Any:
    """What the API server keeps of a merge patch."""
    return merged({}, value)


@examples(50)
@given(statuses, statuses)
def test_a_status_patched_over_another_reads_back(before: Status, after: Status) -> None:
    stored = merged({"status": status_to_json(before)}, {"status": status_to_json(after)})
    assert status_from_json(json.loads(json.dumps(stored))) == after


STATUS = root_schema()["properties"]["status"]


def conforms(schema: dict[str, Any], value: Any) -> bool:
    """Whether the server's schema would accept it."""
    if schema["type"] == "object":
        members = schema["properties"]
        return value.keys() <= members.keys() and all(
            conforms(members[name], inner) for name, inner in value.items()
        )
    if schema["type"] == "array":
        return all(conforms(schema["items"], item) for item in value)
    if schema["type"] == "integer":
        return isinstance(value, int) and value >= schema["minimum"]
    return (
        isinstance(value, str)
        and value in schema.get("enum", [value])
        and re.search(schema.get("pattern", ""), value) is not None
    )


@examples(50)
@given(statuses)
def test_every_status_fits_the_declared_fields(status: Status) -> None:
    assert conforms(STATUS, without_nulls(status_to_json(status)))


def test_every_declared_field_is_written() -> None:
    written = status_to_json(Status())
    assert written.keys() == STATUS["properties"].keys()
    assert [name for name, value in written.items() if value is None] == [
        "lastPeriodID",
        "lastNominalTime",
        "lastChosenTime",
        "lastOutcome",
        "lastReason",
        "nextPeriodID",
        "nextNominalTime",
        "nextChosenTime",
        "unanswered",
        "lastSuccessfulTime",
        "lastFailureTime",
        "ledger",
    ]


def test_people_see_the_last_and_the_next_period() -> None:
    last = Handled(1_772_326_800, 1_772_328_000, Outcome.SKIPPED, "an earlier run is active")
    ledger = Ledger("0 1 * * *", 1_772_000_000, last=last)
    shown = status_to_json(Status(ledger=ledger, next_nominal_s=1_772_413_200, next_chosen_s=None))
    assert shown["lastPeriodID"] == shown["lastNominalTime"] == "2026-03-01T01:00:00Z"
    assert shown["lastChosenTime"] == "2026-03-01T01:20:00Z"
    assert (shown["lastOutcome"], shown["lastReason"]) == ("skipped", "an earlier run is active")
    assert shown["nextPeriodID"] == "2026-03-02T01:00:00Z"
    assert shown["nextChosenTime"] is None


@pytest.mark.parametrize("obj", [{}, {"status": None}, {"status": []}, 5, None, {"status": {}}])
def test_a_kronjob_without_a_status_has_an_empty_one(obj: object) -> None:
    assert status_from_json(obj) == Status()


@pytest.mark.parametrize(
    ("ledger", "code"),
    [
        pytest.param({}, Code.LEDGER, id="empty"),
        pytest.param([], Code.LEDGER, id="list"),
        pytest.param({"schema": 3}, Code.LEDGER_NEWER, id="newer"),
        pytest.param({"schema": 1, "since": "yesterday"}, Code.LEDGER, id="wrong"),
    ],
)
def test_a_ledger_that_does_not_read_is_an_error(ledger: object, code: Code) -> None:
    with pytest.raises(KronError) as caught:
        status_from_json({"status": {"ledger": ledger}})
    assert caught.value.code is code


def test_the_rest_is_left_out_where_it_does_not_read() -> None:
    status = {"observedGeneration": "x", "nextChosenTime": 5, "active": [1], "conditions": {}}
    assert status_from_json({"status": status}) == Status()
