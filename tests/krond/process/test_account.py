"""Accounts: found by name, then by number; refused in words; and None where nothing changes."""

from __future__ import annotations

import grp
import json
import os
import pwd
import subprocess
import sys
from typing import Any

import pytest

from kron.krond.process.account import Account, Accounts, find_account
from kron.krond.process.failure import StartError
from tests.krond.process.expected import needs_root

NOBODY = pwd.getpwnam("nobody")


def named(uid: int, gid: int, name: str = "somebody") -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, gid, "", "/", "/bin/sh"))


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users and groups that no host has: `4711` is a name here, and `evil` has the number -1."""
    users = {
        "somebody": named(7001, 7002),
        "4711": named(7003, 7004, "4711"),
        "evil": named(2**32 - 1, 7002, "evil"),
        "odd": named(7005, 2**32 - 1, "odd"),
    }
    groups = {"staff": 7010, "4712": 7011, "evil": 2**32 - 1}

    def entry_of(number: int) -> pwd.struct_passwd:
        for entry in users.values():
            if entry.pw_uid == number:
                return entry
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwnam", users.__getitem__)
    monkeypatch.setattr(pwd, "getpwuid", entry_of)
    monkeypatch.setattr(
        grp, "getgrnam", lambda name: grp.struct_group((name, "x", groups[name], []))
    )
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [7020, gid, 7019, gid])
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("user", "group", "account"),
    [
        pytest.param(
            "somebody", "", Account(7001, 7002, (7002, 7019, 7020), "somebody"), id="user"
        ),
        pytest.param(
            "somebody", "staff", Account(7001, 7010, (7010, 7019, 7020), "somebody"), id="both"
        ),
        pytest.param("4711", "", Account(7003, 7004, (7004, 7019, 7020), "4711"), id="digits-name"),
        pytest.param("7001", "", Account(7001, 7002, (7002, 7019, 7020), "somebody"), id="number"),
        pytest.param("4713", "staff", Account(4713, 7010, (7010,), "4713"), id="nameless-number"),
        pytest.param("4713", "4712", Account(4713, 7011, (7011,), "4713"), id="digits-group-name"),
        pytest.param("4713", "4714", Account(4713, 4714, (4714,), "4713"), id="two-numbers"),
        pytest.param("", "staff", Account(0, 7010, (7010,), "0"), id="group-alone"),
    ],
)
def test_an_account_is_found(user: str, group: str, account: Account) -> None:
    assert find_account(user, group) == account


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("user", "group", "reason"),
    [
        ("nobody-at-all", "", 'user "nobody-at-all" does not exist'),
        ("nobody-at-all", "nothing", 'group "nothing" does not exist'),
        ("somebody", "nothing", 'group "nothing" does not exist'),
        ("", "nothing", 'group "nothing" does not exist'),
        ("4294967295", "staff", 'user "4294967295" does not exist'),
        ("99999999999999999999", "staff", 'user "99999999999999999999" does not exist'),
        ("-1", "staff", 'user "-1" does not exist'),
        ("+1", "staff", 'user "+1" does not exist'),
        ("٣", "staff", 'user "٣" does not exist'),
        ("somebody", "4294967295", 'group "4294967295" does not exist'),
        (
            "evil",
            "",
            'the number of user "evil" is 4294967295, which the kernel does not accept',
        ),
        (
            "odd",
            "",
            'the number of the group of user "odd" is 4294967295, which the kernel does not accept',
        ),
        (
            "somebody",
            "evil",
            'the number of group "evil" is 4294967295, which the kernel does not accept',
        ),
        (
            "4713",
            "",
            'user "4713" has no account, so its group is not known: add group=',
        ),
    ],
)
def test_what_is_not_there_is_refused_for_good(user: str, group: str, reason: str) -> None:
    with pytest.raises(StartError) as caught:
        find_account(user, group)
    assert (caught.value.reason, caught.value.for_good) == (reason, True)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 100_000, ":", "\n", "ro ot"])
def test_a_text_that_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(StartError, match=r"user .* does not exist"):
        find_account(name, "")
    with pytest.raises(StartError, match=r"group .* does not exist"):
        find_account("", name)


def test_nothing_changes_for_nobody_or_for_krond_itself() -> None:
    assert find_account("", "") is None


@needs_root
def test_root_is_already_root() -> None:
    entry = pwd.getpwuid(0)
    if set(os.getgrouplist(entry.pw_name, 0)) - {0} != set(os.getgroups()) - {0}:
        pytest.skip("this process has other groups than root has")
    assert find_account("root", "") is None
    assert find_account("0", "0") is None


@needs_root
def test_a_user_of_this_host_is_found() -> None:
    found = find_account("nobody", "")
    assert found is not None
    assert (found.uid, found.gid, found.name) == (NOBODY.pw_uid, NOBODY.pw_gid, "nobody")
    assert set(found.groups) == set(os.getgrouplist("nobody", NOBODY.pw_gid))


NOT_ROOT = """
import json, os, pwd, sys
from kron.krond.process.account import find_account
from kron.krond.process.failure import StartError
nobody = pwd.getpwnam("nobody")
groups = json.loads(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups(groups)
    os.setresgid(*[nobody.pw_gid] * 3)
    os.setresuid(*[nobody.pw_uid] * 3)
def answer(user, group):
    try:
        return str(find_account(user, group))
    except StartError as error:
        return error.reason
asked = [("", ""), ("nobody", ""), (str(nobody.pw_uid), ""), ("root", ""), ("0", "0"), ("", "root"),
         ("nobody", "root"), ("no-such-user", "")]
print(json.dumps([answer(*ask) for ask in asked]))
"""


def answers(groups: list[int]) -> Any:
    program = [sys.executable, "-c", NOT_ROOT, json.dumps(groups)]
    return json.loads(subprocess.run(program, capture_output=True, check=True).stdout)


@needs_root
@pytest.mark.parametrize("groups", [[], [NOBODY.pw_gid]])
def test_a_krond_that_is_not_root_runs_its_own_jobs_and_no_others(groups: list[int]) -> None:
    """Whether its group is among its groups as well makes no difference."""
    assert answers(groups) == [
        "None",
        "None",
        "None",
        'only root can switch to user "root"',
        'only root can switch to user "0"',
        'only root can switch to group "root"',
        'only root can switch to group "root"',
        'user "no-such-user" does not exist',
    ]


@needs_root
def test_a_krond_with_groups_that_its_user_does_not_have_says_so() -> None:
    assert answers([4711])[1] == 'only root can give user "nobody" other groups than krond has'


def test_accounts_are_looked_up_once_a_second(
    database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = Accounts()
    found = accounts.find("somebody", "", 100)
    assert found == find_account("somebody", "")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getgrouplist", lambda name, gid: [gid])
        assert accounts.find("somebody", "", 100) == found
        assert accounts.find("somebody", "staff", 100) == Account(7001, 7010, (7010,), "somebody")
        assert accounts.find("somebody", "", 101) == Account(7001, 7002, (7002,), "somebody")


def test_a_user_who_does_not_exist_may_exist_in_the_same_second(
    database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = Accounts()
    with pytest.raises(StartError):
        accounts.find("new", "", 100)
    monkeypatch.setattr(pwd, "getpwnam", lambda name: named(7030, 7031, name))
    assert accounts.find("new", "", 100) is not None
