"""The errors of the state: too new, unreadable, or not saved on disk."""

from __future__ import annotations

import errno
import os

from kron.core.errors import Code, KronError

_REMEDIES = {
    errno.ENOSPC: "free some space (df shows bytes, df -i inodes)",
    errno.EDQUOT: "raise the quota, or free some space",
    errno.EROFS: "mount it read-write, or name another directory with --state-dir",
    errno.EIO: "see the kernel's log (dmesg): the disk reports errors",
    errno.EACCES: "make krond's user the owner, with mode 0700",
    errno.EPERM: "make krond's user the owner, with mode 0700",
    errno.EMFILE: "raise the limit on open files (LimitNOFILE= of the unit)",
    errno.ENFILE: "raise fs.file-max: the system has no open files left",
}


class StateNewer(KronError):  # noqa: N818 (what the state is)
    """A state of a newer version of Kron. The file is not changed.

    `without` says what happens if a person moves it away.
    """

    def __init__(
        self,
        file: str,
        schema: int,
        known: int,
        without: str = "the job then starts without a past",
    ) -> None:
        super().__init__(
            Code.STATE_NEWER,
            f"the state file {file or '(unnamed)'} has schema {schema}, and this version of Kron "
            f"knows {known}",
            fix=f"run the newer version, or move the file away: {without}",
        )
        self.schema = schema
        self.known = known


class StateCorrupt(KronError):  # noqa: N818 (likewise)
    """A state file that does not read. The store adds its path, and the one that it was moved to:
    `set_aside`, '' if it was not moved."""

    def __init__(self, error: str, file: str = "", set_aside: str = "") -> None:
        kept = f"it is kept as {set_aside}; " if set_aside else ""
        super().__init__(
            Code.STATE,
            f"the state file {file or '(unnamed)'} does not read: {error}",
            fix=f"{kept}the job starts without a past: check whether it missed a run",
        )
        self.file = file
        self.set_aside = set_aside
        self.error = error


class PersistenceError(KronError):
    """A write to disk failed. Each state file is complete: the old or the new one."""

    def __init__(self, what: str, error: OSError) -> None:
        number = error.errno or 0
        reason = os.strerror(number) if number else "unknown error"
        super().__init__(
            Code.STATE_UNWRITABLE,
            f"{what}: {reason}",
            fix=_REMEDIES.get(number, "fix that: no run is started without a record"),
        )
        self.errno = number


class StateLost(KronError):  # noqa: N818 (likewise)
    """The state directory that krond has open is no longer the one at its path."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            Code.STATE_UNWRITABLE,
            f"the state directory {path} is lost: {why}",
            fix="bring it back, then start krond again: its runs go on",
        )


def unreadable(path: str, error: OSError) -> KronError:
    """Reading failed for a reason that is not the file's fault, so the file stays in place."""
    return KronError(
        Code.STATE,
        f"the state in {path} cannot be read: {error.strerror}",
        fix=_REMEDIES.get(error.errno or 0, "fix that, then start krond again"),
    )
