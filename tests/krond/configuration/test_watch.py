"""An edited crontab is noticed, however the editor writes it; what does not matter is not."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.krond.configuration.watch import Watch

SOON_S = 5.0  # only a failing test waits as long


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    yield made
    os.close(made.fileno())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    watched = tmp_path / "cron.d"
    watched.mkdir()
    (watched / "backup").write_text("0 2 * * * root true\n")
    return watched


def save_in_place(directory: Path) -> None:
    (directory / "backup").write_text("0 3 * * * root true\n")


def save_by_rename(directory: Path) -> None:
    other = directory.parent / "edited"
    other.write_text("0 3 * * * root true\n")
    other.rename(directory / "backup")


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(save_in_place, id="in-place"),
        pytest.param(save_by_rename, id="by-rename"),
        pytest.param(lambda d: (d / "backup").unlink(), id="deleted"),
        pytest.param(lambda d: (d / "backup").rename(d.parent / "x"), id="moved-away"),
        pytest.param(lambda d: (d / "backup").chmod(0o600), id="its-mode"),
        pytest.param(lambda d: os.utime(d / "backup"), id="touched"),
        pytest.param(lambda d: (d / "new").symlink_to("backup"), id="a-link"),
        pytest.param(lambda d: (d / "new").hardlink_to(d / "backup"), id="a-hard-link"),
        pytest.param(lambda d: d.rename(d.parent / "off"), id="the-directory-moved"),
    ],
)
def test_an_edit_is_noticed_once(
    watch: Watch, directory: Path, edit: Callable[[Path], None]
) -> None:
    assert watch.add(str(directory))
    assert not watch.read()
    edit(directory)
    assert select.select([watch], [], [], SOON_S)[0] == [watch]
    assert watch.read()
    assert not watch.read()


def test_reading_and_listing_are_no_change(watch: Watch, directory: Path) -> None:
    watch.add(str(directory))
    (directory / "backup").read_text()
    list(directory.iterdir())
    (directory / "backup").stat()
    assert not watch.read()


def test_a_write_counts_when_the_file_is_closed(watch: Watch, directory: Path) -> None:
    watch.add(str(directory))
    with (directory / "backup").open("a") as file:
        file.write("# half a li")
        file.flush()
        assert not watch.read()
    assert watch.read()


def test_with_names_only_these_count(watch: Watch, directory: Path) -> None:
    watch.add(str(directory), {"backup"})
    (directory / "resolv.conf").write_text("x")
    (directory / "backup2").write_text("x")
    assert not watch.read()
    save_by_rename(directory)
    assert watch.read()
    (directory / "backup").unlink()
    directory.joinpath("resolv.conf").unlink()
    assert watch.read()


def test_a_directory_that_is_deleted_is_a_change_and_can_be_added_again(
    watch: Watch, directory: Path
) -> None:
    watch.add(str(directory), {"nothing"})
    (directory / "backup").unlink()
    directory.rmdir()
    assert watch.read()
    assert not watch.add(str(directory))
    directory.mkdir()
    assert watch.add(str(directory))
    (directory / "backup").write_text("x")
    assert watch.read()


def test_a_directory_that_was_moved_is_not_watched_where_it_is_now(
    watch: Watch, directory: Path
) -> None:
    watch.add(str(directory))
    moved = directory.rename(directory.parent / "off")
    assert watch.read()
    watch.read()
    (moved / "backup").write_text("x")
    assert not watch.read()
    directory.mkdir()
    assert watch.add(str(directory))
    (directory / "backup").write_text("x")
    assert watch.read()


def test_adding_again_changes_nothing(watch: Watch, directory: Path) -> None:
    assert watch.add(str(directory))
    assert watch.add(str(directory))
    save_in_place(directory)
    assert watch.read()
    assert not watch.read()


@pytest.mark.parametrize("name", ["missing", "missing/too", "cron.d/backup", "cron.d/backup/x"])
def test_what_is_no_directory_is_skipped(watch: Watch, directory: Path, name: str) -> None:
    assert watch.add(str(directory)) is True
    assert watch.add(str(directory.parent / name)) is False


def test_several_directories_are_watched_together(watch: Watch, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        watch.add(str(tmp_path / name))
    for name in "abc":
        (tmp_path / name / "x").write_text("x")
        assert watch.read()


def test_a_queue_that_overflows_is_a_change(watch: Watch, directory: Path) -> None:
    # Only the overflow itself can count here: none of the names is asked for.
    watch.add(str(directory), {"nothing"})
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip(f"the queue of this machine holds {most} events")
    one, other = directory / "backup", directory / "other"
    other.touch()
    for _ in range(most // 2 + 10):  # in turn, since the kernel merges equal neighbours
        one.chmod(0o600)
        other.chmod(0o600)
    assert watch.read()
    assert not watch.read()


@pytest.mark.parametrize(
    "name", ["x" * 255, "name\nwith breaks", "\udcff\udcfe", "é" * 100, "x" * 16, "x" * 15]
)
def test_any_name_reads(watch: Watch, directory: Path, name: str) -> None:
    watch.add(str(directory), {name})
    (directory / "another").touch()
    assert not watch.read()
    (directory / name).touch()
    assert watch.read()


def test_a_path_with_a_nul_is_refused_not_cut(watch: Watch, directory: Path) -> None:
    with pytest.raises(ValueError, match="null byte"):
        watch.add(f"{directory}\0/x")


def test_a_failure_of_the_kernel_is_an_os_error(directory: Path) -> None:
    watch = Watch()
    os.close(watch.fileno())
    with pytest.raises(OSError, match=r"inotify_add_watch: Bad file descriptor"):
        watch.add(str(directory))


def test_its_descriptor_is_not_inherited(watch: Watch) -> None:
    assert not os.get_inheritable(watch.fileno())
