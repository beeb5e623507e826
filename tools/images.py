"""The image of kron-operator: built from its recipe, once for the same sources, with its SBOM.

`make images` puts both into a cache outside the tree; another version of the sources has another
directory there. Where no registry can be reached, the base comes from Debian packages. The base is
made once: `make images ARGS=--fresh` makes it again, with the packages of today.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import kron
from kron.core.frozen import Frozen
from tools.cache import UnavailableError, alone, cache, elapsed
from tools.sbom import sbom

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "deploy/kubernetes/Containerfile"
HOW = (Path(__file__), ROOT / "tools/sbom.py")
NAME = "kron-operator"
VERSIONED = f"docker.io/library/{NAME}:{kron.__version__}"
"""What the chart asks for: a name without a registry means this one."""
ENVIRONMENT = "/opt/kron"
KEPT = 5
UNKNOWN = "unknown"
"""The label of what nobody knows: the recipe says the same by default."""
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The machine's own: pip needs them where a proxy signs again."""

_BASE = (
    *("mmdebstrap", "--quiet", "--variant=essential", "--include=python3,python3-venv"),
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    # What is of the machine that it was made on.
    '--customize-hook=cd "$1" && rm -r etc/resolv.conf etc/hostname etc/apt/sources.list var/log/*',
    "trixie",
)
_IGNORED = {"__pycache__", "launcher"}
"""As in .containerignore."""


class Image(Frozen):
    """What was built."""

    archive: Path
    """As `podman load` and `ctr images import` read it: NAME:latest and NAME:<version>."""
    sbom: Path
    """What is in it, CycloneDX."""


def build(*, base: str = "", fresh: bool = False) -> Image:
    """Build it, unless it is there; `base`: the name of another base, which may be fetched."""
    target = place(base)
    if _image(target).sbom.exists() and not fresh:
        return _image(target)
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            raise UnavailableError(f"'{program}' is needed to build an image")
    if os.geteuid() != 0:
        raise UnavailableError("only root can build an image here")
    with alone(target.parent, "images: someone else is building"):
        if fresh or not _image(target).sbom.exists():
            _build(target, base, fresh)
    return _image(target)


def sources() -> list[Path]:
    """The files that the recipe copies, and those that say how it is built."""
    found = {RECIPE, *HOW}
    for line in RECIPE.read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for name in line.split()[1:-1]:
                path = ROOT / name
                found.update([path] if path.is_file() else path.rglob("*"))
    return sorted(path for path in found if path.is_file() and _IGNORED.isdisjoint(path.parts))


def place(base: str = "") -> Path:
    """The directory where it is, or would be once it is built."""
    digest = hashlib.sha256(base.encode())
    for path in sources():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return cache() / "images" / digest.hexdigest()[:12]


def _image(directory: Path) -> Image:
    return Image(archive=directory / f"{NAME}.tar", sbom=directory / f"{NAME}.cdx.json")


def _build(target: Path, base: str, fresh: bool) -> None:
    """Build beside `target`, then swap: what is there stays until another one is complete."""
    print(f"images: building {NAME} into {target}", flush=True)
    began_s = time.monotonic()
    for left in target.parent.glob("*.tmp*"):  # of a build that was killed
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.tmp", dir=target.parent) as temporary:
        builder = _Builder(target.parent / "storage", Path(temporary))
        builder.tidy()
        made = Path(temporary, "made")
        made.mkdir()
        builder.build(base or builder.debian(fresh), is_local=not base)
        _image(made).sbom.write_text(json.dumps(builder.sbom(), indent=1) + "\n")
        builder.save(_image(made).archive)
        if target.exists():
            target.rename(Path(temporary, "replaced"))
        made.rename(target)
    forget_all_but(KEPT, target.parent)
    print(f"images: built in {elapsed(began_s)}", flush=True)


def forget_all_but(count: int, directory: Path) -> None:
    """Remove all images but the newest: each version of the sources has one, of 128 MB."""
    made = sorted(directory.glob(f"*/{NAME}.tar"), key=lambda path: path.stat().st_mtime)
    for path in made[:-count]:
        shutil.rmtree(path.parent)


