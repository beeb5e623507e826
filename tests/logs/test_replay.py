"""Replay: a correct log has no findings, and every error is found with its line."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
import kron.logs.replay
import kron.logs.template
from kron.core.decision import decide_at
from kron.core.instant import from_text, to_text
from kron.fuzzy import parse_schedule
from kron.logs import Event, Format, Level, Record, decision_records, record
from kron.logs.reader import LINE_BYTES
from kron.logs.replay import (
    LONGEST_REMEMBERED,
    PERIODS_REMEMBERED,
    Counts,
    FindingKind,
    Replay,
    ReplayFinding,
)
from kron.logs.template import Templates
from tests.core.schedules import schedule_texts
from tests.logs.records import BACKUP, NOMINAL, decided, log, with_field
from tests.soak import examples
from tests.test_docs import page, rows

DAYS = [f"2026-03-0{day}T00:00:00Z" for day in range(1, 8)]
STARVED = "0 0 * * * @win(after,1h) @only(hours=5)"
GIVEN = ("namespace", "name", "identity", "schedule", "engine")
FORMS = pytest.mark.parametrize("form", list(Format))


def replayed(data: bytes) -> tuple[list[ReplayFinding], Counts]:
    replay = Replay(io.BytesIO(data))
    return list(replay), replay.counts


def decisions(text: str = BACKUP) -> list[Record]:
    return [made for day in DAYS for made in decided(text, nominal=day)]


def trigger(period: str, chosen: str, name: str = "db-backup") -> Record:
    return record(
        Event.TRIGGER, 0, namespace="prod", name=name, period=period, chosen=chosen, now=chosen
    )


# --- what is right ---


@examples(60)
@given(
    texts=st.lists(schedule_texts(), min_size=1, max_size=3),
    first_s=st.integers(0, 4_000_000_000),
    forms=st.lists(st.sampled_from(Format), min_size=1, max_size=4),
    level=st.sampled_from([Level.DEBUG, Level.INFO]),
)
def test_a_log_of_any_schedules_replays_without_a_finding(
    texts: list[str], first_s: int, forms: list[Format], level: Level
) -> None:
    made = [
        record
        for day in range(4)
        for number, text in enumerate(texts)
        for record in decided(
            text,
            nominal=to_text(first_s + day * 86_400),
            identity=f"id:{number}",
            name=f"job {number}",
            level=level,
        )
    ]
    data = b"".join(log([record], forms[n % len(forms)]) for n, record in enumerate(made))
    for file in (data, gzip.compress(data)):
        findings, counts = replayed(file)
        assert findings == []
        assert counts.agreed == counts.decisions == 4 * len(texts)
        assert counts.lines == len(made)


def test_a_fuzzy_schedule_replays_with_the_identity_that_scattered_it() -> None:
    text = "daily around 14:00 @win(after,10m)"
    made: list[Record] = []
    for identity in ("a:b", "c:d"):
        schedule = parse_schedule(text, identity=identity)
        nominal_s = schedule.nominals.after(from_text(NOMINAL))
        decision = decide_at(schedule, identity, nominal_s)
        made += decision_records(
            decision, namespace="n", name=identity, time_ns=0, schedule_text=text
        )
    assert made[0]["nominal"] != made[1]["nominal"]
    findings, counts = replayed(log(made))
    assert findings == []
    assert counts.agreed == 2


def test_a_decision_under_larger_limits_than_the_default_replays() -> None:
    text = "0 0 1 1 * @win(after,17520h)"
    schedule = kron.parse_schedule(text, kron.Limits(window_days=1000))
    decision = decide_at(schedule, "a:b", from_text("2026-01-01T00:00:00Z"))
    made = decision_records(decision, namespace="a", name="b", time_ns=0, schedule_text=text)
    assert replayed(log(list(made)))[0] == []


@FORMS
def test_an_edit_of_the_schedule_is_followed(form: Format) -> None:
    texts = [BACKUP, BACKUP, "0 0 * * * @win(after,2h)", BACKUP, "0 0 * * *", "0 0 * * *"]
    made = [decided(text, nominal=day)[0] for text, day in zip(texts, DAYS, strict=False)]
    assert replayed(log(made, form))[0] == []


def test_fields_in_another_order_and_further_fields_are_fine() -> None:
    made = [
        record.replace(fields=(*reversed(record.fields), ("later", "field")))
        for record in decisions()
    ]
    findings, counts = replayed(log(made) + log(made, Format.JSON))
    assert findings == []
    assert counts.agreed == 14


def test_every_other_event_is_none_of_its_business() -> None:
    made = [
        record(event, 0, **dict.fromkeys(event.fields, "x"))
        for event in Event
        if event not in (Event.DECISION, Event.CONSTRAINT_UNSATISFIABLE)
    ]
    findings, counts = replayed(log(made))
    assert findings == []
    assert (counts.lines, counts.decisions) == (len(made), 0)


# --- what is wrong ---


def other(value: str) -> str:
    """Another value of the same kind."""
    if value.endswith("Z") and len(value) == 20:
        return to_text(from_text(value) + 1)
    return f"{value[:-1]}{'0' if value.endswith('1') else '1'}" if value else "x"


TAMPERED = [
    pytest.param(text, field, id=f"{event}-{field}")
    for text, event in ((BACKUP, Event.DECISION), (STARVED, Event.CONSTRAINT_UNSATISFIABLE))
    for field in event.fields
    if field not in GIVEN
]


@FORMS
@pytest.mark.parametrize("line", [1, 5], ids=["a-new-job", "a-known-job"])
@pytest.mark.parametrize(("text", "field"), TAMPERED)
def test_every_field_that_was_tampered_with_is_found(
    text: str, field: str, line: int, form: Format
) -> None:
    made = decisions(text)
    right = made[line - 1]
    for wrong in (other(right[field]), "2026-13-01T00:00:00Z", "", None):
        if wrong == right[field]:
            continue
        made[line - 1] = with_field(right, field, wrong)
        findings, counts = replayed(log(made, form))
        if field == "nominal" and wrong is None:
            assert [(f.line, f.kind) for f in findings] == [(line, FindingKind.UNCHECKED)]
            continue
        if field == "nominal":
            # Everything follows from it, so that everything else is wrong, or nothing can follow.
            assert {finding.line for finding in findings} == {line}
            continue
        (finding,) = findings
        assert finding.kind is FindingKind.MISMATCH
        assert (finding.line, finding.field) == (line, field)
        assert (finding.logged, finding.expected) == (wrong, right[field])
        assert (finding.namespace, finding.name) == ("prod", "db-backup")
        assert (counts.agreed, counts.mismatched) == (6, 1)
        assert f"line {line}: {right.event} of prod db-backup" in str(finding)


@FORMS
@pytest.mark.parametrize(
    ("field", "wrong", "found"),
    [
        pytest.param("identity", "prod/other", {"seed_hash", "chosen"}, id="identity"),
        pytest.param(
            "schedule",
            "0 0 * * * @win(after,4h) @seed(stable,salt=backup)",
            {"window_end", "window_duration", "chosen"},
            id="window",
        ),
        pytest.param(
            "schedule",
            "0 0 * * * @win(after,3h) @seed(stable,salt=other)",
            {"salt", "seed_hash", "chosen"},
            id="salt",
        ),
        pytest.param(
            "nominal",
            "2026-03-09T00:00:00Z",
            {"period", "window_start", "window_end", "seed_hash", "chosen"},
            id="nominal",
        ),
    ],
)
def test_what_a_decision_follows_from_cannot_be_changed_either(
    field: str, wrong: str, found: set[str], form: Format
) -> None:
    made = decisions()
    made[4] = with_field(made[4], field, wrong)
    findings, _ = replayed(log(made, form))
    assert {finding.line for finding in findings} == {5}
    assert {finding.field for finding in findings} == found


def test_a_period_that_can_be_satisfied_after_all_is_a_mismatch() -> None:
    (right,) = decided("0 0 * * * @win(after,1h) @only(hours=0)")
    (starved,) = decided(STARVED)
    wrong = starved
    for field in ("schedule", "constraints"):
        wrong = with_field(wrong, field, right[field])
    findings, _ = replayed(log([wrong]))
    assert {(f.field, f.logged, f.expected) for f in findings} == {
        ("reason", starved["reason"], ""),
        ("attempts", "64", right["attempts"]),
        ("chosen", None, right["chosen"]),
    }


def test_a_period_that_cannot_be_satisfied_after_all_is_a_mismatch() -> None:
    (starved,) = decided(STARVED)
    (right,) = decided(STARVED.replace("hours=5", "hours=0"))
    wrong = right
    for field in ("schedule", "constraints"):
        wrong = with_field(wrong, field, starved[field])
    findings, _ = replayed(log([wrong]))
    assert {(f.field, f.expected) for f in findings} == {("chosen", ""), ("attempts", "64")}


@FORMS
def test_a_job_that_is_starved_now_and_then_is_checked_each_time(form: Format) -> None:
    text = "0 0 * * * @win(after,1h) @only(dow=MON-FRI)"
    made = decisions(text)  # the 1st and the 7th of March 2026 are days of a weekend
    starved, decision = Event.CONSTRAINT_UNSATISFIABLE, Event.DECISION
    assert [record.event for record in made] == [starved, *[decision] * 5, starved]
    assert replayed(log(made, form))[0] == []
    (forged,) = decided("0 0 * * * @win(after,1h)", nominal=DAYS[6])
    for field in ("schedule", "constraints"):
        forged = with_field(forged, field, made[6][field])
    findings, _ = replayed(log([*made[:6], forged], form))
    assert {(f.line, f.field, f.expected) for f in findings} == {
        (7, "chosen", ""),
        (7, "attempts", "64"),
    }


@examples(80)
@given(
    texts=st.lists(schedule_texts(), min_size=1, max_size=2),
    form=st.sampled_from(Format),
    data=st.data(),
)
def test_known_jobs_are_checked_as_strictly_as_new_ones(
    texts: list[str], form: Format, data: st.DataObject
) -> None:
    """The quick way and the thorough way through a log find the same, whatever was changed."""
    made = [
        record
        for day in DAYS[:4]
        for number, text in enumerate(texts)
        for record in decided(text, nominal=day, name=f"job-{number}")
    ]
    lines = log(made, form).decode().splitlines()
    for _ in range(data.draw(st.integers(0, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        place = data.draw(st.integers(0, len(lines[number])))
        new = data.draw(st.sampled_from(["", " ", "0", "1", "é", "\\", '"', " a=1", "Z", "}"]))
        keep = data.draw(st.integers(0, 2))
        lines[number] = lines[number][:place] + new + lines[number][place + keep :]
    file = "".join(f"{line}\n" for line in lines).encode()
    quick = replayed(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Templates, "agreeing", lambda *_: None)
        thorough = replayed(file)
    assert quick == thorough


# --- what cannot be recomputed ---


@FORMS
@pytest.mark.parametrize("text", [BACKUP, STARVED], ids=["decision", "unsatisfiable"])
@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        pytest.param("identity", None, "it cannot be recomputed without identity", id="identity"),
        pytest.param("schedule", None, "it cannot be recomputed without schedule", id="schedule"),
        pytest.param("nominal", None, "it cannot be recomputed without nominal", id="nominal"),
        pytest.param("engine", None, "it cannot be recomputed without engine", id="engine"),
        pytest.param("engine", "2", "made by engine 2, and this is engine 1", id="other-engine"),
        pytest.param("engine", "", 'made by engine "", and', id="empty-engine"),
        pytest.param("nominal", "yesterday", '"yesterday" is not an instant', id="no-instant"),
        pytest.param("nominal", "3100-01-01T00:00:00Z", "outside the years", id="far-future"),
        pytest.param("schedule", "0 0 * * * @wind(after,3h)", "unknown modifier", id="modifier"),
        pytest.param("schedule", "", "five fields", id="empty-schedule"),
        pytest.param("schedule", "every full moon", "full", id="fuzzy-schedule"),
        pytest.param("identity", "", "is not an identity", id="empty-identity"),
        pytest.param("identity", "a\nb", "is not an identity", id="identity-of-two-lines"),
        pytest.param("identity", "\ud800", "is not valid Unicode", id="identity-half-a-character"),
    ],
)
def test_decisions_that_cannot_be_recomputed_are_their_own_kind(
    field: str, value: str | None, says: str, text: str, form: Format
) -> None:
    made = decisions(text)
    made[3] = with_field(made[3], field, value)
    findings, counts = replayed(log(made, form))
    (finding,) = findings
    assert (finding.line, finding.kind) == (4, FindingKind.UNCHECKED)
    assert says in finding.message
    assert str(finding).isprintable()
    assert (counts.decisions, counts.agreed, counts.unchecked) == (7, 6, 1)


# --- what cannot be read ---


@FORMS
def test_junk_is_reported_with_its_line_and_the_rest_counts(form: Format) -> None:
    made = decisions()
    long = b"x" * (LINE_BYTES + 1) + b"\n"
    cut = log([made[6]], form)[:-40]
    parts = [log(made[:2], form), b"\x00\xff\n", log(made[2:4], form), b"hello\n", long, cut]
    findings, counts = replayed(b"".join(parts))
    assert [(finding.line, finding.kind) for finding in findings] == [
        (line, FindingKind.UNREADABLE) for line in (3, 6, 7, 8)
    ]
    assert counts == Counts(lines=8, decisions=4, agreed=4, unreadable=4)


def test_a_prefix_is_not_guessed() -> None:
    lines = log(decisions()).splitlines(keepends=True)
    data = b"".join(b"Mar 01 host krond[1]: " + line for line in lines)
    findings, counts = replayed(data)
    assert counts.unreadable == 7
    assert all("journalctl -o cat" in finding.message for finding in findings)


@pytest.mark.heavy
def test_a_gzip_file_that_is_cut_off_is_checked_as_far_as_it_goes() -> None:
    made = [decided(BACKUP, nominal=to_text(86_400 * day))[0] for day in range(3_000)]
    whole = gzip.compress(log(made))
    findings, counts = replayed(whole[: len(whole) // 2])
    assert counts.agreed > 1_000
    assert counts.mismatched == 0
    assert {finding.kind for finding in findings} == {FindingKind.UNREADABLE}
    assert "cut off" in findings[-1].message
    assert {finding.line for finding in findings} == {counts.agreed + 1}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 900_000, id="parentheses"),
        pytest.param("@only(" * 100_000, id="modifiers"),
        pytest.param("0 0 * * * @only(" + "hours=1;" * 100_000 + "hours=1)", id="clauses"),
        pytest.param("daily " * 150_000, id="words"),
        pytest.param("1," * 400_000 + "1 * * * *", id="list"),
        pytest.param('"' * 500_000, id="quotes"),
    ],
)
def test_a_hostile_schedule_is_a_finding(text: str) -> None:
    made = with_field(decided(BACKUP)[0], "schedule", text)
    findings, counts = replayed(log([made]))
    assert findings
    assert counts.lines == 1
    assert len(str(findings[0])) < 2_000


# --- triggers ---


def test_a_trigger_must_have_the_chosen_time_of_its_decision() -> None:
    made = decisions()
    chosen = [decision["chosen"] for decision in made]
    lines = [
        *made,
        trigger(DAYS[0], chosen[0]),
        trigger(DAYS[1], chosen[2]),
        trigger(DAYS[2], ""),
        trigger(DAYS[3], chosen[3], name="another"),
    ]
    findings, counts = replayed(log(lines))
    assert [(f.line, f.event, f.field, f.logged, f.expected) for f in findings] == [
        (9, "trigger", "chosen", chosen[2], chosen[1]),
        (10, "trigger", "chosen", "", chosen[2]),
    ]
    assert (counts.chosen_checked, counts.chosen_mismatched) == (3, 2)
    assert "in the decision before it" in str(findings[0])


def test_the_last_decision_before_a_trigger_counts() -> None:
    (before,) = decided(BACKUP)
    (after,) = decided("0 0 * * * @win(after,2h)")
    right = log([before, after, trigger(NOMINAL, after["chosen"])])
    wrong = log([before, after, trigger(NOMINAL, before["chosen"])])
    late = log([before, trigger(NOMINAL, before["chosen"]), after])
    assert replayed(right)[0] == []
    assert [finding.line for finding in replayed(wrong)[0]] == [3]
    assert replayed(late)[0] == []


def test_a_period_without_a_chosen_time_must_not_be_triggered() -> None:
    lines = [*decided(STARVED), trigger(NOMINAL, "2026-03-01T00:10:00Z")]
    (finding,) = replayed(log(lines))[0]
    assert (finding.line, finding.expected) == (2, "")


def test_many_missed_periods_in_one_line_have_no_chosen_time() -> None:
    missed = record(
        Event.MISSED_DEADLINE, 0, namespace="prod", name="db-backup", period=NOMINAL,
        chosen=None, deadline="0s", now=NOMINAL, count=40, first_period="2026-02-01T00:00:00Z",
    )  # fmt: skip
    assert replayed(log([*decided(BACKUP), missed]))[0] == []
    wrong = with_field(missed, "chosen", NOMINAL)
    assert [finding.line for finding in replayed(log([*decided(BACKUP), wrong]))[0]] == [2]


def test_a_trigger_far_from_its_decision_is_still_checked() -> None:
    (decision,) = decided(BACKUP)
    between = log([record(Event.READY, 0, version="x" * 1000, jobs=1)]) * 2_000
    right, wrong = decision["chosen"], "2026-03-01T00:00:01Z"
    for chosen, lines in ((right, []), (wrong, [2_002])):
        data = log([decision]) + between + log([trigger(NOMINAL, chosen)]) + log(decisions())
        assert [finding.line for finding in replayed(data)[0]] == lines


def test_the_latest_decisions_are_remembered_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kron.logs.replay, "PERIODS_REMEMBERED", 3)
    unlike = [trigger(day, NOMINAL) for day in DAYS]
    made = decisions()
    made.insert(6, made[0])  # the first one again: it is among the latest three then
    findings, counts = replayed(log([*made, *unlike]))
    assert [finding.period for finding in findings] == [DAYS[0], *DAYS[4:]]
    assert counts.chosen_checked == 4


def test_a_job_that_was_forgotten_is_checked_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kron.logs.template, "JOBS_REMEMBERED", 2)
    made = [record for day in DAYS for n in range(3) for record in _of_job(day, f"job-{n}")]
    assert replayed(log(made))[1] == Counts(lines=21, decisions=21, agreed=21)


def _of_job(day: str, name: str) -> list[Record]:
    return decided(BACKUP, nominal=day, name=name)


def test_a_line_of_unusual_length_is_checked_though_not_remembered() -> None:
    (made,) = decided(f"0 0 * * * @win(after,1h) @seed(stable,salt={'x' * LONGEST_REMEMBERED})")
    wrong = with_field(made, "attempts", "2")
    unlike = trigger(NOMINAL, NOMINAL)
    findings, counts = replayed(log([made, made, wrong, unlike]))
    assert [(finding.line, finding.field) for finding in findings] == [(3, "attempts")]
    assert (counts.agreed, counts.chosen_checked) == (2, 0)


# --- the whole ---


@pytest.mark.heavy
def test_memory_does_not_grow_with_the_log() -> None:
    class Endless:
        """New jobs and new periods, for ever."""

        def __init__(self) -> None:
            self.number = 0
            self.line = log([trigger(NOMINAL, NOMINAL)]).replace(b"trigger", b"decision")

        def read(self, _: int) -> bytes:
            self.number += 1
            return b"".join(
                self.line.replace(b"=db-backup", b"=%d-%d" % (self.number, n)) for n in range(100)
            )

    def peak_after(findings: int) -> int:
        tracemalloc.start()
        try:
            for _ in islice(Replay(Endless()), findings):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kron.logs.replay, "PERIODS_REMEMBERED", 500)
        peak_after(2_000)  # fills what is remembered for good
        assert peak_after(6_000) < 1.2 * peak_after(3_000)


@pytest.mark.heavy
def test_progress_is_told_and_counts_can_be_read_on_the_way() -> None:
    wrong = with_field(decisions()[0], "attempts", "9")
    data = log([wrong]) * 5_000
    reported: list[int] = []
    replay = Replay(io.BytesIO(data), progress=reported.append)
    seen = []
    for _ in replay:
        seen.append(replay.counts.lines)
    assert reported[-1] == len(data)
    assert seen == sorted(seen)
    assert replay.counts.mismatched == 5_000


def test_a_source_that_fails_is_an_error_for_the_caller() -> None:
    class Broken:
        def read(self, _: int) -> bytes:
            raise OSError(5, "I/O error")

    with pytest.raises(OSError, match="I/O error"):
        list(Replay(Broken()))


def test_the_docs_name_every_kind_and_limit() -> None:
    text = page("logs.md")
    assert [row[0].strip("`") for row in rows(text, "## Replay")] == list(FindingKind)
    assert f"longer than {LINE_BYTES:,} bytes" in text
    assert f"among the last {PERIODS_REMEMBERED:,}" in text
    assert f"not longer than {LONGEST_REMEMBERED:,}\ncharacters" in text
