"""The spool: the notices that are not delivered yet, each a file in a directory of the state.

The directory is made for the first notice. A file is complete or does not exist, and is safe when
`write` returns.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from kron.core.errors import KronError
from kron.krond.notices.notice import Notice
from kron.krond.state.directory import Directory
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.file_replacer import FileReplacer

SPOOL = "notices"
_ENDING = ".json"


class Spool:
    def __init__(self, state: Directory) -> None:
        self._state = state
        self._directory: Directory | None = None
        self._replacer: FileReplacer | None = None

    def left(self) -> Iterator[Notice | StateCorrupt]:
        """What an earlier krond has not delivered, or cannot be read and was set aside.

        `KronError` or `OSError`: nobody knows what is there.
        """
        if not self._state.has(SPOOL):
            return
        directory, replacer = self._opened()
        names = sorted(directory.names())
        replacer.remove_leftovers(names)
        for name in names:
            if name.endswith(_ENDING):
                try:
                    yield Notice.from_json(directory.read(name))
                except FileNotFoundError:
                    continue
                except StateCorrupt as error:
                    path = f"{directory.path}/{name}"
                    yield StateCorrupt(error.error, path, directory.set_aside(name))

    def write(self, notices: Collection[Notice]) -> None:
        """Make these notices safe. `KronError` or `OSError`: they are not."""
        try:
            _, replacer = self._opened()
            replacer.replace([(each.file, each.to_json()) for each in notices], len(notices))
            replacer.write_back()
        except (KronError, OSError):
            self.close()  # another directory may be in its place next time
            raise

    def remove(self, notice: Notice) -> None:
        with suppress(KronError, OSError):  # then it is delivered again: at least once
            if self._directory is not None or self._state.has(SPOOL):
                directory, _ = self._opened()
                os.unlink(notice.file, dir_fd=directory.descriptor)

    def close(self) -> None:
        if self._directory is not None:
            self._directory.close()
        self._directory = self._replacer = None

    def _opened(self) -> tuple[Directory, FileReplacer]:
        if self._directory is None or self._replacer is None:
            self._directory = self._state.make_inside(SPOOL)
            self._replacer = FileReplacer(self._directory)
        return self._directory, self._replacer
