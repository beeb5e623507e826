"""The crontabs that a command line names: their user, and the time zone of their lines."""

from __future__ import annotations

import argparse

from kron.console.terminal import standard_input
from kron.jobs.crontab.crontab import Crontab, owner_of, read_crontab
from kron.jobs.crontab.local import Accounts
from kron.jobs.source import STANDARD_INPUT, own_access, read_file


def add_crontab_options(group: argparse._ActionsContainer) -> None:
    whose = group.add_mutually_exclusive_group()
    whose.add_argument("--system", action="store_true", help="their lines have a user column")
    whose.add_argument("--user", metavar="NAME", help="the user whose crontabs they are")
    group.add_argument(
        "--tz", metavar="ZONE", help="the zone of times without a CRON_TZ; default: this host's"
    )


def read_named_crontab(
    path: str, arguments: argparse.Namespace, zone: str, node: str = ""
) -> Crontab:
    is_input = path == STANDARD_INPUT
    data = standard_input() if is_input else read_file(path, own_access(insecure=True))
    owner = owner_of(path) if arguments.user is None else arguments.user
    owner = None if arguments.system else owner
    return read_crontab(data, path, owner, zone=zone, home_of=Accounts().home_of, node=node)
