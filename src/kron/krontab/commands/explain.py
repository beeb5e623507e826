"""`krontab explain`: one decision in full, as text or as JSON."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format
from kron.console.questions import add_all_draws, show_explanation
from kron.console.terminal import Terminal
from kron.krontab.jobs import add_source, find_subject

DESCRIPTION = """\
Explain why a job runs when it runs: what its schedule means, the window, the seed and its hash, and
every draw with the reason why it was accepted or rejected. It uses the same identity as krond, so
krond makes the same decision.

A moment (--at) selects, in this order: the period with that nominal instant, the period chosen for
that second, the period open then (the latest of several), the next period."""
EXAMPLES = (
    ("krontab explain backup", "the period that is open now, or the next one"),
    ("krontab explain backup --at 2026-03-01T02:32:20Z", "why did it run at that second?"),
    (
        "krontab explain --schedule '0 0 * * * @win(after,3h) @seed(stable,salt=backup)' \\\n"
        "      --identity prod/db-backup --at 2026-03-01",
        "a schedule and an identity, without a file",
    ),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job's name, or <path>:<name>")
    add_at(parser, "the moment that selects the period")
    add_all_draws(parser)
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    subject = find_subject(arguments, terminal)
    return show_explanation(subject, arguments, terminal, schema="krontab.explain/1")
