"""`krontab completion`: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.share import completion_files, shared_text
from kron.console.terminal import Terminal

DESCRIPTION = """\
Print a script with which a shell completes krontab's commands, options, files and names of jobs.
Package managers install it; otherwise see the examples."""
EXAMPLES = (
    ('eval "$(krontab completion bash)"', "for this bash, or in ~/.bashrc for every one"),
    (
        "krontab completion zsh > ~/.zfunc/_krontab",
        "for zsh, with ~/.zfunc in $fpath before compinit",
    ),
    ("krontab completion fish > ~/.config/fish/completions/krontab.fish", "for fish"),
)
_FILES = completion_files("krontab")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(_FILES), help="the shell")


def run(arguments: Namespace, terminal: Terminal) -> int:
    terminal.output.write(shared_text(_FILES[arguments.shell]))
    return 0
