"""The zone table holds what the IANA database says: in every zone, in any order, for ever."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest

from kron import ParseError
from kron.core.zone import Span, Zone, load_zone
from tests.core.brute_force import DAY_S
from tests.core.tzif import ZONES, first_offset, offset_changes
from tests.soak import SOAK

CHUNKS = 6
FIRST_S = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp())
LISTED_S = int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
LAST_S = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp()) - 1
YEAR_S = 365 * DAY_S
LIVELY = (
    "Africa/Casablanca",
    "Africa/Monrovia",
    "America/New_York",
    "America/Sao_Paulo",
    "Antarctica/Troll",
    "Asia/Damascus",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Europe/Paris",
    "Pacific/Apia",
    "Pacific/Kwajalein",
)

in_chunks = pytest.mark.parametrize("chunk", range(CHUNKS))


def _fresh(key: str) -> Zone:
    return Zone(key, ZoneInfo(key))


def _offset(info: ZoneInfo, instant_s: int) -> int:
    offset = datetime.fromtimestamp(instant_s, info).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _walk(zone: Zone, first_s: int, end_s: int) -> list[Span]:
    """The spans from one instant to another, the whole stretch made known beforehand."""
    zone.span_at(first_s)
    zone.span_at(end_s)
    spans = [zone.span_at(first_s)]
    while spans[-1].end_s < end_s:
        spans.append(zone.span_at(spans[-1].end_s))
    return spans


def _listed(key: str, first_s: int, end_s: int) -> list[tuple[int, int]]:
    return [change for change in offset_changes(key) if first_s < change[0] < end_s]


def _end_of_list(key: str) -> int:
    """Where the file stops listing changes and leaves them to the rule in its last line."""
    changes = offset_changes(key)
    return min(LISTED_S, changes[-1][0] + 1) if changes else LISTED_S


@pytest.mark.heavy
@in_chunks
def test_holds_exactly_the_offset_changes_of_the_database_in_every_zone(chunk: int) -> None:
    changes = 0
    for key in ZONES[chunk::CHUNKS]:
        end_s = _end_of_list(key)
        if end_s <= FIRST_S:
            continue
        spans = _walk(_fresh(key), FIRST_S, end_s)
        found = [(span.start_s, span.offset_s) for span in spans[1:] if span.start_s < end_s]
        listed = _listed(key, FIRST_S, end_s)
        assert found == listed, key
        before = [change for change in offset_changes(key) if change[0] <= FIRST_S]
        assert spans[0].offset_s == (before[-1][1] if before else first_offset(key)), key
        changes += len(found)
    assert changes > 1_000, "hardly anything was compared"


@pytest.mark.heavy
@in_chunks
def test_agrees_with_zoneinfo_where_the_list_ends_and_the_rule_goes_on(chunk: int) -> None:
    random = Random(f"rule {chunk}")
    for key in ZONES[chunk::CHUNKS]:
        info = ZoneInfo(key)
        years = {2038, 2400, 2998, *(random.randint(2038, 2998) for _ in range(3 * SOAK))}
        for year in years:
            zone = _fresh(key)
            start_s = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
            spans = _walk(zone, start_s, start_s + YEAR_S)
            for before, after in pairwise(spans):
                assert _offset(info, after.start_s - 1) == before.offset_s, (key, year)
                assert _offset(info, after.start_s) == after.offset_s, (key, year)
            for instant_s in range(start_s, start_s + YEAR_S, 5 * DAY_S):
                assert zone.span_at(instant_s).offset_s == _offset(info, instant_s), (key, year)


def test_no_zone_changes_its_offset_twice_within_three_days() -> None:
    """What `zone` relies on when it samples the offset every three days.

    The closest so far are four days apart: Freetown on 1 and 5 September 1939.
    """
    compared = 0
    for key in ZONES:
        for before, after in pairwise(offset_changes(key)):
            assert after[0] - before[0] > 3 * DAY_S, (key, before, after)
            compared += 1
    assert compared > 10_000


@pytest.mark.parametrize("key", LIVELY)
def test_spans_tile_time_and_remember_what_was_shown(key: str) -> None:
    spans = _walk(_fresh(key), FIRST_S, LISTED_S)
    assert spans[0].start_s <= FIRST_S
    assert spans[-1].end_s >= LISTED_S
    for before, after in pairwise(spans):
        assert before.start_s < before.end_s == after.start_s
        assert before.offset_s != after.offset_s
        assert after.shown_s == before.end_s + before.offset_s


@pytest.mark.heavy
@pytest.mark.parametrize("key", LIVELY)
def test_grows_to_far_apart_instants_in_any_order(key: str) -> None:
    info = ZoneInfo(key)
    for attempt in range(3 * SOAK):
        random = Random(f"{key} {attempt}")
        zone = _fresh(key)
        instants = [FIRST_S, LAST_S, 0, *(random.randint(FIRST_S, LAST_S) for _ in range(50))]
        random.shuffle(instants)
        for instant_s in instants:
            span = zone.span_at(instant_s)
            assert span.start_s <= instant_s < span.end_s
            assert span.offset_s == _offset(info, instant_s)


@pytest.mark.parametrize("key", LIVELY)
def test_a_fold_is_known_even_where_the_table_has_just_begun(key: str) -> None:
    """A question a year later begins the table a year before it: here, inside a fold or a gap."""
    for change_s, offset_s in _listed(key, 0, LISTED_S):
        zone = _fresh(key)
        zone.span_at(change_s + 1 + YEAR_S)
        span = zone.span_at(change_s + 1)
        old_offset_s = _offset(ZoneInfo(key), change_s - 1)
        assert span.offset_s == offset_s
        assert span.shown_s == change_s + old_offset_s, datetime.fromtimestamp(change_s, UTC)


@pytest.mark.parametrize("key", LIVELY)
def test_a_wall_time_is_found_in_the_spans_that_show_it(key: str) -> None:
    zone = _fresh(key)
    compared = 0
    for before, after in pairwise(_walk(zone, 0, LISTED_S)):
        old_s, new_s = before.end_s + before.offset_s, after.start_s + after.offset_s
        middle_s = (old_s + new_s) // 2
        first, last = zone.first_span_showing(middle_s), zone.last_span_showing(middle_s)
        # In a fold the earlier span shows it first; in a gap none does and they swap places.
        expected = (before, after) if new_s < old_s else (after, before)
        assert (first.start_s, last.start_s) == (expected[0].start_s, expected[1].start_s)
        compared += 1
    assert compared


@pytest.mark.heavy
@pytest.mark.parametrize("key", LIVELY)
def test_threads_that_grow_one_table_at_once_get_the_right_offsets(key: str) -> None:
    info = ZoneInfo(key)
    random = Random(key)
    instants = [random.randint(-(10**9), 4 * 10**9) for _ in range(160)]
    expected = [_offset(info, instant_s) for instant_s in instants]
    zone = _fresh(key)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(zone.span_at, instants))
    finally:
        sys.setswitchinterval(interval)
    assert [span.offset_s for span in found] == expected
    assert all(
        span.start_s <= instant_s < span.end_s
        for span, instant_s in zip(found, instants, strict=True)
    )


def test_every_zone_of_the_database_loads_under_its_own_name() -> None:
    for key in ZONES:
        assert load_zone(key).key == key
        assert load_zone(key) is load_zone(key)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="empty"),
        pytest.param("Europe", id="a directory"),
        pytest.param("Europe/Pariss", id="a typing error"),
        pytest.param("../etc/passwd", id="a path that climbs"),
        pytest.param("/etc/localtime", id="an absolute path"),
        pytest.param("Europe/Paris\0", id="a NUL byte"),
        pytest.param("tzdata.zi", id="a file that is no zone"),
        pytest.param("x" * 5_000, id="longer than a file name"),
        pytest.param("localtime", id="what the host is set to"),
        pytest.param("posixrules", id="a rule of the host"),
        pytest.param("Factory", id="a placeholder"),
        pytest.param("right/Europe/Paris", id="with leap seconds"),
        pytest.param("posix/Europe/Paris", id="a copy that not every host has"),
    ],
)
def test_anything_else_is_refused_as_an_unknown_zone(key: str) -> None:
    with pytest.raises(ParseError) as raised:
        load_zone(key)
    assert raised.value.code == "zone-unknown"


def test_a_typing_error_gets_the_zone_that_was_meant() -> None:
    with pytest.raises(ParseError, match='did you mean "Europe/Paris"'):
        load_zone("Europe/Pariss")
