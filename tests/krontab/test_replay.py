"""krontab replay: the command around kron.logs.replay."""

from __future__ import annotations

import gzip

import pytest

from kron.logs.json_lines import write_json
from kron.logs.text import read_text
from tests.krontab.command import Krontab
from tests.krontab.files import log

TRUE = log()
FALSE = log(chosen="2026-03-01T02:32:21Z")
NO_EVENT = "this line is no event\n"
SUMMARY = "1 decisions in 1 lines: 1 agree, 0 do not, 0 cannot be recomputed\n"


def as_json(text: str) -> str:
    return "".join(f"{write_json(read_text(line))}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(TRUE.encode(), id="text"),
        pytest.param(as_json(TRUE).encode(), id="json"),
        pytest.param(gzip.compress(TRUE.encode()), id="gzip"),
    ],
)
def test_a_true_log_agrees(krontab: Krontab, data: bytes) -> None:
    krontab.write("log", data)
    assert krontab("replay", "log").fine().out == SUMMARY
    document = krontab("replay", "log", "--format", "json").fine().json
    assert (document["ok"], document["findings"], document["findings_total"]) == (True, [], 0)
    assert document["counts"]["agreed"] == document["counts"]["decisions"] == 1


def test_a_false_log_does_not_and_says_where(krontab: Krontab) -> None:
    krontab.write("log", TRUE + FALSE)
    ran = krontab("replay", "log")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines[0].startswith("log: line 2: decision of prod db-backup, ")
    assert "1 do not" in ran.lines[-1]
    document = krontab("replay", "log", "--format", "json").json
    assert (document["ok"], document["findings_total"]) == (False, 1)
    (finding,) = document["findings"]
    assert (finding["line"], finding["kind"], finding["field"]) == (2, "mismatch", "chosen")
    assert finding["logged"] == "2026-03-01T02:32:21Z"
    assert finding["expected"] == "2026-03-01T02:32:20Z"


def test_a_line_that_is_no_event_is_told(krontab: Krontab) -> None:
    krontab.write("log", NO_EVENT)
    document = krontab("replay", "log", "--format", "json").json
    assert document["counts"]["unreadable"] == 1
    assert document["findings"][0]["kind"] == "unreadable"


def test_findings_are_counted_though_not_all_are_printed(krontab: Krontab) -> None:
    krontab.write("log", NO_EVENT * 250)
    ran = krontab("replay", "log")
    assert len(ran.lines) == 100 + 2
    assert ran.lines[-2] == "... and 150 more (--most prints more)"
    assert len(krontab("replay", "log", "--most", "1000").lines) == 251
    document = krontab("replay", "log", "--most", "3", "--format", "json").json
    assert (len(document["findings"]), document["findings_total"]) == (3, 250)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(range(256)) * 100, id="binary"),
        pytest.param(gzip.compress(TRUE.encode())[:-9], id="torn-gzip"),
        pytest.param(b"\x1f\x8b\x08\x00", id="head-of-a-gzip"),
        pytest.param(b"x" * 2_000_000, id="one-long-line"),
        pytest.param(b"{" * 50_000 + b"\n", id="nested-json"),
        pytest.param(b"\xed\xa0\x80\n", id="surrogates"),
    ],
)
def test_a_hostile_log_is_no_traceback(krontab: Krontab, data: bytes) -> None:
    krontab.write("log", data)
    for words in (("log",), ("log", "--format", "json")):
        ran = krontab("replay", *words)
        assert ran.code == (1 if data else 0)
        assert len(ran.out) < 100_000


def test_a_log_may_come_through_a_pipe(krontab: Krontab) -> None:
    assert krontab.process("replay", "-", given=TRUE).fine().out == SUMMARY


def test_nothing_in_a_log_is_obeyed_by_a_terminal(krontab: Krontab) -> None:
    krontab.write("log", "\x1b[31m event=decision\n" + FALSE.replace("prod ", "\x1b[2J "))
    assert "\x1b" not in krontab("replay", "log").out
