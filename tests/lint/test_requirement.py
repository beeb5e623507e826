"""Programs, accounts and directories: found as a run would find them, or reported as missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kron.jobs.task import DEFAULT_PATH
from kron.lint import Advice, Host, PathKind
from tests.lint.linted import FakeHost, codes, marked, only, warnings

HOST = FakeHost(
    paths={
        "/bin/sh": PathKind.PROGRAM,
        "/usr/bin/env": PathKind.PROGRAM,
        "/usr/bin/python3": PathKind.PROGRAM,
        "/usr/bin/backup": PathKind.PROGRAM,
        "/opt/bin/tool": PathKind.PROGRAM,
        "/opt/plain": PathKind.FILE,
        "/usr/bin/plain": PathKind.FILE,
        "/opt": PathKind.DIRECTORY,
        "/opt/pipe": PathKind.OTHER,
        "/root/tool": PathKind.HIDDEN,
        "/sbin/secret": PathKind.HIDDEN,
        "/opt/sh": PathKind.PROGRAM,
        "/opt/py": PathKind.PROGRAM,
        "/opt/py-s": PathKind.PROGRAM,
        "/opt/perl": PathKind.PROGRAM,
        "/opt/ruby": PathKind.PROGRAM,
        "/opt/dos": PathKind.PROGRAM,
        "/opt/text": PathKind.PROGRAM,
        "/opt/empty": PathKind.PROGRAM,
        "/opt/jar": PathKind.PROGRAM,
        "/opt/relative": PathKind.PROGRAM,
        "/opt/nothing": PathKind.PROGRAM,
        "/opt/long": PathKind.PROGRAM,
    },
    heads={
        "/opt/sh": b"#!/bin/sh -e\necho\n",
        "/opt/py": b"#! /usr/bin/env python3\n",
        "/opt/py-s": b"#!/usr/bin/env -S PYTHONPATH=/x python3 -u\n",
        "/opt/perl": b"#!/usr/local/bin/perl -w\n",
        "/opt/ruby": b"#!/usr/bin/env ruby\n",
        "/opt/dos": b"#!/bin/sh\r\necho\r\n",
        "/opt/text": b"echo hello\n",
        "/opt/empty": b"",
        "/opt/jar": b"PK\x03\x04\0\0",
        "/opt/relative": b"#!python3\n",
        "/opt/nothing": b"#!\n",
        "/opt/long": b"#!/" + b"a" * 253,
    },
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param("command=/usr/bin/backup", [], id="absolute"),
        pytest.param("command=backup", [], id="on the default path"),
        pytest.param("command=tool env=PATH=/usr/bin:/opt/bin", [], id="on a path of its own"),
        pytest.param("command=bin/tool cwd=/opt", [], id="relative to cwd"),
        pytest.param('command="exit 1" shell=true', [], id="a shell"),
        pytest.param("command=/root/tool", [], id="not ours to look at"),
        pytest.param("command=secret", [], id="on the path, not ours to look at"),
        pytest.param("command=tool env=PATH=bin:/opt/bin", [], id="a relative search path"),
        pytest.param("command=/opt/sh", [], id="a script"),
        pytest.param("command=/opt/py", [], id="a script through env"),
        pytest.param("command=/opt/py-s", [], id="a script through env with options"),
        pytest.param("command=/opt/jar", [], id="a file for a registered interpreter"),
        pytest.param("command=/opt/long", [], id="a line longer than what the kernel reads"),
        pytest.param("command=/usr/bin/backups", [Advice.COMMAND_MISSING], id="missing"),
        pytest.param("command=backups", [Advice.COMMAND_MISSING], id="not on the path"),
        pytest.param("command=tool", [Advice.COMMAND_MISSING], id="not on the default path"),
        pytest.param(
            "command=backup env=PATH=/opt/bin", [Advice.COMMAND_MISSING], id="not on its own path"
        ),
        pytest.param("command=bin/tol cwd=/opt", [Advice.COMMAND_MISSING], id="not in cwd"),
        pytest.param("command=x shell=/bin/zsh", [Advice.COMMAND_MISSING], id="no such shell"),
        pytest.param("command=bin/tool", [Advice.COMMAND_RELATIVE], id="relative to nothing"),
        pytest.param("command=/opt", [Advice.COMMAND_NOT_EXECUTABLE], id="a directory"),
        pytest.param("command=/opt/plain", [Advice.COMMAND_NOT_EXECUTABLE], id="no permission"),
        pytest.param("command=plain", [Advice.COMMAND_NOT_EXECUTABLE], id="none on the path"),
        pytest.param("command=/opt/pipe", [Advice.COMMAND_NOT_EXECUTABLE], id="a pipe"),
        pytest.param("command=/opt/perl", [Advice.COMMAND_INTERPRETER], id="no interpreter"),
        pytest.param("command=/opt/ruby", [Advice.COMMAND_INTERPRETER], id="env will not find it"),
        pytest.param("command=/opt/ruby env=PATH=:/bin", [], id="env may find it where the run is"),
        pytest.param(
            "command=/opt/py env=PATH=/opt", [Advice.COMMAND_INTERPRETER], id="env on its own path"
        ),
        pytest.param("command=/opt/dos", [Advice.COMMAND_INTERPRETER], id="a carriage return"),
        pytest.param("command=/opt/text", [Advice.COMMAND_INTERPRETER], id="a text"),
        pytest.param("command=/opt/empty", [Advice.COMMAND_INTERPRETER], id="nothing"),
        pytest.param("command=/opt/relative", [Advice.COMMAND_INTERPRETER], id="a relative one"),
        pytest.param("command=/opt/nothing", [Advice.COMMAND_INTERPRETER], id="an empty one"),
    ],
)
def test_a_program_is_judged(fields: str, expected: list[Advice]) -> None:
    assert codes(f"0 2 * * * name=a {fields}", host=HOST) == expected


@pytest.mark.parametrize(
    ("fields", "message", "part"),
    [
        pytest.param(
            'command="/usr/bin/backups --all"',
            'there is no program "/usr/bin/backups"',
            "/usr/bin/backups",
            id="missing",
        ),
        pytest.param(
            'command="backups --all"',
            f'there is no program "backups" on the search path "{DEFAULT_PATH}"',
            "backups",
            id="not on the path",
        ),
        pytest.param(
            "command=x shell=/bin/zsh",
            'there is no program "/bin/zsh"',
            "shell=/bin/zsh",
            id="no such shell",
        ),
        pytest.param(
            "command=/opt/perl",
            '"/opt/perl" needs the interpreter "/usr/local/bin/perl", which does not exist',
            "/opt/perl",
            id="no interpreter",
        ),
        pytest.param(
            "command=/opt/text",
            '"/opt/text" is a text file without a #! line: the kernel cannot execute it',
            "/opt/text",
            id="a text",
        ),
    ],
)
def test_what_is_wrong_with_it_is_said_and_marked(fields: str, message: str, part: str) -> None:
    (finding,) = warnings(f"0 2 * * * name=a {fields}", host=HOST)
    assert (finding.message, marked(finding)) == (message, part)


def test_a_word_that_only_a_shell_knows_is_not_also_reported_as_missing() -> None:
    assert codes('0 2 * * * name=a command="cd /srv"', host=HOST) == [Advice.COMMAND_SHELL]


def test_a_fleet_asks_about_a_program_once() -> None:
    host = FakeHost(paths={"/usr/bin/backup": PathKind.PROGRAM})
    lines = [f"{minute} {minute % 24} * * * command=/usr/bin/backup" for minute in range(50)]
    assert codes(*lines, host=host) == []
    assert host.asked == ["/usr/bin/backup", "head of /usr/bin/backup"]


def test_without_a_host_nothing_is_asked() -> None:
    assert codes("0 2 * * * name=a command=/no/such user=nobody cwd=/no", host=None) == []


def test_the_local_host_sees_what_is_there(tmp_path: Path) -> None:
    host = Host()
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n" + b"x" * 500)
    assert host.look(str(program)) is PathKind.FILE
    program.chmod(0o755)
    assert host.look(str(program)) is PathKind.PROGRAM
    assert host.look(str(tmp_path)) is PathKind.DIRECTORY
    assert host.look(str(tmp_path / "none")) is PathKind.MISSING
    assert host.look(str(program / "below")) is PathKind.MISSING
    assert host.look(str(tmp_path / ("n" * 1000))) is PathKind.MISSING
    link = tmp_path / "link"
    link.symlink_to(program)
    assert host.look(str(link)) is PathKind.PROGRAM
    link.unlink()
    link.symlink_to(tmp_path / "none")
    assert host.look(str(link)) is PathKind.MISSING
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert host.look(str(pipe)) is PathKind.OTHER
    head = host.head(str(program))
    assert head is not None
    assert head[:10] == b"#!/bin/sh\n"
    assert len(head) == 256
    assert host.head(str(tmp_path / "none")) is None


def test_the_local_host_knows_its_accounts() -> None:
    host = Host()
    assert host.has_account("user", "root")
    assert host.has_account("group", "root")
    assert not host.has_account("user", "no-such-user-here")
    assert not host.has_account("group", "no-such-group-here")


def test_a_real_script_without_its_interpreter_is_found(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text(f"#!{tmp_path}/interpreter\n")
    script.chmod(0o755)
    line = f"0 2 * * * name=a command={script}"
    finding = only(line, Advice.COMMAND_INTERPRETER, host=Host())
    assert "which does not exist" in finding.message
    (tmp_path / "interpreter").symlink_to("/bin/sh")
    assert codes(line, host=Host()) == []


ACCOUNTS = FakeHost(
    paths={
        "/bin/true": PathKind.PROGRAM,
        "/srv": PathKind.DIRECTORY,
        "/var/log": PathKind.DIRECTORY,
        "/": PathKind.DIRECTORY,
        "/etc/passwd": PathKind.FILE,
        "/root": PathKind.HIDDEN,
    },
    users=("backup",),
    groups=("backup", "adm"),
)


@pytest.mark.parametrize(
    ("fields", "expected", "message", "part"),
    [
        pytest.param(
            "user=bakcup",
            [Advice.USER_UNKNOWN],
            'there is no user "bakcup" on this host: no run can start',
            "user=bakcup",
            id="user",
        ),
        pytest.param(
            "group=wheel",
            [Advice.GROUP_UNKNOWN],
            'there is no group "wheel" on this host: no run can start',
            "group=wheel",
            id="group",
        ),
        pytest.param(
            "cwd=/srv/app",
            [Advice.DIRECTORY_MISSING],
            'there is no directory "/srv/app" to run in',
            "cwd=/srv/app",
            id="no directory to run in",
        ),
        pytest.param(
            "cwd=/etc/passwd",
            [Advice.DIRECTORY_MISSING],
            '"/etc/passwd" is not a directory to run in',
            "cwd=/etc/passwd",
            id="a file to run in",
        ),
        pytest.param(
            "stdout=file:/var/log/app/{name}.log",
            [Advice.DIRECTORY_MISSING],
            'there is no directory "/var/log/app" to write to',
            "stdout=file:/var/log/app/{name}.log",
            id="no directory for the output",
        ),
        pytest.param(
            "stderr=file:/var/lag/%Y/errors",
            [Advice.DIRECTORY_MISSING],
            'there is no directory "/var/lag" to write to',
            "stderr=file:/var/lag/%Y/errors",
            id="no directory above the dated one",
        ),
    ],
)
def test_what_the_host_lacks_is_said(
    fields: str, expected: list[Advice], message: str, part: str
) -> None:
    found = warnings(f"0 2 * * * {fields}", host=ACCOUNTS)
    assert [finding.code for finding in found] == expected
    assert (found[0].message, marked(found[0])) == (message, part)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("user=backup group=adm cwd=/srv", id="all there"),
        pytest.param("user=4711 group=4711", id="numbers need no name"),
        pytest.param("cwd=/root", id="not ours to look at"),
        pytest.param("stdout=file:/var/log/{name}.log stderr=file:/var/log/a", id="outputs"),
        pytest.param("stdout=file:/log-%Y", id="a file in the root directory"),
        pytest.param("stdout=file:/var/log/%Y/%m/{name}", id="dated directories"),
        pytest.param("stdout=syslog stderr=discard", id="no files"),
    ],
)
def test_what_it_has_is_not_mentioned(fields: str) -> None:
    assert codes(f"0 2 * * * {fields}", host=ACCOUNTS) == []


def test_each_account_and_directory_is_asked_for_once() -> None:
    host = FakeHost(paths={"/bin/true": PathKind.PROGRAM})
    lines = [f"{minute} 2 * * * user=a group=b cwd=/c" for minute in range(4)]
    assert len(codes(*lines, host=host)) == 12
    asked = [question for question in host.asked if "/bin/true" not in question]
    assert asked == ["user a", "group b", "/c"]


def test_what_hooks_and_mail_need_is_looked_for() -> None:
    line = (
        '0 2 * * * @policy(deadline=1h) on_failure="/opt/none --page" on_start=/usr/bin/backup '
        "on_missed=https://hc.example.org/x mail=root command=/usr/bin/backup"
    )
    found = {finding.code: finding for finding in warnings(line, host=HOST)}
    assert marked(found[Advice.COMMAND_MISSING]) == "/opt/none"
    assert marked(found[Advice.SENDMAIL_MISSING]).startswith("mail=")
    assert len(found) == len(warnings(line, host=HOST)) == 2
