"""The directory of outputs: names, hostile entries, and what retention removes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from kron.krond.output.directory import (
    check_usable,
    made_directory,
    open_for_reading,
    open_for_writing,
)
from kron.krond.output.names import (
    OutputName,
    directory_name,
    is_directory_name,
    is_identity_of,
    may_be_directory_of,
)
from kron.krond.output.reader import kept_outputs
from kron.krond.output.retention import Retention, Sweeper
from tests.krond.children import mode_of

JOB = "backup.0123456789ab"
FILE = "20260302T020731.004217Z-9f0c.log"
DAY_S = 86_400


def write(root: Path, name: str = FILE, job: str = JOB) -> None:
    with made_directory(str(root), job) as directory:
        os.close(open_for_writing(name, directory))


def test_a_name_can_be_read_back() -> None:
    name = OutputName.of(1_772_417_251_004_217_999, "9f0c")
    assert str(name) == FILE
    assert OutputName.read(FILE) == name
    assert name.started == "2026-03-02T02:07:31.004217Z"
    for wrong in (
        "",
        "x.log",
        f"{FILE}.gz",
        f".{FILE}",
        f"../{FILE}",
        "20260302T020731.004217Z-.log",
    ):
        assert OutputName.read(wrong) is None


@pytest.mark.parametrize("job", ["..", ".", "/", "../../etc/x", "a" * 300, "", "a b\n", "é", "x/y"])
def test_any_job_has_a_directory_of_its_own_with_a_safe_name(job: str) -> None:
    name = directory_name(f"/etc/f:{job}", job)
    assert is_directory_name(name)
    assert may_be_directory_of(name, job) or not job
    assert name != directory_name(f"/etc/g:{job}", job)
    assert len(name) < 120


def test_a_job_is_found_by_its_name_or_its_file_and_name() -> None:
    name = directory_name("/etc/f:backup", "backup")
    for job in ("backup", "/etc/f:backup"):
        assert may_be_directory_of(name, job)
        assert is_identity_of("/etc/f:backup", job)
        assert is_identity_of("node//etc/f:backup", job)
        assert not may_be_directory_of("backup", job)
    assert not may_be_directory_of(name, "back")
    for identity in ("/etc/g:backup", "/x/etc/f:backup", "/etc/f:a/backup"):
        assert not is_identity_of(identity, "/etc/f:backup")
    assert not is_identity_of("/etc/f:a/backup", "backup")


def test_a_directory_is_usable_if_an_output_could_be_made_in_it(tmp_path: Path) -> None:
    check_usable(str(tmp_path / "some" / "where"))
    assert list((tmp_path / "some" / "where").iterdir()) == []
    for path in ("/dev/null", "/dev/null/x", "/proc", "/proc/x"):
        with pytest.raises(OSError, match=r"directory"):
            check_usable(path)


def test_others_can_neither_write_nor_everybody_read(tmp_path: Path) -> None:
    root = tmp_path / "some" / "where"
    old = os.umask(0o022)
    try:
        write(root)
    finally:
        os.umask(old)
    assert [mode_of(path) for path in (root, root / JOB, root / JOB / FILE)] == [
        0o750,
        0o750,
        0o640,
    ]


class TestHostile:
    """Somebody was there before."""

    def test_a_link_in_the_place_of_the_directory_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "target").mkdir()
        (tmp_path / "root").symlink_to(tmp_path / "target")
        with pytest.raises(OSError, match="symbolic link"):
            write(tmp_path / "root")
        assert list((tmp_path / "target").iterdir()) == []

    def test_a_link_in_the_place_of_a_jobs_directory_is_not_followed(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir(0o750)
        (tmp_path / "target").mkdir()
        (root / JOB).symlink_to(tmp_path / "target")
        with pytest.raises(OSError, match="symbolic link"):
            write(root)
        assert list((tmp_path / "target").iterdir()) == []

    @pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe", "directory"])
    def test_nothing_but_a_file_of_its_own_is_written(self, tmp_path: Path, kind: str) -> None:
        root = tmp_path / "root"
        (root / JOB).mkdir(parents=True)
        root.chmod(0o750)
        (root / JOB).chmod(0o750)
        target, place = tmp_path / "target", root / JOB / FILE
        if kind == "link":
            target.write_text("precious")
            place.symlink_to(target)
        elif kind == "dangling":
            place.symlink_to(target)
        elif kind == "hard link":
            target.write_text("precious")
            place.hardlink_to(target)
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
        with pytest.raises(OSError):  # noqa: PT011 (the kernel words some of them)
            write(root)
        assert target.exists() == (kind in ("link", "hard link"))
        if target.exists():
            assert target.read_text() == "precious"

    def test_a_directory_that_others_can_write_is_refused(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir()
        root.chmod(0o777)
        with pytest.raises(OSError, match="other users can write the directory"):
            write(root)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
    def test_a_directory_of_another_user_is_refused(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir(0o750)
        os.chown(root, 65_534, 65_534)
        with pytest.raises(OSError, match="belongs to user 65534"):
            write(root)

    def test_reading_does_not_wait_for_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / FILE)
        directory = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(OSError, match="not a regular file"):
            open_for_reading(FILE, directory)
        os.close(directory)


class TestRetention:
    def name(self, number: int) -> str:
        return f"202603{number:02d}T000000.000000Z-run.log"

    def sweep(self, root: Path, most: int = 3, age_s: int = DAY_S, job: str = JOB) -> list[str]:
        Sweeper(str(root), Retention(most, age_s)).sweep(job)
        return [str(each.name) for each in kept_outputs(str(root), JOB)]

    def test_the_newest_ones_stay(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        for number in (4, 2, 5, 1, 3):
            write(root, self.name(number))
        assert self.sweep(root) == [self.name(number) for number in (3, 4, 5)]

    def test_old_ones_go_even_of_a_job_that_runs_no_more(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        for number in (1, 2):
            write(root, self.name(number))
        os.utime(root / JOB / self.name(1), (0, 0))
        assert self.sweep(root, job="other.0123456789ab") == [self.name(2)]
        os.utime(root / JOB / self.name(2), (0, 0))
        self.sweep(root, job="other.0123456789ab")
        assert list(root.iterdir()) == [], "an empty directory goes as well"

    def test_one_that_is_written_stays(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        for number in (1, 2, 3, 4, 5):
            write(root, self.name(number))
        with (root / JOB / self.name(1)).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            assert self.sweep(root) == [self.name(number) for number in (1, 3, 4, 5)]

    def test_whatever_does_not_look_like_an_output_stays(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        for number in (4, 5):
            write(root, self.name(number))
        job = root / JOB
        (job / "notes.txt").touch()
        (job / f"{self.name(1)}.gz").touch()
        (job / self.name(1)).mkdir()
        (job / self.name(2)).symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").touch()
        (job / self.name(3)).hardlink_to(tmp_path / "elsewhere")
        (root / "precious").mkdir()
        (root / "precious" / self.name(1)).touch()
        for path in (*job.iterdir(), root / "precious" / self.name(1)):
            os.utime(path, (0, 0), follow_symlinks=False)
        self.sweep(root, most=1)
        left = sorted(path.name for path in job.iterdir())
        others = [self.name(1), f"{self.name(1)}.gz", self.name(2), self.name(3), "notes.txt"]
        assert left == sorted(others)
        assert (root / "precious" / self.name(1)).exists()
