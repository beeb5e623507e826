"""The fields of a krontab line and how each value is read.

`FIELDS` is the only list of them: the line parser, the command line and the test of the
documentation use it. A reader gets the value without its quotes and raises a `ParseError` with a
position in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kron.core.duration import parse_duration
from kron.core.errors import Code, ParseError, is_showable, quoted, without_secrets
from kron.core.frozen import Frozen
from kron.jobs.hooks import read_addresses, read_hook, read_mail_on, read_sender
from kron.jobs.task import (
    DEFAULT_SHELL,
    UNLIMITED,
    CgroupLimit,
    Destination,
    EnvFile,
    LimitedResource,
    Output,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 200
_NAME = re.compile(r"(?!\.)(?!.*(?:\.\.|/\.))[a-z0-9/_.-]++")
"""No part of a name is hidden, or leads up, where it becomes a part of a file's name."""
_ACCOUNT = r"[A-Za-z0-9_.][A-Za-z0-9_.-]*+\$?"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*+"
is_slot = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}").fullmatch
_SIZE = r"([0-9]{1,18})([KMGT]?)"
_TOKENS = r"%(.?)|\{([^{}]*)\}?"
STRFTIME_TOKENS = "aAbBdHIjmMpSuUVwWyYGeFTDs%"
_PLACEHOLDERS = ("name", "period")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LARGEST = 2**63 - 1
_DESTINATIONS = ("keep", "inherit", "discard", "syslog", "journal")
MOST_RETRIES = 100
SMALLEST_OUTPUT, LARGEST_OUTPUT = 2**10, 64 * 2**20
MOST_PROCESSES = 2**22
"""More than the kernel has numbers for."""


class LineField(Frozen):
    key: str
    read: Callable[[str], Any]
    example: str
    meaning: str


def plain_name(text: str) -> str:
    """A name for a job, made from any text: a valid name as it is, '' if nothing is left."""
    if _NAME.fullmatch(text[:LONGEST_NAME]):
        return text[:LONGEST_NAME]
    plain = re.sub(r"[^a-z0-9/_.-]+", "-", text[:LONGEST_NAME].lower())
    return re.sub(r"(?<=/)\.+/?|\.(?=\.)", "", plain).strip("-.")


def _read_name(text: str) -> str:
    if _NAME.fullmatch(text) and len(text) <= LONGEST_NAME:
        return text
    if len(text) > LONGEST_NAME:
        raise _error(text, f"the name is longer than {LONGEST_NAME} characters", "shorten it")
    plain = plain_name(text) if without_secrets(text) == text else ""
    fix = f"write {plain}" if plain else "write it like db-backup"
    rule = "a name has lower-case letters, digits, /, -, _ and . only"
    if re.fullmatch(r"[a-z0-9/_.-]+", text):
        rule = "no part of a name begins with a dot, and it has no two dots in a row"
    raise _error(text, f"{quoted(text)} is not a name: {rule}", fix)


def _matching(
    pattern: str, what: str, fix: str = "", as_value: Callable[[str], Any] = str
) -> Callable[[str], Any]:
    """A reader of the values that a pattern matches; `what` says what other values are not."""

    def read(text: str) -> Any:
        if re.fullmatch(pattern, text):
            return as_value(text)
        raise _error(text, f"{quoted(text)} is not {what}", fix)

    return read


def _read_command(text: str) -> str:
    if text.strip(" \t"):
        return text
    raise _error(text, "the command is empty", "name a program, such as /usr/bin/true")


def _read_variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if equals and re.fullmatch(_VARIABLE, key):
        return key, value
    fix = 'write it like env=LANG=C, or env="GREETING=good morning"'
    raise _error(text, f"{quoted(text)} is not NAME=value", fix)


def _read_env_file(text: str) -> EnvFile:
    path = text.removeprefix("-")
    if path.startswith("/"):
        return EnvFile(path, may_lack=path != text)
    raise _error(text, f"{quoted(path)} is not an absolute path", "begin it with /")


def _read_timeout(text: str) -> int:
    timeout_ns = parse_duration(text)
    if timeout_ns:
        return timeout_ns
    raise _error(text, "a timeout of 0 would stop every run", "leave it out for no timeout")


def _read_retry_within(text: str) -> int:
    within_ns = parse_duration(text)
    if within_ns:
        return within_ns
    raise _error(text, "within 0 nothing can be tried again", "leave retries out for none")


