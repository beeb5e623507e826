"""The vocabulary: every event and field that is promised, and the docs that list them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kron import KronError
from kron.logs import Component, Event, Level, record
from kron.logs.record import Value, text_of
from tests.test_docs import page, rows

# The fields that were promised first, in their order: no event may ever lose one.
PROMISED = {
    "decision": "namespace name period nominal window_mode window_start window_end distribution "
    "dist_params seed_strategy seed_hash salt chosen timezone",
    "reschedule": "namespace name period previous_chosen new_chosen reason",
    "trigger": "namespace name period chosen now",
    "job_created": "namespace name period job uid chosen",
    "job_exists": "namespace name period job uid",
    "skipped_concurrency": "namespace name period policy active_job",
    "replaced_job": "namespace name period old_job new_job",
    "missed_deadline": "namespace name period chosen deadline now",
    "constraint_reject": "namespace name period candidate reason",
    "constraint_unsatisfiable": "namespace name period window_start window_end reason",
    "error": "namespace name period operation error",
    "seed_computed": "namespace name period seed_strategy resource_uid period_key salt seed_hash",
    "sample": "namespace name period distribution raw_value mapped_offset_ns candidate",
    "explain_start": "namespace name period",
    "explain_step": "detail",
    "explain_result": "chosen",
    "explain_end": "namespace name period",
}
SECTION_8 = {
    "started", "exited", "timeout", "adopted", "clock_changed", "reload", "suspended",
    "manual_run", "state_corrupt",
}  # fmt: skip
BY_NAME = {str(event): event for event in Event}


@pytest.mark.parametrize("name", PROMISED)
def test_the_fields_of_the_seed_come_first_and_in_its_order(name: str) -> None:
    fields = PROMISED[name].split()
    assert list(BY_NAME[name].fields[: len(fields)]) == fields


@pytest.mark.parametrize("name", PROMISED)
def test_every_field_of_the_seed_is_required_but_the_one_it_calls_optional(name: str) -> None:
    optional = {"period"} if name == "error" else set()
    assert set(PROMISED[name].split()) - BY_NAME[name].required == optional


def test_no_event_is_missing() -> None:
    assert {*PROMISED, *SECTION_8} <= set(BY_NAME)


def test_the_levels_and_components_are_those_of_the_seed() -> None:
    assert list(Level) == ["DEBUG", "INFO", "WARN", "ERROR"]
    assert " ".join(Component) == (
        "scheduler controller executor constraints seed policy reconciler"
    )


def test_a_decision_can_be_recomputed_from_its_fields() -> None:
    appended = {"identity", "schedule", "window_duration", "constraints", "attempts", "engine"}
    assert appended <= Event.DECISION.required
    assert appended | {"nominal"} <= Event.CONSTRAINT_UNSATISFIABLE.required


@pytest.mark.parametrize("event", list(Event))
def test_every_event_has_what_a_line_needs(event: Event) -> None:
    assert event.component is event.components[0]
    assert event.level is event.levels[0]
    assert event.required <= set(event.fields)
    assert len(set(event.fields)) == len(event.fields)
    assert not {"timestamp", "level", "component", "event"} & set(event.fields)


def test_the_docs_list_every_event_as_it_is() -> None:
    documented = [
        [cell.strip("`") for cell in row[:4]] for row in rows(page("logs.md"), "## Events")
    ]
    assert documented == [
        [
            event,
            "any" if len(event.components) == len(Component) else ", ".join(event.components),
            ", ".join(event.levels),
            " ".join(field if field in event.required else f"{field}?" for field in event.fields),
        ]
        for event in Event
    ]


def test_the_docs_say_when_every_event_is_logged() -> None:
    assert all(len(row) == 5 and row[4] for row in rows(page("logs.md"), "## Events"))


@pytest.mark.parametrize(("heading", "names"), [("## Levels", Level), ("## Components", Component)])
def test_the_docs_list_levels_and_components(heading: str, names: type[Level | Component]) -> None:
    assert [row[0].strip("`") for row in rows(page("logs.md"), heading)] == list(names)


@pytest.mark.parametrize("least", list(Level))
@pytest.mark.parametrize("level", list(Level))
def test_levels_are_ordered(level: Level, least: Level) -> None:
    order = list(Level)
    assert level.reaches(least) == (order.index(level) >= order.index(least))


def test_a_record_has_its_fields_in_the_order_of_the_event() -> None:
    made = record(Event.TRIGGER, 5, now="n", chosen="c", period="p", name="j", namespace="prod")
    assert [key for key, _ in made.fields] == list(Event.TRIGGER.fields)
    assert (made.level, made.component, made.time_ns) == ("INFO", "scheduler", 5)
    assert made["chosen"] == "c"
    assert made.get("uid") is None
    with pytest.raises(KeyError):
        made["uid"]


def test_a_field_that_may_lack_is_left_out_and_a_required_one_is_empty() -> None:
    made = record(
        Event.ERROR, 0, namespace=None, name="", period=None, operation="fork", error="EAGAIN"
    )
    assert made.fields == (
        ("namespace", ""),
        ("name", ""),
        ("operation", "fork"),
        ("error", "EAGAIN"),
    )


def test_a_level_and_a_component_may_be_others_of_the_event() -> None:
    fields = {"namespace": "", "name": "", "operation": "x", "error": "y"}
    made = record(Event.ERROR, 0, Level.WARN, Component.EXECUTOR, **fields)
    assert (made.level, made.component) == ("WARN", "executor")


@pytest.mark.parametrize(
    ("event", "level", "component", "fields"),
    [
        pytest.param(Event.SUSPENDED, None, None, "name suspend", id="lacks-a-field"),
        pytest.param(Event.EXPLAIN_END, None, None, "namespace name period x", id="unknown-field"),
        pytest.param(Event.EXPLAIN_END, Level.WARN, None, "namespace name period", id="level"),
        pytest.param(
            Event.EXPLAIN_END, None, Component.SEED, "namespace name period", id="component"
        ),
    ],
)
def test_a_record_outside_the_vocabulary_cannot_be_made(
    event: Event, level: Level | None, component: Component | None, fields: str
) -> None:
    with pytest.raises(ValueError, match=str(event)):
        record(event, 0, level, component, **dict.fromkeys(fields.split(), "x"))


@pytest.mark.parametrize("time_ns", [-(10**20), 10**21])
def test_a_record_is_of_a_year_that_a_timestamp_can_say(time_ns: int) -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        record(Event.EXPLAIN_END, time_ns, namespace="", name="", period="")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a b", "a b", id="text"),
        pytest.param(Level.WARN, "WARN", id="enum"),
        pytest.param(None, "", id="none"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(-12, "-12", id="int"),
        pytest.param(0.1, "0.1", id="float"),
        pytest.param(2.0, "2", id="whole-float"),
        pytest.param(datetime(2026, 3, 1, 2, 32, 20, tzinfo=UTC), "2026-03-01T02:32:20Z", id="utc"),
        pytest.param(
            datetime(2026, 3, 1, 2, 0, 0, 999999, tzinfo=timezone(timedelta(hours=2))),
            "2026-03-01T00:00:00Z",
            id="fraction-dropped-zone-converted",
        ),
        pytest.param(
            datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), "1969-12-31T23:59:59Z", id="1969"
        ),
        pytest.param("\ud83d\ude00", "😀", id="halves-joined"),
        pytest.param("\ud83d", "\ud83d", id="half-kept"),
    ],
)
def test_values_become_text_in_one_way(value: Value, text: str) -> None:
    assert text_of(value) == text
    assert type(text_of(value)) is str


def test_a_datetime_without_a_zone_names_no_instant() -> None:
    with pytest.raises(KronError, match="no time zone"):
        text_of(datetime(2026, 3, 1))
