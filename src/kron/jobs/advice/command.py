"""Commands that are written for a shell, where no shell reads them.

A false alarm costs more than a miss here: many programs take stars, dollars and semicolons as
arguments. So a word counts only where hardly anything but a shell could be meant, and words that
hold spaces never do: they were quoted on purpose, for `sh -c` or `ssh`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.errors import quoted
from kron.jobs.advice.remark import Advice, Remark, field
from kron.jobs.advice.wording import clipped
from kron.jobs.task import Task

_OPERATOR = re.compile(r"\|\|?|&&?|[0-9&]?(?:>>?|<<?)(?:&[0-9-]?)?")
_REDIRECTION = re.compile(r"(?:[0-9&]?>>?|<)[A-Za-z0-9_./&$~{}%-]++")
_GLUED = re.compile(r"[^|&;<>]++(?:&&|\|\||>>?[/&])")
_EXPANSION = re.compile(r"\$[A-Za-z_{(]|`")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+=")
_HOME = re.compile(r"~(?:/|$)")
_PATTERN = re.compile(r"\.{0,2}/[^*]*+\*")
_FINDS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_BUILTINS = frozenset(
    (
        *(".", "alias", "cd", "eval", "exec", "exit", "export", "for", "if", "readonly", "set"),
        *("source", "trap", "ulimit", "umask", "unset", "until", "while", "{", "("),
    )
)
_FIX = "add shell=true to have /bin/sh read it"


def shell_remarks(task: Task) -> Iterator[Remark]:
    """A remark about the first word that only a shell would understand."""
    if task.shell:
        return
    found = _first(task.argv)
    if found is None:
        return
    word, what = found
    becomes = "it is no program" if word == task.argv[0] else "it is passed on as an argument"
    fix = _FIX
    if _ASSIGNMENT.match(word) and word == task.argv[0]:
        fix = f"write it as a field, env={clipped(word)}, or {_FIX}"
    yield Remark(
        Advice.COMMAND_SHELL,
        field("command", word),
        f"{quoted(word)} is {what}, but no shell reads this command: {becomes}",
        fix,
    )


def is_shell_word(name: str) -> bool:
    """Whether the first word of a command is something that only a shell knows."""
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
            if what := _meaning(word):
                return word, what
            # What follows an option is its own affair: -name, --exclude, -e.
            if before and not before.startswith("-"):
                if _PATTERN.match(word):
                    return word, "a pattern for a shell to expand"
                if word.endswith(";") and not finds:
                    return word, "a shell's separator"
        before = word
    return None


def _meaning(word: str) -> str:
    """What a shell would take a word for; '' if for a plain word."""
    if _OPERATOR.fullmatch(word):
        return "a shell's operator"
    if _REDIRECTION.fullmatch(word):
        return "a shell's redirection"
    if _GLUED.match(word):
        return "two words and an operator to a shell"
    if word.startswith("'") or (word.endswith("'") and word.count("'") == 1):
        return "quoted as for a shell"
    if _EXPANSION.search(word):
        return "for a shell to expand"
    return "a shell's name for a home directory" if _HOME.match(word) else ""
