"""The published schemas of docs/schemas, and the one check that every JSON answer goes through."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

DIRECTORY = Path(__file__).parents[2] / "docs" / "schemas"


def names() -> list[str]:
    """The schemas that there are, by the names that documents carry: `krontab.next/1`."""
    return sorted("/".join(path.stem.rsplit(".", 1)) for path in DIRECTORY.glob("*.json"))


@cache
def schema(name: str) -> Any:
    """The schema of the documents whose `schema` says this name."""
    path = DIRECTORY / f"{name.replace('/', '.')}.json"
    return json.loads(path.read_text())


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name), format_checker=FormatChecker())


def validate(document: Any) -> None:
    """Hold a document to the schema that it names itself. SARIF has no schema of ours."""
    if "$schema" in document:
        return
    _validator(document["schema"]).validate(document)
