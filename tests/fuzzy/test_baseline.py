"""A fuzzy expression as the baseline of a schedule: the text of a krontab line or a KronJob."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code, fuzzy
from tests.core.schedules import schedule_texts
from tests.fuzzy.expressions import Meant, expressions
from tests.soak import examples

IDENTITY = "/etc/krond.d/app.kron:report"


@pytest.mark.parametrize(
    ("text", "is_fuzzy"),
    [
        pytest.param("daily", True, id="keyword"),
        pytest.param("  Weekly on monday", True, id="spaces before it"),
        pytest.param("\tevery 5 minutes", True, id="tab before it"),
        pytest.param("monthly", True, id="a word that is no keyword"),
        pytest.param("MON * * * *", True, id="a name where the minute should be"),
        pytest.param("FUZZY:DAILY * * *", True, id="a placeholder"),
        pytest.param("0 10 * * *", False, id="number"),
        pytest.param("*/5 * * * *", False, id="star"),
        pytest.param("@daily", False, id="shorthand"),
        pytest.param("H H * * *", False, id="the H of another cron"),
        pytest.param("H/15 * * * *", False, id="the H of another cron with a step"),
        pytest.param("L * * * *", False, id="the L of another cron"),
        pytest.param("", False, id="nothing"),
        pytest.param("\u212aron", False, id="no ASCII"),
    ],
)
def test_the_first_word_decides(text: str, is_fuzzy: bool) -> None:
    assert fuzzy.is_fuzzy(text) == is_fuzzy


@examples(60)
@given(schedule_texts())
def test_cron_text_is_read_as_the_core_reads_it(text: str) -> None:
    assert fuzzy.parse_schedule(text, identity=IDENTITY) == kron.parse_schedule(text)


@pytest.mark.parametrize("text", ["", "5/10 * * * * @win(after,2d)", "@daily", "H H * * *", "0 *"])
def test_the_problems_of_cron_text_are_those_of_the_core(text: str) -> None:
    with pytest.raises(kron.ParseError) as ours:
        fuzzy.parse_schedule(text, identity=IDENTITY)
    with pytest.raises(kron.ParseError) as the_core:
        kron.parse_schedule(text)
    assert ours.value.problems == the_core.value.problems


def modifiers_of(text: str) -> str:
    """The modifiers of a schedule, which may stand anywhere in its text."""
    canonical = str(kron.parse_schedule(text))
    return canonical[canonical.index("@") :] if "@" in canonical else ""


@examples(100)
@given(
    meant=expressions(),
    modifiers=schedule_texts().map(modifiers_of),
)
def test_the_expression_is_scattered_with_the_identity(meant: Meant, modifiers: str) -> None:
    text = f"{meant.text} {modifiers}"
    cron = fuzzy.scatter(meant.text, IDENTITY)
    if "@tz(" in modifiers:
        with pytest.raises(kron.ParseError) as caught:
            fuzzy.parse_schedule(text, identity=IDENTITY)
        (problem,) = caught.value.problems
        assert problem.code is Code.FUZZY_WITH_TZ
        assert text[problem.start :].startswith("@tz(")
    else:
        schedule = fuzzy.parse_schedule(text, identity=IDENTITY)
        assert schedule == kron.parse_schedule(f"{cron} {modifiers}")
        assert kron.parse_schedule(str(schedule)) == schedule


def test_the_schedule_is_an_ordinary_one() -> None:
    text = "daily between 9:00 and 17:00 @win(after,10m) @policy(deadline=1h)"
    schedule = fuzzy.parse_schedule(text, identity=IDENTITY)
    cron = fuzzy.scatter("daily between 9:00 and 17:00", IDENTITY)
    assert str(schedule) == f"{cron} @win(after,10m) @policy(deadline=1h)"
    nominal = schedule.next_nominal(datetime(2026, 3, 1, tzinfo=UTC))
    assert 9 <= nominal.hour <= 17
    assert kron.decide(schedule, identity=IDENTITY, nominal=nominal).chosen_time is not None


def test_another_identity_has_another_time() -> None:
    times = {str(fuzzy.parse_schedule("daily", identity=f"job-{n}")) for n in range(50)}
    assert len(times) > 30


@pytest.mark.parametrize("identity", ["", " ", "a\nb"])
def test_a_fuzzy_schedule_needs_an_identity(identity: str) -> None:
    with pytest.raises(kron.KronError) as caught:
        fuzzy.parse_schedule("daily", identity=identity)
    assert caught.value.code is Code.IDENTITY
    fuzzy.parse_schedule("0 9 * * *", identity=identity)


def marked(text: str) -> list[tuple[Code, str]]:
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse_schedule(text, identity=IDENTITY)
    assert caught.value.text == text
    return [(one.code, text[one.start : one.end]) for one in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "daily around 25:00 @win(after,2d)",
            [(Code.HOUR_OUT_OF_RANGE, "25"), (Code.DURATION, "2d")],
            id="both halves at once",
        ),
        pytest.param(
            "  dayly\t@dist(bell) @win(after,2h",
            [
                (Code.UNKNOWN_KEYWORD, "dayly"),
                (Code.VALUE_UNKNOWN, "bell"),
                (Code.MODIFIER_FORM, "@win(after,2h"),
            ],
            id="with spaces before, and a modifier that is never closed",
        ),
        pytest.param(
            "weekly on monday around 17:00 @tz(Europe/Paris)",
            [(Code.FUZZY_WITH_TZ, "@tz(Europe/Paris)")],
            id="a zone",
        ),
        pytest.param(
            "weekly @win(after,2d) @tz(Nowhere)",
            [
                (Code.DURATION, "2d"),
                (Code.FUZZY_WITH_TZ, "@tz(Nowhere)"),
                (Code.ZONE_UNKNOWN, "Nowhere"),
            ],
            id="a zone that does not exist, beside a wrong window",
        ),
        pytest.param(
            "daily @win(after,1h) around 14:00 @dist(bell)",
            [(Code.UNSUPPORTED_SYNTAX, "around"), (Code.VALUE_UNKNOWN, "bell")],
            id="words after a modifier",
        ),
        pytest.param(
            "daily @win(after,1h) @win(after,2h)",
            [(Code.MODIFIER_REPEATED, "@win(after,2h)")],
            id="a modifier twice",
        ),
        pytest.param("daily @daily", [(Code.CRON_SHORTHAND, "@daily")], id="shorthand"),
        pytest.param(
            "daily around 14:00@win(after,1h)",
            [(Code.INVALID_TIME, "14:00@win(after,1h)")],
            id="glued",
        ),
        pytest.param(
            "daily 0 10 * * *", [(Code.UNSUPPORTED_SYNTAX, "0")], id="cron fields after it"
        ),
        pytest.param(
            "FUZZY:DAILY * * *", [(Code.UNKNOWN_KEYWORD, "FUZZY:DAILY")], id="placeholder"
        ),
        pytest.param("daily\x00", [(Code.TEXT, "\x00")], id="control character"),
    ],
)
def test_the_problems_of_both_halves_are_told_at_once(
    text: str, expected: list[tuple[Code, str]]
) -> None:
    assert marked(text) == expected


def test_the_error_about_a_zone_points_to_offsets() -> None:
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse_schedule("daily around 14:00 @tz(Asia/Tokyo)", identity=IDENTITY)
    (problem,) = caught.value.problems
    assert "utc+9" in problem.fix
    assert "UTC" in problem.message


def test_warnings_and_the_expression_are_there_for_who_asks() -> None:
    baseline = fuzzy.read_baseline("bi-weekly @win(after,1h)", identity=IDENTITY)
    assert str(baseline.expression) == "bi-weekly"
    assert [warning.code for warning in baseline.warnings] == [Code.UNEVEN_STEP]
    narrow = fuzzy.read_baseline("daily between 9:00 and 9:03", identity=IDENTITY)
    assert [warning.code for warning in narrow.warnings] == [Code.BUSY_MINUTE]
    plain = fuzzy.read_baseline("0 9 * * *", identity=IDENTITY)
    assert (plain.expression, plain.warnings) == (None, ())
    assert plain.schedule == kron.parse_schedule("0 9 * * *")


def test_a_line_may_be_as_long_as_the_limit_and_not_longer() -> None:
    limits = kron.Limits(line_bytes=40)
    text = "daily @seed(stable,salt=abcdefghijklmno)"
    assert len(text) == 40
    schedule = fuzzy.parse_schedule(text, identity=IDENTITY, limits=limits)
    assert schedule.seed.salt == "abcdefghijklmno"
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse_schedule(text + " ", identity=IDENTITY, limits=limits)
    assert caught.value.code is Code.LIMIT


def test_the_other_limits_hold_too() -> None:
    with pytest.raises(kron.ParseError) as caught:
        fuzzy.parse_schedule(
            "daily @win(after,48h)", identity=IDENTITY, limits=kron.Limits(window_days=1)
        )
    assert caught.value.code is Code.LIMIT


@examples(300)
@given(
    st.text(
        st.sampled_from('daily weekly around 14:00 utc+9 @tz()@win(after,1h)"\\ \t\ud800é漢\x00='),
        max_size=60,
    ).map(lambda text: f"daily {text}")
)
def test_any_text_is_a_schedule_or_a_kron_error(text: str) -> None:
    try:
        fuzzy.parse_schedule(text, identity=IDENTITY)
    except kron.ParseError as error:
        str(error).encode()
        for problem in error.problems:
            assert 0 <= problem.start <= problem.end <= len(text)
