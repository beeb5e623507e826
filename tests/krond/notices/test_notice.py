"""Notices as values: who hears of what, the URL of a ping, the text of a mail, and their files."""

from __future__ import annotations

import json
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from kron.jobs.entry import Entry
from kron.jobs.hooks import Happening, Hooks, Mail, MailOn
from kron.jobs.line import LineReader
from kron.jobs.task import Destination
from kron.krond.configuration.settings import OutputSettings
from kron.krond.notices.message import message_of
from kron.krond.notices.notice import Channel, Notice, notices_of_end, notices_of_start
from kron.krond.notices.ping import ping_of
from kron.krond.notices.spool import Spool
from kron.krond.output.wire import Closed
from kron.krond.state.directory import Directory
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.record import Ended, RunRecord

RUN = RunRecord("0f" * 10, 1_772_323_200, 1_772_323_260, 1_772_323_260 * 10**9)
EMPTY = Closed(RUN.run_id, "")
SUCCESS = RUN.ended("", ended_ns=1_772_323_261 * 10**9, exit_code=0)
FAILURE = RUN.ended("", ended_ns=1_772_323_261 * 10**9, exit_code=3)
KILLED = RUN.ended("", signal=9)
STOPPED = RUN.ended("timed out after 1s", exit_code=0)
UNKNOWN = RUN.ended("krond was not its parent")
MISSED = Ended(1_772_323_200, None, "missed", "the deadline has passed", ended_ns=1)
SKIPPED = Ended(1_772_323_200, None, "skipped", "an earlier run is active", ended_ns=1)
ALL = "on_start=a on_success=b on_failure=c on_missed=d"


def job(fields: str) -> Entry:
    line = f"0 0 * * * name=job command=/bin/true {fields}"
    return LineReader().read(line, path="/etc/jobs.kron", line=1, scope="/etc/jobs.kron:")


def heard(fields: str, ended: Ended) -> list[str]:
    return [f"{each.channel} {each.happening}" for each in notices_of_end(job(fields), ended)]


@pytest.mark.parametrize(
    ("ended", "happening"),
    [
        (SUCCESS, "success"),
        (FAILURE, "failure"),
        (KILLED, "failure"),
        (STOPPED, "failure"),
        (UNKNOWN, "failure"),
        (MISSED, "missed"),
        (SKIPPED, None),
        (Ended(0, None, "unschedulable", "", ended_ns=1), None),
        (RunRecord("a", None, None).ended("no such program", ended_ns=1), "failure"),
    ],
)
def test_each_end_is_for_one_hook_at_most(ended: Ended, happening: str | None) -> None:
    assert heard(ALL, ended) == ([f"hook {happening}"] if happening else [])
    assert heard("", ended) == []


@pytest.mark.parametrize(
    ("on", "success", "failure", "missed"),
    [("failure", 0, 1, 1), ("output", 1, 1, 0), ("always", 1, 1, 1)],
)
def test_mail_is_sent_when_its_line_says(on: str, success: int, failure: int, missed: int) -> None:
    fields = f"mail=root mail_on={on}"
    found = [len(heard(fields, ended)) for ended in (SUCCESS, FAILURE, MISSED, SKIPPED)]
    assert found == [success, failure, missed, 0]


def test_only_a_job_with_a_hook_for_it_lets_know_of_its_start() -> None:
    (notice,) = notices_of_start(job(ALL), RUN)
    assert (notice.happening, notice.channel) == (Happening.START, Channel.HOOK)
    assert notices_of_start(job("on_success=b mail=root mail_on=always"), RUN) == []


def of(happening: Happening, ended: Ended = SUCCESS, count: int = 1) -> Notice:
    return Notice("/etc/jobs.kron:job", happening, Channel.HOOK, ended, count)


@pytest.mark.parametrize(
    ("happening", "ended", "url", "asked"),
    [
        (Happening.START, SUCCESS, "https://x/y", "https://x/y/start?"),
        (Happening.START, SUCCESS, "https://x/y/?a=b", "https://x/y/start?a=b&"),
        (Happening.SUCCESS, SUCCESS, "https://x/y", "https://x/y?"),
        (Happening.SUCCESS, SUCCESS, "https://x", "https://x?"),
        (Happening.FAILURE, FAILURE, "https://x/y?a=b", "https://x/y/3?a=b&"),
        (Happening.FAILURE, KILLED, "https://x/y", "https://x/y/fail?"),
        (Happening.FAILURE, STOPPED, "https://x/y", "https://x/y/fail?"),
        (Happening.FAILURE, UNKNOWN, "https://x/y", "https://x/y/fail?"),
    ],
)
def test_a_ping_is_that_of_healthchecks(
    happening: Happening, ended: Ended, url: str, asked: str
) -> None:
    ping = ping_of(of(happening, ended), "job", url, EMPTY)
    start, rid = ping.url.split("rid=")
    assert start == asked
    assert [len(part) for part in rid.split("-")] == [8, 4, 4, 4, 12]
    assert rid == ping_of(of(Happening.START), "job", url, EMPTY).url.split("rid=")[1]


