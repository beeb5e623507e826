"""The command `completion` of a program: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.share import shared_text
from kron.console.terminal import Terminal

FILES = {
    "bash": "bash-completion/completions/{program}",
    "zsh": "zsh/site-functions/_{program}",
    "fish": "fish/vendor_completions.d/{program}.fish",
}
"""Where the scripts are in the package's `share` directory, by shell."""


def examples(program: str) -> tuple[tuple[str, str], ...]:
    return (
        (f'eval "$({program} completion bash)"', "for this bash, or in ~/.bashrc for every one"),
        (
            f"{program} completion zsh > ~/.zfunc/_{program}",
            "for zsh, with ~/.zfunc in $fpath before compinit",
        ),
        (f"{program} completion fish > ~/.config/fish/completions/{program}.fish", "for fish"),
    )


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(FILES), help="the shell")


def print_script(program: str, arguments: Namespace, terminal: Terminal) -> int:
    terminal.output.write(shared_text(FILES[arguments.shell].format(program=program)))
    return 0
