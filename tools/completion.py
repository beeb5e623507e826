"""Generates completion scripts for bash, zsh and fish from a program's parsers.

The shell runs the program's `job_names` when it completes the name of a job, or its `completer` for
what only a cluster knows; everything else is in the script. Names come from files and clusters of
others: no shell may evaluate them, and one that a shell could obey is not proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.console.program import Program
from tools.commands import Command, Option, commands, origin

_JOB = "JOB"
_ASKED = (_JOB, "CRONJOB", "NS", "CONTEXT", "CLUSTER", "USER")
"""What a program's completer is asked for."""
_FILES = ("PATH", "FILE", "LOG", "A", "B")
_SAFE = "[A-Za-z0-9._/@][A-Za-z0-9._:/@-]*"
"""Names that are proposed. The last line of a completer, which begins with `:`, is not one."""


def _bash(program: Program) -> Iterator[str]:
    name = program.name
    known = list(commands(program))
    yield f"# bash completion for {name}; made by: {origin(program, 'completion', 'bash')}"
    if program.job_names or program.completer:
        asked = _asked(program, '"${COMP_WORDS[@]:1:COMP_CWORD}"')
        yield f"_{name}_asked() {{"
        yield "    local each"
        yield "    while IFS= read -r each; do"
        yield '        if [[ "$each" == "$word"* ]]; then COMPREPLY+=("$each"); fi'
        yield f"    done < <({asked})"
        yield "}"
    yield f"_{name}() {{"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local command="${COMP_WORDS[1]}"'
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'        COMPREPLY=($(compgen -W "{_first_words(known)} --help --version" -- "$word"))'
    yield "        return"
    yield "    fi"
    for first in _grouped(known):
        yield f'    if [ "$command" = {first} ]; then'
        yield '        if [ "$COMP_CWORD" -eq 2 ]; then'
        seconds = " ".join(_second_words(known, first))
        yield f'            COMPREPLY=($(compgen -W "{seconds}" -- "$word"))'
        yield "            return"
        yield "        fi"
        yield f'        command="{first} ${{COMP_WORDS[2]}}"'
        yield "    fi"
    yield '    case "$command" in'
    for command in known:
        yield f'    "{command.name}")'
        yield '        case "$before" in'
        for option in command.options:
            if option.takes_value:
                yield f"        {'|'.join(option.flags)}) {_bash_value(program, option)}; return ;;"
        yield "        esac"
        flags = " ".join(flag for option in command.options for flag in option.flags)
        yield '        if [[ "$word" == -* ]]; then'
        yield f'            COMPREPLY=($(compgen -W "{flags}" -- "$word"))'
        if command.arguments:
            yield "        else"
            yield f"            {_bash_value(program, command.arguments[0])}"
        yield "        fi ;;"
    yield "    esac"
    yield "}"
    yield f"complete -F _{name} {name}"


def _bash_value(program: Program, option: Option) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word"))'
    if _is_asked(program, option):
        return f"_{program.name}_asked"
    if option.metavar in _FILES:
        return 'mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null'
    return "COMPREPLY=()"


def _zsh(program: Program) -> Iterator[str]:
    name = program.name
    known = list(commands(program))
    yield f"#compdef {name}"
    yield f"# zsh completion for {name}; made by: {origin(program, 'completion', 'zsh')}"
    if program.job_names or program.completer:
        asked = _asked(program, '"${(@)words[1,CURRENT]}"')
        yield f"_{name}_asked() {{"
        yield f'    local -a names; names=(${{(f)"$({asked})"}})'
        yield "    compadd -a names"
        yield "}"
    yield f"_{name}() {{"
    yield "    local -a words_of_command"
    yield "    if (( CURRENT == 2 )); then"
    yield from _zsh_words([(first, _summary(program, known, first)) for first in _firsts(known)])
    yield "        return"
    yield "    fi"
    yield '    local command="${words[2]}"'
    yield "    local skip=1"
    for first in _grouped(known):
        yield f'    if [[ "$command" == {first} ]]; then'
        yield "        if (( CURRENT == 3 )); then"
        named = [
            (command.name.split()[1], command.summary)
            for command in known
            if command.name.startswith(f"{first} ")
        ]
        yield from _zsh_words(named)
        yield "            return"
        yield "        fi"
        yield f'        command="{first} ${{words[3]}}"; skip=2'
        yield "    fi"
    yield "    shift $skip words; (( CURRENT -= skip ))"
    yield '    case "$command" in'
    for command in known:
        yield f'    "{command.name}")'
        yield "        _arguments \\"
        for option in command.options:
            for flag in option.flags:
                star = "*" if option.is_repeatable else ""
                value = _zsh_value(program, option)
                value = f":{option.value}:{value}" if option.takes_value else ""
                yield f"            {_single(f'{star}{flag}[{_zsh_text(option.help)}]{value}')} \\"
        for argument in command.arguments:
            place = "*" if argument.is_repeatable else ""
            spec = f"{place}:{argument.value}:{_zsh_value(program, argument)}"
            yield f"            {_single(spec)} \\"
        yield "            ;;"
    yield "    esac"
    yield "}"
    loaded = f'"$funcstack[1]" = _{name}'
    yield f'if [ {loaded} ]; then _{name} "$@"; else compdef _{name} {name}; fi'


