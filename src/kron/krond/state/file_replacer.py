"""Replacing files so that after any failure each file is either the old or the new one, complete.

All new files are written under other names and synced together, then renamed, and the renames are
synced together: a thousand files take little more than two waits for the disk.

Where writing a thousand files takes too long, their contents are synced as one file, the bundle,
and written back to their own files later. While a bundle exists, no other commit has succeeded.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from kron.krond.state.directory import Directory
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.fields import MAX_BYTES

BUNDLE = "bundle"
FEW = 16
"""With at least this many files, one sync of the file system is faster than one for each."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = (errno.ENOENT, errno.EINVAL, errno.ENOSYS)
"""There is no old file, or the file system or the kernel does not support the exchange."""
_TEMPORARY = re.compile(r"\.new-[0-9]+").fullmatch
_MOST_NAMES = 1_000
_SYNCFS_TELLS_ERRORS = (5, 8)
"""The first version of Linux whose syncfs() reports failed writes."""


class FileReplacer:
    """Replaces files of a directory. `write_back()` does the work that can wait.

    Deleting a file takes the file system three times as long as renaming. The deletion can wait,
    so the old and the new file exchange their names. (Keeping the old one open instead would slow
    down every start of a process, which copies all descriptors and closes them again.)
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._count = 0
        self._replaced: list[str] = []
        """The temporary names of the old files, to be deleted."""
        self._bundled: dict[str, bytes] = {}
        """The contents of the bundle that are not written back yet, by name."""
        self._has_bundle = False
        """A bundle exists, or may exist."""
        self._renameat2 = getattr(_LIBC, "renameat2", None)
        self._syncfs = _syncfs if kernel_version() >= _SYNCFS_TELLS_ERRORS else None

    def replace(self, files: Iterable[tuple[str, bytes]], count: int) -> None:
        """Replace `count` files, each a name and its new content. `OSError`: not all are safe."""
        if self._bundled:
            both = {**self._bundled, **dict(files)}
            files, count = both.items(), len(both)
        self._replace(files, count)
        self._drop_bundle()

    def bundle(self, files: Sequence[tuple[str, bytes]]) -> None:
        """The same, faster if there are many; `write_back()` does the rest."""
        if len(files) < FEW or self._has_bundle:
            self.replace(files, len(files))
            return
        content = pack(data for _, data in files)
        if len(content) > MAX_BYTES:  # it could not be read back
            self.replace(files, len(files))
            return
        self._has_bundle = True  # even if writing it fails
        self._replace([(BUNDLE, content)], 1)
        self._bundled = dict(files)

    def write_back(self) -> None:
        """Write the contents of the bundle to their own files, and delete the replaced files."""
        if self._bundled:
            self.replace((), 0)
        while self._replaced:
            self._discard(self._replaced.pop())

    def take_up(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Use an existing bundle with these contents, for `write_back()`."""
        self._bundled = dict(files)
        self._has_bundle = True

    def _drop_bundle(self) -> None:
        """Delete the bundle: the files are newer now, so no start may take it for the latest."""
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
            self._write_files(files, written, self._syncfs if count >= FEW else None)
            for temporary, name in written:
                if count >= FEW and self._exchange(temporary, name):
                    self._replaced.append(temporary)
                else:
                    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            os.fsync(directory)
        except BaseException:
            for temporary, _ in written:
                self._discard(temporary)  # renamed already, or now the replaced file
            raise

    def remove_leftovers(self, names: Iterable[str]) -> None:
        """Remove those of these files that a crash left half-written."""
        for name in names:
            if _TEMPORARY(name):
                self._discard(name)

    def _write_files(
        self,
        files: Iterable[tuple[str, bytes]],
        written: list[tuple[str, str]],
        syncfs: Callable[[int], None] | None,
    ) -> None:
        """Write the files under other names, and sync all of them at once or each."""
        # Opened before anything is written: syncfs reports the failures since then.
        watch = os.open(
            ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._directory.descriptor
        )
        descriptors: list[int] = []
        try:
            for name, data in files:
                descriptors.append(self._create(name, written))
                _write(descriptors[-1], data)
                if len(descriptors) == FEW:
                    _close(descriptors, sync=syncfs is None)
            _close(descriptors, sync=syncfs is None)
            if syncfs is not None:
                syncfs(watch)
        finally:
            for descriptor in (*descriptors, watch):
                os.close(descriptor)

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
        """Exchange the names of two files. False: that is not supported here."""
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
    """The contents as lines, and a last line with their hash."""
    lines = b"".join(contents)
    return lines + _seal(lines)


def unpack(bundle: bytes) -> list[bytes]:
    """The lines that were packed; `StateCorrupt` if they have changed."""
    end = bundle.rfind(b"\n", 0, -1) + 1
    lines = bundle[:end]
    if bundle[end:] != _seal(lines):
        raise StateCorrupt("its last line is not the hash of the others")
    return lines.splitlines(keepends=True)


def _seal(lines: bytes) -> bytes:
    return b"%s\n" % hashlib.sha256(lines).hexdigest().encode()


def kernel_version() -> tuple[int, int]:
    """The version of the running kernel; (0, 0) if it is not known."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _write(descriptor: int, data: bytes) -> None:
    while len(data) > (written := os.write(descriptor, data)):
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[written:]


def _close(descriptors: list[int], *, sync: bool) -> None:
    for descriptor in descriptors if sync else ():
        os.fsync(descriptor)
    while descriptors:
        os.close(descriptors.pop())


def _syncfs(descriptor: int) -> None:
    while _LIBC.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
