"""What is generated from the commands is up to date: `make reference` would change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import console, reference

FILES = reference.files()


@pytest.mark.parametrize("path", sorted(FILES), ids=lambda path: path.name)
def test_a_generated_file_is_what_the_commands_say(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run: make reference"


def test_nothing_else_is_where_they_are() -> None:
    made = {path for path in FILES if "share" in path.parts}
    assert set(reference.present()) == made


@pytest.mark.heavy
@pytest.mark.parametrize("page", sorted(console.PAGES), ids=lambda page: page.name)
def test_every_command_of_a_page_prints_what_the_page_shows(page: Path) -> None:
    rerun = console.rerun(page, console.PAGES[page])
    assert rerun.count("\n$ ") >= 10
    assert rerun == page.read_text(encoding="utf-8"), "run: make reference"
