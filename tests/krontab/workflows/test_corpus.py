"""The corpus: workflow files in every style of YAML, each beside what it compiles to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from kron.krontab.workflows.compilation import compile_workflows
from tests.krontab.workflows.clone import SLUG, Clone

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
COMPILED = HERE / "compiled"
NAMES = sorted(path.name for path in CORPUS.iterdir())
UNCHANGED = ["plain.yml"]
LOADERS = ["CSafeLoader", "SafeLoader"]


@pytest.fixture
def copied(clone: Clone) -> Clone:
    shutil.copytree(CORPUS, clone.root / "corpus")
    return clone


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_there_is_an_answer_for_every_file() -> None:
    assert sorted(path.name for path in COMPILED.iterdir()) == NAMES


def test_every_file_compiles_to_what_it_says_byte_for_byte(copied: Clone) -> None:
    assert copied.compile("--write", "corpus").code == 0
    assert contents(copied.root / "corpus") == contents(COMPILED)


def test_compiling_again_changes_nothing(copied: Clone) -> None:
    copied.compile("--write", "corpus")
    before = {path: path.stat().st_mtime_ns for path in (copied.root / "corpus").iterdir()}
    ran = copied.compile("--write", "corpus")
    assert ran.lines[-1] == "48 schedules in 21 files: up to date"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert copied.compile("--check", "corpus").code == 0


def test_nothing_is_written_unless_asked(copied: Clone) -> None:
    for words in ([], ["--check"], ["--format", "json"]):
        copied.compile(*words, "corpus")
        assert contents(copied.root / "corpus") == contents(CORPUS)


def test_check_names_every_file_that_is_out_of_date(copied: Clone) -> None:
    ran = copied.compile("--check", "corpus")
    assert ran.code == 1
    told = {line.split(":")[0] for line in ran.err.splitlines() if "[schedule-outdated]" in line}
    assert told == {f"corpus/{name}" for name in NAMES if name not in UNCHANGED}


@pytest.mark.parametrize("loader", LOADERS)
def test_the_two_parsers_of_pyyaml_give_the_same(
    loader: str, copied: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loader == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader")
    paths = [str(copied.root / "corpus")]
    compiled = compile_workflows(paths, SLUG)
    written = {Path(each.path).name: each.replacement().after for each in compiled.workflows}
    assert written == contents(COMPILED)


def test_the_diff_is_one_that_git_can_apply(copied: Clone) -> None:
    diff = copied.compile("corpus").out.split("SCHEDULE ")[0]
    copied.git("apply", "-p0", "-", given=diff)
    assert contents(copied.root / "corpus") == contents(COMPILED)


@pytest.mark.parametrize("name", NAMES)
def test_the_rest_of_a_file_means_what_it_meant(name: str) -> None:
    before, after = (_meaning(directory / name) for directory in (CORPUS, COMPILED))
    assert {key for key in before if before[key] != after[key]} <= {True, "on", "env", "x-times"}
    triggers = before.get(True) or before["on"]
    new_triggers = after.get(True) or after["on"]
    assert {**triggers, "schedule": 0} == {**new_triggers, "schedule": 0}
    for entry in new_triggers["schedule"]:
        assert len(entry["cron"].split()) == 5


def _meaning(path: Path) -> Any:
    text = path.read_text(encoding="utf-8-sig")
    return yaml.safe_load(text.split("---\n")[1] if path.suffix == ".md" else text)
