"""The offline check says what the API server would, and never refuses what the engine accepts."""

from __future__ import annotations

import json
import time
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.distribution import Anchor, Direction
from kron.core.duration import LARGEST_NS, SECOND_NS, format_duration
from kron.core.errors import KronError
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS
from kron.core.modifiers import FORMS
from kron.core.policy import Concurrency
from kron.core.seed import Strategy
from kron.core.window import Mode
from kron.engine.actions import Outcome
from kron.jobs.entry import read_schedule
from kron.kube.resource.kronjob import InvalidSpec, find_problems, read_kronjob
from kron.kube.resource.schema.definition import SPEC, SchemaField, root_schema
from kron.kube.resource.schema.durations import (
    BELOW_CENTURIES,
    DURATION,
    NO_TERM_OF_A_YEAR,
    NO_TERM_OF_CENTURIES,
)
from kron.kube.resource.schema.rule import is_match
from kron.kube.resource.schema.rules import (
    MODIFIERS_WELL_FORMED,
    RULES,
    SCHEDULE_RULES,
    ZONE,
)
from kron.kube.resource.schema.validate import check
from tests.core.schedules import schedule_texts
from tests.fuzzy.expressions import Meant, expressions
from tests.kube.resource.bad_specs import (
    BAD_SPECS,
    GOOD_SPECS,
    BadSpec,
    bad_kronjob,
    good_kronjob,
    merged,
)
from tests.soak import examples

ROOT = Path(__file__).parents[4]
DEADLINE_RULES = RULES["spec.policy.deadline"]
HOSTILE = [
    "daily" + " " * 4090,
    "daily around " + "0" * 4080,
    "every " + "0" * 4080,
    "0 0 * * * " + "@win(" * 800,
    "0 0 * * * " + "@win(after,1h) " * 270,
    "0 0 * * * @win(after," + "0" * 4070,
    "0 0 * * * @win(after," + "1h" * 2000 + "x)",
    "0 0 * * * @only(hours=" + "0," * 2000 + ")",
    "0 0 * * * @only(" + "hours=0;" * 500 + ")",
    "0 0 * * * @seed(stable,salt=" + '"a"' * 1300 + ")",
    "0 0 * * * " + '@only("' * 500,
    "0 0 * * * @avoid(dow=" + "0" * 4000 + ")",
]
"""Schedules on which a careless pattern would take years."""
BY_API = [bad for bad in BAD_SPECS if bad.refused_by == "api"]
BY_ENGINE = [bad for bad in BAD_SPECS if bad.refused_by == "engine"]


def rows(table: list[BadSpec]) -> list[Any]:
    return [pytest.param(bad, id=bad.id) for bad in table]


def field(path: str) -> SchemaField:
    root = SPEC
    for name in path.split("."):
        (root,) = (member for member in root.members if member.name == name)
    return root


@pytest.mark.parametrize("bad", rows(BAD_SPECS))
def test_a_bad_spec_is_refused_at_its_field_with_its_rule(bad: BadSpec) -> None:
    problems = find_problems(bad_kronjob(bad))
    assert {problem.path for problem in problems} == {bad.path}
    assert (bad.offline or bad.message) in str(problems[0])


@pytest.mark.parametrize("bad", rows(BY_API))
def test_what_the_server_refuses_the_check_refuses(bad: BadSpec) -> None:
    assert bad.path in [problem.path for problem in check(bad_kronjob(bad))]


@pytest.mark.parametrize("bad", rows(BY_ENGINE))
def test_what_only_the_engine_can_judge_the_check_lets_pass(bad: BadSpec) -> None:
    assert check(bad_kronjob(bad)) == []


@pytest.mark.parametrize(
    "modifiers",
    [
        "@seed(monthly)",
        "@policy(concurrency=Forbid)",
        "@policy(deadline=1m,deadline=2m)",
        "@dist(uniform,shape=2)",
        "@tz()",
        "@win(after,8784h1s)",
    ],
)
def test_what_is_accepted_in_modifiers_is_documented(modifiers: str) -> None:
    obj = merged(good_kronjob(), {"spec": {"schedule": f"0 0 * * * {modifiers}"}})
    assert check(obj) == []
    assert len(find_problems(obj)) == 1
    inside = modifiers[modifiers.index("(") + 1 : -1].removeprefix("after,") or modifiers
    assert inside in (ROOT / "docs/kronjob.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("size", "is_accepted"), [pytest.param(2**18, True, id="most"), (2**18 + 1, False)]
)
def test_annotations_are_bounded_as_the_api_server_does_it(size: int, is_accepted: bool) -> None:
    obj = merged(good_kronjob(), {"metadata": {"annotations": {"a": "é" + "x" * (size - 3)}}})
    assert [each.path for each in check(obj)] == ([] if is_accepted else ["metadata.annotations"])


