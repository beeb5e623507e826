"""What crontabs take from their host: its users, and the time zone that cron runs in.

The variable TZ is not used: it belongs to the user who runs a command, not to cron.
"""

from __future__ import annotations

import os
from functools import cache

from kron.core.errors import Code, KronError, quoted
from kron.core.zone import load_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pwd

_DATABASE = "zoneinfo/"
_LONGEST_NAME = 256
_OTHERWISE = "name the zone, for example Europe/Paris"

# Hosts are in Etc/UTC far more often than in any other zone, and `@tz` is left out for UTC only.
_NAMES_OF_UTC = ("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu")


def system_zone(localtime: str = "/etc/localtime", timezone: str = "/etc/timezone") -> str:
    """The IANA name of the host's zone; a `KronError` if the host has none.

    The C library follows the link /etc/localtime, so it comes first. If it is a copy, the name is
    in /etc/timezone. Without it the C library uses UTC, and so does cron.
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
    """`name`, or UTC if it is another name of UTC."""
    return "UTC" if name in _NAMES_OF_UTC else name


def _first_line(localtime: str, timezone: str) -> str:
    try:
        with open(timezone, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
            return opened.readline(_LONGEST_NAME).strip()
    except OSError as error:
        link = f"{localtime} is not a link into a time zone database"
        file = f"{timezone} cannot be read: {error.strerror}"
        message = f"the name of this host's time zone is not known: {link}, and {file}"
        raise KronError(Code.ZONE_UNKNOWN, message, fix=_OTHERWISE) from None


def _checked(name: str, source: str) -> str:
    try:
        return load_zone(name).key
    except KronError:
        message = f"{source} says {quoted(name)}, which is not the name of an IANA time zone"
        raise KronError(Code.ZONE_UNKNOWN, message, fix=_OTHERWISE) from None


class Accounts:
    """Asks the host once for each user, which may take a while. None: there is no such user."""

    def __init__(self) -> None:
        self._account = cache(_ask)

    def uid_of(self, user: str) -> int | None:
        found = self._account(user)
        return None if found is None else found.pw_uid

    def home_of(self, user: str) -> str | None:
        found = self._account(user)
        return None if found is None else found.pw_dir


def _ask(user: str) -> pwd.struct_passwd | None:
    import pwd

    try:
        return pwd.getpwnam(user)
    except (KeyError, ValueError):  # ValueError: the name has a null byte
        return None
