"""A KronJob's fields mean what the modifiers of a schedule mean."""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.core.errors import Code
from kron.core.instant import from_text
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.core.tokens import forbidden_characters
from kron.engine.actions import Settle, Start
from kron.engine.step import step
from kron.jobs.entry import read_schedule
from kron.kube.resource.kronjob import (
    InvalidSpec,
    KronJob,
    read_kronjob,
    read_metadata,
    read_stored,
)
from tests.kube.resource.bad_specs import GOOD_SPECS, good_kronjob, merged
from tests.soak import examples


def read(**spec: Any) -> KronJob:
    return read_kronjob(merged(good_kronjob("backup", "prod"), {"spec": spec}))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({}, "30 2 * * *", id="bare"),
        pytest.param({"timeZone": "Asia/Tokyo"}, "30 2 * * * @tz(Asia/Tokyo)", id="zone"),
        pytest.param(
            {"window": {"mode": "around", "duration": "90m"}},
            "30 2 * * * @win(around,90m)",
            id="window",
        ),
        pytest.param(
            {"distribution": {"name": "normal", "params": {"mu": "mid", "sigma": "5m"}}},
            "30 2 * * * @dist(normal,mu=mid,sigma=5m)",
            id="distribution",
        ),
        pytest.param(
            {"distribution": {"name": "exponential", "params": {"lambda": 2.0, "dir": "late"}}},
            "30 2 * * * @dist(exponential,lambda=2,dir=late)",
            id="numbers",
        ),
        pytest.param({"seed": {"salt": "x y"}}, '30 2 * * * @seed(stable,salt="x y")', id="salt"),
        pytest.param(
            {"seed": {"strategy": "daily", "salt": ""}}, "30 2 * * * @seed(daily)", id="s"
        ),
        pytest.param(
            {"policy": {"concurrency": "allow", "deadline": "1h", "suspend": True}},
            "30 2 * * * @policy(concurrency=allow,deadline=1h,suspend=true)",
            id="policy",
        ),
        pytest.param(
            {"constraints": {"only": ["hours=8-18", "dow=MON"], "avoid": ["dom=1"]}},
            "30 2 * * * @only(hours=8-18;dow=MON) @avoid(dom=1)",
            id="constraints",
        ),
        pytest.param(
            {"schedule": "0 0 * * * @policy(deadline=1h) @tz(UTC)", "policy": {"suspend": True}},
            "0 0 * * * @policy(deadline=1h,suspend=true) @tz(UTC)",
            id="policy-in-both",
        ),
    ],
)
def test_the_fields_become_one_text(spec: dict[str, Any], text: str) -> None:
    kronjob = read(**spec)
    assert kronjob.schedule_text == text
    assert kronjob.schedule == parse_schedule(text)


@pytest.mark.parametrize("patch", [pytest.param(p, id=name) for name, p in GOOD_SPECS.items()])
def test_its_text_alone_gives_the_same_decision(patch: dict[str, Any]) -> None:
    kronjob = read(**patch)
    replayed = read_schedule(kronjob.schedule_text, kronjob.identity)
    nominal_s = replayed.nominals.after(1_800_000_000)
    decided = decide_at(kronjob.schedule, kronjob.identity, nominal_s)
    assert decide_at(replayed, "prod/backup", nominal_s) == decided


def test_a_fuzzy_schedule_is_scattered_by_namespace_and_name() -> None:
    obj = merged(good_kronjob("backup", "prod"), {"spec": {"schedule": "daily"}})
    other = merged(good_kronjob("backup", "staging"), {"spec": {"schedule": "daily"}})
    assert read_kronjob(obj).schedule == read_schedule("daily", "prod/backup")
    assert read_kronjob(obj).schedule != read_kronjob(other).schedule


@examples(100)
@given(st.text(max_size=20))
def test_any_salt_arrives_as_it_is_or_is_refused(salt: str) -> None:
    if forbidden_characters(salt):
        with pytest.raises(InvalidSpec) as caught:
            read(seed={"salt": salt})
        assert {problem.path for problem in caught.value.problems} == {"spec.seed.salt"}
        return
    kronjob = read(seed={"salt": salt})
    assert kronjob.schedule.seed.salt == salt
    assert parse_schedule(kronjob.schedule_text).seed.salt == salt


def test_a_problem_in_the_schedule_has_its_column_in_the_schedule() -> None:
    with pytest.raises(InvalidSpec) as caught:
        read(schedule="0 0 * * * @policy(deadline=1h) @wni(after,2h)", policy={"suspend": True})
    (problem,) = caught.value.problems
    assert problem.path == "spec.schedule"
    assert problem.message.startswith("column 32: ")
    assert problem.code is Code.MODIFIER_UNKNOWN


