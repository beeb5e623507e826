"""The offline check of job templates. tests/cluster/test_job_schema.py has the same templates."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.kube.kronctl.commands.validate import DESCRIPTION
from kron.kube.resource.kronjob import find_all_problems, find_problems
from kron.kube.resource.schema.definition import SPEC, FieldType, SchemaField
from kron.kube.resource.schema.job_template import check_template, job_spec, kubernetes_version
from tests.kube.resource.bad_specs import BAD_SPECS, TEMPLATE, bad_kronjob, good_kronjob, merged
from tests.kube.resource.bad_templates import (
    BAD_TEMPLATES,
    GOOD_TEMPLATES,
    BadTemplate,
    bad_template,
)
from tests.soak import examples


def kronjob(template: object) -> dict[str, Any]:
    made = good_kronjob()
    made["spec"]["jobTemplate"] = template
    return made


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_TEMPLATES])
def test_a_bad_template_is_refused_at_its_field(bad: BadTemplate) -> None:
    made = kronjob(bad_template(bad))
    (problem,) = find_all_problems(made)
    assert problem.path == bad.path
    assert bad.offline in str(problem)
    assert find_problems(made) in ([], [problem]), "the definition has some of the types"


@pytest.mark.parametrize("name", GOOD_TEMPLATES)
def test_a_good_template_passes(name: str) -> None:
    assert find_all_problems(kronjob(merged(TEMPLATE, GOOD_TEMPLATES[name]))) == []


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_SPECS])
def test_what_the_definition_says_is_not_said_twice(bad: Any) -> None:
    made = bad_kronjob(bad)
    assert find_all_problems(made) == find_problems(made)


def test_the_definition_is_nowhere_stricter_than_a_job() -> None:
    """Every field that it declares is one of a Job, of the same type, or of any form."""

    def walk(path: str, declared: SchemaField, of_job: SchemaField) -> None:
        assert declared.type is of_job.type or (declared.is_open and not declared.members), path
        assert declared.is_open or declared.type is not FieldType.OBJECT, path
        names = {each.name: each for each in of_job.members}
        for each in declared.members:
            walk(f"{path}.{each.name}", each, names[each.name])
        if declared.items is not None:
            assert of_job.items is not None, path
            walk(f"{path}[]", declared.items, of_job.items)

    (template,) = (each for each in SPEC.members if each.name == "jobTemplate")
    (declared,) = (each for each in template.members if each.name == "spec")
    walk("spec", declared, job_spec())


def test_every_type_is_read_and_every_name_is_unique() -> None:
    kinds: set[FieldType] = set()

    def walk(field: SchemaField) -> None:
        kinds.add(field.type)
        assert len({each.name for each in field.members}) == len(field.members)
        for each in (*field.members, *filter(None, (field.items,))):
            walk(each)

    walk(job_spec())
    assert kinds == set(FieldType) - {FieldType.NUMBER}


def test_the_help_names_the_version_whose_fields_are_known() -> None:
    assert f"Kubernetes {kubernetes_version()}" in " ".join(DESCRIPTION.split())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=8,
)
PLACES = (
    ("spec",),
    ("metadata",),
    ("spec", "template"),
    ("spec", "template", "metadata"),
    ("spec", "template", "metadata", "labels"),
    ("spec", "template", "spec", "containers"),
    ("spec", "template", "spec", "volumes"),
    ("spec", "template", "spec", "initContainers"),
)


@examples(300)
@given(JSON, st.sampled_from(PLACES))
def test_whatever_is_written_is_answered(value: object, place: tuple[str, ...]) -> None:
    template = copy.deepcopy(TEMPLATE)
    below = template
    for name in place[:-1]:
        below = below.setdefault(name, {})
    below[place[-1]] = value
    for problem in check_template({"jobTemplate": template}):
        assert problem.path.startswith("spec.jobTemplate")
        assert len(str(problem)) < 2_000
