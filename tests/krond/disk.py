"""File systems that fail: small ones that fill up, and ones on an image that lose their disk.

Making one needs root. Where it cannot be made, the test that asked for it is skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.logbook import wait_for

_SHUT_DOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN of <linux/ext4.h>."""
_WITHOUT_FLUSHING = struct.pack("I", 2)
_PAGE = 4096


@contextmanager
def tmpfs(at: Path, size: str, *options: str) -> Iterator[Path]:
    """A file system of this size, in memory."""
    _need_root("mount")
    at.mkdir()
    how = ",".join((f"size={size}", "mode=0700", *options))
    _run("mount", "-t", "tmpfs", "-o", how, "tmpfs", str(at))
    try:
        yield at
    finally:
        _run("umount", "--lazy", str(at))


def fill(directory: Path, *, leave: int = 0) -> Path:
    """Fill the file system up to so many bytes: the file that does it."""
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(_PAGE))
        file.truncate(file.tell() - leave)
    return ballast


class Ext4:
    """An ext4 file system on an image file, mounted at a directory."""

    def __init__(self, image: Path, at: Path) -> None:
        _need_root("mount", "mkfs.ext4", "losetup")
        self.at = at
        self._image = image
        at.mkdir()
        with image.open("wb") as file:
            file.truncate(32 << 20)
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", str(image))
        self.mount()
        at.chmod(0o700)

    def mount(self) -> None:
        """Mount it, as it would be after a reboot: what its journal has is brought back."""
        _run("mount", "-o", "loop,errors=remount-ro", str(self._image), str(self.at))

    def unmount(self) -> None:
        """Take it away, once nobody has anything open in it any more.

        A mount namespace that dies lets go of it a moment later. Until then the kernel would give
        us the same file system again, with everything that it still holds in memory.
        """
        words = ["umount", str(self.at)]
        wait_for(lambda: subprocess.run(words, check=False).returncode == 0, "unmounting")
        wait_for(lambda: not self._is_attached(), "nobody has it mounted")

    def _is_attached(self) -> bool:
        words = ["losetup", "--associated", str(self._image)]
        return bool(subprocess.run(words, check=True, capture_output=True).stdout)

    def lose_power(self) -> None:
        """Forget, at once, everything that has not been synced; from now on all fails with EIO."""
        directory = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, _SHUT_DOWN, _WITHOUT_FLUSHING)
        finally:
            os.close(directory)

    def become_read_only(self) -> None:
        """Let the kernel find an error in it, on which it allows no more writing."""
        number = self.at.stat().st_dev
        device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
        trigger = Path(f"/sys/fs/ext4/{device}/trigger_fs_error")
        if not trigger.exists():
            pytest.skip("this kernel cannot be made to find an error in a file system")
        trigger.write_text("krond")


@contextmanager
def ext4(directory: Path) -> Iterator[Ext4]:
    """Such a file system, until the end of the test."""
    disk = Ext4(directory / "disk.img", directory / "disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk.at], check=False, capture_output=True)


def _need_root(*programs: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount file systems")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"{words[0]} is not possible here: {done.stderr.strip()}")
