"""Accounts: the user and groups of a run, looked up again every second, because they may change.

To the kernel an account is only numbers. This module also checks whether krond may switch to them,
to give the reason in words; the child verifies the switch itself.
"""

from __future__ import annotations

import grp
import os
import pwd
from contextlib import suppress

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.krond.process.failure import StartError

HIGHEST_ID = 2**32 - 2
"""The next number is -1 to the kernel, which means: do not change it."""

_MOST_DIGITS = 10


class Account(Frozen):
    """The user, the group and all supplementary groups of a process."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    """The name of the user, for people."""


class Accounts:
    """Remembers those of this second: in a burst, jobs of the same user read /etc/passwd once."""

    def __init__(self) -> None:
        self._second = -1
        self._found: dict[tuple[str, str], Account | None] = {}

    def find(self, user: str, group: str, now_s: int) -> Account | None:
        """The same as `find_account`."""
        if now_s != self._second:
            self._second = now_s
            self._found.clear()
        key = user, group
        if key not in self._found:
            self._found[key] = find_account(user, group)
        return self._found[key]


def find_account(user: str, group: str) -> Account | None:
    """The account of a job with this user and group. None: krond has that account already."""
    if not user and not group:
        return None
    if user:
        account = _of_user(user, _group_id(group) if group else None)
    else:
        account = _of_group(_group_id(group))
    if _is_own(account):
        return None
    if os.geteuid() != 0:
        raise StartError(_refusal(user, group, account))
    return account


def _of_user(user: str, gid: int | None) -> Account:
    entry = _entry(user)
    if entry is not None:
        _check(entry.pw_uid, f"user {quoted(user)}")
        gid = entry.pw_gid if gid is None else gid
        _check(gid, f"the group of user {quoted(user)}")
        groups = os.getgrouplist(entry.pw_name, gid)
        return Account(entry.pw_uid, gid, tuple(sorted(set(groups))), entry.pw_name)
    uid = _number(user)
    if uid is None:
        raise StartError(f"user {quoted(user)} does not exist")
    if gid is None:
        raise StartError(
            f"user {quoted(user)} has no account, so its group is not known: add group="
        )
    return Account(uid, gid, (gid,), user)


def _of_group(gid: int) -> Account:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(uid, gid, (gid,), name)


def _entry(user: str) -> pwd.struct_passwd | None:
    """The entry of a user: by name, or by number if no user has that name."""
    with suppress(KeyError, ValueError):  # ValueError: a text that cannot be a name
        return pwd.getpwnam(user)
    with suppress(KeyError):
        if (uid := _number(user)) is not None:
            return pwd.getpwuid(uid)
    return None


def _group_id(group: str) -> int:
    gid: int | None
    try:
        gid = grp.getgrnam(group).gr_gid
    except (KeyError, ValueError):
        gid = _number(group)
    if gid is None:
        raise StartError(f"group {quoted(group)} does not exist")
    _check(gid, f"group {quoted(group)}")
    return gid


def _number(text: str) -> int | None:
    if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit():
        number = int(text)
        return number if number <= HIGHEST_ID else None
    return None


def _check(number: int, what: str) -> None:
    if not 0 <= number <= HIGHEST_ID:
        raise StartError(f"the number of {what} is {number}, which the kernel does not accept")


def _is_own(account: Account) -> bool:
    """Whether krond has exactly these numbers. The gid always counts as one of the groups."""
    return (
        os.getresuid() == (account.uid,) * 3
        and os.getresgid() == (account.gid,) * 3
        and {*os.getgroups(), account.gid} == {*account.groups, account.gid}
    )


def _refusal(user: str, group: str, account: Account) -> str:
    if account.uid != os.geteuid():
        return f"only root can switch to user {quoted(user)}"
    if group and account.gid != os.getegid():
        return f"only root can switch to group {quoted(group)}"
    return f"only root can give user {quoted(account.name)} other groups than krond has"
