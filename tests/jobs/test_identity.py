"""Identities: the same for the same file and name, another with a node id."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kron import Code, KronError
from kron.jobs import identity
from kron.jobs.document import read_document
from kron.jobs.identity import find_node, identity_of

LINE = b"daily between 0:00 and 23:59 name=a command=b\n"


@pytest.mark.parametrize(
    ("node", "path", "expected"),
    [
        pytest.param("", "/etc/krond.d/x.kron", "/etc/krond.d/x.kron:db/a", id="no node"),
        pytest.param("web-1", "/x.kron", "web-1//x.kron:db/a", id="a node"),
        pytest.param("", "/etc/../etc//./x.kron", "/etc/x.kron:db/a", id="one text a path"),
    ],
)
def test_an_identity_is_made_of_node_path_and_name(node: str, path: str, expected: str) -> None:
    assert identity_of(path, "db/a", node) == expected


def test_a_relative_path_is_made_absolute_and_no_link_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real.kron").touch()
    (tmp_path / "link.kron").symlink_to("real.kron")
    monkeypatch.chdir(tmp_path)
    assert identity_of("link.kron", "a") == f"{tmp_path}/link.kron:a"


def test_the_same_file_runs_at_other_times_on_another_node() -> None:
    schedules = {
        str(read_document(LINE, "/x.kron", node=node).entries[0].schedule)
        for node in ("", "web-1", "web-2")
    }
    assert len(schedules) == 3


def test_without_a_node_id_there_is_no_node() -> None:
    assert find_node(None) == ""


def test_a_text_is_a_node_id_of_its_own() -> None:
    assert find_node("rack 7/web-1") == "rack 7/web-1"


def test_the_host_name_is_a_node_id() -> None:
    assert find_node("hostname") == os.uname().nodename


def test_the_machine_id_is_a_node_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machine-id"
    file.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(identity, "_MACHINE_ID", str(file))
    assert find_node("machine-id") == "0123456789abcdef0123456789abcdef"


def test_a_host_without_machine_id_is_told_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_MACHINE_ID", str(tmp_path / "none"))
    with pytest.raises(KronError) as caught:
        find_node("machine-id")
    assert caught.value.code is Code.FILE_UNREADABLE
    assert caught.value.message == f"{tmp_path}/none cannot be read: No such file or directory"
    assert caught.value.fix == "use --node-id hostname or your own text"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param(" \n", id="blank"),
        pytest.param("a\nb\n", id="two lines"),
        pytest.param("\x00" * 200, id="zeros"),
    ],
)
def test_a_machine_id_that_is_none_is_refused(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    file.write_text(content)
    monkeypatch.setattr(identity, "_MACHINE_ID", str(file))
    with pytest.raises(KronError) as caught:
        find_node("machine-id")
    assert caught.value.code is Code.IDENTITY


def test_a_machine_that_has_no_id_yet_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    file.write_text("uninitialized\n")
    monkeypatch.setattr(identity, "_MACHINE_ID", str(file))
    with pytest.raises(KronError):
        find_node("machine-id")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("a\nb", id="a line break"),
        pytest.param("a\x00", id="NUL"),
        pytest.param("a\x1b[31m", id="an escape sequence"),
        pytest.param("a\u2028b", id="a line separator"),
        pytest.param("\udcff", id="half a character"),
    ],
)
def test_a_node_id_is_one_printable_line(text: str) -> None:
    with pytest.raises(KronError) as caught:
        find_node(text)
    assert caught.value.code is Code.IDENTITY
    assert "it is empty or holds a control character" in caught.value.message
    assert "--node-id machine-id" in caught.value.fix
    assert str(caught.value).isprintable()
