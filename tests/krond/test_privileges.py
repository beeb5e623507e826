"""Whose a run is: the user of its file, or nobody's. Nothing runs as root by accident."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.krond.children import NEVER, Family, due_once, in_private_mounts, open_directory
from tests.krond.process.expected import needs, needs_root
from tests.moment import soon

USER, GROUP = 54_321, 54_322
"""Numbers that nobody has."""


def named_user() -> pwd.struct_passwd:
    """An account of the host that is not root's, with a group of its own."""
    accounts = sorted(pwd.getpwall(), key=lambda account: account.pw_name != "daemon")
    for account in accounts:
        if account.pw_uid != 0 and account.pw_gid != 0:
            return account
    pytest.skip("the host has no user but root")


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that everybody may enter."""
    with open_directory() as path:
        yield path


def identity_of(text: str) -> tuple[list[int], list[int], list[int]]:
    """The four uids, the four gids and the groups that /proc/self/status shows."""
    lines = dict(line.split(":", 1) for line in text.splitlines())
    uids, gids, groups = (list(map(int, lines[n].split())) for n in ("Uid", "Gid", "Groups"))
    return uids, gids, sorted(groups)


@needs_root
@needs("unshare", "mount")
def test_user_group_and_groups_are_those_of_the_file(home: Path) -> None:
    account = named_user()
    user, uid, gid = account.pw_name, account.pw_uid, account.pw_gid
    other = next(group for group in grp.getgrall() if group.gr_gid not in (0, gid))
    # For krond and its runs, the user is a member of one more group.
    line = f"kron-more:x:{GROUP}:{user}"
    more_groups = f"{{ cat /etc/group; echo '{line}'; }} > {home}/group"
    rows = {
        "user": (f"user={user}", uid, gid, {gid, GROUP}),
        "user-and-group": (
            f"user={user} group={other.gr_name}",
            uid,
            other.gr_gid,
            {other.gr_gid, GROUP},
        ),
        "group-alone": (f"group={other.gr_name}", 0, other.gr_gid, {other.gr_gid}),
        "numbers": (f"user={USER} group={GROUP + 1}", USER, GROUP + 1, {GROUP + 1}),
        "neither": ("", 0, 0, set(os.getgroups())),
    }
    with Family(home) as host:
        (home / "out").mkdir()
        (home / "out").chmod(0o777)
        host.write(
            *(
                f'{NEVER} name={name} command="/bin/cat /proc/self/status" {row[0]} '
                f"stdout=file:{home}/out/{name}"
                for name, row in rows.items()
            )
        )
        host.start(wrapper=in_private_mounts(more_groups, f"mount --bind {home}/group /etc/group"))
        for name, (_, run_uid, run_gid, groups) in rows.items():
            host.wait_for_run("exited", host.trigger(name))
            text = (home / "out" / name).read_text()
            assert identity_of(text) == ([run_uid] * 4, [run_gid] * 4, sorted(groups)), name
            status = (home / "out" / name).stat()
            assert (status.st_uid, status.st_gid) == (run_uid, run_gid)
            if run_uid != 0:
                lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
                assert int(lines["CapEff"], 16) == int(lines["CapPrm"], 16) == 0


class Attempts:
    """Jobs that all are due in the same second, and none of which can start."""

    def __init__(self, host: Family, rows: dict[str, str], wrapper: Sequence[str] = ()) -> None:
        self.host = host
        self.rows = rows
        host.start_empty(wrapper=wrapper)
        at_s = soon(2)
        host.load(
            *(
                f"{due_once(host.config, name, at_s)} name={name} "
                f'command="/usr/bin/touch {host.directory}/ran-{name}" {fields}'
                for name, fields in rows.items()
            )
        )

    def check(self, reasons: dict[str, str]) -> None:
        """Each period has ended as missed, with its reason, and nothing has run."""
        host = self.host
        for name in self.rows:
            missed = host.wait_for_event("missed_deadline", name)
            (error,) = host.events("error", name)
            assert reasons[name] in str(error["error"])
            assert (error.level, error["operation"]) == ("ERROR", "start")
            assert error["period"] == missed["period"]
            assert missed["reason"] == error["error"]
            last = host.row(name)["last"]
            assert (last["outcome"], last["reason"]) == ("missed", missed["reason"])
            assert host.row(name)["active"] == host.row(name)["waiting"] == []
        assert host.events("started") == []
        assert list(host.directory.glob("ran-*")) == []
        assert list((host.state / "runs").iterdir()) == []
        host.has_no_zombie()
        assert host.stop() == 0
        host.check_log()


@needs_root
def test_nothing_runs_that_cannot_be_whose_it_is_to_be(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    precious = elsewhere / "passwd"
    precious.write_text("root\n")
    precious.chmod(0o644)
    own = home / "own"
    own.mkdir(mode=0o755)
    os.chown(own, USER, GROUP)
    for name, target in (("swapped", elsewhere), ("link", precious), ("new-link", elsewhere / "x")):
        (own / name).symlink_to(target)
        os.chown(own / name, USER, GROUP, follow_symlinks=False)
    (own / "not-ours").symlink_to(own)
    os.chown(own / "not-ours", USER + 5, GROUP, follow_symlinks=False)
    as_user = f"user={USER} group={GROUP}"
    rows = {
        "no-user": "user=no-such-user",
        "no-group": "group=no-such-group",
        "number-alone": f"user={USER}",
        "closed-directory": f"{as_user} cwd={closed}",
        "closed-output": f"{as_user} stdout=file:{closed}/log",
        "swapped-directory": f"{as_user} stdout=file:{own}/swapped/passwd",
        "swapped-directory-new-file": f"{as_user} stderr=file:{own}/swapped/new",
        "swapped-file": f"{as_user} stdout=file:{own}/link",
        "swapped-file-new": f"{as_user} stdout=file:{own}/new-link",
        "link-of-another": f"{as_user} stdout=file:{own}/not-ours/log",
    }
    with Family(home) as host:
        attempts = Attempts(host, rows)
        attempts.check(
            {
                "no-user": 'user "no-such-user" does not exist',
                "no-group": 'group "no-such-group" does not exist',
                "number-alone": "add group=",
                "closed-directory": "Permission denied",
                "closed-output": "Permission denied",
                "swapped-directory": "Permission denied",
                "swapped-directory-new-file": "Permission denied",
                "swapped-file": "Permission denied",
                "swapped-file-new": "Permission denied",
                "link-of-another": f"belongs to user {USER + 5}",
            }
        )
    assert precious.read_text() == "root\n"
    assert sorted(each.name for each in elsewhere.iterdir()) == ["passwd"]
    assert list(closed.iterdir()) == []


def in_user_namespace(*options: str) -> list[str]:
    """Words before a command line, to be another user than root, or a root of little power."""
    words = ["unshare", "--user", *options]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be had here")
    return words


@needs_root
@needs("unshare")
def test_a_krond_that_is_not_root_runs_nothing_as_somebody_else(home: Path) -> None:
    account = named_user()
    group = grp.getgrgid(account.pw_gid).gr_name
    rows = {
        "user": f"user={account.pw_name}",
        "root": "user=root",
        "group": f"group={group}",
    }
    with Family(home) as host:
        namespace = in_user_namespace(f"--map-user={USER}", f"--map-group={GROUP}")
        attempts = Attempts(host, rows, namespace)
        attempts.check(
            {
                "user": f'only root can switch to user "{account.pw_name}"',
                "root": 'only root can switch to user "root"',
                "group": f'only root can switch to group "{group}"',
            }
        )


@needs_root
@needs("unshare")
def test_nothing_runs_when_privileges_do_not_drop(home: Path) -> None:
    """This krond believes to be root, and the kernel refuses what it asks for."""
    account = named_user()
    rows = {
        "user": f"user={account.pw_name}",
        "with-output": f"user={account.pw_name} stdout=file:{home}/output",
    }
    with Family(home) as host:
        attempts = Attempts(host, rows, in_user_namespace("--map-root-user"))
        attempts.check(dict.fromkeys(rows, f'"{account.pw_name}"'))
        assert not (home / "output").exists()
