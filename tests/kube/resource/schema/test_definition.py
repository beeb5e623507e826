"""The definition that the API server gets: complete, described, bounded and up to date."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kron.core.limits import DEFAULT_LIMITS
from kron.engine.ledger import MAX_HANDLED
from kron.engine.packing import most_characters
from kron.kube.client.resources import KRONJOBS, Resource
from kron.kube.resource.kronjob import (
    API_VERSION,
    DEFAULT_FAILED_LIMIT,
    DEFAULT_SUCCESSFUL_LIMIT,
    KIND,
    read_kronjob,
)
from kron.kube.resource.schema.definition import (
    LONGEST_NAME,
    SPEC,
    definition,
    read_field,
    root_schema,
)
from kron.kube.resource.schema.validate import NAME_RULE
from kron.kube.resource.status import MOST_ACTIVE
from tools import crd

Schema = dict[str, Any]


def version() -> dict[str, Any]:
    (only,) = definition()["spec"]["versions"]
    found: dict[str, Any] = only
    return found


def schemas(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")


SCHEMAS = dict(schemas(root_schema()))


def test_every_field_is_described_so_that_explain_teaches() -> None:
    assert [path for path, schema in SCHEMAS.items() if len(schema["description"]) < 12] == []


def test_every_text_and_list_that_a_rule_looks_at_is_bounded() -> None:
    """The API server multiplies what a rule could cost by how much it could be given."""
    unbounded = [
        path
        for path, schema in SCHEMAS.items()
        if "jobTemplate" not in path
        and (
            (schema["type"] == "array" and "maxItems" not in schema)
            or (schema["type"] == "string" and not {"maxLength", "enum", "format"} & schema.keys())
        )
    ]
    assert unbounded == []


def test_every_time_in_a_status_has_the_format_of_one_and_a_period_is_an_identifier() -> None:
    named = {path.rpartition(".")[2] for path in SCHEMAS if path.startswith(".status.")}
    assert [
        name for name in named if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)*(ID)?(\[\])?", name)
    ] == []
    times = {
        path.removeprefix(".status.")
        for path, schema in SCHEMAS.items()
        if schema.get("format") == "date-time"
    }
    assert times == {
        *("lastNominalTime", "lastChosenTime", "nextNominalTime", "nextChosenTime"),
        *("lastSuccessfulTime", "lastFailureTime"),
        *("recentRuns[].startTime", "recentRuns[].completionTime"),
        *("ledger.since", "ledger.starting[].chosen", "ledger.last.chosen"),
        "conditions[].lastTransitionTime",
    }
    assert [path for path in SCHEMAS if path.endswith("Time") and path[8:] not in times] == []


def test_a_condition_is_one_that_every_client_knows() -> None:
    conditions = SCHEMAS[".status.conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    required = ["type", "status", "reason", "message", "lastTransitionTime"]
    assert conditions["items"]["required"] == required


def test_every_rule_has_a_message_of_one_line() -> None:
    rules = [rule for s in SCHEMAS.values() for rule in s.get("x-kubernetes-validations", ())]
    assert len(rules) > 20
    for rule in rules:
        assert 10 < len(rule["message"]) < 250
        assert "\n" not in rule["message"]


def test_what_a_modifier_can_say_has_no_default() -> None:
    """With one, the API server would say it a second time (only a seed is one thing whole)."""
    with_default = [path for path, schema in SCHEMAS.items() if "default" in schema]
    assert with_default == [
        ".spec.seed.strategy",
        ".spec.successfulJobsHistoryLimit",
        ".spec.failedJobsHistoryLimit",
    ]


def test_the_limits_are_those_of_the_code() -> None:
    assert SCHEMAS[".status.active"]["maxItems"] == MOST_ACTIVE
    for name in ("handled", "starting"):
        assert SCHEMAS[f".status.ledger.{name}"]["maxItems"] == MAX_HANDLED
    assert SCHEMAS[".status.ledger.handledPacked.gaps"]["maxLength"] >= most_characters(MAX_HANDLED)
    assert SCHEMAS[""]["x-kubernetes-validations"] == [
        {"rule": f"self.metadata.name.size() <= {LONGEST_NAME}", "message": NAME_RULE}
    ]
    for name, limit in (
        ("successful", DEFAULT_SUCCESSFUL_LIMIT),
        ("failed", DEFAULT_FAILED_LIMIT),
    ):
        assert SCHEMAS[f".spec.{name}JobsHistoryLimit"]["default"] == limit
    days = DEFAULT_LIMITS.window_days
    longest = f"At most {days * 24}h, which is {days} days."
    assert longest in SCHEMAS[".spec.window.duration"]["description"]


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        pytest.param({"type": "string", "pattern": "^a$"}, "pattern", id="pattern"),
        pytest.param(
            {"type": "number", "maximum": 3, "exclusiveMaximum": True},
            "exclusiveMaximum",
            id="exclusiveMaximum",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "string", "format": "date"}},
            "format",
            id="below",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
            "additionalProperties",
            id="of the values of a map",
        ),
    ],
)
def test_a_keyword_that_the_offline_check_would_ignore_is_refused(
    schema: Schema, keyword: str
) -> None:
    with pytest.raises(ValueError, match=rf"spec\.x.*{keyword}"):
        read_field(schema, "spec.x")


@pytest.mark.parametrize(
    ("schema", "least", "above"),
    [
        pytest.param({"minimum": 0}, 0, None, id="left out"),
        pytest.param({"minimum": 0, "exclusiveMinimum": False}, 0, None, id="false"),
        pytest.param({"minimum": 0, "exclusiveMinimum": True}, None, 0, id="true"),
    ],
)
def test_a_minimum_is_exclusive_if_the_schema_says_so(
    schema: Schema, least: int | None, above: int | None
) -> None:
    field = read_field({"type": "integer"} | schema, "spec.x")
    assert (field.least, field.above) == (least, above)


def test_it_is_the_kind_that_is_read() -> None:
    spec = definition()["spec"]
    assert f"{spec['group']}/{version()['name']}" == API_VERSION
    assert spec["names"]["kind"] == KIND
    assert Resource(spec["group"], version()["name"], spec["names"]["plural"]) == KRONJOBS
    assert (spec["names"]["shortNames"], spec["names"]["categories"]) == (["kj"], ["all"])
    assert version()["subresources"] == {"status": {}}


def test_every_column_shows_a_field_that_is_there() -> None:
    for column in version()["additionalPrinterColumns"]:
        path = column["jsonPath"].split("[?")[0].replace("[0]", "[]")
        assert path in SCHEMAS or path == ".metadata.creationTimestamp"


MADE = crd.files()


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in MADE])
def test_what_is_made_from_the_fields_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == MADE[path], "run python -m tools.crd"


def test_the_file_is_the_definition() -> None:
    assert yaml.safe_load(crd.CRD.read_text(encoding="utf-8")) == definition()


def test_the_page_has_every_condition_as_the_definition_describes_it() -> None:
    rows = crd.PAGE.read_text(encoding="utf-8").partition("| condition | when it is True |")[2]
    table = rows.partition("\n\n")[0].splitlines()[2:]
    meanings = [row.strip("| ").replace("`", "").replace(" | ", ": ") for row in table]
    described = SCHEMAS[".status.conditions"]["description"]
    assert described == f"The conditions. {'; '.join(meanings)}."


def test_the_page_has_every_field_and_its_examples_are_right() -> None:
    page = crd.PAGE.read_text(encoding="utf-8")
    for member in SPEC.members:
        assert (f"| `spec.{member.name}` |" in page) is not member.is_refused
    blocks = [block.partition("```")[0] for block in page.split("```yaml\n")[1:]]
    whole, short = map(yaml.safe_load, blocks)
    assert read_kronjob(whole).identity == "prod/db-backup"
    whole["spec"] = {"jobTemplate": whole["spec"]["jobTemplate"], **short["spec"]}
    assert read_kronjob(whole).schedule.window.width_s == 3 * 3600


def test_kubectl_can_apply_it_by_the_client() -> None:
    """Which keeps the whole of it in an annotation, and those have 256 KiB together."""
    assert len(json.dumps(definition(), separators=(",", ":"))) < 128 * 1024
