"""Files are read only if nobody else could have written them; each refusal says its own reason.

The files, links, pipes and owners are real. Root can give files away and reads what it likes, so
what only root can set up is skipped for others, and what root never meets runs in a program that
has given its privileges up.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kron import Code, KronError, Limits
from kron.jobs import source
from kron.jobs.source import FileAccess, list_directory, own_access, read_file

JOB = b"0 2 * * * name=a command=/bin/true\n"
EVIL = b"0 2 * * * name=a command=/bin/evil\n"
NOBODY = 65_534
STRANGER = 54_321
TRUST_IT = "or pass --allow-insecure-config if this is intended, as in a container"
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give a file to somebody else"
)

WITHOUT_PRIVILEGES = f"""
import difflib, errno, fcntl, json, os, resource, signal, stat, sys
import kron.jobs.editing as editing
from kron import KronError
from kron.jobs.configuration import load
from kron.jobs.editing import edit_file
from kron.jobs.source import list_directory, own_access, read_file

if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
access = own_access()
def answer(call):
    try:
        return ["ok", str(call())]
    except KronError as error:
        return [error.code, str(error)]
"""


def told_by(program: str, *arguments: str) -> Any:
    """What a program of its own prints, as JSON."""
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(run.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that only its owner can write."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
def public_place() -> Iterator[Path]:
    """The same, where a program without privileges can get to."""
    path = Path(tempfile.mkdtemp(prefix="kron-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    path.chmod(0o700)
    shutil.rmtree(path)


def made(path: Path, data: bytes = JOB, mode: int = 0o644) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def made_directory(path: Path, mode: int = 0o755) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path


def refusal(path: Path | str, access: FileAccess | None = None) -> KronError:
    with pytest.raises(KronError) as caught:
        read_file(str(path), access or own_access())
    return caught.value


# What is read


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o400, 0o755, 0o640])
def test_a_file_of_ones_own_is_read(place: Path, mode: int) -> None:
    assert read_file(str(made(place / "x.kron", mode=mode)), own_access()) == JOB


def test_a_relative_path_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(place / "x.kron")
    monkeypatch.chdir(place)
    assert read_file("x.kron", own_access()) == JOB
    assert read_file("./../" + place.name + "/x.kron", own_access()) == JOB


def test_what_is_trusted_by_default_is_root_and_oneself() -> None:
    assert own_access() == FileAccess(os.geteuid(), insecure=False)
    assert own_access(insecure=True) == FileAccess(os.geteuid(), insecure=True)


@needs_root
def test_a_file_of_root_or_of_the_daemons_user_is_read(place: Path) -> None:
    path = made(place / "x.kron")
    assert read_file(str(path), FileAccess(STRANGER)) == JOB
    os.chown(path, STRANGER, STRANGER)
    assert read_file(str(path), FileAccess(STRANGER)) == JOB


def test_a_link_further_up_is_followed(place: Path) -> None:
    made_directory(place / "real")
    made_directory(place / "real" / "conf")
    made(place / "real" / "conf" / "x.kron")
    (place / "link").symlink_to("real")
    assert read_file(str(place / "link" / "conf" / "x.kron"), own_access()) == JOB


def test_an_empty_file_and_one_of_the_greatest_length_are_read(place: Path) -> None:
    path = made(place / "x.kron", b"")
    assert read_file(str(path), own_access()) == b""
    path.write_bytes(b"#" * 3_000_000)  # more than one read
    assert len(read_file(str(path), own_access(), Limits(file_bytes=3_000_000))) == 3_000_000


def test_a_longer_file_is_refused(place: Path) -> None:
    path = made(place / "x.kron", b"#" * 101)
    with pytest.raises(KronError) as caught:
        read_file(str(path), own_access(), Limits(file_bytes=100))
    assert caught.value.code is Code.LIMIT
    assert str(caught.value) == f"{path} is longer than 100 bytes (split it into several files)"


# What is refused


def everybody_writes_the_file(place: Path) -> Path:
    return made(place / "x.kron", mode=0o646)


def a_group_writes_the_file(place: Path) -> Path:
    return made(place / "x.kron", mode=0o664)


def everybody_writes_the_directory(place: Path) -> Path:
    return made(made_directory(place / "d", 0o757) / "x.kron")


def a_group_writes_the_directory(place: Path) -> Path:
    return made(made_directory(place / "d", 0o775) / "x.kron")


def a_link_to_a_file(place: Path) -> Path:
    made(place / "real.kron")
    (place / "x.kron").symlink_to("real.kron")
    return place / "x.kron"


def a_link_to_the_directory(place: Path) -> Path:
    made(made_directory(place / "real") / "x.kron")
    (place / "d").symlink_to("real")
    return place / "d" / "x.kron"


def a_file_of_a_stranger(place: Path) -> Path:
    path = made(place / "x.kron")
    os.chown(path, STRANGER, -1)
    return path


def a_directory_of_a_stranger(place: Path) -> Path:
    path = made(made_directory(place / "d") / "x.kron")
    os.chown(path.parent, STRANGER, -1)
    return path


def a_sticky_directory_of_a_stranger(place: Path) -> Path:
    path = a_directory_of_a_stranger(place)
    path.parent.chmod(0o1755)
    return path


def a_pipe(place: Path) -> Path:
    os.mkfifo(place / "x.kron", 0o644)
    return place / "x.kron"


def a_directory(place: Path) -> Path:
    return made_directory(place / "x.kron")


def a_device(place: Path) -> Path:
    return Path("/dev/zero")


def a_socket(place: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(place)  # the name of a socket is short
        try:
            server.bind("x.kron")
        finally:
            os.chdir(here)
    (place / "x.kron").chmod(0o644)
    return place / "x.kron"


def nothing(place: Path) -> Path:
    return place / "x.kron"


def nothing_in_no_directory(place: Path) -> Path:
    return place / "d" / "x.kron"


def a_file_in_a_file(place: Path) -> Path:
    return made(place / "d") / "x.kron"


def a_link_to_nothing(place: Path) -> Path:
    (place / "x.kron").symlink_to("none")
    return place / "x.kron"


def a_long_name(place: Path) -> Path:
    return place / ("x" * 300)


REFUSED = [
    # what there is, the code, and the message, in which {0} is the path and {1} its directory
    pytest.param(
        everybody_writes_the_file,
        Code.FILE_WRITABLE,
        f"others could write {{0}} (its mode is 0646) (chmod go-w {{0}}, {TRUST_IT})",
        id="everybody writes the file",
    ),
    pytest.param(
        a_group_writes_the_file,
        Code.FILE_WRITABLE,
        f"others could write {{0}} (its mode is 0664) (chmod go-w {{0}}, {TRUST_IT})",
        id="a group writes the file",
    ),
    pytest.param(
        everybody_writes_the_directory,
        Code.FILE_WRITABLE,
        f"others could write the directory {{1}} (its mode is 0757) (chmod go-w {{1}}, {TRUST_IT})",
        id="everybody writes the directory",
    ),
    pytest.param(
        a_group_writes_the_directory,
        Code.FILE_WRITABLE,
        f"others could write the directory {{1}} (its mode is 0775) (chmod go-w {{1}}, {TRUST_IT})",
        id="a group writes the directory",
    ),
    pytest.param(
        a_link_to_a_file,
        Code.FILE_SYMLINK,
        f"{{0}} is a symbolic link (name the file that it points to, {TRUST_IT})",
        id="a link to a file",
    ),
    pytest.param(
        a_link_to_the_directory,
        Code.FILE_SYMLINK,
        f"{{1}} is a symbolic link (name the file that it points to, {TRUST_IT})",
        id="a link to the directory",
    ),
    pytest.param(
        a_file_of_a_stranger,
        Code.FILE_OWNER,
        f"{{0}} belongs to user {STRANGER}, not to root or user {os.geteuid()} "
        f"(chown it, {TRUST_IT})",
        id="a file of a stranger",
        marks=needs_root,
    ),
    pytest.param(
        a_directory_of_a_stranger,
        Code.FILE_OWNER,
        f"the directory {{1}} belongs to user {STRANGER}, not to root or user {os.geteuid()} "
        f"(chown it, {TRUST_IT})",
        id="a directory of a stranger",
        marks=needs_root,
    ),
    pytest.param(
        a_sticky_directory_of_a_stranger,
        Code.FILE_OWNER,
        f"the directory {{1}} belongs to user {STRANGER}, not to root or user {os.geteuid()} "
        f"(chown it, {TRUST_IT})",
        id="a sticky directory of a stranger",
        marks=needs_root,
    ),
    pytest.param(a_pipe, Code.FILE_KIND, "{0} is not a regular file", id="a pipe"),
    pytest.param(a_directory, Code.FILE_KIND, "{0} is not a regular file", id="a directory"),
    pytest.param(a_device, Code.FILE_KIND, "{0} is not a regular file", id="a device"),
    pytest.param(
        a_socket,
        Code.FILE_KIND,
        "{0} is not a regular file",
        id="a socket",
    ),
    pytest.param(nothing, Code.FILE_MISSING, "there is no {0}", id="nothing"),
    pytest.param(
        nothing_in_no_directory, Code.FILE_MISSING, "there is no {1}", id="nothing in no directory"
    ),
    pytest.param(
        a_file_in_a_file,
        Code.FILE_KIND,
        "{1} is not a directory, or is not in a directory",
        id="a file in a file",
    ),
    pytest.param(
        a_link_to_nothing,
        Code.FILE_SYMLINK,
        f"{{0}} is a symbolic link (name the file that it points to, {TRUST_IT})",
        id="a link to nothing",
    ),
    pytest.param(
        a_long_name,
        Code.FILE_UNREADABLE,
        "{0} cannot be read: File name too long",
        id="a name that is too long",
    ),
]


@pytest.mark.parametrize(("situation", "code", "message"), REFUSED)
def test_a_file_is_refused_with_its_own_code_and_message(
    place: Path, situation: Callable[[Path], Path], code: Code, message: str
) -> None:
    path = situation(place)
    error = refusal(path)
    assert (error.code, str(error)) == (code, message.format(path, path.parent))


@pytest.mark.parametrize(
    "situation",
    [
        everybody_writes_the_file,
        a_group_writes_the_file,
        everybody_writes_the_directory,
        a_group_writes_the_directory,
        a_link_to_a_file,
        a_link_to_the_directory,
        pytest.param(a_file_of_a_stranger, marks=needs_root),
        pytest.param(a_directory_of_a_stranger, marks=needs_root),
    ],
)
def test_insecure_access_reads_such_files_and_follows_links(
    place: Path, situation: Callable[[Path], Path]
) -> None:
    assert read_file(str(situation(place)), own_access(insecure=True)) == JOB


@pytest.mark.parametrize(
    ("situation", "code"),
    [
        (a_pipe, Code.FILE_KIND),
        (a_directory, Code.FILE_KIND),
        (a_device, Code.FILE_KIND),
        (nothing, Code.FILE_MISSING),
        (a_link_to_nothing, Code.FILE_MISSING),
    ],
)
def test_what_is_no_file_is_refused_all_the_same(
    place: Path, situation: Callable[[Path], Path], code: Code
) -> None:
    assert refusal(situation(place), own_access(insecure=True)).code is code


def test_a_circle_of_links_is_unreadable_where_links_are_followed(place: Path) -> None:
    (place / "x.kron").symlink_to("x.kron")
    error = refusal(place / "x.kron", own_access(insecure=True))
    assert error.code is Code.FILE_UNREADABLE
    assert "insecure" not in error.fix


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\x00b.kron", id="NUL"),
        pytest.param("a\nb.kron", id="a line break"),
        pytest.param("a\x1b[31m.kron", id="an escape sequence"),
        pytest.param("a\udcff.kron", id="not UTF-8"),
    ],
)
def test_a_path_that_cannot_be_part_of_an_identity_is_refused(place: Path, name: str) -> None:
    path = str(place / name)
    if "\x00" not in name:
        made(Path(path))
    error = refusal(path)
    assert error.code is Code.IDENTITY
    assert str(error).isprintable()
    with pytest.raises(KronError):
        list_directory(path, own_access())


def test_a_file_in_a_sticky_directory_is_read_if_it_is_named(place: Path) -> None:
    directory = made_directory(place / "d", 0o1777)
    path = made(directory / "x.kron")
    assert read_file(str(path), own_access()) == JOB
    with pytest.raises(KronError) as caught:
        list_directory(str(directory), own_access())
    assert caught.value.code is Code.FILE_WRITABLE
    assert "(its mode is 1777)" in caught.value.message
    assert list_directory(str(directory), own_access(insecure=True)) == ([str(path)], [])


def test_what_the_kernel_keeps_from_us_is_unreadable(public_place: Path) -> None:
    made(public_place / "x.kron", mode=0o000)
    made(made_directory(public_place / "closed") / "x.kron")
    made(made_directory(public_place / "unlisted") / "x.kron")
    (public_place / "closed").chmod(0o000)
    (public_place / "unlisted").chmod(0o311 if os.geteuid() else 0o711)
    program = WITHOUT_PRIVILEGES + (
        "place = sys.argv[1]\n"
        "print(json.dumps([\n"
        "    answer(lambda: read_file(f'{place}/x.kron', access)),\n"
        "    answer(lambda: read_file(f'{place}/closed/x.kron', access)),\n"
        "    answer(lambda: list_directory(f'{place}/closed', access)),\n"
        "    answer(lambda: read_file(f'{place}/unlisted/x.kron', access))[0],\n"
        "    answer(lambda: list_directory(f'{place}/unlisted', access)),\n"
        "    [str(finding) for finding in load([place], access).findings],\n"
        "]))"
    )

    def denied(name: str) -> list[str]:
        return ["file-unreadable", f"{public_place}/{name} cannot be read: Permission denied"]

    try:
        told = told_by(program, str(public_place))
    finally:
        (public_place / "closed").chmod(0o755)
        (public_place / "unlisted").chmod(0o755)
    assert told == [
        denied("x.kron"),
        denied("closed/x.kron"),
        denied("closed"),
        "ok",
        denied("unlisted"),
        [
            f"{public_place}/x.kron: error: {public_place}/x.kron cannot be read: "
            "Permission denied [file-unreadable]"
        ],
    ]


# Directories


def test_a_directory_lists_its_krontab_files_in_order(place: Path) -> None:
    for name in ("b.kron", "a.kron", "10.kron", "9.kron", "é.kron"):
        made(place / name)
    for name in (".hidden.kron", ".kron", "a.kron~", "a.kron.bak", "README", "B.KRON"):
        made(place / name)
    made_directory(place / "sub")
    paths, ignored = list_directory(str(place), own_access())
    assert [Path(path).name for path in paths] == [
        "10.kron",
        "9.kron",
        "a.kron",
        "b.kron",
        "é.kron",
    ]
    assert [Path(path).name for path in ignored] == [
        ".hidden.kron",
        ".kron",
        "B.KRON",
        "README",
        "a.kron.bak",
        "a.kron~",
        "sub",
    ]
    assert {str(Path(path).parent) for path in paths + ignored} == {str(place)}


def test_an_empty_directory_lists_nothing(place: Path) -> None:
    assert list_directory(str(place), own_access()) == ([], [])


@pytest.mark.parametrize(
    ("situation", "code", "message"),
    [
        pytest.param(
            everybody_writes_the_directory,
            Code.FILE_WRITABLE,
            "others could write the directory {}",
            id="everybody",
        ),
        pytest.param(
            a_group_writes_the_directory,
            Code.FILE_WRITABLE,
            "others could write the directory {}",
            id="a group",
        ),
        pytest.param(
            a_link_to_the_directory, Code.FILE_SYMLINK, "{} is a symbolic link", id="a link"
        ),
        pytest.param(
            a_directory_of_a_stranger,
            Code.FILE_OWNER,
            "the directory {} belongs to user",
            id="a stranger",
            marks=needs_root,
        ),
        pytest.param(nothing_in_no_directory, Code.FILE_MISSING, "there is no {}", id="nothing"),
        pytest.param(a_file_in_a_file, Code.FILE_KIND, "{} is not a directory", id="a file"),
    ],
)
def test_a_directory_is_refused_with_its_own_code_and_message(
    place: Path, situation: Callable[[Path], Path], code: Code, message: str
) -> None:
    directory = situation(place).parent
    with pytest.raises(KronError) as caught:
        list_directory(str(directory), own_access())
    assert caught.value.code is code
    assert message.format(directory) in caught.value.message


@pytest.mark.parametrize("end", ["/", "/.", "//"])
def test_a_link_to_a_directory_is_one_however_it_is_written(place: Path, end: str) -> None:
    directory = a_link_to_the_directory(place).parent
    with pytest.raises(KronError) as caught:
        list_directory(f"{directory}{end}", own_access())
    assert caught.value.code is Code.FILE_SYMLINK


# Races


class Meddled:
    """`os`, as the module sees it; `meddle` is called once, before the call of that number."""

    def __init__(self, number: int, meddle: Callable[[], None]) -> None:
        self.left = number
        self.meddle = meddle

    def __getattr__(self, name: str) -> Any:
        value = getattr(os, name)
        if name not in ("open", "fstat", "read", "close", "listdir"):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self.meddle()
            return value(*arguments, **options)

        return call


class Replaced:
    """`os`, as the module sees it, with other functions under some of its names."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        return self.functions.get(name, getattr(os, name))


