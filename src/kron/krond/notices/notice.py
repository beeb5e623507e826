"""A notice: somebody is to hear of something that happened to a run or a period.

What to do about it, the job says when the notice is delivered: on disk it has neither a URL nor a
command in it.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum

from kron.core.frozen import Frozen
from kron.core.instant import optional_text
from kron.engine.actions import Outcome
from kron.jobs.entry import Entry
from kron.jobs.hooks import Happening, MailOn
from kron.krond.state import fields
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.past import COLUMNS
from kron.krond.state.record import MANUAL, Ended, RunRecord
from kron.krond.strict_json import without_halves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCHEMA = 1
_KEYS = ("schema", "identity", "happening", "channel", "count", "ended")
_RAN = (Outcome.EXECUTED, MANUAL)


class Channel(StrEnum):
    HOOK = "hook"
    MAIL = "mail"


class Notice(Frozen):
    identity: str
    """Of the job."""
    happening: Happening
    channel: Channel
    ended: Ended
    """What has happened. Of a start, how it ended is not known yet."""
    count: int = 1
    """How many periods were missed at once, of which `ended` is the last."""

    @property
    def file(self) -> str:
        """The name of its file, the same whichever krond makes it."""
        job = hashlib.sha256(self.identity.encode()).hexdigest()[:12]
        stage = "start" if self.happening is Happening.START else "end"
        subject = self.ended.run_id or self.period or ""
        return f"{subject}.{job}.{stage}.{self.channel}.json"

    @property
    def period(self) -> str | None:
        return optional_text(self.ended.nominal_s)

    @property
    def printed_by(self) -> str:
        """The id of the run whose output belongs to it; '' for none.

        A period whose last attempt did not start has failed as the attempt before did.
        """
        ended = self.ended
        if self.happening not in (Happening.SUCCESS, Happening.FAILURE) or not ended.run_id:
            return ""
        if ended.started_ns is not None or ended.ended_ns is None:
            return ended.run_id
        record = RunRecord(ended.run_id, ended.nominal_s, ended.chosen_s)
        return record.earlier_attempt().run_id if record.attempt > 1 else ""

    def to_json(self) -> bytes:
        row = list(fields.record_to_json(self.ended, COLUMNS).values())
        values = (_SCHEMA, self.identity, self.happening, self.channel, self.count, row)
        line = json.dumps(dict(zip(_KEYS, values, strict=True)), separators=(",", ":"))
        return f"{without_halves(line)}\n".encode("ascii")

    @classmethod
    def from_json(cls, data: bytes) -> Notice:
        """The inverse of `to_json`: `StateCorrupt` otherwise."""
        values: Any = fields.object_with(_KEYS, fields.parse(fields.decode(data)), "a notice")
        if values["schema"] != _SCHEMA:
            raise StateCorrupt(f'"schema" is {fields.shown(values["schema"])}, not {_SCHEMA}')
        row = fields.items(values["ended"], "ended")
        count = fields.integer(values["count"], "count")
        try:
            happening, channel = Happening(values["happening"]), Channel(values["channel"])
            ended = fields.read_record(Ended, COLUMNS, row)
        except ValueError as error:
            raise StateCorrupt(str(error)) from None
        return cls(
            fields.text(values["identity"], "identity"), happening, channel, ended, count or 1
        )


def notices_of_start(entry: Entry, record: RunRecord) -> list[Notice]:
    """Who is to hear that this run has started. Its period starts with its first attempt."""
    if entry.task.hooks is None or not entry.task.hooks.start or record.attempt > 1:
        return []
    return [Notice(entry.identity, Happening.START, Channel.HOOK, record.ended(""))]


def notices_of_end(entry: Entry, ended: Ended, count: int = 1) -> list[Notice]:
    """Who is to hear that a period or a run has ended so, or that `count` periods were missed.

    The one place that decides it.
    """
    hooks, happening = entry.task.hooks, _happening(ended)
    if hooks is None or happening is None:
        return []
    channels = [Channel.HOOK] if hooks.of(happening) else []
    has_failed = happening is not Happening.SUCCESS
    match hooks.mail and hooks.mail.on:
        case MailOn.ALWAYS:
            channels.append(Channel.MAIL)
        case MailOn.FAILURE if has_failed:
            channels.append(Channel.MAIL)
        case MailOn.OUTPUT if happening is not Happening.MISSED:  # if it has printed something
            channels.append(Channel.MAIL)
    return [Notice(entry.identity, happening, channel, ended, count) for channel in channels]


def _happening(ended: Ended) -> Happening | None:
    """None: nobody is to hear of it, such as of a run that is tried again. A run of unknown result
    has not been seen to succeed."""
    if ended.outcome in _RAN:
        return Happening.SUCCESS if ended.succeeded else Happening.FAILURE
    return Happening.MISSED if ended.outcome == Outcome.MISSED else None
