"""`krontab completion`: print the completion script of a shell."""

from __future__ import annotations

from kron.console.completion import SHELLS, script
from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krontab.program import KRONTAB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Print a script that teaches a shell to complete krontab's commands, options, files and the names of
jobs. Package managers install it themselves; otherwise see the examples."""
EXAMPLES = (
    ('eval "$(krontab completion bash)"', "for this bash, or in ~/.bashrc for every one"),
    (
        "krontab completion zsh > ~/.zfunc/_krontab",
        "for zsh, with ~/.zfunc in $fpath before compinit",
    ),
    ("krontab completion fish > ~/.config/fish/completions/krontab.fish", "for fish"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    terminal.output.write(script(KRONTAB, arguments.shell))
    return 0
