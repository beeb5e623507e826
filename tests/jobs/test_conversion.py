"""From a crontab to krontab lines: the same jobs, nothing lost silently, windows where asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron import Code, KronError
from kron.core.duration import SECOND_NS, format_duration, parse_duration
from kron.jobs.crontab import conversion as conversion_module
from kron.jobs.crontab.conversion import (
    AUTO,
    PROPOSED_S,
    SHORTEST_SPREAD_GAP_S,
    SPREAD_SHARE,
    Conversion,
    convert,
    proposed_ns,
)
from kron.jobs.crontab.environment import LOGIN, OF_CRON
from kron.jobs.crontab.names import name_of
from kron.jobs.crontab.note import NoteCode
from kron.jobs.defaults import MOST_VARIABLES
from kron.jobs.document import KEPT_FINDINGS, Document, read_document
from kron.jobs.entry import Entry
from kron.jobs.hooks import Hooks
from kron.jobs.task import Task
from kron.lint import Advice, advise
from tests.core.random_cron import random_expression
from tests.core.schedules import cron_texts
from tests.jobs.crontabs import HOMES, PATHS, ROOT, read, read_text
from tests.soak import SOAK, examples
from tests.test_docs import blocks, page, rows

MINUTE_NS = 60 * SECOND_NS
GOLDEN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "crontab": ("/etc/crontab", {"zone": "Europe/Berlin"}, {}),
    "crontab-spread": ("/etc/crontab", {}, {"spread": AUTO, "environment": False}),
    "backups": ("/etc/cron.d/backups", {}, {}),
    "alice": ("/var/spool/cron/crontabs/alice", {"zone": "Europe/Paris"}, {}),
    "shop-spread": ("/var/spool/cron/crontabs/shop", {}, {"spread": AUTO, "environment": False}),
    "press-spread": (
        "/var/spool/cron/crontabs/press",
        {},
        {"spread": 45 * MINUTE_NS, "environment": False},
    ),
    "oracle": ("/var/spool/cron/tabs/oracle", {}, {}),
}


def read_back(conversion: Conversion, path: str = "/etc/krond.d/all.kron") -> Document:
    """The krontab file that a conversion is; it has no errors."""
    document = read_document(conversion.text.encode(), path)
    assert document.findings == ()
    return document


def variables(task: Task) -> dict[str, str]:
    """What a run of a task finds in its environment, without what krond adds to every run.

    tests/krond/test_env_files.py holds a real krond to the first lines.
    """
    assert not task.inherits_env
    found = {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    if task.user:
        found |= {"LOGNAME": task.user, "USER": task.user}
    if home := HOMES.get(task.user):
        found["HOME"] = home
    return found | dict(task.env)


def carried(task: Task) -> dict[str, str]:
    """The variables of a job of a crontab that a krontab line carries over."""
    return {
        name: value
        for name, value in variables(task).items()
        if (name not in OF_CRON or name in task.command)
        and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)
    }


def plain(task: Task) -> Task:
    """A task without its variables, and without what no line can say.

    That is that / will do where the directory is missing: docs/crontab.md tells so.
    """
    mail = task.hooks and task.hooks.mail
    said = mail.replace(is_crons=False) if mail and not mail.is_implied else None
    return task.replace(env=(), cwd_may_lack=False, hooks=Hooks(mail=said) if said else None)


def fed(task: Task) -> Task:
    """A task without what a line has instead of an input: its command, and the shell for that."""
    return task.replace(command="", argv=(), shell="", stdin=None)


def assert_same(before: list[Entry], after: list[Entry]) -> None:
    assert [entry.name for entry in after] == [entry.name for entry in before]
    for old, new in zip(before, after, strict=True):
        assert new.schedule == old.schedule
        assert variables(new.task) == carried(old.task)
        assert old.task.cwd_may_lack
        if old.task.stdin is None:
            assert plain(new.task) == plain(old.task)
        else:
            assert fed(plain(new.task)) == fed(plain(old.task))


# --- faithful


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_every_crontab_of_the_corpus_reads_back_as_the_same_jobs(path: str, zone: str) -> None:
    crontab = read(path, zone=zone)
    document = read_back(convert(crontab))
    assert_same(list(crontab.entries), list(document.entries))


_VALUES = st.text(st.characters(blacklist_categories=["C", "Zl", "Zp"]), max_size=12)
_NAMES = st.sampled_from(["LANG", "X_1", "PATH", "MAILTO", "CRON_TZ", "HOME", "SHELL", "A-B", "é"])


@st.composite
def _settings(draw: st.DrawFn) -> str:
    name = draw(_NAMES)
    if name == "CRON_TZ":
        return f"CRON_TZ={draw(st.sampled_from(['UTC', 'Asia/Tokyo', 'Europe/Paris']))}"
    value = draw(st.sampled_from(["/bin/bash", "/x y"]) if name == "SHELL" else _VALUES)
    quote = "'" if '"' in value else '"'
    return f"{name}={quote}{value.replace(quote, '')}{quote}"


_COMMANDS = st.one_of(
    st.text(st.characters(blacklist_categories=["C", "Zl", "Zp"]), max_size=20),
    st.text("ab \\\"'%#$=@;&|{}~", max_size=20),
    st.sampled_from(["run-parts /x", "cat%a%b", "echo $MAILTO", "root x"]),
)
_LINES = st.one_of(
    _settings(),
    st.builds("{} {} x{}".format, cron_texts(), st.sampled_from(["root", "alice"]), _COMMANDS),
    st.builds("{} {} x{}".format, st.sampled_from(["@daily", "@reboot"]), st.just("u"), _COMMANDS),
    st.sampled_from(["", "# a comment", " \t", "junk", "0 0 31 2 * root x", "1 5 x.daily run"]),
)


@given(
    st.lists(_LINES, max_size=6),
    st.sampled_from([None, AUTO, 15 * MINUTE_NS]),
    st.booleans(),
)
@examples(150)
def test_any_crontab_reads_back_as_the_same_jobs(
    lines: list[str], spread: int | None, environment: bool
) -> None:
    crontab = read_text("".join(f"{line}\n" for line in lines), owner=None, zone="Asia/Tokyo")
    conversion = convert(crontab, spread=spread, environment=environment)
    before, after = list(crontab.entries), list(read_back(conversion).entries)
    for old, new in zip(before, after, strict=True):
        assert (new.name, new.task.user) == (old.name, old.task.user)
        assert new.schedule.replace(window=old.schedule.window) == old.schedule
        if old.task.stdin is None:
            assert new.task.argv == old.task.argv
        if environment:
            assert variables(new.task) == carried(old.task)
            assert new.task.cwd == old.task.cwd
        else:
            assert new.task.inherits_env
            assert set(new.task.env) <= set(carried(old.task).items())
    noted = {note.line for note in conversion.notes}
    for line in crontab.lines:
        if line.omitted and not line.findings:
            assert line.number in noted


def test_without_the_environment_of_cron_only_what_the_crontab_sets_is_left() -> None:
    text = "PATH=/x\nLANG=C\nSHELL=/bin/bash\n0 3 * * * root a\nHOME=/srv\n0 4 * * * root b\n"
    crontab = read_text(text, owner=None)
    first, second = read_back(convert(crontab, environment=False)).entries
    assert first.task.env == (("PATH", "/x"), ("LANG", "C"))
    assert (first.task.cwd, first.task.shell) == ("", "/bin/bash")
    assert dict(second.task.env) == {"PATH": "/x", "LANG": "C", "HOME": "/srv"}
    assert second.task.cwd == "/srv"


@pytest.mark.parametrize("environment", [True, False])
def test_a_setting_for_cron_stays_with_a_command_that_names_it(environment: bool) -> None:
    text = 'MAILTO=me\n* * * * * root a\n* * * * * root mail -s x "$MAILTO"\n'
    crontab = read_text(text, owner=None)
    plain, mailing = read_back(convert(crontab, environment=environment)).entries
    assert "MAILTO" not in dict(plain.task.env)
    assert dict(mailing.task.env)["MAILTO"] == "me"


def test_utc_needs_no_zone_and_every_other_zone_is_said() -> None:
    crontab = read_text("0 3 * * * a\nCRON_TZ=Asia/Tokyo\n0 3 * * * b\n")
    assert [line.split(" name=")[0] for line in convert(crontab).lines] == [
        "defaults: @policy(concurrency=allow) shell=true environment=clean",
        "0 3 * * *",
        "0 3 * * * @tz(Asia/Tokyo)",
    ]


def test_the_defaults_take_the_place_of_the_settings() -> None:
    text = "0 1 * * * a\nA=1\nB=2\n# c\n0 3 * * * c\n0 4 * * * d\nA=2\n0 5 * * * e\nC=3\n"
    assert [line.split(" command=")[0] for line in convert(read_text(text)).lines] == [
        "defaults: @policy(concurrency=allow) shell=true environment=clean",
        "0 1 * * * name=a",
        "defaults: @policy(concurrency=allow) shell=true env=A=1 env=B=2 environment=clean",
        "# c",
        "0 3 * * * name=c",
        "0 4 * * * name=d",
        "defaults: @policy(concurrency=allow) shell=true env=A=2 env=B=2 environment=clean",
        "0 5 * * * name=e",
    ]


def test_defaults_that_no_line_could_hold_are_not_written() -> None:
    settings = "".join(f"A{number}={'x' * 900}\n" for number in range(80))
    conversion = convert(read_text(f"0 1 * * * a\n{settings}0 1 * * * b\n"))
    assert conversion.lines[2] == "defaults:"
    assert conversion.lines[3].endswith("[cron-long-line]")
    assert [entry.name for entry in read_back(conversion).entries] == ["a"]


@pytest.mark.heavy
def test_many_jobs_with_many_settings_cost_little() -> None:
    settings = "".join(f"A{number}=x\n" for number in range(2_000))
    jobs = "".join(f"0 1 * * * {('root', 'alice')[number % 2]} x\n" for number in range(5_000))
    crontab = read_text(settings + jobs, owner=None)
    tracemalloc.start()
    try:
        conversion = convert(crontab)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(conversion.lines) == 5_001
    assert peak < 30 * 2**20


# --- what is left, and what is not


def test_comments_and_blank_lines_keep_their_places() -> None:
    text = "# head\n\nA=1\n# about a\n0 3 * * * a\n\t\n  # tail\n"
    lines = convert(read_text(text)).lines
    assert [line.split(" ")[0] if " name=" in line else line for line in lines] == [
        "# head",
        "",
        "defaults: @policy(concurrency=allow) shell=true env=A=1 environment=clean",
        "# about a",
        "0",
        "\t",
        "  # tail",
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("MAILTO=me;you", NoteCode.MAIL),
        ("RANDOM_DELAY=5", NoteCode.DELAY),
        ("START_HOURS_RANGE=3-22", NoteCode.SETTING),
        ("LOGNAME=me", NoteCode.LOGIN),
        ("0 0 30 2 * run", NoteCode.NEVER),
        ("7 5 x.weekly run", NoteCode.ANACRON),
        ("A-B=c", NoteCode.VARIABLE),
        ("0 0 * * 8 run", Code.CRON_FIELD),
        ("A=", Code.FIELD_FORM),
    ],
)
def test_what_is_not_carried_over_becomes_a_comment_with_its_code(line: str, code: str) -> None:
    crontab = read_text(f"# before\n {line}\n# after\n")
    conversion = convert(crontab)
    assert conversion.lines == ("# before", f"# not carried over: {line} [{code}]", "# after")
    assert [(finding.line, finding.code) for finding in [*crontab.findings, *conversion.notes]] == [
        (2, code)
    ]


def test_text_that_a_terminal_would_obey_is_not_printed() -> None:
    conversion = convert(read_text("0 0 * * * a\x1b[2J\n"))
    assert conversion.lines == ("# not carried over: line 1 [text]",)


def test_a_line_that_would_be_too_long_is_left_out() -> None:
    written = "'" + "\\ " * 30_000 + "'"
    conversion = convert(read_text(f"* * * * * echo {written}\n* * * * * echo\n"))
    assert [note.code for note in conversion.notes] == [NoteCode.LONG_LINE]
    assert conversion.lines[1].endswith(" [cron-long-line]")
    assert [entry.line for entry in read_back(conversion).entries] == [3]


def test_what_no_krontab_file_could_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion_module, "DEFAULT_LIMITS", kron.Limits(file_bytes=500))
    with pytest.raises(KronError) as caught:
        convert(read_text("* * * * * y\n" * 30))
    assert caught.value.code is Code.LIMIT


def test_run_parts_is_carried_over_with_advice() -> None:
    conversion = convert(read("/etc/crontab"))
    assert [note.code for note in conversion.notes] == [NoteCode.RUN_PARTS] * 4
    assert len(list(read_back(conversion).entries)) == 4


# --- running what was converted


def run(task: Task, home: Path) -> tuple[int, str]:
    """What a task says and how it ends, run as krond would, in a home of the test's own."""
    env = {
        name: value.replace("/home/alice", os.fspath(home))
        for name, value in variables(task).items()
    }
    finished = subprocess.run(
        task.argv,
        input=task.stdin or "",
        env=env,
        cwd=task.cwd.replace("/home/alice", os.fspath(home)),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return finished.returncode, finished.stdout


@pytest.mark.parametrize(
    ("crontab", "status", "output"),
    [
        pytest.param("* * * * * echo a b", 0, "a b\n", id="plain"),
        pytest.param(r"* * * * * printf '\%s|\%s' a b", 0, "a|b", id="escaped percent"),
        pytest.param("* * * * * cat%one%two%%four", 0, "one\ntwo\n\nfour\n", id="input"),
        pytest.param("* * * * * cat; exit 3%x", 3, "x\n", id="status with input"),
        pytest.param("* * * * * false%x", 1, "", id="input that is not read"),
        pytest.param(
            r"* * * * * cat%it's 100\% \n $HOME \"", 0, "it's 100% \\n $HOME \\\"\n", id="raw"
        ),
        pytest.param("* * * * * cat # comment%x", 0, "x\n", id="comment before the input"),
        pytest.param("* * * * * cat;%x", 0, "x\n", id="semicolon at the end"),
        pytest.param("* * * * * (cat; exit 4)%x", 4, "x\n", id="subshell"),
        pytest.param("* * * * * cat >&2 & wait%x", 0, "", id="background"),
        pytest.param(
            "* * * * * if read a && test $a = x; then echo yes; fi%x", 0, "yes\n", id="if"
        ),
        pytest.param("SHELL=/bin/bash\n* * * * * [[ a < b ]] && cat%x", 0, "x\n", id="bash"),
        pytest.param(
            "SHELL=/bin/bash\n* * * * * echo ${BASH_VERSION:+yes}", 0, "yes\n", id="shell"
        ),
        pytest.param('A=\' a  "b" \'\n* * * * * echo "$A"', 0, ' a  "b" \n', id="quoted setting"),
        pytest.param(
            'A = $HOME\\x  \n* * * * * printf \\%s "$A"', 0, "$HOME\\x", id="no expansion"
        ),
        pytest.param("A=''\n* * * * * echo ${A-unset}.", 0, ".\n", id="empty setting"),
        pytest.param("* * * * * echo $LOGNAME $USER $SHELL $PATH", 0, None, id="login"),
        pytest.param("* * * * * pwd; echo ~", 0, None, id="home"),
        pytest.param("PATH=/nowhere\n* * * * * echo $PATH", 0, "/nowhere\n", id="path"),
        pytest.param("* * * * * echo 'a\\\\b'", 0, None, id="backslashes"),
        pytest.param('* * * * * echo "a \\"b\\" $(echo "c  d")"', 0, 'a "b" c  d\n', id="quotes"),
        pytest.param("* * * * * echo é ☂ '%'", 2, None, id="an open quote is an error"),
    ],
)
def test_a_converted_line_does_what_the_line_of_the_crontab_did(
    tmp_path: Path, crontab: str, status: int, output: str | None
) -> None:
    given_crontab = read_text(f"{crontab}\n", owner="alice")
    (before,) = given_crontab.entries
    (after,) = read_back(convert(given_crontab)).entries
    result = run(before.task, tmp_path)
    assert result[0] == status
    assert output is None or result[1] == output
    assert run(after.task, tmp_path) == result
    assert after.task.stdin is None


def test_the_environment_that_a_job_sees_is_the_one_of_cron(tmp_path: Path) -> None:
    crontab = read_text("LANG=C\n* * * * * /usr/bin/env\n", owner="alice")
    (entry,) = crontab.entries
    seen = dict(line.split("=", 1) for line in run(entry.task, tmp_path)[1].splitlines())
    home = os.fspath(tmp_path)
    assert (
        seen.items() >= {"HOME": home, "LANG": "C", "LOGNAME": "alice", "SHELL": "/bin/sh"}.items()
    )
    assert set(seen) <= {"HOME", "LANG", *LOGIN, "PATH", "SHELL", "PWD", "OLDPWD", "_", "SHLVL"}


# --- windows


@pytest.mark.parametrize(
    ("fields", "window"),
    [
        ("* * * * *", None),
        ("*/4 * * * *", None),
        ("*/5 * * * *", "1m15s"),
        ("*/6 * * * *", "1m15s"),
        ("*/7 * * * *", None),
        ("*/10 * * * *", "2m"),
        ("*/15 * * * *", "3m"),
        ("*/20 * * * *", "5m"),
        ("*/30 * * * *", "5m"),
        ("17 * * * *", "15m"),
        ("0 */2 * * *", "15m"),
        ("0 */4 * * *", "45m"),
        ("0 */6 * * *", "1h"),
        ("0 3 * * *", "1h"),
        ("0 3,4 * * *", "15m"),
        ("50 23,0 * * *", "15m"),
        ("0 0 1 * *", "1h"),
        ("0 0 29 2 *", "1h"),
    ],
)
def test_a_window_is_proposed_that_leaves_room_between_the_runs(
    fields: str, window: str | None
) -> None:
    crontab = read_text(f"{fields} run\n", zone="Europe/Berlin")
    (entry,) = read_back(convert(crontab, spread=AUTO)).entries
    found_ns = entry.schedule.window.duration_ns
    assert found_ns == (parse_duration(window) if window else 0)


def test_the_proposals_follow_the_documented_rule() -> None:
    assert proposed_ns(SHORTEST_SPREAD_GAP_S - 1) == 0
    for gap_s in range(SHORTEST_SPREAD_GAP_S, 20_000, 60):
        window_s = proposed_ns(gap_s) // SECOND_NS
        assert window_s * SPREAD_SHARE <= gap_s
        longer = [length_s for length_s in PROPOSED_S if length_s > window_s]
        assert not longer or min(longer) * SPREAD_SHARE > gap_s


def test_a_window_of_a_given_length_goes_where_it_fits() -> None:
    text = "*/15 * * * * a\n*/16 * * * * b\n0 * * * * c\n0 3 * * * d\n"
    conversion = convert(read_text(text), spread=15 * MINUTE_NS)
    windows = [entry.schedule.window.duration_ns for entry in read_back(conversion).entries]
    assert windows == [0, 0, 15 * MINUTE_NS, 15 * MINUTE_NS]
    assert [(note.line, note.code) for note in conversion.notes] == [
        (1, NoteCode.WINDOW),
        (2, NoteCode.WINDOW),
    ]
    assert convert(read_text(text), spread=0) == convert(read_text(text))


def test_a_window_longer_than_windows_may_be_is_an_error() -> None:
    with pytest.raises(KronError) as caught:
        convert(read_text("0 0 29 2 * a\n"), spread=367 * 24 * 60 * MINUTE_NS)
    assert caught.value.code is Code.LIMIT
    (entry,) = read_back(
        convert(read_text("0 0 29 2 * a\n"), spread=366 * 24 * 60 * MINUTE_NS)
    ).entries
    assert entry.schedule.window.duration_ns == 366 * 24 * 60 * MINUTE_NS


@pytest.mark.heavy
@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
)
def test_no_window_reaches_the_next_period_in_any_year(zone: str) -> None:
    random = Random(zone)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [f"{random_expression(random)} root x\n" for _ in range(40 * SOAK)]
    for _ in range(40 * SOAK):
        hours = ",".join(str(random.randrange(24)) for _ in range(random.randint(1, 3)))
        lines.append(f"{random.randrange(60)} {hours} * * * root x\n")
    lines += ["10 2,3 * * * root x\n", "30 1,2,3 * * * root x\n", "0 0,23 * * * root x\n"]
    crontab = read_text("".join(lines), owner=None, zone=zone)
    windows = 0
    for spread in (AUTO, 25 * MINUTE_NS):
        for entry in read_back(convert(crontab, spread=spread)).entries:
            window = timedelta(seconds=entry.schedule.window.end_offset_s)
            if not window:
                continue
            windows += 1
            end = begin + timedelta(days=1100 if window > timedelta(minutes=5) else 300)
            instants = takewhile(end.__gt__, entry.schedule.nominals_after(begin))
            for one, other in pairwise(instants):
                assert one + window < other
    assert windows >= 60


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_lint_has_nothing_to_say_about_proposed_windows(zone: str) -> None:
    every = "".join(f"*/{minutes} * * * * root x\n" for minutes in range(1, 60))
    crontabs = [read(path, zone=zone) for path in PATHS]
    crontabs.append(read_text(every, owner=None, zone=zone))
    documents = [read_back(convert(crontab, spread=AUTO), crontab.path) for crontab in crontabs]
    findings = list(advise(documents, now=datetime(2026, 1, 1, tzinfo=UTC), host=None))
    about_windows = (Advice.WINDOW_NARROW, Advice.WINDOW_OVERLAP, Advice.WINDOW_MISSING)
    assert [str(finding) for finding in findings if finding.code in about_windows] == []


