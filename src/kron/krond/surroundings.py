"""The surroundings of a run: its environment, its streams, its directory, its account."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from contextlib import suppress

from kron.core.instant import to_datetime, to_text
from kron.jobs.task import CLEAN_PATH, DEFAULT_SHELL, Destination, Output, Task
from kron.krond.cgroups import Cgroups
from kron.krond.configuration.settings import OutputSettings
from kron.krond.output.captures import Capture, Captures
from kron.krond.output.names import OutputName, directory_name
from kron.krond.output.tails import wanted_tail
from kron.krond.output.wire import Delivery, Sink, Stream
from kron.krond.process.account import Account, Accounts
from kron.krond.process.cgroup import Cgroup
from kron.krond.process.child import as_bytes, lifted
from kron.krond.process.env_file import EnvFiles
from kron.krond.process.failure import StartError
from kron.krond.process.launch import Beginning, Launch, begin, launch
from kron.krond.process.output import open_output, open_syslog
from kron.krond.process.processes import HOOK_EVENT
from kron.krond.roster.run import PendingRun

_OF_A_PERIOD = (b"KRON_PERIOD", b"KRON_CHOSEN", b"KRON_ATTEMPT", HOOK_EVENT)
_PRIORITIES = {1: "cron.info", 2: "cron.err"}


class Surroundings:
    """What all runs share: krond's own environment, /dev/null, its limit on open files.

    And the captures, through which the output of a run gets to where krond keeps it; and the
    descriptors with which krond has locked its state directory.
    """

    def __init__(
        self,
        environment: Mapping[bytes, bytes],
        open_files: tuple[int, int] | None,
        captures: Captures | None = None,
        cgroups: Cgroups | None = None,
        locks: tuple[int, ...] = (),
    ) -> None:
        # A krond that is itself a run has these, and a manual run of its own has none.
        self._environment = {
            name: value for name, value in environment.items() if name not in _OF_A_PERIOD
        }
        self.open_files = open_files
        self._accounts = Accounts()
        self._env_files = EnvFiles()
        self.captures = captures
        self._cgroups = cgroups
        self._locks = locks
        self._outputs = captures.settings if captures else OutputSettings()
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def start(self, pending: PendingRun, proof: str, now_s: int) -> Starting:
        """Start the process of a run. Whether its program has begun is known once confirmed."""
        entry = pending.member.entry
        task = entry.task
        account = self._accounts.find(task.user, task.group, now_s)
        cgroup = None
        if self._cgroups is not None:
            cgroup = self._cgroups.make(entry.identity, pending.run_id, task)
        streams = _Streams(pending, account, now_s, self._null, self._outputs)
        try:
            stdin, stdout, stderr = streams.open()
            env = self._environment_of(pending, account, now_s)
            what = Launch(
                *(task, env, proof, account, stdin, stdout, stderr),
                open_files=self.open_files,
                locks=self._locks,
                cgroup=cgroup,
            )
            return Starting(begin(what), streams, cgroup, self.captures, pending)
        except StartError as error:
            _undo(error, streams, cgroup)
            raise

    def start_beside(self, task: Task, facts: Mapping[str, str], text: bytes, now_s: int) -> int:
        """Start a process that serves a job without being a run of it: its pid.

        Like a run it has the task's user, directory and variables. It gets the text as its input,
        and its output is discarded.
        """
        account = self._accounts.find(task.user, task.group, now_s)
        env = self._variables_of(task, account, now_s)
        env |= {name.encode(): as_bytes(value) for name, value in facts.items()}
        stdin = _kept_input(text)
        try:
            streams = (stdin, self._null, self._null)
            return launch(Launch(task, env, "", account, *streams, self.open_files))
        finally:
            os.close(stdin)

    def _environment_of(
        self, pending: PendingRun, account: Account | None, now_s: int
    ) -> dict[bytes, bytes]:
        entry, record = pending.member.entry, pending.record
        variables = self._variables_of(entry.task, account, now_s)
        variables.pop(HOOK_EVENT, None)
        variables[b"KRON_RUN_ID"] = pending.run_id.encode()
        variables[b"KRON_JOB"] = entry.name.encode()
        if entry.task.retries and record.nominal_s is not None:
            variables[b"KRON_ATTEMPT"] = str(record.attempt).encode()
        if record.nominal_s is not None and record.chosen_s is not None:
            variables[b"KRON_PERIOD"] = to_text(record.nominal_s).encode()
            variables[b"KRON_CHOSEN"] = to_text(record.chosen_s).encode()
        return variables

    def _variables_of(self, task: Task, account: Account | None, now_s: int) -> dict[bytes, bytes]:
        inherited = self._environment if task.inherits_env else clean_environment(task, account)
        variables = dict(inherited)
        if task.env_file is not None:
            variables.update(self._env_files.variables(task.env_file, account, now_s))
        for name, value in task.env:
            variables[os.fsencode(name)] = os.fsencode(value)
        return variables


def clean_environment(task: Task, account: Account | None) -> dict[bytes, bytes]:
    """What cron gives to every job: HOME, LOGNAME and USER of the run's user, a SHELL and a PATH.

    Empty if the task sets all of them itself, as a job of a crontab does.
    """
    if {name for name, _ in task.env}.issuperset(("HOME", "LOGNAME", "USER", "SHELL", "PATH")):
        return {}
    uid = os.geteuid() if account is None else account.uid
    name, home = str(uid), "/"
    with suppress(KeyError):
        entry = _passwd(task.user, uid)
        name, home = entry.pw_name, entry.pw_dir
    values = {"HOME": home, "LOGNAME": name, "USER": name}
    values |= {"SHELL": DEFAULT_SHELL, "PATH": CLEAN_PATH}
    return {name.encode(): os.fsencode(value) for name, value in values.items()}


def _passwd(user: str, uid: int) -> pwd.struct_passwd:
    """The entry by name, because several names may share a number; else by number."""
    try:
        return pwd.getpwnam(user)
    except KeyError:
        return pwd.getpwuid(uid)


def _kept_input(text: bytes) -> int:
    """A file in memory with this text, to be read."""
    try:
        descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    except OSError as error:
        raise _no_input(error) from None
    try:
        os.write(descriptor, text)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError as error:
        os.close(descriptor)
        raise _no_input(error) from None
    return descriptor


def _no_input(error: OSError) -> StartError:
    return StartError(f"its input cannot be kept: {error.strerror}", for_good=False)


class Starting:
    """A run whose process was started."""

    def __init__(
        self,
        beginning: Beginning,
        streams: _Streams,
        cgroup: Cgroup | None,
        captures: Captures | None,
        pending: PendingRun,
    ) -> None:
        self.pid = beginning.pid
        self.loggers = streams.loggers
        """The processes that serve it."""
        self._beginning = beginning
        self._streams = streams
        self._cgroup = cgroup
        self._captures = captures
        self._pending = pending

    def confirm(self) -> None:
        """Wait until its program has begun. After a `StartError` nothing runs, and nothing is left.

        It must be called once.
        """
        try:
            self._beginning.confirm()
        except StartError as error:
            _undo(error, self._streams, self._cgroup)
            raise
        captures = self._captures
        if captures and (capture := self._streams.capture(captures.now_ns())):
            captures.add(capture)
            self._pending.on_end.append(captures.run_ended)
        self._streams.close()


def _undo(error: StartError, streams: _Streams, cgroup: Cgroup | None) -> None:
    """Close what was opened for a run that did not start. Its loggers are to be reaped."""
    error.loggers = streams.loggers
    streams.close()
    if cgroup is not None:
        cgroup.remove()


class _Streams:
    """The three descriptors of a run, opened before it starts and closed after."""

    def __init__(
        self,
        pending: PendingRun,
        account: Account | None,
        now_s: int,
        null: int,
        outputs: OutputSettings,
    ) -> None:
        self.loggers: list[int] = []
        self._pending = pending
        self._entry = pending.member.entry
        self._account = account
        self._now_s = now_s
        self._null = null
        self._outputs = outputs
        self._opened: dict[str, int] = {}
        self._captured: dict[str, tuple[Stream, list[int]]] = {}
        """The streams that are captured, each with the descriptors for the collector."""

    def open(self) -> tuple[int, int, int]:
        """Standard input, output and error."""
        task = self._entry.task
        return self._input(task.stdin), self._output(1, task.stdout), self._output(2, task.stderr)

    def capture(self, now_ns: int) -> Capture | None:
        """What the collector has to know, if it has anything to do. It is asked for once."""
        if not self._captured:
            return None
        entry, record = self._entry, self._pending.record
        captured, self._captured = self._captured.values(), {}
        delivery = Delivery(
            entry.namespace,
            entry.name,
            record.run_id,
            record.period or "",
            directory_name(entry.identity, entry.name),
            str(OutputName.of(now_ns, record.run_id)),
            entry.task.output_limit,
            tuple(stream for stream, _ in captured),
            wanted_tail(entry.task),
        )
        return Capture(delivery, [each for _, descriptors in captured for each in descriptors])

    def close(self) -> None:
        for descriptor in self._opened.values():
            os.close(descriptor)
        for _, descriptors in self._captured.values():
            for descriptor in descriptors:
                os.close(descriptor)

    def _input(self, text: str | None) -> int:
        if text is None:
            return self._null
        self._opened["stdin"] = _kept_input(text.encode("utf-8", "surrogateescape"))
        return self._opened["stdin"]

    def _output(self, number: int, output: Output | None) -> int:
        output = self._outputs.resolved(output, self._entry.task)
        match output.destination:
            case Destination.KEEP:
                return self._pipe("kept", Stream(Sink.FILE))
            case Destination.JOURNAL:
                return self._pipe(f"journal {number}", Stream(Sink.JOURNAL, number == 2))
            case Destination.INHERIT:
                return number if self._account is None else self._inherited(number)
            case Destination.DISCARD:
                return self._null
            case Destination.SYSLOG:
                descriptor, logger = open_syslog(self._entry.name, _PRIORITIES[number])
                self.loggers.append(logger)
                self._opened[f"syslog {number}"] = descriptor
                self._give(descriptor)
                return descriptor
            case Destination.FILE:
                moment = to_datetime(self._now_s)
                period = self._pending.record.period or f"manual-{self._pending.run_id}"
                path = output.path_at(moment, name=self._entry.name, period_id=period)
                if path not in self._opened:
                    self._opened[path] = open_output(path, self._account, self._entry.task.umask)
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
        return self._pipe(file, Stream(Sink.RELAY), number)

    def _pipe(self, key: str, stream: Stream, target: int | None = None) -> int:
        """The writing end of a pipe to the collector, the same for the same key."""
        if key not in self._opened:
            try:
                reading, self._opened[key] = os.pipe()
                self._captured[key] = stream, [reading]
                self._give(self._opened[key])
                if target is not None:
                    self._captured[key][1].append(lifted(target))
            except OSError as error:
                raise StartError(
                    f"its output cannot be kept: {error.strerror}", for_good=False
                ) from None
        return self._opened[key]

    def _give(self, pipe: int) -> None:
        """Let the run open its pipe by name, as `echo > /dev/stdout` does."""
        if self._account is not None:
            with suppress(OSError):  # a krond that may not, or a user that is not mapped here
                os.fchown(pipe, self._account.uid, -1)
