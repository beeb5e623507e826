"""Exit codes as documented: 0 done, 1 invalid or not found, 2 a wrong command line or the system.

What was asked for goes to standard output; what is wrong goes to standard error, alone.
"""

from __future__ import annotations

import pytest

from kron.krontab.program import COMMANDS, EXIT_CODES, FAILED, INVALID, OK
from tests.krontab.command import AT, Krontab
from tests.krontab.files import CRONTAB, GOOD, SCHEDULE, WARNED, WRONG, WRONG_CRONTAB, log

FILES = {
    "good.kron": GOOD,
    "other.kron": GOOD.replace("0 2", "0 3"),
    "warned.kron": WARNED,
    "wrong.kron": WRONG,
    "crontab": CRONTAB,
    "wrong.crontab": WRONG_CRONTAB,
    "log": log(),
    "wrong.log": log(chosen="2026-03-01T02:32:21Z"),
}
GOOD_FILE = ("--file", "good.kron", "--at", AT)
A_JOB = ("--schedule", "0 0 * * *", "--name", "new", "--command", "/bin/true")
UNWRITABLE = "/proc/krontab.kron"  # where nobody can make a file, root included

DONE = [
    ("lint", *GOOD_FILE),
    ("lint", "--file", "warned.kron", "--at", AT),
    ("explain", "backup", *GOOD_FILE),
    ("explain", "--schedule", SCHEDULE, "--identity", "x"),
    ("next", "backup", *GOOD_FILE),
    ("list", *GOOD_FILE),
    ("list", "--name", "no-such-job", *GOOD_FILE),
    ("add", "--file", "good.kron", *A_JOB),
    ("add", "--file", "new.kron", *A_JOB),
    ("remove", "backup", "--file", "good.kron"),
    ("import", "--user", "nobody", "crontab", "--tz", "UTC"),
    ("diff", "good.kron", "other.kron", "--at", AT),
    ("diff", "good.kron", "good.kron", "--at", AT, "--exit-code"),
    ("replay", "log"),
    ("fuzzy", "parse", "daily around 14:00"),
    ("fuzzy", "scatter", "daily", "--id", "x"),
    ("fuzzy", "conformance"),
    ("completion", "bash"),
    ("man",),
    ("man", "next"),
    ("man", "fuzzy", "parse"),
    ("--help",),
    ("-h",),
    ("help",),
    ("help", "next"),
    ("--version",),
    ("-V",),
    ("fuzzy", "--help"),
]
FOUND_WRONG = [
    ("lint", "--file", "wrong.kron"),
    ("lint", "--file", "missing.kron"),
    ("lint", "--file", "warned.kron", "--at", AT, "--strict"),
    ("diff", "good.kron", "other.kron", "--at", AT, "--exit-code"),
    ("replay", "wrong.log"),
    ("import", "--user", "nobody", "wrong.crontab"),
]
"""What is wrong is what was asked for: it is on standard output."""
REFUSED = [
    ("explain", "no-such-job", *GOOD_FILE),
    ("explain", "backup", "--file", "wrong.kron"),
    ("explain", "backup", "--file", "missing.kron"),
    ("explain", "--schedule", "0 25 * * *", "--identity", "x"),
    ("explain", "--schedule", SCHEDULE, "--identity", ""),
    ("next", "no-such-job", *GOOD_FILE),
    ("next", "backup", "--file", "wrong.kron"),
    ("next", "--schedule", "x", "--identity", "x"),
    ("list", "--file", "wrong.kron"),
    ("list", "--file", "missing.kron"),
    ("list", "--file", "good.kron", "--file", "wrong.kron"),
    ("add", "--file", "good.kron", *A_JOB[:3], "backup", *A_JOB[4:]),
    ("add", "--file", "good.kron", "--name", "new", "--command", "/bin/true"),
    ("add", "--file", "good.kron", *A_JOB[2:], "--schedule", "0 25 * * *"),
    ("add", "--file", "good.kron", *A_JOB[:2], *A_JOB[4:]),
    ("add", "--file", "wrong.kron", *A_JOB),
    ("add", "--file", "missing/new.kron", *A_JOB),
    ("remove", "no-such-job", "--file", "good.kron"),
    ("remove", "backup", "--file", "missing.kron"),
    ("import", "missing"),
    ("diff", "good.kron", "missing.kron"),
    ("diff", "good.kron", "wrong.kron"),
    ("diff", "good.kron", "."),
    ("replay", "missing.log"),
    ("fuzzy", "parse", "dayly"),
    ("fuzzy", "scatter", "dayly", "--id", "x"),
    ("man", "no-such-command"),
]
WRONG_COMMAND_LINES = [
    ("no-such-command",),
    ("--no-such-option",),
    ("fuzzy", "no-such-command"),
    ("fuzzy", "--no-such-option"),
    *((*name.split(), "--no-such-option") for name in COMMANDS),
    *((*name.split(), "--color", "pink") for name in COMMANDS),
    *((*name.split(), "--format", "xml") for name in COMMANDS),
    ("lint", "one-word-too-many"),
    ("lint", "--at", "noon", "--file", "good.kron"),
    ("explain", "backup", "--at", "2026-03-01T00:00:00", "--file", "good.kron"),
    ("next", "backup", "--file", "good.kron", "--at", "1000-01-01"),
    ("next", "backup", "--count", "0", "--file", "good.kron"),
    ("next", "backup", "--count"),
    ("list", "--sort", "size"),
    ("remove",),
    ("import",),
    ("import", "--system", "--user", "root", "crontab"),
    ("import", "--spread", "wide", "crontab"),
    ("diff", "good.kron"),
    ("diff", "good.kron", "other.kron", "--days", "367"),
    ("replay",),
    ("replay", "log", "--most", "-1"),
    ("fuzzy", "parse"),
    ("fuzzy", "scatter", "daily"),
    ("completion",),
    ("completion", "tcsh"),
]
MISUSED = [
    ("explain",),
    ("next",),
    ("explain", "backup", "--schedule", SCHEDULE, "--identity", "x", "--file", "good.kron"),
    ("explain", "--schedule", SCHEDULE),
    ("next", "--schedule", SCHEDULE),
    ("add", "--file", "good.kron", *A_JOB, "--", "/bin/false"),
    ("add", "--file", "good.kron", *A_JOB, "--name", "newer"),
    ("lint", "--file", "good.kron", "--ignore", "no-such-code"),
    ("list", "--file", ""),
    ("lint", "--file", ""),
]
"""Wrong command lines that argparse does not know to be wrong."""
SYSTEM_REFUSES = [
    ("add", "--file", UNWRITABLE, *A_JOB),
    ("replay", "."),
]