def test_a_period_without_a_run_is_a_ping_with_the_reason() -> None:
    ping = ping_of(of(Happening.MISSED, MISSED, 7), "job", "https://x/y", EMPTY)
    assert ping.url == "https://x/y/fail"
    assert ping.body == (
        b"job missed 7 periods, the last one 2026-03-01T00:00:00Z: the deadline has passed\n"
    )


def test_a_mail_can_neither_have_other_headers_nor_control_a_terminal() -> None:
    entry = job("mail=ops@example.org,root mail_from=krond@example.org")
    entry = entry.replace(name="a\r\nBcc: x@example.org")
    mail = entry.task.hooks.mail if entry.task.hooks else None
    assert mail is not None
    output = Closed(RUN.run_id, "/o", 50_000, b"tail \x1b[2J \xff\r\n.\nFrom x\n" + b"y" * 2_000)
    data = message_of(of(Happening.FAILURE, FAILURE), entry, mail, "root", output)
    message = message_from_bytes(data, policy=policy.default)
    assert message["To"] == "ops@example.org, root"
    assert message["From"] == "krond@example.org"
    assert message["Bcc"] is None
    text = message.get_content()
    assert "tail \\x1b[2J \\xff\n.\nFrom x\nyyy" in text
    assert "[the last 32,000 of 50,000 bytes" in text
    assert max(map(len, data.split(b"\n"))) <= 998


@pytest.mark.parametrize(
    ("is_implied", "has_sendmail", "kept"),
    [(True, True, True), (True, False, False), (False, False, True)],
)
def test_output_is_kept_to_be_mailed_as_krond_found_the_host_at_its_start(
    monkeypatch: pytest.MonkeyPatch, *, is_implied: bool, has_sendmail: bool, kept: bool
) -> None:
    monkeypatch.setenv("KRON_SENDMAIL", "/nonexistent" if has_sendmail else "/bin/true")
    mail = Mail(("root",), MailOn.OUTPUT, is_implied=is_implied)
    task = job("").task.replace(hooks=Hooks(mail=mail))
    resolved = OutputSettings(has_sendmail=has_sendmail).resolved(None, task)
    assert (resolved.destination is Destination.KEEP) is kept


def test_what_is_spooled_reads_back_and_what_does_not_is_set_aside(tmp_path: Path) -> None:
    directory = Directory.make(str(tmp_path / "state"))
    spool = Spool(directory)
    assert list(spool.left()) == []
    assert list((tmp_path / "state").iterdir()) == [], "no directory before there is a notice"
    notices = [of(Happening.START), of(Happening.FAILURE, FAILURE), of(Happening.MISSED, MISSED, 3)]
    spool.write(notices)
    inside = tmp_path / "state" / "notices"
    assert {path.stat().st_mode & 0o777 for path in inside.iterdir()} == {0o600}
    assert inside.stat().st_mode & 0o777 == 0o700
    row = json.loads((inside / notices[0].file).read_text())
    (inside / "junk.json").write_text(json.dumps(row | {"happening": "never"}))
    found = list(Spool(directory).left())
    assert sorted(each.file for each in found if isinstance(each, Notice)) == sorted(
        each.file for each in notices
    )
    assert {each for each in found if isinstance(each, Notice)} == set(notices)
    (corrupt,) = [each for each in found if isinstance(each, StateCorrupt)]
    assert corrupt.set_aside.startswith(f"{inside}/junk.json.corrupt.")
    for notice in notices:
        spool.remove(notice)
    assert [each.name for each in inside.iterdir() if each.name.endswith(".json")] == []
    spool.close()
    directory.close()


HOSTILE = '\r\n\x00=?utf-8?q?=0abcc:_evil@x.org=0aX-Y:?= é,\u2028"<>;:\udcff'


@pytest.mark.parametrize("command", [HOSTILE, "=?utf-8?q?=0D?=", "x" * 5_000, "é" * 300, ""])
@pytest.mark.parametrize("is_crons", [False, True])
def test_no_text_of_others_becomes_a_header(command: str, is_crons: bool) -> None:
    entry = job("mail=root,ops@example.org")
    entry = entry.replace(task=entry.task.replace(command=command))
    hooks = entry.task.hooks
    assert hooks is not None
    assert hooks.mail is not None
    mail = hooks.mail.replace(is_crons=is_crons)
    ended = FAILURE.replace(reason=HOSTILE)
    notice = Notice(entry.identity, Happening.FAILURE, Channel.MAIL, ended)
    sent = message_of(notice, entry, mail, "nobody", Closed(RUN.run_id, "", 4, b"out\n"))
    head, _, _ = sent.partition(b"\n\n")
    names = [line.split(b":")[0] for line in head.split(b"\n") if not line.startswith(b" ")]
    assert names == [
        *(b"From", b"To", b"Subject", b"Auto-Submitted", b"X-Kron-Job", b"X-Kron-Period"),
        *(b"X-Kron-Run-Id", b"Content-Type", b"Content-Transfer-Encoding", b"MIME-Version"),
    ]
    assert max(map(len, head.split(b"\n"))) < 998
    parsed = message_from_bytes(sent, policy=policy.default)
    assert parsed["To"] == "root, ops@example.org"
    assert parsed["Bcc"] is None
