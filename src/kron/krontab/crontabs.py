"""The crontabs that a command line names: whose they are, and in which zone they are read."""

from __future__ import annotations

import argparse

from kron.console.input import standard_input
from kron.jobs.crontab.account import Accounts
from kron.jobs.crontab.crontab import Crontab, Kind, Place, place_of, read_crontab
from kron.jobs.crontab.zone import system_zone
from kron.jobs.identity import Node
from kron.jobs.source import STANDARD_INPUT, own_access, read_file


def add_crontab_options(group: argparse._ActionsContainer) -> None:
    """How crontabs are read."""
    group.add_argument("--system", action="store_true", help="their lines have a user column")
    group.add_argument("--user", metavar="NAME", help="their lines are those of this user")
    group.add_argument(
        "--tz", metavar="ZONE", help="the zone of times without a CRON_TZ; default: this host's"
    )


def wrong_crontab_options(arguments: argparse.Namespace) -> str:
    """What is wrong with these options together; '' if nothing is."""
    both = arguments.system and arguments.user is not None
    return "--system and --user exclude each other" if both else ""


def zone_of(arguments: argparse.Namespace) -> str:
    """The zone of times without a CRON_TZ."""
    zone: str = arguments.tz or system_zone()
    return zone


def read_named_crontab(
    path: str, arguments: argparse.Namespace, *, zone: str, node: Node | None = None
) -> Crontab:
    """A crontab by its path, or from standard input."""
    is_input = path == STANDARD_INPUT
    data = standard_input() if is_input else read_file(path, own_access(insecure=True))
    place = place_of(path) or Place(Kind.USER)
    if arguments.system:
        place = Place(Kind.SYSTEM)
    elif arguments.user is not None:
        place = Place(Kind.USER, arguments.user)
    return read_crontab(
        data, path, place, zone=zone, home_of=Accounts().home_of, node=node or Node()
    )
