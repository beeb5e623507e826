"""`kronctl completion`: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.share import completion_files, shared_text
from kron.console.terminal import Terminal

DESCRIPTION = """\
Print a script with which a shell completes kronctl's commands, options, files, contexts, and the
names of KronJobs and namespaces, for which it asks the cluster: for two seconds at most, and
silently if it cannot be reached. Package managers install it; otherwise see the examples.

`kubectl kron` needs no script: kubectl's own completion calls kubectl_complete-kron, which is
installed beside kronctl."""
EXAMPLES = (
    ('eval "$(kronctl completion bash)"', "for this bash, or in ~/.bashrc for every one"),
    (
        "kronctl completion zsh > ~/.zfunc/_kronctl",
        "for zsh, with ~/.zfunc in $fpath before compinit",
    ),
    ("kronctl completion fish > ~/.config/fish/completions/kronctl.fish", "for fish"),
)
_FILES = completion_files("kronctl")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(_FILES), help="the shell")


def run(arguments: Namespace, terminal: Terminal) -> int:
    terminal.output.write(shared_text(_FILES[arguments.shell]))
    return 0