CALLS_OF_READ_FILE = 8
"""Two opens, two looks, two reads (the last one finds the end) and two closes."""


def answer_with(
    meddled: Meddled | Replaced, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], bytes]
) -> bytes | Code:
    with monkeypatch.context() as patch:
        patch.setattr(source, "os", meddled)
        try:
            return ask()
        except KronError as error:
            return error.code


def test_the_number_of_calls_that_are_meddled_with_is_all_of_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(made(place / "x.kron"))
    meddled = Meddled(0, lambda: None)
    assert answer_with(meddled, monkeypatch, lambda: read_file(path, own_access())) == JOB
    assert -meddled.left == CALLS_OF_READ_FILE


@pytest.mark.parametrize("number", range(1, CALLS_OF_READ_FILE + 1))
def test_a_file_swapped_for_a_link_between_any_two_calls_is_not_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = made(place / "x.kron")
    made(place / "evil.kron", EVIL)
    (place / "link").symlink_to("evil.kron")
    meddled = Meddled(number, lambda: os.replace(place / "link", path))  # noqa: PTH105
    answer = answer_with(meddled, monkeypatch, lambda: read_file(str(path), own_access()))
    assert path.is_symlink()
    assert answer == (Code.FILE_SYMLINK if number <= 3 else JOB)


