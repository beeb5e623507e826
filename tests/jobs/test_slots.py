"""Slots: names that jobs share, and the lines that give them a size."""

from __future__ import annotations

from pathlib import Path

import pytest

from kron import Code, Limits
from kron.jobs.configuration import Configuration, load
from kron.jobs.document import Document, read_document
from kron.jobs.line import LineReader
from kron.jobs.source import own_access
from tests.jobs.test_source import made, place

__all__ = ["place"]  # a fixture

JOB = "0 2 * * * name={} command=x slots={}"


def read(*texts: str, path: str = "/a.kron") -> Document:
    return read_document("\n".join(texts).encode(), path)


def errors(*documents: Document) -> list[tuple[str, int, str, str]]:
    """The file and line of each error, what it points at, and what it says."""
    return [
        (each.path, each.line, each.text[each.start : each.end], each.message)
        for each in Configuration(documents).findings
    ]


def test_a_size_holds_for_all_files_wherever_its_line_is() -> None:
    first = read(JOB.format("a", "database"), JOB.format("b", "disk,database"))
    second = read("defaults: slots=disk", "0 3 * * * name=c command=x", path="/b.kron")
    third = read(
        "# sizes", " slots: database=1\tdisk=1000000", "slots: disk=1000000", path="/c.kron"
    )
    configuration = Configuration((first, second, third)).checked()
    assert configuration.slots == {"database": 1, "disk": 1_000_000}
    assert [entry.task.slots for entry in configuration.entries] == [
        ("database",),
        ("disk", "database"),
        ("disk",),
    ]


def test_two_sizes_for_a_slot_are_an_error_at_the_second_of_them() -> None:
    found = errors(read("slots: a=1 b=2 a=1"), read("", "slots: b=2 a=3", path="/b.kron"))
    assert found == [("/b.kron", 2, "a=3", "the slot a has the size 1 at /a.kron:1")]


def test_a_slot_without_a_size_is_an_error_at_each_line_that_names_it() -> None:
    document = read(
        *("slots: database=1", JOB.format("a", "databse"), JOB.format("b", "x,database,y")),
        *("defaults: slots=z", "0 3 * * * name=c command=x", "0 3 * * * name=d command=x"),
    )
    lacking = "no line of the files that are read gives the slot {} a size"
    assert errors(document) == [
        ("/a.kron", 2, "slots=databse", lacking.format("databse")),
        ("/a.kron", 3, "slots=x,database,y", lacking.format("x")),
        ("/a.kron", 3, "slots=x,database,y", lacking.format("y")),
        ("/a.kron", 4, "slots=z", lacking.format("z")),
    ]
    first, second, *_ = Configuration((document,)).findings
    assert first.fix == 'did you mean "database"?'
    assert second.fix == "add a line such as slots: x=1"
    assert {each.code for each in Configuration((document,)).findings} == {Code.SLOT}


def test_what_cannot_be_read_is_not_blamed_on_the_jobs(place: Path) -> None:
    jobs = JOB.format("a", "database")
    (error,) = errors(read("slots: database=0", jobs))
    assert error[1] == 1
    (missing,) = load(
        [str(made(place / "a.kron", jobs.encode())), "/none.kron"], own_access()
    ).findings
    assert missing.code == Code.FILE_MISSING


def test_a_part_of_the_files_may_name_a_slot_of_another() -> None:
    part = Configuration((read(JOB.format("a", "database")),), is_whole=False)
    assert part.findings == []


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("slots:", ["slots:"]),
        ("slots:a=1", ["slots:a=1"]),
        ("slots: a", ["a"]),
        ("slots: a=1 # shared", ["#", "shared"]),
        ("slots: a= b=0 c=-1 d=1.5 e=1000001 f=٢ g=1", ["", "0", "-1", "1.5", "1000001", "٢"]),
        ("slots: A=1 é=1 -a=1 a/b=1 =1 @policy(deadline=1h)=1", None),
    ],
)
def test_every_error_of_a_line_is_reported_where_it_is(line: str, marked: list[str] | None) -> None:
    found = [text for _, number, text, _ in errors(read(line)) if number == 1]
    assert found == (marked or ["A", "é", "-a", "a/b", "", "@policy(deadline"])


def test_a_line_has_the_limits_of_every_line_and_a_file_those_of_jobs() -> None:
    reader = LineReader(Limits(jobs=2))
    document = read_document(b"slots: a=1 b=1 c=1", "/a.kron", reader=reader)
    assert [each.code for each in document.findings] == [Code.LIMIT]
    assert [each.code for each in read("slots: a=1\x07").findings] == [Code.TEXT]


def test_no_chosen_time_depends_on_slots() -> None:
    plain, shared = (
        read("slots: a=1", f"daily name=a command=x{more}").entries[0] for more in ("", " slots=a")
    )
    assert (plain.job, plain.schedule_text) == (shared.job, shared.schedule_text)
