"""Removes from an image what installs Python packages: pip, and what brings pip into a venv.

It runs while the image is built (Containerfile), as root in the root file system of the image, and
removes itself too. Packages of Debian go by dpkg, so that its list says what is there.
"""

import shutil
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES = ("python3-venv", "python3-pip-whl", "python3-setuptools-whl", "python3-pip")
MODULES = ("pip", "ensurepip", "setuptools", "wheel")


def main() -> None:
    """Remove packages first, then whatever no package manager knows about."""
    script = Path(__file__)
    if script.parent != Path("/"):
        sys.exit(f"{script} removes parts of Python, and runs only in an image that is being built")
    if shutil.which("dpkg-query"):
        purge([f"python{version()}-venv", *PACKAGES])
    places = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    for place in (*places, *site.getsitepackages()):
        for name in MODULES:
            for path in Path(place).glob(f"{name}*"):
                if path.name.partition("-")[0] == name:
                    shutil.rmtree(path)
    for path in Path(sysconfig.get_path("scripts")).glob("pip*"):
        path.unlink()
    script.unlink()


def version() -> str:
    """That of this Python, as the names of packages have it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def purge(names: list[str]) -> None:
    """Those of them that are installed."""
    words = ["dpkg-query", "--show", "--showformat", "${Package}\n"]
    installed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    found = [name for name in names if name in installed]
    if found:
        subprocess.run(["dpkg", "--purge", *found], check=True)


if __name__ == "__main__":
    main()
