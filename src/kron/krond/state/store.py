"""The state directory: a file a job, and the proofs that runs have begun.

Whoever has a `Store` has the directory to itself. What `commit` has returned from survives a
power failure; whatever fails, each file is the old or the new one, whole.
"""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import re
import time
from contextlib import contextmanager, suppress

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.krond.state.directory import Directory
from kron.krond.state.errors import PersistenceError, StateCorrupt, StateNewer, unreadable
from kron.krond.state.fields import MAX_BYTES
from kron.krond.state.group import BUNDLE, Group, unpack
from kron.krond.state.lock import PID_FILE, Lock, lock
from kron.krond.state.record import JobState, RunRecord, check_run_id
from kron.krond.state.schema import from_json, run_from_json, run_to_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RUNS = "runs"
"""The directory of the proofs, in the state directory."""

_STATE_FILE = re.compile(r"[0-9a-f]{64}\.json").fullmatch
_NOTE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Loaded(Frozen):
    """What a state directory holds."""

    states: dict[str, JobState]
    """By identity: also of jobs that no configuration has any more."""
    corrupt: tuple[StateCorrupt, ...]
    """The files that were set aside just now."""
    lost: StateCorrupt | None = None
    """The bundle does not read: any state may be older than what was last committed. It stays where
    it is until `Store.set_bundle_aside`."""


