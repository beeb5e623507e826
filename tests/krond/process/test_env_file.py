"""Files of variables: systemd's format, and whose files a run gets."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kron.jobs.task import EnvFile
from kron.krond.process import env_file
from kron.krond.process.account import Account
from kron.krond.process.env_file import LONGEST_BYTES, MOST_VARIABLES, EnvFiles, parse_env_file
from kron.krond.process.failure import StartError
from tests.krond.process.expected import needs_root

NOBODY = Account(65534, 65534, (65534,), "nobody")
LATER_S = 2**40
"""A moment at which every file has been as it is for long."""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("A=b", "b", id="plain"),
        pytest.param("  A\t= b c  \t", "b c", id="blanks around"),
        pytest.param("A=", "", id="empty"),
        pytest.param("A=1\nA=2", "2", id="the last one holds"),
        pytest.param("# A=1\n ;A=2\nA=3 # 4", "3 # 4", id="comments are lines"),
        pytest.param("# goes on\\\nA=1", "1", id="a comment never goes on"),
        pytest.param("no equals sign\nA=1\n\n", "1", id="a line that says nothing"),
        pytest.param("A='b \\ \"c\" $d\n e'", 'b \\ "c" $d\n e', id="single quotes"),
        pytest.param('A="b \\" \\\\ \\$ \\` \\n\n c"', 'b " \\ $ ` \\n\n c', id="double quotes"),
        pytest.param('A="b\\\nc"', "bc", id="a quoted line that goes on"),
        pytest.param("A=b\\\n  c", "b  c", id="a line that goes on"),
        pytest.param("A=b\\ \\\\n\\'  ", "b \\n'", id="escapes"),
        pytest.param("A=b\\   ", "b ", id="an escaped blank at the end"),
        pytest.param("A=\"b c\"'d'e  f", "b cde  f", id="pieces"),
        pytest.param('A=it\'s "so"', 'it\'s "so"', id="quotes inside are characters"),
        pytest.param("A=b=c==", "b=c==", id="equals signs"),
        pytest.param("A=b\r\n", "b", id="CRLF"),
        pytest.param("A=grüße ☃", "grüße ☃", id="unicode"),
        pytest.param("A=b\\", "b", id="a backslash at the very end"),
    ],
)
def test_a_value_is_read_as_systemd_reads_it(text: str, value: str) -> None:
    assert parse_env_file(text.encode()) == {b"A": value.encode()}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"A=1\nexport SECRET=x", "line 2 does not begin with NAME=", id="export"),
        pytest.param(b"SECRET-1=x", "line 1 does not begin with NAME=", id="name"),
        pytest.param(b"=SECRET", "line 1 does not begin with NAME=", id="no name"),
        pytest.param(b"\xef\xbb\xbfSECRET=1", "it begins with a byte order mark", id="BOM"),
        pytest.param(
            b'A=1\nB="SECRET\nC=2',
            "a quote in the value that begins in line 2 is never closed",
            id="quote",
        ),
        pytest.param(b"A=1\nB=SECRET\0", "it has a NUL byte", id="NUL"),
        pytest.param(b"A=1\n\nB=SECRET\xff", "line 3 is not UTF-8", id="not UTF-8"),
        pytest.param(
            b"A=1\n" * (MOST_VARIABLES + 1), "it has more than 10,000 variables", id="many"
        ),
    ],
)
def test_a_file_that_does_not_read_says_the_line_and_none_of_it(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        parse_env_file(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"A=x" + b" " * 2**20 + b"y", id="blanks"),
        pytest.param(b"#\n" * 2**19, id="comments"),
        pytest.param(b'A="' + b"\\" * 2**20, id="backslashes"),
        pytest.param(b"A=" + b"'" * 2**20, id="quotes"),
        pytest.param((b"A=" + b"x" * 98 + b"\n") * MOST_VARIABLES, id="variables"),
        pytest.param(b" " * 2**20 + b"x=", id="a key"),
        pytest.param(b"A=" + b"\\ " * 2**19, id="escapes"),
    ],
)
def test_no_file_takes_long(data: bytes) -> None:
    start = time.process_time()
    with suppress(ValueError):
        parse_env_file(data)
    assert time.process_time() - start < 2.0


def variables(path: Path, account: Account | None = None, *, may_lack: bool = False) -> object:
    return EnvFiles().variables(EnvFile(str(path), may_lack), account, LATER_S)


def refusal(path: Path, account: Account | None = None, *, may_lack: bool = False) -> str:
    with pytest.raises(StartError) as caught:
        variables(path, account, may_lack=may_lack)
    reason = caught.value.reason
    assert reason.startswith(f'the environment file "{path}" cannot be used: ')
    assert "SECRET" not in reason
    return reason.partition("cannot be used: ")[2]


def written(path: Path, text: str = "TOKEN=SECRET", mode: int = 0o600, uid: int = -1) -> Path:
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, uid, -1)
    return path


def test_a_missing_file_is_refused_unless_it_may_be_missing(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert refusal(missing) == "it does not exist"
    assert variables(missing, may_lack=True) == {}
    assert refusal(written(tmp_path / "x", "?=", 0o666), may_lack=True).startswith("others could")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_could_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "file", mode=mode)
    assert refusal(path) == f"others could write it (its mode is {mode:04o})"


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        assert refusal(path) == "it is not a regular file"


def test_a_file_of_several_names_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "file")
    (tmp_path / "other").hardlink_to(path)
    assert refusal(path) == "it has another name elsewhere: it is one of several hard links"


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "file", "#" * (LONGEST_BYTES + 1))
    assert refusal(path) == "it is longer than 1,048,576 bytes"


@needs_root
def test_a_file_belongs_to_root_krond_or_the_user_of_the_run(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for uid, account in ((0, None), (0, NOBODY), (NOBODY.uid, NOBODY)):
        assert variables(written(file, uid=uid), account) == {b"TOKEN": b"SECRET"}
    whose = "not to root, krond's user or the run's"
    assert refusal(written(file, uid=12345), NOBODY) == f"it belongs to user 12345, {whose}"
    assert refusal(written(file, uid=NOBODY.uid)) == f"it belongs to user 65534, {whose}"


@needs_root
@pytest.mark.parametrize("is_directory", [False, True], ids=["file", "directory"])
def test_no_user_leads_krond_to_a_file_of_root_s(tmp_path: Path, is_directory: bool) -> None:
    (tmp_path / "secret").mkdir()
    file = written(tmp_path / "secret" / "file")
    link = tmp_path / "link"
    link.symlink_to(file.parent if is_directory else file)
    path = link / "file" if is_directory else link
    assert variables(path, NOBODY) == {b"TOKEN": b"SECRET"}
    os.lchown(link, NOBODY.uid, -1)
    whose = "not to root or krond's user"
    assert refusal(path, NOBODY) == f"a symbolic link in its path belongs to user 65534, {whose}"


def test_a_file_that_many_jobs_share_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []

    def parse(data: bytes) -> dict[bytes, bytes]:
        parsed.append(data)
        return {b"A": data}

    monkeypatch.setattr(env_file, "parse_env_file", parse)
    path = written(tmp_path / "file", "A=1")
    files = EnvFiles()
    for _ in range(1000):
        assert files.variables(EnvFile(str(path)), None, LATER_S) == {b"A": b"A=1"}
    assert len(parsed) == 1
    written(path, "A=2")
    assert files.variables(EnvFile(str(path)), None, LATER_S) == {b"A": b"A=2"}


def test_a_file_that_has_just_changed_is_read_again(tmp_path: Path) -> None:
    """Two changes may have the same time, where the file system counts in milliseconds."""
    path = written(tmp_path / "file", "A=1")
    files = EnvFiles()
    now_s = int(time.time())
    assert files.variables(EnvFile(str(path)), None, now_s) == {b"A": b"1"}
    status = path.stat()
    path.write_text("A=2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert files.variables(EnvFile(str(path)), None, now_s) == {b"A": b"2"}
