"""Writing compiled files to the disk: all or none of them, and each completely.

Every new text is first written and synced to a hidden file beside the old one. When all are written
and no old file has changed meanwhile, they are renamed. If a rename fails, the error names the
files that were replaced before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.jobs.editing import stage, temporary_name
from kron.jobs.source import own_access, read_file


class Replacement(Frozen):
    path: str
    before: bytes
    after: bytes

    @property
    def staged_path(self) -> Path:
        path = Path(self.path)
        return path.with_name(temporary_name(path.name))


def replace_files(replacements: Sequence[Replacement]) -> None:
    """Write all files; a `KronError` if the system refuses, and then no file is changed."""
    staged: list[Path] = []
    written: list[str] = []
    path = ""
    try:
        for each in replacements:
            path = each.path
            stage(str(each.staged_path), each.after, os.stat(path))  # noqa: PTH116 (as stage does)
            staged.append(each.staged_path)
        for each in replacements:
            if read_file(each.path, own_access(insecure=True)) != each.before:
                message = f"{each.path} was changed while it was compiled, so nothing is written"
                raise KronError(Code.FILE_UNWRITABLE, message, fix="run the command again")
        for each in replacements:
            path = each.path
            each.staged_path.replace(path)
            staged.remove(each.staged_path)
            written.append(path)
    except OSError as error:
        done = f"; these files have been written: {', '.join(written)}" if written else ""
        message = f"{path} cannot be written: {error.strerror}{done}"
        raise KronError(Code.FILE_UNWRITABLE, message) from None
    finally:
        for leftover in staged:
            leftover.unlink(missing_ok=True)
    for directory in {Path(path).parent for path in written}:
        _sync(directory)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
