"""Random valid krontab lines over every field, for any test to draw from.

As with `tests.core.schedules`, nothing here uses Kron's own writing: what a line says is drawn
first, and the line is put together from the rules of the format alone.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

from tests.core.schedules import DAY_NS, duration_texts, schedule_texts

FUZZY_TEXTS = (
    "daily",
    "hourly",
    "weekly on friday around 5pm",
    "daily between 9:00 and 17:00",
    "daily around 14:00 utc+9 @win(after,10m)",
    "every 2h @seed(daily,salt=x)",
)
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789/-_"
_AWKWARD = " \t\"\\=@#()%{}$'*;"


class Line(NamedTuple):
    """A line, and what it says: the values without their quotes, the command as its words."""

    text: str
    schedule_text: str
    fields: tuple[tuple[str, str], ...]
    words: tuple[str, ...]

    def values(self, key: str) -> list[str]:
        """What the fields of this key say, in order."""
        return [value for field, value in self.fields if field == key]


@cache
def free_texts(*, min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[str]:
    """Any text that one line may hold."""
    free = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
    characters = st.one_of(free, st.sampled_from(_AWKWARD), st.sampled_from("abc/"))
    return st.text(characters, min_size=min_size, max_size=max_size)


@cache
def names() -> st.SearchStrategy[str]:
    """Names of jobs."""
    return st.text(NAME_CHARACTERS, min_size=1, max_size=12)


@cache
def commands() -> st.SearchStrategy[tuple[str, ...]]:
    """The words of commands: a program that is not empty, and any arguments."""
    return st.builds(
        lambda program, arguments: (program, *arguments),
        free_texts(min_size=1),
        st.lists(free_texts(), max_size=4),
    )


@cache
def optional_fields() -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    """Keys and values, each key at most once but for `env`; neither name nor command."""
    paths = free_texts().map(lambda text: "/" + text)
    outputs = st.one_of(
        st.sampled_from(["keep", "inherit", "discard", "syslog", "journal"]),
        free_texts().map(lambda text: "file:/" + _without_tokens(text)),
        st.sampled_from(["file:/var/log/{name}-%Y%m%d.log", "file:/l/{period}/%H%%", "file:/}"]),
    )
    hooks = st.sampled_from(["/usr/bin/hook", "notify --page x", "https://hc.example.org/a?b=1"])
    accounts = st.sampled_from(["root", "www-data", "_apt", "1000", "a.b", "host$"])
    counts = st.one_of(st.just("unlimited"), st.integers(0, 10**18 - 1).map(str))
    sizes = st.one_of(
        counts, st.builds("{}{}".format, st.integers(0, 2**23 - 1), st.sampled_from("KMGT"))
    )
    values: dict[str, st.SearchStrategy[str]] = {
        "shell": st.one_of(st.just("true"), paths),
        "user": accounts,
        "group": accounts,
        "cwd": paths,
        "umask": st.integers(0, 0o777).flatmap(
            lambda mask: st.sampled_from([f"{mask:o}", f"{mask:03o}", f"0{mask:03o}"])
        ),
        "env_file": st.builds("{}{}".format, st.sampled_from(["", "-"]), paths),
        "environment": st.sampled_from(["inherit", "clean"]),
        "timeout": duration_texts(2**63 - 1, least_ns=1),
        "grace": duration_texts(2**63 - 1),
        "retries": st.integers(0, 100).map(str),
        "retry_delay": duration_texts(2**63 - 1),
        "retry_within": duration_texts(2**63 - 1, least_ns=1),
        "slots": st.sampled_from(["database", "disk,database", "0.a_b-"]),
        "stdout": outputs,
        "stderr": outputs,
        "output_limit": st.integers(2**10, 2**26).map(str),
        **dict.fromkeys(("on_start", "on_success", "on_failure", "on_missed"), hooks),
        "mail": st.sampled_from(["root", "ops@example.org,root"]),
        "mail_on": st.sampled_from(["failure", "output", "always"]),
        "mail_from": st.sampled_from(["krond", "krond@example.org"]),
        "limit_nofile": counts,
        "limit_nproc": counts,
        "limit_as": sizes,
        "limit_core": sizes,
        "nice": st.integers(-20, 19).map(str),
        "description": free_texts(),
    }
    chosen = st.lists(st.sampled_from(sorted(values)), unique=True, max_size=6)
    fields = chosen.flatmap(
        lambda keys: st.tuples(*(st.tuples(st.just(key), values[key]) for key in keys))
    )
    return st.builds(lambda fields, variables: fields + variables, fields, _variables())


@cache
def schedules() -> st.SearchStrategy[str]:
    """Cron schedules with few enough open periods to be a job, and fuzzy ones."""
    return st.one_of(schedule_texts(most_window_ns=DAY_NS), st.sampled_from(FUZZY_TEXTS))


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """A valid line: any schedule, any fields in any order, any spacing, quotes where allowed."""
    schedule_text = draw(schedules())
    words = draw(commands())
    fields = list(draw(optional_fields()))
    is_shell = any(key == "shell" for key, _ in fields)
    command = draw(free_texts(min_size=1).filter(_says_something)) if is_shell else ""
    is_bare = not is_shell and len(words) == 1 and _may_be_bare(words[0]) and draw(st.booleans())
    if not is_shell:
        command = words[0] if is_bare else _joined(words, draw(st.booleans()))
    fields.insert(draw(_PLACES) % (len(fields) + 1), ("name", draw(names())))
    fields.insert(draw(_PLACES) % (len(fields) + 1), ("command", command))
    written = [
        f"{key}={value if _may_be_bare(value) and is_plain else quote(value)}"
        for key, value in fields
        for is_plain in [is_bare if key == "command" else draw(st.booleans())]
    ]
    gap, edge = draw(_GAPS), draw(_EDGES)
    text = edge + gap.join([schedule_text, *written]) + edge
    return Line(text, schedule_text, tuple(fields), () if is_shell else words)


def quote(value: str) -> str:
    """The value between double quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_PLACES = st.integers(0, 20)
_GAPS = st.sampled_from([" ", " ", "  ", "\t", " \t "])
_EDGES = st.sampled_from(["", "", " ", "\t"])


@cache
def _variables() -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    keys = st.lists(
        st.sampled_from(["PATH", "_", "a1", "LANG", "name", "command", "X_9"]),
        unique=True,
        max_size=3,
    )
    return keys.flatmap(
        lambda keys: st.tuples(
            *(st.tuples(st.just("env"), free_texts().map(f"{key}={{}}".format)) for key in keys)
        )
    )


def _without_tokens(text: str) -> str:
    return text.replace("%", "%%").replace("{", "").replace("}", "")


def _says_something(text: str) -> bool:
    return bool(text.strip(" \t"))


def _may_be_bare(value: str) -> bool:
    return bool(value) and not set(value) & set(' \t"')


def _joined(words: tuple[str, ...], quotes_all: bool) -> str:
    return " ".join(
        quote(word) if quotes_all or not word or set(word) & set(' \t"\\') else word
        for word in words
    )