def _zsh_words(named: list[tuple[str, str]]) -> Iterator[str]:
    yield "        words_of_command=("
    for word, summary in named:
        yield f"            {_single(f'{word}:{_zsh_text(summary)}')}"
    yield "        )"
    yield "        _describe command words_of_command"


def _zsh_value(program: Program, option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    if _is_asked(program, option):
        return f"_{program.name}_asked"
    return "_files" if option.metavar in _FILES else " "


def _zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", r"\:")


def _fish(program: Program) -> Iterator[str]:
    name = program.name
    known = list(commands(program))
    yield f"# fish completion for {name}; made by: {origin(program, 'completion', 'fish')}"
    yield f"complete -c {name} -f"
    firsts = " ".join(_firsts(known))
    for first in _firsts(known):
        summary = _single_fish(_summary(program, known, first))
        unseen = f"not __fish_seen_subcommand_from {firsts}"
        yield f"complete -c {name} -n '{unseen}' -a {first} -d {summary}"
    for first in _grouped(known):
        seconds = _second_words(known, first)
        condition = (
            f"__fish_seen_subcommand_from {first}; "
            f"and not __fish_seen_subcommand_from {' '.join(seconds)}"
        )
        for command in known:
            if command.name.startswith(f"{first} "):
                second = command.name.split()[1]
                summary = _single_fish(command.summary)
                yield f"complete -c {name} -n '{condition}' -a {second} -d {summary}"
    for command in known:
        condition = "; and ".join(
            f"__fish_seen_subcommand_from {word}" for word in command.name.split()
        )
        for option in command.options:
            flags = " ".join(_fish_flag(flag) for flag in option.flags)
            value = _fish_value(program, option) if option.takes_value else ""
            text = _single_fish(option.help)
            yield f"complete -c {name} -n '{condition}' {flags}{value} -d {text}"
        for argument in command.arguments[:1]:
            if value := _fish_value(program, argument).removeprefix(" -x").removeprefix(" -r"):
                yield f"complete -c {name} -n '{condition}'{value}"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_value(program: Program, option: Option) -> str:
    if option.choices:
        return f" -x -a '{' '.join(option.choices)}'"
    if _is_asked(program, option):
        asked = _asked(program, "(commandline -opc)[2..-1] (commandline -ct)")
        return f" -x -a '({asked})'"
    return " -r -F" if option.metavar in _FILES else " -x"


def _is_asked(program: Program, option: Option) -> bool:
    if program.completer:
        return option.metavar in _ASKED
    return bool(program.job_names) and option.metavar == _JOB


def _asked(program: Program, words: str) -> str:
    """What prints the proposals, a line each; `words` are the words so far, in a shell."""
    command = f"{program.completer} {words}" if program.completer else program.job_names
    return f'{command} 2>/dev/null | grep -xE "{_SAFE}"'


def _firsts(known: list[Command]) -> list[str]:
    return list(dict.fromkeys(command.name.split()[0] for command in known))


def _first_words(known: list[Command]) -> str:
    return " ".join(_firsts(known))


def _grouped(known: list[Command]) -> list[str]:
    """The first words of commands that have two."""
    return list(dict.fromkeys(c.name.split()[0] for c in known if " " in c.name))


def _second_words(known: list[Command], first: str) -> list[str]:
    return [c.name.split()[1] for c in known if c.name.startswith(f"{first} ")]


def _summary(program: Program, known: list[Command], first: str) -> str:
    return program.groups.get(first) or next(c.summary for c in known if c.name == first)


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _single_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[Program], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def script(program: Program, shell: str) -> str:
    """The completion script of a program for a shell."""
    return "\n".join(SHELLS[shell](program)) + "\n"
