"""The wheel: with the launcher where a C compiler can make it, and pure Python where none can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.krond.process.expected import needs_launcher

ROOT = Path(__file__).parents[1]
NEEDED = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "share", "src")
LAUNCHER = "kron/krond/process/launcher"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: a build replaces the launcher, which other tests use."""
    path = tmp_path_factory.mktemp("tree")
    skipped = shutil.ignore_patterns("__pycache__", "launcher")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, path / name, ignore=skipped)
        else:
            shutil.copy(ROOT / name, path)
    return path


def build(tree: Path, into: Path, compiler: str | None, target: str = "wheel") -> tuple[Path, str]:
    """The file that was built, and what was said."""
    env = {name: value for name, value in os.environ.items() if name != "CC"}
    if compiler is not None:
        env["CC"] = compiler
    words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    done = subprocess.run(words, cwd=tree, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = into.iterdir()
    return made, done.stdout + done.stderr


@pytest.mark.heavy
@needs_launcher
@pytest.mark.parametrize("compiler", [None, "", " ", "cc -g0"])
def test_a_compiler_makes_a_wheel_with_a_launcher(
    tree: Path, tmp_path: Path, compiler: str | None
) -> None:
    wheel, _ = build(tree, tmp_path, compiler)
    assert wheel.name.endswith(f"_{os.uname().machine}.whl")
    assert "-py3-none-manylinux" in wheel.name
    assert "musllinux" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        assert archive.getinfo(LAUNCHER).external_attr >> 16 & 0o111 == 0o111
        assert archive.read(LAUNCHER)[:4] == b"\x7fELF"


@pytest.mark.heavy
@pytest.mark.parametrize("compiler", ["/no/such/cc", "false", '"/no such/cc" -O2'])
def test_without_a_compiler_the_wheel_is_pure_and_the_build_says_why(
    tree: Path, tmp_path: Path, compiler: str
) -> None:
    wheel, said = build(tree, tmp_path, compiler)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "krond has no launcher" in said
    with zipfile.ZipFile(wheel) as archive:
        assert LAUNCHER not in archive.namelist()
        assert f"{LAUNCHER}.c" in archive.namelist()


@pytest.mark.heavy
@needs_launcher
def test_the_same_source_makes_the_same_wheel(tree: Path, tmp_path: Path) -> None:
    first, _ = build(tree, tmp_path / "first", None)
    second, _ = build(tree, tmp_path / "second", None)
    assert first.read_bytes() == second.read_bytes()