# --- the same everywhere


def test_the_result_does_not_depend_on_clock_locale_or_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_of_them() -> list[Conversion]:
        return [convert(read(path, zone="Europe/Berlin"), spread=AUTO) for path in PATHS]

    before = all_of_them()
    for name, value in {
        "TZ": "Asia/Tokyo",
        "LC_ALL": "tr_TR.UTF-8",
        "HOME": "/x",
        "USER": "y",
    }.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    try:
        assert all_of_them() == before
    finally:
        monkeypatch.undo()
        time.tzset()


def test_reading_and_converting_import_nothing_heavy() -> None:
    heavy = "{'dataclasses', 'typing', 'logging', 'subprocess', 'pwd', 'json', 'shlex'}"
    code = f"import sys, kron.jobs.crontab.conversion; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# --- golden conversions


@pytest.mark.parametrize("name", GOLDEN)
def test_a_conversion_is_what_it_was(name: str) -> None:
    path, reading, converting = GOLDEN[name]
    conversion = convert(read(path, **reading), **converting)
    expected = (ROOT / "golden" / f"{name}.kron").read_text(encoding="utf-8")
    assert conversion.text == expected


def test_every_golden_file_is_in_the_table() -> None:
    assert sorted(file.stem for file in (ROOT / "golden").iterdir()) == sorted(GOLDEN)


