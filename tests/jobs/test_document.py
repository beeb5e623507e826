"""A krontab file as text: its jobs, all of its errors, and edits that lose nothing."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron import Code, KronError, Limits
from kron.core.errors import SHOWN_PROBLEMS
from kron.jobs.document import KEPT_FINDINGS, Document, read_document
from kron.jobs.finding import Finding, Severity
from kron.jobs.line import LineReader
from tests.jobs.lines import Line, lines
from tests.soak import examples

PATH = "/etc/krond.d/x.kron"
CRON = "0 2 * * *"


def job(name: str, command: str = "/bin/true") -> str:
    return f"{CRON} name={name} command={command}"


def document(text: str | bytes, limits: Limits | None = None) -> Document:
    data = text if isinstance(text, bytes) else text.encode()
    return read_document(data, PATH, reader=LineReader(limits) if limits else None)


def names(text: str | bytes) -> list[str]:
    """The names of the jobs of a file without errors."""
    read = document(text)
    assert not read.findings, str(read.findings[0])
    return [entry.name for entry in read.entries]


def found(text: str | bytes, limits: Limits | None = None) -> list[tuple[int, str, str]]:
    """Each finding: the line, the code, and the characters that it marks."""
    return [
        (finding.line, finding.code, finding.text[finding.start : finding.end])
        for finding in document(text, limits).findings
    ]


# What a file says


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("\n\n", [], id="empty lines"),
        pytest.param("# a\n  # b\n\t#\n \t \n", [], id="comments and blanks"),
        pytest.param(f"{job('a')}\n", ["a"], id="one"),
        pytest.param(job("a"), ["a"], id="no final newline"),
        pytest.param(f"# x\n\n{job('b')}\n  {job('a')}  \n", ["b", "a"], id="in their order"),
        pytest.param(f"#{job('b')}\n{job('a')}\n", ["a"], id="a job commented out"),
        pytest.param(f"# a\u2028b\fc\vd\x85e\n{job('a')}", ["a"], id="comments with line breaks"),
        pytest.param(f"# \x00\x1b[31m\n{job('a')}", ["a"], id="control characters in a comment"),
        pytest.param(f"# caf\u00e9\n{job('a')}", ["a"], id="letters of the world"),
    ],
)
def test_a_file_has_a_job_a_line(text: str, expected: list[str]) -> None:
    assert names(text) == expected
    assert document(text).text == text


def test_an_entry_knows_its_file_its_line_and_its_identity() -> None:
    text = f"# two jobs\n{job('a')}\n\n{job('b')}\n"
    first, second = read_document(text.encode(), PATH, node="web-1").entries
    assert (first.path, first.line, first.identity) == (PATH, 2, f"web-1/{PATH}:a")
    assert (second.path, second.line, second.identity) == (PATH, 4, f"web-1/{PATH}:b")


def test_equal_schedules_of_a_file_share_one_value() -> None:
    first, second = document(f"{job('a')}\n{job('b')}\n").entries
    assert first.schedule is second.schedule


def test_files_read_with_one_reader_share_their_schedules() -> None:
    reader = LineReader()
    first, second = (
        read_document(job("a").encode(), path, reader=reader).entries[0]
        for path in ("/x.kron", "/y.kron")
    )
    assert first.schedule is second.schedule


def test_progress_is_told_of_every_line() -> None:
    told: list[int] = []
    read_document(f"# x\n\n{job('a')}\nbad\n".encode(), PATH, progress=told.append)
    assert sum(told) == 5  # the last one is empty


def test_a_job_is_found_by_its_name() -> None:
    read = document(f"{job('db-backup')}\n{job('b')}\n")
    assert read.entry("b").line == 2
    with pytest.raises(KronError) as caught:
        read.entry("db-bakup")
    assert caught.value.code is Code.JOB_UNKNOWN
    assert caught.value.message == f'{PATH} has no job "db-bakup"'
    assert caught.value.fix == 'did you mean "db-backup"?'


@examples(60)
@given(st.lists(lines(), max_size=4))
def test_random_lines_make_a_file(drawn: list[Line]) -> None:
    unique = {line.values("name")[0]: line for line in drawn}
    text = "\n".join(f"# {number}\n{line.text}" for number, line in enumerate(unique.values()))
    assert names(text) == list(unique)


# What is wrong with a file


def test_all_errors_of_a_file_are_told_in_order() -> None:
    text = "\n".join(
        [
            "# a comment",
            f"61 25 * * * name=A command=b nice=99 {'x=1'}",
            job("good"),
            f"{CRON} name=c",
            job("good"),
            "daily around 3pm utc+99 name=d command=e",
        ]
    )
    assert found(text) == [
        (2, Code.CRON_FIELD, "61"),
        (2, Code.CRON_FIELD, "25"),
        (2, Code.FIELD_VALUE, "A"),
        (2, Code.FIELD_VALUE, "99"),
        (2, Code.FIELD_UNKNOWN, "x"),
        (4, Code.FIELD_MISSING, ""),
        (5, Code.NAME_REPEATED, "name=good"),
        (6, Code.OFFSET_OUT_OF_RANGE, "utc+99"),
    ]
    assert [entry.name for entry in document(text).entries] == ["good"]
    assert document(text).unshown == 0


def test_a_finding_is_shown_as_compilers_do_it() -> None:
    (finding,) = document(f"\n{job('a')} timeout=2d\n").findings
    assert finding.severity is Severity.ERROR
    assert finding.place == f"{PATH}:2:44"
    assert str(finding) == (
        f'{PATH}:2:44: error: unknown unit "d" in the duration "2d" (write 2d as 48h) [duration]\n'
        "  0 2 * * * name=a command=/bin/true timeout=2d\n"
        "                                             ^^"
    )


def test_a_finding_about_a_whole_file_has_no_line() -> None:
    error = KronError(Code.FILE_MISSING, "there is no /x", fix="make it")
    finding = Finding.of_error(error, "/x")
    assert finding.place == "/x"
    assert str(finding) == "/x: error: there is no /x (make it) [file-missing]"


def test_a_name_is_taken_once_in_a_file() -> None:
    text = f"{job('a')}\n# x\n{job('a', '/bin/false')}\n{job('a')}\n"
    read = document(text)
    assert [(finding.line, finding.message) for finding in read.findings] == [
        (3, 'the name "a" is taken by line 1'),
        (4, 'the name "a" is taken by line 1'),
    ]
    assert read.findings[0].fix == "names are unique within a file"
    assert read.entry("a").line == 1


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        pytest.param(job("a"), "name=a", id="plain"),
        pytest.param(
            f'{CRON} name="a" command=b',
            'name="a"',
            id="quoted",
        ),
        pytest.param(
            f'{CRON} description="name=x" command=b name=a',
            "name=a",
            id="behind a description that speaks of it",
        ),
        pytest.param(
            f"{CRON} @seed(daily,salt=name=x) env=name=y command=b name=a",
            "name=a",
            id="behind a salt and a variable",
        ),
    ],
)
def test_a_repeated_name_is_marked(line: str, marked: str) -> None:
    assert found(f"{job('a')}\n{line}\n") == [(2, Code.NAME_REPEATED, marked)]


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        pytest.param(b"\xef\xbb\xbf# x\n", "remove it", id="a byte order mark"),
        pytest.param(b"# x\r\n", "remove them", id="Windows line ends"),
    ],
)
def test_no_command_edits_standard_input(data: bytes, fix: str) -> None:
    (finding,) = read_document(data, "-").findings
    assert finding.fix == fix


def test_a_line_with_an_error_takes_no_name() -> None:
    text = f"{CRON} name=a command=b nice=99\n{job('a')}\n"
    assert found(text) == [(1, Code.FIELD_VALUE, "99")]


@pytest.mark.parametrize(
    ("data", "line", "column", "message", "fix"),
    [
        pytest.param(
            b"\xef\xbb\xbf# x\n",
            1,
            1,
            "the file begins with a byte order mark",
            f"remove it: sed -i '1s/^\\xef\\xbb\\xbf//' {PATH}",
            id="a byte order mark",
        ),
        pytest.param(
            b"# x\r\n0 0 * * * name=a command=b\r\n",
            1,
            4,
            "the lines end with a carriage return, as on Windows",
            f"remove them: sed -i 's/\\r$//' {PATH}",
            id="Windows line ends",
        ),
        pytest.param(
            b"\r\n", 1, 1, "the lines end with a carriage return", "remove them", id="a blank one"
        ),
        pytest.param(
            "# x\n# caf\u00e9\n".encode("latin-1"),
            2,
            6,
            "the byte 0xe9 is not UTF-8",
            f"convert it, for example with iconv -f latin1 -t utf-8 {PATH}",
            id="Latin-1",
        ),
        pytest.param(
            "# \u6f22 ".encode() + b"\xff",
            1,
            5,
            "the byte 0xff is not UTF-8",
            "convert it",
            id="behind a wide character",
        ),
        pytest.param("# x".encode("utf-16"), 1, 1, "the byte 0xff is not UTF-8", "", id="UTF-16"),
        pytest.param(b"# \xc3", 1, 3, "the byte 0xc3 is not UTF-8", "", id="cut off"),
        pytest.param(b"\n# \xed\xa0\x80", 2, 3, "the byte 0xed", "", id="half a character"),
        pytest.param(b"# \xc0\x80", 1, 3, "the byte 0xc0", "", id="NUL in too many bytes"),
    ],
)
def test_a_file_in_a_foreign_encoding_has_one_error(
    data: bytes, line: int, column: int, message: str, fix: str
) -> None:
    (finding,) = document(data).findings
    assert (finding.code, finding.line, finding.start + 1) == (Code.TEXT, line, column)
    assert message in finding.message
    assert fix in finding.fix
    assert document(data).entries == ()


def test_a_bad_byte_far_to_the_right_is_shown() -> None:
    (finding,) = document(b"# " + b"a" * 5_000 + b"\xe9b\n").findings
    assert (finding.line, finding.start) == (1, 5_002)
    shown, carets = str(finding).split("\n")[1:]
    assert shown.rstrip("…").endswith("aaa\ufffdb")
    assert shown[carets.index("^")] == "\ufffd"


def test_a_carriage_return_further_down_is_an_error_of_its_line() -> None:
    assert found(f"# x\n{job('a')}\r\n# y\r\n\r\n") == [(2, "text", "\r"), (4, "text", "\r")]


def test_nul_in_a_job_is_an_error_of_its_line() -> None:
    assert found(f"# \x00\n{job('a')}\x00\n") == [(2, "text", "\x00")]


# Bounds


def test_a_file_has_so_many_findings_and_a_count_of_the_others() -> None:
    read = document("x=1\n" * (KEPT_FINDINGS + 7))
    each = len(document("x=1").findings)
    assert each == 4
    assert len(read.findings) == KEPT_FINDINGS
    assert read.unshown == each * (KEPT_FINDINGS + 7) - KEPT_FINDINGS


def test_a_line_has_so_many_findings() -> None:
    assert len(document(f"{job('a')} " + "x " * 100).findings) == SHOWN_PROBLEMS


def test_jobs_beyond_the_limit_are_one_error() -> None:
    text = "\n".join(job(name) for name in "abcde")
    assert len(document(text, Limits(jobs=5)).entries) == 5
    read = document(text, Limits(jobs=3))
    (finding,) = read.findings
    assert (finding.code, finding.line) == (Code.LIMIT, 4)
    assert finding.message == "there are more than 3 jobs"
    assert [entry.name for entry in read.entries] == ["a", "b", "c"]


def test_a_file_beyond_the_limit_is_one_error() -> None:
    text = f"{job('a')}\n"
    assert len(document(text, Limits(file_bytes=len(text))).entries) == 1
    read = document(text, Limits(file_bytes=len(text) - 1))
    (finding,) = read.findings
    assert (finding.code, read.entries) == (Code.LIMIT, ())
    assert finding.message == f"the file is longer than {len(text) - 1} bytes"
    assert finding.fix == "split it into several files"


def test_a_long_line_is_an_error_of_its_own_and_the_rest_is_read() -> None:
    text = f"{job('a')}\n{job('b')} description={'x' * 100}\n{job('c')}\n"
    read = document(text, Limits(line_bytes=100))
    (finding,) = read.findings
    assert (finding.code, finding.line) == (Code.LIMIT, 2)
    assert finding.message == "the line is longer than 100 bytes"
    assert [entry.name for entry in read.entries] == ["a", "c"]


def test_a_long_comment_is_no_error() -> None:
    assert names("#" * 100_000) == []


def shown(read: Document) -> None:
    for finding in read.findings:
        str(finding).encode()
        assert finding.line >= 1
        assert 0 <= finding.start <= finding.end <= len(finding.text) + 1


@examples(300)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@example(b"\x00")
@example(b"\xff\xfe\x00")
@example(b"\n\xc3")
def test_any_bytes_are_a_document(data: bytes) -> None:
    shown(read_document(data, PATH))


@pytest.mark.heavy
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(b"x\n", id="words"),
        pytest.param(b"\n", id="newlines"),
        pytest.param(b"\x00\n", id="NUL"),
        pytest.param(b"\xff\n", id="not UTF-8"),
        pytest.param(b"#\xe2\x80\xa8\n", id="line separators"),
        pytest.param(b"=\n", id="equals signs"),
        pytest.param(b"daily \n", id="fuzzy schedules"),
        pytest.param(b"0 2 * * * name=a command=b\n", id="one name"),
        pytest.param(b"\r\n", id="carriage returns"),
        pytest.param(b'"', id="a line of quotes"),
    ],
)
def test_the_time_grows_no_faster_than_the_file(unit: bytes) -> None:
    def cost(count: int) -> float:
        least = float("inf")
        for _ in range(3):
            began = time.process_time()
            shown(read_document(unit * count, PATH))
            least = min(least, time.process_time() - began)
        return least

    # Four times as long a file may take eight times as long.
    assert cost(4_000) < 8 * max(cost(1_000), 0.040)


@pytest.mark.heavy
def test_many_jobs_take_time_in_proportion() -> None:
    def cost(count: int) -> float:
        text = "\n".join(job(f"job-{number}") for number in range(count)).encode()
        least = float("inf")
        for _ in range(3):
            began = time.process_time()
            assert len(read_document(text, PATH).entries) == count
            least = min(least, time.process_time() - began)
        return least

    assert cost(4_000) < 8 * max(cost(1_000), 0.050)


def test_a_bad_byte_behind_many_lines_costs_little_memory() -> None:
    data = b"#ab\n" * 50_000 + b"\xff"
    tracemalloc.start()
    try:
        read_document(data, PATH)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(data)


# Edits

FILES = [
    pytest.param("", id="empty"),
    pytest.param("\n", id="an empty line"),
    pytest.param("\n\n\n", id="empty lines"),
    pytest.param(f"{job('a')}\n", id="one job"),
    pytest.param(f"# jobs\n\n{job('a')}\n# end\n", id="comments"),
    pytest.param(f"  {CRON}\t name=a   command=b  \n\t\n  # x\n", id="odd spacing"),
    pytest.param(f"# a\u2028b\fc\vd\x85e\x1cf\n{job('a')}\n", id="line breaks of other kinds"),
    pytest.param(f"# x\n# y\r\n{job('a')}\n", id="a carriage return in a comment"),
    pytest.param("# caf\u00e9 \u6f22\u5b57 \U0001f600\n", id="letters of the world"),
    pytest.param("# \x00\n", id="NUL"),
]
UNENDED = [
    pytest.param("#", id="a comment"),
    pytest.param(f"# x\n{job('a')}", id="a job"),
    pytest.param(f"{job('a')}\n  ", id="blanks"),
]


@pytest.mark.parametrize(
    "text",
    [
        *FILES,
        *(pytest.param(*row.values, id=f"unended: {row.id}") for row in UNENDED),
    ],
)
def test_adding_a_job_and_removing_it_gives_the_bytes_back(text: str) -> None:
    before = document(text)
    added = document(before.with_lines(job("new")))
    assert not added.findings
    assert [entry.name for entry in added.entries] == [*names(text), "new"]
    assert added.text.startswith(text)
    assert added.without("new").encode() == text.encode()


@pytest.mark.parametrize("text", [*FILES, *UNENDED])
def test_a_job_is_added_on_a_line_of_its_own_behind_all_others(text: str) -> None:
    added = document(text).with_lines(job("new"))
    assert added.startswith(text)
    assert added.removeprefix(text).strip("\n") == job("new")


def test_several_lines_are_added_as_they_are() -> None:
    lines = f"# two\n{job('b')}\n\n  {job('c')}"
    added = document(f"{job('a')}\n").with_lines(lines)
    assert added == f"{job('a')}\n{lines}\n"
    assert names(added) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(f"{job('x')}\n", "", id="the only one"),
        pytest.param(job("x"), "", id="the only one, unended"),
        pytest.param(f"{job('x')}\n# y\n", "# y\n", id="the first"),
        pytest.param(f"# y\n{job('x')}\n# z\n", "# y\n# z\n", id="in the middle"),
        pytest.param(f"# y\n{job('x')}\n", "# y\n", id="the last"),
        pytest.param(f"# y\n{job('x')}", "# y", id="the last, unended"),
        pytest.param(f"# y\n{job('x')}\n# z", "# y\n# z", id="before an unended one"),
        pytest.param(f"\n\n{job('x')}\n\n", "\n\n\n", id="between empty lines"),
        pytest.param(f"# of x\n{job('x')}\n", "# of x\n", id="its comment stays"),
        pytest.param(f"#\u2028\f\n{job('x')}\n#\x85\n", "#\u2028\f\n#\x85\n", id="line breaks"),
    ],
)
def test_removing_a_job_takes_its_line_and_nothing_else(text: str, left: str) -> None:
    assert document(text).without("x") == left


def test_removing_a_job_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KronError) as caught:
        document(f"{job('a')}\n").without("b")
    assert caught.value.code is Code.JOB_UNKNOWN


def test_a_duplicate_shows_when_what_was_added_is_read_back() -> None:
    text = document(f"{job('a')}\n").with_lines(job("a"))
    assert found(text) == [(2, Code.NAME_REPEATED, "name=a")]


other_lines = st.one_of(
    st.just(""),
    st.sampled_from([" ", "\t", " \t"]),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=10).map(
        "#{}".format
    ),
)


@st.composite
def ended_files(draw: st.DrawFn) -> str:
    """A valid file that ends with a newline, or is empty."""
    pieces: list[str] = []
    taken: set[str] = set()
    for drawn in draw(st.lists(st.one_of(other_lines, lines()), max_size=6)):
        if isinstance(drawn, str):
            pieces.append(drawn)
        elif drawn.values("name")[0] not in taken:
            taken.add(drawn.values("name")[0])
            pieces.append(drawn.text)
    if pieces and (pieces[0].endswith("\r") or pieces[0].startswith("\ufeff")):
        pieces[0] = ""
    return "".join(f"{piece}\n" for piece in pieces)


@examples(80)
@given(text=ended_files(), new=lines(), data=st.data())
def test_edits_of_a_random_file_lose_nothing(text: str, new: Line, data: st.DataObject) -> None:
    before = document(text)
    assert not before.findings
    name = new.values("name")[0]
    if any(entry.name == name for entry in before.entries):
        assert document(before.with_lines(new.text)).findings[0].code == Code.NAME_REPEATED
    else:
        added = document(before.with_lines(new.text))
        assert added.without(name).encode() == text.encode()
        if before.entries:
            other = data.draw(st.sampled_from(before.entries))
            kept = document(added.without(other.name))
            assert kept.text.split("\n") == [
                line
                for number, line in enumerate(added.text.split("\n"), start=1)
                if number != other.line
            ]
            assert [e.replace(line=0) for e in kept.entries] == [
                e.replace(line=0) for e in added.entries if e.name != other.name
            ]
