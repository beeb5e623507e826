"""Replacing files so that each is the old or the new one, whole, whatever fails and whenever.

All are written beside their places first and made safe together, then renamed, and the renames
are made safe together: a thousand files cost little more than two waits for the disk.

Where even the writing of a thousand files is too long to wait for, they are made safe as one, the
bundle, and put into their places later. Until nothing is left of it, no commit has succeeded.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
from contextlib import suppress

from kron.krond.state.directory import Directory
from kron.krond.state.fields import MAX_BYTES, corrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BUNDLE = "bundle"
"""The name of the file that many are in."""

FEW = 16
"""From so many files on, one sync of the file system is quicker than one of each file."""

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = (errno.ENOENT, errno.EINVAL, errno.ENOSYS)
"""There is nothing to replace, or the file system or the kernel does not know how to."""
_TEMPORARY = re.compile(r"\.new-[0-9]+").fullmatch
_MOST_NAMES = 1_000
_SYNCFS_TELLS_ERRORS = (5, 8)
"""The first version of Linux whose syncfs() says that writing failed."""


class Group:
    """Replaces files of a directory. What is left to do where they are many, `settle()` does.

    To delete a file takes the file system three times as long as to rename another one over it.
    The deletion can wait until somebody has time for it, so the old and the new file exchange
    their names. (To keep the old one open instead would slow down every start of a process, which
    copies all descriptors and closes them again.)
    """

    __slots__ = (
        "_bundled",
        "_count",
        "_directory",
        "_has_bundle",
        "_renameat2",
        "_replaced",
        "_syncfs",
    )

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._count = 0
        self._replaced: list[str] = []
        """The names that the replaced files have now."""
        self._bundled: dict[str, bytes] = {}
        """What is in the bundle and not in its place yet."""
        self._has_bundle = False
        """There is a bundle, or there may be one."""
        self._renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        self._syncfs = _syncfs if kernel_version() >= _SYNCFS_TELLS_ERRORS else None

    def replace(self, files: Iterable[tuple[str, bytes]], count: int) -> None:
        """Replace `count` files, each a name and its new content. OSError: not all are safe."""
        if self._bundled:
            self._bundled.update(files)
            files, count = self._bundled.items(), len(self._bundled)
        self._replace(files, count)
        self._drop_bundle()

    def bundle(self, files: Sequence[tuple[str, bytes]]) -> None:
        """The same, in less time if they are many, and `settle()` does the rest."""
        if len(files) < FEW or self._has_bundle:
            self.replace(files, len(files))
            return
        content = pack(data for _, data in files)
        if len(content) > MAX_BYTES:  # it could not be read again
            self.replace(files, len(files))
            return
        self._has_bundle = True  # whatever comes of it
        self._replace([(BUNDLE, content)], 1)
        self._bundled = dict(files)

    def settle(self) -> None:
        """Put what is in the bundle into its place, and delete the replaced files."""
        if self._bundled:
            self.replace((), 0)
        while self._replaced:
            self._discard(self._replaced.pop())

    def take_up(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Take up a bundle that is there, with these in it, for `settle()`."""
        self._bundled = dict(files)
        self._has_bundle = True

    def _drop_bundle(self) -> None:
        """What is newer than the bundle is in its place: nobody may take it for the latest."""
        if not self._has_bundle:
            return
        directory = self._directory.descriptor
        with suppress(FileNotFoundError):
            os.unlink(BUNDLE, dir_fd=directory)
        os.fsync(directory)
        self._bundled = {}
        self._has_bundle = False

    def _replace(self, files: Iterable[tuple[str, bytes]], count: int) -> None:
        directory = self._directory.descriptor
        written: list[tuple[str, str]] = []
        try:
            if count < FEW or self._syncfs is None:
                self._write_each(files, written)
            else:
                self._write_all(files, written, self._syncfs)
            for temporary, name in written:
                if count >= FEW and self._exchange(temporary, name):
                    self._replaced.append(temporary)
                else:
                    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            os.fsync(directory)
        except BaseException:
            for temporary, _ in written:
                self._discard(temporary)  # not there any more, or the replaced file by now
            raise

    def remove_leftovers(self, names: Iterable[str]) -> None:
        """Remove, of these names, the files that a crash left half-written."""
        for name in names:
            if _TEMPORARY(name):
                self._discard(name)

    def _write_each(
        self, files: Iterable[tuple[str, bytes]], written: list[tuple[str, str]]
    ) -> None:
        descriptors: list[int] = []
        try:
            for name, data in files:
                descriptor = self._create(name, written)
                descriptors.append(descriptor)
                _write(descriptor, data)
                if len(descriptors) == FEW:
                    _sync_and_close(descriptors)
            _sync_and_close(descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _write_all(
        self,
        files: Iterable[tuple[str, bytes]],
        written: list[tuple[str, str]],
        syncfs: Callable[[int], None],
    ) -> None:
        # Opened before anything is written: it is told of what fails from then on.
        watch = os.open(
            ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._directory.descriptor
        )
        try:
            for name, data in files:
                descriptor = self._create(name, written)
                try:
                    _write(descriptor, data)
                finally:
                    os.close(descriptor)
            syncfs(watch)
        finally:
            os.close(watch)

    def _create(self, name: str, written: list[tuple[str, str]]) -> int:
        for _ in range(_MOST_NAMES):
            self._count += 1
            temporary = f".new-{self._count}"
            try:
                descriptor = os.open(temporary, _WRITE, 0o600, dir_fd=self._directory.descriptor)
            except FileExistsError:
                continue
            written.append((temporary, name))
            return descriptor
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))

    def _exchange(self, temporary: str, name: str) -> bool:
        """Have two files exchange their names. False: that cannot be done here."""
        if self._renameat2 is None:
            return False
        directory = self._directory.descriptor
        old, new = temporary.encode(), name.encode()
        if self._renameat2(directory, old, directory, new, _RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number in _CANNOT_EXCHANGE:
            return False
        raise OSError(number, os.strerror(number))

    def _discard(self, temporary: str) -> None:
        with suppress(OSError):  # the next start tries again
            os.unlink(temporary, dir_fd=self._directory.descriptor)


def pack(contents: Iterable[bytes]) -> bytes:
    """Lines, and one that vouches for them."""
    lines = b"".join(contents)
    return lines + _seal(lines)


def unpack(bundle: bytes) -> list[bytes]:
    """The lines that were packed; `StateCorrupt` if they are not as they were."""
    end = bundle.rfind(b"\n", 0, -1) + 1
    lines = bundle[:end]
    if bundle[end:] != _seal(lines):
        raise corrupt("its last line does not vouch for the others")
    return lines.splitlines(keepends=True)


def _seal(lines: bytes) -> bytes:
    return b"%s\n" % hashlib.sha256(lines).hexdigest().encode()


def kernel_version() -> tuple[int, int]:
    """The version of the running kernel; (0, 0) if it does not read."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _write(descriptor: int, data: bytes) -> None:
    while len(data) > (written := os.write(descriptor, data)):
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[written:]


def _sync_and_close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.fsync(descriptor)
    while descriptors:
        os.close(descriptors.pop())


def _syncfs(descriptor: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    while library.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
