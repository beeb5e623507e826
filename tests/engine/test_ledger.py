"""The ledger: what it forgets, what it never forgets, and how it is written down."""

from __future__ import annotations

import contextlib
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.instant import FIRST_S, LAST_S, from_text
from kron.engine import Handled, Intent, Ledger, Outcome, ledger_from_json, ledger_to_json
from kron.engine.ledger import MAX_HANDLED
from tests.engine.scene import through_json
from tests.soak import examples

T0 = from_text("2026-03-01T00:00:00Z")
LEDGER = Ledger(
    schedule="0 * * * *",
    since_s=T0,
    handled_through_s=T0 + 3600,
    handled_s=frozenset({T0 + 10800, T0 + 14400}),
    starting=(Intent(T0 + 14400, T0 + 14401, "ab" * 10, "0 2 * * *"),),
    last=Handled(T0 + 10800, None, Outcome.MISSED, 'a "reason"\n'),
)

instants = st.integers(FIRST_S, LAST_S)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    return Ledger(
        schedule=draw(st.text()),
        since_s=draw(instants),
        handled_through_s=draw(st.none() | instants),
        handled_s=draw(st.frozensets(instants, max_size=60)),
        starting=tuple(
            Intent(*row)
            for row in draw(st.lists(st.tuples(instants, instants, st.text(), st.text())))
        ),
        last=draw(
            st.none()
            | st.builds(
                Handled, instants, st.none() | instants, st.sampled_from(Outcome), st.text()
            )
        ),
    )


@given(ledgers())
@examples(200)
def test_every_ledger_survives_json(ledger: Ledger) -> None:
    assert through_json(ledger) == ledger


def test_the_json_is_this() -> None:
    assert ledger_to_json(LEDGER) == {
        "schema": 2,
        "schedule": "0 * * * *",
        "since": "2026-03-01T00:00:00Z",
        "handled_through": "2026-03-01T01:00:00Z",
        "handled": ["2026-03-01T03:00:00Z", "2026-03-01T04:00:00Z"],
        "starting": [
            {
                "period": "2026-03-01T04:00:00Z",
                "chosen": "2026-03-01T04:00:01Z",
                "run_id": "abababababababababab",
                "schedule": "0 2 * * *",
            }
        ],
        "last": {
            "period": "2026-03-01T03:00:00Z",
            "chosen": None,
            "outcome": "missed",
            "reason": 'a "reason"\n',
        },
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("schema",), 0, id="older-than-the-first-schema"),
        pytest.param(("schema",), "1", id="schema-as-text"),
        pytest.param(("schedule",), 5, id="schedule-not-text"),
        pytest.param(("since",), "2026-03-01", id="a-day-is-no-instant"),
        pytest.param(("since",), None, id="no-since"),
        pytest.param(("since",), "2026-02-30T00:00:00Z", id="no-such-day"),
        pytest.param(("since",), "9999-01-01T00:00:00Z", id="beyond-the-years"),
        pytest.param(("handled_through",), 1772323200, id="a-number-is-no-instant"),
        pytest.param(("handled",), {}, id="handled-not-a-list"),
        pytest.param(("handled",), [["2026-03-01T00:00:00Z"]], id="handled-nested"),
        pytest.param(("handled",), ["2026-03-01T00:00:00Z"] * (MAX_HANDLED + 1), id="too-many"),
        pytest.param(("starting",), [{}], id="intent-without-fields"),
        pytest.param(("starting", 0, "run_id"), None, id="intent-without-run-id"),
        pytest.param(("last",), [], id="last-not-an-object"),
        pytest.param(("last", "outcome"), "exploded", id="no-such-outcome"),
        pytest.param(("extra",), 1, id="unknown-field"),
    ],
)
def test_whatever_is_not_a_ledger_is_refused(path: tuple[str | int, ...], value: object) -> None:
    data = copy.deepcopy(ledger_to_json(LEDGER))
    target = data
    for key in path[:-1]:
        target = target[key]  # type: ignore[index,assignment]
    target[path[-1]] = value  # type: ignore[index]
    with pytest.raises(kron.KronError) as caught:
        ledger_from_json(data)
    assert caught.value.code is kron.Code.LEDGER
    assert len(str(caught.value)) < 300


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values | st.dictionaries(st.sampled_from(sorted(ledger_to_json(LEDGER))), json_values))
@examples(300)
def test_any_json_gives_a_ledger_or_a_kron_error(value: object) -> None:
    with contextlib.suppress(kron.KronError):
        ledger_from_json(value)


def test_a_newer_schema_is_refused_as_such_whatever_else_is_in_it() -> None:
    with pytest.raises(kron.KronError) as caught:
        ledger_from_json({"schema": 4, "something": "else"})
    assert caught.value.code is kron.Code.LEDGER_NEWER


def test_the_watermark_swallows_what_it_passes_and_never_falls() -> None:
    ledger = LEDGER.with_handled([T0 + 7200], T0 + 10800)
    assert ledger.handled_through_s == T0 + 10800
    assert ledger.handled_s == {T0 + 14400}
    assert ledger.is_handled(T0 + 7200)
    assert ledger.is_handled(T0 + 14400)
    assert not ledger.is_handled(T0 + 18000)
    assert ledger.with_handled([], T0).handled_through_s == T0 + 10800


def test_the_ledger_is_bounded_and_forgets_towards_not_running() -> None:
    many = range(T0, T0 + 60 * (MAX_HANDLED + 50), 60)
    ledger = Ledger(schedule="* * * * *", since_s=T0).with_handled(many)
    assert len(ledger.handled_s) <= MAX_HANDLED
    assert all(map(ledger.is_handled, many))
    json.dumps(ledger_to_json(ledger))


def test_an_intent_ends_once() -> None:
    ledger = LEDGER.with_started(T0 + 14400)
    assert ledger.starting == ()
    assert ledger.is_handled(T0 + 14400)
    assert ledger.last == Handled(T0 + 14400, T0 + 14401, Outcome.EXECUTED)
    with pytest.raises(ValueError, match="is not about to start"):
        ledger.with_started(T0 + 14400)


def test_a_start_that_fails_for_good_is_missed_with_its_reason() -> None:
    ledger = LEDGER.with_start_given_up(T0 + 14400, Outcome.MISSED, "no such file: /bin/nope")
    assert ledger.starting == ()
    assert ledger.is_handled(T0 + 14400)
    assert ledger.last == Handled(T0 + 14400, T0 + 14401, Outcome.MISSED, "no such file: /bin/nope")
