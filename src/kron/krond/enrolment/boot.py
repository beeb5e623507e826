"""The boot of the host that krond is in, for the jobs that run once in each.

Where there are such jobs, the state directory has a file about it. It is written before the first
intent of one, so that every krond of this boot takes the same instant for its period, and again
when all of them are stored: a job that is new from then on waits for the next boot, as with
Debian's cron. Whether a job has run in this boot its own ledger says, as for any other period.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kron.core.cron import REBOOT
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.memo import remembered
from kron.core.schedule import Schedule
from kron.jobs.entry import Entry
from kron.krond.roster.member import HostMember
from kron.krond.state.directory import Directory
from kron.krond.state.errors import StateCorrupt, StateNewer
from kron.krond.state.fields import decode, instant, object_with, parse, text
from kron.krond.state.record import JobState
from kron.krond.state.schema import NO_SCHEMA
from kron.krond.state.store import StateStore

FILE = "boot"
SCHEMA = 1

WITHOUT = "in a boot in which krond has run, jobs with @reboot then wait for the next one"

_KEYS = ("schema", "boot_id", "period", "served")


class BootRecord(Frozen):
    boot_id: str
    period_s: int
    """When krond first started in this boot or, if the clock is behind, the second after all that
    these jobs have handled: no ledger may take it for the period of a boot before."""
    is_served: bool
    """Whether all jobs of this boot are stored."""

    def to_json(self) -> bytes:
        values = (SCHEMA, self.boot_id, to_text(self.period_s), self.is_served)
        return json.dumps(dict(zip(_KEYS, values, strict=True))).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> BootRecord:
        """`StateNewer` or `StateCorrupt` for what `to_json` does not write."""
        value = parse(decode(data))
        schema = value.get("schema") if isinstance(value, dict) else None
        if type(schema) is int and SCHEMA < schema < NO_SCHEMA:
            raise StateNewer(FILE, schema, SCHEMA, WITHOUT)
        values = object_with(_KEYS, value, "the record")
        period_s, is_served = instant(values["period"], "period"), values["served"]
        if schema != SCHEMA or period_s is None or not isinstance(is_served, bool):
            raise StateCorrupt(f"it is not of schema {SCHEMA}")
        return cls(text(values["boot_id"], "boot_id"), period_s, is_served)


def read_record(directory: Directory) -> BootRecord | None:
    """What the file in a state directory says; None without one. Errors as of `from_json`."""
    try:
        return BootRecord.from_json(directory.read(FILE))
    except FileNotFoundError:
        return None
    except StateNewer as error:
        raise StateNewer(f"{directory.path}/{FILE}", error.schema, SCHEMA, WITHOUT) from None


class Boot:
    def __init__(self, store: StateStore, boot_id: str) -> None:
        self._store = store
        self._boot_id = boot_id
        self._record = BootRecord(boot_id, 0, is_served=False)
        self._is_doubtful = False
        """Nobody knows whether the boot was served: then no job runs in it any more."""
        self._is_kept = False
        """Whether there is a job for which the file is written."""
        self._schedule = remembered(self._given)

    def begin(
        self, entries: Iterable[Entry], states: Mapping[str, JobState], now_s: int
    ) -> StateCorrupt | None:
        """Find out which boot this is, before anything else is stored in it.

        A file that does not read is set aside, and what is wrong with it returned. `StateNewer`
        if it is of a newer version: it stays as it is.
        """
        known, corrupt = self._read()
        if known is not None and known.boot_id == self._boot_id:
            self._record, self._is_kept = known, True
            return None
        # It did not read, or a krond of this boot had no such jobs, or is of a version without.
        self._is_doubtful = any(state.boot_id == self._boot_id for state in states.values())
        at_boot = [entry.identity for entry in entries if entry.schedule.is_at_boot]
        handled_s = [states[each].ledger.last_handled_s for each in at_boot if each in states]
        before_s = max([*handled_s, known.period_s if known else 0])
        self._record = self._record.replace(period_s=max(now_s, before_s + 1))
        self._is_kept = bool(at_boot)
        if self._is_kept and not self._is_doubtful:
            self._write()
        return corrupt

    def entries(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The same, where those that run at boot have its instant."""
        for entry in entries:
            if entry.schedule.is_at_boot:
                yield entry.replace(schedule=self._schedule(entry.schedule))
            else:
                yield entry

    def admit(self, members: Iterable[HostMember], now_s: int) -> None:
        """Settle whether jobs whose schedule may be new run in this boot, or from the next on."""
        for member in members:
            if not member.entry.schedule.is_at_boot:
                continue
            if self._is_doubtful:
                member.skip_boot(now_s)
            elif not self._record.is_served:
                member.owe_boot()
            elif member.ledger is None or not member.ledger.schedule.startswith(REBOOT):
                member.skip_boot(now_s)

    def serve(self) -> None:
        """All jobs that were admitted are stored."""
        if self._record.is_served:
            return
        self._record = self._record.replace(is_served=True)
        if self._is_kept:
            self._write()

    def _given(self, schedule: Schedule) -> Schedule:
        return schedule.in_boot(self._record.period_s)

    def _read(self) -> tuple[BootRecord | None, StateCorrupt | None]:
        try:
            return read_record(self._store.directory), None
        except StateCorrupt as error:
            return None, self._store.with_file_aside(FILE, error)

    def _write(self) -> None:
        self._store.write(FILE, self._record.to_json())
