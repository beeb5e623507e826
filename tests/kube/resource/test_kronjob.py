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
from kron.core.errors import Code
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.core.tokens import forbidden_characters
from kron.jobs.entry import read_schedule
from kron.kube.resource.kronjob import InvalidSpec, KronJob, read_kronjob, read_metadata
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