@pytest.mark.parametrize("bad", rows([bad for bad in BAD_SPECS if bad.path != "metadata.name"]))
def test_no_kronjob_is_made_of_a_bad_spec(bad: BadSpec) -> None:
    with pytest.raises(InvalidSpec) as caught:
        read_kronjob(bad_kronjob(bad))
    assert {problem.path for problem in caught.value.problems} == {bad.path}


@pytest.mark.parametrize("patch", [pytest.param(p, id=name) for name, p in GOOD_SPECS.items()])
def test_a_good_spec_is_accepted(patch: dict[str, Any]) -> None:
    obj = merged(good_kronjob(), {"spec": patch})
    assert find_problems(obj) == []
    assert read_kronjob(obj).identity == "default/good"


def test_all_problems_are_said_at_once() -> None:
    obj = good_kronjob()
    obj["kind"] = "KronJobs"
    obj["metadata"]["name"] = "Backup"
    obj["spec"] |= {
        "schedule": "0 25 * * *",
        "timeZone": "Europe/Pari",
        "window": {"mode": "during", "duration": "2d"},
        "constraints": {"only": ["hours=8", "dwo=MON"], "never": []},
        "policy": {"suspend": "yes"},
        "failedJobsHistoryLimit": -1,
    }
    assert sorted(problem.path for problem in find_problems(obj)) == [
        "kind",
        "metadata.name",
        "spec.constraints.never",
        "spec.constraints.only[1]",
        "spec.failedJobsHistoryLimit",
        "spec.policy.suspend",
        "spec.schedule",
        "spec.timeZone",
        "spec.window.duration",
        "spec.window.mode",
    ]


@pytest.mark.parametrize(
    ("patch", "path", "message"),
    [
        pytest.param({"kind": "CronJob"}, "kind", '"CronJob" is not KronJob', id="kind"),
        pytest.param({"apiVersion": None}, "apiVersion", "it is missing", id="no-version"),
        pytest.param({"apiVersion": 1}, "apiVersion", "the number 1", id="version-number"),
        pytest.param({"spce": {}}, "spce", 'did you mean "spec"?', id="top-level"),
        pytest.param({"metadata": None}, "metadata.name", "it is missing", id="no-metadata"),
        pytest.param({"metadata": {"name": None}}, "metadata.name", "missing", id="no-name"),
        pytest.param(
            {"metadata": {"name": None, "generateName": "a-"}},
            "metadata.name",
            "follow from its name (write name instead of generateName)",
            id="a-name-that-is-made",
        ),
        pytest.param({"metadata": {"name": "Backup"}}, "metadata.name", "lower case", id="name"),
        pytest.param({"metadata": {"name": "a..b"}}, "metadata.name", "lower case", id="dots"),
        pytest.param({"metadata": {"name": 5}}, "metadata.name", "must be text", id="name-number"),
        pytest.param(
            {"metadata": {"labels": {"tier": 1}}},
            'metadata.labels["tier"]',
            "it is the number 1, and must be text",
            id="a-label-that-is-a-number",
        ),
        pytest.param(
            {"metadata": {"annotations": {"on": True}}},
            'metadata.annotations["on"]',
            "must be text",
            id="an-annotation-that-is-true",
        ),
        pytest.param(
            {"metadata": {"labels": ["a"]}}, "metadata.labels", "must be an object", id="labels"
        ),
        pytest.param({"metadata": {"lables": {}}}, "metadata.lables", "labels", id="lables"),
        pytest.param({"spec": None}, "spec", "it is missing", id="no-spec"),
    ],
)
def test_what_is_around_the_spec_is_checked_too(
    patch: dict[str, Any], path: str, message: str
) -> None:
    (problem,) = find_problems(merged(good_kronjob(), patch))
    assert problem.path == path
    assert message in str(problem)


