"""Whatever a file holds, the answer is an error with its place, in bounded time."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kron.core.limits import DEFAULT_LIMITS
from kron.krontab.workflows.compilation import compile_workflows
from kron.krontab.workflows.source import MOST_NODES
from kron.yaml_text.tree import DEEPEST
from tests.krontab.workflows.clone import Clone
from tests.soak import examples

YML = "w.yml"
HEAD = "on:\n  schedule: daily\n"
FULL = DEFAULT_LIMITS.file_bytes
LAUGHS = "".join(
    f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 10)}]\n" if i else "b0: &b0 [x]\n" for i in range(40)
)
PIECES = st.one_of(
    st.sampled_from(["\n  ", "\n    ", "\n    - ", "cron: ", "daily", "weekly", "0 5 * * 1", " "]),
    st.sampled_from(["{", "}", "[", "]", ",", "'", '"', "#", " # fuzzy: ", ";", "|", ">-", "- "]),
    st.sampled_from(["on:", "schedule:", "&a ", "*a", "? ", ": ", "! ", "---", "\t", "\r\n", "\n"]),
    st.sampled_from(["<<", "timezone: UTC", "é", "\\", "%", "@"]),
)
ENOUGH_S = 10.0
"""Half a second on an idle machine; a quadratic pass would take minutes."""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b"\x00\x01\x02", ("text", 1, 1), id="binary"),
        pytest.param(b"\xff\xfeo\x00n\x00", ("text", 1, 1), id="utf-16"),
        pytest.param(b"name: caf\xe9\n" + HEAD.encode(), ("text", 1, 10), id="latin-1"),
        pytest.param(b"a: \xed\xa0\x80\n", ("text", 1, 4), id="surrogate"),
        pytest.param(b"on:\n  # \x1b[31m\n", ("text", 2, 5), id="escape-sequence"),
        pytest.param("# a\u2028on: {schedule: daily}\n".encode(), ("text", 1, 4), id="separator"),
        pytest.param(b"on:\r  schedule: daily\r", ("text", 1, 4), id="carriage-returns"),
        pytest.param(b"on: " + b"[" * 1_000_000, ("limit", 1, 104), id="a-million-brackets"),
        pytest.param(b"- " * 1_000_000, ("limit", 1, 2 * DEEPEST + 1), id="a-million-dashes"),
        pytest.param(b"? " * 1_000_000, ("limit", 1, 2 * DEEPEST + 1), id="a-million-keys"),
        pytest.param(b"{a: " * 100_000, ("limit", 1, 4 * DEEPEST + 1), id="mappings"),
        pytest.param(
            b"on:\n" + b"- a\n" * 200_000, ("limit", MOST_NODES - 1, 3), id="too-many-nodes"
        ),
        pytest.param(b"x" * (FULL + 1), ("limit", None, None), id="too-long"),
        pytest.param(b'on: "' + b"x" * (FULL - 10), ("yaml", 1, FULL - 4), id="an-open-string"),
        pytest.param(
            HEAD.replace("daily", "daily around " + "x" * 7_000_000).encode(),
            ("limit", 2, 13),
            id="a-long-schedule",
        ),
        pytest.param(
            f"{LAUGHS}on:\n  schedule: *b39\n".encode(), ("schedule-form", 40, 12), id="laughs"
        ),
        pytest.param(b"on:\n  schedule: &s [*s]\n", ("schedule-form", 2, 17), id="itself"),
        pytest.param(b"a: &a\n  b: *a\non: *a\n", None, id="a-circle"),
        pytest.param(b"!!python/object/apply:os.system ['false']\n", None, id="a-python-object"),
        pytest.param(b"%FOO\non: x\n", ("yaml", 1, None), id="directive"),
    ],
)
def test_hostile_yaml_is_an_error_with_its_place(
    data: bytes, found: tuple[str, int | None, int | None] | None, clone: Clone
) -> None:
    started = time.monotonic()
    findings = clone.findings(YML, data)
    assert time.monotonic() - started < ENOUGH_S
    if found is None:
        assert findings == []
        return
    code, line, column = findings[0]
    assert (code, line) == found[:2]
    assert found[2] is None or column == found[2]
    ran = clone.compile(YML)
    assert ran.code == 1
    assert len(ran.err) < 20_000
    assert "\x1b" not in ran.err


@pytest.mark.heavy
@pytest.mark.parametrize(
    "filler",
    [
        pytest.param(b"\n", id="blank-lines"),
        pytest.param(b"#\n", id="comments"),
        pytest.param(b"# " + b"x" * 1_000_000 + b"\n", id="long-comments"),
        pytest.param(b" " * 1_000_000 + b"\n", id="spaces"),
        pytest.param(b"x: '" + b"'' " * 2_700_000 + b"'\n", id="a-string"),
    ],
)
def test_a_file_of_the_greatest_length_is_compiled_in_time(filler: bytes, clone: Clone) -> None:
    room = FULL - len(HEAD) - 100
    data = HEAD.encode() + filler * (room // len(filler))
    path = clone.write(YML, data)
    started = time.monotonic()
    ran = clone.compile("--write", YML)
    assert time.monotonic() - started < ENOUGH_S
    assert ran.code == 0
    assert path.read_bytes()[-1000:] == data[-1000:]
    assert path.stat().st_size == len(data) + len('\n    - cron: "" # fuzzy: ') + _cron_size(
        ran.out
    )


def _cron_size(out: str) -> int:
    (row,) = (line for line in out.splitlines() if line.startswith("daily "))
    return len(" ".join(row.split()[1:6])) - 1  # the space before the bare scalar goes


@pytest.mark.heavy
def test_thousands_of_schedules_on_one_line_are_compiled_in_time(clone: Clone) -> None:
    count = 2_000
    clone.write(YML, "on: {schedule: [" + "{cron: daily}, " * count + "]}\n")
    started = time.monotonic()
    ran = clone.compile("--write", "--no-heatmap", YML)
    assert time.monotonic() - started < ENOUGH_S
    assert (ran.code, ran.lines[-1]) == (0, f"{count:,} schedules in 1 file: 1 file written")
    assert clone.compile("--check", YML).code == 0


def test_a_file_too_long_in_a_directory_is_only_doubtful(clone: Clone) -> None:
    clone.write("data.yml", b"x" * (FULL + 1))
    clone.write(YML, HEAD)
    ran = clone.compile("--write", "--no-heatmap", ".")
    assert ran.code == 0
    assert "data.yml: warning: data.yml is longer than 8388608 bytes [limit]" in ran.err


@pytest.mark.heavy
def test_the_parser_in_python_keeps_to_the_same_limits(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert clone.findings(YML, "on: " + "[" * 100_000) == [("limit", 1, 104)]
    assert clone.findings(YML, "- " * 100_000) == [("limit", 1, 2 * DEEPEST + 1)]


@given(st.data())
@examples(400)
def test_no_text_makes_it_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = "on:\n  schedule:" + "".join(data.draw(st.lists(PIECES, max_size=25)))
    root = tmp_path_factory.getbasetemp() / "any"
    (root / ".git").mkdir(parents=True, exist_ok=True)
    path = root / YML
    path.write_bytes(text.encode())
    compiled = compile_workflows([str(path)], "octo/tools")
    if compiled.errors:
        return
    for workflow in compiled.outdated:
        path.write_bytes(workflow.replacement().after)
    again = compile_workflows([str(path)], "octo/tools")
    assert not again.errors
    assert not again.outdated
