"""A program of its own: other commands, other exit codes, the same manners as krontab."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kron.console.program import INTERRUPTED, module_name, overview
from kron.core.errors import Code, KronError
from tests.console.kettle.program import KETTLE

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "from tests.console.kettle.program import KETTLE; KETTLE.main()"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def plain_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["boil"], 0, id="done"),
        pytest.param(["boil", "--raise", "state"], 1, id="by-the-program"),
        pytest.param(["boil", "--raise", "running"], 3, id="by-the-program-again"),
        pytest.param(["boil", "--raise", "configuration"], 1, id="configuration"),
        pytest.param(["boil", "--raise", "usage"], 64, id="contradiction"),
        pytest.param(["boil", "--raise", "system"], 5, id="system"),
        pytest.param(["boil", "--raise", "interrupt"], INTERRUPTED, id="interrupt"),
        pytest.param(["boil", "--cups", "5"], 64, id="value"),
        pytest.param(["boil", "--cup", "2"], 64, id="option"),
        pytest.param(["bool"], 64, id="command"),
        pytest.param(["--bool"], 64, id="option-before-a-command"),
        pytest.param(["help", "bool"], 64, id="help-on-no-command"),
        pytest.param([], 64, id="nothing"),
        pytest.param(["--help"], 0, id="help"),
        pytest.param(["boil", "--help"], 0, id="help-on-a-command"),
        pytest.param(["--version"], 0, id="version"),
    ],
)
def test_the_exit_codes_are_the_programs_own(words: list[str], code: int, capfd: Captured) -> None:
    assert KETTLE.main(words) == code
    shown = capfd.readouterr()
    assert "krontab" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--raise", "state"], "kettle: the kettle is empty (fill it)\n", id="error"),
        pytest.param(["--raise", "system"], "kettle: /dev/socket: no power\n", id="system"),
        pytest.param(["--raise", "interrupt"], "", id="interrupt"),
        pytest.param(
            ["--cup"],
            'kettle boil: unrecognized arguments: "--cup" (did you mean "--cups"?)\n'
            "Try: kettle boil --help\n",
            id="option",
        ),
        pytest.param(
            ["--raise", "usage"],
            "kettle boil: hot and cold are two answers to one question\nTry: kettle boil --help\n",
            id="contradiction",
        ),
    ],
)
def test_the_program_speaks_in_its_own_name(words: list[str], told: str, capfd: Captured) -> None:
    KETTLE.main(["boil", *words])
    assert capfd.readouterr() == ("", told)


def test_every_finding_of_a_configuration_is_told(capfd: Captured) -> None:
    KETTLE.main(["boil", "--raise", "configuration"])
    assert capfd.readouterr().err == (
        '/etc/kettle:1:3: error: hour: "25" is not between 0 and 23 [cron-field]\n'
        "  0 25 * * * name=x command=y\n"
        "    ^^\n"
        "... and 3 more errors\n"
    )


def test_a_near_miss_is_answered_with_the_programs_own_commands(capfd: Captured) -> None:
    KETTLE.main(["boyl"])
    assert capfd.readouterr().err == (
        'kettle: unknown command "boyl" (did you mean "boil"?)\n'
        "The commands are boil, import. Try: kettle --help\n"
    )


def test_a_command_that_python_has_a_word_for_has_a_module_all_the_same(capfd: Captured) -> None:
    assert module_name("import") == "import_"
    assert module_name("fuzzy parse") == "fuzzy_parse"
    assert KETTLE.main(["import"]) == 0
    assert capfd.readouterr().out == "tea\n"


def test_colour_is_as_the_option_says(capfd: Captured) -> None:
    KETTLE.main(["boil", "--color", "always"])
    assert capfd.readouterr().out == "\x1b[31mhot\x1b[0m\n"


def test_the_options_that_programs_share_are_read(capfd: Captured) -> None:
    KETTLE.main(["boil", "--allow-insecure-config", "--node-id", "web1"])
    assert capfd.readouterr().out == "hot web1\n"


OVERVIEW = """\
usage: kettle <command> [options]

A kettle boils water,
sooner or later.

commands:
  boil    boil water
  import  import tea

options:
  -h, --help     show this help; kettle <command> --help says more
  -V, --version  show the version

examples:
  kettle boil                         is it hot?

exit codes:
  0   hot
  1   cold
  3   it boils already
  64  the command line is wrong"""


def test_the_overview_is_made_from_what_the_program_says() -> None:
    assert "\n".join(overview(KETTLE)) == OVERVIEW
    noted = "\n".join(overview(KETTLE.replace(note="Mind the steam.")))
    assert noted == OVERVIEW.replace("version\n\n", "version\n\nMind the steam.\n\n")


def test_a_long_example_moves_what_all_of_them_mean() -> None:
    longer = "kettle boil " + "--cups 4 " * 4 + "."
    shown = "\n".join(overview(KETTLE.replace(examples=(*KETTLE.examples, (longer, "for all")))))
    assert f"\n  {longer}  for all\n" in shown
    assert f"\n  {'kettle boil':{len(longer)}}  is it hot?\n" in shown


def test_an_error_goes_to_the_programs_own_function_only_if_it_is_no_usage_error() -> None:
    asked: list[Code] = []

    def exit_code(error: KronError) -> int:
        asked.append(error.code)
        return 9

    program = KETTLE.replace(exit_code=exit_code)
    assert program.main(["boil", "--raise", "running"]) == 9
    assert program.main(["boil", "--raise", "usage"]) == 64
    assert asked == [Code.RUNNING]


def test_a_reader_that_goes_away_ends_the_program_by_the_signal() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--help"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
    )
    os.close(theirs)
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, b"")
