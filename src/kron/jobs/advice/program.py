"""Programs: whether the host has what a command names, and could execute it.

The search is the run's own: the directories of `env=PATH=...`, or else those that krond gives a
run. The environment of whoever calls lint has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.errors import quoted
from kron.jobs.advice.host import Host, Kind
from kron.jobs.advice.remark import Advice, Part, Remark, field
from kron.jobs.task import DEFAULT_PATH, Task

_ELF = b"\x7fELF"
_HEAD_BYTES = 256


class Programs:
    """Asks the host about each file once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._kinds: dict[str, Kind] = {}
        self._obstacles: dict[tuple[str, str], str] = {}

    def remarks(self, task: Task) -> Iterator[Remark]:
        """Why the program of a task could not be started, if so."""
        name = task.argv[0]
        part = field("shell") if task.shell else field("command", name)
        search = _search_path(task)
        if "/" not in name:
            yield from self._named(name, search, part)
        elif name.startswith("/"):
            yield from self._at(name, name, search, part)
        elif task.cwd:
            yield from self._at(f"{task.cwd.rstrip('/')}/{name}", name, search, part)
        else:
            yield Remark(
                Advice.COMMAND_RELATIVE,
                part,
                f"{quoted(name)} is relative to the directory of the run, and the line has no cwd",
                "write its absolute path, or add cwd=",
            )

    def _named(self, name: str, search: str, part: Part) -> Iterator[Remark]:
        """A name without a slash: the first program on the search path is taken."""
        found = Kind.MISSING
        for directory in search.split(":"):
            if not directory.startswith("/"):
                return  # it depends on the directory of the run
            path = f"{directory.rstrip('/')}/{name}"
            kind = self._look(path)
            if kind is Kind.PROGRAM:
                yield from self._at(path, path, search, part)
                return
            if kind is not Kind.MISSING:
                found = kind
        if found is Kind.MISSING:
            yield Remark(
                Advice.COMMAND_MISSING,
                part,
                f"there is no program {quoted(name)} on the search path {quoted(search)}",
                "write its absolute path, or set the search path with env=PATH=...",
            )
        elif found is not Kind.HIDDEN:
            message = f"what the search path has as {quoted(name)} may not be executed"
            yield Remark(Advice.COMMAND_NOT_EXECUTABLE, part, message, "write an absolute path")

    def _at(self, path: str, shown: str, search: str, part: Part) -> Iterator[Remark]:
        kind = self._look(path)
        if kind is Kind.MISSING:
            fix = "" if path == shown else f"it is looked for at {quoted(path)}"
            message = f"there is no program {quoted(shown)}"
            yield Remark(Advice.COMMAND_MISSING, part, message, fix)
        elif kind is Kind.DIRECTORY:
            message = f"{quoted(shown)} is a directory"
            yield Remark(Advice.COMMAND_NOT_EXECUTABLE, part, message, "name a program in it")
        elif kind is Kind.OTHER:
            message = f"{quoted(shown)} is not a regular file"
            yield Remark(Advice.COMMAND_NOT_EXECUTABLE, part, message, "name a program")
        elif kind is Kind.FILE:
            message = f"nobody may execute {quoted(shown)}"
            yield Remark(Advice.COMMAND_NOT_EXECUTABLE, part, message, f"chmod +x {quoted(path)}")
        elif kind is Kind.PROGRAM and (obstacle := self._obstacle(path, search)):
            message, _, fix = obstacle.partition("\n")
            yield Remark(Advice.COMMAND_INTERPRETER, part, f"{quoted(shown)} {message}", fix)

    def _obstacle(self, path: str, search: str) -> str:
        """Why the kernel would not execute a file, and the fix on a second line; '' if it would."""
        key = (path, search)
        if key not in self._obstacles:
            head = self._host.head(path)
            self._obstacles[key] = "" if head is None else self._judge(head, search)
        return self._obstacles[key]

    def _judge(self, head: bytes, search: str) -> str:
        if not head.startswith(b"#!"):
            # A binary file may be for an interpreter that is registered with the kernel.
            if b"\0" in head:
                return ""
            what = "is a text without a #! line" if head else "is empty"
            return f"{what}: the kernel does not know how to execute it\nbegin it with #!/bin/sh"
        line, newline, _ = head[2:].partition(b"\n")
        if not newline and len(head) >= _HEAD_BYTES:
            return ""  # longer than what was read
        if line.endswith(b"\r"):
            return (
                "has a carriage return behind its #! line, as on Windows: the kernel takes it for "
                "a part of the interpreter's name\ntake it out: sed -i 's/\\r$//'"
            )
        words = line.decode(errors="replace").split()
        if not words:
            return "names no interpreter behind its #!\nbegin it with #!/bin/sh"
        if words[0].rpartition("/")[2] == "env":
            return self._through_env(words[1:], search)
        if not words[0].startswith("/"):
            return f"has a relative interpreter, {quoted(words[0])}\nwrite its absolute path"
        if self._look(words[0]) not in (Kind.PROGRAM, Kind.HIDDEN):
            return f"needs the interpreter {quoted(words[0])}, which is not there\ninstall it"
        return ""

    def _through_env(self, words: list[str], search: str) -> str:
        """`#!/usr/bin/env NAME` looks for NAME on the search path of the run."""
        names = [word for word in words if not word.startswith("-") and "=" not in word]
        if not names or "/" in names[0]:
            return ""
        for directory in search.split(":"):
            path = f"{directory.rstrip('/')}/{names[0]}"
            if not path.startswith("/") or self._look(path) in (Kind.PROGRAM, Kind.HIDDEN):
                return ""
        return (
            f"needs the interpreter {quoted(names[0])}, which is not on the search path "
            f"{quoted(search)}\ninstall it, or set the search path with env=PATH=..."
        )

    def _look(self, path: str) -> Kind:
        kind = self._kinds.get(path)
        if kind is None:
            kind = self._kinds[path] = self._host.look(path)
        return kind


def _search_path(task: Task) -> str:
    return next((value for key, value in task.env if key == "PATH"), DEFAULT_PATH)
