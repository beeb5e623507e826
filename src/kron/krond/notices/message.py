"""The message of a mail about a run or a period, as sendmail reads it.

Its headers hold what others have written: a command, a name. `email` would decode the encoded words
in them, line breaks included, so they are written here.
"""

from __future__ import annotations

import os
import re

from kron.core.errors import visible
from kron.jobs.entry import Entry
from kron.jobs.hooks import Mail
from kron.krond.notices.facts import facts_of, in_words
from kron.krond.notices.notice import Notice
from kron.krond.output.tails import MAIL_BYTES
from kron.krond.output.wire import Closed

_LONGEST_SUBJECT = 200
_FOLD = "\n "
STILL_OPEN = "[something still has its output open; krond output may have more]"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def message_of(notice: Notice, entry: Entry, mail: Mail, user: str, output: Closed) -> bytes:
    """`user` is the name of the run's user."""
    from email.message import EmailMessage  # what it imports takes 50 ms, and few hosts need it

    host = os.uname().nodename
    subject = f"krond on {host}: {entry.name} {in_words(notice)}"
    if mail.is_crons:
        subject = f"Cron <{user}@{host}> {entry.task.command}"
    sender = mail.sender or user
    headers = {
        "Subject": subject[:_LONGEST_SUBJECT],
        "Auto-Submitted": "auto-generated",
        "X-Kron-Job": entry.name,
        "X-Kron-Period": notice.period,
        "X-Kron-Run-Id": notice.ended.run_id,
    }
    lines = [
        f"From: {f'Cron Daemon <{sender}>' if mail.is_crons else sender}\n",  # both are addresses
        f"To: {f',{_FOLD}'.join(mail.to)}\n",
        *(f"{name}: {_plain(value)}\n" for name, value in headers.items() if value),
    ]
    body = EmailMessage()
    body.set_content(_text(notice, entry, mail, output))
    return "".join(lines).encode("ascii") + body.as_bytes()


def _plain(text: str) -> str:
    """A header's value that means nothing but itself."""
    shown = visible(text)
    if shown.isascii() and "=?" not in shown:
        return shown
    from email.header import Header

    return Header(shown, "utf-8").encode(linesep="\n")


def _text(notice: Notice, entry: Entry, mail: Mail, output: Closed) -> str:
    facts = facts_of(notice, entry.name, output)
    lines = [] if mail.is_crons else [f"{entry.name} {in_words(notice)}.", ""]
    if not mail.is_crons:
        lines += [
            f"{name.removeprefix('KRON_').lower().replace('_', ' '):10} {visible(value)}"
            for name, value in facts.items()
            if value and name not in ("KRON_EVENT", "KRON_COUNT")
        ]
        lines += ["", "Its output:", ""] if output.tail else []
    if output.total > MAIL_BYTES:
        lines += [f"[the last {MAIL_BYTES:,} of {output.total:,} bytes; krond output has more]", ""]
    if not output.is_complete:
        lines += [STILL_OPEN, ""]
    # One that is not text is still shown, and none can control a terminal.
    text = output.tail.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    lines.append(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text))
    return "\n".join(lines)
