"""The page about the krontab file says what the code does: tables, messages and examples."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kron import KronError, Limits, ParseError
from kron.core.errors import SHOWN_PROBLEMS
from kron.core.limits import DEFAULT_LIMITS
from kron.jobs.configuration import SYSTEM_DIRECTORY, USER_DIRECTORY, ConfigurationError
from kron.jobs.defaults import MOST_VARIABLES, OF_ONE_JOB
from kron.jobs.document import KEPT_FINDINGS, read_document
from kron.jobs.fields import FIELDS, LONGEST_NAME, STRFTIME_TOKENS
from kron.jobs.identity import find_node, identity_of
from kron.jobs.line import LineReader
from kron.jobs.slots import read_slots
from kron.jobs.source import FileAccess, read_file
from kron.jobs.task import CLEAN_PATH
from kron.krond.process.env_file import LONGEST_BYTES
from kron.krond.process.env_file import MOST_VARIABLES as MOST_VARIABLES_OF_A_FILE
from tests.jobs import test_source as situations
from tests.jobs.test_source import WITHOUT_PRIVILEGES, made, needs_root, public_place, told_by
from tests.test_docs import blocks, page, rows

__all__ = ["public_place"]  # a fixture

PAGE = page("krontab-file.md")
PATH = "/etc/krond.d/jobs.kron"
CRON = "0 2 * * *"


def code(cell: str) -> str:
    return cell.strip("`")


def table(first_line: str) -> list[list[str]]:
    """The cells of the table that begins with this line."""
    return rows(PAGE.replace(f"\n{first_line}\n", f"\n# here\n{first_line}\n"), "# here")


def first_problem(line: str) -> str:
    with pytest.raises(ParseError) as caught:
        LineReader().read(line, path=PATH, line=1, scope=f"{PATH}:")
    return str(caught.value.problems[0])


@pytest.mark.parametrize("example", blocks(PAGE, "krontab"))
def test_every_example_is_read(example: str) -> None:
    document = read_document(example.encode(), PATH)
    assert not document.findings, str(document.findings[0])
    assert document.entries


def test_every_field_is_documented_and_no_other() -> None:
    assert [
        [code(key), code(example), meaning] for key, example, meaning in rows(PAGE, "## Fields")
    ] == [[field.key, field.example, field.meaning] for field in FIELDS.values()]


@pytest.mark.parametrize(("written", "executed"), table("| written | executed |"))
def test_every_command_is_executed_as_documented(written: str, executed: str) -> None:
    entry = LineReader().read(f"{CRON} name=a {code(written)}", path=PATH, line=1, scope="")
    assert list(entry.task.argv) == json.loads(code(executed))


def test_the_time_tokens_are_those_that_are_read() -> None:
    listed = PAGE.split("**Output files.**")[1].split("{name}")[0]
    assert re.findall("`%(.)`", listed) == list(STRFTIME_TOKENS)


@pytest.mark.parametrize(
    ("path", "filled"),
    table("| path | file |"),
)
def test_the_paths_of_output_are_filled_in_as_documented(path: str, filled: str) -> None:
    start = datetime(2026, 3, 1, 2, 32, 20, tzinfo=UTC)
    output = FIELDS["stdout"].read(code(path))
    period_id = "2026-03-01T00:00:00Z"
    assert output.path_at(start, name="team/dump", period_id=period_id) == code(filled)


def test_the_fuzzy_job_runs_when_the_page_says() -> None:
    example = blocks(PAGE, "krontab")[0].encode()
    times = re.search(
        r"runs at ([0-9:]+) UTC each day, and with `--node-id (\S+)` at ([0-9:]+) UTC",
        PAGE.replace("\n", " "),
    )
    assert times is not None
    for node, time in (("", times[1]), (find_node(times[2]), times[3])):
        schedule = read_document(example, PATH, node=node).entry("report").schedule
        hour, minute = time.split(":")
        assert str(schedule) == f"{int(minute)} {int(hour)} * * *"


def test_the_directories_are_those_that_are_read() -> None:
    listed = PAGE.split("## Where files are looked for")[1]
    assert re.findall(r"^[0-9]\. `(.*)`$", listed, re.MULTILINE) == [
        SYSTEM_DIRECTORY,
        USER_DIRECTORY,
    ]


def test_the_errors_are_shown_as_they_are_printed() -> None:
    (text,) = blocks(PAGE, "krontab-with-errors")
    shown = blocks(PAGE.split("```krontab-with-errors")[1], "text")[0]
    document = read_document(text.encode(), PATH)
    assert shown == f"{ConfigurationError(document.findings, document.unshown)}\n"


@pytest.mark.parametrize(("line", "message"), table("| line | message |"))
def test_every_line_is_refused_as_documented(line: str, message: str) -> None:
    assert first_problem(code(line)) == code(message)


@pytest.mark.parametrize(("line", "message"), table("| defaults | message |"))
def test_every_defaults_line_is_refused_as_documented(line: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        LineReader().read_defaults(code(line), line=1)
    assert str(caught.value.problems[0]) == code(message)


@pytest.mark.parametrize(("line", "message"), table("| slots | message |"))
def test_every_slots_line_is_refused_as_documented(line: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_slots(code(line), DEFAULT_LIMITS, line=1)
    assert str(caught.value.problems[0]) == code(message)


def test_the_fields_without_a_default_are_documented() -> None:
    listed = ", ".join(f"`{key}`" for key in OF_ONE_JOB).replace(", `desc", " and `desc")
    assert f"All fields can be defaults except {listed}." in PAGE


def test_the_limits_of_files_of_variables_are_documented() -> None:
    text = PAGE.replace("\n", " ")
    limits = f"at most {LONGEST_BYTES >> 20} MiB and {MOST_VARIABLES_OF_A_FILE:,} variables"
    assert limits in text
    assert f"at most {MOST_VARIABLES:,} variables together" in text
    assert f"at most {LONGEST_NAME} characters" in text
    assert f"| `PATH` | `{CLEAN_PATH}` |" in PAGE


def a_file_of_user_1001(place: Path) -> Path:
    path = made(place / "x.kron")
    os.chown(path, 1001, -1)
    return path


def a_directory_of_user_1001(place: Path) -> Path:
    path = situations.a_directory_of_a_stranger(place)
    os.chown(path.parent, 1001, -1)
    return path


def a_long_file(place: Path) -> Path:
    path = made(place / "x.kron", b"")
    os.truncate(path, Limits().file_bytes + 1)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "a file that a group can write": situations.a_group_writes_the_file,
    "a file that everybody can write": situations.everybody_writes_the_file,
    "a directory that a group can write": situations.a_group_writes_the_directory,
    "a directory that everybody can write": situations.everybody_writes_the_directory,
    "a link to a file": situations.a_link_to_a_file,
    "a link to the directory": situations.a_link_to_the_directory,
    "a file of somebody else": a_file_of_user_1001,
    "a directory of somebody else": a_directory_of_user_1001,
    "a directory, a device or a pipe": situations.a_pipe,
    "no file": situations.nothing,
    "a file beyond the limit": a_long_file,
}
TEXTS = {
    "Latin-1": "# é".encode("latin-1"),
    "a byte order mark": b"\xef\xbb\xbf#",
    "line ends of Windows": b"#\r\n",
    "a name twice in a file": f"{CRON} name=report command=a\n".encode() * 2,
}
UNREADABLE = "a file that the user may not read"
REFUSED = {
    row[0]: (code(row[1]), code(row[2])) for row in table("| there is | message | what to do |")
}


def test_every_row_about_files_is_checked() -> None:
    assert set(REFUSED) == {*FILES, *TEXTS, UNREADABLE}


@pytest.mark.parametrize(
    "there_is",
    [
        pytest.param(there_is, marks=[needs_root] if "somebody" in there_is else [])
        for there_is in FILES
    ],
)
def test_every_file_is_refused_as_documented(tmp_path: Path, there_is: str) -> None:
    tmp_path.chmod(0o755)
    path = FILES[there_is](tmp_path)
    # krond as user 999, as far as that can be set up here.
    access = FileAccess(999 if "somebody" in there_is else os.geteuid())
    with pytest.raises(KronError) as caught:
        read_file(str(path), access)

    def shown(text: str) -> str:
        return text.replace(str(path), PATH).replace(str(path.parent), str(Path(PATH).parent))

    assert (shown(caught.value.message), shown(caught.value.fix)) == REFUSED[there_is]


def test_a_file_that_may_not_be_read_is_refused_as_documented(public_place: Path) -> None:
    path = made(public_place / "jobs.kron", mode=0o000)
    program = "print(json.dumps(answer(lambda: read_file(sys.argv[1], access))[1]))"
    told = told_by(WITHOUT_PRIVILEGES + program, str(path))
    assert (told.replace(str(path), PATH), "") == REFUSED[UNREADABLE]


@pytest.mark.parametrize("there_is", TEXTS)
def test_every_text_is_refused_as_documented(there_is: str) -> None:
    (finding,) = read_document(TEXTS[there_is], PATH).findings
    assert (finding.message, finding.fix) == REFUSED[there_is]


def test_the_limits_are_those_that_hold() -> None:
    limits = Limits()
    section = PAGE.split("\n## Limits\n")[1].replace("\n", " ")
    assert (
        f"A file has at most {limits.file_bytes // 2**20} MiB, "
        f"a line {limits.line_bytes // 2**10} KiB, and all files together {limits.jobs:,} jobs. "
        f"Of a line at most {SHOWN_PROBLEMS} errors are shown, of a file {KEPT_FINDINGS:,},"
    ) in section


def test_the_identities_are_those_that_are_used() -> None:
    listed = {code(row[0]): code(row[1]) for row in rows(PAGE, "## Identity")}
    assert listed["none"] == identity_of(PATH, "report")
    assert listed["--node-id web-1"] == identity_of(PATH, "report", find_node("web-1"))
    assert set(listed) == {
        "none",
        "--node-id web-1",
        "--node-id hostname",
        "--node-id machine-id",
    }
