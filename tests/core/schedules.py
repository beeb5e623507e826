"""Random valid schedule texts over the whole grammar, for any test to draw from.

Nothing here uses Kron's own writing of a schedule: the texts come from the grammar alone.
"""

from __future__ import annotations

from datetime import date
from functools import cache

from hypothesis import strategies as st

DAY_NS = 86_400 * 10**9
LONGEST_WINDOW_NS = 366 * DAY_NS
ZONES = (
    "UTC",
    "Etc/UTC",
    "GMT",
    "Etc/GMT+12",
    "Europe/Paris",
    "Europe/Dublin",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
)
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@cache
def duration_texts(most_ns: int, *, least_ns: int = 0) -> st.SearchStrategy[str]:
    """Texts of durations, in all of Go's forms that are exact."""
    amounts = st.one_of(
        st.integers(least_ns, most_ns),
        st.integers(-(-least_ns // 10**9), most_ns // 10**9).map(lambda seconds: seconds * 10**9),
        st.integers(least_ns, min(most_ns, 3 * 10**9)),
    )
    return st.builds(_duration_text, amounts, st.integers(0, 4))


@cache
def cron_texts() -> st.SearchStrategy[str]:
    """Five fields that some day matches, whatever the zone."""
    fields = st.tuples(
        _fields(0, 59),
        _fields(0, 23),
        _fields(1, 31, first_at_most=28),
        _fields(1, 12, names=MONTHS),
        _fields(0, 7, names=WEEKDAYS),
    )
    return st.builds(lambda gap, parts: gap.join(parts), _gaps(), fields)


@cache
def clause_texts() -> st.SearchStrategy[str]:
    """One clause of `@only` or `@avoid`."""
    minutes = st.integers(0, 1439).map(lambda minute: f"{minute // 60:02d}:{minute % 60:02d}")
    days = st.one_of(
        st.dates(date(2020, 1, 1), date(2035, 12, 31)), st.dates(date(1, 1, 1), date(9999, 12, 31))
    ).map(lambda day: day.isoformat())
    return st.one_of(
        _keyed("hours", _lists(0, 23)),
        _keyed("dow", _lists(0, 7, names=WEEKDAYS)),
        _keyed("dom", _lists(1, 31)),
        _keyed("months", _lists(1, 12, names=MONTHS)),
        _keyed("between", st.builds("{}-{}".format, minutes, minutes)),
        _keyed("date", days),
        _keyed("dates", st.tuples(days, days).map(lambda pair: "..".join(sorted(pair)))),
    )


@cache
def constraint_texts() -> st.SearchStrategy[str]:
    """The clauses of one `@only` or `@avoid`."""
    return st.lists(clause_texts(), min_size=1, max_size=5).map(";".join)


@cache
def distribution_texts() -> st.SearchStrategy[str]:
    """What stands between the parentheses of `@dist`."""
    anchors = st.sampled_from(["nominal", "start", "mid", "end"])
    sigmas = st.one_of(duration_texts(DAY_NS, least_ns=1), duration_texts(2**63 - 1, least_ns=1))
    directions = st.sampled_from(["early", "late"])
    return st.one_of(
        st.just("uniform"),
        _named("normal", _keyed("mu", anchors), _keyed("sigma", sigmas)),
        _named("skewEarly", _keyed("shape", _positive_numbers())),
        _named("skewLate", _keyed("shape", _positive_numbers())),
        _named("exponential", _keyed("lambda", _positive_numbers()), _keyed("dir", directions)),
    )


@cache
def window_texts(most_ns: int = LONGEST_WINDOW_NS) -> st.SearchStrategy[str]:
    """What stands between the parentheses of `@win`."""
    modes = st.sampled_from(["after", "around", "before"])
    return st.builds("{},{}".format, modes, duration_texts(most_ns))


@cache
def seed_texts() -> st.SearchStrategy[str]:
    """What stands between the parentheses of `@seed`."""
    plain = st.text(
        "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789._:/+-=#é漢", min_size=1, max_size=12
    )
    free = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
    quoted = st.text(st.one_of(free, st.sampled_from(' \t"\\(),;=@')), max_size=12).map(_quoted)
    salts = st.one_of(plain, quoted).map(lambda salt: f"salt={salt}")
    strategies = st.sampled_from(["stable", "daily", "weekly"])
    return st.builds(lambda *parts: ",".join(filter(None, parts)), strategies, st.just("") | salts)


@cache
def policy_texts() -> st.SearchStrategy[str]:
    """What stands between the parentheses of `@policy`."""
    parts = {
        "concurrency": st.sampled_from(["allow", "forbid", "replace"]),
        "deadline": duration_texts(2**63 - 1),
        "suspend": st.sampled_from(["true", "false"]),
    }
    given = st.tuples(*(_keyed(key, values) for key, values in parts.items()))
    orders = st.lists(st.sampled_from([0, 1, 2]), unique=True, min_size=1)
    return st.builds(lambda given, order: ",".join(given[i] for i in order), given, orders)


@cache
def schedule_texts(*, most_window_ns: int = LONGEST_WINDOW_NS) -> st.SearchStrategy[str]:
    """A valid schedule: five fields, and any of the modifiers in any order and any place."""
    bodies = {
        "tz": st.sampled_from(ZONES),
        "win": window_texts(most_window_ns),
        "dist": distribution_texts(),
        "seed": seed_texts(),
        "policy": policy_texts(),
        "only": constraint_texts(),
        "avoid": constraint_texts(),
    }
    modifiers = {name: body.map(f"@{name}({{}})".format) for name, body in bodies.items()}
    return _schedule_texts(modifiers)


@st.composite
def _schedule_texts(draw: st.DrawFn, modifiers: dict[str, st.SearchStrategy[str]]) -> str:
    pieces = [draw(cron_texts())]
    for name in draw(_NAMES):
        pieces.insert(draw(_PLACES) % (len(pieces) + 1), draw(modifiers[name]))
    edge = draw(_EDGES)
    return edge + draw(_gaps()).join(pieces) + edge


_NAMES = st.lists(
    st.sampled_from(["tz", "win", "dist", "seed", "policy", "only", "avoid"]), unique=True
)
_PLACES = st.integers(0, 7)
_EDGES = st.sampled_from(["", "", " ", "\t"])


@cache
def _gaps() -> st.SearchStrategy[str]:
    return st.sampled_from([" ", " ", "  ", "\t", " \t "])


def _keyed(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bare_or_quoted = st.sampled_from(["{}={}", "{}={}", '{}="{}"'])
    return st.builds(lambda form, value: form.format(key, value), bare_or_quoted, values)


def _named(name: str, *arguments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The name, and any of the arguments in either order."""
    given = st.tuples(*(st.just("") | argument for argument in arguments))
    return st.builds(
        lambda parts, order: ",".join([name, *filter(None, parts[::order])]),
        given,
        st.sampled_from([1, -1]),
    )


@cache
def _positive_numbers() -> st.SearchStrategy[str]:
    floats = st.floats(5e-324, 1.7e308, exclude_min=False)
    return st.one_of(
        st.sampled_from(["1", "2", "2.0", "1.0", ".5", "3.", "1e2", "1E-3", "2.5e+1", "0002"]),
        st.floats(0.01, 100.0).map(repr),
        floats.map(repr),
    )


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _duration_text(amount_ns: int, form: int) -> str:
    hours, rest = divmod(amount_ns, 3_600 * 10**9)
    minutes, rest_ns = divmod(rest, 60 * 10**9)
    seconds, below_ns = divmod(rest_ns, 10**9)
    match form:
        case 0:
            return f"{amount_ns}ns"
        case 1:
            return f"{hours}h{minutes}m{seconds}.{below_ns:09d}s"
        case 2:
            return f"{below_ns}ns{seconds}s{minutes}m{hours}h"
        case 3:
            return f"{amount_ns // 1000}.{amount_ns % 1000:03d}µs"
        case _:
            return f"{amount_ns // 10**6}.{amount_ns % 10**6:06d}ms"


@cache
def _items(low: int, high: int, names: tuple[str, ...], steps: bool) -> st.SearchStrategy[str]:
    """`n`, `n-m` or, if steps are allowed, `n-m/s`."""
    values = st.tuples(st.integers(low, high), st.integers(0, 5))
    single = values.map(lambda value: _spelled(*value, low, names))
    ranges = st.tuples(values, values).map(
        lambda pair: "-".join(_spelled(*value, low, names) for value in sorted(pair))
    )
    stepped = st.builds("{}/{}".format, ranges, st.integers(1, 100))
    return st.one_of(single, ranges, stepped) if steps else st.one_of(single, ranges)


def _spelled(value: int, form: int, low: int, names: tuple[str, ...]) -> str:
    if form < 3 or not names or value - low >= len(names):
        return (str(value), f"{value:02d}", f"{value:04d}")[form % 3]
    name = names[value - low]
    return (name, name.lower(), name.title())[form % 3]


@cache
def _lists(
    low: int, high: int, *, names: tuple[str, ...] = (), steps: bool = False
) -> st.SearchStrategy[str]:
    return st.lists(_items(low, high, names, steps), min_size=1, max_size=4).map(",".join)


@cache
def _fields(
    low: int, high: int, *, names: tuple[str, ...] = (), first_at_most: int | None = None
) -> st.SearchStrategy[str]:
    """A cron field; `first_at_most` bounds one of its values, so that some day has it."""
    lists = _lists(low, high, names=names, steps=True)
    if first_at_most is not None:
        certain = st.integers(low, first_at_most).map(str)
        lists = st.one_of(certain, st.builds("{},{}".format, certain, lists))
    stars = st.one_of(st.just("*"), st.integers(1, 100).map("*/{}".format))
    mixed = st.builds("{},{}".format, stars, lists)
    return st.one_of(stars, lists, mixed, st.builds("{},{}".format, lists, stars))
