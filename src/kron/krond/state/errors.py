"""What can be wrong with the state: too new, unreadable, or not safe on disk."""

from __future__ import annotations

import errno
import os

from kron.core.errors import Code, KronError

_REMEDIES = {
    errno.ENOSPC: "make room (df shows bytes, df -i inodes), then start krond again",
    errno.EDQUOT: "raise the quota or make room, then start krond again",
    errno.EROFS: "mount it for writing, or name another directory with --state-dir",
    errno.EIO: "look at the kernel's log (dmesg): the disk reports errors",
    errno.EACCES: "give krond's user the right to write there (mode 0700, its own)",
    errno.EPERM: "give krond's user the right to write there (mode 0700, its own)",
    errno.EMFILE: "raise the limit on open files (LimitNOFILE= of the unit)",
    errno.ENFILE: "raise fs.file-max: the system has no open files left",
}


class StateNewer(KronError):  # noqa: N818 (what the state is)
    """A state that a newer version of Kron has written. It is left as it is."""

    def __init__(self, file: str, schema: int, known: int) -> None:
        super().__init__(
            Code.STATE_NEWER,
            f"the state file {file or '(unnamed)'} has schema {schema}, and this version of Kron "
            f"knows {known}",
            fix="run the newer version, or move the file away: the job then begins anew",
        )
        self.args = (file, schema, known)
        self.file = file
        self.schema = schema
        self.known = known


class StateCorrupt(KronError):  # noqa: N818 (likewise)
    """A state file that does not read. `set_aside` is where it is now, '' if it was not moved."""

    def __init__(self, file: str, set_aside: str, error: str) -> None:
        kept = f"it is kept as {set_aside}; " if set_aside else ""
        super().__init__(
            Code.STATE,
            f"the state file {file or '(unnamed)'} does not read: {error}",
            fix=f"{kept}the job goes on as if it were new, so look whether a run is owed",
        )
        self.args = (file, set_aside, error)
        self.file = file
        self.set_aside = set_aside
        self.error = error


class PersistenceError(KronError):
    """Something could not be made safe on disk. Each state file is whole: the old or the new."""

    def __init__(self, what: str, error: OSError) -> None:
        number = error.errno or 0
        reason = os.strerror(number) if number else "it failed"
        super().__init__(
            Code.STATE_UNWRITABLE,
            f"{what}: {reason}",
            fix=_REMEDIES.get(number, "mend that, then start krond again: nothing ran unrecorded"),
        )
        self.args = (what, error)
        self.errno = number


def unreadable(path: str, error: OSError) -> KronError:
    """Reading failed for a reason that is not the file's own, so it is left where it is."""
    return KronError(
        Code.STATE,
        f"the state in {path} cannot be read: {error.strerror}",
        fix=_REMEDIES.get(error.errno or 0, "mend that, then start krond again"),
    )