def test_a_null_is_as_good_as_nothing() -> None:
    """The API server drops it, and templates write `timeZone:` with nothing behind."""
    obj = good_kronjob()
    obj["spec"] |= {
        "schedule": "0 0 * * * @tz(UTC) @win(after,2h)",
        "timeZone": None,
        "window": None,
        "seed": {"strategy": None, "salt": None},
        "policy": {"suspend": None},
        "constraints": {"only": None},
        "failedJobsHistoryLimit": None,
    }
    assert find_problems(obj) == []
    kronjob = read_kronjob(obj)
    assert kronjob.schedule_text == "0 0 * * * @tz(UTC) @win(after,2h)"
    assert kronjob.failed_limit == 1


def test_a_namespace_may_be_left_to_kubectl() -> None:
    obj = merged(good_kronjob(), {"metadata": {"namespace": None}})
    assert find_problems(obj) == []
    with pytest.raises(InvalidSpec, match=r"metadata\.namespace: it is missing"):
        read_kronjob(obj)


def test_yaml_that_is_no_json_is_refused() -> None:
    obj = good_kronjob()
    obj["spec"]["jobTemplate"]["spec"]["anything"] = {1, 2}
    obj["spec"][True] = "on"
    messages = [str(problem) for problem in find_problems(obj)]
    assert len(messages) == 2
    assert 'spec: a field is called "True", which is not text' in messages[0]
    assert "spec.jobTemplate: it holds what JSON does not have" in messages[1]


@examples(80)
@given(schedule_texts())
def test_the_schedule_rules_accept_every_schedule_of_the_engine(text: str) -> None:
    assert [rule.message for rule in SCHEDULE_RULES if not rule.holds(text)] == []


@examples(200)
@given(expressions())
def test_the_schedule_rules_accept_every_fuzzy_schedule(meant: Meant) -> None:
    assert [rule.message for rule in SCHEDULE_RULES if not rule.holds(meant.text)] == []


@examples(300)
@given(expressions(), st.data())
def test_the_schedule_rules_accept_every_mistyped_fuzzy_schedule_that_the_engine_reads(
    meant: Meant, data: st.DataObject
) -> None:
    text = list(meant.text)
    place = data.draw(st.integers(0, len(text)))
    text[place : place + data.draw(st.integers(0, 2))] = data.draw(
        st.text("0129: amp+-ut", max_size=2)
    )
    said = "".join(text)
    try:
        read_schedule(said, "ns/name")
    except KronError:
        return
    assert [rule.message for rule in SCHEDULE_RULES if not rule.holds(said)] == []


@examples(200)
@given(st.integers(min_value=0, max_value=2**63 - 1), st.sampled_from([0, 7]))
def test_the_duration_rules_accept_every_duration(duration_ns: int, zeros: int) -> None:
    text = "0" * zeros + format_duration(duration_ns)
    assert is_match(DURATION, text)
    assert [rule for rule in DEADLINE_RULES if not rule.holds(text)] == []
    rules = RULES["spec.window.duration"]
    is_year = duration_ns <= DEFAULT_LIMITS.window_days * DAY_S * SECOND_NS
    assert all(rule.holds(text) for rule in rules) is is_year
    assert is_match(BELOW_CENTURIES, text) or not is_year
    assert is_match(NO_TERM_OF_A_YEAR, text) or not is_year


