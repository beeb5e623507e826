"""The time zone that cron runs in: the host's, as /etc says it.

The variable TZ is not asked: it is that of whoever runs a command, not that of cron.
"""

from __future__ import annotations

import os

from kron.core.errors import Code, KronError, quoted
from kron.core.zone import load_zone

_DATABASE = "zoneinfo/"
_LONGEST_NAME = 256
_OTHERWISE = "name the zone, for example Europe/Paris"

# Hosts are in Etc/UTC far more often than in any other zone, and `@tz` is left out for UTC only.
_NAMES_OF_UTC = ("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu")


def system_zone(localtime: str = "/etc/localtime", timezone: str = "/etc/timezone") -> str:
    """The IANA name of the host's zone, or a `KronError` if the host does not say it.

    The link /etc/localtime is what the C library follows, so it comes first. If it is a copy, the
    name is in /etc/timezone. Without it the C library takes UTC, and so does cron.
    """
    for find in (os.readlink, os.path.realpath):  # a link may lead to another link
        try:
            target = find(localtime)
        except FileNotFoundError:
            return "UTC"
        except OSError:  # not a link
            continue
        _, found, name = target.rpartition(_DATABASE)
        if found:
            return plain_zone(_checked(name, f"the link {localtime}"))
    return plain_zone(_checked(_first_line(localtime, timezone), timezone))


def plain_zone(name: str) -> str:
    """`name`, or UTC if that is what it is another name of."""
    return "UTC" if name in _NAMES_OF_UTC else name


def _first_line(localtime: str, timezone: str) -> str:
    try:
        with open(timezone, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.readline(_LONGEST_NAME).strip()
    except OSError as error:
        raise KronError(
            Code.ZONE_UNKNOWN,
            f"the name of this host's time zone is not known: {localtime} is no link into a "
            f"time zone database, and {timezone} cannot be read: {error.strerror}",
            fix=_OTHERWISE,
        ) from None


def _checked(name: str, source: str) -> str:
    try:
        return load_zone(name).key
    except KronError:
        message = f"{source} says {quoted(name)}, which is not the name of an IANA time zone"
        raise KronError(Code.ZONE_UNKNOWN, message, fix=_OTHERWISE) from None