def test_what_applies_when_nothing_is_said() -> None:
    kronjob = read()
    policy = kronjob.schedule.policy
    assert (policy.concurrency, policy.deadline_s, policy.suspend) == (Concurrency.FORBID, 0, False)
    assert (kronjob.successful_limit, kronjob.failed_limit) == (3, 1)


def test_metadata_is_read() -> None:
    metadata = read_metadata(
        {
            "metadata": {
                "namespace": "prod",
                "name": "backup",
                "uid": "u",
                "generation": 7,
                "resourceVersion": "99",
                "deletionTimestamp": "2026-03-01T00:00:00Z",
            }
        }
    )
    assert (metadata.uid, metadata.generation, metadata.resource_version) == ("u", 7, "99")
    assert metadata.is_deleting
    assert not read_metadata({"metadata": {"name": "backup"}}).is_deleting


def test_the_template_is_kept_whole() -> None:
    kronjob = read(**GOOD_SPECS["template"])
    expected = merged(good_kronjob(), {"spec": GOOD_SPECS["template"]})["spec"]["jobTemplate"]
    assert json.loads(kronjob.template) == expected


def test_equal_schedules_are_one_object() -> None:
    first = read(schedule="1 2 3 4 *", timeZone="Europe/Paris")
    assert read(schedule="1 2 3 4 * @tz(Europe/Paris)").schedule is first.schedule


@pytest.mark.heavy
def test_a_kronjob_takes_little_memory() -> None:
    """The operator may spend 25 KiB on each, of which this is the spec's part."""
    count = 300
    objects = [
        merged(good_kronjob(f"job-{n}"), {"spec": {"schedule": f"{n % 60} {n % 24} * * *"}})
        | {"status": {"padding": "x" * 2_000}}
        for n in range(count)
    ]
    gc.collect()
    tracemalloc.start()
    kept = [read_kronjob(obj) for obj in objects]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == count
    assert used / count < 6_000


TEN_MINUTES_NS = 600 * SECOND_NS


@pytest.mark.parametrize(
    ("spec", "deadline_s"),
    [
        pytest.param({}, 600, id="none"),
        pytest.param({"policy": {"concurrency": "allow"}}, 600, id="another-key"),
        pytest.param({"schedule": "daily"}, 600, id="words"),
        pytest.param(
            {"schedule": "0 2 * * * @policy(suspend=true)"}, 600, id="another-in-the-text"
        ),
        pytest.param({"seed": {"salt": "@policy(deadline=1h)"}}, 600, id="in-a-salt"),
        pytest.param({"policy": {"deadline": "0s"}}, 0, id="none-on-purpose"),
        pytest.param({"schedule": "0 2 * * * @policy(deadline=0s)"}, 0, id="none-in-the-text"),
        pytest.param({"policy": {"deadline": "1h"}}, 3600, id="its-own"),
    ],
)
def test_a_default_deadline_is_for_those_that_name_none(
    spec: dict[str, Any], deadline_s: int
) -> None:
    obj = merged(good_kronjob("backup", "prod"), {"spec": spec})
    plain, late = read_kronjob(obj), read_kronjob(obj, TEN_MINUTES_NS)
    assert late.schedule.policy.deadline_s == deadline_s
    assert late.schedule_text == plain.schedule_text
    now_s = from_text("2026-03-01T00:00:00Z")
    assert [decide_at(each.schedule, each.identity, now_s).chosen_s for each in (plain, late)] == [
        decide_at(plain.schedule, plain.identity, now_s).chosen_s
    ] * 2


def test_another_default_deadline_is_no_edit() -> None:
    """After an edit, nothing is owed from before."""
    obj = good_kronjob("backup", "prod")
    first_s = from_text("2026-03-01T00:00:00Z")
    ledger = step(read_kronjob(obj).job, None, first_s).ledger
    after = step(read_kronjob(obj, TEN_MINUTES_NS).job, ledger, first_s + 5)
    assert after.ledger == ledger
    due_s = from_text("2026-03-01T02:30:00Z")
    [start] = step(read_kronjob(obj, TEN_MINUTES_NS).job, ledger, due_s + 599).actions
    assert isinstance(start, Start)
    [missed] = step(read_kronjob(obj).job, ledger, due_s + 599).actions
    assert isinstance(missed, Settle)


def test_a_stored_kronjob_has_the_deadline_that_its_operator_reports() -> None:
    obj = good_kronjob("backup", "prod")
    status = {"observedGeneration": 0, "deadline": "10m"}
    assert read_stored(obj | {"status": status}).schedule.policy.deadline_s == 600
    for other in ({}, status | {"observedGeneration": 7}, status | {"deadline": "soon"}):
        assert read_stored(obj | {"status": other}).schedule.policy.deadline_s == 0
