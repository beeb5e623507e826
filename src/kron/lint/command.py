"""Commands and hooks that are written for a shell, although no shell reads them.

A false alarm costs more than a miss: many programs take stars, dollars and semicolons as arguments.
So a word counts only if it is almost certainly meant for a shell. Words with spaces never count:
they were quoted on purpose, for `sh -c` or `ssh`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.errors import quoted, without_secrets
from kron.jobs.task import Task
from kron.lint.remark import Advice, Remark
from kron.lint.wording import clipped

_MEANINGS = {
    re.compile(r"(?:\|\|?|&&?|[0-9&]?(?:>>?|<<?)(?:&[0-9-]?)?)\Z"): "a shell's operator",
    re.compile(r"(?:[0-9&]?>>?|<)[A-Za-z0-9_./&$~{}%-]++\Z"): "a shell's redirection",
    re.compile(r"[^|&;<>]++(?:&&|\|\||>>?[/&])"): "two words and an operator to a shell",
    re.compile(r"'|[^']*+'\Z"): "quoted as for a shell",
    re.compile(r".*?(?:\$[A-Za-z_{(]|`)"): "for a shell to expand",
    re.compile(r"~(?:/|\Z)"): "a shell's name for a home directory",
}
"""How words begin that almost certainly are meant for a shell, and what they mean to it."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+=")
_PATTERN = re.compile(r"\.{0,2}/[^*]*+\*")
_FINDS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_BUILTINS = (
    *(".", "alias", "cd", "eval", "exec", "exit", "export", "for", "if", "readonly", "set"),
    *("source", "trap", "ulimit", "umask", "unset", "until", "while", "{", "("),
)
_FIX = "add shell=true to run the command with /bin/sh"
_FIX_OF_HOOK = "name a script, or add shell=true for the command of the job and its hooks"


def shell_remarks(task: Task) -> Iterator[Remark]:
    """Of the command and each hook, a remark about the first word that only a shell understands."""
    if task.shell:
        return
    yield from _remarks("command=", task.argv, "command", _FIX)
    for key, hook in task.of_hooks():
        yield from _remarks(f"{key}=", hook.argv, "hook", _FIX_OF_HOOK)


def _remarks(part: str, argv: tuple[str, ...], what: str, fix: str) -> Iterator[Remark]:
    found = _first(argv)
    if found is None:
        return
    word, meaning = found
    becomes = "it is not a program" if word == argv[0] else "it becomes an argument"
    message = f"{quoted(word)} is {meaning}, but no shell reads this {what}: {becomes}"
    if _ASSIGNMENT.match(word) and word == argv[0]:
        fix = f"write it as a field, env={clipped(without_secrets(word))}, or {fix}"
    yield Remark(Advice.COMMAND_SHELL, part, message, fix, word)


def is_shell_word(name: str) -> bool:
    return name in _BUILTINS or bool(_ASSIGNMENT.match(name))


def _first(argv: tuple[str, ...]) -> tuple[str, str] | None:
    if argv[0] in _BUILTINS:
        return argv[0], "built into shells"
    if _ASSIGNMENT.match(argv[0]):
        return argv[0], "an assignment"
    finds = not _FINDS.isdisjoint(argv)  # `find -exec ... ;` needs its semicolon
    before = ""
    for word in argv:
        if " " not in word:
            for pattern, what in _MEANINGS.items():
                if pattern.match(word):
                    return word, what
            # The value of an option may well be a pattern: -name, --exclude, -e.
            if before and not before.startswith("-"):
                if _PATTERN.match(word):
                    return word, "a pattern for a shell to expand"
                if word.endswith(";") and not finds:
                    return word, "a shell's separator"
        before = word
    return None
