"""krontab fuzzy: the commands around kron.fuzzy, which tests/fuzzy tests."""

from __future__ import annotations

import pytest

from tests.krontab.command import Krontab


def test_parse_prints_the_placeholder(krontab: Krontab) -> None:
    shown = krontab("fuzzy", "parse", "daily around 14:00 utc+9").fine()
    assert shown.out == "FUZZY:DAILY_AROUND:5:0 * * *\n"
    document = krontab("fuzzy", "parse", "daily around 14:00 utc+9", "--format", "json").fine().json
    assert document["placeholder"] == "FUZZY:DAILY_AROUND:5:0 * * *"
    assert document["warnings"] == []


def test_scatter_prints_the_same_cron_expression_every_time(krontab: Krontab) -> None:
    words = ("fuzzy", "scatter", "daily between 9:00 and 17:00", "--id", "owner/repo/report.md")
    shown = krontab(*words).fine().out
    assert krontab.process(*words).fine().out == shown
    document = krontab(*words, "--format", "json").fine().json
    assert f"{document['cron']}\n" == shown
    placeholder = krontab("fuzzy", "parse", words[2]).out.strip()
    assert krontab("fuzzy", "scatter", placeholder, *words[3:]).fine().out == shown


def test_warnings_go_to_standard_error_and_into_json(krontab: Krontab) -> None:
    ran = krontab("fuzzy", "parse", "bi-weekly")
    assert ran.code == 0
    assert len(ran.lines) == 1
    document = krontab("fuzzy", "parse", "bi-weekly", "--format", "json").fine().json
    assert [warning["code"] in ran.err for warning in document["warnings"]] == [True]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("dayly", "ERR-SYNTAX-001"),
        ("daily around 25:00", "ERR-TIME-001"),
        ("every 5h", "ERR-INTERVAL-002"),
        ("", ""),
        ("x" * 100_000, ""),
    ],
)
def test_what_is_wrong_is_pointed_at(krontab: Krontab, expression: str, code: str) -> None:
    for words in (("parse", expression), ("scatter", expression, "--id", "x")):
        ran = krontab("fuzzy", *words)
        assert (ran.code, ran.out) == (1, "")
        assert code in ran.err
        assert "^" in ran.err
        assert len(ran.err) < 1_000


@pytest.mark.heavy
def test_the_conformance_tests_are_passed_on_level_3(krontab: Krontab) -> None:
    shown = krontab("fuzzy", "conformance").fine()
    assert shown.lines[-1].startswith(f"{len(shown.lines) - 1} passed, 0 failed; level 3")
    document = krontab("fuzzy", "conformance", "--format", "json").fine().json
    assert (document["level"], document["failed"]) == (3, 0)
    assert document["passed"] == len(document["tests"]) == len(shown.lines) - 1
