"""What is written to a status is what is read from it, also after a merge patch took nulls away."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import Code, KronError
from kron.core.instant import FIRST_S, LAST_S
from kron.engine.actions import Outcome
from kron.engine.ledger import MAX_HANDLED, Handled, Intent, Ledger
from kron.engine.storage import MOST_LISTED, ledger_to_json
from kron.kube.resource.results import RunResult, RunResults
from kron.kube.resource.schema.definition import root_schema
from kron.kube.resource.status import (
    MOST_ACTIVE,
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
words = st.sampled_from(["Ready", "InvalidSpec", "NoError"])
ledgers = st.builds(
    Ledger,
    schedule=texts,
    since_s=instants,
    handled_through_s=st.none() | instants,
    handled_s=st.frozensets(instants, max_size=3)
    | st.frozensets(instants, min_size=MOST_LISTED + 1, max_size=MOST_LISTED + 3),
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
            type=words,
            status=st.booleans(),
            reason=words,
            message=texts,
            since_s=instants,
            generation=st.integers(min_value=0, max_value=2**31),
        ),
        max_size=2,
    ).map(tuple),
    suspended=st.none() | st.booleans(),
    deadline_ns=st.none() | st.integers(min_value=0, max_value=10**18),
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
        return set(schema.get("required", ())) <= value.keys() <= members.keys() and all(
            conforms(members[name], inner) for name, inner in value.items()
        )
    if schema["type"] == "array":
        return all(conforms(schema["items"], item) for item in value)
    if schema["type"] == "boolean":
        return isinstance(value, bool)
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
        "suspended",
        "deadline",
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
        pytest.param({"schema": 4}, Code.LEDGER_NEWER, id="newer"),
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


T0 = 1_772_323_200
LIVED = Ledger(
    "0 * * * *",
    T0,
    handled_through_s=T0,
    handled_s=frozenset({T0 + 7200}),
    starting=(Intent(T0 + 7200, T0 + 7201, "ab" * 10, "30 * * * *"),),
    last=Handled(T0, None, Outcome.MISSED, "late"),
)


def test_a_ledger_has_the_names_of_kubernetes() -> None:
    """An operator before schema 3 does not know them, so it has to take the ledger for newer."""
    packed = LIVED.replace(handled_s=frozenset(range(T0 + 60, T0 + 60 * 50, 60)))
    both = [
        without_nulls(status_to_json(Status(ledger=ledger)))["ledger"] for ledger in (LIVED, packed)
    ]
    for written in both:
        assert written["schema"] == 3
        assert "_" not in "".join([*written, *written["starting"][0], *written["last"]])
        assert written["handledThrough"] == "2026-03-01T00:00:00Z"
        assert written["starting"][0]["runID"] == "ab" * 10
    assert both[1]["handledPacked"].keys() == {"count", "first", "unitSeconds", "gaps"}
    assert "handled" not in both[1]


@pytest.mark.parametrize("starting", [LIVED.starting, ()], ids=["schema-2", "schema-1"])
def test_a_ledger_of_an_older_operator_is_read_and_written_over(
    starting: tuple[Intent, ...],
) -> None:
    ledger = LIVED.replace(starting=starting)
    old = {"status": {"ledger": without_nulls(ledger_to_json(ledger))}}
    assert "handled_through" in old["status"]["ledger"]
    assert status_from_json(old).ledger == ledger
    stored = merged(old, {"status": status_to_json(Status(ledger=ledger))})
    assert "handled_through" not in stored["status"]["ledger"]
    assert status_from_json(stored).ledger == ledger


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_mixture_of_both_spellings_is_refused(schema: int) -> None:
    """Which watermark counts cannot be known, and a lower one could run a period twice."""
    new = without_nulls(status_to_json(Status(ledger=LIVED)))["ledger"]
    mixed = new | without_nulls(ledger_to_json(LIVED)) | {"schema": schema}
    with pytest.raises(KronError) as caught:
        status_from_json({"status": {"ledger": mixed}})
    assert caught.value.code is Code.LEDGER
    with pytest.raises(KronError):  # nor is a ledger read whose schema was changed by hand
        status_from_json({"status": {"ledger": new | {"schema": 1}}})


def test_a_status_is_within_the_documented_bound() -> None:
    page = (Path(__file__).parents[3] / "docs" / "kronjob.md").read_text()
    [(most, for_each)] = re.findall(
        r"at most ([0-9]+) KiB, and ([0-9]+)\s+bytes more for each Job", page
    )
    handled = random.Random(1).sample(range(2 * 366 * 24 * 60), MAX_HANDLED)
    message, reason = "\u20ac" * 2_000, "\u20ac" * 1_100
    ledger = LIVED.replace(
        schedule="x" * 37_000,
        starting=(),
        handled_s=frozenset(T0 + 60 * minute for minute in handled),
        last=Handled(T0, T0, Outcome.MISSED, reason),
    )
    status = Status(
        generation=2**31,
        ledger=ledger,
        next_nominal_s=T0,
        next_chosen_s=T0,
        conditions=tuple(
            Condition("SchedulingError", True, "NamespaceTerminating", said, T0, 2**31)
            for said in (message, "", message, "")
        ),
    )
    assert size(status) < int(most) * 1_024
    run = ActiveRun("n" * 63, "u" * 36, "2026-03-01T00:00:00Z")
    intent = Intent(T0, T0, "ab" * 10, ledger.schedule)
    for more in (
        status.replace(active=(run,) * MOST_ACTIVE),
        status.replace(ledger=ledger.replace(starting=(intent,) * MOST_ACTIVE)),
    ):
        assert size(more) < size(status) + int(for_each) * MOST_ACTIVE


def size(status: Status) -> int:
    """As the API server stores it."""
    stored = without_nulls(status_to_json(status))
    return len(json.dumps(stored, separators=(",", ":"), ensure_ascii=False).encode())