@pytest.mark.parametrize("number", range(1, CALLS_OF_READ_FILE + 1))
def test_a_directory_swapped_for_a_link_between_any_two_calls_is_not_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = made(made_directory(place / "d") / "x.kron")
    made(made_directory(place / "evil") / "x.kron", EVIL)

    def swap() -> None:
        (place / "d").rename(place / "old")
        (place / "d").symlink_to("evil")

    answer = answer_with(
        Meddled(number, swap), monkeypatch, lambda: read_file(str(path), own_access())
    )
    assert path.read_bytes() == EVIL
    assert answer == (Code.FILE_SYMLINK if number == 1 else JOB)


@pytest.mark.parametrize("number", range(1, 5))
def test_a_listed_directory_swapped_for_a_link_is_not_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made(made_directory(place / "d") / "x.kron")
    made(made_directory(place / "evil") / "evil.kron", EVIL)

    def swap() -> None:
        (place / "d").rename(place / "old")
        (place / "d").symlink_to("evil")

    def listed() -> bytes:
        ((path,), _) = list_directory(str(place / "d"), own_access())
        return os.fsencode(path)

    answer = answer_with(Meddled(number, swap), monkeypatch, listed)
    assert (place / "d").is_symlink()
    named = os.fsencode(place / "d" / "x.kron")
    assert answer == (Code.FILE_SYMLINK if number == 1 else named)


