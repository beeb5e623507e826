"""A ping: the request by which a monitor hears of a notice, in the manner of Healthchecks."""

from __future__ import annotations

import hashlib
import re

from kron.core.frozen import Frozen
from kron.jobs.hooks import Happening
from kron.krond.notices.facts import in_words
from kron.krond.notices.notice import Notice
from kron.krond.output.tails import HOOK_BYTES
from kron.krond.output.wire import Closed
from kron.krond.state.record import attempt_of

_FAIL = "fail"
_LARGEST_CODE = 255


class Ping(Frozen):
    url: str
    body: bytes


def ping_of(notice: Notice, job: str, url: str, output: Closed) -> Ping:
    body = output.tail[-HOOK_BYTES:]
    if not body and notice.happening is not Happening.START:
        reason = notice.ended.reason
        body = f"{job} {in_words(notice)}{f': {reason}' if reason else ''}\n".encode(
            errors="replace"
        )
    return Ping(_with_run(_with_suffix(url, _suffix(notice)), notice), body)


def _suffix(notice: Notice) -> str:
    match notice.happening:
        case Happening.START:
            return "start"
        case Happening.SUCCESS:
            return ""
        case Happening.FAILURE:
            code = notice.ended.exit_code
            # A run that krond stopped failed whatever its code, and 0 would mean success.
            return str(code) if code and code <= _LARGEST_CODE else _FAIL
        case Happening.MISSED:
            return _FAIL


def _with_suffix(url: str, suffix: str) -> str:
    """The URL with a part after its path, before its query if it has one."""
    path, mark, query = url.partition("?")
    return f"{path.removesuffix('/')}/{suffix}{mark}{query}" if suffix else url


def _with_run(url: str, notice: Notice) -> str:
    """The URL with an id of the run, by which a monitor pairs the start with the end."""
    if not notice.ended.run_id:
        return url
    run_id, _ = attempt_of(notice.ended.run_id)  # the start was that of the first attempt
    digest = hashlib.sha256(f"{notice.identity}\n{run_id}".encode()).hexdigest()
    # The form of a UUID of version 8, whose other digits are free.
    rid = re.sub("(.{8})(.{4}).(.{3}).(.{3})(.{12}).*", r"\1-\2-8\3-8\4-\5", digest)
    return f"{url}{'&' if '?' in url else '?'}rid={rid}"
