"""Files are replaced together, each whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kron import Code, KronError
from kron.krontab.workflows.writing import Replacement, replace_files
from tests.krontab.workflows.clone import Clone

DAILY = "on:\n  schedule: daily\n"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.name != ".git")


def replacements(directory: Path) -> list[Replacement]:
    made = []
    for name in ("a", "b", "c"):
        (directory / name).write_bytes(b"old")
        made.append(Replacement(str(directory / name), b"old", name.encode()))
    return made


def contents(directory: Path) -> list[bytes]:
    return [(directory / name).read_bytes() for name in ("a", "b", "c")]


def test_all_files_are_written_and_nothing_is_left_behind(tmp_path: Path) -> None:
    replace_files(replacements(tmp_path))
    assert contents(tmp_path) == [b"a", b"b", b"c"]
    assert names(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o640, 0o444])
def test_the_mode_is_kept(mode: int, clone: Clone) -> None:
    path = clone.write("w.yml", DAILY)
    path.chmod(mode)
    assert clone.compile("--write", "w.yml").code == 0
    assert path.stat().st_mode & 0o7777 == mode
    assert "# fuzzy: daily" in path.read_text()


def test_if_one_cannot_be_staged_none_is_written(tmp_path: Path) -> None:
    planned = replacements(tmp_path)
    planned[2].staged_path.write_bytes(b"in the way")
    with pytest.raises(KronError) as caught:
        replace_files(planned)
    assert caught.value.code is Code.FILE_UNWRITABLE
    assert caught.value.message == f"{tmp_path}/c cannot be written: File exists"
    assert contents(tmp_path) == [b"old"] * 3
    assert names(tmp_path) == sorted(["a", "b", "c", planned[2].staged_path.name])


def test_if_one_was_changed_meanwhile_none_is_written(tmp_path: Path) -> None:
    planned = replacements(tmp_path)
    (tmp_path / "b").write_bytes(b"new")
    with pytest.raises(KronError, match="was changed while it was compiled"):
        replace_files(planned)
    assert contents(tmp_path) == [b"old", b"new", b"old"]
    assert names(tmp_path) == ["a", "b", "c"]


def test_if_a_rename_fails_the_error_says_what_has_been_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = replacements(tmp_path)
    replace = Path.replace

    def failing(self: Path, target: str) -> Path:
        if target.endswith("/b"):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(KronError) as caught:
        replace_files(planned)
    wanted = f"{tmp_path}/b cannot be written: No space left on device; "
    assert caught.value.message == f"{wanted}these files have been written: {tmp_path}/a"
    assert contents(tmp_path) == [b"a", b"old", b"old"]
    assert names(tmp_path) == ["a", "b", "c"]


def test_the_system_refusing_is_exit_code_2(clone: Clone) -> None:
    path = clone.write("w.yml", DAILY)
    (clone.root / f".w.yml.{os.getpid()}.new").write_bytes(b"")
    ran = clone.compile("--write", "w.yml")
    assert ran.code == 2
    assert ran.err == "krontab: w.yml cannot be written: File exists\n"
    assert path.read_text() == DAILY


def test_a_file_that_is_up_to_date_is_not_touched(clone: Clone) -> None:
    current = clone.write("a.yml", "on:\n  schedule:\n    - cron: '0 5 * * 1'\n")
    clone.write("b.yml", DAILY)
    before = current.stat()
    clone.compile("--write", ".")
    after = current.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
