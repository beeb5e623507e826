"""The syntax, rule by rule: what is read, what is refused, where and why."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code
from kron.core.constraint import ClauseKind
from kron.core.distribution import Anchor, Direction, Exponential, Normal, SkewEarly, SkewLate
from kron.core.distribution import Uniform as UniformDistribution
from kron.core.policy import Concurrency, Policy
from kron.core.seed import Seed, Strategy
from kron.core.window import Mode, Window
from tests.core.schedules import MONTHS, WEEKDAYS, schedule_texts
from tests.soak import examples

CRON = "0 10 * * *"
HOUR_NS = 3_600 * 10**9
FIELDS = ("minute", "hour", "day_of_month", "month", "day_of_week")

SEED_EXAMPLES = (
    "0 0 * * *",
    "15 9 * * MON-FRI",
    "*/5 * * * *",
    "0 3 1 * *",
    "0 10 * * * @tz(Europe/Paris)",
    "0 18 * * * @tz(America/Los_Angeles)",
    "0 0 * * * @win(after,2h)",
    "0 10 * * * @win(around,45m)",
    "0 10 * * * @dist(uniform)",
    "0 10 * * * @win(around,2h) @dist(normal,sigma=20m)",
    "0 10 * * * @win(after,2h)  @dist(normal,mu=start,sigma=15m)",
    "0 10 * * * @win(after,2h) @dist(skewEarly,shape=3)",
    "0 10 * * * @win(after,2h) @dist(skewLate,shape=1.5)",
    "0 10 * * * @win(after,2h) @dist(exponential,dir=early,lambda=1.2)",
    "0 10 * * * @win(after,2h) @dist(exponential,dir=late,lambda=0.8)",
    "0 10 * * * @win(after,2h)  @dist(exponential,dir=early,lambda=1.2)",
    '0 0 * * * @seed(stable,salt="team-a")',
    "0 10 * * * @seed(daily)",
    "0 10 * * MON @seed(weekly,salt=prod)",
    "0 0 * * * @policy(concurrency=forbid,deadline=10m)",
    "0 10 * * * @policy(concurrency=replace)",
    "0 10 * * * @win(after,2h) @avoid(hours=0-6)",
    "0 18 * * * @win(around,1h) @only(dow=MON-FRI;between=08:00-20:00)",
    "0 19 * * * @avoid(date=2026-12-25)",
    "0 19 * * * @avoid(dates=2026-12-24..2026-12-31)",
    "0 0 * * * @tz(UTC) @win(after,3h) @dist(uniform) @seed(stable,salt=backup) "
    "@policy(concurrency=forbid,deadline=30m)",
    "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) "
    "@seed(daily,salt=msgs) @only(dow=MON-FRI;between=08:00-20:00)",
    "0 18 * * * @tz(America/Los_Angeles) @win(around,20m) @dist(skewLate,shape=1.4) "
    "@seed(daily,salt=lights)",
    "0 * * * * @tz(UTC) @win(after,30m) @dist(skewEarly) @only(dow=MON-FRI;hours=8-18)",
    "0 2 1 * * @tz(UTC) @win(after,8h) @dist(uniform) @policy(concurrency=forbid,deadline=15m)",
)


def refused(text: str, limits: kron.Limits | None = None) -> tuple[kron.Problem, ...]:
    """The problems of a text that must have some."""
    with pytest.raises(kron.ParseError) as caught:
        kron.parse_schedule(text, *([limits] if limits else []))
    return caught.value.problems


def marked(text: str) -> list[tuple[Code, str]]:
    """Each problem of the text: its code, and the very characters that it points at."""
    return [(problem.code, text[problem.start : problem.end]) for problem in refused(text)]


@pytest.mark.parametrize("text", SEED_EXAMPLES)
def test_every_example_is_read(text: str) -> None:
    schedule = kron.parse_schedule(text)
    assert kron.parse_schedule(str(schedule)) == schedule


def test_defaults_are_utc_no_window_uniform_stable_and_forbid() -> None:
    schedule = kron.parse_schedule(CRON)
    assert schedule.zone.key == "UTC"
    assert schedule.window == Window(Mode.AFTER, 0)
    assert schedule.distribution == UniformDistribution()
    assert schedule.seed == Seed(Strategy.STABLE, "")
    assert schedule.policy == Policy(Concurrency.FORBID, 0, False)
    assert schedule.constraints.is_empty


@pytest.mark.parametrize(
    ("modifier", "field", "expected"),
    [
        pytest.param("@win(after,2h)", "window", Window(Mode.AFTER, 2 * HOUR_NS), id="after"),
        pytest.param("@win(around,2h)", "window", Window(Mode.AROUND, 2 * HOUR_NS), id="around"),
        pytest.param("@win(before,2h)", "window", Window(Mode.BEFORE, 2 * HOUR_NS), id="before"),
        pytest.param(
            "@win(after,1h30m)", "window", Window(Mode.AFTER, 3 * HOUR_NS // 2), id="1h30m"
        ),
        pytest.param("@win(after,7ns)", "window", Window(Mode.AFTER, 7), id="nanoseconds"),
        pytest.param("@win(after,0)", "window", Window(Mode.AFTER, 0), id="zero without unit"),
        pytest.param('@win("after","2h")', "window", Window(Mode.AFTER, 2 * HOUR_NS), id="quoted"),
        pytest.param("@dist(uniform)", "distribution", UniformDistribution(), id="uniform"),
        pytest.param("@dist(normal)", "distribution", Normal(None, None), id="normal"),
        pytest.param(
            "@dist(normal,mu=nominal)", "distribution", Normal(Anchor.NOMINAL), id="nominal"
        ),
        pytest.param("@dist(normal,mu=start)", "distribution", Normal(Anchor.START), id="start"),
        pytest.param("@dist(normal,mu=mid)", "distribution", Normal(Anchor.MID), id="mid"),
        pytest.param("@dist(normal,mu=end)", "distribution", Normal(Anchor.END), id="end"),
        pytest.param("@dist(normal,sigma=1h)", "distribution", Normal(None, HOUR_NS), id="sigma"),
        pytest.param("@dist(normal,sigma=1ns)", "distribution", Normal(None, 1), id="small sigma"),
        pytest.param(
            "@dist(normal,sigma=1h,mu=end)",
            "distribution",
            Normal(Anchor.END, HOUR_NS),
            id="parameters in any order",
        ),
        pytest.param("@dist(skewEarly)", "distribution", SkewEarly(2.0), id="skewEarly"),
        pytest.param("@dist(skewLate)", "distribution", SkewLate(2.0), id="skewLate"),
        pytest.param("@dist(skewEarly,shape=3)", "distribution", SkewEarly(3.0), id="shape"),
        pytest.param("@dist(skewLate,shape=.5)", "distribution", SkewLate(0.5), id="shape below 1"),
        pytest.param("@dist(skewLate,shape=2.)", "distribution", SkewLate(2.0), id="shape 2."),
        pytest.param("@dist(skewLate,shape=1e3)", "distribution", SkewLate(1e3), id="shape 1e3"),
        pytest.param(
            "@dist(exponential)",
            "distribution",
            Exponential(1.0, Direction.EARLY),
            id="exponential",
        ),
        pytest.param(
            "@dist(exponential,lambda=0.8,dir=late)",
            "distribution",
            Exponential(0.8, Direction.LATE),
            id="lambda and dir",
        ),
        pytest.param(
            "@dist(exponential,dir=early)",
            "distribution",
            Exponential(1.0, Direction.EARLY),
            id="dir early",
        ),
        pytest.param("@seed(stable)", "seed", Seed(Strategy.STABLE), id="stable"),
        pytest.param("@seed(daily)", "seed", Seed(Strategy.DAILY), id="daily"),
        pytest.param("@seed(weekly)", "seed", Seed(Strategy.WEEKLY), id="weekly"),
        pytest.param("@seed(daily,salt=a)", "seed", Seed(Strategy.DAILY, "a"), id="salt"),
        pytest.param('@seed(daily,salt="a")', "seed", Seed(Strategy.DAILY, "a"), id="quoted salt"),
        pytest.param('@seed(daily,salt="")', "seed", Seed(Strategy.DAILY, ""), id="empty salt"),
        pytest.param("@seed(salt=a,daily)", "seed", Seed(Strategy.DAILY, "a"), id="salt first"),
        pytest.param(
            "@seed(daily,salt=a=b)", "seed", Seed(Strategy.DAILY, "a=b"), id="= in a salt"
        ),
        pytest.param(
            "@seed(daily,salt=é漢)", "seed", Seed(Strategy.DAILY, "é漢"), id="Unicode salt"
        ),
        pytest.param("@policy(concurrency=allow)", "policy", Policy(Concurrency.ALLOW), id="allow"),
        pytest.param("@policy(concurrency=forbid)", "policy", Policy(), id="forbid"),
        pytest.param(
            "@policy(concurrency=replace)", "policy", Policy(Concurrency.REPLACE), id="replace"
        ),
        pytest.param("@policy(deadline=1h)", "policy", Policy(deadline_ns=HOUR_NS), id="deadline"),
        pytest.param("@policy(suspend=true)", "policy", Policy(suspend=True), id="suspend"),
        pytest.param("@policy(suspend=false)", "policy", Policy(), id="not suspended"),
        pytest.param(
            "@policy(suspend=true,deadline=1h,concurrency=allow)",
            "policy",
            Policy(Concurrency.ALLOW, HOUR_NS, True),
            id="all of the policy",
        ),
    ],
)
def test_a_modifier_means_what_it_says(modifier: str, field: str, expected: object) -> None:
    assert getattr(kron.parse_schedule(f"{CRON} {modifier}"), field) == expected


@pytest.mark.parametrize(
    ("written", "salt"),
    [
        pytest.param('"a b"', "a b", id="space"),
        pytest.param('"a\tb"', "a\tb", id="tab"),
        pytest.param('"a,b"', "a,b", id="comma"),
        pytest.param('"a;b"', "a;b", id="semicolon"),
        pytest.param('"a)b("', "a)b(", id="parentheses"),
        pytest.param('"a=b"', "a=b", id="equals"),
        pytest.param('"@win(after,2h)"', "@win(after,2h)", id="a modifier as text"),
        pytest.param(r'"a\"b"', 'a"b', id="escaped quote"),
        pytest.param(r'"a\\b"', "a\\b", id="escaped backslash"),
        pytest.param(r'"\\"', "\\", id="only a backslash"),
        pytest.param(r'"\\\""', '\\"', id="backslash, then a quote"),
        pytest.param('"0 0 * * *"', "0 0 * * *", id="a schedule as text"),
        pytest.param('"\u202e\u200b"', "\u202e\u200b", id="marks that nobody sees"),
    ],
)
def test_quotes_hold_anything(written: str, salt: str) -> None:
    assert kron.parse_schedule(f"{CRON} @seed(daily,salt={written})").seed.salt == salt


@pytest.mark.parametrize(
    ("clause", "kind"),
    [
        pytest.param("hours=0-6", ClauseKind.HOURS, id="hours"),
        pytest.param("hours=1-5,7,9-12", ClauseKind.HOURS, id="lists and ranges"),
        pytest.param('hours="1-5,7"', ClauseKind.HOURS, id="quoted"),
        pytest.param("dow=MON-FRI", ClauseKind.DAYS_OF_WEEK, id="weekdays by name"),
        pytest.param("dow=mon,7", ClauseKind.DAYS_OF_WEEK, id="weekdays mixed"),
        pytest.param("dom=1,15,31", ClauseKind.DAYS_OF_MONTH, id="days of the month"),
        pytest.param("months=JAN-MAR,12", ClauseKind.MONTHS, id="months"),
        pytest.param("between=08:00-20:00", ClauseKind.BETWEEN, id="between"),
        pytest.param("between=22:00-06:00", ClauseKind.BETWEEN, id="between across midnight"),
        pytest.param("between=12:00-12:00", ClauseKind.BETWEEN, id="one minute"),
        pytest.param("between=00:00-23:59", ClauseKind.BETWEEN, id="the whole day"),
        pytest.param("date=2026-12-25", ClauseKind.DATES, id="date"),
        pytest.param("date=2028-02-29", ClauseKind.DATES, id="leap day"),
        pytest.param("dates=2026-12-24..2026-12-31", ClauseKind.DATES, id="dates"),
        pytest.param("dates=2026-12-24..2026-12-24", ClauseKind.DATES, id="dates of one day"),
    ],
)
@pytest.mark.parametrize("name", ["only", "avoid"])
def test_every_form_of_clause_is_read(name: str, clause: str, kind: ClauseKind) -> None:
    constraints = kron.parse_schedule(f"{CRON} @{name}({clause})").constraints
    clauses = constraints.only if name == "only" else constraints.avoid
    assert [clause.kind for clause in clauses] == [kind]


def test_a_kind_of_clause_may_come_again_and_order_is_kept() -> None:
    text = f"{CRON} @only(hours=1;dow=MON;hours=2) @avoid(dom=3)"
    constraints = kron.parse_schedule(text).constraints
    assert [str(clause) for clause in constraints.only] == ["hours=1", "dow=MON", "hours=2"]
    assert [str(clause) for clause in constraints.avoid] == ["dom=3"]


@examples(100)
@given(text=schedule_texts(), data=st.data())
def test_the_order_of_modifiers_is_not_significant(text: str, data: st.DataObject) -> None:
    schedule = kron.parse_schedule(text)
    cron, *modifiers = re.split(r" (?=@(?:tz|win|dist|seed|policy|only|avoid)\()", str(schedule))
    shuffled = data.draw(st.permutations([cron, *modifiers]))
    assert kron.parse_schedule(" ".join(shuffled)) == schedule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The shape of the line.
        pytest.param("", [(Code.CRON_FIELD_COUNT, "")], id="nothing"),
        pytest.param("   ", [(Code.CRON_FIELD_COUNT, "   ")], id="only spaces"),
        pytest.param("0 10 * *", [(Code.CRON_FIELD_COUNT, "0 10 * *")], id="four fields"),
        pytest.param("0 10 * * * *", [(Code.CRON_FIELD_COUNT, "*")], id="six fields"),
        pytest.param("@win(after,2h)", [(Code.CRON_FIELD_COUNT, "@win(after,2h)")], id="no fields"),
        pytest.param("@daily", [(Code.CRON_SHORTHAND, "@daily")], id="shorthand"),
        pytest.param("@Daily", [(Code.CRON_SHORTHAND, "@Daily")], id="shorthand in any case"),
        pytest.param(
            "@Reboot",
            [(Code.MODIFIER_FORM, "@Reboot"), (Code.CRON_FIELD_COUNT, "@Reboot")],
            id="no word of ours",
        ),
        pytest.param("@reboot 5", [(Code.CRON_FIELD_COUNT, "@reboot")], id="reboot and a field"),
        pytest.param(
            "0 3 * * * @reboot", [(Code.CRON_FIELD_COUNT, "@reboot")], id="fields and reboot"
        ),
        pytest.param(
            "@reboot @policy(deadline=1h) @win(after,5m) @tz(Europe/Paris) @only(hours=3)",
            [
                (Code.MODIFIER_FORM, "@win(after,5m)"),
                (Code.MODIFIER_FORM, "@tz(Europe/Paris)"),
                (Code.MODIFIER_FORM, "@only(hours=3)"),
            ],
            id="reboot and what a clock needs",
        ),
        pytest.param("0 0 31 2 *", [(Code.CRON_NEVER, "0 0 31 2 *")], id="never"),
        pytest.param(
            "0 0 30,31 FEB *  @win(after,2h)",
            [(Code.CRON_NEVER, "0 0 30,31 FEB *")],
            id="never, with a window",
        ),
        pytest.param("61 10 * * *", [(Code.CRON_FIELD, "61")], id="a bad field"),
        pytest.param("0 10 * * 1,9,2", [(Code.CRON_FIELD, "9")], id="a bad item of a list"),
        pytest.param(f"{CRON}\n", [(Code.TEXT, "\n")], id="line break"),
        pytest.param(f"{CRON}\x00", [(Code.TEXT, "\x00")], id="NUL"),
        pytest.param(f"{CRON}\x1b[31m", [(Code.TEXT, "\x1b")], id="terminal escape"),
        pytest.param(f'{CRON} @seed(daily,salt="\ud800")', [(Code.TEXT, "\ud800")], id="surrogate"),
        pytest.param(
            f'{CRON} @seed(daily,salt="\u2028")', [(Code.TEXT, "\u2028")], id="line separator"
        ),
        pytest.param("0\u00a010 * * * *", [(Code.CRON_FIELD, "0\u00a010")], id="no-break space"),
        # The shape of a modifier.
        pytest.param(f"{CRON} @nope(a)", [(Code.MODIFIER_UNKNOWN, "@nope(a)")], id="unknown"),
        pytest.param(
            f"{CRON} @Win(after,2h)", [(Code.MODIFIER_UNKNOWN, "@Win(after,2h)")], id="case"
        ),
        pytest.param(f"{CRON} @()", [(Code.MODIFIER_UNKNOWN, "@()")], id="no name"),
        pytest.param(f"{CRON} @win", [(Code.MODIFIER_FORM, "@win")], id="no parentheses"),
        pytest.param(f"{CRON} @", [(Code.MODIFIER_FORM, "@")], id="only an at sign"),
        pytest.param(f"{CRON} @win(after,2h", [(Code.MODIFIER_FORM, "@win(after,2h")], id="open"),
        pytest.param(
            f"{CRON} @win((after,2h)", [(Code.MODIFIER_FORM, "@win((after,2h)")], id="nested"
        ),
        pytest.param(f"{CRON} @win(after,2h))", [(Code.MODIFIER_FORM, ")")], id="closed twice"),
        pytest.param(
            f"{CRON} @win(after,2h)@tz(UTC)", [(Code.MODIFIER_FORM, "@tz(UTC)")], id="glued"
        ),
        pytest.param(
            f"{CRON} @win(after, 2h)", [(Code.MODIFIER_FORM, "@win(after, 2h)")], id="space"
        ),
        pytest.param(
            f"{CRON} @win( after,2h)",
            [(Code.MODIFIER_FORM, "@win( after,2h)")],
            id="space at the start",
        ),
        pytest.param(
            f"{CRON} @win(after,2h )",
            [(Code.MODIFIER_FORM, "@win(after,2h )")],
            id="space at the end",
        ),
        pytest.param(
            f"{CRON} @only(hours=1 ; dow=2)",
            [(Code.MODIFIER_FORM, "@only(hours=1 ; dow=2)")],
            id="space between clauses",
        ),
        pytest.param(
            f"{CRON} @win (after,2h)",
            [(Code.MODIFIER_FORM, "@win"), (Code.CRON_FIELD_COUNT, "(after,2h)")],
            id="space before the parenthesis",
        ),
        pytest.param(
            f'{CRON} @seed(daily,salt="a b)',
            [(Code.MODIFIER_FORM, '@seed(daily,salt="a b)')],
            id="quote never closed",
        ),
        pytest.param(
            f'{CRON} @seed(daily,salt="a"b)', [(Code.MODIFIER_FORM, '"a"b')], id="quoted in part"
        ),
        pytest.param(
            f'{CRON} @seed(daily,salt=a"b")',
            [(Code.MODIFIER_FORM, 'a"b"')],
            id="quoted in the middle",
        ),
        pytest.param(
            f"{CRON} @seed(daily,salt=a\\b)",
            [(Code.MODIFIER_FORM, "\\b")],
            id="backslash outside quotes",
        ),
        pytest.param(
            f'{CRON} @seed(daily,salt="a\\nb")', [(Code.MODIFIER_FORM, "\\n")], id="unknown escape"
        ),
        pytest.param(f"{CRON} @win()", [(Code.MODIFIER_FORM, "")], id="empty"),
        pytest.param(f"{CRON} @win(after,)", [(Code.MODIFIER_FORM, "")], id="an empty argument"),
        pytest.param(f"{CRON} @win(,2h)", [(Code.MODIFIER_FORM, "")], id="an empty first argument"),
        pytest.param(f"{CRON} @seed(daily,salt=)", [(Code.MODIFIER_FORM, "")], id="an empty value"),
        pytest.param(f"{CRON} @only(hours=1;)", [(Code.MODIFIER_FORM, "")], id="an empty clause"),
        # Each at most once.
        *(
            pytest.param(f"{CRON} {one} {one}", [(Code.MODIFIER_REPEATED, one)], id=f"{one} twice")
            for one in (
                "@tz(UTC)",
                "@win(after,2h)",
                "@dist(uniform)",
                "@seed(daily)",
                "@policy(suspend=true)",
                "@avoid(hours=1)",
                "@only(hours=1)",
            )
        ),
        # @tz
        pytest.param(f"{CRON} @tz(Mars/Olympus)", [(Code.ZONE_UNKNOWN, "Mars/Olympus")], id="zone"),
        pytest.param(
            f'{CRON} @tz("Mars/Olympus")',
            [(Code.ZONE_UNKNOWN, "Mars/Olympus")],
            id="zone between quotes",
        ),
        pytest.param(f"{CRON} @tz(localtime)", [(Code.ZONE_UNKNOWN, "localtime")], id="localtime"),
        pytest.param(f"{CRON} @tz(UTC,UTC)", [(Code.MODIFIER_FORM, "UTC")], id="two zones"),
        pytest.param(f"{CRON} @tz(name=UTC)", [(Code.KEY_UNKNOWN, "name")], id="zone with a key"),
        # @win
        pytest.param(
            f"{CRON} @win(after)", [(Code.MODIFIER_FORM, "@win(after)")], id="no duration"
        ),
        pytest.param(f"{CRON} @win(after,2h,3h)", [(Code.MODIFIER_FORM, "3h")], id="two durations"),
        pytest.param(f"{CRON} @win(center,2h)", [(Code.VALUE_UNKNOWN, "center")], id="mode"),
        pytest.param(
            f"{CRON} @win(AFTER,2h)", [(Code.VALUE_UNKNOWN, "AFTER")], id="mode in capitals"
        ),
        pytest.param(
            f"{CRON} @win(2h,after)",
            [(Code.VALUE_UNKNOWN, "2h"), (Code.DURATION, "after")],
            id="the wrong way round",
        ),
        pytest.param(f"{CRON} @win(after,-2h)", [(Code.DURATION, "-2h")], id="negative window"),
        pytest.param(f"{CRON} @win(after,2)", [(Code.DURATION, "2")], id="window without unit"),
        pytest.param(f"{CRON} @win(after,mode=2h)", [(Code.KEY_UNKNOWN, "mode")], id="window key"),
        # @dist
        pytest.param(f"{CRON} @dist(gauss)", [(Code.VALUE_UNKNOWN, "gauss")], id="distribution"),
        pytest.param(
            f"{CRON} @dist(skewearly)", [(Code.VALUE_UNKNOWN, "skewearly")], id="its case"
        ),
        pytest.param(
            f"{CRON} @dist(shape=2)", [(Code.MODIFIER_FORM, "@dist(shape=2)")], id="no name at all"
        ),
        pytest.param(
            f"{CRON} @dist(uniform,shape=2)", [(Code.KEY_UNKNOWN, "shape")], id="uniform has no key"
        ),
        pytest.param(
            f"{CRON} @dist(normal,shape=2)", [(Code.KEY_UNKNOWN, "shape")], id="normal has no shape"
        ),
        pytest.param(
            f"{CRON} @dist(skewLate,sigma=2h)",
            [(Code.KEY_UNKNOWN, "sigma")],
            id="skew has no sigma",
        ),
        pytest.param(f"{CRON} @dist(exponential,rate=2)", [(Code.KEY_UNKNOWN, "rate")], id="rate"),
        pytest.param(f"{CRON} @dist(normal,mu=middle)", [(Code.VALUE_UNKNOWN, "middle")], id="mu"),
        pytest.param(f"{CRON} @dist(normal,sigma=0s)", [(Code.NUMBER, "0s")], id="sigma of zero"),
        pytest.param(
            f"{CRON} @dist(normal,sigma=0.5)", [(Code.DURATION, "0.5")], id="sigma without unit"
        ),
        pytest.param(f"{CRON} @dist(exponential,dir=up)", [(Code.VALUE_UNKNOWN, "up")], id="dir"),
        *(
            pytest.param(
                f"{CRON} @dist({name}={value})", [(Code.NUMBER, value)], id=f"{name}={value}"
            )
            for name in ("skewEarly,shape", "skewLate,shape", "exponential,lambda")
            for value in (
                "0",
                "0.0",
                "-1",
                "+1",
                "nan",
                "inf",
                "1e999",
                "1e-999",
                "1_0",
                "0x1",
                "two",
                "٣",
                "1e",
                ".",
                "1.5.2",
            )
        ),
        pytest.param(
            f"{CRON} @dist(skewLate,shape=2,shape=3)",
            [(Code.KEY_REPEATED, "shape=3")],
            id="shape twice",
        ),
        pytest.param(
            f"{CRON} @dist(skewLate,uniform)", [(Code.MODIFIER_FORM, "uniform")], id="two names"
        ),
        # @seed
        pytest.param(f"{CRON} @seed(hourly)", [(Code.VALUE_UNKNOWN, "hourly")], id="strategy"),
        pytest.param(
            f"{CRON} @seed(salt=a)", [(Code.MODIFIER_FORM, "@seed(salt=a)")], id="no strategy"
        ),
        pytest.param(
            f"{CRON} @seed(daily,pepper=a)", [(Code.KEY_UNKNOWN, "pepper")], id="seed key"
        ),
        pytest.param(
            f"{CRON} @seed(daily,salt=a,salt=b)", [(Code.KEY_REPEATED, "salt=b")], id="two salts"
        ),
        pytest.param(
            f"{CRON} @seed(daily,a)", [(Code.MODIFIER_FORM, "a")], id="a salt without its key"
        ),
        # @policy
        pytest.param(
            f"{CRON} @policy(forbid)", [(Code.MODIFIER_FORM, "forbid")], id="policy without key"
        ),
        pytest.param(
            f"{CRON} @policy(concurrency=never)",
            [(Code.VALUE_UNKNOWN, "never")],
            id="concurrency",
        ),
        pytest.param(f"{CRON} @policy(suspend=yes)", [(Code.VALUE_UNKNOWN, "yes")], id="suspend"),
        pytest.param(f"{CRON} @policy(deadline=soon)", [(Code.DURATION, "soon")], id="deadline"),
        pytest.param(
            f"{CRON} @policy(deadline=-1s)", [(Code.DURATION, "-1s")], id="negative deadline"
        ),
        pytest.param(
            f"{CRON} @policy(retries=3)", [(Code.KEY_UNKNOWN, "retries")], id="policy key"
        ),
        pytest.param(
            f"{CRON} @policy(suspend=true,suspend=true)",
            [(Code.KEY_REPEATED, "suspend=true")],
            id="suspend twice",
        ),
        pytest.param(f"{CRON} @policy()", [(Code.MODIFIER_FORM, "")], id="no policy"),
        # @only and @avoid
        pytest.param(f"{CRON} @only(8-18)", [(Code.CONSTRAINT, "8-18")], id="a clause without key"),
        pytest.param(f"{CRON} @only(minutes=3)", [(Code.KEY_UNKNOWN, "minutes")], id="clause key"),
        pytest.param(
            f"{CRON} @avoid(hour=3)", [(Code.KEY_UNKNOWN, "hour")], id="nearly a clause key"
        ),
        pytest.param(f"{CRON} @only(hours=24)", [(Code.CONSTRAINT, "24")], id="hour 24"),
        pytest.param(
            f"{CRON} @only(hours=1,24,2)", [(Code.CONSTRAINT, "24")], id="hour 24 in a list"
        ),
        pytest.param(
            f"{CRON} @only(hours=22-6)", [(Code.CONSTRAINT, "22-6")], id="hours backwards"
        ),
        pytest.param(f"{CRON} @only(hours=*)", [(Code.CONSTRAINT, "*")], id="a star"),
        pytest.param(f"{CRON} @only(hours=0-6/2)", [(Code.CONSTRAINT, "0-6/2")], id="a step"),
        pytest.param(f"{CRON} @only(hours=1,,2)", [(Code.CONSTRAINT, "")], id="an empty item"),
        pytest.param(f"{CRON} @only(dow=8)", [(Code.CONSTRAINT, "8")], id="day of week 8"),
        pytest.param(f"{CRON} @only(dow=JAN)", [(Code.CONSTRAINT, "JAN")], id="a month as weekday"),
        pytest.param(
            f"{CRON} @only(dow=FRI-MON)", [(Code.CONSTRAINT, "FRI-MON")], id="over the weekend"
        ),
        pytest.param(f"{CRON} @only(dom=0)", [(Code.CONSTRAINT, "0")], id="day 0"),
        pytest.param(f"{CRON} @only(dom=32)", [(Code.CONSTRAINT, "32")], id="day 32"),
        pytest.param(f"{CRON} @only(months=13)", [(Code.CONSTRAINT, "13")], id="month 13"),
        *(
            pytest.param(
                f"{CRON} @only(between={value})", [(Code.CONSTRAINT, value)], id=f"between={value}"
            )
            for value in (
                "08:00",
                "8:00-20:00",
                "08:00-24:00",
                "08:60-20:00",
                "08:00-20:60",
                "08.00-20.00",
                "08:00..20:00",
                "08:00-20:00-21:00",
                "٠٨:00-20:00",
            )
        ),
        *(
            pytest.param(
                f"{CRON} @only(date={value})", [(Code.CONSTRAINT, value)], id=f"date={value}"
            )
            for value in (
                "2026-02-29",
                "2026-13-01",
                "2026-1-1",
                "20261225",
                "2026-W01-1",
                "0000-01-01",
                "25.12.2026",
                "+2026-12-25",
                "2026-12-25T00:00",
                "٢٠٢٦-12-25",
            )
        ),
        pytest.param(
            f"{CRON} @only(dates=2026-12-24)", [(Code.CONSTRAINT, "2026-12-24")], id="one date"
        ),
        pytest.param(
            f"{CRON} @only(dates=2026-12-31..2026-12-24)",
            [(Code.CONSTRAINT, "2026-12-31..2026-12-24")],
            id="dates backwards",
        ),
        pytest.param(
            f"{CRON} @only(dates=2026-13-24..2026-12-31)",
            [(Code.CONSTRAINT, "2026-13-24")],
            id="the first date is none",
        ),
        pytest.param(
            f"{CRON} @only(dates=2026-12-24..2026-13-31)",
            [(Code.CONSTRAINT, "2026-13-31")],
            id="the last date is none",
        ),
        pytest.param(
            f"{CRON} @only(date=2026-12-24..2026-12-31)",
            [(Code.CONSTRAINT, "2026-12-24..2026-12-31")],
            id="a range as a date",
        ),
        pytest.param(f"{CRON} @only()", [(Code.MODIFIER_FORM, "")], id="no clause"),
    ],
)
def test_a_mistake_is_told_with_its_code_and_its_place(
    text: str, expected: list[tuple[Code, str]]
) -> None:
    assert marked(text) == expected


def test_a_place_is_a_column_counted_from_one() -> None:
    (problem,) = refused("0 10 * * * @win(after,2x)")
    assert problem.column == 23
    assert str(problem).startswith("column 23: ")


def test_all_problems_of_a_line_come_together_in_the_order_of_their_columns() -> None:
    text = (
        "@tz(Nowhere) 61 25,99 * JANUARY * @win(later,2x) @dist(skewLate,shape=0,size=1) "
        '@seed(daily,salt=a,salt=b) @policy(suspend=maybe,x=1) @only(hours=99;"q";dow=MON) @nope(1)'
    )
    problems = refused(text)
    assert [(problem.code, text[problem.start : problem.end]) for problem in problems] == [
        (Code.ZONE_UNKNOWN, "Nowhere"),
        (Code.CRON_FIELD, "61"),
        (Code.CRON_FIELD, "25"),
        (Code.CRON_FIELD, "99"),
        (Code.CRON_FIELD, "JANUARY"),
        (Code.VALUE_UNKNOWN, "later"),
        (Code.DURATION, "2x"),
        (Code.NUMBER, "0"),
        (Code.KEY_UNKNOWN, "size"),
        (Code.KEY_REPEATED, "salt=b"),
        (Code.VALUE_UNKNOWN, "maybe"),
        (Code.KEY_UNKNOWN, "x"),
        (Code.CONSTRAINT, "99"),
        (Code.CONSTRAINT, '"q"'),
        (Code.MODIFIER_UNKNOWN, "@nope(1)"),
    ]
    assert [problem.start for problem in problems] == sorted(problem.start for problem in problems)


def test_fields_are_not_said_to_be_missing_when_twenty_problems_came_before_them() -> None:
    problems = refused("@x " * 25 + CRON)
    assert {problem.code for problem in problems} == {Code.MODIFIER_FORM}


@pytest.mark.parametrize(
    ("text", "limits", "place"),
    [
        pytest.param(
            f"{CRON} @win(after,8784h1ns)", kron.Limits(), "8784h1ns", id="366 days and 1ns"
        ),
        pytest.param(
            f"{CRON} @win(around,24h1ns)", kron.Limits(window_days=1), "24h1ns", id="a day"
        ),
        pytest.param(f"{CRON} @win(after,1ns)", kron.Limits(window_days=0), "1ns", id="no days"),
        pytest.param(
            f"{CRON} @only({';'.join(['hours=1'] * 65)})",
            kron.Limits(),
            f"@only({';'.join(['hours=1'] * 65)})",
            id="65 clauses",
        ),
        pytest.param(
            f"{CRON} @avoid(hours=1;hours=2)",
            kron.Limits(clauses=1),
            "@avoid(hours=1;hours=2)",
            id="two clauses of one",
        ),
        pytest.param(f"{CRON}{' ' * (65_537 - len(CRON))}", kron.Limits(), "0", id="64 KiB and 1"),
        pytest.param(f"{CRON} ", kron.Limits(line_bytes=10), "0", id="11 bytes of 10"),
        pytest.param("é" * 6, kron.Limits(line_bytes=11), "é", id="bytes, not characters"),
    ],
)
def test_a_limit_is_enforced_with_a_clear_error(text: str, limits: kron.Limits, place: str) -> None:
    problems = refused(text, limits)
    assert [problem.code for problem in problems] == [Code.LIMIT]
    assert text[problems[0].start : problems[0].end] == place
    assert "longer than" in problems[0].message or "more than" in problems[0].message


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        pytest.param(f"{CRON} @win(after,8784h)", kron.Limits(), id="366 days"),
        pytest.param(f"{CRON} @win(after,9000h)", kron.Limits(window_days=375), id="375 days"),
        pytest.param(f"{CRON} @only({';'.join(['hours=1'] * 64)})", kron.Limits(), id="64 clauses"),
        pytest.param(
            f"{CRON} @only({';'.join(['hours=1'] * 64)}) @avoid({';'.join(['dom=1'] * 64)})",
            kron.Limits(),
            id="64 clauses in each",
        ),
        pytest.param(
            f"{CRON} @only({';'.join(['hours=1'] * 100)})",
            kron.Limits(clauses=100),
            id="100 clauses",
        ),
        pytest.param(f"{CRON}{' ' * (65_536 - len(CRON))}", kron.Limits(), id="64 KiB"),
        pytest.param(f"{CRON}{' ' * 65_536}", kron.Limits(line_bytes=70_000), id="70 KB"),
        pytest.param(
            f'{CRON} @seed(daily,salt="{"漢" * 21_835}")', kron.Limits(), id="64 KiB of salt"
        ),
    ],
)
def test_what_is_within_a_limit_is_read(text: str, limits: kron.Limits) -> None:
    schedule = kron.parse_schedule(text, limits)
    assert kron.parse_schedule(str(schedule), limits) == schedule


def test_the_default_limits_are_those_of_the_design() -> None:
    assert kron.Limits() == kron.Limits(line_bytes=65_536, window_days=366, clauses=64)


def fixed(text: str, problem: kron.Problem) -> list[str]:
    """The text with the fix of a problem in the place of what was wrong; each way it offers."""
    wrong = text[problem.start : problem.end]
    fix = problem.fix
    if match := re.fullmatch(r"write it like (.+)", fix):
        instead = match[1].split(" or ")
    elif match := re.fullmatch(r"write (\S+) as (\S+)", fix):
        instead = [wrong.replace(match[1], match[2])]
    elif match := re.fullmatch(r"write (.+)", fix):
        instead = match[1].split(" or ")
    elif match := re.fullmatch(r'did you mean "(.+)"\?', fix):
        meant = match[1]
        if problem.code is Code.MODIFIER_UNKNOWN:
            meant = f"@{meant}" + wrong[wrong.index("(") :]
        elif problem.code is Code.VALUE_UNKNOWN and "=" in wrong:
            meant = wrong.partition("=")[0] + "=" + meant
        instead = [meant]
    elif match := re.fullmatch(r"(\S+) for seconds, (\S+) for minutes", fix):
        instead = [match[1], match[2]]
    elif match := re.fullmatch(r"at most (\S+)", fix):
        instead = [match[1]]
    elif fix == "leave the sign out":
        instead = [wrong[1:]]
    else:
        pytest.fail(f"not a fix that can be put in place: {fix!r}")
    return [text[: problem.start] + each + text[problem.end :] for each in instead]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@daily", id="daily"),
        pytest.param("@hourly", id="hourly"),
        pytest.param("@WEEKLY @win(after,2h)", id="weekly with a window"),
        pytest.param("@midnight", id="midnight"),
        pytest.param("@monthly", id="monthly"),
        pytest.param("@yearly", id="yearly"),
        pytest.param("@annually", id="annually"),
        pytest.param("5/10 * * * *", id="minute from"),
        pytest.param("0 5/2 * * *", id="hour from"),
        pytest.param("0 0 5/2 * *", id="day from"),
        pytest.param("0 0 * FEB/2 *", id="named month from"),
        pytest.param("0 0 * 2/2 *", id="month from"),
        pytest.param("0 0 * * MON/2", id="named weekday from"),
        pytest.param("0 0 * * 1/2", id="weekday from"),
        pytest.param("50-10 * * * *", id="minutes over the hour"),
        pytest.param("59-0 * * * *", id="last to first minute"),
        pytest.param("0 22-6 * * *", id="hours over midnight"),
        pytest.param("0 23-0 * * *", id="last to first hour"),
        pytest.param("0 0 28-3 * *", id="days over the month"),
        pytest.param("0 0 * NOV-FEB *", id="months over the year"),
        pytest.param("0 0 * 12-1 *", id="last to first month"),
        pytest.param("0 0 * * FRI-MON", id="over the weekend"),
        pytest.param("0 0 * * fri-mon", id="over the weekend in small letters"),
        pytest.param("0 0 * * SAT-SUN", id="the weekend"),
        pytest.param("0 0 * * sat-sun", id="the weekend in small letters"),
        pytest.param("0 0 * * 6-0", id="the weekend in numbers"),
        pytest.param("0 0 * * 7-2", id="from 7"),
        pytest.param("0 0 * * 5-1", id="over the weekend in numbers"),
        pytest.param("0 0 * * FRI-1", id="name to number"),
        pytest.param("0 0 * * 5-MON", id="number to name"),
        pytest.param("0 0 * * 1,FRI-MON,3", id="in a list"),
        pytest.param(f"{CRON} @win(after,1d)", id="a day"),
        pytest.param(f"{CRON} @win(after,2w)", id="two weeks"),
        pytest.param(f"{CRON} @win(after,1d12h)", id="a day and a half"),
        pytest.param(f"{CRON} @win(after,90)", id="no unit"),
        pytest.param(f"{CRON} @win(after,1h30)", id="no last unit"),
        pytest.param(f"{CRON} @win(after,-2h)", id="minus"),
        pytest.param(f"{CRON} @win(after,+2h)", id="plus"),
        pytest.param(f"{CRON} @win(after,9000h)", id="too long"),
        pytest.param(f"{CRON} @policy(deadline=1d)", id="a deadline of a day"),
        pytest.param(f"{CRON} @win(aftr,2h)", id="mode"),
        pytest.param(f"{CRON} @wins(after,2h)", id="modifier"),
        pytest.param(f"{CRON} @Only(hours=3)", id="modifier in capitals"),
        pytest.param(f"{CRON} @dist(skewearly)", id="distribution"),
        pytest.param(f"{CRON} @dist(Exponential)", id="distribution in capitals"),
        pytest.param(f"{CRON} @dist(skewLate,shap=2)", id="parameter"),
        pytest.param(f"{CRON} @dist(normal,mu=strat)", id="anchor"),
        pytest.param(f"{CRON} @dist(exponential,dir=eraly)", id="direction"),
        pytest.param(f"{CRON} @seed(dayly)", id="strategy"),
        pytest.param(f"{CRON} @seed(daily,slat=a)", id="salt"),
        pytest.param(f"{CRON} @policy(concurency=allow)", id="policy key"),
        pytest.param(f"{CRON} @policy(concurrency=Forbid)", id="concurrency"),
        pytest.param(f"{CRON} @policy(suspend=True)", id="suspend"),
        pytest.param(f"{CRON} @tz(Europe/Pariss)", id="zone"),
        pytest.param(f"{CRON} @tz(america/new_york)", id="zone in small letters"),
        pytest.param(f"{CRON} @only(hour=3)", id="clause"),
        pytest.param(f"{CRON} @only(hours=22-6)", id="clause over midnight"),
        pytest.param(f"{CRON} @only(dow=FRI-MON)", id="clause over the weekend"),
        pytest.param(f"{CRON} @only(months=NOV-FEB)", id="clause over the year"),
        pytest.param(f"{CRON} @only(between=8-18)", id="between"),
        pytest.param(f"{CRON} @only(date=25.12.2026)", id="date"),
        pytest.param(f"{CRON} @only(dates=2026-12-24)", id="dates"),
        pytest.param(f"{CRON} @only(dates=2026-12-31..2026-12-24)", id="dates backwards"),
        pytest.param(f'{CRON} @only(dates="2026-12-31..2026-12-24")', id="dates between quotes"),
        pytest.param(f"{CRON} @only(8-18)", id="no key"),
        pytest.param(f"{CRON} @win(after)", id="a missing argument"),
    ],
)
def test_a_fix_mends_the_text_when_put_in_its_place(text: str) -> None:
    (problem,) = refused(text)
    for whole in fixed(text, problem):
        schedule = kron.fuzzy.parse_schedule(whole, identity="a")  # `daily` is a fix for @daily
        assert str(schedule) != text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("5/10 * * * *", "5-55/10 * * * *", id="from five on"),
        pytest.param("0 0 * * FRI-MON", "0 0 * * SUN,MON,FRI,SAT", id="over the weekend"),
        pytest.param("0 22-1 * * *", "0 0,1,22,23 * * *", id="over midnight"),
        pytest.param("0 0 * * 7-1", "0 0 * * SUN,MON", id="from 7"),
        pytest.param(f"{CRON} @win(after,2w)", f"{CRON} @win(after,336h)", id="two weeks"),
    ],
)
def test_a_fix_says_what_was_meant(text: str, canonical: str) -> None:
    (problem,) = refused(text)
    (whole,) = fixed(text, problem)
    assert str(kron.parse_schedule(whole)) == canonical


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("place", "low", "high", "names"),
    [
        pytest.param(0, 0, 59, (), id="minute"),
        pytest.param(1, 0, 23, (), id="hour"),
        pytest.param(2, 1, 31, (), id="day of month"),
        pytest.param(3, 1, 12, (), id="month"),
        pytest.param(3, 1, 12, MONTHS, id="month by name"),
        pytest.param(4, 0, 6, (), id="day of week"),
        pytest.param(4, 0, 6, WEEKDAYS, id="day of week by name"),
        pytest.param(4, 1, 7, (), id="day of week with 7 as Sunday"),
    ],
)
def test_every_step_without_range_and_every_backward_range_gets_a_fix_that_means_it(
    place: int, low: int, high: int, names: tuple[str, ...]
) -> None:
    def spelled(value: int) -> str:
        return names[value - low] if names else str(value)

    def schedule_with(field: str) -> str:
        return " ".join([*["*"] * place, field, *["*"] * (4 - place)])

    def values_after_mending(field: str) -> set[int]:
        text = schedule_with(field)
        (problem,) = refused(text)
        (whole,) = fixed(text, problem)
        mask: int = getattr(kron.parse_schedule(whole).cron, FIELDS[place]).mask
        return {
            value
            for value in range(low, high + 1)
            if mask >> (value % 7 if place == 4 else value) & 1
        }

    for first in range(low, high + 1):
        if first < 7 or place != 4:
            last = 6 if place == 4 else high
            assert values_after_mending(f"{spelled(first)}/2") == set(range(first, last + 1, 2)), (
                first
            )
        for last in range(low, first):
            expected = {*range(first, high + 1), *range(low, last + 1)}
            if place == 4 and low == 1 and first < 7:
                expected.add(7)  # from Friday to Monday there is a Sunday, whatever its number
            assert values_after_mending(f"{spelled(first)}-{spelled(last)}") == expected


def test_sunday_as_7_with_a_step_is_not_mended_into_something_that_is_refused_too() -> None:
    text = "0 0 * * 7/2"
    (problem,) = refused(text)
    assert not problem.fix or all(kron.parse_schedule(whole) for whole in fixed(text, problem))


@pytest.mark.parametrize("mode", ["around", "before"])
@pytest.mark.parametrize("duration", ["1ns", "2ns", "3ns", "5ns", "6ns", "1us"])
def test_the_shortest_windows_take_a_normal_distribution(mode: str, duration: str) -> None:
    schedule = kron.parse_schedule(f"{CRON} @win({mode},{duration}) @dist(normal)")
    assert schedule.window.duration_ns == kron.parse_duration(duration)


@pytest.mark.parametrize("name", ["\u017fUN", "FR\u0131", "\u017fat"])
def test_a_name_that_only_looks_alike_in_capitals_is_no_name(name: str) -> None:
    assert marked(f"0 0 * * {name}") == [(Code.CRON_FIELD, name)]
