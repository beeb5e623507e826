"""A decision as records: what is logged at which level, and how it is explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.decision import MAX_ATTEMPTS, UNSCHEDULABLE
from kron.core.instant import from_text, to_datetime, to_text
from kron.logs import Level, decision_records, explain_records, explain_steps, write_text
from tests.core.schedules import schedule_texts
from tests.logs.records import NOMINAL, decided
from tests.soak import examples
from tests.test_docs import blocks, page


def trace(text: str, nominal: str = NOMINAL, identity: str = "a/b") -> kron.Trace:
    moment = to_datetime(from_text(nominal))
    return kron.trace(kron.parse_schedule(text), identity=identity, nominal=moment)


@pytest.mark.parametrize(
    ("text", "level", "events"),
    [
        pytest.param("0 0 * * *", Level.INFO, "decision", id="info"),
        pytest.param("0 0 * * *", Level.WARN, "", id="warn"),
        pytest.param("0 0 * * *", Level.DEBUG, "seed_computed decision", id="no-draw"),
        pytest.param(
            "0 0 * * * @win(after,1h)", Level.DEBUG, "seed_computed sample decision", id="a-draw"
        ),
        pytest.param(
            "0 0 * * * @only(hours=1)", Level.WARN, "constraint_unsatisfiable", id="starved"
        ),
        pytest.param("0 0 * * * @only(hours=1)", Level.ERROR, "", id="starved-error"),
        pytest.param(
            "0 0 * * * @only(hours=1)",
            Level.DEBUG,
            "seed_computed constraint_reject constraint_unsatisfiable",
            id="starved-without-a-draw",
        ),
        pytest.param(
            "0 0 * * * @win(after,1h) @only(hours=2)",
            Level.DEBUG,
            "seed_computed"
            + " sample constraint_reject" * MAX_ATTEMPTS
            + " constraint_unsatisfiable",
            id="starved-by-64-draws",
        ),
    ],
)
def test_the_records_of_a_decision_and_their_order(text: str, level: Level, events: str) -> None:
    assert [record.event for record in decided(text, level=level)] == events.split()


@examples(60)
@given(text=schedule_texts(), nominal_s=st.integers(0, 4_000_000_000))
def test_the_debug_lines_tell_of_every_draw(text: str, nominal_s: int) -> None:
    made = trace(text, to_text(nominal_s))
    lines = list(
        decision_records(
            made.decision, namespace="a", name="b", time_ns=0, schedule_text=text, level=Level.DEBUG
        )
    )
    samples = [record for record in lines if record.event == "sample"]
    assert [float(record["raw_value"]) for record in samples] == [draw.u for draw in made.draws]
    assert [int(record["mapped_offset_ns"]) for record in samples] == [
        draw.offset_s * 10**9 for draw in made.draws
    ]
    assert [record["attempt"] for record in samples] == [str(n + 1) for n in range(len(samples))]
    rejects = [record["reason"] for record in lines if record.event == "constraint_reject"]
    rejections = [*(draw.rejection for draw in made.draws), made.rejection]
    assert rejects == [rejection for rejection in rejections if rejection is not None]
    last = lines[-1]
    assert last.get("chosen") == (
        None if made.decision.chosen_s is None else to_text(made.decision.chosen_s)
    )
    if samples and last.event == "decision":
        assert samples[-1]["candidate"] == last["chosen"]
    assert last["attempts"] == str(len(samples))


def test_a_decision_says_everything_that_it_follows_from() -> None:
    text = (
        "0  10 * * 1-5 @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) "
        '@seed(daily,salt="a b") @only(hours=8-20;dow=1-5)'
    )
    (record,) = decided(text, nominal="2026-03-02T09:00:00Z", identity="x:y")
    values = dict(record.fields)
    for engine in ("seed_hash", "chosen", "attempts"):
        values.pop(engine)
    assert values == {
        "namespace": "prod",
        "name": "db-backup",
        "period": "2026-03-02T09:00:00Z",
        "nominal": "2026-03-02T09:00:00Z",
        "window_mode": "around",
        "window_start": "2026-03-02T08:15:00Z",
        "window_end": "2026-03-02T09:45:00Z",
        "distribution": "skewLate",
        "dist_params": "shape=2.5",
        "seed_strategy": "daily",
        "salt": "a b",
        "timezone": "Europe/Paris",
        "identity": "x:y",
        "schedule": text,
        "window_duration": "1h30m",
        "constraints": "@only(hours=8-20;dow=MON-FRI)",
        "engine": "1",
    }


def test_an_unsatisfiable_decision_says_so_with_its_reason() -> None:
    (record,) = decided("0 0 * * * @win(after,1h) @only(hours=2)")
    assert record["reason"] == UNSCHEDULABLE
    assert record["attempts"] == "64"
    assert record["constraints"] == "@only(hours=2)"


@pytest.mark.parametrize(
    ("text", "nominal", "steps"),
    [
        pytest.param(
            "0 0 * * *",
            NOMINAL,
            ["cron resolved nominal time 2026-03-01T00:00:00Z", "window after 0s => [00:00,00:00]",
             "the window has one second => 00:00:00"],
            id="no-window",
        ),
        pytest.param(
            "0 0 * * * @only(hours=1)",
            NOMINAL,
            ["cron resolved nominal time 2026-03-01T00:00:00Z", "window after 0s => [00:00,00:00]",
             "the window has one second => 00:00:00, rejected: outside only(hours=1)"],
            id="no-window-rejected",
        ),
        pytest.param(
            "30 23 * * * @tz(Asia/Tokyo) @win(around,90s)",
            "2026-03-01T14:30:00Z",
            ["cron resolved nominal time 2026-03-01T14:30:00Z (23:30 Asia/Tokyo)",
             "window around 1m30s => [23:29:15,23:30:45] Asia/Tokyo"],
            id="local-times-with-seconds",
        ),
        pytest.param(
            "0 0 * * * @tz(Asia/Tokyo) @win(around,4h)",
            "2026-03-01T15:00:00Z",
            ["cron resolved nominal time 2026-03-01T15:00:00Z (00:00 Asia/Tokyo)",
             "window around 4h => [2026-03-01 22:00,02:00] Asia/Tokyo"],
            id="another-day",
        ),
    ],
)  # fmt: skip
def test_the_steps_of_an_explanation(text: str, nominal: str, steps: list[str]) -> None:
    made = list(explain_steps(trace(text, nominal)))
    del made[2]  # the seed
    assert made[: len(steps)] == steps


def test_an_explanation_of_what_cannot_be_satisfied() -> None:
    decision = trace("0 0 * * * @win(after,1h) @only(hours=2)").decision
    made = list(explain_records(decision, namespace="a", name="b", time_ns=7))
    assert len(made) == 1 + 3 + MAX_ATTEMPTS + 1 + 2
    assert made[-3]["detail"] == "@only(hours=2) accepted none of 64 candidates"
    assert made[-2].fields[0] == ("chosen", "")
    assert made[-2]["reason"] == UNSCHEDULABLE
    assert {record.time_ns for record in made} == {7}
    assert {record.level for record in made} == {Level.INFO}
    assert {record["period"] for record in made} == {NOMINAL}


def test_the_explanation_in_the_docs_is_what_is_written() -> None:
    (shown,) = blocks(page("logs.md"), "explain")
    text = "0 10 * * * @tz(Europe/Paris) @win(after,4h) @only(hours=13)"
    decision = trace(text, "2026-03-02T09:00:00Z", "msgs/paris").decision
    made = explain_records(decision, namespace="msgs", name="paris", time_ns=0)
    job = " namespace=msgs name=paris period=2026-03-02T09:00:00Z"
    written = [write_text(record).split(" event=")[1].replace(job, "") for record in made]
    assert shown.splitlines() == written


def test_the_example_in_the_docs_runs() -> None:
    (example,) = blocks(page("logs.md"), "python")
    exec(example, {})


def test_the_decision_in_the_docs_is_what_is_written() -> None:
    text_line, *_ = blocks(page("logs.md"), "text")
    (record,) = decided("0 0 * * * @win(after,3h) @seed(stable,salt=backup)")
    made = record.replace(time_ns=from_text(NOMINAL) * 10**9 + 1_234_567)
    assert text_line == f"{write_text(made)}\n"
