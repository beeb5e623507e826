"""Completion scripts for bash, zsh and fish, made from what the parsers know.

Names of jobs are asked of `krontab list` when the key is pressed; all else is in the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.krontab.reference import Command, Option, commands

_JOB = "JOB"
_FILES = ("PATH", "FILE", "LOG", "A", "B")
_NAMES = "krontab list --format names 2>/dev/null"


def _bash() -> Iterator[str]:
    known = list(commands())
    yield "# bash completion for krontab; made by: krontab completion bash"
    yield "_krontab() {"
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
                yield f"        {'|'.join(option.flags)}) {_bash_value(option)}; return ;;"
        yield "        esac"
        flags = " ".join(flag for option in command.options for flag in option.flags)
        yield '        if [[ "$word" == -* ]]; then'
        yield f'            COMPREPLY=($(compgen -W "{flags}" -- "$word"))'
        if command.arguments:
            yield "        else"
            yield f"            {_bash_value(command.arguments[0])}"
        yield "        fi ;;"
    yield "    esac"
    yield "}"
    yield "complete -F _krontab krontab"


def _bash_value(option: Option) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word"))'
    if option.metavar == _JOB:
        return f'COMPREPLY=($(compgen -W "$({_NAMES})" -- "$word"))'
    if option.metavar in _FILES:
        return 'mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null'
    return "COMPREPLY=()"


def _zsh() -> Iterator[str]:
    known = list(commands())
    yield "#compdef krontab"
    yield "# zsh completion for krontab; made by: krontab completion zsh"
    yield "_krontab_jobs() {"
    yield f'    local -a names; names=("${{(@f)$({_NAMES})}}")'
    yield "    compadd -a names"
    yield "}"
    yield "_krontab() {"
    yield "    local -a words_of_command"
    yield "    if (( CURRENT == 2 )); then"
    yield from _zsh_words([(first, _summary(known, first)) for first in _firsts(known)])
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
                value = f":{option.value}:{_zsh_value(option)}" if option.takes_value else ""
                yield f"            {_single(f'{star}{flag}[{_zsh_text(option.help)}]{value}')} \\"
        for argument in command.arguments:
            place = "*" if argument.is_repeatable else ""
            spec = f"{place}:{argument.value}:{_zsh_value(argument)}"
            yield f"            {_single(spec)} \\"
        yield "            ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _krontab ]; then _krontab "$@"; else compdef _krontab krontab; fi'


def _zsh_words(named: list[tuple[str, str]]) -> Iterator[str]:
    yield "        words_of_command=("
    for name, summary in named:
        yield f"            {_single(f'{name}:{_zsh_text(summary)}')}"
    yield "        )"
    yield "        _describe command words_of_command"


def _zsh_value(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    if option.metavar == _JOB:
        return "_krontab_jobs"
    return "_files" if option.metavar in _FILES else " "


def _zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", r"\:")


def _fish() -> Iterator[str]:
    known = list(commands())
    yield "# fish completion for krontab; made by: krontab completion fish"
    yield "complete -c krontab -f"
    firsts = " ".join(_firsts(known))
    for first in _firsts(known):
        summary = _single_fish(_summary(known, first))
        unseen = f"not __fish_seen_subcommand_from {firsts}"
        yield f"complete -c krontab -n '{unseen}' -a {first} -d {summary}"
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
                yield f"complete -c krontab -n '{condition}' -a {second} -d {summary}"
    for command in known:
        condition = "; and ".join(
            f"__fish_seen_subcommand_from {word}" for word in command.name.split()
        )
        for option in command.options:
            flags = " ".join(_fish_flag(flag) for flag in option.flags)
            value = _fish_value(option) if option.takes_value else ""
            text = _single_fish(option.help)
            yield f"complete -c krontab -n '{condition}' {flags}{value} -d {text}"
        for argument in command.arguments[:1]:
            if value := _fish_value(argument).removeprefix(" -x").removeprefix(" -r"):
                yield f"complete -c krontab -n '{condition}'{value}"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_value(option: Option) -> str:
    if option.choices:
        return f" -x -a '{' '.join(option.choices)}'"
    if option.metavar == _JOB:
        return f" -x -a '({_NAMES})'"
    return " -r -F" if option.metavar in _FILES else " -x"


def _firsts(known: list[Command]) -> list[str]:
    return list(dict.fromkeys(command.name.split()[0] for command in known))


def _first_words(known: list[Command]) -> str:
    return " ".join(_firsts(known))


def _grouped(known: list[Command]) -> list[str]:
    """The first words of commands that have two."""
    return list(dict.fromkeys(c.name.split()[0] for c in known if " " in c.name))


def _second_words(known: list[Command], first: str) -> list[str]:
    return [c.name.split()[1] for c in known if c.name.startswith(f"{first} ")]


def _summary(known: list[Command], first: str) -> str:
    from kron.krontab.program import GROUPS

    return GROUPS.get(first) or next(c.summary for c in known if c.name == first)


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _single_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def script(shell: str) -> str:
    """The completion script of a shell."""
    return "\n".join(SHELLS[shell]()) + "\n"
