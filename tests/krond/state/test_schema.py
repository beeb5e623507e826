"""The JSON of a state: it is read back exactly, and anything else is refused."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.errors import Code
from kron.core.instant import from_text
from kron.core.parser import parse_schedule
from kron.engine import Job, Ledger, Start, step
from kron.krond.state.errors import StateCorrupt, StateNewer
from kron.krond.state.fields import MAX_BYTES
from kron.krond.state.past import COLUMNS, HISTORY, ROW, ROWS, Past, read_past
from kron.krond.state.record import Ended, JobState, RunRecord
from kron.krond.state.schema import SCHEMA, from_json, run_from_json, run_to_json, to_json
from tests.krond.state.states import (
    BOOT,
    ended,
    ended_values,
    pasts,
    runs,
    state,
    states,
)
from tests.soak import examples

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "state.md"
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@examples(150)
@given(states)
def test_what_is_written_is_read_again(value: JobState) -> None:
    data = to_json(value)
    assert from_json(data) == value
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert data.isascii()


@examples(100)
@given(states)
def test_layout_does_not_matter_to_the_reader(value: JobState) -> None:
    """A file that was saved by an editor, which the reader reads in its other way."""
    assert from_json(json.dumps(json.loads(to_json(value)), indent=2).encode()) == value


def read_by_value(data: bytes) -> bytes:
    """The same in a layout that krond does not write, so that its past is not read by a match."""
    return data.replace(b',"history":', b', "history":')


@examples(150)
@given(states, st.randoms(use_true_random=False), st.sampled_from(b'0195-Z":,{}\\n'))
def test_a_damaged_state_is_read_alike_by_a_match_and_value_by_value(
    value: JobState, chance: random.Random, character: int
) -> None:
    data = bytearray(to_json(value))
    assert from_json(read_by_value(bytes(data))) == value
    data[chance.randrange(1, len(data))] = character
    assert outcome(bytes(data)) == outcome(read_by_value(bytes(data)))


def outcome(data: bytes) -> object:
    """The state, or what is wrong but for its place, which an added space has moved."""
    try:
        return from_json(data)
    except (StateCorrupt, StateNewer) as error:
        return re.sub("at character [0-9,]+", "", str(error))


@examples(100)
@given(runs)
def test_a_noted_run_is_read_again(run: RunRecord) -> None:
    assert run_from_json(run_to_json(run)) == run


def check_harmless(data: bytes) -> None:
    """Reading it gives a value that can be used, or one of the two errors."""
    try:
        value = from_json(data)
    except (StateCorrupt, StateNewer):
        return
    assert from_json(to_json(value)) == value
    assert len(value.past.history) <= HISTORY
    assert value.past.last_run is None or isinstance(value.past.last_run, Ended)


@examples(150)
@given(states, st.randoms(use_true_random=False), st.binary(max_size=4))
def test_damaged_bytes_give_a_value_or_an_error(
    value: JobState, chance: random.Random, inserted: bytes
) -> None:
    data = to_json(value)
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice([0, 1, 1, 2, 20, len(data)]))
    check_harmless(data[:start] + inserted + data[end:])


@examples(150)
@given(states, st.randoms(use_true_random=False), JSON_VALUES)
def test_damaged_values_give_a_value_or_an_error(
    value: JobState, chance: random.Random, replacement: object
) -> None:
    document = json.loads(to_json(value))
    holder = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = chance.choice(keys)
        if not isinstance(holder[key], dict | list) or not holder[key] or chance.random() < 0.3:
            break
        holder = holder[key]
    match chance.randrange(3):
        case 0:
            holder[key] = replacement
        case 1:
            del holder[key]
        case _ if isinstance(holder, dict):
            holder[chance.choice(["", "schema", "extra", *keys])] = replacement
        case _:
            holder.append(replacement)
    # As krond writes it, so that the damage is not found by the layout.
    check_harmless((json.dumps(document, separators=(",", ":")) + "\n").encode())


def test_every_place_of_a_file_may_be_the_one_where_it_ends() -> None:
    data = to_json(state())
    for end in range(len(data) - 1):
        with pytest.raises(StateCorrupt):
            from_json(data[:end])


def changed(**values: object) -> bytes:
    return json.dumps(json.loads(to_json(state())) | values).encode()


def with_ledger(**values: object) -> bytes:
    ledger = json.loads(to_json(state()))["ledger"]
    return changed(ledger=ledger | values)


RUN = json.loads(run_to_json(RunRecord("run", None, None, None, 5, 7, BOOT)))
ROW_VALUE = json.loads(Past.of([ended()]).rows)[0]
HOSTILE = [
    pytest.param(b"", "character 1", id="empty"),
    pytest.param(b"\0" * 4096, "not JSON", id="zeros-as-after-a-power-failure"),
    pytest.param(b"\xff\xfe\x00", "byte 1 it is not UTF-8", id="binary"),
    pytest.param(b'{"schema":2,"identity":"\xed\xa0\x80"}', "not UTF-8", id="raw-surrogate"),
    pytest.param(b"[" * 90_000, "nested too deeply", id="deep-lists"),
    pytest.param(b'{"a":' * 90_000, "nested too deeply", id="deep-objects"),
    pytest.param(b"[" * MAX_BYTES, "more than 100,000", id="very-deep-lists"),
    pytest.param(b"[" + b"[]," * 200_000 + b"1]", "more than 100,000", id="many-lists"),
    pytest.param(b"9" * 1_000_000, "too long", id="huge-integer"),
    pytest.param(b'{"schema":' + b"9" * 4_000 + b"}", '"schema" is a int', id="huge-schema"),
    pytest.param(b"null", "a NoneType, and should be an object", id="null"),
    pytest.param(b"[]", "a list, and should be an object", id="list"),
    pytest.param(b'"text"', '"text", and should be an object', id="text"),
    pytest.param(b"{}", '"schema" is a NoneType', id="no-schema"),
    pytest.param(to_json(state()) + b"{}", "not JSON", id="two-objects"),
    pytest.param(to_json(state())[:-2] + b',"schema":2}\n', "key twice", id="key-twice"),
    pytest.param(
        to_json(state()).replace(b'"boot_id":', b'"boot_id":"","boot_id":', 1),
        "key twice",
        id="key-twice-in-front",
    ),
    pytest.param(
        to_json(state()).replace(b'"planned":', b'"history":[],"planned":', 1),
        '"history" are missing or unknown',
        id="history-twice",
    ),
    pytest.param(changed(schema=True), '"schema" is a bool', id="schema-true"),
    pytest.param(changed(schema=2.0), '"schema" is a float', id="schema-float"),
    pytest.param(changed(schema="2"), '"schema" is "2"', id="schema-text"),
    pytest.param(changed(schema=0), '"schema"', id="schema-zero"),
    pytest.param(changed(schema=-1), '"schema"', id="schema-negative"),
    pytest.param(changed(extra=1), '"extra"', id="unknown-key"),
    pytest.param(changed(identity=5), '"identity" is a int', id="identity-number"),
    pytest.param(changed(identity="a\ud800"), "half a character", id="lone-surrogate"),
    pytest.param(changed(boot_id="\n"), "boot id", id="boot-id-control"),
    pytest.param(changed(boot_id="x" * 101), "boot id", id="boot-id-long"),
    pytest.param(changed(planned=[["2026-02-30T00:00:00Z", None]]), "planned", id="no-such-day"),
    pytest.param(with_ledger(since="2026-02-30T00:00:00Z"), '"since"', id="since-no-such-day"),
    pytest.param(
        re.sub(rb'history":\[\["[^T]*', b'history":[["2026-02-30', to_json(state())),
        '"period"',
        id="history-no-such-day",
    ),
    pytest.param(changed(planned=[[None, None]]), "planned", id="planned-nothing"),
    pytest.param(changed(planned={}), '"planned" is a dict', id="planned-object"),
    pytest.param(changed(active=[RUN | {"run_id": "../../etc/passwd"}]), "run id", id="run-path"),
    pytest.param(changed(active=[RUN | {"run_id": ".."}]), "run id", id="run-dots"),
    pytest.param(changed(active=[RUN | {"run_id": ""}]), "run id", id="run-empty"),
    pytest.param(changed(active=[RUN | {"pid": 0}]), '"pid"', id="pid-zero"),
    pytest.param(changed(active=[RUN | {"pid": -1}]), '"pid"', id="pid-everybody"),
    pytest.param(changed(active=[RUN | {"pid": 2**31}]), '"pid"', id="pid-too-big"),
    pytest.param(changed(active=[RUN | {"pid": True}]), '"pid" is a bool', id="pid-true"),
    pytest.param(changed(active=[RUN | {"ticks": 2**63}]), '"ticks"', id="ticks-too-big"),
    pytest.param(changed(active=[RUN | {"ticks": float("nan")}]), "NaN", id="nan"),
    pytest.param(changed(active=[RUN | {"ticks": float("inf")}]), "Infinity", id="infinity"),
    pytest.param(changed(active=[RUN | {"ticks": 1.5}]), '"ticks" is a float', id="fraction"),
    pytest.param(
        changed(active=[RUN | {"started": "2026-03-02T00:00:00Z"}]), '"started"', id="no-fraction"
    ),
    pytest.param(changed(seed=None), "a seed", id="seed-null"),
    pytest.param(changed(seed=["stable", ""]), "a seed", id="seed-list"),
    pytest.param(changed(history=[ROW_VALUE] * 11), '"history"', id="history-too-long"),
    pytest.param(changed(history=[ROW_VALUE[:-1]]), "9 columns", id="row-too-short"),
    pytest.param(changed(history=[[5, *ROW_VALUE[1:]]]), '"period" is a int', id="row-period"),
    pytest.param(changed(last_run=[]), "9 columns", id="last-run-empty"),
    pytest.param(changed(last_run=[*ROW_VALUE[:2], 5, *ROW_VALUE[3:]]), '"outcome"', id="outcome"),
    pytest.param(changed(last_run=[*ROW_VALUE[:2], "X", *ROW_VALUE[3:]]), "outcome", id="word"),
    pytest.param(changed(ledger=None), "ledger does not read", id="ledger-null"),
    pytest.param(with_ledger(schema=True), '"schema" of the ledger', id="ledger-schema-true"),
    pytest.param(with_ledger(since=None), '"since"', id="ledger-since"),
    pytest.param(with_ledger(schedule=None), '"schedule"', id="ledger-schedule"),
    pytest.param(with_ledger(handled=["x"]), '"handled"', id="ledger-handled"),
    pytest.param(
        with_ledger(
            starting=[
                {"period": "2026-03-02T00:00:00Z", "chosen": "2026-03-02T00:00:00Z"}
                | {"run_id": "/etc/passwd"}
            ]
        ),
        "run id",
        id="intent-path",
    ),
]


@pytest.mark.parametrize(("data", "message"), HOSTILE)
def test_hostile_content_is_refused_with_its_reason(data: bytes, message: str) -> None:
    with pytest.raises(StateCorrupt, match=re.escape(message)) as caught:
        from_json(data)
    assert caught.value.code is Code.STATE
    assert len(str(caught.value)) < 1_000


@pytest.mark.heavy
@pytest.mark.parametrize(
    "piece", [b"[],", b'"aaaa",', b"1234,", b'{"a":1},', b'"\\ud800",', b'"\\\\",']
)
def test_the_worst_file_takes_bounded_time_and_memory(piece: bytes) -> None:
    """In a process that may take 300 MiB more and three seconds."""
    data = b"[" + piece * (MAX_BYTES // len(piece) - 1) + b"1]"
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + (300 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            used_s = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (used_s + 4, used_s + 4))
            from_json(data)
        except StateCorrupt:
            verdict = 0
        finally:
            os._exit(verdict)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_newer_file_is_told_from_a_corrupt_one() -> None:
    with pytest.raises(StateNewer, match="schema 3, and this version of Kron knows 2") as caught:
        from_json(b'{"schema":3,"whatever":[]}')
    assert caught.value.code is Code.STATE_NEWER
    assert "run the newer version" in caught.value.fix
    with pytest.raises(StateNewer):
        from_json(to_json(state()).replace(b'{"schema":2', b'{"schema":3', 1))


def test_a_newer_ledger_in_a_file_makes_the_file_newer() -> None:
    with pytest.raises(StateNewer, match="schema 4, and this version of Kron knows 3"):
        from_json(with_ledger(schema=4, something_new=[]))


def test_half_a_character_in_a_reason_is_written_as_its_name() -> None:
    """It comes from a file name that is not UTF-8; the file must read again all the same."""
    value = state().replace(past=Past.of([ended().replace(reason="no \udc80, \\udc80, 😀")]))
    assert from_json(to_json(value)).past.history[0].reason == "no \\udc80, \\udc80, 😀"


def test_equal_texts_are_kept_once() -> None:
    texts = {text: text for text in ["/etc/kron/jobs.kron:job", "0 * * * *"]}
    schedule = texts["0 * * * *"]
    first = from_json(to_json(state(number=1)), texts)
    second = from_json(to_json(state(number=2)), texts)
    assert first.ledger.schedule is second.ledger.schedule is schedule
    assert first.identity is second.identity
    assert first.boot_id is second.boot_id
    assert first.seed[0] is second.seed[0]


FLAT = {
    "schema": 1,
    "identity": "/etc/kron/jobs.kron:backup",
    "last_handled_period": "2026-03-01T00:00:00Z",
    "last_chosen": "2026-03-01T02:32:20Z",
    "last_run": "2026-03-01T02:32:20Z",
    "last_exit_code": 3,
    "active_pid": 4711,
    "seed": {"strategy": "daily", "salt": "a"},
}


def test_schema_1_is_migrated() -> None:
    period_s, chosen_s = from_text("2026-03-01T00:00:00Z"), from_text("2026-03-01T02:32:20Z")
    assert from_json(json.dumps(FLAT).encode()) == JobState(
        identity="/etc/kron/jobs.kron:backup",
        ledger=Ledger("", period_s, period_s),
        boot_id="",
        planned=(),
        active=(RunRecord("schema1-4711", period_s, chosen_s, chosen_s * 10**9, 4711, None, ""),),
        seed=("daily", "a"),
        past=Past.of(
            (),
            Ended(period_s, chosen_s, "executed", "", "", chosen_s * 10**9, None, 3, None),
        ),
    )


def test_schema_1_with_nothing_but_an_identity_is_migrated() -> None:
    flat = dict.fromkeys(FLAT) | {"schema": 1, "identity": "x"}
    assert from_json(json.dumps(flat).encode()) == JobState(
        "x", Ledger("", 0), "", (), (), ("", ""), Past()
    )


@pytest.mark.parametrize("key", sorted(FLAT))
def test_schema_1_is_read_as_strictly(key: str) -> None:
    for wrong in (FLAT | {key: 1.5}, {name: FLAT[name] for name in FLAT if name != key}):
        with pytest.raises(StateCorrupt):
            from_json(json.dumps(wrong).encode())


def test_a_migrated_job_owes_nothing_and_repeats_nothing() -> None:
    job = Job("/etc/kron/jobs.kron:backup", parse_schedule("0 0 * * * @policy(deadline=9000h)"))
    ledger = from_json(json.dumps(FLAT).encode()).ledger
    for now in ("2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z", "2026-03-03T12:00:00Z"):
        made = step(job, ledger, from_text(now))
        assert not [action for action in made.actions if isinstance(action, Start)]
        assert made.ledger.is_handled(from_text("2026-03-01T00:00:00Z"))


@examples(40)
@given(st.from_regex(ROW, fullmatch=True), st.from_regex(ROW, fullmatch=True))
def test_what_matches_the_pattern_of_a_past_needs_no_further_look(row: str, last: str) -> None:
    rows = f"[{'' if row == 'null' else row}]"
    assert re.fullmatch(ROWS, rows)
    past = Past(rows, last)
    assert Past.of(past.history, past.last_run) == past
    assert read_past(json.loads(rows), json.loads(last)) == past


@examples(100)
@given(pasts, st.lists(ended_values, max_size=15))
def test_the_past_keeps_the_latest_and_the_last_run(past: Past, more: list[Ended]) -> None:
    expected = [*past.history, *more][-HISTORY:]
    last_run = past.last_run
    for one in more:
        past = past.with_ended(one)
        last_run = one if one.outcome in ("executed", "manual") else last_run
    assert past.history == tuple(expected)
    assert past.last_run == last_run


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: RunRecord("a/b", None, None, None, None, None, ""), id="run-id"),
        pytest.param(lambda: RunRecord("a", None, None, None, None, None, "\n"), id="boot-id"),
        pytest.param(lambda: ended().replace(run_id="../a"), id="ended-run-id"),
        pytest.param(lambda: ended().replace(outcome="went well"), id="outcome"),
        pytest.param(lambda: state().replace(boot_id="x" * 200), id="state-boot-id"),
    ],
)
def test_what_could_not_be_read_again_cannot_be_made(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"id|outcome"):
        make()


def test_the_page_shows_a_state_as_it_is_written() -> None:
    page = DOCUMENTATION.read_text(encoding="utf-8")
    blocks = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = from_json(blocks[0].encode())
    assert json.loads(to_json(shown)) == json.loads(blocks[0])
    assert from_json(blocks[1].encode()).ledger.schedule == ""
    assert f'"schema": {SCHEMA}' in blocks[0]
    documented = re.findall(r"^\| `([a-z_]+)` \|", page.split("## Rows")[1], re.MULTILINE)
    assert documented[: len(COLUMNS)] == list(COLUMNS)
