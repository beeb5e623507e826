"""`make images` without building anything: what it is built from, and what an SBOM says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import kron
from tools import images
from tools.cache import UnavailableError
from tools.sbom import sbom

ROOT = Path(__file__).parent.parent

STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.41-12
Description: GNU C Library
 Package: none of its own

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: tzdata
Status: install ok installed
Architecture: all
Version: 1:2026f-0+deb13u1
"""
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
{more}
Version: of the description
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_sbom_lists_what_is_installed_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "usr/lib/os-release", 'ID=debian\nVERSION_ID="13"\n')
    write(tmp_path / "var/lib/dpkg/status", STATUS)
    packages = tmp_path / "opt/kron/lib/python3.13/site-packages"
    for name, version, more in (
        ("krond", "0.1.0", "License-Expression: Apache-2.0\n"),
        ("Some_Thing", "2.0+local", "License: BSD\n"),
    ):
        text = METADATA.format(name=name, version=version, more=more)
        write(packages / f"{name}-{version}.dist-info/METADATA", text)
    made = sbom(tmp_path, "/opt/kron", "kron-operator", "0.1.0")
    assert made["metadata"]["component"]["name"] == "kron-operator"
    assert [(each["name"], each["version"], each["purl"]) for each in made["components"]] == [
        ("libc6", "2.41-12", "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=debian-13"),
        (
            "tzdata",
            "1:2026f-0+deb13u1",
            "pkg:deb/debian/tzdata@1:2026f-0%2Bdeb13u1?arch=all&distro=debian-13",
        ),
        ("krond", "0.1.0", "pkg:pypi/krond@0.1.0"),
        ("Some_Thing", "2.0+local", "pkg:pypi/some-thing@2.0%2Blocal"),
    ]
    assert [each.get("licenses") for each in made["components"]] == [
        *(None, None),
        [{"expression": "Apache-2.0"}],
        [{"license": {"name": "BSD"}}],
    ]


def test_it_is_built_again_for_other_sources_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = {str(path.relative_to(ROOT)) for path in images.sources()}
    for name in ("src/kron/__init__.py", "pyproject.toml", "deploy/kubernetes/Containerfile"):
        assert name in names
    assert not [name for name in names if name.endswith((".pyc", "/launcher"))]
    monkeypatch.setattr(images, "ROOT", tmp_path)
    monkeypatch.setattr(images, "RECIPE", tmp_path / "Containerfile")
    monkeypatch.setattr(images, "HOW", ())
    write(tmp_path / "Containerfile", "COPY src /src\nCOPY --from=build / /\n")
    places: list[Path] = []
    for text in ("one", "one", "another"):
        write(tmp_path / "src/module.py", text)
        write(tmp_path / "src/__pycache__/module.pyc", str(len(places)))
        places.append(images.place())
    assert places[0] == places[1] != places[2]


def test_only_the_newest_images_are_kept(tmp_path: Path) -> None:
    for number in range(4):
        archive = tmp_path / f"digest{number}" / f"{images.NAME}.tar"
        write(archive, "")
        os.utime(archive, (number, number))
    write(tmp_path / "storage/root/something", "")
    images.forget_all_but(2, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digest2", "digest3", "storage"]


class Built:
    """In the place of buildah: an image that says its number, or a failure."""

    number = 0
    fails = False

    def __init__(self, storage: Path, temporary: Path) -> None:
        Built.number += 1

    def tidy(self) -> None: ...

    def debian(self, fresh: bool) -> str:
        return "base"

    def build(self, base: str, *, is_local: bool) -> None:
        if Built.fails:
            raise UnavailableError("no network")

    def sbom(self) -> dict[str, object]:
        return {}

    def save(self, archive: Path) -> None:
        archive.write_text(str(Built.number))


def test_a_fresh_build_that_fails_leaves_the_image_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_Builder", Built)
    target = tmp_path / "images/digest"
    target.parent.mkdir()

    def build(fresh: bool) -> str:
        images._build(target, "", fresh)
        return (target / f"{images.NAME}.tar").read_text()

    assert build(fresh=False) == "1"
    with (target / f"{images.NAME}.tar").open() as being_read:
        monkeypatch.setattr(Built, "fails", True)
        with pytest.raises(UnavailableError, match="no network"):
            build(fresh=True)
        assert (target / f"{images.NAME}.tar").read_text() == "1"
        monkeypatch.setattr(Built, "fails", False)
        assert build(fresh=True) == "3"
        assert being_read.read() == "1"
    assert [path.name for path in target.parent.iterdir()] == ["digest"]


@pytest.mark.heavy
def test_an_image_names_the_commit_of_its_sources_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    recipe, source, page = (tmp_path / name for name in ("Containerfile", "src/a.py", "page.md"))
    monkeypatch.setattr(images, "ROOT", tmp_path)
    monkeypatch.setattr(images, "RECIPE", recipe)
    monkeypatch.setattr(images, "HOW", ())
    write(recipe, "COPY src /src\n")
    write(source, "one")
    assert images.revision() == "unknown", "there is no repository"
    git(tmp_path, "init", "--quiet")
    assert images.revision() == "unknown", "and now no commit"
    commit = committed(tmp_path)
    assert images.revision() == commit
    write(source, "another")
    assert images.revision() == "unknown"
    write(source, "one")
    write(page, "of no image")
    assert images.revision() == commit
    assert committed(tmp_path) != commit
    assert images.revision() == commit
    write(tmp_path / "src/b.py", "")
    assert images.revision() == "unknown"
    assert committed(tmp_path) == images.revision()


def git(directory: Path, *words: str) -> str:
    name = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    done = subprocess.run(
        ["git", *name, *words], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def committed(directory: Path) -> str:
    """Commit everything: the commit."""
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "--message", "tests: change something")
    return git(directory, "rev-parse", "HEAD")


def test_without_the_programs_it_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UnavailableError, match="'buildah' is needed"):
        images.build()


def test_the_image_is_called_as_the_manifests_and_the_chart_call_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """buildah writes two names into the archive: the one it has given, and that of the target."""
    ran: list[list[str]] = []

    def run(words: Sequence[str]) -> str:
        ran.append([*words])
        return ""

    monkeypatch.setattr(images, "_run", run)
    builder = images._Builder(tmp_path, tmp_path)
    builder.build("base", is_local=True)
    builder.save(tmp_path / "image.tar")
    built, pushed, removed = ran
    here = f"docker.io/library/{images.NAME}:{kron.__version__}"
    assert built[built.index("--tag") + 1] == here
    assert pushed[-2:] == [here, f"docker-archive:{tmp_path}/image.tar:{images.NAME}:latest"]
    assert removed[-1] == here


def test_what_removes_pip_runs_in_an_image_only(tmp_path: Path) -> None:
    script = ROOT / "deploy/kubernetes/without_installers.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "only in an image" in done.stderr
    assert script.exists()