@pytest.mark.parametrize(
    ("pattern", "longest_ns"),
    [
        pytest.param(NO_TERM_OF_A_YEAR, DEFAULT_LIMITS.window_days * DAY_S * SECOND_NS, id="year"),
        pytest.param(NO_TERM_OF_CENTURIES, LARGEST_NS, id="centuries"),
    ],
)
@pytest.mark.parametrize(("unit", "seconds"), [("h", 3600), ("m", 60), ("s", 1)])
def test_a_term_of_a_duration_is_bounded_to_the_unit(
    pattern: str, longest_ns: int, unit: str, seconds: int
) -> None:
    most = longest_ns // (seconds * SECOND_NS)
    for number in (0, 9, 10, most // 10, most // 2, most - 1, most):
        assert is_match(pattern, f"00{number}{unit}"), number
    for number in (most + 1, most + 10, most * 2, most * 10):
        assert not is_match(pattern, f"{number}{unit}"), number


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_takes_long(text: str) -> None:
    began = time.perf_counter()
    for rule in SCHEDULE_RULES:
        rule.holds(text[:4096])
    assert time.perf_counter() - began < 1


def test_the_zone_rule_accepts_every_zone() -> None:
    assert [zone for zone in zoneinfo.available_timezones() if not is_match(ZONE, zone)] == []


def test_the_words_of_the_schema_are_those_of_the_engine() -> None:
    assert field("window.mode").choices == tuple(Mode)
    assert set(field("distribution.params.dir").choices) == set(Direction)
    assert set(field("distribution.params.mu").choices) == set(Anchor)
    assert field("seed.strategy").choices == tuple(Strategy)
    assert field("policy.concurrency").choices == tuple(Concurrency)
    status = root_schema()["properties"]["status"]["properties"]
    assert status["lastOutcome"]["enum"] == list(Outcome)
    assert field("constraints.only").longest == DEFAULT_LIMITS.clauses
    for form in (each.example for each in FORMS.values()):
        assert is_match(MODIFIERS_WELL_FORMED, form)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(below for key, inner in items for below in paths(inner, (*path, key)))]


FULL = merged(good_kronjob(), {"spec": GOOD_SPECS["all-fields"]})


@examples(250)
@given(st.sampled_from(paths(FULL)), json_values)
def test_any_json_in_any_place_is_read_or_refused(path: tuple[Any, ...], value: Any) -> None:
    obj: Any = json.loads(json.dumps(FULL))
    if not path:
        obj = value
    else:
        place = obj
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    problems = find_problems(obj)
    assert all(len(str(problem)) < 2_000 for problem in problems)
    try:
        read_kronjob(obj)
    except InvalidSpec:
        return
    # Where only kubectl looks, at a status for example, there is more freedom.
    assert not [problem for problem in problems if problem.path.startswith("spec")]


@pytest.mark.parametrize(
    "schedule",
    [
        pytest.param("@" * 4_000, id="at"),
        pytest.param('"' * 4_000, id="quotes"),
        pytest.param("@win(" + "(" * 4_000, id="parentheses"),
        pytest.param("0" * 4_000, id="zeros"),
        pytest.param(",".join(["0" * 40] * 90) + "x 0 * * *", id="zeros-in-a-list"),
        pytest.param("0 " * 2_000, id="fields"),
        pytest.param("@tz(UTC) " * 400, id="modifiers"),
        pytest.param('0 0 * * * @seed(stable,salt="' + '\\"' * 2_000, id="escapes"),
        pytest.param("\ud800 0 * * *", id="surrogate"),
        pytest.param("x" * 10_000_000, id="ten-megabytes"),
    ],
)
def test_a_hostile_schedule_is_refused_in_bounded_time(schedule: str) -> None:
    obj = merged(good_kronjob(), {"spec": {"schedule": schedule, "timeZone": "UTC"}})
    with pytest.raises(InvalidSpec) as caught:
        read_kronjob(obj)
    assert len(str(caught.value)) < 20_000


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"seed": {"salt": "a" * 10**7}}, id="salt"),
        pytest.param({"timeZone": "a" * 10**7}, id="zone"),
        pytest.param({"constraints": {"only": ["hours=1"] * 10**5}}, id="clauses"),
        pytest.param({"distribution": {"name": "skewLate", "params": {"shape": 10**5000}}}, id="n"),
        pytest.param({"failedJobsHistoryLimit": 10**5000}, id="limit"),
        pytest.param({"failedJobsHistoryLimit": -(10**5000)}, id="negative-limit"),
        pytest.param({"x" * 10**6: 1}, id="field-name"),
    ],
)
def test_a_hostile_field_is_refused_in_a_few_words(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec) as caught:
        read_kronjob(merged(good_kronjob(), {"spec": spec}))
    assert len(str(caught.value)) < 2_000


def test_a_template_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    obj = good_kronjob()
    obj["spec"]["jobTemplate"]["spec"]["extra"] = deep
    with pytest.raises(InvalidSpec, match="it is nested too deeply"):
        read_kronjob(obj)
    while deep:
        deep = deep.pop()
