"""Accounts: whom a run is to run as, looked up anew for every run, since they change.

An account is numbers only in the end. Whether krond may take them on is asked here as well, so
that the reason is told in words; that they were taken on is verified after the switch.
"""

from __future__ import annotations

import grp
import os
import pwd

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.krond.process.failure import StartError

HIGHEST_ID = 2**32 - 2
"""The number above it is -1 to the kernel, and means: leave it as it is."""

_MOST_DIGITS = 10


class Account(Frozen):
    """A user, a group and the supplementary groups, for a process to have and no others."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    """The user's, for people."""


def find_account(user: str, group: str) -> Account | None:
    """The account of a job with this user and group. None: krond is that already."""
    if not user and not group:
        return None
    gid = _group_id(group) if group else None
    account = _of_user(user, gid) if user else _of_group(gid)
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
        raise StartError(f"there is no user {quoted(user)}")
    if gid is None:
        raise StartError(
            f"user {quoted(user)} is a number without a name, so its group is not known: add group="
        )
    return Account(uid, gid, (gid,), user)


def _of_group(gid: int | None) -> Account:
    assert gid is not None
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(uid, gid, (gid,), name)


def _entry(user: str) -> pwd.struct_passwd | None:
    """The entry of a user: by name, and only where there is no such name by number."""
    try:
        return pwd.getpwnam(user)
    except (KeyError, ValueError):  # ValueError: a text that can be no name
        uid = _number(user)
    if uid is None:
        return None
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _group_id(group: str) -> int:
    gid: int | None
    try:
        gid = grp.getgrnam(group).gr_gid
    except (KeyError, ValueError):
        gid = _number(group)
    if gid is None:
        raise StartError(f"there is no group {quoted(group)}")
    _check(gid, f"group {quoted(group)}")
    return gid


def _number(text: str) -> int | None:
    if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit():
        number = int(text)
        return number if number <= HIGHEST_ID else None
    return None


def _check(number: int, what: str) -> None:
    if not 0 <= number <= HIGHEST_ID:
        raise StartError(f"the number of {what} is {number}, which the kernel takes for none")


def _is_own(account: Account) -> bool:
    """Whether krond has these very numbers. The gid counts as one of the groups either way."""
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
