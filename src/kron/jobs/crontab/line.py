"""One line of a crontab, split as Debian's cron does it: a setting, or a time and a command.

This module reads the parts: quotes around a setting's value, `%` in a command. What depends on
earlier lines, such as the environment and the time zone, is in `crontab`.
"""

from __future__ import annotations

import re

from kron.core.cron import KINDS, REBOOT, SHORTHANDS
from kron.core.errors import Code, ParseError, Problem, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.tokens import Token
from kron.jobs.fields import FIELDS

_SETTING = re.compile(
    r"""[ \t]*+ (?: "(?P<double>[^"=]*+)" | '(?P<single>[^'=]*+)' | (?P<bare>(?!["'])[^ \t=]*+) )
    [ \t]*+ = [ \t]*+
    (?: "(?P<in_double>[^"]*+)"[ \t]*+ | '(?P<in_single>[^']*+)'[ \t]*+ | (?P<plain>(?!["']).++) )
    """,
    re.VERBOSE,
)
_MEANT_AS_SETTING = re.compile(r"[ \t]*+(export[ \t]++)?([A-Za-z_][A-Za-z0-9_]*+)[ \t]*+=[ \t]*+")
_ANACRON = re.compile(
    r"""[ \t]*+ (?: @[a-z]++ | [0-9]++ ) [ \t]++ [0-9]++
    [ \t]++ (?=[^ \t]*[A-Za-z]{3}) [^ \t]++ [ \t]++ /?[A-Za-z]""",
    re.VERBOSE,
)
_WORD = re.compile(r"[ \t]*+([^ \t]++)")
_COMMAND = re.compile(r"(?:[^\\%]|\\[\\%]?)*")
_COMMAND_ESCAPE = re.compile(r"\\([\\%])")
_INPUT_ESCAPE = re.compile(r"\\?%")


class Setting(Frozen):
    """`NAME=value`, both without their quotes."""

    name: Token
    value: Token


class JobLine(Frozen):
    when: Token
    """Five fields as written, or a word such as `@daily`."""
    user: Token | None
    quiet: Token | None
    """The hyphen that makes cronie leave the line out of its log."""
    written: Token
    """The command with its escapes."""
    command: str
    stdin: str | None
    has_backslashes: bool
    """Whether two backslashes became one."""


def read_setting(text: str) -> Setting | None:
    """The setting of a line, or None if it is not one. Settings are tried before jobs."""
    match = _SETTING.fullmatch(text)
    if match is None:
        _check_not_meant_as_setting(text)
        return None
    name = _first_group(match, "double", "single", "bare")
    value = _first_group(match, "in_double", "in_single", "plain")
    if match["plain"] is not None:
        value = Token(value.text.rstrip(" \t"), value.start)
    if not name.text:
        message = "the setting has no name before its equals sign"
        raise ParseError.single(text, Code.FIELD_FORM, message, fix="write it like LANG=C.UTF-8")
    return Setting(name, value)


def is_anacron(text: str) -> bool:
    """Whether this is a line of an anacrontab: a period in days, a delay, a name, a command."""
    return _ANACRON.match(text) is not None


def read_job(text: str, problems: list[Problem], *, has_user: bool) -> JobLine | None:
    """The job of a line. The fields of its time are not read yet."""
    position = len(text) - len(text.lstrip(" \t"))
    quiet = Token("-", position) if text[position] == "-" else None
    position += 1 if quiet else 0
    if text[position : position + 1] == "@":
        when = _word(text, position)
        _check_shorthand(when, problems)
    else:
        when = _five_fields(text, position, problems)
    user = _word(text, when.end) if has_user else None
    rest = text[user.end if user else when.end :].lstrip(" \t")
    written = Token(rest, len(text) - len(rest))
    command, stdin, has_backslashes = split_command(rest)
    if problems:  # with too few fields, every word after them is at the wrong place
        return None
    if user is not None and user.text:
        _check_user(user, problems)
    if not command.strip(" \t") and not problems:
        end = len(text.rstrip(" \t"))
        message = f"the line has no command after its {'user' if user else 'time'}"
        problems.append(Problem(Code.FIELD_MISSING, message, end, end + 1))
    elif user is None and command.startswith("*"):
        message = "there is a sixth field before the command"
        fix = "remove one: cron has no field for seconds"
        problems.append(Token("*", written.start).problem(Code.CRON_FIELD_COUNT, message, fix=fix))
    return JobLine(when, user, quiet, written, command, stdin, has_backslashes)