def _read_slots(text: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    start = 0
    for name in text.split(","):
        end = start + len(name)
        if not is_slot(name):
            fix = "write names with commas between them, like database,disk"
            raise _error(text, f"{quoted(name)} is not the name of a slot", fix, start, end)
        if name in names:
            raise _error(text, f"the slot {name} is named twice", "keep one of them", start, end)
        names[name] = None
        start = end + 1
    return tuple(names)


def _read_output(text: str) -> Output:
    kind, colon, path = text.partition(":")
    if kind == Destination.FILE and colon:
        return Output(Destination.FILE, _checked_path(text, path))
    if text in _DESTINATIONS:
        return Output(Destination(text))
    message = f"{quoted(text)} is not {', '.join(_DESTINATIONS)} or file:<path>"
    fix = f"write file:{text}" if text.startswith("/") and is_showable(text) else ""
    raise _error(text, message, fix)


def _checked_path(text: str, path: str) -> str:
    if not path.startswith("/"):
        raise _error(text, f"the path {quoted(path)} is not absolute", "begin it with /")
    for token in re.finditer(_TOKENS, path):
        place = token.start() + len(text) - len(path)
        if token[0][0] == "%":
            if not token[1] or token[1] not in STRFTIME_TOKENS:
                message = f"{quoted(token[0])} is not a time token"
                fix = "use those of strftime, such as %Y-%m-%d, and %% for a percent sign"
                raise _error(text, message, fix, place, place + len(token[0]))
        elif token[2] not in _PLACEHOLDERS or not token[0].endswith("}"):
            message = f"{quoted(token[0])} is not {{name}} or {{period}}"
            raise _error(text, message, "", place, place + len(token[0]))
    return path


def _read_size(text: str) -> int:
    if text == "unlimited":
        return UNLIMITED
    match = re.fullmatch(_SIZE, text)
    if match and int(match[1]) * _UNITS[match[2]] <= _LARGEST:
        return int(match[1]) * _UNITS[match[2]]
    message = f"{quoted(text)} is not a number of bytes, nor unlimited"
    raise _error(text, message, "write it like 536870912 or 512M")


def _read_memory_max(text: str) -> int:
    match = re.fullmatch(_SIZE, text)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if 0 < size <= _LARGEST:
        return size
    message = f"{quoted(text)} is not a number of bytes, at least 1"
    raise _error(text, message, "write it like 536870912 or 512M, or leave it out for no limit")


def _number_up_to(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if re.fullmatch("[0-9]{1,18}", text) and 1 <= int(text) <= most:
            return int(text)
        raise _error(text, f"{quoted(text)} is not a number from 1 to {most}")

    return read


def _read_output_limit(text: str) -> int:
    match = re.fullmatch(_SIZE, text)
    size = int(match[1]) * _UNITS[match[2]] if match else -1
    if SMALLEST_OUTPUT <= size <= LARGEST_OUTPUT:
        return size
    message = f"{quoted(text)} is not a number of bytes from 1K to 64M"
    fix = "for no output write stdout=discard stderr=discard, for all of it stdout=file:<path>"
    raise _error(text, message, fix)


_read_shell = _matching(
    "true|/.*",
    "true, nor the absolute path of a shell",
    "write shell=true for /bin/sh, or leave it out for no shell",
    lambda text: DEFAULT_SHELL if text == "true" else text,
)
_read_account = _matching(_ACCOUNT, "the name or number of a user or group")
_read_directory = _matching("/.*", "an absolute path", "begin it with /")
_read_umask = _matching(
    "0?[0-7]{1,3}", "an octal file mode", "write it like 022", lambda text: int(text, 8)
)
_read_count = _matching(
    "unlimited|[0-9]{1,18}",
    "a number, nor unlimited",
    as_value=lambda text: UNLIMITED if text == "unlimited" else int(text),
)
_read_retries = _matching(
    f"[1-9]?[0-9]|{MOST_RETRIES}", f"a number of retries from 0 to {MOST_RETRIES}", as_value=int
)
_read_environment = _matching(
    "inherit|clean", "inherit or clean", as_value=lambda text: text == "inherit"
)
_read_nice = _matching("-?[01]?[0-9]|-20", "a niceness from -20 to 19", as_value=int)

FIELDS = {
    field.key: field
    for field in (
        LineField("name", _read_name, "db-backup", "required, unique in the file"),
        LineField(
            "command",
            _read_command,
            '"/usr/bin/backup --all"',
            "required; unquoted: one executable, quoted: split into words, never by a shell",
        ),
        LineField(
            "shell",
            _read_shell,
            "true",
            "`true`: the command goes to `/bin/sh -c`; an absolute path: to that shell",
        ),
        LineField("user", _read_account, "backup", "switch to this user (needs root)"),
        LineField("group", _read_account, "backup", "switch to this group (needs root)"),
        LineField("cwd", _read_directory, "/srv/app", "the directory to run in"),
        LineField("umask", _read_umask, "027", "the file mode mask, octal"),
        LineField("env", _read_variable, "LANG=C", "an environment variable; repeatable"),
        LineField(
            "env_file",
            _read_env_file,
            "/etc/default/app",
            "a file of variables, read at each start; with a `-` before it, it may be missing",
        ),
        LineField(
            "environment",
            _read_environment,
            "clean",
            "`inherit` (default): krond's own variables; `clean`: none of them",
        ),
        LineField("timeout", _read_timeout, "2h", "stop the run after this long"),
        LineField("grace", parse_duration, "30s", "how long after TERM comes KILL; default 10s"),
        LineField("retries", _read_retries, "3", "try a run that failed again, this often at most"),
        LineField(
            "retry_delay",
            parse_duration,
            "1m",
            "how long after the first failure, twice as long after each further one; default 30s",
        ),
        LineField(
            "retry_within",
            _read_retry_within,
            "1h",
            "start no attempt later than this after the chosen time; default: the deadline, if set",
        ),
        LineField(
            "slots",
            _read_slots,
            "database",
            "run only while there is room in the slots with these names; several: `database,disk`",
        ),
        LineField(
            "stdout",
            _read_output,
            "file:/var/log/{name}-%Y%m%d.log",
            "`keep` (default in the background), `inherit` (default in the foreground), `discard`, "
            "`syslog`, `journal` or `file:<path>`",
        ),
        LineField("stderr", _read_output, "syslog", "the same for errors"),
        LineField(
            "output_limit",
            _read_output_limit,
            "16M",
            "how much of a run's output `keep` keeps: its beginning and its end; default 1M",
        ),
        LineField(
            "on_start", read_hook, "/usr/bin/hook", "a command or an https URL for its start"
        ),
        LineField("on_success", read_hook, "https://hc.example.org/a", "for a run that succeeded"),
        LineField("on_failure", read_hook, '"notify --page"', "for a run that did not succeed"),
        LineField("on_missed", read_hook, "/usr/bin/hook", "for a period that had no run"),
        LineField("mail", read_addresses, "ops@example.org", "mail to these addresses"),
        LineField(
            "mail_on",
            read_mail_on,
            "output",
            "`failure` (default): a run failed, or a period was missed; `output`: a run has "
            "printed something; `always`",
        ),
        LineField(
            "mail_from", read_sender, "krond@example.org", "the sender; default: the run's user"
        ),
        LineField("limit_nofile", _read_count, "1024", "open files, or `unlimited`"),
        LineField("limit_nproc", _read_count, "64", "processes of the user, or `unlimited`"),
        LineField("limit_as", _read_size, "512M", "address space in bytes, or `unlimited`"),
        LineField("limit_core", _read_size, "0", "size of a core file, or `unlimited`"),
        LineField("nice", _read_nice, "10", "niceness, -20 to 19"),
        LineField(
            "memory_max", _read_memory_max, "512M", "memory of all its processes together, in bytes"
        ),
        LineField(
            "cpu_weight",
            _number_up_to(10_000),
            "50",
            "its share of the CPU beside other runs, 1 to 10000; one without it has 100",
        ),
        LineField("pids_max", _number_up_to(MOST_PROCESSES), "64", "processes of the run"),
        LineField("description", str, '"nightly dump"', "text for people"),
    )
}
"""Every field of a krontab line, in the order in which lines are written."""

REPEATABLE = ("env",)
REQUIRED = ("name", "command")
LIMIT_FIELDS = {f"limit_{resource}": resource for resource in LimitedResource}
CGROUP_FIELDS = {limit.field: limit for limit in CgroupLimit}


def _error(text: str, message: str, fix: str = "", start: int = 0, end: int = -1) -> ParseError:
    return ParseError.single(text, Code.FIELD_VALUE, message, start=start, end=end, fix=fix)
