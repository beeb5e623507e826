"""Many handled periods: packed small whatever the schedule, and unpacked only if they are that."""

from __future__ import annotations

import binascii
import random
import re
import time
import tracemalloc
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.decision import decide_at
from kron.core.instant import DAY_S, FIRST_S, LAST_S, from_text, to_text
from kron.engine import Job, Ledger, ledger_from_json, ledger_to_json
from kron.engine.ledger import MAX_HANDLED
from kron.engine.packing import PackedInstants, most_characters, pack, unpack
from kron.engine.storage import MOST_LISTED
from tests.engine.scene import IDENTITY, through_json
from tests.soak import examples

T0 = from_text("2026-03-01T00:00:00Z")
ENGINE_PAGE = Path(__file__).parents[2] / "docs" / "engine.md"

instants = st.integers(FIRST_S, LAST_S)
regular = st.builds(
    lambda first, unit, places: {first + unit * place for place in places},
    st.integers(0, LAST_S // 2),
    st.sampled_from([1, 60, 300, 3600, DAY_S]),
    st.sets(st.integers(0, 5_000), min_size=1),
)


@given(st.sets(instants, min_size=1) | regular)
@examples(300)
def test_any_instants_survive(instants_s: set[int]) -> None:
    assert unpack(pack(instants_s), len(instants_s)) == instants_s


def test_the_packed_form_is_this() -> None:
    """What is in people's clusters and on their disks has to be read for ever."""
    instants_s = frozenset({T0, T0 + 300, T0 + 600, T0 + 300 * 1_000, T0 + 300 * 1_001})
    gaps = bytes([1, 1, 0b1000_0000 | 998 % 128, 998 // 128, 1])
    assert unpack(PackedInstants(5, T0, 300, _text(gaps)), 5) == instants_s
    frozen = PackedInstants(5, T0, 300, "eJxjZHzGzggAAs8A8Q==")
    assert unpack(frozen, 5) == instants_s
    packed = pack(instants_s)
    assert (packed.count, packed.first_s, packed.unit_s) == (5, T0, 300)
    assert zlib.decompress(binascii.a2b_base64(packed.gaps)) == gaps


def _text(data: bytes) -> str:
    return binascii.b2a_base64(zlib.compress(data, 9), newline=False).decode()


TWO = PackedInstants(2, T0, 60, _text(b"\1"))
HOSTILE = [
    pytest.param({"count": 0}, id="no-instants"),
    pytest.param({"count": -1}, id="fewer-than-none"),
    pytest.param({"count": 3}, id="too-few-gaps"),
    pytest.param({"count": 1}, id="too-many-gaps"),
    pytest.param({"count": MAX_HANDLED + 1}, id="too-many-instants"),
    pytest.param({"count": 10**4_000}, id="a-huge-count"),
    pytest.param({"unit_s": 0}, id="no-unit"),
    pytest.param({"unit_s": -60}, id="backwards"),
    pytest.param({"unit_s": 10**4_000}, id="a-huge-unit"),
    pytest.param({"unit_s": LAST_S - T0 + 1}, id="beyond-the-years"),
    pytest.param({"first_s": LAST_S}, id="the-second-beyond-the-years"),
    pytest.param({"gaps": ""}, id="nothing"),
    pytest.param({"gaps": "?" * 40}, id="no-base64"),
    pytest.param({"gaps": "ä"}, id="not-even-ascii"),
    pytest.param({"gaps": TWO.gaps[:-4]}, id="cut-off"),
    pytest.param({"gaps": TWO.gaps[:-4] + "AAAA"}, id="a-wrong-checksum"),
    pytest.param({"gaps": "AAAA"}, id="no-stream"),
    pytest.param({"gaps": "A" * 10_000_000}, id="a-long-text"),
    pytest.param({"gaps": _text(b"\0")}, id="the-same-instant-again"),
    pytest.param({"gaps": _text(b"\x81")}, id="half-a-gap"),
    pytest.param({"gaps": _text(b"\x80" * 6 + b"\1")}, id="a-gap-of-many-bytes"),
    pytest.param({"count": 3, "gaps": _text(b"\xff\xff\xff\xff\x7f" * 2)}, id="two-long-gaps"),
    pytest.param({"gaps": _text(b"\1" * 100_000_000)}, id="a-bomb"),
    pytest.param({"count": MAX_HANDLED, "gaps": _text(b"\1" * 100_000_000)}, id="a-bomb-for-many"),
]


@pytest.mark.parametrize("changes", HOSTILE)
def test_whatever_is_not_packed_is_refused_soon_and_in_little_memory(
    changes: dict[str, object],
) -> None:
    packed = TWO.replace(**changes)
    tracemalloc.start()
    try:
        begun_s = time.perf_counter()
        with pytest.raises(ValueError, match=r"\w"):
            unpack(packed, MAX_HANDLED)
        assert time.perf_counter() - begun_s < 1
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    value = ledger_to_json(_ledger(range(T0, T0 + 60 * 50, 60)))
    value["handled_packed"] = {
        "count": packed.count,
        "first": to_text(packed.first_s),
        "unit_s": packed.unit_s,
        "gaps": packed.gaps,
    }
    with pytest.raises(kron.KronError) as caught:
        ledger_from_json(value)
    assert caught.value.code is kron.Code.LEDGER
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "value",
    [
        *(None, [], "", {}, {"count": 2}),
        {"count": True, "first": to_text(T0), "unit_s": 60, "gaps": _text(b"")},
        {"count": 2, "first": T0, "unit_s": 60, "gaps": TWO.gaps},
        {"count": 2, "first": to_text(T0), "unit_s": 60.0, "gaps": TWO.gaps},
        {"count": 2, "first": to_text(T0), "unit_s": 60, "gaps": []},
        {"count": 2, "first": to_text(T0), "unit_s": 60, "gaps": TWO.gaps, "more": 1},
    ],
)
def test_a_packed_form_of_the_wrong_shape_is_refused(value: object) -> None:
    written = ledger_to_json(_ledger(range(T0, T0 + 60 * 50, 60)))
    with pytest.raises(kron.KronError) as caught:
        ledger_from_json(written | {"handled_packed": value})
    assert caught.value.code is kron.Code.LEDGER


@given(st.integers(), st.integers(), st.binary(max_size=40))
@examples(300)
def test_any_bytes_give_instants_or_a_value_error(count: int, unit_s: int, data: bytes) -> None:
    for gaps in (_text(data), binascii.b2a_base64(data, newline=False).decode()):
        try:
            found = unpack(PackedInstants(count, T0, unit_s, gaps), 50)
        except ValueError:
            continue
        assert len(found) == count <= 50
        assert all(FIRST_S <= instant_s <= LAST_S for instant_s in found)


def _ledger(handled_s: range | set[int]) -> Ledger:
    return Ledger("* * * * *", T0, handled_through_s=T0 - 60, handled_s=frozenset(handled_s))


def test_a_few_periods_are_listed_for_people_and_older_versions() -> None:
    few = ledger_to_json(_ledger(range(T0, T0 + 60 * MOST_LISTED, 60)))
    assert few["schema"] == 1
    assert few["handled"][:2] == ["2026-03-01T00:00:00Z", "2026-03-01T00:01:00Z"]  # type: ignore[index]
    assert "handled_packed" not in few

    many = ledger_to_json(_ledger(range(T0, T0 + 60 * (MOST_LISTED + 1), 60)))
    assert many["schema"] == 3
    assert "handled" not in many
    with pytest.raises(kron.KronError, match='"handled_packed"'):
        ledger_from_json(many | {"schema": 2})  # no version wrote that
    with pytest.raises(kron.KronError, match='"handled"'):
        ledger_from_json(many | {"handled": []})


def lived(text: str) -> set[int]:
    """The periods that a job has handled above its watermark, having lived for long."""
    job = Job(IDENTITY, kron.parse_schedule(text))
    handled, opened = set(), []
    nominal_s = T0 - job.trail_s - 1
    while (nominal_s := job.schedule.nominals.after(nominal_s)) <= T0 + job.lead_s:
        chosen_s = decide_at(job.schedule, IDENTITY, nominal_s).chosen_s
        if chosen_s is not None and chosen_s <= T0:
            handled.add(nominal_s)
        else:
            opened.append(nominal_s)
    return {nominal_s for nominal_s in handled if nominal_s > opened[0]}


IRREGULAR = "3,17,41 0,5,6,11,13,19,20,22 * * * @win(after,8784h)"
EDITED = "4,19,44 1,5,7,12,14,18,21,23 * * * @tz(Europe/Paris) @win(before,8784h)"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("schedules", "least", "most_bytes"),
    [
        pytest.param(["* * * * * @win(after,24h)"], 600, 500, id="a-day-of-minutes"),
        pytest.param(["* * * * * @win(after,160h)"], 4_500, 2_000, id="a-week-of-minutes"),
        pytest.param([IRREGULAR], 4_000, 3_500, id="a-year-of-an-irregular-cron"),
        pytest.param([IRREGULAR, EDITED], 8_000, 7_000, id="before-and-after-an-edit"),
    ],
)
def test_real_lives_make_small_ledgers(schedules: list[str], least: int, most_bytes: int) -> None:
    handled_s = set().union(*map(lived, schedules))
    assert len(handled_s) > least
    assert len(pack(handled_s).gaps) < most_bytes
    assert through_json(_ledger(handled_s)).handled_s == handled_s


def documented_bytes() -> int:
    """What the documentation promises of a ledger's handled periods."""
    [bound] = re.findall(r"at most ([0-9]+) KB, whatever the schedule", ENGINE_PAGE.read_text())
    return int(bound) * 1_000


def test_the_worst_ledger_is_within_the_documented_bound() -> None:
    """Windows reach 366 days back and ahead, nominal times are whole minutes.

    As many gaps as fit in that take two bytes, and their low bits are random: nothing compresses.
    """
    chance = random.Random(1)
    minutes = 2 * 366 * DAY_S // 60
    long = (minutes - MAX_HANDLED) // 160
    gaps = [chance.randrange(128, 160) for _ in range(long)]
    gaps += [chance.randrange(1, 16) for _ in range(MAX_HANDLED - 1 - long)]
    chance.shuffle(gaps)
    worst_s, nominal_s = {T0}, T0
    for gap in gaps:
        worst_s.add(nominal_s := nominal_s + gap * 60)
    scattered_s = {T0 + 60 * minute for minute in chance.sample(range(minutes), MAX_HANDLED)}
    for handled_s in (worst_s, scattered_s):
        assert len(handled_s) == MAX_HANDLED
        packed = pack(handled_s)
        assert len(packed.gaps) + 100 <= documented_bytes()
        assert unpack(packed, MAX_HANDLED) == handled_s
    # And if each gap of two bytes were the shortest, and no bit could be saved:
    bytes_most = MAX_HANDLED + minutes // 128
    assert (bytes_most + 64) * 4 / 3 + 100 < documented_bytes()


def test_even_instants_that_no_cron_has_fit_the_limit_of_a_text() -> None:
    scattered_s = set(random.Random(2).sample(range(FIRST_S, LAST_S), MAX_HANDLED))
    packed = pack(scattered_s)
    assert 80_000 < len(packed.gaps) < most_characters(MAX_HANDLED)
    assert max(later - earlier for earlier, later in pairwise(sorted(scattered_s))) > 2**21
    assert unpack(packed, MAX_HANDLED) == scattered_s
