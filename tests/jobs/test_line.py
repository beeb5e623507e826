"""A krontab line: what it says, and every problem of one that says nothing, under its carets."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kron
from kron import Code, KronError, Limits, ParseError, Problem
from kron.core.errors import SHOWN_PROBLEMS
from kron.core.tokens import is_fuzzy
from kron.engine.job import Job
from kron.fuzzy.baseline import parse_schedule as parse_fuzzy_schedule
from kron.jobs.entry import Entry
from kron.jobs.fields import FIELDS
from kron.jobs.hooks import Happening, Hooks, Mail, MailOn
from kron.jobs.line import LineReader, compose
from kron.jobs.quoting import join_words
from kron.jobs.task import DEFAULT_GRACE_NS, Destination, LimitedResource, Output
from tests.core.test_syntax import SEED_EXAMPLES
from tests.jobs.lines import (
    FUZZY_TEXTS,
    Line,
    commands,
    free_texts,
    lines,
    names,
    optional_fields,
    schedules,
)
from tests.soak import examples

CRON = "0 2 * * *"
HEAD = f"{CRON} name=a command=b"
PATH = "/etc/krond.d/x.kron"
KIB = 1024
MOST = 64 * KIB


def read(text: str, limits: Limits | None = None) -> Entry:
    reader = LineReader(limits) if limits else LineReader()
    return reader.read(text, path=PATH, line=7, scope=f"{PATH}:")


def problems(text: str, limits: Limits | None = None) -> tuple[Problem, ...]:
    """The problems of a line that must have some."""
    with pytest.raises(ParseError) as caught:
        read(text, limits)
    assert caught.value.text == text
    return caught.value.problems


def marked(text: str) -> list[tuple[str, str]]:
    """Each problem of the line: its code, and the very characters that it points at."""
    return [(problem.code, text[problem.start : problem.end]) for problem in problems(text)]


# What a line says


def test_a_line_says_everything_about_a_job() -> None:
    entry = read(
        f"{CRON} @tz(Europe/Paris) @win(after,3h) name=db/backup "
        'command="/usr/bin/backup --to \\"/mnt/b c\\"" user=backup group=adm cwd=/srv umask=027 '
        'env=LANG=C env="GREETING=good morning" timeout=2h grace=30s '
        "retries=3 retry_delay=1m retry_within=1h slots=database,disk "
        "stdout=file:/var/log/{name}-%Y.log stderr=syslog output_limit=2M "
        'on_start=/bin/a on_success=https://x/y on_failure="b \\"c d\\"" on_missed=e '
        "mail=ops@example.org,root mail_on=output mail_from=krond "
        "limit_nofile=1024 limit_nproc=64 "
        'limit_as=512M limit_core=unlimited nice=-5 description="nightly \\"dump\\""'
    )
    task = entry.task
    assert entry.name == "db/backup"
    assert entry.identity == f"{PATH}:db/backup"
    assert entry.schedule_text == f"{CRON} @tz(Europe/Paris) @win(after,3h)"
    assert entry.schedule == kron.parse_schedule(entry.schedule_text)
    assert (entry.path, entry.line) == (PATH, 7)
    assert entry.description == 'nightly "dump"'
    assert task.command == '/usr/bin/backup --to "/mnt/b c"'
    assert task.argv == ("/usr/bin/backup", "--to", "/mnt/b c")
    assert (task.shell, task.user, task.group, task.cwd) == ("", "backup", "adm", "/srv")
    assert (task.umask, task.nice) == (0o27, -5)
    assert task.env == (("LANG", "C"), ("GREETING", "good morning"))
    assert (task.timeout_ns, task.grace_ns) == (7_200 * 10**9, 30 * 10**9)
    assert (task.retries, task.retry_delay_ns) == (3, 60 * 10**9)
    assert task.retry_within_ns == 3_600 * 10**9
    assert task.slots == ("database", "disk")
    assert task.stdout == Output(Destination.FILE, "/var/log/{name}-%Y.log")
    assert task.stderr == Output(Destination.SYSLOG)
    assert task.output_limit == 2 * 2**20
    assert task.limits == (
        (LimitedResource.NOFILE, 1024),
        (LimitedResource.NPROC, 64),
        (LimitedResource.AS, 2**29),
        (LimitedResource.CORE, -1),
    )
    mail = Mail(("ops@example.org", "root"), MailOn.OUTPUT, "krond")
    assert task.hooks == Hooks("/bin/a", "https://x/y", 'b "c d"', "e", mail)
    assert task.stdin is None
    assert entry.job == Job(entry.identity, entry.schedule)


def test_what_a_line_leaves_out_is_as_krond_has_it() -> None:
    task = read(HEAD).task
    assert (task.shell, task.user, task.group, task.cwd, task.env) == ("", "", "", "", ())
    assert (task.umask, task.nice, task.timeout_ns, task.stdin) == (None, None, None, None)
    assert task.grace_ns == DEFAULT_GRACE_NS == 10 * 10**9
    assert (task.retries, task.retry_delay_ns, task.retry_within_ns) == (0, 30 * 10**9, None)
    assert (task.stdout, task.stderr, task.output_limit) == (None, None, 2**20)
    assert (task.limits, task.slots) == ((), ())
    assert (task.env_file, task.inherits_env, task.hooks) == (None, True, None)
    assert read(HEAD).description == ""


@pytest.mark.parametrize("text", SEED_EXAMPLES)
def test_every_schedule_of_the_seed_stands_in_a_line(text: str) -> None:
    entry = read(f"{text} name=a command=b")
    assert entry.schedule == kron.parse_schedule(text)
    assert entry.schedule_text == text


@pytest.mark.parametrize(
    ("fields", "argv"),
    [
        pytest.param("command=/bin/true", ("/bin/true",), id="one executable"),
        pytest.param(r"command=C:\x'$*;", (r"C:\x'$*;",), id="unquoted is never split or escaped"),
        pytest.param("command=a=b=c", ("a=b=c",), id="equals signs"),
        pytest.param("command=@x#y", ("@x#y",), id="signs that mean something elsewhere"),
        pytest.param('command="/bin/true"', ("/bin/true",), id="quoted, one word"),
        pytest.param('command="a  b\tc "', ("a", "b", "c"), id="quoted is split"),
        pytest.param(r'command="a \"b c\" d"', ("a", "b c", "d"), id="quotes within"),
        pytest.param(r'command="\"my program\" x"', ("my program", "x"), id="a program with space"),
        pytest.param(r'command="a \"\\\"\""', ("a", '"'), id="a quote within quotes within"),
        pytest.param(r'command="a C:\\x"', ("a", r"C:\x"), id="a backslash in a word"),
        pytest.param('command="a $HOME *.c; b"', ("a", "$HOME", "*.c;", "b"), id="never a shell"),
        pytest.param("command=\"a 'b c'\"", ("a", "'b", "c'"), id="single quotes are characters"),
        pytest.param(
            'command="a | b" shell=true', ("/bin/sh", "-c", "a | b"), id="a shell gets it whole"
        ),
        pytest.param("shell=true command=a", ("/bin/sh", "-c", "a"), id="in either order"),
        pytest.param(
            'command="a \\"b" shell=/bin/bash', ("/bin/bash", "-c", 'a "b'), id="another shell"
        ),
    ],
)
def test_a_command_becomes_words(fields: str, argv: tuple[str, ...]) -> None:
    assert read(f"{CRON} name=a {fields}").task.argv == argv


def test_the_task_names_the_shell_that_true_means() -> None:
    assert read(f"{HEAD} shell=true").task.shell == "/bin/sh"
    assert read(f"{HEAD} shell=/bin/zsh").task.shell == "/bin/zsh"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"  {CRON}  name=a\tcommand=b ", id="spaces and tabs"),
        pytest.param(f"{CRON} command=b name=a", id="fields in any order"),
        pytest.param(f'{CRON} name="a" command="b"', id="quotes that are not needed"),
    ],
)
def test_spacing_order_and_needless_quotes_do_not_matter(text: str) -> None:
    assert read(text) == read(HEAD)


def test_equal_schedules_share_one_value() -> None:
    reader = LineReader()
    first, second, other = (
        reader.read(text, path=PATH, line=1, scope=f"{PATH}:")
        for text in (
            f"{CRON} @win(after,1h) name=a command=b",
            f"  {CRON} @win(after,1h)   name=c command=d",
            f"{CRON} @win(after,2h) name=e command=f",
        )
    )
    assert first.schedule is second.schedule
    assert first.schedule != other.schedule


@examples(150)
@given(line=lines())
def test_a_random_line_says_what_it_was_made_from(line: Line) -> None:
    entry = read(line.text)
    task = entry.task

    def only(key: str, default: str = "") -> str:
        values = line.values(key)
        assert len(values) <= 1
        return values[0] if values else default

    assert entry.name == only("name")
    assert entry.identity == f"{PATH}:{entry.name}"
    assert entry.schedule_text == line.schedule_text.strip(" \t")
    assert entry.description == only("description")
    assert task.command == only("command")
    shell = only("shell")
    assert task.shell == ("/bin/sh" if shell == "true" else shell)
    assert task.argv == ((task.shell, "-c", task.command) if shell else line.words)
    assert (task.user, task.group, task.cwd) == (only("user"), only("group"), only("cwd"))
    assert task.umask == (int(only("umask"), 8) if only("umask") else None)
    assert task.nice == (int(only("nice")) if only("nice") else None)
    assert task.env == tuple(tuple(value.split("=", 1)) for value in line.values("env"))
    env_file = task.env_file and f"{'-' if task.env_file.may_lack else ''}{task.env_file.path}"
    assert (env_file or "") == only("env_file")
    assert task.inherits_env == (only("environment") != "clean")
    assert ("" if task.stdout is None else str(task.stdout)) == only("stdout")
    assert ("" if task.stderr is None else str(task.stderr)) == only("stderr")
    assert ",".join(task.slots) == only("slots")
    assert task.retries == int(only("retries", "0"))
    assert task.retry_delay_ns == kron.parse_duration(only("retry_delay", "30s"))
    assert (task.retry_within_ns or 0) == kron.parse_duration(only("retry_within", "0s"))
    assert task.output_limit == int(only("output_limit", str(2**20)))
    hooks = task.hooks or Hooks()
    for happening in Happening:
        assert hooks.of(happening) == only(f"on_{happening}")
    assert ",".join(hooks.mail.to if hooks.mail else ()) == only("mail")
    if hooks.mail:
        assert (hooks.mail.on, hooks.mail.sender) == (only("mail_on", "failure"), only("mail_from"))
    assert task.timeout_ns == (kron.parse_duration(only("timeout")) if only("timeout") else None)
    assert task.grace_ns == kron.parse_duration(only("grace", "10s"))
    assert [f"limit_{resource}" for resource, _ in task.limits] == [
        key for key in FIELDS if key.startswith("limit_") and line.values(key)
    ]
    for resource, most in task.limits:
        if only(f"limit_{resource}").isdigit():
            assert most == int(only(f"limit_{resource}"))


@examples(120)
@given(
    schedule_text=schedules(),
    name=names(),
    words=commands(),
    fields=optional_fields(),
    data=st.data(),
)
def test_what_is_composed_reads_back_equal(
    schedule_text: str,
    name: str,
    words: tuple[str, ...],
    fields: tuple[tuple[str, str], ...],
    data: st.DataObject,
) -> None:
    given_fields = [("name", name), ("command", join_words(words)), *fields]
    order = data.draw(st.permutations(range(len(given_fields))))
    shuffled = [given_fields[place] for place in order]
    text = compose(schedule_text, shuffled)
    entry = read(text)
    assert entry == read(" ".join([schedule_text, *(_quoted_field(*field) for field in shuffled)]))
    if not entry.task.shell:
        assert entry.task.argv == words
    assert text == compose(schedule_text, sorted(shuffled, key=lambda field: field[0] != "env"))


def _quoted_field(key: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}="{escaped}"'


def test_a_composed_line_has_its_fields_in_the_order_of_the_table() -> None:
    fields = [("description", "a b"), ("env", "B=1"), ("command", "x"), ("env", "A=2")]
    assert compose(f" {CRON} ", [*fields, ("name", "n")]) == (
        f'{CRON} name=n command=x env=B=1 env=A=2 description="a b"'
    )


# Fuzzy schedules


@pytest.mark.parametrize("text", FUZZY_TEXTS)
def test_a_fuzzy_schedule_is_scattered_with_the_identity_of_its_job(text: str) -> None:
    entry = read(f"{text} name=x command=y")
    assert entry.schedule_text == text
    assert entry.schedule == parse_fuzzy_schedule(text, identity=f"{PATH}:x")


def test_two_jobs_with_the_same_fuzzy_schedule_run_at_different_times() -> None:
    text = "daily between 9:00 and 17:00 name={} command=y"
    reader = LineReader()
    schedules = {
        str(reader.read(text.format(name), path=PATH, line=1, scope=f"{PATH}:").schedule)
        for name in ("x", "y", "z")
    }
    assert len(schedules) == 3
    for schedule in schedules:
        minute, hour, *rest = schedule.split()
        assert 9 <= int(hour) < 17
        assert 0 <= int(minute) < 60
        assert rest == ["*", "*", "*"]


def test_a_fuzzy_schedule_takes_no_zone() -> None:
    text = "daily between 9:00 and 17:00 @tz(Europe/Paris) name=x command=y"
    assert marked(text) == [(Code.FUZZY_WITH_TZ, "@tz(Europe/Paris)")]
    assert "utc+9" in problems(text)[0].fix


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("daily", True, id="a word"),
        pytest.param(" \tdaily", True, id="behind spaces"),
        pytest.param(CRON, False, id="cron"),
        pytest.param("*/5 * * * *", False, id="a star"),
        pytest.param("@tz(UTC) 0 0 * * *", False, id="a modifier"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_schedule_that_begins_with_a_word_is_fuzzy(text: str, expected: bool) -> None:
    assert is_fuzzy(text) is expected


# What is wrong with a line

MISSING_NAME = (Code.FIELD_MISSING, "")
MISSING_COMMAND = (Code.FIELD_MISSING, "")
FORM = Code.FIELD_FORM
UNKNOWN = Code.FIELD_UNKNOWN
VALUE = Code.FIELD_VALUE
REPEATED = Code.FIELD_REPEATED

WRONG = [
    pytest.param(f"{CRON} name=a", [MISSING_COMMAND], id="no command"),
    pytest.param(f"{CRON} command=b", [MISSING_NAME], id="no name"),
    pytest.param(CRON, [MISSING_NAME, MISSING_COMMAND], id="no field"),
    pytest.param("name=a command=b", [(Code.CRON_FIELD_COUNT, "")], id="no schedule"),
    pytest.param(f"{HEAD} nmae=c", [(UNKNOWN, "nmae")], id="unknown field"),
    pytest.param(f"{HEAD} User=c", [(UNKNOWN, "User")], id="a field in capitals"),
    pytest.param(f"{HEAD} limit_cpu=1", [(UNKNOWN, "limit_cpu")], id="an unknown limit"),
    pytest.param(f"{HEAD} user=a user=a", [(REPEATED, "user")], id="repeated field"),
    pytest.param(f"{HEAD} name=c", [(REPEATED, "name")], id="repeated name"),
    pytest.param(f"{HEAD} env=A=1 env=A=2", [(REPEATED, "A=2")], id="repeated variable"),
    pytest.param(f'{HEAD} env=A=1 env="A=1"', [(REPEATED, '"A=1"')], id="the same variable twice"),
    pytest.param(f"{HEAD} user=", [(VALUE, "user")], id="empty value"),
    pytest.param(f'{HEAD} env=""', [(VALUE, "env")], id="empty quotes"),
    pytest.param(f"{CRON} name= command=b", [(VALUE, "name")], id="empty name"),
    pytest.param(f"{CRON} name=A command=b", [(VALUE, "A")], id="a name in capitals"),
    pytest.param(f"{HEAD} timeout=2d", [(Code.DURATION, "2d")], id="a bad duration"),
    pytest.param(f"{HEAD} c", [(FORM, "c")], id="a stray word"),
    pytest.param(f"{CRON} name=a command=b --all", [(FORM, "--all")], id="unquoted arguments"),
    pytest.param(f"{CRON} name=a command=b --x=y", [(FORM, "--x=y")], id="an unquoted option"),
    pytest.param(f"{HEAD} =x", [(FORM, "=x")], id="no key"),
    pytest.param(f"{HEAD} a@b=x", [(FORM, "a@b=x")], id="a strange key"),
    pytest.param(f'{HEAD} "user"=x', [(FORM, '"user"=x')], id="a quoted key"),
    pytest.param(f"{CRON} job name=a command=b", [(FORM, "job")], id="a word before the fields"),
    pytest.param(f'{CRON} name=a command="b', [(FORM, 'command="b')], id="an open quote"),
    pytest.param(
        f'{CRON} name=a command="b env=A=1',
        [(FORM, 'command="b env=A=1')],
        id="an open quote takes the rest",
    ),
    pytest.param(
        f'{CRON} description="b name=a command=c',
        [(FORM, 'description="b name=a command=c')],
        id="an open quote hides no missing field",
    ),
    pytest.param(f'{CRON} name=a command="b"c', [(FORM, 'command="b"c')], id="quoted in part"),
    pytest.param(f'{HEAD} user=a"b"', [(FORM, 'user=a"b"')], id="quoted in its end"),
    pytest.param(f'{HEAD} user="a\\tb"', [(FORM, "\\t")], id="no such escape"),
    pytest.param(f"{HEAD} @win(after,1h)", [(FORM, "@win(after,1h)")], id="a modifier behind"),
    pytest.param(
        f'{HEAD} @seed(daily,salt="a b") user=c',
        [(FORM, '@seed(daily,salt="a b")')],
        id="a modifier between fields",
    ),
    pytest.param(
        f"{CRON} @only(hours=1) name=a @avoid(hours=2) command=b",
        [(FORM, "@avoid(hours=2)")],
        id="a modifier that holds an equals sign",
    ),
    pytest.param(
        f"{CRON} /usr/bin/backup --all", [(FORM, "/usr/bin/backup --all")], id="a crontab line"
    ),
    pytest.param(
        f"{CRON} root test -x /a && /a", [(FORM, "root test -x /a && /a")], id="a system crontab"
    ),
    pytest.param("0 0 2 * * * name=a command=b", [(Code.CRON_FIELD_COUNT, "*")], id="six fields"),
    pytest.param(
        "0 0 2 * * * /usr/bin/x",
        [(Code.CRON_FIELD_COUNT, "*"), MISSING_NAME, MISSING_COMMAND],
        id="six fields of a crontab",
    ),
    pytest.param(
        "0 2 * * name=a command=b", [(Code.CRON_FIELD_COUNT, "0 2 * *")], id="four fields"
    ),
    pytest.param("61 2 * * * name=a command=b", [(Code.CRON_FIELD, "61")], id="a bad minute"),
    pytest.param(
        "0 2 * * MON-FIR name=a command=b",
        [(Code.CRON_FIELD, "FIR")],
        id="a bad end of a range",
    ),
    pytest.param("@daily name=a command=b", [(Code.CRON_SHORTHAND, "@daily")], id="a shorthand"),
    pytest.param(
        f"{CRON} @wn(after,1h) name=a command=b",
        [(Code.MODIFIER_UNKNOWN, "@wn(after,1h)")],
        id="an unknown modifier",
    ),
    pytest.param(
        f"{CRON} @win(after, 1h) name=a command=b",
        [(Code.MODIFIER_FORM, "@win(after, 1h)")],
        id="a space in a modifier",
    ),
    pytest.param(
        f'{CRON} @seed(daily,salt="a) name=a command=b',
        [(Code.MODIFIER_FORM, '@seed(daily,salt="a) ')],
        id="an open quote in a modifier",
    ),
    pytest.param(
        "dayly around 3pm name=a command=b", [(Code.UNKNOWN_KEYWORD, "dayly")], id="a fuzzy slip"
    ),
    pytest.param(
        "* * * * * @win(after,8000h) name=a command=b",
        [(Code.LIMIT, "* * * * * @win(after,8000h) ")],
        id="too many open periods",
    ),
    pytest.param(
        f'{CRON} name=a command="\\"\\" b"', [(VALUE, '"\\"\\" b"')], id="no name of a program"
    ),
    pytest.param(f"{HEAD}\r", [(Code.TEXT, "\r")], id="a carriage return"),
    pytest.param(f'{HEAD} description="a\x00b"', [(Code.TEXT, "\x00")], id="NUL between quotes"),
    pytest.param(f"{HEAD}\u2028\ud800", [(Code.TEXT, "\u2028"), (Code.TEXT, "\ud800")], id="text"),
    pytest.param(f"{CRON} env=A=1", [MISSING_NAME, MISSING_COMMAND], id="another field only"),
    pytest.param(
        f"{CRON} command=b env=name=x",
        [MISSING_NAME],
        id="a variable called name",
    ),
    pytest.param(
        f"{CRON} name=a env=command=x",
        [MISSING_COMMAND],
        id="a variable called command",
    ),
    pytest.param(
        f'{CRON} name=a description="the command= is missing"',
        [MISSING_COMMAND],
        id="a description that speaks of a command",
    ),
    pytest.param(
        f"{CRON} @win(after,1h)name=a command=b",
        [(Code.MODIFIER_FORM, "name=a")],
        id="a field glued to a modifier",
    ),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_marked(text: str, expected: list[tuple[str, str]]) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        pytest.param(CRON, "the line has no name", "add name=db-backup", id="missing"),
        pytest.param(
            f"{HEAD} nmae=c",
            'unknown field "nmae"',
            'did you mean "name"?',
            id="unknown",
        ),
        pytest.param(
            f"{HEAD} name=c", "the field name is given twice", "keep one of them", id="repeated"
        ),
        pytest.param(f"{HEAD} env=A=1 env=A=2", " is set twice", "keep one of them", id="env"),
        pytest.param(
            f"{HEAD} nice=",
            "the field nice is empty",
            "write it like nice=10, or leave it out",
            id="empty",
        ),
        pytest.param(
            f"{HEAD} --all",
            '"--all" is not key=value',
            'a value with spaces goes between double quotes: command="/usr/bin/backup --all"',
            id="stray",
        ),
        pytest.param(
            f"{HEAD} # nightly",
            '"#',
            "write a comment on a separate line",
            id="comment",
        ),
        pytest.param(
            f"{CRON} #nightly name=a command=b",
            '"#nightly" is not key=value',
            "write a comment on a separate line",
            id="comment before the fields",
        ),
        pytest.param(
            f"{HEAD} @tz(UTC)",
            'the modifier "@tz(UTC)" comes after a field',
            "modifiers come before the first field",
            id="modifier",
        ),
        pytest.param(
            f"{CRON} /bin/true",
            "this is a line of a crontab: a krontab line has fields, name=... and command=...",
            "krontab import turns a crontab into krontab lines",
            id="crontab",
        ),
        pytest.param(
            f"0 {HEAD}",
            '"*" is more than the five fields of a cron expression',
            "leave the field for seconds out",
            id="six fields",
        ),
        pytest.param(
            f'{CRON} name=a command="b', 'a quote in "command" is never closed', "", id="open"
        ),
        pytest.param(
            f'{CRON} name=a command=b" c"d',
            '"b" c"d" is quoted in part',
            'write command="b cd"',
            id="quoted in part",
        ),
        pytest.param(
            f'{CRON} name=a command="b\\"c"d',
            r'""b\"c"d" is quoted in part',
            "put the whole value between double quotes",
            id="quoted in part, with an escape",
        ),
    ],
)
def test_the_first_problem_says_the_rule_and_the_fix(text: str, message: str, fix: str) -> None:
    first = problems(text)[0]
    assert message in first.message
    assert first.fix == fix


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(
            r'0 2 * * * name=a command=b description="say \"hi\" \\" stdout="file:/\"x\\\"%Q"',
            r'  … description="say \"hi\" \\" stdout="file:/\"x\\\"%Q"' "\n" + " " * 53 + "^^",
            id="a token behind escapes",
        ),
        pytest.param(
            r'0 2 * * * name=a command="x \"b\\q\" c"',
            r'  0 2 * * * name=a command="x \"b\\q\" c"' "\n" + " " * 33 + "^^^",
            id="an escape within quotes within",
        ),
        pytest.param(
            r'0 2 * * * name=a command="x \"b\" \"c d"',
            r'  0 2 * * * name=a command="x \"b\" \"c d"' "\n" + " " * 36 + "^^^^^",
            id="an open quote within, behind escapes",
        ),
        pytest.param(
            r'0 2 * * * name="a\\\"b" command=c',
            r'  0 2 * * * name="a\\\"b" command=c' "\n" + " " * 18 + "^^^^^^",
            id="a whole value of escapes",
        ),
        pytest.param(
            r'0 2 * * * name=a command=b description="\\\"\\" user="\"\w"',
            r'  …* * name=a command=b description="\\\"\\" user="\"\w"' "\n" + " " * 53 + "^^",
            id="an escape that does not exist behind one that does",
        ),
        pytest.param(
            '0 2 * * * name=a command=b description="漢字" nice=99',
            '  0 2 * * * name=a command=b description="漢字" nice=99\n' + " " * 53 + "^^",
            id="behind wide characters",
        ),
    ],
)
def test_carets_stand_under_the_right_characters(text: str, shown: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert len(caught.value.problems) == 1
    assert str(caught.value).split("\n", 1)[1] == shown


@examples(200)
@given(before=free_texts(), after=free_texts(), is_bare=st.booleans())
def test_a_bad_token_is_marked_wherever_it_stands_in_a_value(
    before: str, after: str, is_bare: bool
) -> None:
    def written(value: str) -> str:
        value = value.replace("%", "%%").replace("{", "").replace("}", "")
        if is_bare:
            return "".join(character for character in value if character not in ' \t"')
        return value.replace("\\", "\\\\").replace('"', '\\"')

    text = f"file:/{written(before)}%Q{written(after)}"
    assert marked(f"{HEAD} stdout={text}" if is_bare else f'{HEAD} stdout="{text}"') == [
        (VALUE, "%Q")
    ]


def test_all_problems_of_a_line_are_told_in_the_order_of_their_columns() -> None:
    text = (
        '61 2 * * FRI-MON @win(after,2d) @tz(Nowhere) name=A colour=red command="a \\"b" '
        'nice=99 @dist(uniform) env=1 env="A=\\n" stray # end'
    )
    found = marked(text)
    assert found[:11] == [
        (Code.CRON_FIELD, "61"),
        (Code.CRON_FIELD, "FRI-MON"),
        (Code.DURATION, "2d"),
        (Code.ZONE_UNKNOWN, "Nowhere"),
        (VALUE, "A"),
        (UNKNOWN, "colour"),
        (VALUE, '\\"b'),
        (VALUE, "99"),
        (FORM, "@dist(uniform)"),
        (VALUE, "1"),
        (FORM, "\\n"),
    ]
    assert found[11] == (FORM, "stray")
    assert found[12][1].startswith("#")
    starts = [problem.start for problem in problems(text)]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{HEAD} " + "x " * 1_000, id="stray words"),
        pytest.param(f"{HEAD} " + "x=1 " * 1_000, id="unknown fields"),
        pytest.param(f"{HEAD} " + "user=1 " * 1_000, id="repeated fields"),
        pytest.param(f"{CRON} " + "@x() " * 1_000 + "name=A command=b", id="unknown modifiers"),
        pytest.param(f"{HEAD} " + "\x00" * 1_000, id="control characters"),
        pytest.param(f"{HEAD} " + 'x="\\x" ' * 1_000, id="escapes"),
        pytest.param(f"{CRON} " + "x=1 " * 1_000, id="unknown fields and none that is needed"),
    ],
)
def test_no_more_problems_are_told_than_anybody_reads(text: str) -> None:
    assert len(problems(text)) == SHOWN_PROBLEMS


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param('user=a"\u202eb"', id="quoted in part"),
        pytest.param(f'user=a"{"b" * 10_000}"', id="quoted in part, long"),
        pytest.param("stdout=/\u202eb", id="a path"),
        pytest.param(f"stdout=/{'b' * 10_000}", id="a path, long"),
        pytest.param(f"env={'A' * 10_000}=1 env={'A' * 10_000}=1", id="a variable, long"),
        pytest.param("group=c\u202e", id="a group"),
        pytest.param(f"{'c' * 10_000}=1", id="a field, long"),
        pytest.param("\u202e=1", id="a field"),
    ],
)
def test_a_problem_is_short_and_holds_nothing_that_a_terminal_would_obey(fields: str) -> None:
    for problem in problems(f"{HEAD} {fields}"):
        assert len(str(problem)) < 1_000
        assert str(problem).isprintable()


# Limits and hostile lines


def test_a_line_may_be_as_long_as_the_limit_and_no_longer() -> None:
    text = f'{HEAD} description="é"'
    size = len(text.encode())
    assert read(text, Limits(line_bytes=size)).description == "é"
    (problem,) = problems(text, Limits(line_bytes=size - 1))
    assert problem.code is Code.LIMIT
    assert problem.message == f"the line is longer than {size - 1} bytes"
    assert len(text) < size  # bytes are counted, not characters


def test_the_other_limits_hold_in_a_line_too() -> None:
    (problem,) = problems(f"{CRON} @win(after,48h) name=a command=b", Limits(window_days=1))
    assert problem.code is Code.LIMIT


anything = st.text(st.characters(), max_size=80)
line_like = st.text(
    st.sampled_from('@()",;=\\ \t*#/-0159:.namecodvuslthki{}%\u202e\u0301漢\x00\ud800é'),
    max_size=80,
)


def answered(text: str) -> KronError | None:
    """The error of a line, shown once as a person would see it; None if the line is fine."""
    try:
        entry = read(text)
    except ParseError as refused:
        error = refused
    else:
        assert entry.name
        assert entry.task.argv
        assert entry.task.argv[0]
        return None
    str(error).encode()
    assert 1 <= len(error.problems) <= SHOWN_PROBLEMS
    for problem in error.problems:
        assert (problem.message + problem.fix).isprintable()
        # What is missing is marked one place behind the line's end.
        assert 0 <= problem.start <= problem.end <= len(text) + 1
        assert problem.message
    return error


@examples(400)
@given(
    text=st.one_of(
        anything,
        line_like,
        line_like.map(lambda text: f"{HEAD} {text}"),
        line_like.map(lambda text: f"{CRON} {text} name=a command=b"),
        line_like.map(lambda text: f'{CRON} name=a command="{text}"'),
    )
)
@example("")
@example("\ud800")
@example("name=")
@example(f'{CRON} name=a command="\\')
def test_any_text_is_a_job_or_a_kron_error(text: str) -> None:
    answered(text)


@examples(120)
@given(line=lines(), data=st.data())
def test_a_mistyped_line_is_a_job_or_a_kron_error(line: Line, data: st.DataObject) -> None:
    text = line.text
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 6))
        match data.draw(st.sampled_from(["delete", "duplicate", "replace", "move"])):
            case "delete":
                text = text[:place] + text[place + length :]
            case "duplicate":
                text = text[: place + length] + text[place:]
            case "replace":
                text = text[:place] + data.draw(line_like) + text[place + length :]
            case _:
                text = text[place:] + text[:place]
    answered(text)


UNITS = [
    "x ",
    '"',
    '"" ',
    'a="" ',
    'a="\\"" ',
    'a="b"c" ',
    "\\",
    '"\\',
    "= ",
    "a=b ",
    "a@b ",
    "@ ",
    "@( ",
    '@(" ',
    '@("(" ',
    "@x(1) ",
    "@x(1)",
    "# ",
    "name=x ",
    "env=A=1 ",
    "%",
    "{",
    "daily ",
    " ",
    "\t",
    "漢 ",
    "\u0301",
    "\x00",
    "\ud800",
]
FRAMES = {
    "alone": "{}",
    "schedule": CRON + " {} name=a command=b",
    "fuzzy": "daily {} name=a command=b",
    "fields": HEAD + " {}",
    "name": CRON + ' name="{}" command=b',
    "command": CRON + ' name=a command="{}"',
    "words": CRON + ' name=a command="b \\"{}\\""',
    "output": HEAD + ' stdout="file:/{}"',
    "description": HEAD + ' description="{}" nice=99',
    "open": HEAD + ' description="{}',
}


def filled(unit: str, size: int) -> str:
    """As many whole units as fit into `size` bytes."""
    return unit * (size // len(unit.encode(errors="surrogatepass")))


def test_a_hundred_megabytes_are_refused_without_being_read() -> None:
    error = answered("(" * 100_000_000)
    assert error is not None
    assert error.code is Code.LIMIT
    assert len(str(error)) < 1_000


def cost(text: str, runs: int) -> float:
    """The least CPU time of some runs of reading a line and showing its problems."""
    least = float("inf")
    for _ in range(runs):
        began = time.process_time()
        answered(text)
        least = min(least, time.process_time() - began)
    return least


@pytest.mark.heavy
@pytest.mark.parametrize("frame", FRAMES)
def test_a_line_full_of_one_thing_is_answered_in_time_that_its_length_bounds(frame: str) -> None:
    never_too_much_s = 0.2
    for unit in UNITS:
        text = FRAMES[frame].format(filled(unit, MOST - 100))
        if cost(text, runs=1) < never_too_much_s:
            continue
        # Four times as long a line may take eight times as long.
        quarter = cost(FRAMES[frame].format(filled(unit, MOST // 4 - 100)), runs=5)
        assert cost(text, runs=5) < max(8 * quarter, never_too_much_s), unit


def test_modifiers_that_never_close_take_time_in_proportion() -> None:
    quarter, whole = (
        cost(f"{CRON} " + filled('@("\\" ', size), runs=3) for size in (4 * KIB, 16 * KIB)
    )
    assert whole < 8 * max(quarter, 0.005)


def test_many_variables_take_time_in_proportion() -> None:
    quarter, whole = (
        cost(f"{HEAD} " + " ".join(f"env=A{number}=" for number in range(count)), runs=2)
        for count in (1_500, 6_000)
    )
    assert whole < 8 * max(quarter, 0.010)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('0 2 * * * @win(after,3h) name=b command="/bin/b -x"', id="the same head"),
        pytest.param("0 2 * * * @win(after,3h) command=/bin/b name=b", id="another first field"),
        pytest.param("0 2 * * * @win(after,3h) nmae=b command=/bin/b", id="an unknown field"),
        pytest.param("0 2 * * * @win(after,3h) name=b) command=/bin/b", id="a stray parenthesis"),
        pytest.param("0 2 * * * @win(after,3h)  name=b command=/bin/b", id="two spaces"),
        pytest.param("0 2 * * * @win(after,3h)name=b command=/bin/b", id="no space"),
        pytest.param("0 2 * * * @win(after,3h) extra name=b command=/bin/b", id="a stray word"),
        pytest.param(
            '0 2 * * * @seed(stable,salt="x name=y") name=b command=/bin/b', id="a field in quotes"
        ),
        pytest.param("daily around 14:00 name=b command=/bin/b", id="a fuzzy schedule"),
    ],
)
def test_a_line_reads_alike_whatever_was_read_before_it(line: str) -> None:
    def answer(reader: LineReader) -> object:
        try:
            return reader.read(line, path="/f", line=1, scope="/f:")
        except ParseError as error:
            return error.problems

    reader = LineReader()
    for before in (
        "0 2 * * * @win(after,3h) name=a command=/bin/a",
        '0 2 * * * @seed(stable,salt="x name=y") name=c command=/bin/c',
        '0 2 * * * @seed(stable,salt="x name=z") name=e command=/bin/e',
        "daily around 14:00 name=d command=/bin/d",
    ):
        reader.read(before, path="/f", line=1, scope="/f:")
    assert answer(reader) == answer(LineReader())