FLIPPING = """
import os, sys
place = sys.argv[1]
print("ready", flush=True)
while True:
    os.symlink("evil.kron", f"{place}/link")
    os.rename(f"{place}/link", f"{place}/x.kron")
    with open(os.open(f"{place}/plain", os.O_CREAT | os.O_WRONLY, 0o644), "wb") as file:
        file.write(sys.argv[2].encode())
    os.rename(f"{place}/plain", f"{place}/x.kron")
"""


def test_while_a_file_is_swapped_for_a_link_and_back_the_link_is_never_followed(
    place: Path,
) -> None:
    path = str(made(place / "x.kron"))
    made(place / "evil.kron", EVIL)
    answers: set[bytes | Code] = set()
    with subprocess.Popen(
        [sys.executable, "-c", FLIPPING, str(place), JOB.decode()], stdout=subprocess.PIPE
    ) as flipping:
        try:
            assert flipping.stdout is not None
            flipping.stdout.readline()
            for _ in range(2_000):
                try:
                    answers.add(read_file(path, own_access()))
                except KronError as error:
                    answers.add(error.code)
        finally:
            flipping.kill()
    assert answers <= {JOB, Code.FILE_SYMLINK}


@pytest.mark.parametrize("number", [5, 6])
def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(
    place: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = made(place / "x.kron")

    def grow() -> None:
        with path.open("ab") as file:
            file.write(JOB)

    answer = answer_with(
        Meddled(number, grow), monkeypatch, lambda: read_file(str(path), own_access())
    )
    assert answer == JOB + JOB


def test_a_file_that_never_ends_is_refused_at_the_limit(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(place / "x.kron")
    reads: list[int] = []

    def grow_and_read(descriptor: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"#" * 1_000)
        data = os.read(descriptor, min(size, 1_000))
        reads.append(len(data))
        return data

    limits = Limits(file_bytes=10_000)
    growing = Replaced(read=grow_and_read)
    answer = answer_with(growing, monkeypatch, lambda: read_file(str(path), own_access(), limits))
    assert answer is Code.LIMIT
    assert sum(reads) == limits.file_bytes + 1


def test_no_descriptor_is_left_open(place: Path) -> None:
    path = made(place / "x.kron")
    made_directory(place / "loose", 0o777)

    def ask() -> None:
        read_file(str(path), own_access())
        list_directory(str(place), own_access())
        for bad in (place / "none", place, place / "loose" / "x.kron"):
            refusal(bad)
        with pytest.raises(KronError):
            list_directory(str(place / "loose"), own_access())
        with pytest.raises(KronError):
            read_file(str(path), own_access(), Limits(file_bytes=1))

    ask()
    before = len(list(Path("/proc/self/fd").iterdir()))
    ask()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_descriptor_is_not_inherited(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(place / "x.kron")
    inherited: list[bool] = []

    def open_and_look(*arguments: Any, **options: Any) -> int:
        descriptor = os.open(*arguments, **options)
        inherited.append(os.get_inheritable(descriptor))
        return descriptor

    watching = Replaced(open=open_and_look)
    assert answer_with(watching, monkeypatch, lambda: read_file(str(path), own_access())) == JOB
    assert inherited == [False, False]


def test_a_large_directory_takes_time_in_proportion(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cost(count: int) -> float:
        names = [f"{number}.kron" for number in range(count)]
        monkeypatch.setattr(source, "os", Replaced(listdir=lambda _: names))
        began = time.process_time()
        assert len(list_directory(str(place), own_access())[0]) == count
        return time.process_time() - began

    quarter, whole = cost(1_000), cost(4_000)
    assert whole < 8 * max(quarter, 0.010)
