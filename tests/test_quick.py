"""`make quick` leaves out the heavy tests, and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import HEAVY, TESTS, WITHOUT_HEAVY


def collected(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_every_heavy_module_exists() -> None:
    assert [path for path in HEAVY if not path.exists()] == []


@pytest.mark.heavy
def test_properties_and_what_is_listed_or_marked_is_heavy_and_nothing_else() -> None:
    listed = str(min(path for path in HEAVY if path.suffix).relative_to(TESTS.parent))
    paths = ("tests/core/test_words.py", listed, "tests/test_quick.py")
    every, quick = collected(*paths), collected("-m", WITHOUT_HEAVY, *paths)
    assert every - quick == {
        "tests/core/test_words.py::test_two_meanings_never_read_the_same",
        *(name for name in every if name.startswith(listed)),
        "tests/test_quick.py::"
        "test_properties_and_what_is_listed_or_marked_is_heavy_and_nothing_else",
    }
    assert quick
