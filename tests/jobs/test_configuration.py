"""A configuration: all files together, with every error of every one of them at once."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from kron import Code, KronError, Limits
from kron.jobs import configuration
from kron.jobs.configuration import (
    SYSTEM_DIRECTORY,
    USER_DIRECTORY,
    Configuration,
    ConfigurationError,
    default_paths,
    load,
)
from kron.jobs.document import KEPT_FINDINGS
from kron.jobs.source import own_access
from tests.jobs.test_source import made, made_directory, place

__all__ = ["place"]  # a fixture

CRON = "0 2 * * *"


def jobs(*names: str, cron: str = CRON) -> bytes:
    return "".join(f"{cron} name={name} command=/bin/true\n" for name in names).encode()


def read(*paths: Path | str, limits: Limits | None = None) -> Configuration:
    texts = map(str, paths)
    return load(texts, own_access(), limits=limits) if limits else load(texts, own_access())


def names_of(read: Configuration) -> list[str]:
    return [f"{Path(entry.path).stem}:{entry.name}" for entry in read.entries]


# What is read


def test_files_are_read_in_the_order_given_and_directories_in_theirs(place: Path) -> None:
    first = made(place / "z.kron", jobs("a"))
    directory = made_directory(place / "d")
    made(directory / "y.kron", jobs("c", "b"))
    made(directory / "x.kron", jobs("d"))
    made(directory / "README", b"not a krontab")
    made(directory / ".hidden.kron", b"not read")
    found = read(first, directory).checked()
    assert names_of(found) == ["z:a", "x:d", "y:c", "y:b"]
    assert [document.path for document in found.documents] == [
        f"{place}/z.kron",
        f"{place}/d/x.kron",
        f"{place}/d/y.kron",
    ]
    assert found.ignored == (f"{directory}/.hidden.kron", f"{directory}/README")
    assert found.findings == []


def test_a_named_file_needs_no_suffix(place: Path) -> None:
    assert names_of(read(made(place / "jobs", jobs("a"))).checked()) == ["jobs:a"]


def test_a_file_named_twice_is_read_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(place / "x.kron", jobs("a"))
    monkeypatch.chdir(place)
    assert names_of(read(path, place, "x.kron", f"{place}/./x.kron", place)) == ["x:a"]


def test_nothing_is_a_configuration_too(place: Path) -> None:
    assert names_of(read().checked()) == []
    assert names_of(read(place).checked()) == []


def test_the_node_is_part_of_every_identity(place: Path) -> None:
    made(place / "x.kron", jobs("a"))
    (entry,) = load([str(place)], own_access(), node="web-1").entries
    assert entry.identity == f"web-1/{place}/x.kron:a"


def test_equal_schedules_of_several_files_share_one_value(place: Path) -> None:
    made(place / "x.kron", jobs("a", "b"))
    made(place / "y.kron", jobs("a"))
    first, *others = read(place).checked().entries
    assert len(others) == 2
    assert all(entry.schedule is first.schedule for entry in others)


def test_progress_is_told_of_every_line(place: Path) -> None:
    made(place / "x.kron", b"# a\n\n" + jobs("a"))
    made(place / "y.kron", jobs("a"))
    told: list[int] = []
    load([str(place)], own_access(), progress=told.append)
    assert sum(told) == 4 + 2


def test_the_default_directories_are_read_as_far_as_they_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (SYSTEM_DIRECTORY, USER_DIRECTORY) == ("/etc/krond.d", "~/.config/krond")
    system, user = tmp_path / "etc", tmp_path / ".config" / "krond"
    monkeypatch.setattr(configuration, "SYSTEM_DIRECTORY", str(system))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_paths() == []
    user.mkdir(parents=True)
    assert default_paths() == [str(user)]
    system.mkdir()
    assert default_paths() == [str(system), str(user)]


# Names


def test_a_name_is_unique_within_a_file_and_not_across_files(place: Path) -> None:
    first = made(place / "x.kron", jobs("a"))
    second = made(place / "y.kron", jobs("a"))
    found = read(place).checked()
    assert [entry.identity for entry in found.entries] == [f"{first}:a", f"{second}:a"]
    made(place / "y.kron", jobs("a", "a"))
    (finding,) = read(place).findings
    assert (finding.code, finding.path, finding.line) == (Code.NAME_REPEATED, str(second), 2)


def test_a_job_is_found_by_its_name_or_by_its_file_and_name(place: Path) -> None:
    first = made(place / "x.kron", jobs("a", "db/b"))
    second = made(place / "y.kron", jobs("a"))
    found = read(place)
    assert found.entry("db/b").path == str(first)
    assert found.entry(f"{first}:db/b") == found.entry("db/b")
    assert found.entry(f"{second}:a").path == str(second)


def test_a_name_that_several_files_have_is_ambiguous(place: Path) -> None:
    for number in range(7):
        made(place / f"{number}.kron", jobs("a"))
    with pytest.raises(KronError) as caught:
        read(place).entry("a")
    assert caught.value.code is Code.JOB_UNKNOWN
    assert caught.value.message == '7 jobs are called "a"'
    places = ", ".join(f"{place}/{number}.kron:a" for number in range(5))
    assert caught.value.fix == f"name one of {places}"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        pytest.param("db-bakcup", 'did you mean "db-backup"?', id="near"),
        pytest.param("DB-BACKUP", 'did you mean "db-backup"?', id="in capitals"),
        pytest.param("zzz", "krontab list shows all jobs", id="far"),
        pytest.param("", "krontab list shows all jobs", id="empty"),
        pytest.param("x" * 10_000, "krontab list shows all jobs", id="long"),
    ],
)
def test_an_unknown_job_is_an_error_with_a_hint(place: Path, name: str, fix: str) -> None:
    made(place / "x.kron", jobs("db-backup", "web"))
    with pytest.raises(KronError) as caught:
        read(place).entry(name)
    assert caught.value.code is Code.JOB_UNKNOWN
    assert caught.value.message.startswith('there is no job "')
    assert len(caught.value.message) < 100
    assert caught.value.fix == fix


# Errors


def test_all_errors_of_all_files_are_told_at_once_and_in_order(place: Path) -> None:
    directory = made_directory(place / "d")
    made(directory / "a.kron", b"0 2 * * * name=A command=b nice=99\n\n0 2 * * * name=b\n")
    made(directory / "b.kron", jobs("good"))
    made(directory / "c.kron", b"0 2 * * * name=caf\xe9 command=b\n")
    made(directory / "d.kron", jobs("x", "x"))
    loose = made(directory / "e.kron", jobs("y"), 0o666)
    missing = place / "none.kron"
    found = read(missing, directory)
    with pytest.raises(ConfigurationError) as caught:
        found.checked()
    assert caught.value.findings == tuple(found.findings)
    assert [(Path(f.path).name, f.line, f.code) for f in found.findings] == [
        ("none.kron", 0, Code.FILE_MISSING),
        ("e.kron", 0, Code.FILE_WRITABLE),
        ("a.kron", 1, Code.FIELD_VALUE),
        ("a.kron", 1, Code.FIELD_VALUE),
        ("a.kron", 3, Code.FIELD_MISSING),
        ("c.kron", 1, Code.TEXT),
        ("d.kron", 2, Code.NAME_REPEATED),
    ]
    assert [finding.place for finding in found.findings][:3] == [
        str(missing),
        str(loose),
        f"{directory}/a.kron:1:16",
    ]
    assert names_of(found) == ["b:good", "d:x"]


def test_the_error_of_a_configuration_shows_each_finding(place: Path) -> None:
    path = made(place / "x.kron", b"0 2 * * * name=A command=b\n")
    with pytest.raises(ConfigurationError) as caught:
        read(path, place / "none").checked()
    error = caught.value
    assert error.code is Code.FILE_MISSING
    assert error.message == "the configuration has 2 errors"
    assert str(error) == (
        f"{place}/none: error: there is no {place}/none [file-missing]\n"
        f'{path}:1:16: error: "A" is not a name: a name has lower-case letters, digits, /, -, '
        "_ and . only (write a) [field-value]\n"
        "  0 2 * * * name=A command=b\n"
        "                 ^"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), error.code)


def test_one_error_is_called_one(place: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(place / "none").checked()
    assert caught.value.message == "the configuration has 1 error"


def test_errors_beyond_those_that_are_kept_are_counted(place: Path) -> None:
    for name in ("x.kron", "y.kron"):
        made(place / name, b"0 2 * * *\n" * (KEPT_FINDINGS // 2 + 3))
    found = read(place)
    assert len(found.findings) == 2 * KEPT_FINDINGS
    assert found.unshown == 12
    with pytest.raises(ConfigurationError) as caught:
        found.checked()
    assert caught.value.message == f"the configuration has {2 * KEPT_FINDINGS + 12} errors"
    assert str(caught.value).endswith("\nand 12 more errors")


def test_a_directory_that_is_refused_is_one_error(place: Path) -> None:
    loose = made_directory(place / "loose", 0o777)
    made(loose / "x.kron", jobs("a"))
    (place / "link").symlink_to("loose")
    found = read(loose, place / "link")
    assert [(finding.path, finding.code) for finding in found.findings] == [
        (str(loose), Code.FILE_WRITABLE),
        (str(place / "link"), Code.FILE_SYMLINK),
    ]
    assert names_of(found) == []
    assert names_of(
        load([str(loose), str(place / "link")], own_access(insecure=True)).checked()
    ) == ["x:a", "x:a"]


def test_what_is_no_file_in_a_directory_is_an_error(place: Path) -> None:
    made_directory(place / "a.kron")
    os.mkfifo(place / "b.kron")
    (place / "c.kron").symlink_to("none")
    made(place / "d.kron", jobs("a"))
    assert [(Path(f.path).name, f.code) for f in read(place).findings] == [
        ("a.kron", Code.FILE_KIND),
        ("b.kron", Code.FILE_KIND),
        ("c.kron", Code.FILE_SYMLINK),
    ]


# Limits


def test_the_limit_of_jobs_holds_for_all_files_together(place: Path) -> None:
    made(place / "x.kron", jobs("a", "b"))
    made(place / "y.kron", jobs("c", "d"))
    made(place / "z.kron", b"# nothing\n")
    assert len(list(read(place, limits=Limits(jobs=4)).checked().entries)) == 4
    found = read(place, limits=Limits(jobs=3))
    (finding,) = found.findings
    assert (finding.code, Path(finding.path).name, finding.line) == (Code.LIMIT, "y.kron", 2)
    assert names_of(found) == ["x:a", "x:b", "y:c"]


def test_the_message_names_the_limit_of_jobs_and_not_what_was_left_of_it(place: Path) -> None:
    made(place / "x.kron", jobs("a", "b"))
    made(place / "y.kron", jobs("c", "d"))
    (finding,) = read(place, limits=Limits(jobs=3)).findings
    assert finding.message == "there are more than 3 jobs"


def test_the_limit_of_a_file_holds_for_each(place: Path) -> None:
    made(place / "x.kron", jobs("a"))
    made(place / "y.kron", jobs("a") + b"# " + b"x" * 100)
    found = read(place, limits=Limits(file_bytes=100))
    (finding,) = found.findings
    assert (finding.code, Path(finding.path).name, finding.line) == (Code.LIMIT, "y.kron", 0)
    assert names_of(found) == ["x:a"]
