"""The state directory: a file for each job, and the proofs that runs have begun.

The owner of a `StateStore` is the only one that uses the directory. A commit that returned survives
a power failure; after any failure each file is either the old or the new one, complete.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress

from kron.console.report import many
from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.krond.state.ballast import Ballast
from kron.krond.state.directory import Directory
from kron.krond.state.errors import (
    PersistenceError,
    StateCorrupt,
    StateLost,
    StateNewer,
    unreadable,
)
from kron.krond.state.fields import MAX_BYTES
from kron.krond.state.file_replacer import BUNDLE, FileReplacer, unpack
from kron.krond.state.lock import Lock
from kron.krond.state.owner import own
from kron.krond.state.record import JobState, RunRecord, check_run_id, is_run_id
from kron.krond.state.schema import from_json, run_from_json, run_to_json, to_json

RUNS = "runs"
"""The directory of the proofs, in the state directory."""

_STATE_FILE = re.compile(r"[0-9a-f]{64}\.json").fullmatch
_TRIAL = ".trial"
_NOTE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Loaded(Frozen):
    states: dict[str, JobState]
    """By identity, including jobs that are no longer configured."""
    corrupt: tuple[StateCorrupt, ...]
    """The files that this call has set aside."""
    lost: StateCorrupt | None = None
    """The bundle does not read: any state may be older than the last commit. The bundle stays in
    place until `StateStore.set_bundle_aside`."""


class StateStore:
    def __init__(self, directory: Directory, runs: Directory, locked: Lock) -> None:
        self.path = directory.path
        self.directory = directory
        self._runs = runs
        self._lock = locked
        self._replacer = FileReplacer(directory)
        self.ballast = Ballast(directory)
        self._lost: StateCorrupt | None = None
        self._failure: PersistenceError | None = None
        """Why the last write failed, if it did: then files may be older than what krond knows."""

    @classmethod
    def open(cls, path: str, held: tuple[int, int] | None = None) -> StateStore:
        """Make the directory if necessary, check its owner, lock it and clean it up.

        `held`: the descriptors of the directory and of its krond.pid, if this process has locked
        both already.
        """
        with ExitStack() as undo:
            directory = Directory.existing(path, held[0]) if held else Directory.make(path)
            undo.callback(directory.close)
            locked = own(directory, held=held[1] if held else -1)
            undo.callback(locked.release)
            runs = directory.make_inside(RUNS)
            undo.callback(runs.close)
            store = cls(directory, runs, locked)
            names = directory.names()
            store._replacer.remove_leftovers(names)
            if BUNDLE in names:
                store._unpack()
            undo.pop_all()
        return store

    @property
    def held(self) -> tuple[int, int]:
        """What `open` needs to go on with the locks that it has."""
        return self.directory.descriptor, self._lock.descriptor

    def load(self, identity: str) -> JobState | StateCorrupt | None:
        """The state of a job, or None; `StateCorrupt` if its file does not read and was set aside.

        A file of a newer version stays in place, and `StateNewer` is raised.
        """
        name = file_name(identity)
        self.write_back()
        try:
            return _read(self.directory, name, {identity: identity})
        except FileNotFoundError:
            return None
        except StateCorrupt as error:
            return self.with_file_aside(name, error)

    def load_all(self, texts: Iterable[str] = ()) -> Loaded:
        """Every state in the directory; those that do not read are set aside.

        `StateNewer` if one is of a newer version: then every file stays as it is. Equal texts
        (identities, schedules) are shared between the states and with `texts`, to save memory.
        """
        shared = {text: text for text in texts}
        states: dict[str, JobState] = {}
        corrupt: dict[str, StateCorrupt] = {}
        for name in sorted(filter(_STATE_FILE, self.directory.names())):
            try:
                state = _read(self.directory, name, shared)
            except FileNotFoundError:
                continue  # it was removed in the meantime
            except StateCorrupt as error:
                corrupt[name] = error
            else:
                states[state.identity] = state
        set_aside = [self.with_file_aside(name, error) for name, error in corrupt.items()]
        return Loaded(states, tuple(set_aside), self._lost)

    def load_others(self, identities: Iterable[str]) -> list[JobState]:
        """The states of all jobs but these, as far as they read. Those must be in no bundle.

        `PersistenceError` if the last write failed: the files may be old.
        """
        if self._failure is not None:
            raise self._failure
        known = set(map(file_name, identities))
        states = []
        for name in sorted(filter(_STATE_FILE, set(self.directory.names()) - known)):
            with suppress(FileNotFoundError, StateCorrupt, StateNewer):  # the next start looks
                states.append(_read(self.directory, name, {}))
        return states

    def written_s(self, identity: str) -> int:
        """When the state of a job was last written, by the clock of that time; 0: it is gone."""
        name = file_name(identity)
        try:
            return int(os.stat(name, dir_fd=self.directory.descriptor).st_mtime)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise unreadable(f"{self.path}/{name}", error) from None

    def remove(self, identity: str) -> None:
        """Remove the state of a job, if it has one."""
        try:
            with suppress(FileNotFoundError):
                os.unlink(file_name(identity), dir_fd=self.directory.descriptor)
            os.fsync(self.directory.descriptor)
        except OSError as error:
            what = f"the state of {quoted(identity)} cannot be removed from {self.path}"
            raise PersistenceError(what, error) from None

    def commit(self, states: Sequence[JobState], *, quickly: bool = False) -> None:
        """Save all of these states on disk; a `PersistenceError` means that not all are safe.

        `quickly`: runs are waiting for this, and the caller calls `write_back` later.
        """
        if not states:
            return
        try:
            if quickly:
                self._replacer.bundle(list(_files(states)))
            else:
                self._replacer.replace(_files(states), len(states))
        except OSError as error:
            raise self._failed(many(len(states), "job"), error) from None
        self._failure = None

    def write(self, name: str, data: bytes) -> None:
        """Replace a file that is of no job, so that it survives a power failure."""
        try:
            self._replacer.replace([(name, data)], 1)
        except OSError as error:
            raise PersistenceError(f"{self.path}/{name} cannot be saved", error) from None

    def with_file_aside(self, name: str, error: StateCorrupt) -> StateCorrupt:
        """Rename a file that does not read; the error with both of its paths."""
        return StateCorrupt(error.error, f"{self.path}/{name}", self._set_aside(name))

    def check_not_lost(self) -> None:
        """`StateLost` if a directory is gone, or another one is at its path by now.

        Another krond could use that one, and start what this one starts.
        """
        for directory in (self.directory, self._runs):
            try:
                there = os.stat(directory.path, follow_symlinks=False)  # noqa: PTH116
            except FileNotFoundError:
                raise StateLost(directory.path, "it is gone") from None
            except OSError:
                return  # a disk that fails may recover
            if not os.path.samestat(there, os.fstat(directory.descriptor)):
                raise StateLost(directory.path, "another one is at its path")

    def set_bundle_aside(self) -> StateCorrupt | None:
        """Set aside a bundle that did not read, once states that owe nothing are saved.

        If it were moved before, the next start would take the older states for the latest.
        """
        lost, self._lost = self._lost, None
        if lost is None:
            return None
        return StateCorrupt(lost.error, lost.file, self._set_aside(BUNDLE))

    def write_back(self) -> None:
        """Do the work that `commit(quickly=True)` left for later."""
        try:
            self._replacer.write_back()
        except OSError as error:
            raise self._failed("jobs", error) from None
        self._failure = None

    def proof(self, run_id: str) -> str:
        """The path of the proof that a run has begun, for people."""
        check_run_id(run_id)
        return f"{self._runs.path}/{run_id}"

    def proof_in_child(self, run_id: str) -> str:
        """The path of the proof for krond itself, and for a child until its program begins.

        It leads through the open directory, even if another one is at its path by now.
        """
        check_run_id(run_id)
        return f"/proc/self/fd/{self._runs.descriptor}/{run_id}"

    def note_run(self, run: RunRecord) -> None:
        """Write the process of a run into its proof. Not synced: a reboot ends the process too."""
        try:
            descriptor = os.open(run.run_id, _NOTE, 0o600, dir_fd=self._runs.descriptor)
            try:
                data = run_to_json(run)
                if os.pwrite(descriptor, data, 0) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.ftruncate(descriptor, len(data))
            finally:
                os.close(descriptor)
        except OSError as error:
            what = f"the process of a run cannot be noted in {self.proof(run.run_id)}"
            raise PersistenceError(what, error) from None

    def noted_run(self, run_id: str) -> RunRecord | None:
        """The run that `note_run` wrote; None if krond was killed before or while writing it."""
        check_run_id(run_id)
        try:
            run = run_from_json(self._runs.read(run_id))
        except (FileNotFoundError, StateCorrupt):
            return None
        return run if run.run_id == run_id else None

    def try_proof(self) -> None:
        """`PersistenceError` if there is no room for a proof."""
        try:
            os.close(os.open(_TRIAL, _NOTE, 0o600, dir_fd=self._runs.descriptor))
            os.unlink(_TRIAL, dir_fd=self._runs.descriptor)
        except OSError as error:
            raise PersistenceError(f"no proof can be written in {self._runs.path}", error) from None

    def has_proof(self, run_id: str) -> bool:
        check_run_id(run_id)
        return self._runs.has(run_id)

    def remove_proof(self, run_id: str) -> None:
        check_run_id(run_id)
        try:
            os.unlink(run_id, dir_fd=self._runs.descriptor)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise PersistenceError(f"{self.proof(run_id)} cannot be removed", error) from None

    def proofs(self) -> list[str]:
        return sorted(filter(is_run_id, self._runs.names()))

    def close(self) -> None:
        with suppress(OSError):  # the next start does it instead
            self._replacer.write_back()
        self._runs.close()
        self._lock.release()
        self.directory.close()

    def _unpack(self) -> None:
        """Write back the states of a bundle that an earlier krond has left."""
        bundle = f"{self.path}/{BUNDLE}"
        try:
            lines = unpack(self.directory.read(BUNDLE))
            self._replacer.take_up((file_name(from_json(line).identity), line) for line in lines)
        except StateNewer as error:
            raise StateNewer(bundle, error.schema, error.known) from None
        except StateCorrupt as error:
            self._lost = StateCorrupt(error.error, bundle)
            return
        self.write_back()

    def _failed(self, jobs: str, error: OSError) -> PersistenceError:
        what = f"the state of {jobs} cannot be saved in {self.path}"
        self._failure = PersistenceError(what, error)
        return self._failure

    def _set_aside(self, name: str) -> str:
        """Rename a file that does not read. Returns its new path."""
        try:
            return self.directory.set_aside(name)
        except OSError as error:
            what = f"the state file {self.path}/{name} does not read and cannot be set aside"
            raise PersistenceError(what, error) from None


def read_states(path: str) -> Iterator[JobState]:
    """Every state in the directory at `path`, read without a lock while another krond has it.

    The first that does not read, or is of a newer version, is an error. A bundle is not read: it
    has the form of the files, and that krond writes them before it ends.
    """
    directory = Directory.existing(path)
    try:
        for name in sorted(filter(_STATE_FILE, directory.names())):
            with suppress(FileNotFoundError):  # it was removed in the meantime
                yield _read(directory, name, {})
    finally:
        directory.close()


def _read(directory: Directory, name: str, texts: dict[str, str]) -> JobState:
    file = f"{directory.path}/{name}"
    try:
        state = from_json(directory.read(name), texts)
    except StateNewer as error:
        raise StateNewer(file, error.schema, error.known) from None
    except StateCorrupt as error:
        raise StateCorrupt(error.error, file) from None
    if file_name(state.identity) != name:
        raise StateCorrupt(f"it belongs to the job {quoted(state.identity)}", file)
    return state


def file_name(identity: str) -> str:
    try:
        return f"{hashlib.sha256(identity.encode()).hexdigest()}.json"
    except UnicodeEncodeError:
        raise KronError(Code.IDENTITY, f"{quoted(identity)} is not valid Unicode") from None


def _files(states: Iterable[JobState]) -> Iterator[tuple[str, bytes]]:
    for state in states:
        data = to_json(state)
        if len(data) > MAX_BYTES:
            # It could not be read back, so it is not written.
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        yield file_name(state.identity), data
