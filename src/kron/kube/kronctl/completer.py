"""kubectl_complete-kron: proposes words for a command line of kronctl that somebody has begun.

kubectl runs it to complete `kubectl kron`, and so do the completion scripts of kronctl for what
only the cluster knows. It gets the words after `kron`, the unfinished one last, and prints
proposals, one a line with a description after a tab, and then `:` and a number: what a shell is to
do besides, in the protocol of the library that kubectl is made with. Whatever fails, it proposes
nothing and says nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from kron.console.terminal import Terminal
from kron.core.errors import KronError
from kron.kube.client.resources import CRONJOBS, KRONJOBS, NAMESPACES, Resource
from kron.kube.kronctl.cluster import add_cluster, reach
from kron.kube.kronctl.name import type_words
from kron.kube.kronctl.program import COMMANDS, KRONCTL
from kron.kube.namespace import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

Proposal = tuple[str, str]
"""A word, and its description or ''."""

FILES = 0
"""The shell proposes files."""
NOTHING_ELSE = 4
_LONGEST_S = 2
_PATHS = ("PATH", "DIR", "A", "B")
_SAFE = re.compile(r"[A-Za-z0-9._/@][A-Za-z0-9._:/@-]*")
"""Names that are proposed. A shell may evaluate what it completes, so others are left out."""


def main(words: Sequence[str] | None = None) -> int:
    try:
        proposals, directive = propose(sys.argv[1:] if words is None else words)
    except (KronError, OSError, ValueError, argparse.ArgumentTypeError):
        proposals, directive = [], NOTHING_ELSE
    terminal = Terminal.standard()
    with suppress(OSError):  # a reader may end early, such as `head`
        terminal.print(*(f"{word}\t{what}" if what else word for word, what in proposals))
        terminal.print(f":{directive}")
    terminal.let_go()
    return 0


def propose(words: Sequence[str]) -> tuple[list[Proposal], int]:
    """Proposals for the last word, and what the shell is to do besides."""
    *before, word = words or [""]
    if before[:1] == ["help"]:
        before = before[1:]
    if not before:
        return _begun(COMMANDS.items(), word), NOTHING_ELSE
    if before[0] not in COMMANDS:
        return [], NOTHING_ELSE
    parser = KRONCTL.parser(before[0])
    flags = {flag: each for each in parser._actions for flag in each.option_strings}
    flag, equals, value = word.partition("=")
    if equals and flag in flags:
        found, directive = _values(flags[flag], value, before)
        return [(f"{flag}={each}", what) for each, what in found], directive
    if len(before) > 1 and before[-1] in flags and flags[before[-1]].nargs != 0:
        return _values(flags[before[-1]], word, before[:-1])
    if word.startswith("-"):
        named = ((flag, each.help or "") for flag, each in flags.items())
        return _begun(((flag, _brief(what)) for flag, what in named), word), NOTHING_ELSE
    arguments = [each for each in parser._actions if not each.option_strings]
    return _values(arguments[0], word, before) if arguments else ([], NOTHING_ELSE)


def _values(
    action: argparse.Action, word: str, before: Sequence[str]
) -> tuple[list[Proposal], int]:
    """Proposals for the value of an option or an argument."""
    if action.choices is not None:
        return _begun(((str(each), "") for each in action.choices), word), NOTHING_ELSE
    metavar = str(action.metavar)
    if metavar in _PATHS:
        return [], FILES
    find = _FINDERS.get(metavar)
    found = [] if find is None else find(_cluster(before), word)
    return _begun(((each, "") for each in found if _SAFE.fullmatch(each)), word), NOTHING_ELSE


def _cluster(words: Sequence[str]) -> argparse.Namespace:
    """The options that say which cluster, of a line that need not be complete."""
    parser = _Lenient(add_help=False, allow_abbrev=False)
    add_cluster(parser)
    arguments, _ = parser.parse_known_args(words)
    arguments.request_timeout = _LONGEST_S
    return arguments


class _Lenient(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise ValueError(message)


def _names(resource: Resource) -> Callable[[argparse.Namespace, str], list[str]]:
    def find(arguments: argparse.Namespace, word: str) -> list[str]:
        start, slash, _ = word.rpartition("/")
        is_type = start.lower() in type_words(resource)
        if start and not is_type:
            arguments.namespace = namespace(start)
        return [f"{start}{slash}{each}" for each in _listed(arguments, resource)]

    return find


def _listed(arguments: argparse.Namespace, resource: Resource) -> list[str]:
    async def ask(client: Client, namespace: str) -> list[str]:
        from kron.kube.kronctl.lookup import names_within

        within = None if resource is NAMESPACES else namespace
        return [name async for name in names_within(client, resource, within)]

    return reach(arguments, ask)


def _configured(kind: str) -> Callable[[argparse.Namespace, str], list[str]]:
    def find(arguments: argparse.Namespace, _: str) -> list[str]:
        from kron.kube.client.access import known_names

        return known_names(kind, arguments.kubeconfig)

    return find


_FINDERS: dict[str, Callable[[argparse.Namespace, str], Iterable[str]]] = {
    "JOB": _names(KRONJOBS),
    "CRONJOB": _names(CRONJOBS),
    "NS": lambda arguments, _: _listed(arguments, NAMESPACES),
    "CONTEXT": _configured("context"),
    "CLUSTER": _configured("cluster"),
    "USER": _configured("user"),
}


def _begun(proposals: Iterable[Proposal], word: str) -> list[Proposal]:
    return [each for each in proposals if each[0].startswith(word)]


def _brief(text: str) -> str:
    return text.partition(";")[0]
