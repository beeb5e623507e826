"""Defaults: the jobs below a `defaults:` line are as if each said the same itself."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron import Code, Limits
from kron.jobs import line as line_module
from kron.jobs.defaults import OF_ONE_JOB
from kron.jobs.document import Document, read_document
from kron.jobs.entry import Entry
from kron.jobs.fields import FIELDS
from kron.jobs.line import LineReader
from kron.jobs.task import Destination, Output, Task
from tests.jobs.crontabs import read_text
from tests.jobs.lines import Line, lines, quote
from tests.soak import examples

PATH = "/etc/krond.d/jobs.kron"
CRON = "0 2 * * *"


def read(*texts: str) -> Document:
    return read_document("\n".join(texts).encode(), PATH)


def entries(*texts: str) -> dict[str, Entry]:
    document = read(*texts)
    assert not document.findings, str(document.findings[0])
    return {entry.name: entry for entry in document.entries}


def ordered(task: Task) -> Task:
    """The order of variables means nothing."""
    return task.replace(env=tuple(sorted(task.env)))


# --- what holds


@examples(150)
@given(lines(), st.data())
def test_a_field_means_the_same_in_the_line_and_in_the_defaults(
    line: Line, data: st.DataObject
) -> None:
    movable = [each for each in line.fields if each[0] not in OF_ONE_JOB]
    moved = [each for each in movable if data.draw(st.booleans())]
    stay = [each for each in line.fields if each not in moved]
    defaults = " ".join(["defaults:", *(f"{key}={quote(value)}" for key, value in moved)])
    own = " ".join([line.schedule_text, *(f"{key}={quote(value)}" for key, value in stay)])
    (alone,) = read(line.text).entries
    found = read(defaults, own)
    assert found.findings == ()
    (entry,) = found.entries
    # Quoted, a command is split into words; this changes none that has no quotes in the line.
    (quoted_alone,) = read(
        " ".join([line.schedule_text, *(f"{key}={quote(value)}" for key, value in line.fields)])
    ).entries
    assert ordered(entry.task) == ordered(quoted_alone.task)
    assert (entry.identity, entry.schedule, entry.schedule_text, entry.description) == (
        *(alone.identity, alone.schedule, alone.schedule_text, alone.description),
    )


def test_every_field_has_a_default_but_those_of_one_job() -> None:
    for key, field in FIELDS.items():
        document = read(f"defaults: {key}={field.example}")
        assert bool(document.findings) == (key in OF_ONE_JOB), key


def test_the_line_of_a_job_wins_and_variables_are_joined_by_name() -> None:
    found = entries(
        "defaults: user=www-data nice=3 env=A=1 env=B=1 stdout=discard",
        f"{CRON} name=a command=x",
        f"{CRON} name=b command=x user=root env=B=2 env=C=2 stdout=inherit",
    )
    a, b = found["a"].task, found["b"].task
    assert (a.user, a.nice, a.env) == ("www-data", 3, (("A", "1"), ("B", "1")))
    assert (b.user, b.nice, b.stdout) == ("root", 3, Output(Destination.INHERIT))
    assert dict(b.env) == {"A": "1", "B": "2", "C": "2"}


def test_defaults_hold_below_them_until_the_next_which_start_over() -> None:
    found = entries(
        f"{CRON} name=before command=x",
        " \tdefaults:\tuser=u nice=1 ",
        f"{CRON} name=first command=x",
        "",
        "# a comment",
        f"{CRON} name=still command=x",
        "defaults: nice=2",
        f"{CRON} name=second command=x",
        "defaults:",
        f"{CRON} name=none command=x",
    )
    assert {name: (entry.task.user, entry.task.nice) for name, entry in found.items()} == {
        "before": ("", None),
        "first": ("u", 1),
        "still": ("u", 1),
        "second": ("", 2),
        "none": ("", None),
    }
    applied = found["still"].defaults
    assert applied is not None
    assert (applied.line, applied.parts) == (2, ("user=u", "nice=1"))
    assert found["before"].defaults is found["none"].defaults is None


def test_a_shell_by_default_gets_the_command_whole() -> None:
    found = entries(
        "defaults: shell=true",
        rf'{CRON} name=a command="echo \"x | cat"',
        f"{CRON} name=b command=x shell=/bin/bash",
    )
    assert found["a"].task.argv == ("/bin/sh", "-c", 'echo "x | cat')
    assert found["b"].task.argv == ("/bin/bash", "-c", "x")


@pytest.mark.parametrize(
    ("defaults", "own", "whole"),
    [
        ("deadline=1h", "", "@policy(deadline=1h)"),
        ("deadline=1h", "@policy(concurrency=allow)", "@policy(concurrency=allow,deadline=1h)"),
        ("deadline=1h", "@policy(deadline=2h)", "@policy(deadline=2h)"),
        ("deadline=1h", "@policy(deadline=0s)", "@policy(deadline=0s)"),
        ("deadline=60m,suspend=true", "@tz(UTC)", "@tz(UTC) @policy(deadline=60m,suspend=true)"),
    ],
)
@pytest.mark.parametrize("schedule", [CRON, "daily", f"{CRON} @win(after,2h) @seed(daily)"])
def test_a_policy_means_the_same_in_the_line_and_in_the_defaults(
    schedule: str, defaults: str, own: str, whole: str
) -> None:
    if schedule == "daily":
        own, whole = own.replace("@tz(UTC)", ""), whole.replace("@tz(UTC) ", "")
    moved = entries(f"defaults: @policy({defaults})", f"{schedule} {own} name=a command=x")["a"]
    alone = entries(f"{schedule} {whole} name=a command=x")["a"]
    # A ledger holds `job.text`: another one would be an edit, which owes nothing from before.
    assert (moved.job, moved.job.text) == (alone.job, alone.job.text)
    assert moved.schedule_text.split() == alone.schedule_text.split()


def test_jobs_share_what_they_have_from_the_defaults() -> None:
    found = entries(
        "defaults: nice=1 env=A=1",
        *(f"{CRON} name=n{number} command=x" for number in range(3)),
    )
    assert len({id(entry.task.env) for entry in found.values()}) == 1
    assert len({id(entry.defaults) for entry in found.values()}) == 1


# --- what is refused


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        pytest.param("defaults: name=a", Code.FIELD_UNKNOWN, "name", id="name"),
        pytest.param("defaults: command=a", Code.FIELD_UNKNOWN, "command", id="command"),
        pytest.param("defaults: colour=red", Code.FIELD_UNKNOWN, "colour", id="unknown"),
        pytest.param("defaults: nice=1 nice=2", Code.FIELD_REPEATED, "nice", id="twice"),
        pytest.param("defaults: env=A=1 env=A=2", Code.FIELD_REPEATED, "A=2", id="variable twice"),
        pytest.param("defaults: nice=99", Code.FIELD_VALUE, "99", id="value"),
        pytest.param("defaults: user=", Code.FIELD_VALUE, "user", id="empty"),
        pytest.param("defaults: root", Code.FIELD_FORM, "root", id="a word"),
        pytest.param("defaults: nice=1 # x", Code.FIELD_FORM, "# x", id="a comment"),
        pytest.param('defaults: cwd="/x', Code.FIELD_FORM, 'cwd="/x', id="an open quote"),
        pytest.param("defaults:nice=1", Code.FIELD_FORM, "defaults:nice=1", id="no space"),
        pytest.param("defaults:x nice=1", Code.FIELD_FORM, "defaults:x", id="glued"),
        pytest.param(f"defaults: {CRON}", Code.FIELD_FORM, "0", id="a schedule"),
        pytest.param("defaults: @win(after,1h)", Code.MODIFIER_UNKNOWN, "@win(after,1h)", id="win"),
        pytest.param("defaults: @tz(UTC)", Code.MODIFIER_UNKNOWN, "@tz(UTC)", id="tz"),
        pytest.param("defaults: @seed(daily)", Code.MODIFIER_UNKNOWN, "@seed(daily)", id="seed"),
        pytest.param(
            "defaults: @only(hours=1)", Code.MODIFIER_UNKNOWN, "@only(hours=1)", id="only"
        ),
        pytest.param(
            "defaults: @policy(deadline=1h) @policy(suspend=true)",
            Code.MODIFIER_REPEATED,
            "@policy(suspend=true)",
            id="policy twice",
        ),
        pytest.param("defaults: @policy(x=1)", Code.KEY_UNKNOWN, "x", id="policy key"),
        pytest.param("defaults: @policy(deadline=x)", Code.DURATION, "x", id="policy value"),
        pytest.param(
            "defaults: nice=1 @policy(suspend=true)",
            Code.FIELD_FORM,
            "@policy(suspend=true)",
            id="late",
        ),
        pytest.param("defaults: env=A=\x00", Code.TEXT, "\x00", id="NUL"),
        pytest.param("defaults: env=A=\r", Code.TEXT, "\r", id="carriage return"),
        pytest.param(f"defaults: env=A={'x' * 65_536}", Code.LIMIT, "d", id="too long"),
    ],
)
def test_an_error_in_the_defaults_is_reported_there_and_once(
    text: str, code: Code, marked: str
) -> None:
    jobs = [rf'{CRON} name=n{number} command="a \"b | c"' for number in range(3)]
    findings = read("# first", text, *jobs).findings
    assert (findings[0].code, findings[0].line) == (code, 2)
    assert text[findings[0].start : findings[0].end] == marked
    assert {finding.line for finding in findings} == {2}


@pytest.mark.parametrize(
    "text", ["Defaults:", "defaults :", "default:", "defaults user=root", " DEFAULTS user=root"]
)
def test_a_line_that_was_meant_to_be_defaults_is_reported_as_that(text: str) -> None:
    (finding,) = read(text).findings
    assert (finding.code, finding.fix) == (Code.UNKNOWN_KEYWORD, 'did you mean "defaults:"?')
    assert text[finding.start : finding.end] == text.split(maxsplit=1)[0]


def test_all_errors_of_the_defaults_come_together() -> None:
    found = read("defaults: @win(after,1h) name=a nice=99 colour=red").findings
    assert [finding.code for finding in found] == [
        Code.MODIFIER_UNKNOWN, Code.FIELD_UNKNOWN, Code.FIELD_VALUE, Code.FIELD_UNKNOWN
    ]  # fmt: skip


def test_the_text_of_a_line_may_be_any_and_many_variables_are_fine() -> None:
    many = " ".join(f"env=V{number}=" for number in range(5_000))
    found = entries(f'defaults: {many} cwd="/srv/grüße ☃"', f"{CRON} name=a command=x env=V7=x")
    assert found["a"].task.cwd == "/srv/grüße ☃"
    assert (len(found["a"].task.env), dict(found["a"].task.env)["V7"]) == (5_000, "x")


def test_variables_cannot_multiply_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "MOST_VARIABLES", 50)
    variables = " ".join(f"env=V{number}=" for number in range(9))
    jobs = [f"{CRON} name=n{number} command=x" for number in range(100)]
    assert not read(f"defaults: {variables}", *jobs).findings, "they share them"
    more = [f"{job} env=X={number}" for number, job in enumerate(jobs)]
    found = read(f"defaults: {variables}", *more).findings
    assert (found[0].code, found[0].line) == (Code.LIMIT, 7)


def test_what_jobs_override_costs_little_memory() -> None:
    variables = " ".join(f"env=V{number}=" for number in range(5_000))
    keys = ("nice=1", "umask=022", "grace=1s", "timeout=1h", "user=a", "group=a", "cwd=/")
    jobs = (
        " ".join(
            [f"{CRON} name=n{number} command=x"]
            + [key for place, key in enumerate(keys) if number >> place & 1]
        )
        for number in range(1 << len(keys))
    )
    data = "\n".join([f"defaults: {variables} {' '.join(keys)}", *jobs]).encode()
    tracemalloc.start()
    try:
        document = read_document(data, PATH)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len({id(entry.defaults) for entry in document.entries}) == 1 << len(keys)
    assert kept < 5 * 2**20


def test_the_number_of_defaults_is_limited() -> None:
    text = "defaults: nice=1\n" * 4
    document = read_document(text.encode(), PATH, reader=LineReader(Limits(jobs=3)))
    assert [(finding.code, finding.line) for finding in document.findings] == [(Code.LIMIT, 4)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("defaults: " + "@policy(" * 8_000, id="modifiers"),
        pytest.param("defaults: " + '"' * 65_000, id="quotes"),
        pytest.param("defaults: " + "a= " * 20_000, id="fields"),
        pytest.param("defaults: " + "x " * 30_000, id="words"),
    ],
)
def test_no_line_takes_long(text: str) -> None:
    start = time.process_time()
    assert len(read(text).findings) <= 20
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("text", ["defaults:", "defaults: user=root", "defaults: nice=1 env=A=1"])
@pytest.mark.parametrize("owner", [None, "alice"])
def test_a_crontab_has_no_defaults(text: str, owner: str | None) -> None:
    crontab = read_text(f"{text}\n", owner=owner)
    assert [finding.code for finding in crontab.findings] == [Code.CRON_FIELD_COUNT]


# --- edits


ADDED = f"{CRON} name=new command=x"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(f"{CRON} name=a command=b\n", id="no defaults"),
        pytest.param("defaults: user=u\n", id="defaults alone"),
        pytest.param(f"defaults: user=u\n{CRON} name=a command=b\n", id="defaults"),
        pytest.param(f"defaults: user=u\n{CRON} name=a command=b", id="no line break"),
        pytest.param(f"defaults: user=u\n{CRON} name=a command=b\ndefaults:\n", id="cleared"),
        pytest.param(f"defaults: user=u\n{CRON} name=a command=b\n\n# end\n", id="a comment"),
    ],
)
def test_an_added_job_has_no_defaults_and_its_removal_gives_the_file_back(text: str) -> None:
    longer = read_document(text.encode(), PATH).with_lines(ADDED)
    document = read_document(longer.encode(), PATH)
    assert document.entry("new").task == entries(ADDED)["new"].task
    is_clear = text.endswith("defaults:\n")
    assert document.without("new") == (text.removesuffix("defaults:\n") if is_clear else text)


def test_defaults_are_cleared_once_and_not_before_other_defaults() -> None:
    first = read(f"defaults: user=u\n{CRON} name=a command=b\n").with_lines(ADDED)
    assert first.endswith(f"\ndefaults:\n{ADDED}\n")
    again = f"{CRON} name=other command=x"
    assert read(first.removesuffix("\n") + "\n").with_lines(again) == f"{first}{again}\n"
    own = f"# c\ndefaults: nice=1\n{again}"
    assert read(f"defaults: user=u\n{ADDED}\n").with_lines(own) == (
        f"defaults: user=u\n{ADDED}\n{own}\n"
    )
