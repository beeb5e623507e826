"""Relays: what a run of another user writes gets to krond's file, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kron.krond.process.failure import StartError
from kron.krond.process.output import open_relay
from tests.krond.process.expected import needs

PATIENTLY = b"x" * 65_536


@needs("tee")
def test_what_is_written_is_appended_until_the_last_writer_ends(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("before\n")
    target = os.open(file, os.O_WRONLY | os.O_APPEND)
    writing, relay = open_relay(target)
    os.close(target)
    another = os.dup(writing)
    os.write(writing, b"one\n")
    os.close(writing)
    os.write(another, b"two\n")
    with pytest.raises(OSError, match="Invalid argument"):
        os.ftruncate(another, 0)
    os.close(another)
    assert os.waitpid(relay, 0)[1] == 0
    assert file.read_text() == "before\none\ntwo\n"


@needs("tee")
def test_who_writes_to_a_disk_that_is_full_goes_on() -> None:
    target = os.open("/dev/full", os.O_WRONLY)
    writing, relay = open_relay(target)
    os.close(target)
    for _ in range(16):
        assert os.write(writing, PATIENTLY) == len(PATIENTLY)
    os.close(writing)
    assert os.WEXITSTATUS(os.waitpid(relay, 0)[1]) == 1


def test_without_tee_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError, match='PATH has no program "tee"') as caught:
        open_relay(1)
    assert caught.value.for_good
