"""docs/fuzzy.md says what the code does: tables are compared, examples are run."""

from __future__ import annotations

import pytest

import kron
from kron import fuzzy
from kron.fuzzy.interval import HOUR_STEPS, MINIMUM_MINUTES, MOST_DAYS, MOST_MINUTES
from kron.fuzzy.problem import ERR_CODES
from kron.fuzzy.scatter import TIERS, identifier_hash
from kron.fuzzy.times import ABBREVIATIONS, spelled_offset
from tests.test_docs import blocks, page, rows

PAGE = page("fuzzy.md")
IDENTIFIER = "owner/repo/path.md"


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without the marks of code."""
    return [[cell.strip("`") for cell in row] for row in rows(PAGE, heading)]


@pytest.mark.parametrize(
    ("expression", "placeholder"),
    [*table("## Forms"), *table("### Weekdays move with their time")],
)
def test_every_form_has_the_placeholder_that_is_shown(expression: str, placeholder: str) -> None:
    assert fuzzy.parse(expression).placeholder == placeholder


@pytest.mark.parametrize("line", blocks(PAGE, "fuzzy")[0].splitlines())
def test_every_line_is_a_schedule(line: str) -> None:
    assert fuzzy.is_fuzzy(line)
    fuzzy.parse_schedule(line, identity=IDENTIFIER)


def test_the_python_examples_run() -> None:
    names: dict[str, object] = {}
    examples = blocks(PAGE, "python")
    assert len(examples) == 3
    for example in examples:
        exec(example, names)


def test_every_abbreviation_is_listed_with_its_offset() -> None:
    listed = {name.lower(): offset for name, offset in table("## Times")}
    assert listed == {name: spelled_offset(offset) for name, offset in ABBREVIATIONS.items()}


def test_the_pool_is_shown_as_it_is() -> None:
    assert table("### The pool") == [
        [
            tier.name,
            str(tier.weight),
            f"{tier.hours[0]}-{tier.hours[-1]}",
            ", ".join(map(str, tier.minutes)) if len(tier.minutes) < 10 else "5-54",
            str(len(tier.slots())),
        ]
        for tier in TIERS
    ]


@pytest.mark.parametrize(("theirs", "ours"), table("## Placeholders"))
def test_the_spellings_of_the_reference_mean_what_is_shown(theirs: str, ours: str) -> None:
    assert fuzzy.scatter(theirs, IDENTIFIER) == fuzzy.scatter(ours, IDENTIFIER)


def test_every_error_code_is_listed_with_its_err_code() -> None:
    listed = {code: err_code for code, err_code, _ in table("## Errors")}
    assert listed == {str(code): err_code for code, err_code in ERR_CODES.items()}


@pytest.mark.parametrize(("code", "example"), [(row[0], row[2]) for row in table("## Errors")])
def test_every_example_of_an_error_has_its_code(code: str, example: str) -> None:
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse(example)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_the_error_message_is_what_is_printed() -> None:
    (shown,) = blocks(PAGE, "text")
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse("weekly on mondey around 25:00")
    assert shown == f"{caught.value}\n"


@pytest.mark.parametrize(("code", "example"), [row[:2] for row in table("## Warnings")])
def test_every_example_of_a_warning_has_it(code: str, example: str) -> None:
    assert code in [warning.code for warning in fuzzy.scattered(example, IDENTIFIER).warnings]


def test_every_warning_is_listed() -> None:
    codes = list(kron.Code)
    warnings = codes[codes.index(kron.Code.FIXED_INTERVAL) : codes.index(kron.Code.COLLISION)]
    assert [row[0] for row in table("## Warnings")] == warnings


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    steps = ", ".join(map(str, HOUR_STEPS[:-1])) + f" or {HOUR_STEPS[-1]}"
    text = " ".join(PAGE.split())
    assert f"are {steps}, **minutes** {MINIMUM_MINUTES} to {MOST_MINUTES}," in text
    assert f"**days** 1 to {MOST_DAYS}, **weeks** 1 to {MOST_DAYS // 7}." in text
    identifier_hash("a" * 65_536)
    with pytest.raises(kron.KronError):
        identifier_hash("a" * 65_537)
    assert "longer than 65,536 characters" in text