class _Builder:
    """buildah, with a storage of its own, which keeps the base."""

    def __init__(self, storage: Path, temporary: Path) -> None:
        self._storage = storage
        self._temporary = temporary

    def tidy(self) -> None:
        """Remove what a build left that was killed, and a base that has been made again."""
        self._buildah("rm", "--all")
        self._buildah("rmi", "--prune")

    def debian(self, fresh: bool) -> str:
        """A base of Debian packages: its name."""
        recipe = hashlib.sha256("\n".join(_BASE).encode()).hexdigest()[:12]
        name = f"localhost/kron-base:{recipe}"
        if not fresh and self._buildah("images", "--quiet", "--filter", f"reference={name}"):
            return name
        print("images: a base of Debian packages first, about a minute ...", flush=True)
        _run([*_BASE, str(self._temporary / "base.tar")])
        recipe_of_base = self._temporary / "Containerfile"
        recipe_of_base.write_text("FROM scratch\nADD base.tar /\n")
        self._buildah("build", "--file", str(recipe_of_base), "--tag", name, str(self._temporary))
        return name

    def build(self, base: str, *, is_local: bool) -> None:
        """From the recipe, as it is."""
        arguments = {
            "BASE": base,
            "VERSION": kron.__version__,
            "REVISION": revision(),
            "SOURCE": _repository(),
        }
        options = [f"--pull={'never' if is_local else 'true'}", "--network=host", "--layers=false"]
        if AUTHORITIES.exists():
            options.append(f"--volume={AUTHORITIES}:{AUTHORITIES}:ro")
            arguments["PIP_CERT"] = str(AUTHORITIES)
        options += [f"--build-arg={key}={value}" for key, value in arguments.items()]
        self._buildah("build", *options, "--file", str(RECIPE), "--tag", VERSIONED, str(ROOT))

    def sbom(self) -> dict[str, object]:
        """What is in the image."""
        container = self._buildah("from", "--pull=never", VERSIONED)
        try:
            root = Path(self._buildah("mount", container))
            return sbom(root, ENVIRONMENT, NAME, kron.__version__)
        finally:
            self._buildah("rm", container)

    def save(self, archive: Path) -> None:
        """Write the image to a file, and forget it. There it also keeps the name it has here."""
        target = f"docker-archive:{archive}:{NAME}:latest"
        self._buildah("push", "--disable-compression", VERSIONED, target)
        self._buildah("rmi", VERSIONED)

    def _buildah(self, *words: str) -> str:
        place = ("--root", str(self._storage / "root"), "--runroot", str(self._storage / "run"))
        return _run(["buildah", *place, *words])


def revision() -> str:
    """The last commit that changed the sources, or `unknown` if they are not as in any commit.

    That of the day would build everything again. An image of sources that are not committed is the
    image of the commit that they get into later, and must not say that it is of the one before.
    """
    paths = [str(path.relative_to(ROOT)) for path in sources()]
    if _git("status", "--porcelain", "--", *paths):
        return UNKNOWN
    return _git("log", "-1", "--format=%H", "--", *paths) or UNKNOWN


def _repository() -> str:
    """Where the sources come from, if that is a public address."""
    address = _git("config", "--get", "remote.origin.url")
    return address if re.fullmatch(r"https://[^@]+", address) else UNKNOWN


def _git(*words: str) -> str:
    """What git says; '' where the tree has none."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _run(words: Sequence[str]) -> str:
    # Without a container inside the container: what builds need is a root file system.
    environment = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise UnavailableError(f"'{' '.join(words)}' failed:\n{said[-4000:]}")
    return done.stdout.strip()


def main(words: Sequence[str] = ()) -> int:
    """`make images`."""
    parser = argparse.ArgumentParser(prog="make images")
    parser.add_argument("--base", default="", help="a base of a registry, instead of Debian's")
    parser.add_argument("--fresh", action="store_true", help="make everything again")
    options = parser.parse_args(words)
    try:
        image = build(base=options.base, fresh=options.fresh)
    except UnavailableError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    print(f"images: {image.archive}\nimages: {image.sbom}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
