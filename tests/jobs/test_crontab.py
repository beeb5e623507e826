"""Crontabs, read as Debian's cron reads them: jobs, environment, `%`, notes and errors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code, KronError, ParseError
from kron.core.cron import SHORTHANDS
from kron.jobs.crontab.crontab import (
    POLICY,
    Crontab,
    owner_of,
    read_crontab,
)
from kron.jobs.crontab.line import read_setting, split_command
from kron.jobs.crontab.local import system_zone
from kron.jobs.crontab.names import Names, name_of
from kron.jobs.crontab.note import NoteCode
from kron.jobs.defaults import MOST_VARIABLES
from kron.jobs.document import KEPT_FINDINGS
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, Severity
from kron.jobs.hooks import Mail, MailOn
from tests.core.schedules import ZONES, cron_texts
from tests.jobs.crontabs import HOMES, PATHS, read, read_text
from tests.soak import examples

Row = tuple[int, str, str, str]

CORPUS: dict[str, tuple[list[Row], list[tuple[int, NoteCode]]]] = {
    "/etc/crontab": (
        [
            (13, "cron-hourly", "17 * * * *", "root"),
            (14, "cron-daily", "25 6 * * *", "root"),
            (15, "cron-weekly", "47 6 * * 7", "root"),
            (16, "cron-monthly", "52 6 1 * *", "root"),
        ],
        [],
    ),
    "/etc/anacrontab": (
        [],
        [
            (4, NoteCode.SETTING),
            (7, NoteCode.ANACRON),
            (8, NoteCode.ANACRON),
            (9, NoteCode.ANACRON),
        ],
    ),
    "/etc/cron.d/0hourly": (
        [(6, "cron-hourly", "01 * * * *", "root")],
        [(5, NoteCode.DELAY)],
    ),
    "/etc/cron.d/activity": (
        [
            (5, "take-sample", "5-55/10 * * * *", "root"),
            (8, "take-sample-2", "59 23 * * *", "root"),
        ],
        [],
    ),
    "/etc/cron.d/arrays": ([(5, "check", "57 0 * * 0", "root")], []),
    "/etc/cron.d/backups": (
        [
            (7, "mysqldump", "0 1 * * * @tz(Europe/Berlin)", "backup"),
            (8, "rsync", "15 1 * * * @tz(Europe/Berlin)", "backup"),
            (9, "find", "30 1 * * * @tz(Europe/Berlin)", "backup"),
            (10, "backup-verify", "0 2 1-7 * Sun @tz(Europe/Berlin)", "root"),
            (13, "backup-heartbeat", "*/5 * * * *", "nobody"),
        ],
        [
            (5, NoteCode.ZONE),
            (12, NoteCode.ZONE),
            (13, NoteCode.HOME),
        ],
    ),
    "/etc/cron.d/catch-up": ([(6, "invoke-rc-d-catch-up-start", "30 7-23 * * *", "root")], []),
    "/etc/cron.d/certificates": ([(6, "renew-certs", "0 */12 * * *", "root")], []),
    "/etc/cron.d/scrub": (
        [
            (1, "scrub-all-cron", "30 3 * * 0", "root"),
            (2, "scrub-all", "10 3 * * *", "root"),
        ],
        [],
    ),
    "/etc/cron.d/sessions": ([(5, "purge-sessions", "09,39 * * * *", "root")], []),
    "/etc/cron.d/survey": ([(4, "survey", "22 11 * * *", "root")], []),
    "/etc/cron.d/unfinished": (
        [
            (1, "rotate-logs", "0 5 * * *", "root"),
            (3, "rotate-more", "15 5 * * *", "root"),
        ],
        [(3, NoteCode.LAST_LINE)],
    ),
    "/var/spool/cron/crontabs/alice": (
        [
            (6, "tunnel-at-boot", "@reboot", "alice"),
            (7, "tidy-downloads", "0 0 * * *", "alice"),
            (8, "tar-czf", "0 0 * * 0", "alice"),
            (9, "mail", "0 22 * * mon-fri", "alice"),
            (10, "echo", "30 7 1,15 * 5", "alice"),
        ],
        [(11, NoteCode.NEVER)],
    ),
    "/var/spool/cron/crontabs/press": (
        [
            (2, "wget-one-example", "0 0 * * *", "press"),
            (3, "wget-two-example", "0 0 * * *", "press"),
            (4, "curl-three-example", "0 0 * * *", "press"),
            (5, "wp-cron-event", "0 0 * * *", "press"),
            (6, "wp-cron-event-2", "0 0 * * *", "press"),
            (7, "sed", "0 0 * * *", "press"),
        ],
        [(7, NoteCode.BACKSLASH)],
    ),
    "/var/spool/cron/crontabs/shop": (
        [
            (3, "cron", "*/15 * * * *", "shop"),
            (4, "report-daily", "0 0 * * *", "shop"),
            (5, "index-cron-run", "2,17,32,47 * * * *", "shop"),
            (6, "worker", "* * * * *", "shop"),
            (7, "magnet-indexer-reindex", "0 4 * * 1", "shop"),
        ],
        [],
    ),
    "/var/spool/cron/deploy": (
        [
            (4, "artisan-schedule-run", "* * * * * @tz(America/New_York)", "deploy"),
            (5, "artisan-queue-work", "*/10 * * * * @tz(America/New_York)", "deploy"),
            (6, "bundle-exec-rake", "0 3 * * * @tz(America/New_York)", "deploy"),
            (7, "rails-runner", "30 2 * * * @tz(America/New_York)", "deploy"),
        ],
        [(1, NoteCode.ZONE)],
    ),
    "/var/spool/cron/tabs/oracle": (
        [
            (4, "heartbeat", "*/5 * * * *", "oracle"),
            (5, "sqlplus", "0 23 * * *", "oracle"),
        ],
        [(3, NoteCode.LOGIN), (4, NoteCode.QUIET)],
    ),
}


def only(crontab: Crontab) -> Entry:
    """The one job of a crontab without errors."""
    assert crontab.findings == []
    (entry,) = crontab.entries
    return entry


def marked(findings: list[Finding]) -> list[tuple[str, str]]:
    """Each finding: its code, and the very characters that it points at."""
    return [(finding.code, finding.text[finding.start : finding.end]) for finding in findings]


# --- the corpus


def test_every_crontab_of_the_corpus_is_in_the_table() -> None:
    assert sorted(CORPUS) == PATHS


@pytest.mark.parametrize("path", PATHS)
def test_a_crontab_of_the_corpus_yields_its_jobs_and_notes(path: str) -> None:
    crontab = read(path)
    jobs, notes = CORPUS[path]
    assert crontab.findings == []
    assert [
        (entry.line, entry.name, entry.schedule_text, entry.task.user) for entry in crontab.entries
    ] == [(line, name, f"{when} {POLICY}", user) for line, name, when, user in jobs]
    assert [(note.line, note.code) for note in crontab.notes] == notes


@pytest.mark.parametrize("path", PATHS)
def test_no_line_of_the_corpus_is_lost(path: str) -> None:
    crontab = read(path)
    text = "\n".join(line.text for line in crontab.lines)
    assert text == crontab_file(path).removesuffix("\n")
    for line in crontab.lines:
        silent = all(not part.strip() or part.lstrip()[0] == "#" for part in line.text.split("\n"))
        assert silent or line.setting or line.entry or line.omitted


def crontab_file(path: str) -> str:
    from tests.jobs.crontabs import ROOT

    return (ROOT / path.lstrip("/")).read_text(encoding="utf-8")


# --- settings


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        pytest.param("A=b", "A", "b", id="plain"),
        pytest.param(" \tA\t = \tb c \t", "A", "b c", id="spaces around and within"),
        pytest.param('A="b c "', "A", "b c ", id="double quotes keep spaces"),
        pytest.param("A='b \"c\"' ", "A", 'b "c"', id="single quotes keep double ones"),
        pytest.param('A="it\'s"', "A", "it's", id="double quotes keep single ones"),
        pytest.param('A=""', "A", "", id="empty"),
        pytest.param('"A"=b', "A", "b", id="quoted name"),
        pytest.param("'A B' = c", "A B", "c", id="quoted name with a space"),
        pytest.param("A=b=c", "A", "b=c", id="equals sign in the value"),
        pytest.param("A=$HOME/x:\\n", "A", "$HOME/x:\\n", id="nothing is expanded"),
        pytest.param("A=b # c", "A", "b # c", id="no comment after a value"),
        pytest.param("A=b\"c'd", "A", "b\"c'd", id="quotes inside a plain value"),
        pytest.param("5 = 6", "5", "6", id="a setting before it is a job"),
    ],
)
def test_a_setting_is_read_with_the_quoting_of_cron(text: str, name: str, value: str) -> None:
    setting = read_setting(text)
    assert setting is not None
    assert (setting.name.text, setting.value.text) == (name, value)
    for token in (setting.name, setting.value):
        assert text[token.start : token.end] == token.text


@pytest.mark.parametrize("text", ["* * * * * A=b", "0 0 * * * x = y", "@daily A=b", "1=", "junk"])
def test_other_lines_are_no_settings(text: str) -> None:
    assert read_setting(text) is None


@given(
    name=st.text(st.characters(blacklist_categories=["C", "Z"], blacklist_characters="=\"'#")),
    value=st.text(st.characters(blacklist_categories=["C", "Zl", "Zp"])),
    quote=st.sampled_from("\"'"),
)
@examples(100)
def test_any_value_between_quotes_comes_out_as_it_is(name: str, value: str, quote: str) -> None:
    if name and quote not in value:
        setting = read_setting(f"{name} = {quote}{value}{quote}")
        assert setting is not None
        assert (setting.name.text, setting.value.text) == (name, value)


def test_a_setting_holds_for_the_lines_after_it_only() -> None:
    text = "* * * * * a\nX=1\n* * * * * b\nX=2\nY=3\n* * * * * c\n"
    seen = [
        {name: value for name, value in entry.task.env if name in "XY"}
        for entry in read_text(text).entries
    ]
    assert seen == [{}, {"X": "1"}, {"X": "2", "Y": "3"}]


# --- the environment of a job


def test_a_job_has_the_environment_that_cron_makes_and_nothing_else() -> None:
    entry = only(read_text("0 3 * * * root run\n", owner=None))
    assert entry.task.env == (
        ("SHELL", "/bin/sh"),
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/root"),
        ("LOGNAME", "root"),
        ("USER", "root"),
    )
    assert entry.task.cwd == "/root"
    assert entry.task.argv == ("/bin/sh", "-c", "run")
    assert entry.task.user == "root"
    assert entry.task.stdin is None


def test_shell_home_and_path_can_be_set_and_the_job_runs_in_home() -> None:
    text = "SHELL=/bin/bash\nHOME=/srv\nPATH=/x:/y\nMAILTO=me\n0 3 * * * root run\n"
    task = only(read_text(text, owner=None)).task
    assert dict(task.env) == {
        "SHELL": "/bin/bash",
        "HOME": "/srv",
        "PATH": "/x:/y",
        "LOGNAME": "root",
        "USER": "root",
        "MAILTO": "me",
    }
    assert task.cwd == "/srv"
    assert (task.shell, task.argv) == ("/bin/bash", ("/bin/bash", "-c", "run"))


@pytest.mark.parametrize("name", ["LOGNAME", "USER"])
def test_the_login_name_cannot_be_set(name: str) -> None:
    crontab = read_text(f"{name}=else\n0 3 * * * run\n", owner="alice")
    assert dict(only(crontab).task.env)[name] == "alice"
    assert marked(crontab.notes) == [(NoteCode.LOGIN, name)]
    assert read_text(f"{name}=alice\n", owner="alice").notes == []


def test_a_user_that_is_not_known_is_noted_once_and_has_no_home() -> None:
    text = "0 3 * * * ghost run\n0 4 * * * ghost run\nX=1\n0 5 * * * ghost run\n"
    crontab = read_text(text, owner=None)
    assert marked(crontab.notes) == [(NoteCode.USER_UNKNOWN, "ghost")]
    for entry in crontab.entries:
        assert entry.task.user == "ghost"
        assert entry.task.cwd == ""
        assert "HOME" not in dict(entry.task.env)


def test_a_crontab_of_nobody_in_particular_names_no_user() -> None:
    task = only(read_text("0 3 * * * run\n")).task
    assert (task.user, task.cwd) == ("", "")
    assert dict(task.env) == {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}


def test_a_home_that_does_not_exist_by_its_name_is_not_run_in() -> None:
    crontab = read_text("0 3 * * * nobody run\n", owner=None)
    task = only(crontab).task
    assert (task.cwd, dict(task.env)["HOME"]) == ("/", "/nonexistent")
    assert marked(crontab.notes) == [(NoteCode.HOME, "nobody")]


# --- the time


def test_a_shorthand_is_the_fields_that_it_stands_for() -> None:
    for word, fields in SHORTHANDS.items():
        entry = only(read_text(f"{word} run\n"))
        assert entry.schedule_text == f"{fields} {POLICY}"


@given(fields=cron_texts(), zone=st.sampled_from(ZONES), lead=st.sampled_from(["", " ", "\t "]))
@examples(80)
def test_the_time_means_what_the_same_fields_mean_in_a_schedule(
    fields: str, zone: str, lead: str
) -> None:
    entry = only(read_text(f"{lead}{fields}  run\n", zone=zone))
    expected = kron.parse_schedule(f"{fields} @tz({zone}) @policy(concurrency=allow)")
    assert entry.schedule == expected.replace(zone=entry.schedule.zone)
    assert entry.schedule.zone.key == ("UTC" if zone == "Etc/UTC" else zone)
    assert kron.parse_schedule(entry.schedule_text) == entry.schedule


def test_the_zone_is_the_hosts_until_a_cron_tz() -> None:
    text = "0 3 * * * a\nTZ=Asia/Tokyo\n0 3 * * * b\nCRON_TZ = 'Europe/Paris'\n0 3 * * * c\n"
    crontab = read_text(text, zone="America/New_York")
    zones = [entry.schedule.zone.key for entry in crontab.entries]
    assert zones == ["America/New_York", "America/New_York", "Europe/Paris"]
    assert ("TZ", "Asia/Tokyo") in list(crontab.entries)[2].task.env
    assert marked(crontab.notes) == [(NoteCode.ZONE, "CRON_TZ")]


def test_a_zone_of_the_host_that_does_not_exist_is_an_error_of_the_caller() -> None:
    with pytest.raises(ParseError) as caught:
        read_text("", zone="Europe/Pariss")
    assert caught.value.code is Code.ZONE_UNKNOWN


# --- the command


def as_debian_does(written: str) -> tuple[str, str]:
    """The command and its input, character by character."""
    command, rest = "", ""
    characters = iter(written)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            command += following if following in "\\%" and following else "\\" + following
        elif character == "%":
            rest = "".join(characters)
        else:
            command += character
    text = ""
    before = ""
    for character in rest:
        if character == "%":
            text = text[:-1] + "%" if before == "\\" else text + "\n"
        else:
            text += character
        before = character
    return command, text


@pytest.mark.parametrize(
    ("written", "command", "stdin"),
    [
        pytest.param("run", "run", None, id="plain"),
        pytest.param(r"date +\%F", "date +%F", None, id="escaped"),
        pytest.param(r"date '+\%F \%T'", "date '+%F %T'", None, id="escaped between quotes"),
        pytest.param("cat%a", "cat", "a\n", id="one line"),
        pytest.param("cat%a%b%%c%", "cat", "a\nb\n\nc\n", id="several lines"),
        pytest.param("cat%", "cat", None, id="nothing after it"),
        pytest.param("cat%%", "cat", "\n", id="an empty line"),
        pytest.param(r"cat%100\% sure", "cat", "100% sure\n", id="percent in the input"),
        pytest.param(r"cat%\\%a\n", "cat", "\\%a\\n\n", id="backslashes in the input"),
        pytest.param(r"sed s/\\/x/", r"sed s/\/x/", None, id="two backslashes"),
        pytest.param(r"a\\%b", "a\\", "b\n", id="two backslashes before a percent"),
        pytest.param(r"grep '\.'", r"grep '\.'", None, id="one backslash"),
        pytest.param("a\\", "a\\", None, id="a backslash at the end"),
        pytest.param("a # %b", "a # ", "b\n", id="cron knows no comments"),
        pytest.param("echo '%'", "echo '", "'\n", id="cron knows no quotes"),
    ],
)
def test_the_percent_sign_ends_the_command(written: str, command: str, stdin: str | None) -> None:
    split = split_command(written)
    has_backslashes = "\\\\" in written.partition("cat%")[0]
    assert split == (command, stdin, has_backslashes)


@given(st.text("a\\% ", max_size=12))
@examples(300)
def test_a_command_is_split_as_debians_cron_does_it(written: str) -> None:
    split, stdin, _ = split_command(written)
    command, text = as_debian_does(written)
    assert split == command
    assert (stdin or "").removesuffix("\n") == text.removesuffix("\n")
    assert stdin is None or stdin.endswith("\n")


def test_spaces_before_the_command_go_and_those_in_it_stay() -> None:
    entry = only(read_text("  0 3 * * *\troot \t echo  'a  b' \n", owner=None))
    assert entry.task.command == "echo  'a  b' "


# --- what is a comment


@pytest.mark.parametrize("text", ["# a", " \t# a", "", " \t ", "#", "#* * * * * run"])
def test_comments_and_blank_lines_say_nothing(text: str) -> None:
    crontab = read_text(f"{text}\n* * * * * run # not a comment\n")
    assert only(crontab).task.command == "run # not a comment"
    assert only(crontab).line == 2


def test_a_stretch_of_comments_is_kept_as_it_was() -> None:
    crontab = read_text("# a\n\n  # b\n* * * * * run\n\n#\n")
    assert [(line.number, line.text) for line in crontab.lines] == [
        (1, "# a\n\n  # b"),
        (4, "* * * * * run"),
        (5, "\n#"),
    ]


# --- notes


def test_mail_goes_to_mailto_or_to_the_user_or_to_nobody() -> None:
    crontab = read_text(
        "* * * * * alice a\nMAILTO=ops@example.org, bob\n* * * * * alice b\nMAILFROM=cron@x\n"
        '* * * * * alice c\nMAILTO=""\n* * * * * alice d\nMAILTO=a;b\n* * * * * alice e\n',
        owner=None,
    )
    mails = {entry.name: entry.task.hooks and entry.task.hooks.mail for entry in crontab.entries}
    named = Mail(("ops@example.org", "bob"), MailOn.OUTPUT, is_crons=True)
    assert mails == {
        "a": Mail(("alice",), MailOn.OUTPUT, is_crons=True, is_implied=True),
        "b": named,
        "c": named.replace(sender="cron@x"),
        "d": None,
        "e": None,
    }
    assert [(note.line, note.code) for note in crontab.notes] == [(8, NoteCode.MAIL)]


@pytest.mark.parametrize(
    ("text", "code", "mark"),
    [
        pytest.param("0 0 31 2 * run\n", NoteCode.NEVER, "0 0 31 2 *", id="never"),
        pytest.param(
            "7\t10\tweekly\tnice x\n", NoteCode.ANACRON, "7\t10\tweekly\tnice x", id="anacron"
        ),
        pytest.param(
            "@monthly 15 old /bin/x\n", NoteCode.ANACRON, "@monthly 15 old /bin/x", id="@monthly"
        ),
        pytest.param("MAILTO=-oQ/tmp\n", NoteCode.MAIL, "-oQ/tmp", id="no address"),
        pytest.param("MAILFROM=a,b\n", NoteCode.MAIL, "a,b", id="two senders"),
        pytest.param("CONTENT_TYPE=text/html\n", NoteCode.MAIL, "CONTENT_TYPE", id="type"),
        pytest.param("RANDOM_DELAY=45\n", NoteCode.DELAY, "RANDOM_DELAY", id="delay"),
        pytest.param("CRON_WITHIN=600\n", NoteCode.DELAY, "CRON_WITHIN", id="within"),
        pytest.param("START_HOURS_RANGE=3-22\n", NoteCode.SETTING, "START_HOURS_RANGE", id="hours"),
        pytest.param("-*/5 * * * * run\n", NoteCode.QUIET, "-", id="hyphen"),
        pytest.param("-@daily run\n", NoteCode.QUIET, "-", id="hyphen before a word"),
        pytest.param("* * * * * a \\\\ b\n", NoteCode.BACKSLASH, "\\\\", id="backslashes"),
        pytest.param("* * * * * root run\n", NoteCode.USER_COLUMN, "root", id="user column"),
        pytest.param("HOME=here\n", NoteCode.HOME, "here", id="relative home"),
        pytest.param("* * * * * run", NoteCode.LAST_LINE, "", id="no line break"),
        pytest.param("A=b", NoteCode.LAST_LINE, "", id="no line break after a setting"),
    ],
)
def test_what_cron_has_and_krond_has_not_is_noted(text: str, code: NoteCode, mark: str) -> None:
    crontab = read_text(text)
    assert crontab.findings == []
    assert marked(crontab.notes) == [(code, mark)]
    (note,) = crontab.notes
    assert note.severity is Severity.WARNING
    assert note.line == 1


@pytest.mark.parametrize("text", ["", "\n", "# end", "* * * * * run\n# end", "* * * * * run\n "])
def test_a_comment_at_the_end_needs_no_line_break(text: str) -> None:
    assert read_text(text).notes == []


def test_lines_that_are_read_otherwise_still_yield_their_job() -> None:
    text = "-0 3 * * * a\n0 3 * * * b \\\\\n0 3 * * * c"
    assert [entry.task.command for entry in read_text(text).entries] == ["a", "b \\", "c"]


# --- errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("60 * * * * run", [(Code.CRON_FIELD, "60")], id="minute"),
        pytest.param(
            "60 24 0 13 8 run",
            [
                (Code.CRON_FIELD, "60"),
                (Code.CRON_FIELD, "24"),
                (Code.CRON_FIELD, "0"),
                (Code.CRON_FIELD, "13"),
                (Code.CRON_FIELD, "8"),
            ],
            id="all at once",
        ),
        pytest.param("\t 0\t\t25 * * * run", [(Code.CRON_FIELD, "25")], id="after tabs"),
        pytest.param("0~30 * * * * run", [(Code.CRON_FIELD, "0~30")], id="cronie's random"),
        pytest.param("5/10 * * * * run", [(Code.CRON_FIELD, "5/10")], id="step without range"),
        pytest.param("0 0 * * fri-mon run", [(Code.CRON_FIELD, "fri-mon")], id="backwards"),
        pytest.param("0 0 * *", [(Code.CRON_FIELD_COUNT, "0 0 * *")], id="four fields"),
        pytest.param("run", [(Code.CRON_FIELD_COUNT, "run")], id="one word"),
        pytest.param("-", [(Code.CRON_FIELD_COUNT, "")], id="a hyphen"),
        pytest.param("* * * * * * run", [(Code.CRON_FIELD_COUNT, "*")], id="six fields"),
        pytest.param("0 0 * * *", [(Code.FIELD_MISSING, "")], id="no command"),
        pytest.param("0 0 * * *  ", [(Code.FIELD_MISSING, " ")], id="no command but spaces"),
        pytest.param("0 0 * * * %x", [(Code.FIELD_MISSING, "")], id="input without command"),
        pytest.param("@daily", [(Code.FIELD_MISSING, "")], id="@daily without command"),
        pytest.param(
            "0 0 * * run", [(Code.CRON_FIELD, "run"), (Code.FIELD_MISSING, "")], id="four and run"
        ),
        pytest.param("@Daily run", [(Code.CRON_SHORTHAND, "@Daily")], id="capitals"),
        pytest.param("@fortnightly run", [(Code.CRON_SHORTHAND, "@fortnightly")], id="unknown @"),
        pytest.param("@ run", [(Code.CRON_SHORTHAND, "@")], id="bare @"),
        pytest.param("A=", [(Code.FIELD_FORM, "A=")], id="no value"),
        pytest.param('A="b', [(Code.FIELD_FORM, 'A="b')], id="open quote"),
        pytest.param("A='b' # c", [(Code.FIELD_FORM, "A='b' # c")], id="more after a quote"),
        pytest.param("export A=b", [(Code.FIELD_FORM, "A=b")], id="export"),
        pytest.param("=b", [(Code.FIELD_FORM, "=b")], id="no name"),
        pytest.param("SHELL=bash", [(Code.FIELD_VALUE, "bash")], id="relative shell"),
        pytest.param('SHELL=""', [(Code.FIELD_VALUE, "")], id="empty shell"),
        pytest.param("CRON_TZ=Mars/Olympus", [(Code.ZONE_UNKNOWN, "Mars/Olympus")], id="zone"),
        pytest.param("* * * * * a\x1bb", [(Code.TEXT, "\x1b")], id="control character"),
        pytest.param("* * * * * a\x00b", [(Code.TEXT, "\x00")], id="NUL"),
    ],
)
def test_an_error_has_its_code_and_its_place(text: str, expected: list[tuple[Code, str]]) -> None:
    crontab = read_text(f"# first\n{text}\n* * * * * fine\n")
    assert marked(crontab.findings) == expected
    assert {finding.line for finding in crontab.findings} == {2}
    assert [entry.task.command for entry in crontab.entries] == ["fine"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=", 'the setting "A" has no value'),
        ('A="b', 'a quote in the setting "A" is never closed'),
        ("A='b' # c", 'there is more after the quoted value of the setting "A"'),
        ("export A=b", 'there is a shell\'s export before "A"'),
    ],
)
def test_a_malformed_setting_is_reported_with_its_own_cause(text: str, words: str) -> None:
    [finding] = read_text(f"{text}\n").findings
    assert finding.message == words
    assert finding.fix


@pytest.mark.parametrize(
    ("text", "code", "mark", "fix"),
    [
        ("0 0 * * * /bin/run now", Code.FIELD_VALUE, "/bin/run", "the user before the command"),
        ("0 0 * * * /bin/run", Code.FIELD_VALUE, "/bin/run", "the user before the command"),
        ("0 0 * * * www:www run", Code.FIELD_VALUE, "www:www", 'write "www"'),
        ("0 0 * * * www:www/daemon run", Code.FIELD_VALUE, "www:www/daemon", 'write "www"'),
        ("* * * * * * root run", Code.FIELD_VALUE, "*", "the user before the command"),
        ("0 0 * * * root", Code.FIELD_MISSING, "", ""),
        ("0 0 * * *", Code.FIELD_MISSING, "", ""),
        ("@Hourly root run", Code.CRON_SHORTHAND, "@Hourly", 'did you mean "@hourly"?'),
        ("5~9 0 * * * root run", Code.CRON_FIELD, "5~9", "@win(after,...)"),
    ],
)
def test_an_error_in_a_system_crontab_says_what_to_write(
    text: str, code: Code, mark: str, fix: str
) -> None:
    crontab = read_text(f"{text}\n", owner=None)
    assert marked(crontab.findings) == [(code, mark)]
    assert fix in crontab.findings[0].fix


def test_a_setting_that_is_wrong_does_not_hold() -> None:
    text = "SHELL=bash\nCRON_TZ=Nowhere\n* * * * * run\n"
    (entry,) = read_text(text, zone="Europe/Paris").entries
    assert (entry.task.shell, entry.schedule.zone.key) == ("/bin/sh", "Europe/Paris")


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        pytest.param(b"# ok\n# caf\xe9\n", Code.TEXT, 2, 6, id="latin 1"),
        pytest.param(
            "# é\n* * * * * é\x80\n".encode("latin1"), Code.TEXT, 1, 3, id="first of many"
        ),
        pytest.param("# é ".encode() + b"\xff", Code.TEXT, 1, 5, id="columns are characters"),
        pytest.param(b"\xef\xbb\xbf# a\n", Code.TEXT, 1, 1, id="byte order mark"),
        pytest.param(b"# a\r\n* * * * * b\r\n", Code.TEXT, 1, 4, id="carriage returns"),
    ],
)
def test_bytes_that_are_no_crontab_are_one_error_with_its_place(
    data: bytes, code: Code, line: int, column: int
) -> None:
    crontab = read_crontab(data, "/c", "", zone="UTC", home_of=HOMES.get)
    assert [(f.code, f.line, f.start + 1) for f in crontab.findings] == [(code, line, column)]
    assert crontab.lines == ()


def test_a_user_that_cannot_be_one_is_an_error() -> None:
    crontab = read_text("* * * * * run\n", owner="../root")
    assert [finding.code for finding in crontab.findings] == [Code.FIELD_VALUE]


# --- limits and hostile bytes


def limited(text: str, **limits: int) -> Crontab:
    return read_crontab(
        text.encode(),
        "/c",
        "",
        zone="UTC",
        home_of=HOMES.get,
        limits=kron.Limits(**limits),
    )


def test_limits_are_errors() -> None:
    line = "* * * * * run\n"
    assert marked(limited(line, file_bytes=13).findings) == [(Code.LIMIT, "")]
    assert marked(limited(line, line_bytes=12).findings) == [(Code.LIMIT, "*")]
    assert limited(line, file_bytes=14, line_bytes=13, jobs=1).findings == []
    too_many = limited(line * 5, jobs=2)
    assert [(f.line, f.code) for f in too_many.findings] == [(3, Code.LIMIT)]
    assert len(list(too_many.entries)) == 2
    assert [f.line for f in limited("A=b\n" * 5, jobs=2).findings] == [3]


def test_a_file_of_errors_is_read_no_further_than_anybody_would_read_them() -> None:
    crontab = read_text("junk\n" * 100_000)
    assert len(crontab.findings) == KEPT_FINDINGS + 1
    assert crontab.findings[-1].code == Code.LIMIT
    assert len(crontab.lines) == KEPT_FINDINGS


@pytest.mark.heavy
def test_settings_that_change_before_each_job_do_not_fill_the_memory() -> None:
    pairs = "".join(f"A{number}=b\n* * * * * run\n" for number in range(2_000))
    crontab = read_text(pairs)
    variables = sum(len(entry.task.env) for entry in crontab.entries)
    assert variables <= MOST_VARIABLES + 2 * 2_000
    assert crontab.findings[0].code == Code.LIMIT


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"*" * 1_000_000, id="a long line"),
        pytest.param(b"\0" * 1_000_000, id="NULs"),
        pytest.param(b"* * * * * " + b"\"'`$(" * 10_000, id="quotes"),
        pytest.param(b"1 5 " + b"ab1" * 20_000 + b" x", id="nearly anacron"),
        pytest.param(b"A" * 60_000 + b" = '", id="a long name"),
        pytest.param(b"0 0 * * * " + b"\\%" * 30_000, id="escapes"),
        pytest.param(b" " * 60_000 + b"x", id="spaces"),
        pytest.param(b"\n" * 500_000, id="blank lines"),
        pytest.param(b"@" * 60_000, id="at signs"),
        pytest.param(("\u0131" * 20_000).encode(), id="letters"),
    ],
)
def test_hostile_files_are_read_or_refused(data: bytes) -> None:
    crontab = read_crontab(data, "/c", None, zone="UTC", home_of=HOMES.get)
    for finding in [*crontab.findings, *crontab.notes]:
        assert len(str(finding)) < 2_000


# fmt: off
_PIECES = st.sampled_from([
    "*", "0", "5", " ", "\t", "=", "%", "\\", '"', "'", "#", "-", "@daily", "@reboot", "~", "root",
    "\n", "\r", "\0", "A", "SHELL", "CRON_TZ", "é", "\ufeff", "/bin/x", "* * * * * ", "0 3 * * ",
])
# fmt: on


@given(
    st.one_of(st.binary(max_size=200), st.lists(_PIECES, max_size=40).map("".join).map(str.encode)),
    st.sampled_from([None, "", "alice"]),
)
@examples(300)
def test_any_bytes_give_jobs_and_findings_and_never_an_exception(
    data: bytes, owner: str | None
) -> None:
    crontab = read_crontab(data, "/c", owner, zone="UTC", home_of=HOMES.get)
    names = [entry.name for entry in crontab.entries]
    assert len(set(names)) == len(names)
    for entry in crontab.entries:
        assert entry.task.command.strip(" \t")
        assert kron.parse_schedule(entry.schedule_text) == entry.schedule
    for finding in [*crontab.findings, *crontab.notes]:
        assert finding.start <= finding.end
        assert 0 <= finding.line <= data.count(b"\n") + 1
        assert all(part.isprintable() for part in str(finding).split("\n"))
    if crontab.failure is None and not crontab.findings:
        assert "\n".join(line.text for line in crontab.lines) == data.decode().removesuffix("\n")


# --- names and identities


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/local/bin/backup.sh --all", "backup"),
        ("cd /srv && ./bin/report weekly >/dev/null 2>&1", "report-weekly"),
        ("[ -x /usr/bin/a ] && /usr/bin/a", "a"),
        ("if test -d /x; then /usr/bin/b-c; fi", "b-c"),
        ("nice -n 19 ionice -c2 -n7 tar czf /a.tgz /a", "tar-czf"),
        ("timeout -k 5 10m python3 -m app.tasks run", "app-tasks-run"),
        ("flock -w 10 /tmp/l sh /opt/sync.sh", "sync"),
        ("sudo -u www-data php /var/www/cron.php", "cron"),
        ("A=1 B='2 3' /usr/bin/env C=4 run-it", "run-it"),
        ("run-parts --report /etc/cron.daily/", "cron-daily"),
        ("curl -s 'https://example.com/tick?a=b' | sh", "curl-example-com"),
        ("sh -c 'a b'", "sh"),
        ("/opt/Größe_2 x", "gr-e-2-x"),
        ("日本", "job"),
        ("*", "job"),
        ("&&;|", "job"),
        (")", "job"),
        ("sleep 5", "sleep"),
        ("php -v", "php"),
        ("a" * 100, "a" * 40),
    ],
)
def test_a_name_is_what_a_person_would_call_it(command: str, name: str) -> None:
    assert name_of(command) == name


@given(st.text())
@examples(200)
def test_every_command_has_a_name_that_a_krontab_line_can_have(command: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,40}", name_of(command))


@given(st.lists(st.sampled_from(["a", "a-2", "a-2-2", "b", "a-3"]), max_size=12))
@examples(100)
def test_names_are_unique_and_the_first_keeps_its_own(bases: list[str]) -> None:
    names = Names()
    given_names = [names.unique(base) for base in bases]
    assert len(set(given_names)) == len(bases)
    for base, name in zip(bases, given_names, strict=True):
        assert name == base or re.fullmatch(rf"{base}-[0-9]+", name)
    assert given_names[:1] == bases[:1]


@given(st.data())
@examples(50)
def test_a_name_stays_when_other_lines_come_and_go(data: st.DataObject) -> None:
    lines = [f"* * * * * program{number} --x\n" for number in range(6)]
    kept = data.draw(st.lists(st.sampled_from(lines), unique=True))
    names = {entry.task.command: entry.name for entry in read_text("".join(lines)).entries}
    for entry in read_text("".join(kept)).entries:
        assert entry.name == names[entry.task.command]


def test_an_identity_is_the_path_and_the_name() -> None:
    crontab = read_crontab(b"* * * * * run\n", "/etc/c", "", zone="UTC", home_of=HOMES.get)
    assert only(crontab).identity == "/etc/c:run"
    crontab = read_crontab(
        b"* * * * * run\n",
        "/etc/c",
        "",
        zone="UTC",
        home_of=HOMES.get,
        node="web-1",
    )
    assert only(crontab).identity == "web-1//etc/c:run"


def test_equal_schedules_and_environments_are_one_value() -> None:
    entries = list(read_text("A=b\n" + "0 3 * * * run\n" * 3).entries)
    for one, other in pairwise(entries):
        assert one.schedule is other.schedule
        assert one.task.env is other.task.env


# --- places


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/etc/crontab", None),
        ("/etc/../etc/crontab", None),
        ("/etc/cron.d/php", None),
        ("/var/spool/cron/crontabs/alice", "alice"),
        ("/var/spool/cron/tabs/alice", "alice"),
        ("/var/spool/cron/alice", "alice"),
        ("/etc/cron.daily/x", ""),
        ("/home/alice/crontab", ""),
        ("crontab", ""),
    ],
)
def test_the_place_says_whose_crontab_it_is(path: str, owner: str | None) -> None:
    assert owner_of(path) == owner


# --- the zone of the host


Arrange = Callable[[Path], None]


def linked(target: str) -> Arrange:
    return lambda root: (root / "localtime").symlink_to(target)


def copied(timezone: str | None) -> Arrange:
    def arrange(root: Path) -> None:
        (root / "localtime").write_bytes(b"TZif2")
        if timezone is not None:
            (root / "timezone").write_text(timezone)

    return arrange


@pytest.mark.parametrize(
    ("arrange", "zone"),
    [
        pytest.param(linked("/usr/share/zoneinfo/Europe/Berlin"), "Europe/Berlin", id="link"),
        pytest.param(linked("../usr/share/zoneinfo/Asia/Tokyo"), "Asia/Tokyo", id="relative"),
        pytest.param(linked("/usr/share/zoneinfo/Etc/UTC"), "UTC", id="Etc/UTC is UTC"),
        pytest.param(copied("Europe/Paris\n"), "Europe/Paris", id="copy and timezone"),
        pytest.param(lambda _: None, "UTC", id="nothing there"),
    ],
)
def test_the_zone_of_the_host_is_read_from_etc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrange: Arrange, zone: str
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    arrange(tmp_path)
    found = system_zone(os.fspath(tmp_path / "localtime"), os.fspath(tmp_path / "timezone"))
    assert found == zone


def test_a_link_to_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "zoneinfo" / "Europe").mkdir(parents=True)
    (tmp_path / "zoneinfo" / "Europe" / "Rome").write_bytes(b"TZif2")
    (tmp_path / "alternative").symlink_to(tmp_path / "zoneinfo" / "Europe" / "Rome")
    (tmp_path / "localtime").symlink_to(tmp_path / "alternative")
    assert system_zone(os.fspath(tmp_path / "localtime"), "/nowhere") == "Europe/Rome"


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(copied(None), id="a copy without a name"),
        pytest.param(copied("Nowhere\n"), id="an unknown name"),
        pytest.param(copied(""), id="an empty name"),
        pytest.param(linked("/usr/share/zoneinfo/Nowhere"), id="a link to nowhere"),
    ],
)
def test_a_host_that_does_not_name_its_zone_is_an_error(tmp_path: Path, arrange: Arrange) -> None:
    arrange(tmp_path)
    with pytest.raises(KronError) as caught:
        system_zone(os.fspath(tmp_path / "localtime"), os.fspath(tmp_path / "timezone"))
    assert caught.value.code is Code.ZONE_UNKNOWN
    assert caught.value.fix