def rows(lines: list[tuple[str, ...]]) -> list[object]:
    return [pytest.param(line, id=" ".join(line) or "nothing") for line in lines]


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    for name, text in FILES.items():
        krontab.write(name, text)
    return krontab


@pytest.mark.heavy
@pytest.mark.parametrize("words", rows(DONE))
def test_what_is_done_ends_with_0(krontab: Krontab, words: tuple[str, ...]) -> None:
    assert krontab(*words).code == OK


@pytest.mark.parametrize("words", rows(FOUND_WRONG))
def test_what_is_found_wrong_ends_with_1_and_is_on_standard_output(
    krontab: Krontab, words: tuple[str, ...]
) -> None:
    ran = krontab(*words)
    assert ran.code == INVALID
    assert ran.out


@pytest.mark.parametrize("words", rows(REFUSED))
def test_what_is_invalid_or_missing_ends_with_1_and_says_so_on_standard_error(
    krontab: Krontab, words: tuple[str, ...]
) -> None:
    ran = krontab(*words)
    assert (ran.code, ran.out) == (INVALID, "")
    assert ran.err.endswith("\n")


@pytest.mark.parametrize("words", rows(WRONG_COMMAND_LINES))
def test_a_wrong_command_line_ends_with_2_and_says_where_help_is(
    krontab: Krontab, words: tuple[str, ...]
) -> None:
    ran = krontab(*words)
    assert (ran.code, ran.out) == (FAILED, "")
    assert ran.err


@pytest.mark.parametrize("words", rows(MISUSED))
def test_a_command_line_that_contradicts_itself_ends_with_2(
    krontab: Krontab, words: tuple[str, ...]
) -> None:
    ran = krontab(*words)
    assert (ran.code, ran.out) == (FAILED, "")
    assert ran.err


@pytest.mark.parametrize("words", rows(SYSTEM_REFUSES))
def test_what_the_system_refuses_ends_with_2(krontab: Krontab, words: tuple[str, ...]) -> None:
    ran = krontab(*words)
    assert (ran.code, ran.out) == (FAILED, "")
    assert ran.err


@pytest.mark.parametrize("words", rows(WRONG_COMMAND_LINES + MISUSED + REFUSED + SYSTEM_REFUSES))
def test_what_is_refused_changes_no_file(krontab: Krontab, words: tuple[str, ...]) -> None:
    krontab(*words)
    names = {path.name for path in krontab.directory.iterdir()}
    assert {name: krontab.read(name) for name in names} == FILES


def test_nothing_at_all_prints_help_and_ends_with_2(krontab: Krontab) -> None:
    ran = krontab()
    assert (ran.code, ran.err) == (FAILED, "")
    assert ran.out == krontab("--help").out


def test_half_a_command_prints_what_it_could_be_and_ends_with_2(krontab: Krontab) -> None:
    ran = krontab("fuzzy")
    assert ran.code == FAILED
    assert "fuzzy parse" in ran.out
    assert "fuzzy parse" in krontab("fuzzy", "--help").out


def test_the_codes_are_those_that_the_overview_documents(krontab: Krontab) -> None:
    shown = krontab("--help").out.partition("exit codes:\n")[2].splitlines()
    assert shown == [f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items()]
    assert list(EXIT_CODES) == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("list", *GOOD_FILE), OK, id="ok"),
        pytest.param(("list", "--file", "wrong.kron"), INVALID, id="invalid"),
        pytest.param(("list", "--sort", "size"), FAILED, id="usage"),
        pytest.param(("add", "--file", UNWRITABLE, *A_JOB), FAILED, id="system"),
    ],
)
def test_a_process_ends_with_the_same_code(
    krontab: Krontab, words: tuple[str, ...], code: int
) -> None:
    ran = krontab.process(*words)
    assert ran == krontab(*words)
    assert ran.code == code
