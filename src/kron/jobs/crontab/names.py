"""Names for jobs that have none: a word or two of the command, as a person would call it.

A name depends on the command only, so that it stays when other lines come and go; jobs with the
same name are numbered in their order. It is a guess, not how a shell would read the command.
"""

from __future__ import annotations

import re
from itertools import takewhile

_LONGEST_NAME = 40
_LONGEST_COMMAND = 2_000
_MOST_ARGUMENTS = 2
_NAMELESS = "job"

_TOKEN = re.compile(
    r"""(?P<end> [;&|(){}]++ ) | (?P<redirection> [0-9]*+[<>]++&?+[ ]*+[^ \t;&|()<>]*+ )
    | (?P<word> (?: "(?:[^"\\]|\\.)*+" | '[^']*+' | `[^`]*+` | \$\([^()]*+\) | \\.
        | [^ \t;&|()<>"'\\] )++ )
    | (?P<other> . )""",
    re.VERBOSE,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+=")
_ARGUMENT = re.compile(r"[A-Za-z][A-Za-z0-9:_.-]*+")
_INTERPRETER = re.compile(r"(?:ba|da|k|z)?sh|(?:[a-z]++-)?(?:php|python|perl|ruby|node)[0-9.]*+")
_ADDRESS = re.compile(r"""['"]?https?://([^/?:'"]++)""")
_EXTENSION = re.compile(r"\.(?:sh|bash|php|py|pl|rb|js)\Z")

_STEPS_BEFORE = (
    *(".", ":", "[", "[[", "cd", "command", "echo", "exit", "export", "false", "mkdir", "printf"),
    *("set", "sleep", "source", "test", "true", "ulimit", "umask", "which"),
)
"""Commands that prepare for another one, which tells more about the job."""

_KEYWORDS = ("!", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while")

_WRAPPERS: dict[str, tuple[str, int]] = {
    "chrt": ("", 1),
    "env": ("u", 0),
    "flock": ("wE", 1),
    "ionice": ("cn", 0),
    "nice": ("n", 0),
    "sudo": ("ugh", 0),
    "timeout": ("ks", 1),
    **dict.fromkeys(("chronic", "exec", "nohup", "setsid", "time", *_KEYWORDS), ("", 0)),
}
"""Words before a command: the options that take a value, and the number of arguments."""

_DOWNLOADERS = ("curl", "lynx", "wget")


class Names:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last_number: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """`base`, with the next free number after it if it is taken."""
        name = base
        number = self._last_number.get(base, 1)
        while name in self._taken:
            number += 1
            name = f"{base}-{number}"
        self._last_number[base] = number
        self._taken.add(name)
        return name


def name_of(command: str) -> str:
    steps = _steps(command[:_LONGEST_COMMAND])
    if not steps:
        return _NAMELESS
    words = _program(next(filter(_is_telling, steps), steps[0]))
    return _plain("-".join(words)) or _NAMELESS


def _steps(command: str) -> list[list[str]]:
    """The words of each simple command, without wrappers, redirections and assignments."""
    steps: list[list[str]] = [[]]
    for token in _TOKEN.finditer(command):
        if token["end"]:
            steps.append([])
        elif token["word"]:
            steps[-1].append(token["word"])
    return [step for step in map(_unwrapped, steps) if step]


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        wrapper = _WRAPPERS.get(_file_name(words[0]))
        if wrapper is None and not _ASSIGNMENT.match(words[0]):
            break
        words = words[1:] if wrapper is None else _after_wrapper(words[1:], *wrapper)
    return words


def _after_wrapper(words: list[str], valued_options: str, arguments: int) -> list[str]:
    position = 0
    while position < len(words) and (words[position].startswith("-") or arguments):
        word = words[position]
        if not word.startswith("-"):
            arguments -= 1
        elif len(word) == 2 and word[1] in valued_options:
            position += 1
        position += 1
    return words[position:]


def _is_telling(words: list[str]) -> bool:
    program = _file_name(words[0])
    if _INTERPRETER.fullmatch(program):
        return _script(words) > 0
    return program not in _STEPS_BEFORE


def _program(words: list[str]) -> list[str]:
    """The program without its directory, and the plain words directly after it."""
    program = _file_name(words[0])
    if program in _DOWNLOADERS:
        hosts = (match[1] for word in words if (match := _ADDRESS.match(word)))
        return [program, *list(hosts)[:1]]
    if _INTERPRETER.fullmatch(program) or program == "run-parts":
        words = words[_script(words) :]
    arguments = takewhile(_ARGUMENT.fullmatch, words[1 : 1 + _MOST_ARGUMENTS])
    return [_EXTENSION.sub("", _file_name(words[0])), *arguments]


def _script(words: list[str]) -> int:
    """The position of the file that an interpreter runs; 0 if the program is an argument."""
    for place, word in enumerate(words):
        if place and not word.startswith("-") and not _ASSIGNMENT.match(word):
            return 0 if word.startswith(("'", '"')) else place
    return 0


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _plain(text: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()[:_LONGEST_COMMAND]).strip("-")
    return name[:_LONGEST_NAME].rstrip("-")
