"""A program that is made up: it shares with krontab what kron.console gives, and no more."""

from __future__ import annotations

from kron.console.program import Program
from kron.core.errors import Code, KronError


def _exit_code(error: KronError) -> int:
    return 3 if error.code is Code.RUNNING else 1


KETTLE = Program(
    name="kettle",
    summary="boil water",
    introduction="A kettle boils water,\nsooner or later.",
    package="tests.console.kettle.commands",
    commands={"boil": "boil water", "import": "import tea"},
    groups={},
    examples=(("kettle boil", "is it hot?"),),
    exit_codes={0: "hot", 1: "cold", 3: "it boils already", 64: "the command line is wrong"},
    wrong_usage=64,
    system_refused=5,
    exit_code=_exit_code,
)
