"""The conformance suite of the specification: complete, passed, and able to fail."""

from __future__ import annotations

from itertools import count, cycle

import pytest

from kron.core.errors import Code, ParseError
from kron.fuzzy import Expression, Pattern, conformance, fnv1a_32
from kron.fuzzy.pattern import Kind

SEED_IDS = [
    *(f"T-SYNTAX-{number:03d}" for number in range(1, 8)),
    *(f"T-TIME-{number:03d}" for number in range(1, 11)),
    *(f"T-CONSTRAINT-{number:03d}" for number in range(1, 8)),
    *(f"T-TZ-{number:03d}" for number in range(1, 9)),
    *(f"T-HOURLY-{number:03d}" for number in range(1, 4)),
    *(f"T-INTERVAL-{number:03d}" for number in range(1, 6)),
    *(f"T-SCATTER-{number:03d}" for number in range(1, 17)),
    *(f"T-CRON-{number:03d}" for number in range(1, 7)),
]


def test_every_test_of_the_specification_exists_once_and_in_order() -> None:
    assert [test.id for test in conformance.TESTS] == SEED_IDS
    assert {test.level for test in conformance.TESTS} == set(conformance.LEVELS)


@pytest.mark.parametrize("test", conformance.TESTS, ids=lambda test: test.id)
def test_kron_conforms(test: conformance.Test) -> None:
    assert test.failure() == ""


@pytest.mark.heavy
def test_kron_is_complete() -> None:
    results = conformance.run()
    assert [test.id for test, failure in results if not failure] == SEED_IDS
    assert conformance.level_of(results) == 3


def refusing(_text: str) -> Expression:
    raise ParseError.single("", Code.TEXT, "no")


def credulous(_text: str) -> Expression:
    return Expression("daily", Pattern(Kind.DAILY, every=7))


def failed(among: set[str], **broken: object) -> set[str]:
    """The tests that fail when the suite finds these functions in place of Kron's."""
    with pytest.MonkeyPatch.context() as patch:
        for name, function in broken.items():
            patch.setattr(conformance, name, function)
        return {test.id for test in conformance.TESTS if test.id in among and test.failure()}


PARSING = {test_id for test_id in SEED_IDS if "SCATTER" not in test_id and "CRON" not in test_id}
SCATTERING = set(SEED_IDS) - PARSING


def test_no_test_of_parsing_passes_with_a_parser_that_refuses_everything() -> None:
    assert failed(PARSING, parse=refusing) == PARSING


def test_a_parser_that_accepts_everything_passes_only_what_it_happens_to_know() -> None:
    assert failed(PARSING, parse=credulous) == PARSING - {"T-SYNTAX-001"}


HASHES = {"T-SCATTER-001", "T-SCATTER-002", "T-SCATTER-003"}


def test_no_test_of_scattering_passes_with_nonsense() -> None:
    assert failed(SCATTERING, scatter=lambda *_: "nonsense") == SCATTERING - HASHES


BROKEN_CRON = {
    "7 2 * * 1 *": "T-CRON-001",
    "60 2 * * *": "T-CRON-002",
    "7 24 * * *": "T-CRON-003",
    "7 2 * * 7": "T-CRON-004",
    "7 2 32 * *": "T-CRON-005",
    "7 2 * 13 *": "T-CRON-005",
    "*/0 * * * *": "T-CRON-006",
    "7 6 * * *": "T-SCATTER-004",
    "8 2 * * *": "T-SCATTER-004",
    "30 9 * * *": "T-SCATTER-005",
    "33 10 * * *": "T-SCATTER-006",
    "30 22 * * 5": "T-SCATTER-007",
    "30 0 * * 6": "T-SCATTER-007",
    "30 22 * * 6": "T-SCATTER-007",
    "55 * * * *": "T-SCATTER-008",
    "7 2 * * *": "T-SCATTER-009",
    "7 3 * * 1": "T-SCATTER-010",
    "7 13 * * *": "T-SCATTER-011",
    "4 2 * * *": "T-SCATTER-012",
    "27 9 * * *": "T-SCATTER-013",
    "18 14 * * *": "T-SCATTER-014",
    "42 18 * * *": "T-SCATTER-014",
    "7 18 * * 1": "T-SCATTER-015",
    "7 9 */14 * *": "T-SCATTER-016",
}


@pytest.mark.parametrize(("cron", "test_id"), BROKEN_CRON.items())
def test_a_wrong_cron_expression_fails_its_test(cron: str, test_id: str) -> None:
    assert failed({test_id}, scatter=lambda *_: cron)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        pytest.param(len, {"T-SCATTER-001", "T-SCATTER-002"}, id="length"),
        pytest.param(lambda data: 7, {"T-SCATTER-001", "T-SCATTER-002"}, id="constant"),
        pytest.param(
            lambda data: fnv1a_32(data) + 2**32,
            {"T-SCATTER-001", "T-SCATTER-003"},
            id="33 bits",
        ),
    ],
)
def test_a_wrong_hash_fails_its_tests(broken: object, expected: set[str]) -> None:
    assert failed(HASHES, fnv1a_32=broken) == expected


def test_a_hash_that_changes_fails() -> None:
    counter = count()
    assert failed({"T-SCATTER-001"}, fnv1a_32=lambda _: next(counter))


def test_scattering_that_changes_fails() -> None:
    slots = cycle(["7 2 * * *", "13 3 * * *", "23 4 * * *", "53 5 * * *"])
    assert failed({"T-SCATTER-010"}, scatter=lambda *_: next(slots))


def test_a_crash_is_a_failure_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashing(*_: object) -> str:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(conformance, "scatter", crashing)
    failures = {test.id: failure for test, failure in conformance.run()}
    assert failures["T-CRON-001"] == "ZeroDivisionError: oh"
    assert failures["T-SYNTAX-001"] == ""


@pytest.mark.parametrize(
    ("failing", "level"),
    [
        pytest.param(set(), 3, id="none fails"),
        pytest.param({"T-TZ-001"}, 2, id="a test of level 3"),
        pytest.param({"T-TIME-001", "T-TZ-001"}, 1, id="a test of level 2"),
        pytest.param({"T-SYNTAX-001"}, 0, id="a test of level 1"),
    ],
)
def test_a_level_needs_every_test_of_it_and_of_those_below(failing: set[str], level: int) -> None:
    results = [(test, "failed" if test.id in failing else "") for test in conformance.TESTS]
    assert conformance.level_of(results) == level
