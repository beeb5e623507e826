"""What is in an image, from its own files: a list in the format CycloneDX 1.6.

Packages are those that dpkg has installed, and the Python distributions of the environment that
Kron is in. Nothing is known here that the files do not say, and nothing comes from the network, so
the same image has the same list.
"""

from __future__ import annotations

import email.parser
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]


def sbom(root: Path, environment: str, name: str, version: str) -> dict[str, Any]:
    """That of the image whose root file system is there; `environment`: where its venv is."""
    components = [*debian_packages(root), *python_distributions(root / environment.lstrip("/"))]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": sorted(components, key=lambda component: str(component["purl"])),
    }


def debian_packages(root: Path) -> list[Component]:
    """Those that are installed; [] in an image without dpkg."""
    status = root / "var/lib/dpkg/status"
    if not status.exists():
        return []
    release = _release(root)
    distribution = release.get("ID", "debian")
    names = f"{distribution}-{release['VERSION_ID']}" if "VERSION_ID" in release else distribution
    found = []
    for text in status.read_text(encoding="utf-8").split("\n\n"):
        package = email.parser.HeaderParser().parsestr(text)
        if package.get("Status", "").endswith(" installed"):
            name, version = package["Package"], package["Version"]
            purl = f"pkg:deb/{distribution}/{quote(name, safe='')}@{quote(version, safe='.:~')}"
            purl += f"?arch={package['Architecture']}&distro={names}"
            found.append({"type": "library", "name": name, "version": version, "purl": purl})
    return found


def python_distributions(environment: Path) -> list[Component]:
    """Those of a virtual environment."""
    found = []
    for metadata in environment.glob("lib/python3*/site-packages/*.dist-info/METADATA"):
        distribution = email.parser.HeaderParser().parsestr(metadata.read_text(encoding="utf-8"))
        name, version = distribution["Name"], distribution["Version"]
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(version, safe='.')}"
        component: Component = {"type": "library", "name": name, "version": version, "purl": purl}
        found.append(component | _licenses(distribution))
    return found


def _licenses(distribution: Message) -> Component:
    """An SPDX expression where there is one, else the words that its author chose."""
    if expression := distribution.get("License-Expression"):
        return {"licenses": [{"expression": expression}]}
    words = distribution.get("License", "")
    return {"licenses": [{"license": {"name": words}}]} if words and "\n" not in words else {}


def _release(root: Path) -> dict[str, str]:
    """What the image says that it is."""
    path = root / "usr/lib/os-release"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key: value.strip('"') for key, _, value in pairs}
