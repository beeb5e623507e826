"""R-SAFE-004: collisions are told, and change nothing."""

from __future__ import annotations

import pytest

import kron
from kron import Code, fuzzy
from kron.fuzzy import Cause, collisions

# Two identifiers with one FNV-1a hash, found by trying.
TWINS = ("acme/vqyfmocqy.md", "acme/zuwmimora.md")


def test_different_times_are_no_collision() -> None:
    assert collisions([]) == ()
    assert collisions([("a", "daily"), ("b", "daily"), ("c", "hourly")]) == ()


def test_the_same_identifier_twice_is_the_worst() -> None:
    (found,) = collisions([("a/x", "daily"), ("b/x", "weekly"), ("a/x", "daily")])
    assert found.cause is Cause.IDENTIFIER
    assert found.identifiers == ("a/x", "a/x")
    assert found.cron == fuzzy.scatter("daily", "a/x")
    assert found.code is Code.COLLISION
    assert str(found) == (
        f'2 schedules have the same identifier ({found.cron}): "a/x" '
        "(give each its own identifier: owner/repo/path)"
    )


def test_the_same_identifier_with_schedules_of_other_times_is_none() -> None:
    assert collisions([("a/x", "daily"), ("a/x", "weekly on monday")]) == ()


def test_two_identifiers_may_share_a_hash() -> None:
    first, second = TWINS
    assert fuzzy.fnv1a_32(first.encode()) == fuzzy.fnv1a_32(second.encode())
    (found,) = collisions([(first, "daily"), (second, "FUZZY:DAILY * * *")])
    assert found.cause is Cause.HASH
    assert "the same hash" in found.message
    assert "rename one of them" in str(found)


def test_two_identifiers_may_share_only_a_time() -> None:
    by_cron: dict[str, list[str]] = {}
    for number in range(200):
        name = f"acme/job-{number}"
        by_cron.setdefault(fuzzy.scatter("daily", name), []).append(name)
    shared = {cron: tuple(names) for cron, names in by_cron.items() if len(names) > 1}
    assert shared
    found = collisions((f"acme/job-{number}", fuzzy.parse("daily")) for number in range(200))
    assert {one.cron: one.identifiers for one in found} == shared
    assert {one.cause for one in found} == {Cause.TIME}


def test_a_crowd_is_counted_and_a_few_are_named() -> None:
    names = [name for name in map(str, range(5000)) if fuzzy.scatter("hourly", name)[:2] == "7 "]
    (found,) = collisions((name, "hourly") for name in names)
    assert f"{len(names)} schedules" in found.message
    assert f"and {len(names) - 3} more" in found.message


def test_fixed_intervals_have_their_own_warning() -> None:
    assert collisions([("a", "every 5 minutes"), ("b", "every 5 minutes")]) == ()


def test_a_wrong_schedule_or_identifier_is_an_error_here_too() -> None:
    with pytest.raises(kron.ParseError):
        collisions([("a", "monthly")])
    with pytest.raises(kron.KronError):
        collisions([("", "daily")])
