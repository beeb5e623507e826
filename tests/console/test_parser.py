"""The values of options that commands share: what is read, and how the rest is refused."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kron.console.parser import add_insecure_config, add_node_id, moment, number_up_to
from kron.console.parser import path as path_argument


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC), id="day"),
        pytest.param("20260301", datetime(2026, 3, 1, tzinfo=UTC), id="day-without-hyphens"),
        pytest.param("2026-03-01T02:30:00Z", datetime(2026, 3, 1, 2, 30, tzinfo=UTC), id="utc"),
        pytest.param(
            "2026-03-01T02:30+01:00",
            datetime(2026, 3, 1, 2, 30, tzinfo=timezone(timedelta(hours=1))),
            id="offset",
        ),
    ],
)
def test_a_moment_is_an_instant_or_a_day(text: str, expected: datetime) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("noon", "is not a moment", id="word"),
        pytest.param("2026-02-30", "is not a moment", id="no-such-day"),
        pytest.param("", "is not a moment", id="empty"),
        pytest.param("2026-03-01T02:30:00", "does not say its offset", id="local"),
    ],
)
def test_what_is_no_moment_is_quoted_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f'^"{text}" {rule}'):
        moment(text)


@pytest.mark.parametrize("text", ["1", "7", "1000", "0007"])
def test_a_number_within_the_bounds_is_read(text: str) -> None:
    assert number_up_to(1_000)(text) == int(text)


@pytest.mark.parametrize("text", ["0", "1001", "-1", "+1", "1.0", "", " 1", "١", "1_0", "9" * 5000])
def test_any_other_is_refused_with_the_bounds(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a number from 1 to 1,000"):
        number_up_to(1_000)(text)


def test_an_empty_path_is_refused() -> None:
    assert path_argument("a b") == "a b"
    with pytest.raises(ArgumentTypeError, match="the path is empty"):
        path_argument("")


def test_the_options_that_programs_share_say_the_same_with_a_word_of_the_programs_own() -> None:
    def words(*, own: bool) -> str:
        parser = ArgumentParser(prog="kettle")
        add_insecure_config(parser, *["mind the steam"] * own)
        add_node_id(parser, *["which kettle"] * own)
        return " ".join(parser.format_help().split())

    shared = "also read files that other users can write, symbolic links, and files of other owners"
    alone, with_notes = words(own=False), words(own=True)
    assert f"{shared} --node-id ID the host's part of identities: machine-id" in alone
    assert f"{shared}; mind the steam --node-id ID which kettle: machine-id" in with_notes
