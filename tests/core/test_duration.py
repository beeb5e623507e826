"""Durations read what Go's `time.ParseDuration` reads, exactly, and refuse the rest by name."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kron
from tests.core.schedules import duration_texts
from tests.soak import examples

LARGEST_NS = 2**63 - 1
SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("0s", 0, id="zero seconds"),
        pytest.param("5s", 5 * SECOND, id="seconds"),
        pytest.param("30s", 30 * SECOND, id="two digits"),
        pytest.param("1478s", 1478 * SECOND, id="four digits"),
        pytest.param("007s", 7 * SECOND, id="leading zeros"),
        pytest.param("5.0s", 5 * SECOND, id="fraction of zero"),
        pytest.param("5.6s", 5 * SECOND + 600_000_000, id="fraction"),
        pytest.param("5.s", 5 * SECOND, id="point without digits after it"),
        pytest.param(".5s", SECOND // 2, id="point without digits before it"),
        pytest.param("1.s", SECOND, id="one point s"),
        pytest.param("1.004s", 1_004_000_000, id="zeros after the point"),
        pytest.param("1.0040s", 1_004_000_000, id="zeros at the end"),
        pytest.param("100.00100s", 100_001_000_000, id="zeros on both sides"),
        pytest.param("10ns", 10, id="nanoseconds"),
        pytest.param("11us", 11_000, id="microseconds"),
        pytest.param("12\u00b5s", 12_000, id="micro sign"),
        pytest.param("12\u03bcs", 12_000, id="Greek mu"),
        pytest.param("13ms", 13_000_000, id="milliseconds"),
        pytest.param("250ms", 250_000_000, id="quarter of a second"),
        pytest.param("14s", 14 * SECOND, id="fourteen seconds"),
        pytest.param("15m", 15 * MINUTE, id="minutes"),
        pytest.param("16h", 16 * HOUR, id="hours"),
        pytest.param("1h30m", 90 * MINUTE, id="hours and minutes"),
        pytest.param("90m", 90 * MINUTE, id="ninety minutes"),
        pytest.param("1.5h", 90 * MINUTE, id="hours with a fraction"),
        pytest.param("3h30m", 210 * MINUTE, id="three and a half hours"),
        pytest.param("10.5s4m", 4 * MINUTE + 10_500_000_000, id="units in any order"),
        pytest.param("2m3.4s", 2 * MINUTE + 3_400_000_000, id="fraction in the last term"),
        pytest.param("1h1h", 2 * HOUR, id="a unit may come twice"),
        pytest.param(
            "1h2m3s4ms5us6ns",
            HOUR + 2 * MINUTE + 3 * SECOND + 4_005_006,
            id="every unit",
        ),
        pytest.param("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14_425_000_000, id="a long one"),
        pytest.param("52763797000ns", 52_763_797_000, id="many nanoseconds"),
        pytest.param("0.9ns", 0, id="less than a nanosecond is dropped"),
        pytest.param("1.9999999999s", 1_999_999_999, id="never rounded up"),
        pytest.param("0.9ns0.9ns", 0, id="each term is cut on its own"),
        pytest.param("0.3333333333333333333h", 20 * MINUTE - 1, id="nineteen digits, exact"),
        pytest.param("0.100000000000000000000h", 6 * MINUTE, id="more digits than an int64"),
        pytest.param("0.830103483285477580700h", 2_988_372_539_827, id="Go's own hard case"),
        pytest.param("9007199254.740993s", 9_007_199_254_740_993_000, id="beyond 2^53"),
        pytest.param("9223372036854775807ns", LARGEST_NS, id="the largest int64"),
        pytest.param("9223372036854775.807us", LARGEST_NS, id="the largest in microseconds"),
        pytest.param("9223372036s854ms775us807ns", LARGEST_NS, id="the largest in parts"),
    ],
)
def test_reads_what_go_reads(text: str, expected_ns: int) -> None:
    assert kron.parse_duration(text) == expected_ns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "is not a duration", id="empty"),
        pytest.param("3", "ends without a unit", id="no unit"),
        pytest.param("00", "ends without a unit", id="two zeros"),
        pytest.param("1h30", "ends without a unit", id="no unit at the end"),
        pytest.param("1.5", "ends without a unit", id="no unit after a fraction"),
        pytest.param("-1s", "has a sign", id="minus"),
        pytest.param("+5s", "has a sign", id="plus"),
        pytest.param("-0", "has a sign", id="minus zero"),
        pytest.param("-", "has a sign", id="only a minus"),
        pytest.param("1h-5m", "unknown unit", id="sign in the middle"),
        pytest.param("s", "is not a duration", id="only a unit"),
        pytest.param(".", "is not a duration", id="only a point"),
        pytest.param(".s", "is not a duration", id="a point and a unit"),
        pytest.param("1..5s", "ends without a unit", id="two points"),
        pytest.param("1.2.3s", "ends without a unit", id="two fractions"),
        pytest.param("1,5h", "unknown unit", id="comma"),
        pytest.param("1d", "unknown unit", id="days"),
        pytest.param("1H", "unknown unit", id="upper case"),
        pytest.param("1min", "unknown unit", id="longer names"),
        pytest.param("1 h", "unknown unit", id="space before the unit"),
        pytest.param("1h 30m", "unknown unit", id="space between terms"),
        pytest.param(" 1h", "is not a duration", id="space before"),
        pytest.param("1h ", "unknown unit", id="space after"),
        pytest.param("1h\n", "unknown unit", id="line break after"),
        pytest.param("1e3s", "unknown unit", id="exponent"),
        pytest.param("0x10s", "unknown unit", id="hexadecimal"),
        pytest.param("1_000s", "unknown unit", id="underscore"),
        pytest.param("\u0663s", "is not a duration", id="Arabic digit"),
        pytest.param("1\u0663s", "unknown unit", id="Arabic digit after one of ours"),
        pytest.param("\uff11s", "is not a duration", id="full width digit"),
        pytest.param("²s", "is not a duration", id="superscript digit"),
        pytest.param("inf", "is not a duration", id="infinity"),
        pytest.param("nan", "is not a duration", id="not a number"),
        pytest.param("9223372036854775808ns", "longer than 292 years", id="one above int64"),
        pytest.param("9223372036854775.808us", "longer than 292 years", id="one above, in us"),
        pytest.param("9223372036s854ms775us808ns", "longer than 292 years", id="one above, parts"),
        pytest.param("2562048h", "longer than 292 years", id="too many hours"),
        pytest.param("9" * 41 + "s", "too many digits", id="41 digits"),
        pytest.param("0." + "1" * 41 + "s", "too many digits", id="41 digits of a fraction"),
        pytest.param("1" * 50_000 + "s", "too many digits", id="50,000 digits"),
        pytest.param("\ud800", "is not a duration", id="lone surrogate"),
        pytest.param("1\x00s", "unknown unit", id="NUL"),
    ],
)
def test_refuses_the_rest_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(kron.ParseError, match=message) as caught:
        kron.parse_duration(text)
    assert caught.value.code is kron.Code.DURATION
    (problem,) = caught.value.problems
    assert (problem.start, problem.end) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        pytest.param("1d", "write 1d as 24h", id="a day"),
        pytest.param("14d", "write 14d as 336h", id="two weeks of days"),
        pytest.param("2w", "write 2w as 336h", id="weeks"),
        pytest.param("90", "90s for seconds, 90m for minutes", id="no unit"),
        pytest.param("1h30", "1h30s for seconds, 1h30m for minutes", id="no last unit"),
        pytest.param("-5m", "leave the sign out", id="sign"),
        pytest.param("5min", "units are ns, us, ms, s, m and h", id="unit"),
    ],
)
def test_says_what_to_write_instead(text: str, fix: str) -> None:
    with pytest.raises(kron.ParseError) as caught:
        kron.parse_duration(text)
    assert caught.value.fix == fix


@examples(500)
@given(duration_ns=st.one_of(st.integers(0, LARGEST_NS), st.integers(0, 10**12)))
@example(0)
@example(1)
@example(999)
@example(SECOND - 1)
@example(SECOND)
@example(HOUR - 1)
@example(HOUR + 1)
@example(LARGEST_NS)
def test_reading_undoes_writing(duration_ns: int) -> None:
    assert kron.parse_duration(kron.format_duration(duration_ns)) == duration_ns


@examples(200)
@given(text=duration_texts(LARGEST_NS))
def test_the_canonical_text_is_a_fixed_point(text: str) -> None:
    canonical = kron.format_duration(kron.parse_duration(text))
    assert kron.parse_duration(canonical) == kron.parse_duration(text)
    assert kron.format_duration(kron.parse_duration(canonical)) == canonical


@pytest.mark.parametrize(
    ("duration_ns", "expected"),
    [
        pytest.param(0, "0s", id="nothing"),
        pytest.param(1, "1ns", id="one nanosecond"),
        pytest.param(1_100, "1.1us", id="a fraction of a microsecond"),
        pytest.param(2_200_000, "2.2ms", id="a fraction of a millisecond"),
        pytest.param(3_300_000_000, "3.3s", id="a fraction of a second"),
        pytest.param(MINUTE, "1m", id="no zero seconds"),
        pytest.param(HOUR, "1h", id="no zero minutes and seconds"),
        pytest.param(HOUR + SECOND, "1h1s", id="no zero minutes between"),
        pytest.param(90 * MINUTE, "1h30m", id="hours and minutes"),
        pytest.param(24 * HOUR, "24h", id="no days"),
        pytest.param(4 * MINUTE + 5_000_000_001, "4m5.000000001s", id="an odd nanosecond"),
        pytest.param(HOUR + 1, "1h1ns", id="hours and a nanosecond"),
        pytest.param(LARGEST_NS, "2562047h47m16.854775807s", id="the largest"),
    ],
)
def test_the_canonical_text_has_no_part_that_says_nothing(duration_ns: int, expected: str) -> None:
    assert kron.format_duration(duration_ns) == expected


@examples(300)
@given(duration_ns=st.one_of(st.integers(1, LARGEST_NS), st.integers(1, 10**10)))
def test_the_canonical_text_has_one_form(duration_ns: int) -> None:
    part = r"[1-9][0-9]*"
    last = rf"(?:{part})(?:\.[0-9]*[1-9])?(?:s|ms|us|ns)"
    form = rf"(?:{part}h)?(?:{part}m(?!s))?(?:{last})?"
    canonical = kron.format_duration(duration_ns)
    assert re.fullmatch(form, canonical)
    assert all(
        int(digits) < 60 for digits in re.findall(r"([0-9]+)(?:m(?!s)|(?:\.[0-9]*)?s)", canonical)
    )
    assert all(
        int(digits) < 1000 for digits in re.findall(r"([0-9]+)(?:\.[0-9]*)?[mun]s", canonical)
    )
