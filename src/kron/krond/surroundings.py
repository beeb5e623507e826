"""The surroundings of a run: its environment, its streams, its directory, whose it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from kron.core.instant import to_datetime, to_text
from kron.jobs.entry import Entry
from kron.jobs.task import Destination, Output, Task
from kron.krond.pending import Pending
from kron.krond.process.account import Account, find_account
from kron.krond.process.launch import Launch, StartError, launch
from kron.krond.process.output import open_output, open_relay, open_syslog

_OF_A_PERIOD = (b"KRON_PERIOD", b"KRON_CHOSEN")
_PRIORITIES = {1: "cron.info", 2: "cron.err"}


class Surroundings:
    """What all runs share: krond's own environment, /dev/null, its limit on open files."""

    def __init__(
        self, environment: Mapping[bytes, bytes], open_files: tuple[int, int] | None
    ) -> None:
        # A krond that is itself a run has these, and a manual run of its own has none.
        self._environment = {
            name: value for name, value in environment.items() if name not in _OF_A_PERIOD
        }
        self._open_files = open_files
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def start(self, pending: Pending, proof: str, now_s: int) -> tuple[int, list[int]]:
        """Start the process of a run: its pid, and those of the loggers that serve it."""
        entry = pending.member.entry
        task = entry.task
        period = pending.period or pending.run_id
        account = find_account(task.user, task.group) if task.user or task.group else None
        loggers: list[int] = []
        try:
            streams = _Streams(entry, account, now_s, period, self._null, loggers)
            try:
                return self._launch(pending, proof, account, streams), loggers
            finally:
                streams.close()
        except StartError as error:
            error.loggers = loggers
            raise

    def _launch(
        self, pending: Pending, proof: str, account: Account | None, streams: _Streams
    ) -> int:
        task = pending.member.entry.task
        return launch(
            Launch(
                argv=task.argv,
                env=self._environment_of(pending, task),
                proof=proof,
                account=account,
                cwd=task.cwd,
                cwd_may_lack=task.cwd_may_lack,
                umask=task.umask,
                limits=task.limits,
                nice=task.nice,
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
            ),
            open_files=self._open_files,
        )

    def _environment_of(self, pending: Pending, task: Task) -> dict[bytes, bytes]:
        variables = dict(self._environment) if task.inherits_env else {}
        for name, value in task.env:
            variables[os.fsencode(name)] = os.fsencode(value)
        variables[b"KRON_RUN_ID"] = pending.run_id.encode()
        variables[b"KRON_JOB"] = pending.member.entry.name.encode()
        if pending.nominal_s is not None and pending.chosen_s is not None:
            variables[b"KRON_PERIOD"] = to_text(pending.nominal_s).encode()
            variables[b"KRON_CHOSEN"] = to_text(pending.chosen_s).encode()
        return variables


class _Streams:
    """The three descriptors of a run, opened before it starts and closed here after."""

    def __init__(
        self,
        entry: Entry,
        account: Account | None,
        now_s: int,
        period: str,
        null: int,
        loggers: list[int],
    ) -> None:
        self._loggers = loggers
        self._entry = entry
        self._account = account
        self._now_s = now_s
        self._period = period
        self._null = null
        self._opened: dict[str, int] = {}
        try:
            self.stdin = self._input(entry.task.stdin)
            self.stdout = self._output(1, entry.task.stdout)
            self.stderr = self._output(2, entry.task.stderr)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close what was opened."""
        for descriptor in self._opened.values():
            os.close(descriptor)
        self._opened.clear()

    def _input(self, text: str | None) -> int:
        if text is None:
            return self._null
        try:
            descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
            self._opened["stdin"] = descriptor
            os.write(descriptor, text.encode("utf-8", "surrogateescape"))
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError as error:
            raise StartError(
                f"its input cannot be kept: {error.strerror}", for_good=False
            ) from None
        return descriptor

    def _output(self, number: int, output: Output) -> int:
        match output.destination:
            case Destination.INHERIT:
                return number if self._account is None else self._inherited(number)
            case Destination.DISCARD:
                return self._null
            case Destination.SYSLOG:
                descriptor, logger = open_syslog(self._entry.name, _PRIORITIES[number])
                self._loggers.append(logger)
                self._opened[f"syslog {number}"] = descriptor
                return descriptor
            case Destination.FILE:
                moment = to_datetime(self._now_s)
                path = output.path_at(moment, name=self._entry.name, period_id=self._period)
                if path not in self._opened:
                    task = self._entry.task
                    self._opened[path] = open_output(path, self._account, task.umask)
                return self._opened[path]

    def _inherited(self, number: int) -> int:
        """What a run of another user gets of krond's own output: of a file only a pipe to it."""
        try:
            status = os.fstat(number)
        except OSError:
            return number  # it is closed, as it will be for the run
        if not stat.S_ISREG(status.st_mode):
            return number
        file = f"relay {status.st_dev} {status.st_ino}"  # both outputs may be the same
        if file not in self._opened:
            self._opened[file], relay = open_relay(number)
            self._loggers.append(relay)
        return self._opened[file]
