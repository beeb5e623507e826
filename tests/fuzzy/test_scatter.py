"""Scattering: the same for ever, as the specification says, and spread as its weights say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code, fuzzy
from kron.fuzzy.scatter import POOL, TIERS
from tests.fuzzy import naive
from tests.fuzzy.expressions import WEEKDAYS, Meant, expressions
from tests.soak import examples

REPORT = "github/gh-aw/.github/workflows/daily-report.md"

# Worked out from the seed with `naive` and by hand; they never change.
GOLDEN = [
    ("FUZZY:DAILY * * *", "owner/repo/path.md", "35 22 * * *"),
    ("FUZZY:DAILY_WEEKDAYS * * *", "owner/repo/path.md", "35 22 * * 1-5"),
    ("FUZZY:DAILY_AROUND:14:0 * * *", "owner/repo/path.md", "44 13 * * *"),
    ("FUZZY:DAILY_AROUND:20:0 * * *", "owner/repo/path.md", "44 19 * * *"),
    ("FUZZY:DAILY_AROUND:17:0 * * *", "owner/repo/path.md", "49 16 * * *"),
    ("FUZZY:DAILY_BETWEEN:9:0:17:0 * * *", "owner/repo/path.md", "44 9 * * *"),
    ("FUZZY:HOURLY * * *", "owner/repo/path.md", "29 * * * *"),
    ("FUZZY:HOURLY:2 * * *", "owner/repo/path.md", "29 */2 * * *"),
    ("FUZZY:WEEKLY * * *", "owner/repo/path.md", "35 22 * * 0"),
    ("FUZZY:WEEKLY:1 * * 1", "owner/repo/path.md", "35 22 * * 1"),
    ("FUZZY:BI-WEEKLY * * *", "owner/repo/path.md", "35 22 */14 * *"),
    ("FUZZY:TRI-WEEKLY * * *", "owner/repo/path.md", "35 22 */21 * *"),
    ("FUZZY:DAILY * * *", "github/gh-aw/workflow.md", "17 23 * * *"),
    ("FUZZY:DAILY_BETWEEN:9:0:9:3 * * *", "github/gh-aw/workflow.md", "1 9 * * *"),
    ("*/5 * * * *", "github/gh-aw/workflow.md", "*/5 * * * *"),
    ("0 0 */14 * *", "github/gh-aw/workflow.md", "0 0 */14 * *"),
]


@pytest.mark.parametrize(("placeholder", "identifier", "cron"), GOLDEN)
def test_a_golden_time_never_changes(placeholder: str, identifier: str, cron: str) -> None:
    assert fuzzy.scatter(placeholder, identifier) == cron


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", 0x811C9DC5, id="nothing"),
        pytest.param("a", 0xE40C292C, id="a"),
        pytest.param("foobar", 0xBF9CF968, id="foobar"),
        pytest.param("owner/repo/path.md", 762650924, id="an identifier"),
        pytest.param("né/漢", 0xB2736482, id="beyond ASCII"),
    ],
)
def test_the_hash_is_fnv_1a_over_utf_8(text: str, value: int) -> None:
    assert fuzzy.fnv1a_32(text.encode()) == naive.fnv(text) == value


def test_the_pool_is_the_one_of_the_specification() -> None:
    assert [divmod(minute, 60) for minute in POOL] == naive.pool()
    assert len(POOL) == 622
    assert [len(tier.slots()) for tier in TIERS] == [72, 300, 250]
    assert divmod(POOL[84], 60) == (10, 11)  # not 2:23, as an example of the specification has it


identifiers = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1).filter(
    lambda text: not text.isspace()
)


@examples(600)
@given(expressions(), identifiers)
def test_every_result_is_that_of_the_naive_reading(meant: Meant, identifier: str) -> None:
    cron = fuzzy.scatter(meant.text, identifier)
    assert cron == resolved(meant.placeholder, naive.fnv(identifier))
    assert len(cron.split(" ")) == 5
    kron.parse_schedule(cron)


def resolved(placeholder: str, seed: int) -> str:
    """The placeholder, resolved by the naive reading."""
    if not placeholder.startswith("FUZZY:"):
        return placeholder
    head, _, _, days = placeholder.split(" ")
    _, name, *parameters = head.split(":")
    numbers = [int(number) for number in parameters if number.isdigit()]
    if name.startswith("HOURLY"):
        hours = f"*/{numbers[0]}" if numbers else "*"
        return f"{5 + seed % 50} {hours} * * {'1-5' if 'WEEKDAYS' in name else '*'}"
    hour, minute = naive.pool()[seed % 622]
    moved = 0
    if "AROUND" in head:
        *_, at_hour, at_minute = numbers
        placed = naive.place(at_hour * 60 + at_minute - 60, 120, seed)
    elif "BETWEEN" in head:
        *_, from_hour, from_minute, to_hour, to_minute = numbers
        start, end = from_hour * 60 + from_minute, to_hour * 60 + to_minute
        placed = naive.place(start, end - start if end > start else 1440 - start + end, seed)
    else:
        placed = naive.Placed(hour * 60 + minute, False)
    moved, of_day = divmod(placed.minute, 1440)
    time = f"{of_day % 60} {of_day // 60}"
    if name in ("BI-WEEKLY", "TRI-WEEKLY"):
        return f"{time} */{14 if name == 'BI-WEEKLY' else 21} * *"
    if name == "WEEKLY":
        weekday = seed % 7 if days == "*" else int(days)
        return f"{time} * * {(weekday + moved) % 7}"
    if "WEEKDAYS" not in name:
        return f"{time} * * *"
    first = {"*": 1, "0-4": 0, "2-6": 2}[days]
    workdays = sorted((day + moved) % 7 for day in range(first, first + 5))
    return f"{time} * * {listed(workdays)}"


def listed(days: list[int]) -> str:
    """Days as a list of ranges, which cron reads."""
    runs: list[list[int]] = []
    for day in days:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


MOVES = [
    # expression, (weekday of the result, hours) that are possible
    ("weekly on monday around 02:00 utc+9", {"0": range(16, 18)}),
    ("weekly on monday around 00:30", {"0": range(23, 24), "1": range(2)}),
    ("weekly on saturday around 23:30", {"6": range(22, 24), "0": range(1)}),
    ("weekly on friday between 22:00 and 02:00", {"5": range(22, 24), "6": range(2)}),
    ("weekly on monday between 23:00 utc-5 and 1:00 utc-5", {"2": range(4, 6)}),
    ("weekly on sunday between 6am utc+9 and 10am utc+9", {"6": range(21, 24), "0": range(1)}),
    ("daily around 00:30 on weekdays", {"0-4": range(23, 24), "1-5": range(2)}),
    ("daily between 22:00 and 02:00 on weekdays", {"1-5": range(22, 24), "2-6": range(2)}),
    ("daily around 02:00 utc+9 on weekdays", {"0-4": range(16, 18)}),
    ("daily around 00:30 utc+1 on weekdays", {"0-4": range(22, 24), "1-5": range(1)}),
    ("daily around 12:30 utc+13 on weekdays", {"0-4": range(22, 24), "1-5": range(1)}),
    ("daily between 0:30 utc+1 and 0:00 utc+1 on weekdays", {"0-4": {23}, "1-5": range(23)}),
    (
        "daily between 23:00 utc-12 and 22:00 utc-12 on weekdays",
        {"2-6": range(11, 24), "0,3-6": range(10)},
    ),
    ("daily around 00:30 utc+14 on weekdays", {"0-4": range(9, 12)}),
    ("daily around midnight", {"*": {23, 0}}),
]


@pytest.mark.parametrize(("text", "possible"), MOVES)
def test_the_weekday_moves_with_the_hour_at_midnight(
    text: str, possible: dict[str, range | set[int]]
) -> None:
    seen: dict[str, set[int]] = {}
    for number in range(3000):
        _, hour, _, _, days = fuzzy.scatter(text, f"job-{number}").split(" ")
        seen.setdefault(days, set()).add(int(hour))
    assert seen == {days: set(hours) for days, hours in possible.items()}


def test_a_week_without_a_day_uses_every_day() -> None:
    for text in ("weekly", "weekly around 14:00", "weekly between 9:00 and 17:00"):
        days = {fuzzy.scatter(text, f"job-{number}")[-1] for number in range(200)}
        assert days == set("0123456")


@pytest.mark.parametrize(
    ("identifier", "code"),
    [
        pytest.param("", Code.IDENTITY, id="empty"),
        pytest.param("  \t", Code.IDENTITY, id="blank"),
        pytest.param("a\nb", Code.IDENTITY, id="line break"),
        pytest.param("a\ud800", Code.IDENTITY, id="half a character"),
        pytest.param("a" * 70_000, Code.LIMIT, id="too long"),
    ],
)
def test_an_identifier_is_never_defaulted(identifier: str, code: Code) -> None:
    for schedule in ("daily", "FUZZY:DAILY * * *", fuzzy.parse("hourly"), "every 5 minutes"):
        with pytest.raises(kron.KronError) as caught:
            fuzzy.scatter(schedule, identifier)
        assert caught.value.code is code


def test_scattering_hands_on_the_warnings_of_the_schedule() -> None:
    for text in ("bi-weekly", "every 7 minutes", "daily around noon pt"):
        assert fuzzy.scattered(text, REPORT).warnings == fuzzy.parse(text).warnings != ()
    codes = [warning.code for warning in fuzzy.scattered("*/7 * * * *", REPORT).warnings]
    assert codes == [Code.FIXED_INTERVAL, Code.UNEVEN_STEP]


def test_a_window_without_a_free_minute_is_warned_about() -> None:
    for text in ("daily between 9:00 and 9:03", "FUZZY:WEEKLY:1:BETWEEN:23:57:0:3 * * 1"):
        result = fuzzy.scattered(text, REPORT)
        (warning,) = result.warnings
        assert warning.code is Code.BUSY_MINUTE
        assert (warning.start, warning.end) == (0, len(text))
    assert fuzzy.scattered("daily between 9:00 and 9:05", REPORT).warnings == ()


def test_a_text_that_is_neither_is_refused_as_what_it_looks_like() -> None:
    rows = {
        "daly": Code.UNKNOWN_KEYWORD,
        " ": Code.MISSING_COMPONENT,
        "fuzzy:daily * * *": Code.UNKNOWN_KEYWORD,
        "FUZZY:DALY * * *": Code.INVALID_PLACEHOLDER,
        "0 9 * * *": Code.INVALID_PLACEHOLDER,
        "@daily": Code.INVALID_PLACEHOLDER,
    }
    for text, code in rows.items():
        with pytest.raises(kron.ParseError) as caught:
            fuzzy.scatter(text, REPORT)
        assert caught.value.code is code


SPREAD = 100_000


@pytest.fixture(scope="module")
def hashes() -> list[int]:
    """The hashes of as many identifiers as a large organisation would have, made the same way."""
    teams = ("core", "data", "web", "mobile", "infra", "search", "billing")
    works = ("daily-report", "triage", "backup", "sync", "lint", "release", "nightly", "audit")
    return [
        fuzzy.fnv1a_32(
            f"acme/{teams[number % 7]}-{number // 56}/.github/workflows/"
            f"{works[number % 8]}.md".encode()
        )
        for number in range(SPREAD)
    ]


def chi_square(counts: dict[int, int], shares: dict[int, int]) -> float:
    """How far the counts are from their shares; about the number of shares if by chance alone."""
    assert set(counts) <= set(shares)
    total, all_shares = sum(counts.values()), sum(shares.values())
    expected = {key: total * share / all_shares for key, share in shares.items()}
    return sum((counts.get(key, 0) - value) ** 2 / value for key, value in expected.items())


def likely(degrees: int) -> float:
    """What chi-square stays below in 999 of 1000 cases (Wilson and Hilferty's approximation)."""
    spread = 2 / (9 * degrees)
    return float(degrees * (1 - spread + 3.09 * spread**0.5) ** 3)


def counted(values: list[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


@pytest.mark.heavy
def test_the_identifiers_of_the_spread_are_different(hashes: list[int]) -> None:
    assert len(set(hashes)) > SPREAD - 10  # of 2^32 hashes, one pair or two may agree


@pytest.mark.heavy
def test_times_are_spread_over_the_pool_as_its_weights_say(hashes: list[int]) -> None:
    slots = counted([POOL[value % 622] for value in hashes])
    shares = counted(list(POOL))
    assert len(shares) == 424
    assert chi_square(slots, shares) < likely(423)


def test_no_minute_of_the_hour_holds_more_than_its_share(hashes: list[int]) -> None:
    daily = counted([POOL[value % 622] % 60 for value in hashes])
    shares = counted([minute % 60 for minute in POOL])
    assert chi_square(daily, shares) < likely(49)
    assert all(daily[minute] < 1.2 * SPREAD * shares[minute] / 622 for minute in daily)
    hourly = counted([5 + value % 50 for value in hashes])
    assert chi_square(hourly, dict.fromkeys(range(5, 55), 1)) < likely(49)
    assert max(hourly.values()) < 1.2 * SPREAD / 50


def test_weekdays_and_times_are_spread_together(hashes: list[int]) -> None:
    days = counted([value % 7 for value in hashes])
    assert chi_square(days, dict.fromkeys(range(7), 1)) < likely(6)
    both = counted([value % (7 * 622) for value in hashes])
    assert chi_square(both, dict.fromkeys(range(7 * 622), 1)) < likely(7 * 622 - 1)


@pytest.mark.parametrize("width", [120, 480, 240, 1439, 7])
def test_raw_minutes_are_spread_evenly_over_a_window(hashes: list[int], width: int) -> None:
    counts = counted([value % width for value in hashes])
    assert chi_square(counts, dict.fromkeys(range(width), 1)) < likely(width - 1)


def test_scatter_uses_the_pool_and_the_hash_that_the_spread_is_about() -> None:
    for number in range(500):
        name = f"acme/core-{number}/.github/workflows/sync.md"
        minute, hour, *_ = fuzzy.scatter("daily", name).split(" ")
        assert int(hour) * 60 + int(minute) == POOL[fuzzy.fnv1a_32(name.encode()) % 622]


def test_every_weekday_has_its_number() -> None:
    for number, name in enumerate(WEEKDAYS):
        assert fuzzy.scatter(f"weekly on {name}", REPORT).endswith(f" {number}")