def split_command(written: str) -> tuple[str, str | None, bool]:
    r"""The command, its input, and whether two backslashes became one.

    The first `%` ends the command, later ones are line breaks. In a command `\%` is `%` and, with
    Debian's cron, `\\` is one backslash. In its input only `\%` is an escape. Input ends with a
    line break.
    """
    command = next(_COMMAND.finditer(written))[0]
    text = _COMMAND_ESCAPE.sub(r"\1", command)
    has_backslashes = "\\" in _COMMAND_ESCAPE.findall(command)
    after = written[len(command) + 1 :]
    if not after:
        return text, None, has_backslashes
    stdin = _INPUT_ESCAPE.sub(lambda escape: "\n" if escape[0] == "%" else "%", after)
    return text, stdin if stdin.endswith("\n") else stdin + "\n", has_backslashes


def _first_group(match: re.Match[str], *names: str) -> Token:
    return next(Token(match[name], match.start(name)) for name in names if match[name] is not None)


def _check_not_meant_as_setting(text: str) -> None:
    """Report a malformed setting as such; otherwise it would be read as a strange minute."""
    match = _MEANT_AS_SETTING.match(text)
    if match is None:
        return
    name, value = quoted(match[2]), text[match.end() :]
    if match[1]:
        message, fix = f"there is a shell's export before {name}", "remove the word"
    elif not value:
        message, fix = f"the setting {name} has no value", 'write ="" for an empty one'
    elif value.count(value[0]) == 1:
        message, fix = f"a quote in the setting {name} is never closed", "close it"
    else:
        message = f"there is more after the quoted value of the setting {name}"
        fix = "put all of it between quotes; a comment has a line of its own"
    place = Token(text[match.start(2) :], match.start(2))
    raise ParseError(text, [place.problem(Code.FIELD_FORM, message, fix=fix)])


def _check_shorthand(word: Token, problems: list[Problem]) -> None:
    known = (*SHORTHANDS, REBOOT)
    if word.text not in known:
        message = f"unknown word {quoted(word.text)}: they are {', '.join(known)}, in lower case"
        fix = did_you_mean(word.text, known)
        problems.append(word.problem(Code.CRON_SHORTHAND, message, fix=fix))


def _five_fields(text: str, position: int, problems: list[Problem]) -> Token:
    words: list[Token] = []
    for kind in KINDS:
        word = _word(text, words[-1].end if words else position)
        if not word.text:
            break
        words.append(word)
        if "~" in word.text:
            what = f"{kind.name}: {quoted(word.text)}"
            message = f"{what} is a random time, which only cronie supports"
            fix = "write its first time; in a krontab file, @win(after,...) covers the rest"
            problems.append(word.problem(Code.CRON_FIELD, message, fix=fix))
    if not words:
        words = [Token("", position)]
    fields = Token(text[words[0].start : words[-1].end], words[0].start)
    if len(words) < len(KINDS) and not problems:
        names = ", ".join(kind.name for kind in KINDS)
        message = f"the line has fewer than the five fields of its time: {names}"
        fix = "a line is a time and a command, or a setting like LANG=C.UTF-8"
        problems.append(fields.problem(Code.CRON_FIELD_COUNT, message, fix=fix))
    return fields


def _word(text: str, position: int) -> Token:
    match = _WORD.match(text, position)
    return Token("", len(text)) if match is None else Token(match[1], match.start(1))


def _check_user(user: Token, problems: list[Problem]) -> None:
    try:
        FIELDS["user"].read(user.text)
    except ParseError as error:
        message = error.message
        fix = "a system crontab has the user before the command, such as root"
        account, colon, _ = user.text.partition(":")
        if account and colon:
            message = f"{quoted(user.text)} names a group too, which only FreeBSD's cron reads"
            fix = f"write {quoted(account)}; a krontab line has group=... for the group"
        problems.append(user.problem(Code.FIELD_VALUE, message, fix=fix))
