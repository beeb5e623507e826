"""`krond start --source cron`: a host's crontabs as they are, each job as cron would run it.

krond gets a mount namespace of its own in which /etc and /var/spool are directories of the test,
so that real paths and a real passwd are read and nothing of this host is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.krond.commands import public_directory
from tests.krond.host import Host
from tests.logbook import wait_for
from tests.moment import wait_until

ALICE = 4711
MOUNTS = """
set -e
mount --make-rprivate /
mount --bind "$1/etc" /etc
mount --bind "$1/spool" /var/spool
shift
exec "$@"
"""
COPIED = ("ld.so.cache", "nsswitch.conf", "group")
DAILY = "0 0 * * *"


class CronHost(Host):
    """A host with crontabs, and alice."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.etc = directory / "etc"
        self.spool = directory / "spool" / "cron" / "crontabs"
        self.home = directory / "home"
        for made in (self.etc / "cron.d", self.spool, self.home):
            made.mkdir(parents=True)
        os.chown(self.home, ALICE, ALICE)
        self.spool.chmod(0o1730)  # as Debian has it: users may add files, not list them
        for name in COPIED:
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), self.etc)
        (self.etc / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")
        (self.etc / "passwd").write_text(
            f"root:x:0:0:root:/root:/bin/sh\nalice:x:{ALICE}:{ALICE}::{self.home}:/bin/bash\n"
        )

    def __enter__(self) -> CronHost:
        return self

    def words(self, *options: str) -> list[str]:
        """The same, of the crontabs of the host."""
        words = [word for word in super().words(*options) if word != str(self.config)]
        words[words.index("--config")] = "--source=cron"
        return words

    def start_cron(self, *options: str) -> None:
        """Start krond where /etc is ours."""
        shell = ("unshare", "--mount", "/bin/sh", "-c", MOUNTS, "sh", str(self.directory))
        self.start(*options, wrapper=shell)

    def install(self, name: str, text: str) -> None:
        """A file in /etc, as a package or an editor writes it."""
        path = self.etc / name
        new = self.directory / "new"
        new.write_text(text)
        new.chmod(0o644)
        new.rename(path)

    def crontab(self, text: str) -> None:
        """The crontab of alice, as `crontab -e` writes it."""
        new = self.spool / "tmp.4711"
        new.write_text(text)
        new.chmod(0o600)
        os.chown(new, ALICE, -1)
        new.rename(self.spool / "alice")

    def names(self) -> set[str]:
        """The jobs that krond looks after."""
        return {row["name"] for row in self.ask("status")["jobs"]}

    def warnings(self) -> str:
        """What it has told of its configuration."""
        return "\n".join(
            str(event["error"])
            for event in self.events("error")
            if event["operation"] == "read the configuration"
        )


@pytest.fixture
def host() -> Iterator[CronHost]:
    if os.geteuid() != 0:
        pytest.skip("only root can run the crontabs of others")
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare here")
    probe = ["unshare", "--mount", "mount", "--make-rprivate", "/"]
    if (ran := subprocess.run(probe, capture_output=True, check=False)).returncode:
        pytest.skip(f"this machine allows no mounts: {ran.stderr!r}")
    with public_directory() as directory, CronHost(directory) as made:
        yield made


def run(host: CronHost, job: str) -> None:
    """A run of the job, to its end, which is a good one."""
    ended = host.command("trigger", job, "--wait")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_job_runs_as_cron_would_run_it(host: CronHost) -> None:
    host.install("crontab", f"MINE='a b'\n{DAILY} alice (id -un; pwd; env) > system.txt\n")
    host.crontab(
        "SHELL=/bin/bash\nPATH=/opt/bin:/usr/bin:/bin\n"
        f"{DAILY} type -t type > shell.txt; env > user.txt\n"
        f"{DAILY} cat > in.txt%one%two \\% three%%\n"
        f"{DAILY} wc -c > empty.txt\n"
    )
    host.start_cron()
    assert host.events("error") == []
    user = "/var/spool/cron/crontabs/alice"
    for job in ("/etc/crontab:id", f"{user}:type", f"{user}:cat", f"{user}:wc"):
        run(host, job)
    home = host.home
    who, where, *environment = (home / "system.txt").read_text().splitlines()
    assert (who, where) == ("alice", str(home))
    login = {f"HOME={home}", "LOGNAME=alice", "USER=alice"}
    ours = ("KRON_RUN_ID=", "KRON_JOB=", "PWD=", "OLDPWD=", "SHLVL=", "_=")
    assert {line for line in environment if not line.startswith(ours)} == (
        login | {"SHELL=/bin/sh", "PATH=/usr/bin:/bin", "MINE=a b"}
    )
    environment = (home / "user.txt").read_text().splitlines()
    assert {line for line in environment if not line.startswith(ours)} == (
        login | {"SHELL=/bin/bash", "PATH=/opt/bin:/usr/bin:/bin"}
    )
    assert (home / "shell.txt").read_text() == "builtin\n", "dash would not know type -t"
    assert (home / "in.txt").read_text() == "one\ntwo % three\n\n"
    assert (home / "empty.txt").read_text().split() == ["0"], "without % there is no input"
    assert {path.stat().st_uid for path in home.iterdir()} == {ALICE}


def test_a_line_with_reboot_runs_at_the_first_start_in_a_boot_alone(host: CronHost) -> None:
    host.crontab("@reboot id -un >> booted.txt\n")
    for _ in range(2):
        host.start_cron()
        host.wait_for_event("exited", "id-at-boot")
        assert host.command("status").stdout.count("at the next boot") == 1
        host.kill()
    assert (host.home / "booted.txt").read_text() == "alice\n"


def test_times_are_those_of_the_host_and_overlap_as_cron_lets_them(host: CronHost) -> None:
    host.install("cron.d/nightly", "30 2 * * * root sleep 1000\n")
    host.start_cron("--on-stop", "terminate")
    (row,) = host.ask("status")["jobs"]
    assert row["identity"] == "/etc/cron.d/nightly:sleep"
    assert row["next"]["period"][10:] in ("T01:30:00Z", "T00:30:00Z"), "02:30 in Paris"
    for _ in range(2):
        assert host.command("trigger", "sleep").returncode == 0
    assert len(host.row("sleep")["active"]) == 2
    assert host.stop() == 0


def test_an_edited_crontab_takes_effect_by_itself(host: CronHost) -> None:
    def becomes(*names: str) -> None:
        wait_for(lambda: host.names() == set(names), f"the jobs are {names}")

    host.crontab(f"{DAILY} first\n")
    host.start_cron()
    becomes("first")
    started = host.row("first")["next"]
    host.crontab(f"{DAILY} first\n{DAILY} second\n")
    becomes("first", "second")
    host.install("cron.d/package", f"{DAILY} root third\n")
    becomes("first", "second", "third")
    (host.etc / "cron.d" / "package").unlink()
    becomes("first", "second")
    host.install("crontab", f"{DAILY} root fourth\n")
    becomes("first", "second", "fourth")
    (host.etc / "localtime").unlink()
    (host.etc / "localtime").symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    wait_for(lambda: host.row("first")["next"] != started, "it follows the host's zone")
    (host.spool / "alice").unlink()
    becomes("fourth")
    # A spool that is deleted and made anew is watched again.
    shutil.rmtree(host.spool)
    host.spool.mkdir()
    host.crontab(f"{DAILY} fifth\n")
    becomes("fourth", "fifth")
    host.crontab(f"{DAILY} sixth\n")
    becomes("fourth", "sixth")
    assert host.events("started") == host.events("missed_deadline") == []
    assert host.events("error") == []
    host.check_log()


def test_what_else_changes_in_etc_is_no_reason_to_read_the_crontabs_again(host: CronHost) -> None:
    host.crontab(f"{DAILY} first\n")
    host.start_cron()
    host.install("resolv.conf", "nameserver 192.0.2.1\n")
    (host.etc / "mtab").symlink_to("/proc/mounts")
    wait_until(time.time() + 2)
    assert host.events("reload") == []
    with (host.etc / "passwd").open("a") as passwd:
        passwd.write(f"bob:x:{ALICE + 1}:{ALICE + 1}::/:/bin/sh\n")
    host.wait_for_event("reload")
    shutil.rmtree(host.etc / "cron.d")
    host.wait_for_event("reload", count=2)


def test_a_crontab_that_is_wrong_is_left_out_and_told_and_the_others_run(host: CronHost) -> None:
    broken, mended = f"{DAILY} root one\n61 * * * * root two\n", f"{DAILY} root one\n"
    host.install("cron.d/broken", broken)
    host.install("cron.d/fine", f"{DAILY} root three\n")
    host.install("cron.d/stranger", f"{DAILY} nobody-here four\n")
    host.install("cron.d/left.dpkg-old", f"{DAILY} root five\n")
    host.start_cron()
    assert host.names() == {"three"}
    said = host.warnings()
    assert "/etc/cron.d/broken: warning: its jobs do not run: it has an error" in said
    assert "/etc/cron.d/broken:2:1" in said
    assert '"61" is not between 0 and 59' in said
    assert "nobody-here" in said
    assert "five" not in said
    assert {event.level for event in host.events("error")} == {"WARN"}
    host.install("cron.d/broken", mended)
    wait_for(lambda: host.names() == {"one", "three"}, "it is mended")
    host.install("cron.d/broken", broken)
    wait_for(lambda: host.names() == {"three"}, "it is broken again")
    assert host.command("reload").returncode == 0, "which is no reason to refuse the others"


def test_without_a_watch_it_runs_and_says_that_edits_need_a_reload(host: CronHost) -> None:
    host.install("cron.d/fine", f"{DAILY} root fine\n")
    no_watch = 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"'
    mounts = ("/bin/sh", "-c", MOUNTS, "sh", str(host.directory))
    host.start(wrapper=("unshare", "-Urm", "/bin/sh", "-c", no_watch, "sh", *mounts))
    assert host.names() == {"fine"}
    assert [event["error"] for event in host.events("error") if event["operation"] == "watch"] == [
        "inotify_init1: Too many open files: edits need a krond reload"
    ]


@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        pytest.param(0o622, ALICE, "others could write", id="writable"),
        pytest.param(0o600, ALICE + 1, "belongs to user 4712", id="of-another-user"),
        pytest.param(0o600, None, "is a symbolic link", id="link"),
    ],
)
def test_a_crontab_that_somebody_else_could_have_written_is_left_out(
    host: CronHost, mode: int, owner: int | None, said: str
) -> None:
    host.install("cron.d/fine", f"{DAILY} root fine\n")
    path = host.spool / "alice"
    if owner is None:
        path.symlink_to(host.etc / "cron.d" / "fine")
    else:
        host.crontab(f"{DAILY} evil\n")
        path.chmod(mode)
        os.chown(path, owner, -1)
    host.start_cron()
    assert host.names() == {"fine"}
    assert said in host.warnings()
    assert "/var/spool/cron/crontabs/alice" in host.warnings()


