"""krontab man: pages that groff reads without a warning, and that say what --help says."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from kron.jobs.fields import FIELDS
from kron.krontab.program import COMMANDS, EXIT_CODES, KRONTAB
from tests.krontab.command import Krontab
from tools.commands import commands

PAGES = ("", *COMMANDS)
_OVERSTRUCK = re.compile(r".\x08|\x1b\[[0-9;]*m")


def formatted(page: str) -> str:
    """The page as man(1) shows it."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    command = ("groff", "-man", "-Tutf8", "-ww", "-rLL=100n")
    ran = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return _OVERSTRUCK.sub("", ran.stdout)


def words(text: str) -> str:
    """The text without its line breaks and hyphenation."""
    return " ".join(re.sub(r"[‐\u2010]\n\s*", "", text).split())


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "krontab")
def test_groff_reads_every_page_without_a_warning(krontab: Krontab, name: str) -> None:
    page = krontab("man", *name.split()).fine().out
    title = "-".join(["KRONTAB", *name.upper().split()])
    shown = formatted(page)
    assert shown.lstrip("\n").startswith(f"{title}(1)")
    assert page.isascii()


@pytest.mark.heavy
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_says_what_help_says(krontab: Krontab, name: str) -> None:
    (command,) = (command for command in commands(KRONTAB) if command.name == name)
    shown = words(formatted(krontab("man", *name.split()).fine().out))
    help_text = words(krontab(*name.split(), "--help").fine().out)
    assert command.options
    for option in [*command.options, *command.arguments]:
        for flag in option.flags:
            assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", shown)
            assert flag in help_text
        assert words(option.help) in shown
        assert words(option.help) in help_text
    assert command.summary in shown
    for paragraph in command.description.split("\n\n"):
        assert words(paragraph) in shown
    for example, meaning in command.examples:
        assert words(example.replace("\\\n", " ")) in shown
        assert words(meaning) in shown
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_text))
    assert flags == set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown))


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "krontab")
def test_every_page_has_the_exit_codes(krontab: Krontab, name: str) -> None:
    shown = words(formatted(krontab("man", *name.split()).fine().out))
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in shown


def test_the_main_page_leads_to_all_others(krontab: Krontab) -> None:
    shown = words(formatted(krontab("man").fine().out))
    for name, summary in COMMANDS.items():
        assert f"{name} {summary}" in shown
        assert f"{'-'.join(['krontab', *name.split()])}(1)" in shown


def test_a_page_that_there_is_none_of_is_refused(krontab: Krontab) -> None:
    for unknown in ("nxt", "fuzzy", "next list"):
        ran = krontab("man", *unknown.split())
        assert (ran.code, ran.out) == (1, "")
        assert unknown in ran.err


def test_the_page_of_the_file_has_every_field_and_no_trace_of_markdown(krontab: Krontab) -> None:
    page = krontab("man", "5").fine().out
    shown = words(formatted(page))
    assert shown.startswith("KRONTAB(5)")
    for field in FIELDS.values():
        assert words(f"{field.key}={field.example}") in shown
        assert words(field.meaning.replace("`", "")) in shown
    assert not re.search(r"\]\(|\*\*|`[a-z]", shown)
    assert page.isascii()
