"""What a task needs from its host: a program that can be executed, accounts and directories.

The search path for programs is the run's own: the directories of `env=PATH=...`, or else those that
krond gives a run. The environment of the user who calls lint does not matter.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from enum import StrEnum
from functools import cache

from kron.core.errors import quoted
from kron.jobs.hooks import SENDMAILS, Hooks
from kron.jobs.task import CLEAN_PATH, DEFAULT_PATH, JOURNAL_SOCKET, Destination, Task
from kron.lint.command import is_shell_word
from kron.lint.remark import Advice, Remark

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
HEAD_BYTES = 256
"""What the kernel reads of a file to find out how to execute it."""


class PathKind(StrEnum):
    MISSING = "missing"
    DIRECTORY = "directory"
    PROGRAM = "program"
    """A file that is executable for some user."""
    FILE = "file"
    """A file that is not executable."""
    OTHER = "other"
    """A device, a pipe or a socket."""
    HIDDEN = "hidden"
    """This process may not look at it, or looking failed."""


_Lack = tuple[Advice, str, str]
"""What is missing, in words, and the fix."""

_ACCOUNTS = {"user": Advice.USER_UNKNOWN, "group": Advice.GROUP_UNKNOWN}
_USABLE = (PathKind.PROGRAM, PathKind.HIDDEN)
_UNFIT = {
    PathKind.DIRECTORY: ("is a directory", "name a program in it"),
    PathKind.OTHER: ("is not a regular file", "name a program"),
}


class Host:
    """The host that this process runs on; tests replace it."""

    def look(self, path: str) -> PathKind:
        """What an absolute path leads to, links followed."""
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except OSError as error:
            return PathKind.MISSING if error.errno in _NOT_THERE else PathKind.HIDDEN
        except ValueError:  # a name that the file system's encoding does not have
            return PathKind.MISSING
        if stat.S_ISDIR(mode):
            return PathKind.DIRECTORY
        if not stat.S_ISREG(mode):
            return PathKind.OTHER
        return PathKind.PROGRAM if mode & 0o111 else PathKind.FILE

    def head(self, path: str) -> bytes | None:
        """The first 256 bytes of a file; None if it cannot be read."""
        try:
            # Non-blocking, because a pipe may have taken the place of the file since `look`.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        try:
            return os.read(descriptor, HEAD_BYTES)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def has_account(self, kind: str, name: str) -> bool:
        """Whether a user, or a group, of this name exists."""
        import grp
        import pwd

        try:
            if kind == "user":
                pwd.getpwnam(name)
            else:
                grp.getgrnam(name)
        except KeyError:
            return False
        return True


class Requirements:
    """Asks the host each question once: thousands of jobs ask about the same few paths."""

    def __init__(self, host: Host) -> None:
        self._look = cache(host.look)
        self._head = cache(host.head)
        self._has_account = cache(host.has_account)

    def remarks(self, task: Task) -> Iterator[Remark]:
        """What a task needs and the host lacks. Numbers of accounts need not exist."""
        yield from self._command("command=", task)
        for kind, advice in _ACCOUNTS.items():
            name: str = getattr(task, kind)
            if name and not name.isdigit() and not self._has_account(kind, name):
                message = f"there is no {kind} {quoted(name)} on this host: no run can start"
                yield Remark(advice, f"{kind}=", message, "create it, or name another")
        if task.cwd:
            yield from self._directory(task.cwd, "cwd", "to run in")
        file = task.env_file
        if file and not file.may_lack and self._look(file.path) is PathKind.MISSING:
            message = f"there is no file {quoted(file.path)}: no run can start"
            fix = "create it, or write a - before the path if it may be missing"
            yield Remark(Advice.ENV_FILE_MISSING, "env_file=", message, fix)
        if task.hooks is not None:
            yield from self._hooks(task, task.hooks)
        for key, output in (("stdout", task.stdout), ("stderr", task.stderr)):
            if output is None:
                continue
            if output.destination is Destination.FILE:
                yield from self._directory(_fixed_directory(output.path), key, "to write to")
            if output.destination is Destination.JOURNAL and not self._has_journal():
                message = "this host has no journal of systemd: the output is kept in a file"
                yield Remark(Advice.JOURNAL_MISSING, f"{key}=", message, "write keep, or syslog")

    def _hooks(self, task: Task, hooks: Hooks) -> Iterator[Remark]:
        if hooks.mail and not any(self._look(path) in _USABLE for path in SENDMAILS):
            message = f"this host has no {' or '.join(SENDMAILS)}: no mail can be sent"
            fix = "install a mail server, or name a program with KRON_SENDMAIL"
            yield Remark(Advice.SENDMAIL_MISSING, "mail=", message, fix)
        if not task.shell:  # it is looked for already
            for key, hook in task.of_hooks():
                yield from self._command(f"{key}=", hook)

    def _command(self, part: str, task: Task) -> Iterator[Remark]:
        if task.shell:
            part, within = "shell=", ""
        elif is_shell_word(within := task.argv[0]):
            return  # another rule has a better message
        if lack := self._program(task):
            yield Remark(lack[0], part, *lack[1:], within)

    def _has_journal(self) -> bool:
        return self._look(JOURNAL_SOCKET) is not PathKind.MISSING

    def _directory(self, path: str, key: str, purpose: str) -> Iterator[Remark]:
        kind = self._look(path)
        if kind in (PathKind.DIRECTORY, PathKind.HIDDEN):
            return
        message = f"there is no directory {quoted(path)} {purpose}"
        fix = f"mkdir -p {quoted(path)}"
        if kind is not PathKind.MISSING:
            message, fix = f"{quoted(path)} is not a directory {purpose}", "name a directory"
        yield Remark(Advice.DIRECTORY_MISSING, f"{key}=", message, fix)

    def _program(self, task: Task) -> _Lack | None:
        """Why the program of a task cannot be started; None if nothing speaks against it."""
        name = task.argv[0]
        search = _search_path(task)
        if "/" not in name:
            return self._named(name, search)
        if name.startswith("/"):
            return self._at(name, name, search)
        if task.cwd:
            return self._at(f"{task.cwd.rstrip('/')}/{name}", name, search)
        message = f"{quoted(name)} is relative to the directory of the run, and the line has no cwd"
        return Advice.COMMAND_RELATIVE, message, "write its absolute path, or add cwd="

    def _named(self, name: str, search: str) -> _Lack | None:
        """A name without a slash: the first program on the search path runs."""
        found = PathKind.MISSING
        for directory in search.split(":"):
            if not directory.startswith("/"):
                return None  # it depends on the directory of the run
            path = f"{directory.rstrip('/')}/{name}"
            kind = self._look(path)
            if kind is PathKind.PROGRAM:
                return self._at(path, path, search)
            if kind is not PathKind.MISSING:
                found = kind
        if found is PathKind.HIDDEN:
            return None
        if found is not PathKind.MISSING:
            message = f"{quoted(name)} on the search path is not executable"
            return Advice.COMMAND_NOT_EXECUTABLE, message, "write an absolute path"
        message = f"there is no program {quoted(name)} on the search path {quoted(search)}"
        fix = "write its absolute path, or set the search path with env=PATH=..."
        return Advice.COMMAND_MISSING, message, fix

    def _at(self, path: str, shown: str, search: str) -> _Lack | None:
        kind = self._look(path)
        if kind is PathKind.MISSING:
            fix = "" if path == shown else f"its path is {quoted(path)}"
            return Advice.COMMAND_MISSING, f"there is no program {quoted(shown)}", fix
        if kind is PathKind.PROGRAM:
            advice, obstacle = Advice.COMMAND_INTERPRETER, self._obstacle(path, search)
        elif kind is PathKind.HIDDEN:
            return None
        else:
            advice = Advice.COMMAND_NOT_EXECUTABLE
            obstacle = _UNFIT.get(kind, ("is not executable", f"chmod +x {quoted(path)}"))
        return obstacle and (advice, f"{quoted(shown)} {obstacle[0]}", obstacle[1])

    def _obstacle(self, path: str, search: str) -> tuple[str, str] | None:
        """Why the kernel would not execute a file, and the fix; None if it would."""
        head = self._head(path)
        if head is None:
            return None
        if not head.startswith(b"#!"):
            # A binary file may be for an interpreter that is registered with the kernel.
            if b"\0" in head:
                return None
            what = "is a text file without a #! line" if head else "is empty"
            return f"{what}: the kernel cannot execute it", "begin it with #!/bin/sh"
        line, newline, _ = head[2:].partition(b"\n")
        if not newline and len(head) >= HEAD_BYTES:
            return None  # longer than what was read
        if line.endswith(b"\r"):
            what = "has a carriage return after its #! line, as on Windows"
            message = f"{what}: the kernel reads it as a part of the interpreter's name"
            return message, "remove it: sed -i 's/\\r$//'"
        words = line.decode(errors="replace").split()
        if not words:
            return "names no interpreter after its #!", "begin it with #!/bin/sh"
        if words[0].rpartition("/")[2] == "env":
            return self._through_env(words[1:], search)
        if not words[0].startswith("/"):
            return f"has a relative interpreter, {quoted(words[0])}", "write its absolute path"
        if self._look(words[0]) not in _USABLE:
            return f"needs the interpreter {quoted(words[0])}, which does not exist", "install it"
        return None

    def _through_env(self, words: list[str], search: str) -> tuple[str, str] | None:
        """`#!/usr/bin/env NAME` looks for NAME on the search path of the run."""
        names = [word for word in words if not word.startswith("-") and "=" not in word]
        if not names or "/" in names[0]:
            return None
        for directory in search.split(":"):
            path = f"{directory.rstrip('/')}/{names[0]}"
            # A directory that is relative, or '', depends on where the run is.
            if not directory.startswith("/") or self._look(path) in _USABLE:
                return None
        what = f"needs the interpreter {quoted(names[0])}"
        message = f"{what}, which is not on the search path {quoted(search)}"
        return message, "install it, or set the search path with env=PATH=..."


def _search_path(task: Task) -> str:
    """The PATH of a run; '' if a file of variables may set it, whose text is not looked at."""
    for key, value in task.env:
        if key == "PATH":
            return value
    if task.env_file is not None:
        return ""
    return DEFAULT_PATH if task.inherits_env else CLEAN_PATH


def _fixed_directory(path: str) -> str:
    """The directory of a file, up to the first part that depends on the run."""
    tokens = [place for token in "%{" if (place := path.find(token)) >= 0]
    fixed = path[: min(tokens, default=len(path))]
    return fixed.rpartition("/")[0] or "/"