# --- the documentation


def test_the_example_in_the_docs_is_what_comes_out() -> None:
    (crontab_text,) = blocks(page("crontab.md"), "crontab")
    faithful, spread = blocks(page("crontab.md"), "krontab")
    (notes_text,) = blocks(page("crontab.md"), "text")
    crontab = read_text(
        crontab_text, owner="alice", zone="Europe/Paris", path="/var/spool/cron/crontabs/alice"
    )
    conversion = convert(crontab)
    assert faithful == conversion.text
    assert spread == convert(crontab, spread=AUTO, environment=False).text
    assert notes_text == "".join(f"{note}\n" for note in conversion.notes)
    assert HOMES["alice"] == "/home/alice"


def test_every_note_is_documented_and_no_other() -> None:
    documented = [row[0].strip("`") for row in rows(page("crontab.md"), "## Notes")]
    assert documented == list(NoteCode)


def test_the_rule_of_the_proposals_is_documented() -> None:
    lengths = ", ".join(format_duration(s * SECOND_NS) for s in PROPOSED_S[::-1])
    assert lengths in page("crontab.md").replace("\n", " ")


def test_the_names_in_the_docs_are_those_that_are_given() -> None:
    table = rows(page("crontab.md"), "## Names")
    assert len(table) >= 5
    for command, name in table:
        assert name_of(command.strip("`")) == name.strip("`")


def test_the_limits_of_a_crontab_are_documented() -> None:
    text = page("crontab.md").replace("\n", " ")
    assert f"its {KEPT_FINDINGS:,}th error" in text
    assert f"{MOST_VARIABLES:,} variables" in text
    assert f"more often than every {SHORTEST_SPREAD_GAP_S // 60} minutes" in text
    assert SPREAD_SHARE == 4
    assert "at most a quarter" in text
