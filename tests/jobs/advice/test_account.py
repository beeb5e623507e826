"""Users, groups and directories that the host does not have."""

from __future__ import annotations

import pytest

from kron.jobs.advice import Advice, Kind
from tests.jobs.advice.linted import FakeHost, codes, marked, warnings

HOST = FakeHost(
    paths={
        "/bin/true": Kind.PROGRAM,
        "/srv": Kind.DIRECTORY,
        "/var/log": Kind.DIRECTORY,
        "/": Kind.DIRECTORY,
        "/etc/passwd": Kind.FILE,
        "/root": Kind.HIDDEN,
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
            'there is no user "bakcup" on this host: no run could be started',
            "user=bakcup",
            id="user",
        ),
        pytest.param(
            "group=wheel",
            [Advice.GROUP_UNKNOWN],
            'there is no group "wheel" on this host: no run could be started',
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
    found = warnings(f"0 2 * * * {fields}", host=HOST)
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
    assert codes(f"0 2 * * * {fields}", host=HOST) == []


def test_each_account_and_directory_is_asked_for_once() -> None:
    host = FakeHost(paths={"/bin/true": Kind.PROGRAM})
    lines = [f"{minute} 2 * * * user=a group=b cwd=/c" for minute in range(4)]
    assert len(codes(*lines, host=host)) == 12
    asked = [question for question in host.asked if "/bin/true" not in question]
    assert asked == ["user a", "group b", "/c"]