def test_the_crontab_of_a_user_runs_as_that_user_whatever_it_says(host: CronHost) -> None:
    host.crontab(f"LOGNAME=root\nUSER=root\nHOME=/\n{DAILY} id -u > {host.home}/who.txt\n")
    host.start_cron()
    run(host, "id")
    assert (host.home / "who.txt").read_text() == f"{ALICE}\n"


def test_a_home_that_is_missing_is_no_reason_not_to_run(host: CronHost) -> None:
    shutil.rmtree(host.home)
    out = host.directory / "open"
    out.mkdir()
    out.chmod(0o777)
    host.crontab(f"{DAILY} pwd > {out}/where.txt\n")
    host.start_cron()
    run(host, "pwd")
    assert (out / "where.txt").read_text() == "/\n"


def test_what_a_job_prints_is_mailed_as_cron_mails_it(
    host: CronHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = host.directory / "box"
    box.mkdir()
    box.chmod(0o777)
    sendmail = host.directory / "sendmail"
    sendmail.write_text(
        f"#!/bin/sh\nid -u > {box}/$$.uid\ncat > {box}/$$ && mv {box}/$$ {box}/$$.eml\n"
    )
    sendmail.chmod(0o755)
    monkeypatch.setenv("KRON_SENDMAIL", str(sendmail))
    host.crontab(
        f"{DAILY} echo to-owner\nMAILTO=ops@example.org\nMAILFROM=cron@example.org\n"
        f"{DAILY} echo to-ops; exit 3\n{DAILY} true silent\n"
        f'MAILTO=""\n{DAILY} echo to-nobody\n'
    )
    host.start_cron("--output-dir", str(host.outputs))
    for name in sorted(host.names()):
        host.command("trigger", name, "--wait")
    wait_for(lambda: len(list(box.glob("*.eml"))) == 2, "both mails")
    wait_for(lambda: not list((host.state / "notices").iterdir()), "nothing else is to be sent")
    mails = sorted(each.read_text() for each in box.glob("*.eml"))
    assert {each.read_text() for each in box.glob("*.uid")} == {f"{ALICE}\n"}
    node = os.uname().nodename
    for mail, to, sender, command in (
        (mails[0], "alice", "alice", "echo to-owner"),
        (mails[1], "ops@example.org", "cron@example.org", "echo to-ops; exit 3"),
    ):
        head, _, text = mail.partition("\n\n")
        assert f"From: Cron Daemon <{sender}>\nTo: {to}\n" in head
        assert f"Subject: Cron <alice@{node}> {command}\n" in head
        assert text.strip() == command.split(";")[0].removeprefix("echo ")
    assert host.warnings() == ""
    assert host.events("notice_lost") == []
