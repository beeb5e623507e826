"""krontab lint: every finding in every format, and what makes it fail.

Which warnings there are is tested in tests/lint.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kron.lint import Advice
from tests.krontab.command import AT, Krontab
from tests.krontab.files import GOOD, WARNED, WRONG

FORMATS = ("text", "json", "short", "sarif", "github")
SHORT = re.compile(r"(?P<path>[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<code>[a-z-]+) (?P<text>.+)")
GITHUB = re.compile(r"::(error|warning) ([^:]+)::(.+)")


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("good.kron", GOOD)
    krontab.write("warned.kron", WARNED)
    krontab.write("wrong.kron", WRONG)
    return krontab


def lint(krontab: Krontab, *words: str) -> Any:
    return krontab("lint", "--at", AT, *words)


def findings(krontab: Krontab, *words: str) -> Any:
    return lint(krontab, *words, "--format", "json").json["findings"]


def test_a_good_file_is_told_in_one_line(krontab: Krontab) -> None:
    ran = lint(krontab, "--file", "good.kron", "--strict").fine()
    assert ran.out == "0 errors, 0 warnings in 2 jobs of 1 file\n"


def test_nothing_to_read_is_nothing_wrong(krontab: Krontab) -> None:
    krontab.write("empty.kron", "")
    assert lint(krontab, "--file", "empty.kron").fine().out == (
        "0 errors, 0 warnings in 0 jobs of 1 file\n"
    )


def test_a_finding_is_told_with_place_code_line_carets_and_fix(krontab: Krontab) -> None:
    ran = lint(krontab, "--file", "wrong.kron")
    assert (ran.code, ran.err) == (1, "")
    path = krontab.path("wrong.kron")
    head, line, carets = ran.lines[:3]
    assert head == f'{path}:1:3: error: hour: "25" is not between 0 and 23 [cron-field]'
    assert (line, carets) == ("  0 25 * * * name=late command=/bin/true", "    ^^")
    assert '  fix: did you mean "name"?' in ran.lines
    assert ran.lines[-1].endswith("in 0 jobs of 1 file")


@pytest.mark.parametrize("form", FORMATS)
def test_warnings_fail_only_if_they_shall(krontab: Krontab, form: str) -> None:
    words = ("--file", "warned.kron", "--format", form)
    assert lint(krontab, *words).code == 0
    assert lint(krontab, *words, "--strict").code == 1
    assert lint(krontab, *words).out == lint(krontab, *words, "--strict").out


@pytest.mark.parametrize("form", FORMATS)
def test_errors_fail_in_every_format_and_go_to_standard_output(krontab: Krontab, form: str) -> None:
    ran = lint(krontab, "--file", "wrong.kron", "--format", form)
    assert (ran.code, ran.err) == (1, "")
    assert "25" in ran.out


@pytest.mark.parametrize("form", ["short", "github"])
def test_nothing_wrong_is_nothing_said_to_a_program(krontab: Krontab, form: str) -> None:
    assert lint(krontab, "--file", "good.kron", "--format", form).fine().out == ""


def test_short_is_one_line_a_finding_that_editors_read(krontab: Krontab) -> None:
    expected = findings(krontab, "--file", "wrong.kron", "--file", "missing.kron")
    lines = lint(
        krontab, "--file", "wrong.kron", "--file", "missing.kron", "--format", "short"
    ).lines
    assert len(lines) == len(expected) > 2
    for line, finding in zip(lines, expected, strict=True):
        match = SHORT.fullmatch(line)
        assert match is not None
        assert match["path"] == finding["path"]
        assert int(match["line"]) == (finding["line"] or 1)
        assert int(match["column"]) == (finding["column"] or 1)
        assert match["code"] == finding["code"]
        assert match["text"].startswith(finding["message"])
        assert finding["fix"] in match["text"]


def test_github_gets_annotations_with_everything_escaped(krontab: Krontab) -> None:
    krontab.write("odd,name:100%.kron", "0 25 * * * name=x command=y\n")
    ran = lint(krontab, "--file", "odd,name:100%.kron", "--format", "github")
    match = GITHUB.fullmatch(ran.lines[0])
    assert match is not None
    assert match[1] == "error"
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    assert unquote(properties["file"]) == "odd,name:100%.kron"  # below here, so from here
    assert (properties["line"], properties["col"], properties["endColumn"]) == ("1", "3", "5")
    assert unquote(properties["title"]) == "krontab lint: cron-field"
    warned = lint(krontab, "--file", "warned.kron", "--format", "github")
    assert all(line.startswith("::warning file=warned.kron,") for line in warned.lines)


def test_a_file_elsewhere_is_annotated_with_its_whole_path(krontab: Krontab) -> None:
    path = Path(krontab.home / "elsewhere.kron")
    path.write_text("x\n")
    path.chmod(0o644)
    ran = lint(krontab, "--file", str(path), "--format", "github")
    assert ran.lines[0].startswith(f"::error file={path},line=1,")
    sarif = lint(krontab, "--file", str(path), "--format", "sarif").json
    location = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == f"file://{path}"


def test_sarif_has_what_code_scanning_asks_for(krontab: Krontab) -> None:
    """The required keys of SARIF 2.1.0, and those that code scanning shows."""
    words = ("--file", "wrong.kron", "--file", "warned.kron", "--file", "missing.kron")
    log = lint(krontab, *words, "--format", "sarif").json
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    assert "sarif" in log["$schema"]
    (run,) = log["runs"]
    assert set(run) == {"tool", "columnKind", "results"}
    assert run["columnKind"] in ("unicodeCodePoints", "utf16CodeUnits")
    driver = run["tool"]["driver"]
    assert driver["name"] == "krontab lint"
    assert driver["version"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(rules) == len(set(rules))
    expected = findings(krontab, *words)
    assert len(run["results"]) == len(expected)
    assert {result["level"] for result in run["results"]} == {"error", "warning"}
    for result, finding in zip(run["results"], expected, strict=True):
        assert set(result) == {"ruleId", "ruleIndex", "level", "message", "locations"}
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding["code"]
        assert result["level"] == finding["severity"]
        assert result["message"]["text"].startswith(finding["message"])
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == Path(finding["path"]).name
        if finding["line"] is None:
            assert "region" not in place
            continue
        region = place["region"]
        assert set(region) == {"startLine", "startColumn", "endColumn"}
        assert region["startLine"] == finding["line"]
        assert region["startColumn"] == finding["column"]
        assert region["endColumn"] > region["startColumn"] >= 1


def test_sarif_escapes_names_of_files(krontab: Krontab) -> None:
    krontab.write("ä b#c?.kron", "x\n")
    log = lint(krontab, "--file", "ä b#c?.kron", "--format", "sarif").json
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "%C3%A4%20b%23c%3F.kron"


def test_sarif_of_nothing_wrong_has_no_results(krontab: Krontab) -> None:
    log = lint(krontab, "--file", "good.kron", "--format", "sarif").fine().json
    assert log["runs"][0]["results"] == []


def test_json_counts_what_it_lists(krontab: Krontab) -> None:
    words = ("--file", "wrong.kron", "--file", "warned.kron", "--file", "good.kron")
    document = lint(krontab, *words, "--format", "json").json
    severities = [finding["severity"] for finding in document["findings"]]
    assert document["errors"] == severities.count("error") > 0
    assert document["warnings"] == severities.count("warning") > 0
    assert document["jobs"] == 3
    assert document["files"] == [krontab.path(f"{n}.kron") for n in ("wrong", "warned", "good")]
    assert document["at"] == AT


def test_findings_are_in_the_order_of_files_lines_and_columns(krontab: Krontab) -> None:
    krontab.write("d/b.kron", WRONG + WARNED + WRONG)
    krontab.write("d/a.kron", WARNED + WRONG)
    found = findings(krontab, "--file", "d")
    places = [(f["path"], f["line"], f["column"]) for f in found]
    assert places == sorted(places)
    assert len({place[0] for place in places}) == 2


@pytest.mark.heavy
def test_thousands_of_errors_are_counted_and_the_first_are_told(krontab: Krontab) -> None:
    krontab.write("junk.kron", "0 25 * * * name=x command=y\n" * 3_000)
    document = lint(krontab, "--file", "junk.kron", "--format", "json").json
    assert document["errors"] == 3_000
    assert len(document["findings"]) == 1_000
    shown = lint(krontab, "--file", "junk.kron").lines
    assert shown[-2:] == [
        "... and 2,000 more errors",
        "3,000 errors, 0 warnings in 0 jobs of 1 file",
    ]


def test_a_warning_can_be_left_out_by_its_code(krontab: Krontab) -> None:
    codes = {finding["code"] for finding in findings(krontab, "--file", "warned.kron")}
    assert codes
    ignored = [word for code in codes for word in ("--ignore", code)]
    assert findings(krontab, "--file", "warned.kron", *ignored) == []
    assert lint(krontab, "--file", "warned.kron", *ignored, "--strict").code == 0


def test_an_error_cannot_be_left_out(krontab: Krontab) -> None:
    ran = lint(krontab, "--file", "wrong.kron", "--ignore", "cron-field")
    assert ran.code in (1, 2)
    assert 'no warning has the code "cron-field"' in ran.err


def test_an_unknown_code_is_answered_with_the_one_that_is_meant(krontab: Krontab) -> None:
    code = Advice.COMMAND_MISSING
    ran = lint(krontab, "--file", "good.kron", "--ignore", code[:-1])
    assert f'did you mean "{code}"?' in ran.err


def test_another_host_is_not_looked_at(krontab: Krontab) -> None:
    assert findings(krontab, "--file", "warned.kron", "--no-host") == []


def test_standard_input_is_linted_for_editors(krontab: Krontab) -> None:
    words = ("lint", "--file", "-", "--format", "short", "--at", AT)
    ran = krontab(*words, given=WRONG)
    assert ran.code == 1
    assert ran.lines[0].startswith("-:1:3: cron-field ")
    assert krontab.process(*words, given=WRONG) == ran


def test_nothing_to_check_is_said(krontab: Krontab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kron.jobs.configuration.SYSTEM_DIRECTORY", "/nonexistent")
    ran = lint(krontab)
    assert (ran.code, ran.out) == (0, "0 errors, 0 warnings in 0 jobs of 0 files\n")
    assert "no krontab file in" in ran.err
