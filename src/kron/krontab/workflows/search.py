"""Which files are workflows: those that are named, and those that lie in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.jobs.finding import Finding
from kron.krontab.workflows.source import SUFFIXES

_SHOWN_HIDDEN = ".github"


class Found(Frozen):
    """A file to read, and whether somebody asked for this very file."""

    path: str
    is_named: bool


def search(paths: Iterable[str], failures: list[Finding]) -> list[Found]:
    """The files, in the order of the paths, each once; what cannot be had goes to `failures`."""
    found: dict[Path, Found] = {}
    for path in paths:
        try:
            for each in _below(path, failures) if Path(path).is_dir() else [_named(path)]:
                real = Path(each.path).resolve()
                if each.is_named or real not in found:
                    found[real] = each
        except KronError as error:
            failures.append(Finding.of_error(error, path))
        except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
            why = error.strerror if isinstance(error, OSError) else str(error)
            problem = KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {why}")
            failures.append(Finding.of_error(problem, path))
    return list(found.values())


def _named(path: str) -> Found:
    file = Path(path)
    if file.is_symlink():
        message = f"{path} is a symbolic link: its path is not that of the workflow"
        raise KronError(Code.FILE_SYMLINK, message, fix="name the file that it points to")
    if not file.exists():
        raise KronError(Code.FILE_MISSING, f"there is no {path}")
    if not file.is_file():
        raise KronError(Code.FILE_KIND, f"{path} is neither a regular file nor a directory")
    if file.suffix not in SUFFIXES:
        message = f"{path} is no workflow: its name does not end in {', '.join(SUFFIXES)}"
        raise KronError(Code.FILE_KIND, message)
    return Found(path, is_named=True)


def _below(top: str, failures: list[Finding]) -> Iterator[Found]:
    """The workflow files of a directory and those below it, sorted by path."""

    def fail(error: OSError) -> None:
        path = str(error.filename)
        problem = KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {error.strerror}")
        failures.append(Finding.of_error(problem, path))

    files: list[Path] = []
    for directory, names, file_names in os.walk(top, onerror=fail):
        names[:] = [name for name in names if not _is_hidden(name)]
        files += [Path(directory, name) for name in file_names if not _is_hidden(name)]
    for file in sorted(files):
        if file.suffix in SUFFIXES and file.is_file() and not file.is_symlink():
            yield Found(str(file), is_named=False)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and name != _SHOWN_HIDDEN
