"""The first example lines of the log format: each must still be read and written.

Values that depend on the engine differ (in the examples the hash is shortened and the chosen time
made up); every other value must be the same.
"""

from __future__ import annotations

import pytest

import kron
from kron.core.instant import from_text, to_datetime
from kron.logs import Level, Record, decision_records, explain_records, read_line, write_text
from kron.logs.json_lines import write_json
from kron.logs.replay import Replay
from tests.logs.records import BACKUP, NOMINAL

INTRODUCTION = (
    "2026-03-01T09:58:12.483920381Z level=INFO component=scheduler event=decision namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z nominal=2026-03-01T00:00:00Z "
    "window_start=2026-03-01T00:00:00Z window_end=2026-03-01T03:00:00Z distribution=uniform "
    "seed_hash=4f8c2a13 chosen=2026-03-01T01:42:18Z"
)
DECISION = (
    "2026-03-01T00:00:00.001234567Z level=INFO component=scheduler event=decision namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z nominal=2026-03-01T00:00:00Z window_mode=after "
    "window_start=2026-03-01T00:00:00Z window_end=2026-03-01T03:00:00Z distribution=uniform "
    'dist_params="" seed_strategy=stable seed_hash=4f8c2a13 salt=backup '
    "chosen=2026-03-01T01:42:18Z timezone=UTC"
)
SEED_COMPUTED = (
    "2026-03-01T00:00:00.000112233Z level=DEBUG component=seed event=seed_computed namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z seed_strategy=stable resource_uid=7f12a8 "
    "period_key=2026-03-01T00:00:00Z salt=backup seed_hash=4f8c2a13"
)
SAMPLE = (
    "2026-03-01T00:00:00.000223344Z level=DEBUG component=scheduler event=sample namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z distribution=uniform raw_value=0.57382912 "
    "mapped_offset_ns=6138000000000 candidate=2026-03-01T01:42:18Z"
)
EXPLANATION = (
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_start namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z",
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_step "
    'detail="cron resolved nominal time"',
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_step "
    'detail="window after 3h => [00:00,03:00]"',
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_step "
    'detail="uniform distribution selected 0.5738"',
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_result "
    "chosen=2026-03-01T01:42:18Z",
    "2026-03-01T00:00:00Z level=INFO component=scheduler event=explain_end namespace=prod "
    "name=db-backup period=2026-03-01T00:00:00Z",
)
JSON = (
    '{"timestamp":"2026-03-01T00:00:00Z","level":"INFO","component":"scheduler",'
    '"event":"decision","namespace":"prod","name":"db-backup","period":"2026-03-01T00:00:00Z",'
    '"nominal":"2026-03-01T00:00:00Z","window_mode":"after",'
    '"window_start":"2026-03-01T00:00:00Z","window_end":"2026-03-01T03:00:00Z",'
    '"distribution":"uniform","seed_strategy":"stable","seed_hash":"4f8c2a13",'
    '"chosen":"2026-03-01T01:42:18Z"}'
)
OF_THE_ENGINE = {"seed_hash", "chosen", "raw_value", "mapped_offset_ns", "candidate"}
HASH = "9c85657760a63b4d925af6088cceb2bb4448380b2e6856b203915a0a51ab5101"
CHOSEN = "2026-03-01T02:32:20Z"


def read(line: str) -> Record:
    found = read_line(line)
    assert isinstance(found, Record)
    return found


def ours(time_ns: int, *, level: Level = Level.DEBUG) -> dict[str, Record]:
    """Our own records of the decision in the examples, by event."""
    decision = kron.decide(
        kron.parse_schedule(BACKUP),
        identity="prod/db-backup",
        nominal=to_datetime(from_text(NOMINAL)),
    )
    made = decision_records(
        decision,
        namespace="prod",
        name="db-backup",
        time_ns=time_ns,
        schedule_text=BACKUP,
        resource_uid="7f12a8",
        level=level,
    )
    return {record.event: record for record in made}


@pytest.mark.parametrize(
    "line", [INTRODUCTION, DECISION, SEED_COMPUTED, SAMPLE, *EXPLANATION, JSON]
)
def test_every_example_is_read_as_it_stands(line: str) -> None:
    record = read(line)
    if line == JSON:
        assert write_json(record) == line.replace('00Z","level', '00.000000000Z","level')
    else:
        timestamp, rest = line.split(" ", 1)
        assert write_text(record).split(" ", 1)[1] == rest
        assert write_text(record).startswith(timestamp.rstrip("Z"))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(INTRODUCTION, id="introduction"),
        pytest.param(DECISION, id="decision"),
        pytest.param(SEED_COMPUTED, id="seed_computed"),
        pytest.param(SAMPLE, id="sample"),
        pytest.param(JSON, id="json"),
    ],
)
def test_every_example_is_written_again(line: str) -> None:
    example = read(line)
    made = ours(example.time_ns)[example.event]
    assert made.replace(fields=()) == example.replace(fields=())
    for key, value in example.fields:
        if key not in OF_THE_ENGINE:
            assert made[key] == value, key
    # The fields of the example come in its order, ours after them.
    order = [key for key, _ in made.fields]
    places = [order.index(key) for key, _ in example.fields]
    assert places == sorted(places)


def test_the_full_examples_lack_no_field_of_ours_but_those_we_append() -> None:
    made = ours(0)
    for line in (DECISION, SEED_COMPUTED, SAMPLE):
        example = read(line)
        keys = [key for key, _ in example.fields]
        assert [key for key, _ in made[example.event].fields][: len(keys)] == keys


def test_the_decision_of_the_example_is_the_one_that_issue_4_asks_for() -> None:
    decision = ours(0)["decision"]
    assert decision["seed_hash"] == HASH
    assert decision["chosen"] == CHOSEN
    assert ours(0)["seed_computed"]["seed_hash"] == HASH
    assert ours(0)["sample"]["candidate"] == CHOSEN


def test_the_explanation_has_the_words_of_the_example() -> None:
    decision = kron.decide(
        kron.parse_schedule(BACKUP),
        identity="prod/db-backup",
        nominal=to_datetime(from_text(NOMINAL)),
    )
    made = list(explain_records(decision, namespace="prod", name="db-backup", time_ns=0))
    examples = list(map(read, EXPLANATION))
    assert [made[0].event, made[-2].event, made[-1].event] == [
        "explain_start", "explain_result", "explain_end",
    ]  # fmt: skip
    assert made[0].fields == examples[0].fields
    assert made[-1].fields == examples[-1].fields
    assert made[-2]["chosen"] == CHOSEN
    details = [record["detail"] for record in made if record.event == "explain_step"]
    cron, window, seed, draw = details
    assert cron == f"{examples[1]['detail']} {NOMINAL}"
    assert window == examples[2]["detail"]
    assert seed == f"stable seed of {NOMINAL} with salt backup => {HASH}"
    assert draw == "uniform distribution selected 0.8463 => 02:32:20"


def test_the_examples_cannot_be_replayed_and_replay_says_so() -> None:
    import io

    log = "\n".join([INTRODUCTION, DECISION, SEED_COMPUTED, SAMPLE, *EXPLANATION, JSON, ""])
    replay = Replay(io.BytesIO(log.encode()))
    assert [(finding.line, finding.kind) for finding in replay] == [
        (1, "unchecked"), (2, "unchecked"), (11, "unchecked"),
    ]  # fmt: skip
    assert replay.counts.unreadable == 0
