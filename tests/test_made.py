"""Generated pages and scripts name their program, and nothing that it does not have."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kron.console.program import Program
from tests.console.kettle.program import KETTLE
from tools.commands import commands, origin
from tools.completion import SHELLS, script
from tools.manual import page, page_name

WITH_JOBS = KETTLE.replace(job_names="kettle list --format names")


def test_the_commands_are_read_from_their_parsers() -> None:
    boil, imported = commands(KETTLE)
    assert (boil.name, boil.summary, boil.description) == ("boil", "boil water", "Boil water.")
    assert boil.usage.startswith("kettle boil ")
    assert [argument.value for argument in boil.arguments] == ["JOB"]
    flags = [flag for option in boil.options for flag in option.flags]
    assert flags[:4] == ["--cups", "--raise", "--allow-insecure-config", "--node-id"]
    assert [flag for option in imported.options for flag in option.flags] == flags[4:]


@pytest.mark.parametrize("program", [KETTLE, WITH_JOBS], ids=["without-jobs", "with-jobs"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_the_programs_own_and_one_that_the_shell_can_read(
    program: Program, shell: str
) -> None:
    text = script(program, shell)
    assert "krontab" not in text
    assert ("kettle list --format names 2>/dev/null" in text) == bool(program.job_names)
    assert ("_kettle_asked" in text) == bool(program.job_names and shell != "fish")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    read = subprocess.run(
        [shell, "-n", "/dev/stdin"], input=text, text=True, capture_output=True, check=False
    )
    assert (read.returncode, read.stdout, read.stderr) == (0, "", "")


def test_a_page_has_the_programs_name_codes_and_neighbours() -> None:
    assert page_name(KETTLE, "") == "kettle"
    assert page_name(KETTLE, "boil") == "kettle-boil"
    main = page(KETTLE, "")
    assert '.TH "KETTLE" 1 ' in main
    assert "kettle \\- boil water" in main
    assert "A kettle boils water, sooner or later." in main
    assert "\\fBkettle\\-boil\\fR(1), \\fBkettle\\-import\\fR(1)" in main
    for text in (main, page(KETTLE, "boil")):
        assert "\\fB64\\fR\nthe command line is wrong" in text
        assert "krontab" not in text


def test_a_generated_file_names_the_command_that_prints_or_generates_it() -> None:
    assert origin(KETTLE, "man", "boil") == "make reference"
    able = KETTLE.replace(commands={**KETTLE.commands, "man": "print a manual page"})
    assert origin(able, "man", "boil") == "kettle man boil"
    assert origin(able, "man", "") == "kettle man"
    assert page(KETTLE, "boil").startswith('.\\" made by: make reference\n')