class Store:
    """A state directory that is open and locked."""

    __slots__ = ("_directory", "_group", "_lock", "_lost", "_runs", "path")

    def __init__(self, directory: Directory, runs: Directory, locked: Lock) -> None:
        self.path = directory.path
        self._directory = directory
        self._runs = runs
        self._lock = locked
        self._group = Group(directory)
        self._lost: StateCorrupt | None = None

    @classmethod
    def open(cls, path: str) -> Store:
        """Make the directory if it is not there, check whose it is, lock it and tidy it up."""
        directory = Directory.make(path)
        try:
            locked = lock(f"{directory.path}/{PID_FILE}", within=directory.descriptor)
            try:
                store = cls(directory, directory.make_inside(RUNS), locked)
            except BaseException:
                locked.release()
                raise
        except BaseException:
            directory.close()
            raise
        try:
            names = store._names(directory)
            store._group.remove_leftovers(names)
            if BUNDLE in names:
                store._unpack()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def descriptor(self) -> int:
        """The open directory, for what else lies in it."""
        return self._directory.descriptor

    def load(self, identity: str) -> JobState | None:
        """The state of a job, None if it has none.

        A file that does not read is set aside, and `StateCorrupt` raised. `StateNewer` is for one
        of a newer version, which stays where it is.
        """
        name = file_name(identity)
        self.settle()
        try:
            return self._read(name, {identity: identity})
        except FileNotFoundError:
            return None

    def load_all(self, texts: Iterable[str] = ()) -> Loaded:
        """Every state in the directory. `StateNewer` if one is of a newer version.

        States share their texts with `texts` and one another where they are equal: identities and
        schedules, say.
        """
        shared = {text: text for text in texts}
        states: dict[str, JobState] = {}
        corrupt: list[StateCorrupt] = []
        names = sorted(filter(_STATE_FILE, self._names(self._directory)))
        with _no_collection():
            for name in names:
                try:
                    state = self._read(name, shared)
                except FileNotFoundError:
                    continue  # somebody has removed it since
                except StateCorrupt as error:
                    corrupt.append(error)
                else:
                    states[state.identity] = state
        return Loaded(states, tuple(corrupt), self._lost)

    def commit(self, states: Sequence[JobState], *, quickly: bool = False) -> None:
        """Make these states safe on disk, all of them: `PersistenceError` if they are not.

        `quickly`: somebody waits for it, and has time for `settle` afterwards.
        """
        if not states:
            return
        try:
            if quickly:
                self._group.bundle(list(_files(states)))
            else:
                self._group.replace(_files(states), len(states))
        except OSError as error:
            jobs = "1 job" if len(states) == 1 else f"{len(states):,} jobs"
            raise self._unsaved(jobs, error) from None

    def set_bundle_aside(self) -> StateCorrupt | None:
        """Move a bundle that did not read out of the way, once states that owe nothing are safe.

        Were it gone before them, the next start would take the states that are older than it for
        the latest.
        """
        lost, self._lost = self._lost, None
        if lost is None:
            return None
        return StateCorrupt(lost.file, self._set_aside(BUNDLE), lost.error)

    def settle(self) -> None:
        """What `commit` left for later."""
        try:
            self._group.settle()
        except OSError as error:
            raise self._unsaved("jobs", error) from None

    def proof(self, run_id: str) -> str:
        """The path of the proof that a run has begun, for people."""
        check_run_id(run_id)
        return f"{self._runs.path}/{run_id}"

    def proof_in_child(self, run_id: str) -> str:
        """The path at which krond, and a child until its program begins, reach the same file.

        It leads through the open directory, whatever is at the path of that one by now.
        """
        check_run_id(run_id)
        return f"/proc/self/fd/{self._runs.descriptor}/{run_id}"

    def note_run(self, run: RunRecord) -> None:
        """Write into the proof which process the run is. It is not synced: a reboot ends both."""
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
        """What `note_run` wrote; None if it did not, or krond was killed while it wrote."""
        check_run_id(run_id)
        try:
            run = run_from_json(self._runs.read(run_id))
        except (FileNotFoundError, StateCorrupt):
            return None
        except OSError as error:
            raise unreadable(self._runs.path, error) from None
        return run if run.run_id == run_id else None

    def has_proof(self, run_id: str) -> bool:
        """Whether the run has begun."""
        check_run_id(run_id)
        try:
            os.stat(run_id, dir_fd=self._runs.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unreadable(self._runs.path, error) from None
        return True

    def remove_proof(self, run_id: str) -> None:
        """Remove the proof, if it is there."""
        check_run_id(run_id)
        try:
            os.unlink(run_id, dir_fd=self._runs.descriptor)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise PersistenceError(f"{self.proof(run_id)} cannot be removed", error) from None

    def proofs(self) -> list[str]:
        """The run ids that have a proof, sorted."""
        return sorted(filter(_is_run_id, self._names(self._runs)))

    def close(self) -> None:
        """Let go of the directory and of the lock."""
        with suppress(OSError):  # the next start does it
            self._group.settle()
        self._runs.close()
        self._lock.release()
        self._directory.close()

    def _unpack(self) -> None:
        """Put the states that a krond before this one has bundled into their places."""
        bundle = f"{self.path}/{BUNDLE}"
        try:
            lines = unpack(self._directory.read(BUNDLE))
            self._group.take_up((file_name(from_json(line).identity), line) for line in lines)
        except StateNewer as error:
            raise StateNewer(bundle, error.schema, error.known) from None
        except StateCorrupt as error:
            self._lost = StateCorrupt(bundle, "", error.error)
            return
        except OSError as error:
            raise unreadable(bundle, error) from None
        self.settle()

    def _unsaved(self, jobs: str, error: OSError) -> PersistenceError:
        return PersistenceError(f"the state of {jobs} cannot be saved in {self.path}", error)

    def _read(self, name: str, texts: dict[str, str]) -> JobState:
        file = f"{self.path}/{name}"
        try:
            state = from_json(self._directory.read(name), texts)
            if file_name(state.identity) != name:
                raise StateCorrupt("", "", f"it is that of the job {quoted(state.identity)}")
        except StateNewer as error:
            raise StateNewer(file, error.schema, error.known) from None
        except StateCorrupt as error:
            raise StateCorrupt(file, self._set_aside(name), error.error) from None
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unreadable(file, error) from None
        return state

    def _set_aside(self, name: str) -> str:
        """Move a file that does not read out of the way, and say where to."""
        directory = self._directory.descriptor
        aside = f"{name}.corrupt.{to_text(int(time.time()))}"
        try:
            number, free = 1, aside
            while self._exists(free):
                number += 1
                free = f"{aside}.{number}"
            os.rename(name, free, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            what = f"the state file {self.path}/{name} does not read and cannot be set aside"
            raise PersistenceError(what, error) from None
        return f"{self.path}/{free}"

    def _exists(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._directory.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @staticmethod
    def _names(directory: Directory) -> list[str]:
        try:
            return directory.names()
        except OSError as error:
            raise unreadable(directory.path, error) from None


def file_name(identity: str) -> str:
    """The name of a job's state file."""
    try:
        return f"{hashlib.sha256(identity.encode()).hexdigest()}.json"
    except UnicodeEncodeError:
        raise KronError(Code.IDENTITY, f"{quoted(identity)} is not valid Unicode") from None


def _files(states: Iterable[JobState]) -> Iterator[tuple[str, bytes]]:
    for state in states:
        data = to_json(state)
        if len(data) > MAX_BYTES:
            # What could not be read again is not written either.
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        yield file_name(state.identity), data


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing here is garbage, and to look for it takes as long again as to read it all."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_run_id(name: str) -> bool:
    try:
        check_run_id(name)
    except ValueError:
        return False
    return True
