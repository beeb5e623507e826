"""Light: a question is answered before a person notices that krontab is written in Python.

Times are measured in bench/; here it is what is loaded that is held in place.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from kron.console.program import module_name
from kron.krontab.program import COMMANDS
from tests.krontab.command import AT, Krontab
from tests.krontab.files import GOOD, WRONG

HEAVY = [
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "decimal",
    "difflib",
    "email",
    "importlib.metadata",
    "inspect",
    "json",
    "kron.fleet",
    "kron.fuzzy",
    "kron.lint",
    "kron.jobs.crontab",
    "kron.logs",
    "logging",
    "multiprocessing",
    "numpy",
    "random",
    "secrets",
    "shutil",
    "signal",
    "socket",
    "statistics",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "unicodedata",
    "urllib",
    "yaml",
]
PROGRAM = """\
import sys, zoneinfo  # which loads `threading` above Python 3.11, and nothing heavy on 3.11
before = set(sys.modules)
sys.path[:0] = {path!r}
from kron.krontab.program import main
assert main(sys.argv[1:]) == {code}
print("loaded:", *sorted({heavy!r} & (set(sys.modules) - before)), file=sys.stderr)
"""


def loaded(krontab: Krontab, *words: str, code: int = 0, heavy: Iterable[str] = HEAVY) -> list[str]:
    """Which heavy modules a command line loads. -S: an editable installation has hooks."""
    path = [each for each in sys.path if each]
    program = PROGRAM.format(path=path, code=code, heavy=set(heavy))
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program, *words],
        capture_output=True,
        text=True,
        cwd=krontab.directory,
        env=krontab.environment,
        check=True,
    )
    return ran.stderr.rpartition("loaded:")[2].split()


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("good.kron", GOOD)
    krontab.write("wrong.kron", WRONG.splitlines()[0])
    return krontab


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        pytest.param(("next", "backup"), [], id="next"),
        pytest.param(("next", "report", "--count", "100"), [], id="next-with-a-zone"),
        pytest.param(("explain", "backup"), [], id="explain"),
        pytest.param(("list",), [], id="list"),
        pytest.param(("next", "backup", "--format", "json"), ["json"], id="json-where-it-is-asked"),
    ],
)
def test_nothing_heavy_is_loaded_to_answer(
    krontab: Krontab, words: tuple[str, ...], needed: list[str]
) -> None:
    assert loaded(krontab, *words, "--file", "good.kron", "--at", AT) == needed


def test_nothing_heavy_is_loaded_to_refuse(krontab: Krontab) -> None:
    assert loaded(krontab, "next", "x", "--file", "wrong.kron", code=1) == []


@pytest.mark.parametrize("words", [("--help",), ("next", "--help"), ()], ids=" ".join)
def test_nothing_heavy_is_loaded_to_help(krontab: Krontab, words: tuple[str, ...]) -> None:
    assert loaded(krontab, *words, code=0 if words else 2) == []


def test_a_fuzzy_schedule_loads_what_it_needs_only_where_there_is_one(krontab: Krontab) -> None:
    """The check above can fail."""
    krontab.write("fuzzy.kron", "daily name=tea command=/bin/true\n")
    assert "kron.fuzzy" in loaded(krontab, "next", "tea", "--file", "fuzzy.kron")


def test_a_command_loads_no_other(krontab: Krontab) -> None:
    modules = {f"kron.krontab.commands.{module_name(name)}" for name in COMMANDS}
    words = ("next", "backup", "--file", "good.kron")
    assert loaded(krontab, *words, heavy=modules) == ["kron.krontab.commands.next"]
